#include "faults/places.h"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "support/coverage.h"

namespace gpo::test::places {

namespace {

constexpr uint64_t kMost = 1 << 17, kKept = 2;   // calls; calls of a place, beside the last
constexpr int kDepth = 64;
constexpr uint64_t kCommon = 1, kExported = 2;   // bits of a place: noted in a Common, in an exported function

/// The number of scenarios that try the place.
uint32_t most_scenarios(uint64_t place) noexcept {
    return place & kCommon ? 1 : place & kExported ? 2 : std::numeric_limits<uint32_t>::max();
}

std::array<std::atomic<uint64_t>, kMost> noted;
thread_local int common_depth = 0;   // stack frames from the Common's function to the outermost; 0: no Common is alive

}  // namespace

[[gnu::noinline]] Common::Common() noexcept {
    void* stack[kDepth];
    const int depth = backtrace(stack, kDepth);
    // Sanitizers put frames of their own above the constructor's.
    const auto caller = std::find(stack, stack + depth, __builtin_return_address(0)) - stack;
    common_depth = depth - (caller < depth ? static_cast<int>(caller) : 1);
}

Common::~Common() { common_depth = 0; }

void begin() noexcept {
    void* here[1];
    backtrace(here, 1);   // its first use loads a library
    for (auto& place : noted) place.store(0, std::memory_order_relaxed);
}

void note(uint32_t what, uint64_t number) noexcept {
    if (number == 0 || number > kMost) return;
    void* stack[kDepth];
    const int depth = backtrace(stack, kDepth);
    uint64_t hash = 0xcbf29ce484222325 ^ what;   // FNV-1a, by words
    // Hash only frames inside the Common's function, or inside the exported function: the outer frames differ between
    // scenarios.
    const uint64_t shared = common_depth ? kCommon : inside_library ? kExported : 0;
    int end = depth;
    if (shared == kCommon) end = depth - common_depth + 1;
    if (shared == kExported) end = static_cast<int>(std::find(stack, stack + depth, called_from) - stack);
    for (int i = 1; i < end; ++i) hash = (hash ^ reinterpret_cast<uint64_t>(stack[i])) * 0x100000001b3;
    noted[number - 1].store(((hash | 4) & ~(kCommon | kExported)) | shared, std::memory_order_relaxed);   // not 0
}

std::vector<uint64_t> end(uint64_t count) {
    std::vector<uint64_t> out(count);
    std::transform(noted.begin(), noted.begin() + static_cast<std::ptrdiff_t>(std::min(count, kMost)), out.begin(),
                   [](const auto& place) { return place.load(std::memory_order_relaxed); });
    return out;
}

void Tried::add(const std::vector<uint64_t>& places) {
    for (const uint64_t place : std::set(places.begin(), places.end())) ++scenarios_[place];
}

bool Tried::often_enough(uint64_t place) const {
    const auto found = scenarios_.find(place);
    return found != scenarios_.end() && found->second >= most_scenarios(place);
}

std::vector<uint64_t> without_repeats(const std::vector<uint64_t>& places, const Tried& tried) {
    std::map<uint64_t, uint64_t> last, seen;
    for (uint64_t i = 0; i < places.size(); ++i) last[places[i]] = i;
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < places.size(); ++i) {
        const uint64_t place = places[i];
        if (place != 0 && (tried.often_enough(place) || (++seen[place] > kKept && last[place] != i))) continue;
        numbers.push_back(i + 1);
    }
    return numbers;
}

}  // namespace gpo::test::places
