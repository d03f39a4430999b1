// Marks: points in streams that the scanner watches.
//
// A mark is an event recorded behind an operation, and what is to happen when it is reached. Marks of a stream are kept
// in the order in which the driver got them, in a queue with one producer (the stream, under its submit lock) and one
// consumer at a time (the scanner, or a thread that has its turn).
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/object.h"

namespace gpo {

class CompletionQueue;

/// How a mark ended.
struct Outcome {
    ErrorPtr error;              // NULL: success
    gpo_status status() const noexcept { return error ? error->status : GPO_SUCCESS; }
    uint64_t operation = 0;      // newest operation before the mark
    uint64_t submitted_ns = 0;
    uint64_t completed_ns = 0;
    int64_t gpu_ns = -1;
};

/// Is notified when a mark (or a timeline's value, or a pipeline's run) has completed or failed: exactly once, under no
/// lock but the scanner's of its turn, on the thread that has found out. For a mark that is the scanner's thread or one
/// that is blocked (Scanner::look), inside a driver scope. A handler must be quick, must not throw or wait, and runs no
/// code of the user's.
class CompletionHandler : public Counted {
public:
    virtual void on_completed(const Outcome&) noexcept = 0;
    /// Somebody is blocked until then.
    virtual bool awaited() const noexcept { return false; }
    /// `on_completed` may be called soon: fetches the memory that it will write. Called again and again, in latency
    /// mode.
    virtual void fetch_ahead() const noexcept {}
};

/// What a mark's GPU time is measured from: a recording of an event with timing (stream/event.h).
class Beginning : public Object {
public:
    using Object::Object;
    virtual CUevent native() const noexcept = 0;
    /// Whether the driver's event has this recording, and none was begun since.
    virtual bool holds(uint64_t recording) const noexcept = 0;
};

/// Of a mark what is copied as it is.
struct MarkFields {
    static constexpr uint64_t kNewest = UINT64_MAX;   // the newest when it is pushed
    CUevent event = nullptr;           // NULL: reached when all marks before it are
    CompletionQueue* queue = nullptr;  // an entry is reserved in it, which keeps it alive; or Mark::target
    uint64_t user_data = 0;
    uint64_t operation = kNewest;      // number of the newest operation before it
    uint64_t submitted = 0;            // host::ticks()
    uint32_t since_event = 0;  // how many marks before it the newest with an event is; 0: it has one. Set by push()
    uint32_t origin = 0;               // GPO_ORIGIN_*
    bool timing = false;               // of `event`, which is the context's then; else it is the place's in the queue
    bool deferred = false;  // the stream was being captured: the scanner records the event when it no longer is
    bool special = false;              // it has one of Mark's last two
};

/// Marks go from one core to another. What most of them have lies on the first of a mark's two cache lines, and a move
/// touches the other, and writes to the mark that it moves from, only where there is something.
struct alignas(64) Mark : MarkFields {
    Ref<CompletionHandler> target;

    Mark() noexcept = default;
    Mark(const Mark&) = default;
    Mark(Mark&&) noexcept;
    Mark& operator=(Mark&&) noexcept;
    /// The GPU time from this recording of an event to the mark is part of its outcome (Event::newest_recording).
    void set_since(Ref<Beginning> event, uint64_t recording) noexcept {
        since_ = std::move(event);
        since_recording_ = recording;
        special = true;
    }
    Beginning* since() const noexcept { return special ? since_.get() : nullptr; }
    uint64_t since_recording() const noexcept { return since_recording_; }
    /// It completes with this error.
    void set_error(ErrorPtr error) noexcept {
        error_ = std::move(error);
        special = true;
    }
    ErrorPtr error() const noexcept { return special ? error_ : nullptr; }

private:
    Ref<Beginning> since_;
    ErrorPtr error_;
    uint64_t since_recording_ = 0;     // of since_
};
static_assert(sizeof(Mark) == 128 && sizeof(MarkFields) + sizeof(Ref<CompletionHandler>) <= 64);

/// Unbounded queue of marks, one producer and one consumer, in blocks that are used again.
class MarkQueue {
public:
    MarkQueue();
    ~MarkQueue();
    /// Makes sure that the next `pushes` can't fail. Producer. Throws std::bad_alloc.
    void reserve(size_t pushes = 1) {
        // The push that fills a block links the next one, so that the consumer never runs off the end.
        const size_t filled = (pushed_.load(std::memory_order_relaxed) % kBlock + pushes) / kBlock;
        if (filled > spares_) [[unlikely]] make_spares(filled);
    }
    /// The next mark, to be filled in (all of it that isn't as a new one's), and then pushed.
    Mark& next() noexcept { return tail_->marks[pushed_.load(std::memory_order_relaxed) % kBlock]; }
    /// The event of the next mark's place, which marks of that place are recorded with in turn; NULL until it is given
    /// one.
    CUevent& next_event() noexcept { return tail_->events[pushed_.load(std::memory_order_relaxed) % kBlock]; }
    void push() noexcept {
        const uint64_t pushed = pushed_.load(std::memory_order_relaxed);
        Mark& mark = tail_->marks[pushed % kBlock];
        if (mark.event)
            since_event_ = 0;
        else if (since_event_ != kNoEvent)
            ++since_event_;
        mark.since_event = since_event_;
        if ((pushed + 1) % kBlock == 0) [[unlikely]] link_spare();
        pushed_.store(pushed + 1, std::memory_order_release);
        // The consumer has read the marks that come next, the last time round: their lines are taken from it now.
        host::fetch_to_write(&tail_->marks[(pushed + 2) % kBlock]);
    }
    /// A mark will be pushed soon: fetches what that writes. Any thread; and, the second, the producer.
    void fetch_ahead() const noexcept { host::fetch_to_write(&tail_); }
    void fetch_next() noexcept { host::fetch_to_write(&next()); }
    /// Calls `take` for each place's event. No mark is in the queue, or comes into it any more.
    template <class Take>
    void take_events(Take&& take) noexcept {
        for (Block* list : {head_, spare_, recycled_.load(std::memory_order_acquire)})
            for (Block* block = list; block; block = block->next.load(std::memory_order_relaxed))
                for (CUevent& event : block->events)
                    if (event) take(std::exchange(event, nullptr));
    }
    /// Consumer. NULL if there is none. `oldest(i)`: i-th from the oldest.
    size_t size() const noexcept {
        return pushed_.load(std::memory_order_seq_cst) - popped_.load(std::memory_order_acquire);
    }
    Mark& at(size_t i) noexcept;
    /// The oldest, where there are `size` or more.
    Mark pop(size_t size) noexcept;

private:
    static constexpr size_t kBlock = 32;
    static constexpr uint32_t kNoEvent = UINT32_MAX;  // further back than any queue reaches
    struct Block {
        Mark marks[kBlock];
        CUevent events[kBlock]{};      // the producer's
        std::atomic<Block*> next{nullptr};
    };
    void make_spares(size_t count);
    void link_spare() noexcept;
    // Each side's own on a cache line of its own.
    alignas(64) Block* tail_;          // producer
    Block* spare_ = nullptr;           // producer: a list, reserved for the next turns
    size_t spares_ = 0;                // producer
    uint32_t since_event_ = kNoEvent;  // producer: of the newest mark
    std::atomic<uint64_t> pushed_{0};  // written by the producer
    alignas(64) Block* head_;          // consumer
    std::atomic<uint64_t> popped_{0};  // written by the consumer
    std::atomic<Block*> recycled_{nullptr};  // a list: the consumer adds one, the producer takes all
};

}  // namespace gpo
