// Work of several streams at once, which the driver is given in one go: a collective of devices.
//
// Submitting it takes the submit locks of all its streams, in the order of their addresses: the one place where a
// thread holds more than one. So two works over the same streams are on all of them in the same order, and whatever
// else is put on one of the streams comes before the whole work or after it. It is given to the driver if no stream is
// held. Otherwise each stream holds a *part* of it. A part is never ready by itself: when all parts are the first of
// what their streams hold, the errands take all locks and give the work to the driver. If one part is dropped, so are
// the others, and their streams fail.
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
    /// `kind`: static text. `label`: interned. Each stream once, at least one, all of one runtime.
    GroupWork(const char* kind, const char* label, std::span<Stream* const> streams);

    /// On all streams, or on none. GPO_SUCCESS or GPO_WOULD_BLOCK (a stream holds too much). Throws Failure.
    gpo_status submit();

protected:
    ~GroupWork() override = default;
    /// Gives it all to the driver. Under the submit locks of all streams; enters contexts itself. Throws Failure. From
    /// the first call on that had an effect, it has to call begin() before.
    virtual void issue() = 0;
    void begin() noexcept { begun_ = true; }
    /// What a recording of it needs for as long as it can run (Operation::owner).
    virtual Ref<const Counted> owner() const noexcept { return nullptr; }
    /// What a part has the GPU do, for a trace.
    virtual trace::Work work() const noexcept { return {trace::Engine::kernel}; }
    /// What one stream does, where that is a single operation; else NULL.
    virtual const Operation* content(const Stream&) const noexcept { return nullptr; }

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
    std::vector<StreamPart*> parts_;            // of these streams. Under the locks
    std::vector<std::atomic<bool>> arrived_;    // its part has been the first of what the stream holds
    std::atomic<size_t> arrivals_{0};
    std::optional<Deferred::Entry> releasing_;  // from the last arrival until that was seen to
    bool begun_ = false;                        // under the locks
    mutable host::Mutex lock_;                  // a leaf
    ErrorPtr dropped_;                          // under lock_
};

}  // namespace gpo
