// A recording of an event with its own driver event, its *point*. A recording has a point if its stream was held, or if
// a held launch of a graph would overwrite the recording in the user's event. The third case is a wait of a held
// stream: the user's event may be recorded again before the stream is released.
#pragma once

#include <algorithm>
#include <vector>

#include "device/context.h"
#include "stream/stream.h"

namespace gpo {

class Recording final : public Counted {
public:
    /// `stream`: the stream that holds the recording; NULL: not held, to be issued at once. Throws.
    Recording(Context& context, const Stream* stream, bool timing)
        : stream(stream), context_(&context), timing_(timing) {
        RelaxedCapture relaxed(context.table());
        context.take_event(timing_, &point_);
    }
    ~Recording() override { context_->give_events(timing_, &point_, 1); }

    Context& context() const noexcept { return *context_; }

    CUevent point() const noexcept { return point_; }
    /// Why the recording was dropped; NULL: not dropped.
    ErrorPtr dropped() const {
        std::lock_guard lock(lock_);
        return dropped_;
    }
    bool pending() const {
        std::lock_guard lock(lock_);
        return pending_;
    }
    /// True while the recording is pending: release_waiting() then flushes `held`.
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
    std::vector<Ref<Stream>> waiting_;       // streams that are held for this recording
};

}  // namespace gpo
