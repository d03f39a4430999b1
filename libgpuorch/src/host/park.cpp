// The clock, wait words, and the mutex and condition variable that are made of wait words. Each function has one branch
// for the case that the deterministic scheduler replaces the machine.
#include <ctime>

#include "host/host.h"
#include "host/linux.h"
#include "host/schedule.h"

namespace gpo::host {

uint64_t now() noexcept {
    if (detail::scheduled()) [[unlikely]]
        return detail::scheduled_now();
    return machine::now();
}

uint64_t deadline_after(int64_t timeout_ns) noexcept {
    if (timeout_ns < 0) return kForever;
    const uint64_t start = now();
    const auto timeout = static_cast<uint64_t>(timeout_ns);
    return timeout > kForever - start ? kForever : start + timeout;
}

bool wait(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline, Sleep sleep) noexcept {
    if (detail::scheduled()) [[unlikely]]
        return detail::scheduled_wait(word, expected, deadline);
    return sleep == Sleep::light ? machine::wait_lightly(word, expected, deadline)
                                 : machine::wait(word, expected, deadline);
}

void wake_one(const std::atomic<uint32_t>& word) noexcept {
    if (detail::scheduled()) [[unlikely]]
        return detail::scheduled_wake(word, false);
    machine::wake(word, 1);
}

void wake_all(const std::atomic<uint32_t>& word) noexcept {
    if (detail::scheduled()) [[unlikely]]
        return detail::scheduled_wake(word, true);
    machine::wake(word, INT32_MAX);
}

void sleep_until(uint64_t deadline) noexcept {
    const std::atomic<uint32_t> never{0};
    while (now() < deadline && wait(never, 0, deadline)) {
    }
}

void step(unsigned spins) noexcept {
    if (detail::scheduled()) [[unlikely]]
        return detail::scheduled_poll(spins);
    machine::relax(spins);
}

bool Mutex::lock_slow(uint64_t deadline) noexcept {
    // A short critical section on another core ends sooner than a sleep would.
    for (int spin = 0; spin < 64 && !detail::scheduled(); ++spin) {
        if (word_.load(std::memory_order_relaxed) == 0 && try_lock()) return true;
        machine::relax(0);
    }
    // From here on the lock is taken with the value 2: other threads may sleep, and unlock() must wake one of them. A
    // thread that was woken tries once more, even if its time is over: no other thread was woken in its place.
    for (bool in_time = true; word_.exchange(2, std::memory_order_acquire) != 0;) {
        if (!in_time) return false;
        if (detail::scheduled()) [[unlikely]] {
            in_time = detail::scheduled_wait(word_, 2, deadline, "a mutex");
            if (detail::given_up()) return true;
        } else {
            in_time = machine::wait(word_, 2, deadline);
        }
    }
    return true;
}

// A waiter counts itself and reads the sequence while it holds the mutex. The condition changes under the same mutex,
// which orders both. Either the notifier sees the waiter's count, or the waiter sees the changed condition. Relaxed
// atomics are therefore enough.
bool Condition::wait(Lock& lock, uint64_t deadline) noexcept {
    waiters_.fetch_add(1, std::memory_order_relaxed);
    const uint32_t seen = sequence_.load(std::memory_order_relaxed);
    lock.unlock();
    const bool in_time = host::wait(sequence_, seen, deadline, sleep_);
    lock.lock();
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return in_time;
}

void Condition::notify_one() noexcept {
    if (waiters_.load(std::memory_order_relaxed) == 0) return;
    sequence_.fetch_add(1, std::memory_order_relaxed);
    wake_one(sequence_);
}

void Condition::notify_all() noexcept {
    if (waiters_.load(std::memory_order_relaxed) == 0) return;
    sequence_.fetch_add(1, std::memory_order_relaxed);
    wake_all(sequence_);
}

}  // namespace gpo::host
