// The scanner's view of a stream: its marks, what the scanner has learnt from them, and the functions that the scanner
// calls.
#pragma once

#include <mutex>

#include "completion/mark.h"
#include "completion/pace.h"

namespace gpo {

namespace trace {
class Recorder;
}

/// The marks of a stream, and the scanner's state for them. The stream pushes marks, under its submit lock. All other
/// members belong to the scanner's turn (Scanner::look), unless their comment says otherwise.
struct Watched {
    /// Records that everything up to this operation is done. Any thread.
    void seen_done(uint64_t operation) noexcept {
        uint64_t known = completed.load(std::memory_order_relaxed);
        while (known < operation && !completed.compare_exchange_weak(known, operation, std::memory_order_relaxed)) {
        }
    }

    alignas(64) std::atomic<uint64_t> completed{0};   // number of the newest operation that was seen done
    std::atomic<bool> deferring{
        false};  // set, and never cleared, by a thread that defers a mark (Mark::deferred)
    /// Set, and never cleared, by a thread that fails the stream. Submitted work that isn't known to be done then
    /// counts as failed, even if the driver reports success.
    std::atomic<bool> work_failed{false};
    bool keeps_up = false;                // the last turn found all marks completed that it asked for
    uint64_t youth = 0;                   // ns: younger marks aren't asked for yet
    uint64_t last_completed_ns = 0;       // when a mark was last seen completed
    uint64_t last_pending_ns = 0;         // when the oldest mark was last seen pending
    pace::History history;
    MarkQueue marks;
};

/// A stream, as the scanner knows it. The functions are called by the scanner's thread, or by a blocked thread that has
/// the scanner's turn (Scanner::look), with no other lock held.
class WatchedStream : public Object {
public:
    using Object::Object;
    virtual Watched& watched() noexcept = 0;
    virtual CUstream native() const noexcept = 0;
    /// For streams that the program may destroy: keeps the native stream from being destroyed while the lock is held.
    virtual std::unique_lock<host::Mutex> stay() noexcept = 0;
    /// True if the program may have destroyed the native stream: no thread passes the handle to the driver any more.
    /// All work on the stream lies before the last recorded mark: later marks without an event complete with that mark.
    virtual bool detached() const noexcept = 0;
    /// True if the program has the native handle, and may therefore capture the stream.
    virtual bool given_out() const noexcept = 0;
    /// The failure of this stream's work, made from the driver's answer.
    virtual ErrorPtr failure_of_work(CUresult result, const char* function) noexcept = 0;
    /// Marks the stream as failed.
    virtual void fail(const ErrorPtr& error) noexcept = 0;
    /// Takes the scanner's reference if no other reference exists and no mark is pending: the scanner then destroys the
    /// stream.
    virtual bool claim_unused() noexcept = 0;
    /// The lane that the stream has in a trace; 0: none.
    virtual uint32_t known_trace_lane(const trace::Recorder& recorder) const noexcept = 0;
};

}  // namespace gpo
