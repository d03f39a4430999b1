#include "driver/faults.h"

#include <atomic>

#include "driver/wrapper.h"

namespace gpo::driver::faults {

namespace {

constexpr uint32_t kNone = UINT32_MAX, kAny = UINT32_MAX - 1;

std::atomic<uint32_t> target{kNone};
std::atomic<uint64_t> kth{0};
std::atomic<int> answer{CUDA_SUCCESS};
std::atomic<bool> lasting{false};
std::atomic<void (*)(Function, uint64_t) noexcept> watcher{nullptr};
std::atomic<uint64_t> seen_count{0}, failed_count{0};

struct Hook {
    template <class Call>
    static CUresult around(Function function, Call&& call) noexcept {
        const uint32_t wanted = target.load(std::memory_order_acquire);
        if (wanted == kNone || (wanted != kAny && wanted != static_cast<uint32_t>(function))) return call();
        const uint64_t number = seen_count.fetch_add(1, std::memory_order_relaxed) + 1;
        if (const auto watch = watcher.load(std::memory_order_relaxed)) watch(function, number);
        const uint64_t due = kth.load(std::memory_order_relaxed);
        if (number < due || (number > due && !lasting.load(std::memory_order_relaxed))) return call();
        failed_count.fetch_add(1, std::memory_order_relaxed);
        return static_cast<CUresult>(answer.load(std::memory_order_relaxed));
    }
};

}  // namespace

std::shared_ptr<Driver> wrap(std::shared_ptr<Driver> driver) {
    return std::make_shared<Wrapper<Hook>>(std::move(driver));
}

void arm(const Plan& plan) noexcept {
    disarm();
    kth.store(plan.kth, std::memory_order_relaxed);
    answer.store(plan.result, std::memory_order_relaxed);
    lasting.store(plan.for_ever, std::memory_order_relaxed);
    watcher.store(plan.watch, std::memory_order_relaxed);
    seen_count.store(0, std::memory_order_relaxed);
    failed_count.store(0, std::memory_order_relaxed);
    target.store(plan.function ? static_cast<uint32_t>(*plan.function) : kAny, std::memory_order_release);
}

void disarm() noexcept { target.store(kNone, std::memory_order_release); }

uint64_t seen() noexcept { return seen_count.load(std::memory_order_relaxed); }
uint64_t failed() noexcept { return failed_count.load(std::memory_order_relaxed); }

}  // namespace gpo::driver::faults
