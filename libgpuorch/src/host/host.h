// The host seam: the only way in which the library uses the machine's clock and threads, so that the deterministic
// scheduler (host/schedule.h) can replace them.
//
// Words. A *wait word* is a 32-bit atomic on which threads wait while it holds an expected value (a futex). A *step* is
// a point at which the deterministic scheduler may run another thread: every function here that can block, wake or
// start a thread is a step. In deterministic mode one thread runs at a time and the clock is virtual: it stands still
// while any thread can run, and jumps to the next deadline when none can.
//
// Rules. No code of the library calls std::thread, std::mutex, std::condition_variable, sleep or a clock directly. A
// function here throws only if its comment says so. Nothing here allocates memory after construction.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace gpo::host {

/// Prefetches a cache line in exclusive state, for a write that follows soon. (__builtin_prefetch(line, 1) becomes
/// prefetchw only if the compiler targets a processor with this instruction. The few x86-64 processors without
/// prefetchw treat it as a no-op.)
inline void fetch_to_write(const void* line) noexcept {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

/// A deadline that never comes.
inline constexpr uint64_t kForever = UINT64_MAX;

namespace detail {
enum : uint32_t {
    kForksUnwatched = 1,   // the fork handler isn't registered yet: the first call registers it
    kForked = 2,           // this process is a fork's child
    kScheduled = 4,        // the deterministic scheduler stands in for the machine
    kNoMembarrier = 8,     // until look_at_fences() (host/fence.h) has found membarrier
    kHostNode = 256,       // and its multiples, up to 255: functions of host nodes that run (core/host_node.h)
    kWatcher = 65536,      // and its multiples: recorders that run, and an NVTX tool (trace/record.h)
};
/// Flags that every call reads and few write, on one cache line.
struct alignas(64) ProcessFlags {
    std::atomic<uint32_t> unusual{kForksUnwatched | kNoMembarrier};
    std::atomic<bool> even_ticks{false};   // the processor's time stamps are known to tick evenly
};
extern ProcessFlags process_flags;
inline bool unusual(uint32_t what) noexcept { return process_flags.unusual.load(std::memory_order_relaxed) & what; }
/// True while the deterministic scheduler stands in for the machine. Costs one relaxed load, predicted false.
inline bool scheduled() noexcept { return unusual(kScheduled); }
void scheduled_step() noexcept;
/// Sets even_ticks. Call this before the first ticks() that must be cheap.
void look_at_ticks() noexcept;
bool watch_forks() noexcept;
}  // namespace detail

/// Nanoseconds on a steady clock (CLOCK_MONOTONIC; the virtual clock in deterministic mode).
uint64_t now() noexcept;

/// A steady counter that is 15 ns cheaper than now(): the processor's time stamps if their rate is constant, otherwise
/// now(). To convert ticks to nanoseconds, compare this counter with now() at two moments.
inline uint64_t ticks() noexcept {
#if defined(__x86_64__)
    if (detail::process_flags.even_ticks.load(std::memory_order_relaxed) && !detail::scheduled()) [[likely]]
        return __builtin_ia32_rdtsc();
#endif
    return now();
}

/// The deadline `timeout_ns` from now; negative means kForever. Saturates.
uint64_t deadline_after(int64_t timeout_ns) noexcept;

/// How a thread sleeps until another wakes it. A core that has been idle for long takes long to wake. On a virtual
/// machine a thread woke in 4 us after 100 us of sleep, but in 160 us after 1 ms (median; the slowest tenth took 240
/// us or more). A thread in `light` sleep therefore lets a timer wake it every 100 us during the first 50 ms, unless
/// timers prove to be late. `light` is for threads that expect their next work soon.
enum class Sleep : uint8_t { deep, light };

/// Returns at once if `word` does not hold `expected`. Otherwise sleeps until another thread wakes `word`, or until
/// `deadline`. Spurious wake-ups are possible. False when the deadline has passed.
bool wait(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline = kForever,
          Sleep sleep = Sleep::deep) noexcept;
void wake_one(const std::atomic<uint32_t>& word) noexcept;
void wake_all(const std::atomic<uint32_t>& word) noexcept;

/// Sleeps until the clock reaches `deadline`.
void sleep_until(uint64_t deadline) noexcept;

/// A step with no other effect: call it in every loop that polls. `spins` is the number of turns so far: the
/// first few turns only relax the core, later ones yield it.
void step(unsigned spins = 0) noexcept;

/// A step in deterministic mode, otherwise nothing: lets other threads run between two memory accesses that may race.
inline void crossing() noexcept {
    if (detail::scheduled()) [[unlikely]]
        detail::scheduled_step();
}

/// A mutex over a wait word: 4 bytes, constexpr-constructible, usable with std::lock_guard and std::unique_lock.
class Mutex {
public:
    constexpr Mutex() noexcept = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    void lock() noexcept {
        if (detail::scheduled()) [[unlikely]]
            detail::scheduled_step();
        uint32_t free = 0;
        if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed))
            lock_slow(kForever);
    }
    /// Like lock(), but false if the mutex isn't free by the deadline. A deadline that has passed is a try.
    bool lock_until(uint64_t deadline) noexcept {
        if (detail::scheduled()) [[unlikely]]
            detail::scheduled_step();
        return try_lock() || lock_slow(deadline);
    }
    bool try_lock() noexcept {
        uint32_t free = 0;
        return word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void unlock() noexcept {
        if (word_.exchange(0, std::memory_order_release) == 2) wake_one(word_);
        if (detail::scheduled()) [[unlikely]]
            detail::scheduled_step();
    }

private:
    bool lock_slow(uint64_t deadline) noexcept;
    std::atomic<uint32_t> word_{0};  // 0 free, 1 held, 2 held and waited for
};

using Lock = std::unique_lock<Mutex>;

/// A condition variable over a wait word, to be used with Mutex.
class Condition {
public:
    constexpr explicit Condition(Sleep sleep = Sleep::deep) noexcept : sleep_(sleep) {}
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;
    /// False when the deadline has passed. Spurious wake-ups are possible.
    bool wait(Lock& lock, uint64_t deadline = kForever) noexcept;
    template <class Done>
    bool wait(Lock& lock, uint64_t deadline, Done done) {
        while (!done())
            if (!wait(lock, deadline)) return done();
        return true;
    }
    void notify_one() noexcept;
    void notify_all() noexcept;

private:
    std::atomic<uint32_t> sequence_{0};
    std::atomic<uint32_t> waiters_{0};
    const Sleep sleep_;
};

/// From now on each new thread calls `watch` with its name, for tools that show threads.
using ThreadNames = void (*)(const char* name) noexcept;
void watch_thread_names(ThreadNames watch) noexcept;

/// A thread with a name, of which the system shows 15 bytes. All signals are blocked except SIGSEGV, SIGBUS, SIGFPE and
/// SIGILL. The destructor joins the thread.
class Thread {
public:
    Thread() noexcept;
    /// Throws std::system_error when the system has no thread left, std::bad_alloc.
    Thread(const char* name, std::function<void()> body);
    Thread(Thread&&) noexcept;
    Thread& operator=(Thread&&) noexcept;
    ~Thread();
    void join() noexcept;
    bool joinable() const noexcept { return impl_ != nullptr; }
    /// Whether this is the calling thread, which must not join itself.
    bool is_current() const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Turns pthread cancellation of the calling thread off while it lives. 30 ns.
class NoCancel {
public:
    NoCancel() noexcept;
    ~NoCancel();
    NoCancel(const NoCancel&) = delete;
    NoCancel& operator=(const NoCancel&) = delete;

private:
    int outer_;
};

/// Number of hardware threads this process may use (affinity and cgroup quota counted), at least 1.
unsigned processors() noexcept;

/// True in a child process that was forked after this library was first used: the threads stayed in the parent.
inline bool forked() noexcept {
    if (!detail::unusual(detail::kForksUnwatched | detail::kForked)) [[likely]] return false;
    return detail::watch_forks();
}

/// Sets the process's fork handler, which every child that is forked later calls inside fork(). There is only one.
using ForkHandler = void (*)() noexcept;
void on_fork(ForkHandler handler) noexcept;

}  // namespace gpo::host
