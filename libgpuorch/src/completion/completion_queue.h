// Completion queues: bounded, filled by scanners, drained by the host. Room is reserved when a notify is accepted, so
// that delivery can't fail.
//
// A queue is a list of past events, and can still be drained after its runtime has ended. A queue is at its *end* when
// its runtime shuts down and every accepted entry has been delivered. No entry follows, and draining an empty queue at
// its end fails.
#pragma once

#include <vector>

#include "completion/mark.h"
#include "core/runtime.h"
#include "host/doorbell.h"
#include "gpuorch/completion.h"

namespace gpo {

/// The user's entry for an outcome. put() sets its error_id.
gpo_completion entry_of(const Outcome& outcome, uint64_t user_data, uint32_t origin) noexcept;

class CompletionQueue final : public Object {
public:
    CompletionQueue(Runtime& runtime, uint32_t capacity, const char* label);

    /// Reserves room for one entry. The caller has a pin or a reference to the queue. False if the queue is full
    /// (counted as refused). The room keeps the queue alive until `deliver` or `unreserve`. The caller must check
    /// whether the runtime shuts down before it promises the entry: see at_end().
    bool reserve() noexcept {
        uint64_t reserved = reserved_.load(std::memory_order_relaxed);
        if (reserved - drained_seen_.load(std::memory_order_relaxed) < capacity_) [[likely]]
            if (reserved_.compare_exchange_strong(reserved, reserved + 1, std::memory_order_seq_cst,
                                                  std::memory_order_relaxed)) [[likely]]
                return true;
        return reserve_slowly();
    }
    /// Gives unused room back.
    void unreserve() noexcept;
    /// Delivers an entry into reserved room. Any thread; quick.
    void deliver(const gpo_completion& entry, ErrorPtr error) noexcept {
        put(entry, std::move(error));
        notify(1);
    }
    /// The two halves of deliver(), for batches. A put entry can be drained at once. notify() wakes the sleepers for
    /// `count` entries, and must follow soon. The queue lives until the last entry was notified.
    void put(const gpo_completion& entry, ErrorPtr error) noexcept;
    void notify(uint64_t count) noexcept;

    /// Prefetches the memory that the next put() writes.
    void fetch_ahead() const noexcept {
        __builtin_prefetch(&cells_[head_.load(std::memory_order_relaxed) & mask_], 1);
        __builtin_prefetch(&head_, 1);
    }

    using Object::drain;   // at shutdown: nothing to wait for
    /// Number of entries taken. Throws Failure(GPO_SHUT_DOWN) if the queue is empty and at its end.
    uint64_t drain(gpo_completion* entries, size_t stride, size_t capacity);
    gpo_status wait(uint64_t deadline);
    void wake() noexcept;
    /// A duplicate of the descriptor. The first call makes the descriptor. Throws std::system_error.
    int descriptor();
    ErrorPtr failure(uint64_t error_id) const;
    gpo_cq_statistics statistics() const noexcept;
    bool was_destroyed() const noexcept { return destroyed_.load(std::memory_order_acquire); }
    void destroyed() noexcept override;
    void stop() noexcept override { set_life(Life::ending); }
    void shutdown_timed_out() noexcept override { set_life(Life::stalled); }
    void runtime_ended() noexcept override { set_life(Life::over); }
    void close() noexcept override;

private:
    bool reserve_slowly() noexcept;
    bool filled() const noexcept;
    uint64_t take(gpo_completion* entries, size_t stride, size_t capacity) noexcept;
    /// State of the runtime, by which wait() and drain() act on an empty queue.
    enum class Life : uint8_t {
        open,      // wait() waits
        ending,    // the runtime shuts down: wait() waits for the accepted entries
        stalled,   // a shutdown has timed out: wait() doesn't wait
        over,      // the runtime has shut down: all entries were delivered
    };
    void set_life(Life life) noexcept;
    bool at_end() const noexcept;
    void wake_waiters() noexcept;
    [[noreturn]] void fail_at_end() const;
    void announce() noexcept;
    void hush() noexcept;

    struct Cell { std::atomic<uint64_t> turn; gpo_completion entry; };

    const uint32_t capacity_;
    const uint64_t mask_;
    std::unique_ptr<Cell[]> cells_;                   // a power of two, at least capacity and 2: see take()
    // The fields that notifies, the scanner and drains write lie on separate cache lines.
    alignas(64) std::atomic<uint64_t> reserved_{0};     // entries ever given room
    std::atomic<uint64_t> drained_seen_{0};             // an earlier value of tail_: a lower bound
    alignas(64) std::atomic<uint64_t> head_{0};         // next to be filled
    static constexpr uint64_t kKept = uint64_t{1} << 63;
    std::atomic<uint64_t> delivered_{0};                // entries delivered; after close(): kKept minus pending entries
    std::atomic<uint32_t> signal_{0};                   // wait word: changes with each delivery
    alignas(64) std::atomic<uint64_t> tail_{0};         // next to be drained
    alignas(64) std::atomic<uint32_t> waiters_{0};
    std::atomic<bool> woken_{false};
    std::atomic<bool> destroyed_{false};  // the handle is destroyed: the descriptor stays readable, as at the end
    std::atomic<Life> life_{Life::open};
    std::atomic<uint64_t> refused_{0};

    // The descriptor's state. While announced_ is 1, a ring has been made or is about to be. rings_ counts the rings;
    // heard_ counts the rings that a hush has certainly taken away.
    host::Mutex bell_lock_;                           // for making bell_
    host::Doorbell bell_;
    std::atomic<bool> belled_{false};                 // bell_ is made
    alignas(64) std::atomic<uint32_t> announced_{0};
    std::atomic<uint32_t> rings_{0}, heard_{0};

    mutable host::Mutex failures_lock_;
    std::vector<ErrorPtr> failures_;                  // ring of the last 256
    uint64_t failure_count_ = 0;
};

/// An entry for a completion of something other than a mark. Its room is reserved, so on_completed must be called.
class QueueEntry final : public CompletionHandler {
public:
    QueueEntry(CompletionQueue& queue, uint64_t user_data, uint32_t origin) noexcept
        : queue_(queue), user_data_(user_data), origin_(origin) {}
    void on_completed(const Outcome& outcome) noexcept override {
        queue_.deliver(entry_of(outcome, user_data_, origin_), outcome.error);
    }

private:
    CompletionQueue& queue_;  // kept alive by the reserved room
    const uint64_t user_data_;
    const uint32_t origin_;
};

template <>
struct TypeOf<CompletionQueue> { static constexpr Type value = Type::cq; };

}  // namespace gpo
