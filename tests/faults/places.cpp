#include "faults/places.h"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <map>

namespace gpo::test::places {

namespace {

constexpr uint64_t kMost = 1 << 17, kKept = 2;   // calls; calls of a place, beside the last
constexpr int kDepth = 64;
constexpr uint64_t kCommon = 1;   // bit of a place

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
    // Hash only frames inside the Common's function: the outer frames differ between scenarios.
    const int end = common_depth ? depth - common_depth + 1 : depth;
    for (int i = 1; i < end; ++i) hash = (hash ^ reinterpret_cast<uint64_t>(stack[i])) * 0x100000001b3;
    hash = (hash | 2) & ~kCommon;   // not 0
    noted[number - 1].store(common_depth ? hash | kCommon : hash, std::memory_order_relaxed);
}

std::vector<uint64_t> end(uint64_t count) {
    std::vector<uint64_t> out(count);
    std::transform(noted.begin(), noted.begin() + static_cast<std::ptrdiff_t>(std::min(count, kMost)), out.begin(),
                   [](const auto& place) { return place.load(std::memory_order_relaxed); });
    return out;
}

std::vector<uint64_t> without_repeats(const std::vector<uint64_t>& places, const std::set<uint64_t>& tried) {
    std::map<uint64_t, uint64_t> last, seen;
    for (uint64_t i = 0; i < places.size(); ++i) last[places[i]] = i;
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < places.size(); ++i) {
        const uint64_t place = places[i];
        if (place != 0 && (tried.contains(place) || (++seen[place] > kKept && last[place] != i))) continue;
        numbers.push_back(i + 1);
    }
    return numbers;
}

bool is_common(uint64_t place) noexcept { return place & kCommon; }

}  // namespace gpo::test::places
