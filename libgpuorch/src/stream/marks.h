// The marks of a stream, as the stream makes them; completion/mark.h says what a mark is, and completion/watched.h what
// the scanner does with them.
#pragma once

#include <vector>

#include "completion/watched.h"

namespace gpo {

class Stream;

/// All functions but those that say otherwise are called under the stream's submit lock.
class StreamMarks {
public:
    /// Throws std::bad_alloc.
    explicit StreamMarks(Stream& stream) : stream_(stream) {}
    /// Gives the events back to the context.
    void give_events() noexcept;

    Watched& watched() noexcept { return watched_; }
    /// Number of the newest operation that was seen done. Any thread.
    uint64_t completed() const noexcept { return watched_.completed.load(std::memory_order_relaxed); }
    MarkQueue& queue() noexcept { return watched_.marks; }
    const MarkQueue& queue() const noexcept { return watched_.marks; }
    /// Any thread.
    bool any() const noexcept { return watched_.marks.size() != 0; }
    /// The scanner has the stream on its list. Any thread.
    bool scanned() const noexcept { return scanned_.load(std::memory_order_acquire); }
    /// Waits until all marks have completed. False if the deadline passes first. Any thread, without the lock.
    bool drain(uint64_t deadline) noexcept;

    /// Makes sure that the next `count` pushes can't fail. Throws.
    void reserve(size_t count = 1) {
        watched_.marks.reserve(count);
        if (!scanned()) [[unlikely]] make_known();
    }
    /// An event for the next mark: that of the mark's place in the queue, or, with timing, one of the context's. To be
    /// given back by return_event if it isn't used. Throws.
    CUevent event(bool timing);
    void return_event(bool timing, CUevent event) noexcept;
    /// event(false) needs no driver.
    bool has_spare() const noexcept { return !spares_[false].empty(); }
    /// Records the event of the mark that is pushed next. In a capture, also one that the program has begun just before
    /// the event was recorded, that is left to the scanner: to ask for an event that is in a capture would break the
    /// capture. Throws.
    void record(Mark& mark);
    /// The same for a mark that carries a failure: it completes when what the driver was given before has ended, whose
    /// memory is in use.
    void record_failed(Mark& mark) noexcept;
    /// Fills in the operation's number and the time.
    void push(Mark&& mark) noexcept;

    /// Whether the newest recorded mark is behind all that is on the stream: another mark needs no event.
    bool end_stream() const noexcept;
    /// The same of what was put on by the library alone. Any thread, but true only under the lock.
    bool newest() const noexcept { return newest_.load(std::memory_order_relaxed); }
    /// A mark was recorded, and nothing lies behind it yet (true); or something is put behind it (false).
    void set_newest(bool newest) noexcept { newest_.store(newest, std::memory_order_relaxed); }

    /// A mark will be made later, for somebody who waits for all that is on the stream, also for what only the program
    /// has put there. Until then the stream isn't destroyed without a mark. Any thread.
    void expect_mark() noexcept { expected_.fetch_add(1, std::memory_order_acq_rel); }
    void end_expecting_mark() noexcept { expected_.fetch_sub(1, std::memory_order_acq_rel); }
    bool expects_mark() const noexcept { return expected_.load(std::memory_order_acquire) != 0; }

private:
    void make_known();
    CUevent take_spare(bool timing);
    void take_spares(bool timing);

    Stream& stream_;
    std::atomic<bool> scanned_{false};
    std::atomic<bool> newest_{false};      // changed under the submit lock
    std::atomic<uint32_t> expected_{0};
    std::vector<CUevent> spares_[2];       // without timing, with timing
    Watched watched_;
};

}  // namespace gpo
