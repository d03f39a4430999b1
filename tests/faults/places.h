// Where the calls of a scenario come from. Loops make the same call from the same place many times, and these repeats
// usually fail in the same way. tests/run therefore tries only the first two and the last call of each place. The calls
// that open a runtime are the same in all scenarios, and are tried only in the first scenario.
#pragma once

#include <cstdint>
#include <set>
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
/// Returns a place for each of the `count` calls. Equal numbers are equal stacks; 0: the call was not noted.
std::vector<uint64_t> end(uint64_t count);

/// The numbers, from 1, of the calls that aren't repeats, in ascending order. `tried`: common places that an earlier
/// scenario has tried.
std::vector<uint64_t> without_repeats(const std::vector<uint64_t>& places, const std::set<uint64_t>& tried);

/// Whether Common was alive at the call.
bool is_common(uint64_t place) noexcept;

}  // namespace gpo::test::places
