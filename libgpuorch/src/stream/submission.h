// The submit lock of a stream, the numbers that operations get under it, and what is counted of them.
//
// The submit lock is held from before an operation gets its number until the driver has it, so that numbers, driver
// order and marks agree. The other locks of ours under which the driver is called are an event's own, where its newest
// recording was held or is copied (Event::native_lock_), a graph's, the one under which a wrapped stream stays
// (Stream::stay), that of the scanner's turn, and that for ends of streams and pools (driver/cuda_driver.cpp). Only work of several streams at once takes two (stream/group_work.h): what has to happen on other
// streams as a consequence (a timeline signal that releases them) is done after the lock is released
// (Operation::afterwards), for one stream after the other (Held::flush). The scanner never takes one.
#pragma once

#include "core/handles.h"
#include "gpuorch/runtime.h"
#include "host/owned_mutex.h"
#include "stream/work.h"

namespace gpo {

class Submission {
public:
    /// Holds the submit lock. The first thread to take it, as a rule the first that submits something, owns it, and
    /// gets it for less.
    class Lock {
    public:
        explicit Lock(Submission& submission) noexcept
            : lock_(submission.lock_, submission.owned_by(handle::thread_number())) {}

    private:
        const host::OwnedLock lock_;
    };

    /// Whether the context was current for whoever submitted last (DriverScope).
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

    // First what every call writes.
    alignas(64) host::OwnedMutex lock_;
    std::atomic<uint32_t> owner_{handle::kNoThread};   // number of the thread that took the lock first
    std::atomic<bool> was_current_{false};
    std::atomic<uint64_t> accepted_{0};
    std::atomic<uint64_t> launches_{0}, notifies_{0};
    std::atomic<uint64_t> copies_{0}, copied_bytes_{0}, fills_{0};
};

}  // namespace gpo
