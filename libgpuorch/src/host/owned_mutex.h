// A mutex for a lock that one thread, its *owner*, takes far more often than all other threads together.
//
// The owner enters by storing one word and reading another: no locked instruction, and no cache line that another core
// has. Any other thread is a *visitor*. A visitor takes the mutex beneath, announces itself in the word that the owner
// reads, and passes a heavy fence (host/fence.h). Hence either the owner sees the visitor and takes the mutex too, or
// the visitor sees the owner inside and waits until the owner has left.
//
// After a visit the owner uses the mutex for a while, twice as long after each visit. Hence frequent visits don't cost
// a fence each, and a lock that threads share evenly behaves as a plain mutex. The lock starts as a plain mutex, and
// stays one where the system has no heavy fence that costs only the visitors.
//
// Another thread may become the owner, if everything that the old owner did happens before everything that the new one
// does.
#pragma once

#include "host/fence.h"
#include "host/host.h"

namespace gpo::host {

class OwnedMutex {
public:
    constexpr OwnedMutex() noexcept = default;
    OwnedMutex(const OwnedMutex&) = delete;
    OwnedMutex& operator=(const OwnedMutex&) = delete;

    // --- visitors ---
    void lock() noexcept {
        if (announce()) [[unlikely]] {
            heavy_fence();
            wait_for_owner(kForever);
        }
    }
    /// Like lock(), but false if the lock isn't free by the deadline. A deadline that has passed is a try.
    bool lock_until(uint64_t deadline) noexcept;
    void unlock() noexcept { mutex_.unlock(); }
    /// Locks every `mutex_of(item)`, with one fence for all.
    template <class Items, class MutexOf>
    static void lock_all(Items& items, MutexOf mutex_of) noexcept {
        bool owned = false;
        for (auto& item : items) owned |= mutex_of(item).announce();
        if (!owned) return;
        heavy_fence();
        for (auto& item : items) mutex_of(item).wait_for_owner(kForever);
    }

    // --- the owner ---
    /// False if a visitor is inside, or was lately.
    bool try_lock_as_owner() noexcept {
        if (visited_.load(std::memory_order_acquire)) [[unlikely]] return false;
        const bool scheduled = detail::scheduled();
        if (scheduled) [[unlikely]] detail::scheduled_step();
        inside_.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // the visitor's heavy fence does the rest
        if (scheduled) [[unlikely]] detail::scheduled_step();
        if (!visited_.load(std::memory_order_acquire)) [[likely]] return true;
        inside_.store(0, std::memory_order_release);
        wake_one(inside_);
        return false;
    }
    void lock_as_owner() noexcept {
        if (try_lock_as_owner()) [[likely]] return;
        mutex_.lock();
        count_turn();
    }
    bool lock_as_owner_until(uint64_t deadline) noexcept {
        if (try_lock_as_owner()) [[likely]] return true;
        if (!mutex_.lock_until(deadline)) return false;
        count_turn();
        return true;
    }
    /// Reads the lock after others may have taken it: the caller keeps it alive until the call returns.
    void unlock_as_owner() noexcept {
        if (inside_.load(std::memory_order_relaxed)) [[likely]]
            leave_as_owner();
        else
            mutex_.unlock();
    }
    /// Unlocks after a successful try_lock_as_owner.
    void leave_as_owner() noexcept {
        inside_.store(0, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        crossing();
        if (visited_.load(std::memory_order_relaxed)) [[unlikely]] wake_one(inside_);
    }

private:
    static constexpr uint32_t kLeastPatience = 64, kMostPatience = 1 << 16;

    /// Takes the mutex. True if the owner may be inside without it: a heavy fence is needed to find out.
    bool announce() noexcept {
        mutex_.lock();
        return count_visit();
    }
    /// The rest of announce(), under the mutex.
    bool count_visit() noexcept {
        turns_ = 0;
        if (visited_.load(std::memory_order_relaxed)) [[likely]] return false;
        visited_.store(1, std::memory_order_relaxed);
        patience_ = patience_ < kMostPatience ? 2 * patience_ : kMostPatience;
        return true;
    }
    /// Under the mutex: the owner may stop using the mutex.
    void count_turn() noexcept {
        if (++turns_ >= patience_ && light_fences()) visited_.store(0, std::memory_order_release);
    }
    bool wait_for_owner(uint64_t deadline) noexcept;

    std::atomic<uint32_t> inside_{0};    // the owner is inside without the mutex; the visitor waits on this word
    std::atomic<uint32_t> visited_{1};   // the owner takes the mutex too
    Mutex mutex_;
    // Under the mutex:
    uint32_t turns_ = 0;                 // times the owner locked the mutex since the last visit
    uint32_t patience_ = kLeastPatience; // `turns_` at which the owner stops using the mutex
};

/// Holds the owner's lock while the object lives, unless a visitor was in the way.
class OwnerTry {
public:
    explicit OwnerTry(OwnedMutex& mutex) noexcept : mutex_(mutex), inside_(mutex.try_lock_as_owner()) {}
    ~OwnerTry() {
        if (inside_) [[likely]] mutex_.leave_as_owner();
    }
    OwnerTry(const OwnerTry&) = delete;
    OwnerTry& operator=(const OwnerTry&) = delete;
    bool inside() const noexcept { return inside_; }

private:
    OwnedMutex& mutex_;
    const bool inside_;
};

/// Holds the lock while the object lives.
class OwnedLock {
public:
    OwnedLock(OwnedMutex& mutex, bool owner) noexcept : mutex_(mutex), owner_(owner) {
        if (owner_) [[likely]]
            mutex_.lock_as_owner();
        else
            mutex_.lock();
    }
    ~OwnedLock() {
        if (owner_) [[likely]]
            mutex_.unlock_as_owner();
        else
            mutex_.unlock();
    }
    OwnedLock(const OwnedLock&) = delete;
    OwnedLock& operator=(const OwnedLock&) = delete;

private:
    OwnedMutex& mutex_;
    const bool owner_;
};

/// Holds the lock while the object lives, if the lock was free by the deadline.
class OwnedLockUntil {
public:
    OwnedLockUntil(OwnedMutex& mutex, bool owner, uint64_t deadline) noexcept
        : mutex_(mutex), owner_(owner),
          held_(owner ? mutex.lock_as_owner_until(deadline) : mutex.lock_until(deadline)) {}
    ~OwnedLockUntil() {
        if (!held_) return;
        if (owner_)
            mutex_.unlock_as_owner();
        else
            mutex_.unlock();
    }
    OwnedLockUntil(const OwnedLockUntil&) = delete;
    OwnedLockUntil& operator=(const OwnedLockUntil&) = delete;
    bool held() const noexcept { return held_; }

private:
    OwnedMutex& mutex_;
    const bool owner_, held_;
};

}  // namespace gpo::host
