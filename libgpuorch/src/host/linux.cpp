#include "host/linux.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "host/host.h"

namespace gpo::host::machine {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// A thread's timers may come 50 us late (PR_SET_TIMERSLACK), and after 200 us of idling a virtual core is put aside.
constexpr uint64_t kNap = 100'000, kNapsFor = 50'000'000;
// A nap costs more than it saves if its timer comes kLate later than the thread's slack allows: on a nested virtual
// machine, setting a timer takes 20 us. After kLateNaps late naps in a row, no thread naps for kNapless.
constexpr uint64_t kLate = 20'000, kNapless = 1'000'000'000;
constexpr unsigned kLateNaps = 3;
constinit std::atomic<unsigned> late_naps{0};           // in a row, in all threads
constinit std::atomic<uint64_t> napless_until{0};

void note_nap(uint64_t late, uint64_t time) noexcept {
    const int saved = errno, slack = late > kLate ? prctl(PR_GET_TIMERSLACK) : 0;
    errno = saved;
    if (slack < 0 || late <= kLate + static_cast<uint64_t>(slack)) {
        if (late_naps.load(std::memory_order_relaxed)) late_naps.store(0, std::memory_order_relaxed);
        return;
    }
    if (late_naps.fetch_add(1, std::memory_order_relaxed) + 1 < kLateNaps) return;
    late_naps.store(kLateNaps - 1, std::memory_order_relaxed);   // the next late nap suffices
    napless_until.store(time + kNapless, std::memory_order_relaxed);
}

constexpr unsigned kRelaxedSpins = 64;  // about 2 us of pauses before the core is yielded

}  // namespace

uint64_t now() noexcept {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
}

bool wait(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline) noexcept {
    static_assert(sizeof(word) == 4 && std::atomic<uint32_t>::is_always_lock_free, "the kernel waits on the atomic");
    timespec limit{static_cast<time_t>(deadline / kSecond), static_cast<long>(deadline % kSecond)};
    const int saved = errno;
    for (;;) {
        // FUTEX_WAIT_BITSET takes an absolute deadline, so that a storm of signals can't stretch the wait.
        const long result = syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                                    deadline == UINT64_MAX ? nullptr : &limit, nullptr, FUTEX_BITSET_MATCH_ANY);
        if (result == -1 && errno == EINTR) continue;
        const bool in_time = result == 0 || errno != ETIMEDOUT;
        errno = saved;
        return in_time;
    }
}

bool wait_lightly(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline) noexcept {
    const uint64_t begin = now();
    for (uint64_t time = begin; time - begin < kNapsFor && time >= napless_until.load(std::memory_order_relaxed);) {
        if (time >= deadline) return false;
        const uint64_t end = deadline - time > kNap ? time + kNap : deadline;
        if (wait(word, expected, end)) return true;
        time = now();
        note_nap(time - end, time);
    }
    return wait(word, expected, deadline);
}

void wake(const std::atomic<uint32_t>& word, int count) noexcept {
    const int saved = errno;
    // The word's owner may have seen the new value and freed the word: then the kernel returns EFAULT, or wakes another
    // thread without cause. Both are harmless.
    syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0);
    errno = saved;
}

void relax(unsigned spins) noexcept {
    if (spins >= kRelaxedSpins) {
        sched_yield();
        return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

}  // namespace gpo::host::machine

namespace gpo::host::detail {

void look_at_ticks() noexcept {
#if defined(__x86_64__)
    // "Invariant TSC": it runs at one rate in all power states, and the system keeps it equal on all cores.
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8))
        process_flags.even_ticks.store(true, std::memory_order_relaxed);
#endif
}

}  // namespace gpo::host::detail
