// Completion queues: bounded, filled by scanners, drained by the host. Room is reserved when a notify is accepted, so
// that delivery can't fail.
//
// A queue is a list of what happened, and outlives its runtime as that. It is at its *end* when its runtime shuts down
// and every entry that was accepted has been delivered: from then on nothing comes, and who has drained it is told so.
#pragma once

#include <vector>

#include "completion/mark.h"
#include "core/runtime.h"
#include "host/doorbell.h"
#include "gpuorch/completion.h"

namespace gpo {

/// How an outcome is reported to the user. Without an error_id, which is the queue's.
gpo_completion entry_of(const Outcome& outcome, uint64_t user_data, uint32_t origin) noexcept;

class CompletionQueue final : public Object {
public:
    CompletionQueue(Runtime& runtime, uint32_t capacity, const char* label);

    /// Room for one entry, while a pin or reference of the caller's keeps the queue. False if it is full (counted as
    /// refused). From here to `deliver` or `unreserve` the queue lives, whoever lets go of it. Whoever has the room
    /// looks whether the runtime shuts down before it promises the entry: see at_end().
    bool reserve() noexcept {
        uint64_t reserved = reserved_.load(std::memory_order_relaxed);
        if (reserved - drained_seen_.load(std::memory_order_relaxed) < capacity_) [[likely]]
            if (reserved_.compare_exchange_strong(reserved, reserved + 1, std::memory_order_seq_cst,
                                                  std::memory_order_relaxed)) [[likely]]
                return true;
        return reserve_slowly();
    }
    /// Gives room back that was reserved and isn't needed.
    void unreserve() noexcept;
    /// Delivers an entry into reserved room. Any thread; quick.
    void deliver(const gpo_completion& entry, ErrorPtr error) noexcept {
        put(entry, std::move(error));
        notify(1);
    }
    /// The two halves of it, for whoever has many: each entry is put, and is there for whoever looks; then, soon, those
    /// who sleep are notified of `count` of them at once. The queue lives until it has notified of the last.
    void put(const gpo_completion& entry, ErrorPtr error) noexcept;
    void notify(uint64_t count) noexcept;

    /// An entry may be put soon: fetches the memory that this will write.
    void fetch_ahead() const noexcept {
        __builtin_prefetch(&cells_[head_.load(std::memory_order_relaxed) & mask_], 1);
        __builtin_prefetch(&head_, 1);
    }

    using Object::drain;   // at shutdown: nothing to wait for
    /// How many it has taken. Throws Failure(GPO_SHUT_DOWN) where there are none, and none will come.
    uint64_t drain(gpo_completion* entries, size_t stride, size_t capacity);
    gpo_status wait(uint64_t deadline);
    void wake() noexcept;
    /// A duplicate of the descriptor, which is made the first time. Throws std::system_error.
    int descriptor();
    ErrorPtr failure(uint64_t error_id) const;
    gpo_cq_statistics statistics() const noexcept;
    void destroyed() noexcept override;
    void stop() noexcept override { set_life(Life::ending); }
    void shutdown_timed_out() noexcept override { set_life(Life::stalled); }
    void runtime_ended() noexcept override { set_life(Life::over); }
    void close() noexcept override;

private:
    bool reserve_slowly() noexcept;
    bool filled() const noexcept;
    uint64_t take(gpo_completion* entries, size_t stride, size_t capacity) noexcept;
    /// What becomes of whoever finds no entry.
    enum class Life : uint8_t {
        open,      // it waits
        ending,    // the runtime shuts down: it waits for what is owed
        stalled,   // a shutdown has timed out: it doesn't wait
        over,      // the runtime has shut down: nothing is owed
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
    std::unique_ptr<Cell[]> cells_;                   // a power of two, at least capacity and 2: see drain()
    // What notifies, the scanner and drains write lies on lines of their own.
    alignas(64) std::atomic<uint64_t> reserved_{0};     // entries ever given room
    std::atomic<uint64_t> drained_seen_{0};             // a look at tail_: room there was then, there is now
    alignas(64) std::atomic<uint64_t> head_{0};         // next to be filled
    static constexpr uint64_t kKept = uint64_t{1} << 63;
    std::atomic<uint64_t> delivered_{0};                // entries that were; once it is closed kKept less those to come
    std::atomic<uint32_t> signal_{0};                   // wait word: changes with each delivery
    alignas(64) std::atomic<uint64_t> tail_{0};         // next to be drained
    alignas(64) std::atomic<uint32_t> waiters_{0};
    std::atomic<bool> woken_{false};
    std::atomic<bool> destroyed_{false};  // its handle is: the descriptor is to be readable for good, as at its end
    std::atomic<Life> life_{Life::open};
    std::atomic<uint64_t> refused_{0};

    // The descriptor's. Its ring is due while announced_ is 1; rings_ counts those that were rung, heard_ those of them
    // that a hush has taken away for sure.
    host::Mutex bell_lock_;                           // for making it
    host::Doorbell bell_;
    std::atomic<bool> belled_{false};                 // it is made
    alignas(64) std::atomic<uint32_t> announced_{0};
    std::atomic<uint32_t> rings_{0}, heard_{0};

    mutable host::Mutex failures_lock_;
    std::vector<ErrorPtr> failures_;                  // ring of the last 256
    uint64_t failure_count_ = 0;
};

/// An entry that is delivered when something other than a mark is reached. Room is reserved for it: it must be reached.
class QueueEntry final : public CompletionHandler {
public:
    QueueEntry(CompletionQueue& queue, uint64_t user_data, uint32_t origin) noexcept
        : queue_(queue), user_data_(user_data), origin_(origin) {}
    void on_completed(const Outcome& outcome) noexcept override {
        queue_.deliver(entry_of(outcome, user_data_, origin_), outcome.error);
    }

private:
    CompletionQueue& queue_;  // lives as long as room in it is reserved
    const uint64_t user_data_;
    const uint32_t origin_;
};

template <>
struct TypeOf<CompletionQueue> { static constexpr Type value = Type::cq; };

}  // namespace gpo
