// A stream's side of its marks. completion/mark.h defines marks, and completion/watched.h the scanner's side.
#pragma once

#include <vector>

#include "completion/watched.h"

namespace gpo {

class DriverStream;
class Traced;

/// Functions are called under the stream's submit lock unless their comment says otherwise.
class StreamMarks {
public:
    /// Throws std::bad_alloc.
    StreamMarks(DriverStream& stream, Traced& traced) : stream_(stream), traced_(traced) {}
    /// Gives the events back to the context.
    void give_events() noexcept;

    Watched& watched() noexcept { return watched_; }
    /// Number of the newest operation seen done. Any thread.
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
    /// An event for the next mark: the event of the mark's place in the queue, or, with timing, an event of the
    /// context. Return unused events by return_event. Throws.
    CUevent event(bool timing);
    void return_event(bool timing, CUevent event) noexcept;
    /// event(false) needs no driver.
    bool has_spare() const noexcept { return !spares_[false].empty(); }
    /// Records the event of the mark that is pushed next. In a capture the scanner records it later, even if the
    /// program began the capture just before: querying an event that is in a capture would break the capture. Throws.
    void record(Mark& mark);
    /// Records the event of a mark that carries a failure. The mark completes when all work submitted before has ended,
    /// as that work still uses memory.
    void record_failed(Mark& mark) noexcept;
    /// Fills in the operation's number and the time.
    void push(Mark&& mark) noexcept;

    /// Whether all work of the stream precedes the newest recorded mark: another mark needs no event.
    bool end_stream() const noexcept;
    /// Whether all work that the library has submitted precedes the newest mark. Any thread, but reliable only under
    /// the lock.
    bool newest() const noexcept { return newest_.load(std::memory_order_relaxed); }
    /// true: a mark was just recorded. false: the library is about to submit work after the newest mark.
    void set_newest(bool newest) noexcept { newest_.store(newest, std::memory_order_relaxed); }

    /// Announces a later mark, for a wait for all work of the stream, the program's own included. Until then the stream
    /// isn't destroyed without a mark. Any thread.
    void expect_mark() noexcept { expected_.fetch_add(1, std::memory_order_acq_rel); }
    void end_expecting_mark() noexcept { expected_.fetch_sub(1, std::memory_order_acq_rel); }
    bool expects_mark() const noexcept { return expected_.load(std::memory_order_acquire) != 0; }

private:
    void make_known();
    CUevent take_spare(bool timing);
    void take_spares(bool timing);

    DriverStream& stream_;
    Traced& traced_;
    std::atomic<bool> scanned_{false};
    std::atomic<bool> newest_{false};      // changed under the submit lock
    std::atomic<uint32_t> expected_{0};
    std::vector<CUevent> spares_[2];       // without timing, with timing
    Watched watched_;
};

}  // namespace gpo
