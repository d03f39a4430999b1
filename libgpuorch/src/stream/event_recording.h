// A recording of an event that has a driver's event of its own, its *point*: one that was held on its stream, or is
// waited for by a stream that is held itself, since the user's event may be recorded again before that stream is let
// go; or one that the launch of a graph, which is held, would overwrite in the user's event.
#pragma once

#include <algorithm>
#include <vector>

#include "device/context.h"
#include "stream/stream.h"

namespace gpo {

class Recording final : public Counted {
public:
    /// `stream`: what it is held on; NULL: nothing, it will be issued at once. Throws.
    Recording(Context& context, const Stream* stream, bool timing)
        : stream(stream), context_(&context), timing_(timing) {
        RelaxedCapture relaxed(context.table());
        context.take_event(timing_, &point_);
    }
    ~Recording() override { context_->give_events(timing_, &point_, 1); }

    Context& context() const noexcept { return *context_; }

    CUevent point() const noexcept { return point_; }
    /// NULL while it is on its way.
    ErrorPtr dropped() const {
        std::lock_guard lock(lock_);
        return dropped_;
    }
    bool pending() const {
        std::lock_guard lock(lock_);
        return pending_;
    }
    /// True while it is held: the stream is flushed when it isn't any more.
    bool wait(Stream& held) {
        std::lock_guard lock(lock_);
        if (!pending_) return false;
        const Ref<Stream> self(&held);
        if (std::find(waiting_.begin(), waiting_.end(), self) == waiting_.end()) waiting_.push_back(self);
        return true;
    }
    void end(const ErrorPtr& error) noexcept {
        std::lock_guard lock(lock_);
        pending_ = false;
        dropped_ = error;
    }
    /// After end(), with no lock held.
    void release_waiting() noexcept {
        std::vector<Ref<Stream>> waiting;
        {
            std::lock_guard lock(lock_);
            waiting.swap(waiting_);
        }
        for (const auto& held : waiting) held->held().flush();
    }

    const Stream* const stream;

private:
    const Ref<Context> context_;
    const bool timing_;                      // of the point
    CUevent point_ = nullptr;
    mutable host::Mutex lock_;
    bool pending_ = true;
    ErrorPtr dropped_;
    std::vector<Ref<Stream>> waiting_;       // streams that are held for it
};

}  // namespace gpo
