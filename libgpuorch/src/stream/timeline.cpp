#include "stream/timeline.h"

#include <algorithm>
#include <optional>

#include "stream/releasing.h"

namespace gpo {

namespace {
constexpr uint64_t kLooksEvery = 10'000'000;  // ns
}  // namespace

class WaitTimeline final : public HookedOperation {
public:
    WaitTimeline(Timeline& timeline, uint64_t value)
        : HookedOperation("wait for timeline", timeline.label()), timeline_(&timeline), value_(value) {}
    WaitTimeline(const WaitTimeline& other)
        : HookedOperation(other), timeline_(other.timeline_), value_(other.value_), held_(true) {}

    bool ready(Stream& stream) override {
        std::lock_guard lock(timeline_->lock_);
        if (timeline_->reached_ >= value_) return true;
        if (const ErrorPtr error = timeline_->never(value_)) throw NeverPossible(error);
        if (on_the_way() != timeline_->coming_.end()) return true;
        if (!held_) return false;  // the stream may refuse to hold it
        auto& waiting = timeline_->waiting_;
        const Ref<Stream> self(&stream);
        if (std::find(waiting.begin(), waiting.end(), self) == waiting.end()) waiting.push_back(self);
        return false;
    }

    void issue(Stream& stream) override {
        Ref<Timeline::Point> point;
        {
            std::lock_guard lock(timeline_->lock_);
            if (timeline_->reached_ >= value_) return;
            if (timeline_->failed_) throw NeverPossible(timeline_->failed_);   // failed since ready()
            point = on_the_way()->second.point;
        }
        stream.refuse_capture();   // the signal lies outside of any capture
        if (&*point->context != &stream.context()) point->context->require_alive();
        gpo::issue(stream, EventWork{point->event, true});
    }

    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<WaitTimeline>(*this); }

    Awaits awaits() const override {
        Awaits out;
        out.text = text("waits for ", timeline_->describe(), " to reach ", value_, ", whose signal is");
        std::lock_guard lock(timeline_->lock_);
        if (timeline_->reached_ >= value_ || timeline_->never(value_) || on_the_way() != timeline_->coming_.end())
            return out;
        out.handle = !timeline_->closed_;
        for (auto signal = timeline_->coming_.lower_bound(value_); signal != timeline_->coming_.end(); ++signal)
            out.streams.push_back(signal->second.stream);
        out.others = out.streams.empty();
        return out;
    }

private:
    // The first signal that is submitted and high enough.
    std::map<uint64_t, Timeline::Signal>::iterator on_the_way() const {
        auto found = timeline_->coming_.lower_bound(value_);
        while (found != timeline_->coming_.end() && !found->second.point) ++found;
        return found;
    }

    Ref<Timeline> timeline_;
    uint64_t value_;
    const bool held_ = false;
};

// Raises the timeline when the stream has reached the signal.
class SignalReached final : public CompletionHandler, private Errand {
public:
    SignalReached(Ref<Timeline> timeline, uint64_t value) : timeline_(std::move(timeline)), value_(value) {}
    void on_completed(const Outcome& outcome) noexcept override {
        if (!outcome.error) {
            timeline_->advance(value_);
            return;
        }
        // A failure releases streams, which the scanner may not do itself.
        error_ = outcome.error;
        retain();
        timeline_->runtime().errands().post(*this);
    }

private:
    void run() noexcept override {
        timeline_->fail_with(error_);
        release();
    }
    const Ref<Timeline> timeline_;
    const uint64_t value_;
    ErrorPtr error_;
};

class SignalTimeline final : public HookedOperation {
public:
    SignalTimeline(Timeline& timeline, uint64_t value)
        : HookedOperation("signal timeline", timeline.label()), timeline_(&timeline), value_(value) {
        has_consequences();
    }

    void issue(Stream& stream) override {
        stream.refuse_capture();
        stream.marks().reserve();
        Mark mark;
        mark.target = make<SignalReached>(timeline_, value_);
        mark.operation = behind_;
        // Two events: the mark's event is reused when the scanner has seen the mark, the point's event when no stream
        // can wait for it any more.
        auto point = make<Timeline::Point>(stream.context());
        stream.context().take_event(false, &point->event);
        const auto record = [&](CUevent event) { gpo::issue(stream, EventWork{event, false}); };
        record(point->event);
        mark.event = stream.marks().event(false);
        try {
            record(mark.event);
            stream.refuse_capture();   // a capture that has just begun contains both events
        } catch (...) {
            stream.marks().return_event(false, mark.event);
            throw;
        }
        stream.marks().push(std::move(mark));
        timeline_->came(value_, std::move(point));
    }
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<SignalTimeline>(*this); }
    void held_behind(uint64_t operation) noexcept override { behind_ = operation; }
    void afterwards(const ErrorPtr& dropped) noexcept override {
        if (dropped)
            timeline_->fail_with(dropped);
        else
            timeline_->release_waiting();
    }

private:
    Ref<Timeline> timeline_;
    uint64_t value_;
    uint64_t behind_ = Mark::kNewest;  // set if held: later operations are accepted before the signal is issued
};

Timeline::Timeline(Runtime& runtime, uint64_t value, const char* label)
    : Object(runtime, Type::timeline, label), reached_(value),
      cancelled_(make_error(GPO_CANCELLED, "the timeline was destroyed")) {}

// Under lock_.
void Timeline::refuse(uint64_t value) {
    if (failed_) gpo::fail(GPO_FAILED, describe(), " has failed: ", failed_->sentence());
    if (value <= reached_)
        gpo::fail(GPO_INVALID_ARGUMENT, describe(), " has reached ", reached_, ": it can't be signalled ", value);
    // Held signals don't count: they may well be waiting for this signal.
    for (auto above = coming_.upper_bound(value); above != coming_.end(); ++above)
        if (above->second.point)
            gpo::fail(GPO_INVALID_ARGUMENT, describe(), ": a stream is on the way to signal ", above->first,
                      ": it can't be signalled ", value);
    if (coming_.contains(value))
        gpo::fail(GPO_INVALID_ARGUMENT, describe(), ": another stream is on the way to signal ", value);
}

void Timeline::promise(uint64_t value, const Stream& stream) {
    std::lock_guard lock(lock_);
    refuse(value);
    coming_.emplace(value, Signal{&stream, nullptr});
}

// On a closed timeline, the withdrawn signal may have been the last that could reach an awaited value.
void Timeline::withdraw(uint64_t value) noexcept {
    const Releasing releasing(runtime());
    std::vector<Ref<Stream>> streams;
    Notices due;
    {
        std::lock_guard lock(lock_);
        coming_.erase(value);
        if (!closed_) return;
        streams.swap(waiting_);
        take_never(due);
        changed_.notify_all();
    }
    notify(due, cancelled_);
    flush(std::move(streams));
}

void Timeline::came(uint64_t value, Ref<Point> point) noexcept {
    std::lock_guard lock(lock_);
    if (auto found = coming_.find(value); found != coming_.end()) found->second.point.swap(point);
}

void Timeline::release_waiting() noexcept {
    const Releasing releasing(runtime());
    std::vector<Ref<Stream>> streams;
    {
        std::lock_guard lock(lock_);
        streams.swap(waiting_);
    }
    flush(std::move(streams));
}

void Timeline::take_reached(Notices& due) noexcept {
    while (!notices_.empty() && notices_.begin()->first <= reached_) due.insert(notices_.extract(notices_.begin()));
}

ErrorPtr Timeline::never(uint64_t value) const noexcept {
    if (failed_) return failed_;
    return closed_ && coming_.lower_bound(value) == coming_.end() ? cancelled_ : nullptr;
}

void Timeline::take_never(Notices& due) noexcept {
    auto from = coming_.empty() ? notices_.begin() : notices_.upper_bound(coming_.rbegin()->first);
    while (from != notices_.end()) due.insert(notices_.extract(from++));
}

void Timeline::notify(Notices& notices, const ErrorPtr& error) noexcept {
    for (auto& [value, notice] : notices) {
        Outcome outcome;
        outcome.error = error;
        outcome.operation = value;
        outcome.submitted_ns = notice.submitted_ns;
        outcome.completed_ns = host::now();
        runtime().counters.count_completion(outcome.completed_ns - outcome.submitted_ns, outcome.status());
        notice.target->on_completed(outcome);
    }
}

void Timeline::then(uint64_t value, Ref<CompletionHandler> target) {
    Notices one;
    one.emplace(value, Notice{std::move(target), host::now()});
    ErrorPtr error;
    {
        std::lock_guard lock(lock_);
        runtime().counters.notifies.fetch_add(1, std::memory_order_relaxed);
        if (reached_ < value) {
            error = never(value);
            if (!error) {
                notices_.insert(one.extract(one.begin()));
                return;
            }
        }
    }
    notify(one, error);
}

void Timeline::advance(uint64_t value) noexcept {
    std::map<uint64_t, Signal> passed;  // given back outside the lock
    Notices due;
    {
        std::lock_guard lock(lock_);
        reached_ = std::max(reached_, value);
        while (!coming_.empty() && coming_.begin()->first <= reached_) passed.insert(coming_.extract(coming_.begin()));
        take_reached(due);
        changed_.notify_all();
    }
    notify(due, nullptr);
}

void Timeline::fail_with(ErrorPtr error) noexcept {
    const Releasing releasing(runtime());
    std::vector<Ref<Stream>> streams;
    Notices due;
    {
        std::lock_guard lock(lock_);
        if (!failed_) failed_ = error;
        streams.swap(waiting_);
        due.swap(notices_);
        changed_.notify_all();
    }
    note_sticky_error(error);
    notify(due, error);
    flush(std::move(streams));
}

// A stream whose wait was dropped is still in the list, and a thread may be in the driver with its submit lock. Any
// other stream was counted as held before it entered the list under lock_.
void Timeline::flush(std::vector<Ref<Stream>> streams) noexcept {
    for (auto& stream : streams)
        if (stream->held().any()) stream->held().flush();
}

void Timeline::signal(uint64_t value) {
    {
        const Releasing releasing(runtime());
        std::vector<Ref<Stream>> streams;
        Notices due;
        {
            std::lock_guard lock(lock_);
            refuse(value);
            reached_ = value;
            streams.swap(waiting_);
            take_reached(due);
            changed_.notify_all();
        }
        notify(due, nullptr);
        flush(std::move(streams));
    }
    Releasing::wait_for_others(runtime());
}

void Timeline::fail(gpo_status status, const char* message) {
    if (status < 50) gpo::fail(GPO_INVALID_ARGUMENT, "a timeline fails with a status of 50 or above, not ", status);
    fail_with(failure(status, message));
    Releasing::wait_for_others(runtime());
}

// Without memory for the text, waits end all the same, with the bare error of the status. Throws if a status of the
// caller's own has no bare error.
ErrorPtr Timeline::failure(gpo_status status, const char* message) {
    try {
        auto error = std::make_shared<Error>();
        error->status = status;
        error->object = describe();
        error->message = message && *message ? message : text(describe(), " was failed");
        return error;
    } catch (const std::bad_alloc&) {
        ErrorPtr bare = bare_error(status);
        if (bare->status != status) throw;
        return bare;
    }
}

uint64_t Timeline::value() {
    std::lock_guard lock(lock_);
    if (failed_) throw Failure(failed_);
    return reached_;
}

gpo_status Timeline::wait(uint64_t value, uint64_t deadline) {
    ErrorPtr error;
    host::Lock lock(lock_);
    const auto done = [&] { return reached_ >= value || (error = never(value)) || runtime().shutting_down(); };
    std::optional<Runtime::Blocking> blocking;
    for (bool late = false; !done();) {
        if (late) return GPO_TIMEOUT;
        if (!blocking) blocking.emplace(runtime());
        // A shutdown calls stop() only for objects with a handle. Without a handle, this loop looks for the shutdown.
        const uint64_t until = closed_ ? std::min(deadline, host::now() + kLooksEvery) : deadline;
        late = !changed_.wait(lock, until) && until == deadline;
    }
    if (reached_ >= value) return GPO_SUCCESS;
    if (error) throw Failure(error);
    gpo::fail(GPO_CANCELLED, "the runtime is shutting down");
}

void Timeline::destroyed() noexcept {
    const Releasing releasing(runtime());
    std::vector<Ref<Stream>> streams;
    Notices due;
    {
        std::lock_guard lock(lock_);
        closed_ = true;
        // Promised signals still count. Without a handle, no other signal can come.
        if (!failed_ && coming_.empty()) failed_ = cancelled_;
        streams.swap(waiting_);   // streams whose value may still be reached come back
        take_never(due);
        changed_.notify_all();
    }
    notify(due, cancelled_);  // empty if the timeline has failed before: all were notified
    flush(std::move(streams));
}

gpo_status Timeline::put_wait(Stream& stream, uint64_t value) {
    WaitTimeline operation(*this, value);
    return stream.submit(operation);
}

gpo_status Timeline::put_signal(Stream& stream, uint64_t value) {
    promise(value, stream);
    try {
        SignalTimeline operation(*this, value);
        const gpo_status status = stream.submit(operation);
        if (status != GPO_SUCCESS) withdraw(value);
        Releasing::wait_for_others(runtime());
        return status;
    } catch (...) {
        withdraw(value);
        throw;
    }
}

}  // namespace gpo
