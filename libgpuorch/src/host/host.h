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

/// Fetches a cache line exclusively, because this core will write it soon. (Unless the compiler targets a particular
/// processor, __builtin_prefetch(line, 1) fetches for reading only. The few x86-64 processors without prefetchw ignore
/// it.)
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
    kForksUnwatched = 1,   // until the fork handler is registered: no static constructor does it
    kForked = 2,           // this is a child's copy
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
/// Sets even_ticks: before the first use of ticks() that matters.
void look_at_ticks() noexcept;
bool watch_forks() noexcept;
}  // namespace detail

/// Nanoseconds on a steady clock (CLOCK_MONOTONIC; the virtual clock in deterministic mode).
uint64_t now() noexcept;

/// A cheap steady counter (the processor's time stamps where they tick evenly, else now()): for moments that are turned
/// into nanoseconds later, by two looks at both clocks. 15 ns cheaper than now().
inline uint64_t ticks() noexcept {
#if defined(__x86_64__)
    if (detail::process_flags.even_ticks.load(std::memory_order_relaxed) && !detail::scheduled()) [[likely]]
        return __builtin_ia32_rdtsc();
#endif
    return now();
}

/// The deadline `timeout_ns` from now; negative means kForever. Saturates.
uint64_t deadline_after(int64_t timeout_ns) noexcept;

/// How deep a thread sleeps until another wakes it. A core that has idled for a while takes long to come back. On a
/// virtual machine a thread woke in 4 us after 100 us of sleep, but in 160 us after 1 ms (median; 240 us the slowest
/// tenth). Timers don't have that cost, so a light sleeper wakes every 100 us for its first 50 ms, unless timers turn
/// out to come late. `light` is for threads that expect their next work soon.
enum class Sleep : uint8_t { deep, light };

/// Sleeps until `word` is woken, unless it does not hold `expected`, or until `deadline`. May return early without
/// cause. False when the deadline has passed.
bool wait(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline = kForever,
          Sleep sleep = Sleep::deep) noexcept;
void wake_one(const std::atomic<uint32_t>& word) noexcept;
void wake_all(const std::atomic<uint32_t>& word) noexcept;

/// Sleeps until the clock reaches `deadline`.
void sleep_until(uint64_t deadline) noexcept;

/// A step with no other effect: call it in every loop that polls. `spins` is the number of turns so far: the
/// first few turns only relax the core, later ones yield it.
void step(unsigned spins = 0) noexcept;

/// A step of the deterministic mode between two instructions whose order among threads matters; nothing otherwise.
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
        if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed)) lock_slow();
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
    void lock_slow() noexcept;
    std::atomic<uint32_t> word_{0};  // 0 free, 1 held, 2 held and waited for
};

using Lock = std::unique_lock<Mutex>;

/// A condition variable over a wait word, to be used with Mutex.
class Condition {
public:
    constexpr explicit Condition(Sleep sleep = Sleep::deep) noexcept : sleep_(sleep) {}
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;
    /// False when the deadline has passed. May return early without cause.
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

/// Has each thread that is started from now on say its name, on itself: for tools that show threads.
using ThreadNames = void (*)(const char* name) noexcept;
void tell_thread_names(ThreadNames tell) noexcept;

/// A thread with a name (15 bytes are shown by the system), all signals blocked but SIGSEGV, SIGBUS, SIGFPE, SIGILL.
/// Joined by its owner, always: the destructor joins.
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
    /// True on the thread itself: it may not join itself.
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

/// Has each child that is forked from now on call `handler` before anything else. The process has one handler.
using ForkHandler = void (*)() noexcept;
void on_fork(ForkHandler handler) noexcept;

}  // namespace gpo::host
