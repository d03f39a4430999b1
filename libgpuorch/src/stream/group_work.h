// Work of several streams that is submitted to the driver in one go: a collective of devices.
//
// Submission takes the submit locks of all streams, in the order of their addresses; nowhere else does a thread hold
// several submit locks. Hence two works over the same streams are in the same order on all streams, and any other
// operation of a stream comes before or after the whole work. If no stream is held, the driver gets the work at once.
// Otherwise each stream holds a *part* of it. A part is never ready by itself: when every part is the first operation
// that its stream holds, the errands take all locks and submit the work. If a part is dropped, all parts are dropped
// and their streams fail.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/deferred.h"
#include "core/errands.h"
#include "stream/stream.h"

namespace gpo {

class GroupWork : public Counted, private Errand {
public:
    /// `kind`: static text. `label`: interned. `streams`: distinct, at least one, all of the same runtime.
    GroupWork(const char* kind, const char* label, std::span<Stream* const> streams);

    /// Puts the work on all streams or on none. GPO_SUCCESS or GPO_WOULD_BLOCK (a stream holds too much). Throws
    /// Failure.
    gpo_status submit();

protected:
    ~GroupWork() override = default;
    /// Submits all the work to the driver, under the submit locks of all streams. Enters contexts itself. Has to call
    /// begin() before the first driver call that has an effect. Throws Failure.
    virtual void issue() = 0;
    void begin() noexcept { begun_ = true; }
    /// A recording of the work holds a reference to this object for as long as the recording can run
    /// (Operation::owner).
    virtual Ref<const Counted> owner() const noexcept { return nullptr; }
    /// The GPU's work of a part, for traces.
    virtual trace::Work work() const noexcept { return {trace::Engine::kernel}; }
    /// The stream's own operation, if its part is a single operation; otherwise NULL.
    virtual const Operation* content(const DriverStream&) const noexcept { return nullptr; }

private:
    class StreamPart;
    /// Calls `body` under all locks, inside a DriverScope of each context.
    template <class Body>
    void under_all_locks(Body&& body, size_t from = 0);
    bool can_issue();
    void issue_all();
    bool hold_all();
    void issue_from(size_t place);
    void fail_streams(const ErrorPtr& error) noexcept;
    void part_arrived(size_t place) noexcept;
    void drop(const ErrorPtr& error) noexcept;
    ErrorPtr dropped() const;
    bool all_first() const;
    void flush_all() noexcept;
    void run() noexcept override;

    const char *const kind_, *const label_;
    std::vector<Ref<Stream>> streams_;          // in the order of their addresses
    std::vector<StreamPart*> parts_;            // by stream. Under the locks
    std::vector<std::atomic<bool>> arrived_;    // by stream: the part has been the first held operation
    std::atomic<size_t> arrivals_{0};
    std::optional<Deferred::Entry> releasing_;  // from the last arrival to the end of run()
    bool begun_ = false;                        // under the locks
    mutable host::Mutex lock_;                  // a leaf
    ErrorPtr dropped_;                          // under lock_
};

}  // namespace gpo
