// What the scanner watches: the marks of one stream, what the scanner has found out of them, and what it asks of the
// stream.
#pragma once

#include <mutex>

#include "completion/mark.h"
#include "completion/pace.h"

namespace gpo {

namespace trace {
class Recorder;
}

/// One stream's marks, and what the scanner keeps beside them. The stream pushes marks, under its submit lock; all else
/// belongs to the scanner's turn (Scanner::look) but where it says so.
struct Watched {
    /// Everything up to this operation is done. Any thread that finds out.
    void seen_done(uint64_t operation) noexcept {
        uint64_t known = completed.load(std::memory_order_relaxed);
        while (known < operation && !completed.compare_exchange_weak(known, operation, std::memory_order_relaxed)) {
        }
    }

    alignas(64) std::atomic<uint64_t> completed{0};   // number of the newest operation that was seen done
    std::atomic<bool> deferring{
        false};  // a mark was deferred (Mark::deferred), at some time: set by whoever defers one, for good
    /// What has been given to the driver and isn't known to be done has failed, whatever the driver says: set, for good,
    /// by whoever has failed the stream before.
    std::atomic<bool> work_failed{false};
    bool keeps_up = false;                // all marks that were asked for had completed, the last time
    uint64_t youth = 0;                   // ns: a mark that is younger isn't asked for yet
    uint64_t last_completed_ns = 0;       // when a mark was last seen completed
    uint64_t last_pending_ns = 0;         // when the oldest mark was last seen pending
    pace::History history;
    MarkQueue marks;
};

/// A stream, as the scanner knows it. The functions are called by the scanner's thread, or by a thread that is blocked,
/// which has the scanner's turn (Scanner::look), with no other lock held.
class WatchedStream : public Object {
public:
    using Object::Object;
    virtual Watched& watched() noexcept = 0;
    virtual CUstream native() const noexcept = 0;
    /// Where the program may destroy the native stream: not while this is held.
    virtual std::unique_lock<host::Mutex> stay() noexcept = 0;
    /// The program may have destroyed the native stream: no thread names it to the driver any more. What was put on it
    /// lies before its last recorded mark, so that a mark without an event completes with that one.
    virtual bool detached() const noexcept = 0;
    /// The program has the native handle, and may capture the stream.
    virtual bool given_out() const noexcept = 0;
    /// The failure of this stream's work, for what the driver answered.
    virtual ErrorPtr failure_of_work(CUresult result, const char* function) noexcept = 0;
    /// From now on the stream has failed.
    virtual void fail(const ErrorPtr& error) noexcept = 0;
    /// Takes the scanner's reference, if it is the only one and no mark is pending: then the stream is the scanner's to
    /// destroy.
    virtual bool claim_unused() noexcept = 0;
    /// The lane that the stream has in a trace; 0: none.
    virtual uint32_t known_trace_lane(const trace::Recorder& recorder) const noexcept = 0;
};

}  // namespace gpo
