#include "driver/call_recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "driver/wrapper.h"

namespace gpo::driver::recorder {

namespace {

constexpr size_t kKept = 65536;

// A call is stored in one 64-bit word, so that readers never see half a call: function 12 bits, thread 32, result 20.
// The sequence is the number of the call, from which its place in the ring follows.
struct Entry {
    std::atomic<uint64_t> sequence{0};   // + 1; 0: empty
    std::atomic<uint64_t> word{0};
};

Entry entries[kKept];
std::array<std::atomic<uint64_t>, kFunctions> counts;
std::atomic<uint64_t> next{0};

uint32_t thread_number() noexcept {
    static thread_local uint32_t number = 0;
    if (!number) number = static_cast<uint32_t>(syscall(SYS_gettid));
    return number;
}

struct Hook {
    template <class CallDriver>
    static CUresult around(Function function, CallDriver&& call) noexcept {
        const auto index = static_cast<uint64_t>(function);
        counts[index].fetch_add(1, std::memory_order_relaxed);
        const uint64_t sequence = next.fetch_add(1, std::memory_order_relaxed);
        Entry& entry = entries[sequence % kKept];
        const CUresult result = call();
        entry.sequence.store(0, std::memory_order_relaxed);
        entry.word.store(index << 52 | static_cast<uint64_t>(thread_number()) << 20 | (result & 0xfffffu),
                         std::memory_order_release);
        entry.sequence.store(sequence + 1, std::memory_order_release);
        return result;
    }
};

}  // namespace

std::shared_ptr<Driver> wrap(std::shared_ptr<Driver> driver) {
    return std::make_shared<Wrapper<Hook>>(std::move(driver));
}

void clear() noexcept {
    next.store(0, std::memory_order_relaxed);
    for (auto& count : counts) count.store(0, std::memory_order_relaxed);
    for (Entry& entry : entries) entry.sequence.store(0, std::memory_order_release);
}

uint64_t count(Function function) noexcept {
    return counts[static_cast<size_t>(function)].load(std::memory_order_relaxed);
}

uint64_t count() noexcept { return next.load(std::memory_order_relaxed); }

std::vector<Call> calls() {
    std::vector<Call> out;
    for (Entry& entry : entries) {
        const uint64_t sequence = entry.sequence.load(std::memory_order_acquire);
        if (!sequence) continue;
        const uint64_t word = entry.word.load(std::memory_order_acquire);
        out.push_back({sequence - 1, static_cast<Function>(word >> 52), static_cast<uint32_t>(word >> 20),
                       static_cast<CUresult>(word & 0xfffffu)});
    }
    std::sort(out.begin(), out.end(), [](const Call& a, const Call& b) { return a.sequence < b.sequence; });
    return out;
}

}  // namespace gpo::driver::recorder
