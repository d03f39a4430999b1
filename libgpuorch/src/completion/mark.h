// Marks: points in streams that the scanner watches.
//
// A mark is an event recorded behind an operation, and the action to take when the event is reached. A stream's marks
// are kept in the order in which the driver got them. Their queue has one producer: the stream, under its submit lock.
// The consumer is the scanner, or a thread that has the scanner's turn: one at a time.
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
/// lock but the scanner's turn lock, on the thread that found the completion. For a mark, this is the scanner's thread
/// or a blocked thread (Scanner::look), inside a driver scope. A handler must be quick, must not throw or wait, and
/// runs no user code.
class CompletionHandler : public Counted {
public:
    virtual void on_completed(const Outcome&) noexcept = 0;
    /// True if a thread is blocked until the completion.
    virtual bool awaited() const noexcept { return false; }
    /// Prefetches the memory that `on_completed` will write. Called repeatedly in latency mode, before the completion.
    virtual void fetch_ahead() const noexcept {}
};

/// The start of a mark's GPU time: a recording of an event with timing (stream/event.h).
class Beginning : public Object {
public:
    using Object::Object;
    virtual CUevent native() const noexcept = 0;
    /// True if `recording` is the event's newest recording, begun or made.
    virtual bool holds(uint64_t recording) const noexcept = 0;
};

/// The fields of a mark that are copied byte for byte.
struct MarkFields {
    static constexpr uint64_t kNewest = UINT64_MAX;   // the newest operation at the time of push()
    CUevent event = nullptr;           // NULL: reached when all marks before it are
    CompletionQueue* queue = nullptr;  // the mark's reserved entry keeps the queue alive; NULL: see Mark::target
    uint64_t user_data = 0;
    uint64_t operation = kNewest;      // number of the newest operation before the mark
    uint64_t submitted = 0;            // host::ticks()
    uint32_t since_event = 0;          // distance back to the newest mark with an event; 0: this one. Set by push()
    uint32_t origin = 0;               // GPO_ORIGIN_*
    bool timing = false;               // `event` has timing and is the context's; false: it is the queue place's
    bool deferred = false;             // the stream was being captured: the scanner records the event after the capture
    bool special = false;              // Mark::since_ or Mark::error_ is set
};

/// Marks move from one core to another. The fields that most marks use share the first of a mark's two cache lines. A
/// move touches the second line, and writes to its source, only where a field is set.
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
    /// The mark completes with this error.
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

/// Unbounded queue of marks with one producer and one consumer, in recycled blocks.
class MarkQueue {
public:
    MarkQueue();
    ~MarkQueue();
    /// Allocates the blocks for the next `pushes`, which then can't fail. Producer. Throws std::bad_alloc.
    void reserve(size_t pushes = 1) {
        // The push that fills a block links the next block: the consumer never runs off the end.
        const size_t filled = (pushed_.load(std::memory_order_relaxed) % kBlock + pushes) / kBlock;
        if (filled > spares_) [[unlikely]] make_spares(filled);
    }
    /// The next mark, to be filled in and then pushed. Its place may still have an old mark's fields.
    Mark& next() noexcept { return tail_->marks[pushed_.load(std::memory_order_relaxed) % kBlock]; }
    /// The event of the next mark's place: successive marks of the place reuse the event. NULL until an event is
    /// assigned.
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
        // The consumer's core still has the cache lines of the next marks, from their previous use: prefetch them.
        host::fetch_to_write(&tail_->marks[(pushed + 2) % kBlock]);
    }
    /// Prefetch the memory that the next push writes. fetch_ahead: any thread; fetch_next: the producer.
    void fetch_ahead() const noexcept { host::fetch_to_write(&tail_); }
    void fetch_next() noexcept { host::fetch_to_write(&next()); }
    /// Calls `take` for each place's event. The queue must be empty, and no mark may be pushed any more.
    template <class Take>
    void take_events(Take&& take) noexcept {
        for (Block* list : {head_, spare_, recycled_.load(std::memory_order_acquire)})
            for (Block* block = list; block; block = block->next.load(std::memory_order_relaxed))
                for (CUevent& event : block->events)
                    if (event) take(std::exchange(event, nullptr));
    }
    /// Number of marks.
    size_t size() const noexcept {
        return pushed_.load(std::memory_order_seq_cst) - popped_.load(std::memory_order_acquire);
    }
    /// Consumer: the i-th mark from the oldest.
    Mark& at(size_t i) noexcept;
    /// Consumer: takes the oldest mark out. The queue has at least `size` marks.
    Mark pop(size_t size) noexcept;

private:
    static constexpr size_t kBlock = 32;
    static constexpr uint32_t kNoEvent = UINT32_MAX;  // no mark had an event: further back than any queue reaches
    struct Block {
        Mark marks[kBlock];
        CUevent events[kBlock]{};      // the producer's
        std::atomic<Block*> next{nullptr};
    };
    void make_spares(size_t count);
    void link_spare() noexcept;
    // The producer's and the consumer's fields lie on separate cache lines.
    alignas(64) Block* tail_;          // producer
    Block* spare_ = nullptr;           // producer: a list, reserved for the next pushes
    size_t spares_ = 0;                // producer
    uint32_t since_event_ = kNoEvent;  // producer: of the newest mark
    std::atomic<uint64_t> pushed_{0};  // written by the producer
    alignas(64) Block* head_;          // consumer
    std::atomic<uint64_t> popped_{0};  // written by the consumer
    std::atomic<Block*> recycled_{nullptr};  // a list: the consumer adds one, the producer takes all
};

}  // namespace gpo
