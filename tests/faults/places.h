// Where the calls of a scenario come from. Loops make the same call from the same place many times, and these repeats
// usually fail in the same way. tests/run therefore tries only the first two and the last call of each place. A place
// in an exported function is tried in the first two scenarios that reach it. The calls that open a runtime are tried
// only in the first scenario.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace gpo::test::places {

/// While alive, calls of this thread are common to all scenarios.
class Common {
public:
    Common() noexcept;
    ~Common();
    Common(const Common&) = delete;
    Common& operator=(const Common&) = delete;
};

/// Begins to note calls.
void begin() noexcept;
/// Notes the calling thread's stack for call `number` (from 1) of kind `what`. Allocates nothing. Any thread.
void note(uint32_t what, uint64_t number) noexcept;
/// Returns a place for each of the `count` calls. Equal numbers are equal stacks, in the library up to the exported
/// function; 0: the call was not noted.
std::vector<uint64_t> end(uint64_t count);

/// How many scenarios have tried a place.
class Tried {
public:
    /// `places`: all that one scenario tries, with repeats.
    void add(const std::vector<uint64_t>& places);
    /// Whether the place needs no more scenarios.
    bool often_enough(uint64_t place) const;

private:
    std::map<uint64_t, uint32_t> scenarios_;
};

/// The numbers, from 1, of the calls that aren't repeats, in ascending order.
std::vector<uint64_t> without_repeats(const std::vector<uint64_t>& places, const Tried& tried);

}  // namespace gpo::test::places
