// The submit lock of a stream, and its operations' numbers and counters.
//
// The submit lock is held from before an operation gets its number until the driver has the operation, so that numbers,
// driver order and marks agree. The library calls the driver under a few other locks too: an event's, if its newest
// recording was held or is copied (Event::native_lock_), and a graph's. The others are the lock under which a wrapped
// stream stays (Stream::stay), the lock of the scanner's turn, and the lock for ends of streams and pools
// (driver/cuda_driver.cpp).
//
// Only work of several streams takes several submit locks (stream/group_work.h). Consequences on other streams, such as
// a timeline signal that releases them, follow after the lock is released (Operation::afterwards), stream by stream
// (Held::flush). The scanner never takes a submit lock.
#pragma once

#include "core/handles.h"
#include "gpuorch/runtime.h"
#include "host/owned_mutex.h"
#include "stream/work.h"

namespace gpo {

class Submission {
public:
    /// Holds the submit lock. The first thread to take the lock, as a rule the first to submit, owns it and pays less
    /// for it.
    class Lock {
    public:
        explicit Lock(Submission& submission) noexcept
            : lock_(submission.lock_, submission.owned_by(handle::thread_number())) {}

    private:
        const host::OwnedLock lock_;
    };

    /// Holds the submit lock, if the lock was free by the deadline: the holder may be inside a driver call that waits
    /// for the GPU (a copy from or to pageable memory, an operation on a full stream).
    class LockUntil {
    public:
        LockUntil(Submission& submission, uint64_t deadline) noexcept
            : lock_(submission.lock_, submission.owned_by(handle::thread_number()), deadline) {}
        bool held() const noexcept { return lock_.held(); }

    private:
        const host::OwnedLockUntil lock_;
    };

    /// Nanoseconds until the lock is free, as a rule, unless the holder is in such a call.
    static constexpr uint64_t kBrief = 100'000;

    /// Whether the context was current for the last submitting thread (DriverScope).
    std::atomic<bool>& was_current() noexcept { return was_current_; }

    /// Number of the newest operation that was accepted: operations are numbered from 1. Any thread.
    uint64_t accepted() const noexcept { return accepted_.load(std::memory_order_acquire); }
    /// The number that the next operation gets. Under the lock.
    uint64_t next() const noexcept { return accepted_.load(std::memory_order_relaxed) + 1; }
    void accept(uint64_t number) noexcept { accepted_.store(number, std::memory_order_release); }

    // Counters have one writer at a time, under the lock.
    void count(const KernelWork&) noexcept { add(launches_, 1); }
    void count(const CopyWork& work) noexcept { count_copies(1, bytes_of(work)); }
    void count(const RowsWork& work) noexcept { count_copies(1, bytes_of(work)); }
    void count(const FillWork&) noexcept { add(fills_, 1); }
    void count(const EventWork&) noexcept {}
    void count_copies(uint64_t count, uint64_t bytes) noexcept {
        add(copies_, count);
        add(copied_bytes_, bytes);
    }
    void count_notify() noexcept { add(notifies_, 1); }
    void add_to(gpo_statistics& statistics) const noexcept {
        statistics.launches += launches_.load(std::memory_order_relaxed);
        statistics.copies += copies_.load(std::memory_order_relaxed);
        statistics.copied_bytes += copied_bytes_.load(std::memory_order_relaxed);
        statistics.fills += fills_.load(std::memory_order_relaxed);
        statistics.notifies += notifies_.load(std::memory_order_relaxed);
    }

private:
    static void add(std::atomic<uint64_t>& counter, uint64_t by) noexcept {
        counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }
    bool owned_by(uint32_t thread) noexcept {
        const uint32_t owner = owner_.load(std::memory_order_relaxed);
        return owner == handle::kNoThread ? become_owned(thread) : owner == thread;
    }
    bool become_owned(uint32_t thread) noexcept {
        uint32_t nobody = handle::kNoThread;
        return thread != handle::kNoThread && owner_.compare_exchange_strong(nobody, thread, std::memory_order_relaxed);
    }

    // First the fields that every call writes.
    alignas(64) host::OwnedMutex lock_;
    std::atomic<uint32_t> owner_{handle::kNoThread};   // number of the thread that took the lock first
    std::atomic<bool> was_current_{false};
    std::atomic<uint64_t> accepted_{0};
    std::atomic<uint64_t> launches_{0}, notifies_{0};
    std::atomic<uint64_t> copies_{0}, copied_bytes_{0}, fills_{0};
};

}  // namespace gpo
