#include "stream/group_work.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "stream/releasing.h"
#include "stream/streams.h"

namespace gpo {

// The operation that a single stream has of the work.
class GroupWork::StreamPart final : public HookedOperation {
public:
    StreamPart(GroupWork& work, size_t place) noexcept
        : HookedOperation(work.kind_, work.label_), work_(&work), place_(place) {
        has_consequences();
    }

    /// Never true: once all parts are the first operations held, the errands issue them (run).
    bool ready(Stream&) override {
        if (const ErrorPtr dropped = work_->dropped()) throw NeverPossible(dropped);
        work_->part_arrived(place_);
        return false;
    }
    void issue(Stream&) override { work_->issue_from(place_ + 1); }
    std::unique_ptr<Operation> held_copy() const override {
        auto held = std::make_unique<StreamPart>(*work_, place_);
        held->keeps_ = Ref<GroupWork>(work_);
        return held;
    }
    void drop(Stream&, const ErrorPtr& error) noexcept override { work_->drop(error); }
    void afterwards(const ErrorPtr& dropped) noexcept override {
        if (dropped) work_->flush_all();
    }
    Awaits awaits() const override {
        Awaits out;
        for (size_t place = 0; place < work_->streams_.size(); ++place)
            if (!work_->arrived_[place].load(std::memory_order_acquire))
                out.streams.push_back(work_->streams_[place].get());
        if (out.streams.empty()) return out;
        out.others = false;
        out.text = text("waits for ", kind(), *label() ? text(" `", label(), "`") : std::string(), ", whose part is");
        return out;
    }
    trace::Work work() const noexcept override { return work_->work(); }
    Ref<const Counted> owner() const noexcept override { return work_->owner(); }
    const Operation& content(const DriverStream& stream) const noexcept override {
        const Operation* const single = work_->content(stream);
        return single ? *single : *this;
    }

private:
    GroupWork* const work_;
    const size_t place_;              // in the work's streams
    Ref<GroupWork> keeps_;            // set in held parts
};

GroupWork::GroupWork(const char* kind, const char* label, std::span<Stream* const> streams)
    : kind_(kind), label_(label), arrived_(streams.size()) {
    for (Stream* stream : streams) streams_.emplace_back(stream);
    std::sort(streams_.begin(), streams_.end(), [](const Ref<Stream>& one, const Ref<Stream>& other) {
        return std::less<>()(one.get(), other.get());
    });
    parts_.resize(streams_.size());
}

template <class Body>
void GroupWork::under_all_locks(Body&& body, size_t from) {
    if (from == streams_.size()) return body();
    Stream& stream = *streams_[from];
    const DriverScope scope(stream.context());
    const Submission::Lock lock(stream.submission());
    under_all_locks(std::forward<Body>(body), from + 1);
}

gpo_status GroupWork::submit() {
    bool held = false, full = false;
    for (const auto& stream : streams_) {
        stream->refuse_shut_down();
        stream->refuse_lost();
    }
    under_all_locks([&] {
        if (can_issue()) issue_all();
        else held = true, full = !hold_all();
    });
    if (full) return GPO_WOULD_BLOCK;
    if (held) flush_all();   // the streams' waits may have ended meanwhile
    return GPO_SUCCESS;
}

// True if no stream holds anything. Throws if the streams' state doesn't permit the work.
bool GroupWork::can_issue() {
    bool can = true;
    size_t captured = 0;
    for (const auto& stream : streams_) {
        const DriverScope scope(stream->context());
        if (const ErrorPtr failed = stream->failure()) throw Failure(failed);
        stream->refuse_other_thread();
        can = stream->nothing_held() && can;
        captured += stream->capturing();
    }
    if (captured == 0 || captured == streams_.size()) return can;
    for (const auto& stream : streams_)
        if (!stream->capturing())
            fail(GPO_CAPTURE_REFUSED, kind_, ": ", stream->describe(), " is not being captured, and ", captured,
                 " of its ", streams_.size(), " streams are: let it wait for an event of one of these first");
    return can;
}

void GroupWork::issue_all() {
    std::vector<std::unique_ptr<StreamPart>> parts;
    for (size_t place = 0; place < streams_.size(); ++place) {
        parts.push_back(std::make_unique<StreamPart>(*this, place));
        parts_[place] = parts.back().get();
    }
    issue_from(0);
    for (size_t place = 0; place < streams_.size(); ++place) streams_[place]->note(*parts_[place]);
}

// Recursive: each stream hands over its part, with its traces and attribution, around the parts of the later streams.
// The innermost call submits the work to the driver.
void GroupWork::issue_from(size_t place) {
    if (place < streams_.size()) {
        Stream& stream = *streams_[place];
        const DriverScope scope(stream.context());
        Operation& part = *parts_[place];
        stream.hand_over(part, part.number() ? part.number() : stream.submission().next());
        return;
    }
    try {
        issue();
    } catch (const std::exception& error) {
        if (!begun_) throw;
        const auto* failure = dynamic_cast<const Failure*>(&error);
        fail_streams(failure ? failure->error() : bare_error(GPO_OUT_OF_MEMORY));
        throw;
    }
}

// The driver has only a part of the work: the streams must not go on after half of it.
void GroupWork::fail_streams(const ErrorPtr& error) noexcept {
    for (const auto& stream : streams_) stream->fail(error);
}

// False if a stream holds as many operations as it may.
bool GroupWork::hold_all() {
    for (const auto& stream : streams_) {
        stream->refuse_shut_down();   // as in Stream::hold
        const DriverScope scope(stream->context());
        stream->refuse_capture();
        if (stream->wrapped())
            fail(GPO_NOT_SUPPORTED, stream->describe(), " is wrapped, and can't be held back on the host, as `", kind_,
                 "` would have to be");
        if (stream->held().full()) return false;
    }
    std::vector<Held::Spent> prepared;
    prepared.reserve(streams_.size());
    for (size_t place = 0; place < streams_.size(); ++place)
        prepared.push_back(streams_[place]->held().prepare(StreamPart(*this, place), false));
    for (size_t place = 0; place < streams_.size(); ++place) {
        Stream& stream = *streams_[place];
        parts_[place] = static_cast<StreamPart*>(prepared[place].front().operation.get());
        stream.held().add(prepared[place]);
        stream.traced().begin_holding(true);
        stream.runtime().counters.holds.fetch_add(1, std::memory_order_relaxed);
    }
    return true;
}

void GroupWork::part_arrived(size_t place) noexcept {
    if (arrived_[place].exchange(true, std::memory_order_acq_rel) ||
        arrivals_.fetch_add(1, std::memory_order_acq_rel) + 1 != streams_.size())
        return;
    Runtime& runtime = streams_.front()->runtime();
    releasing_.emplace(runtime.releases());
    retain();
    runtime.errands().post(*this);
}

void GroupWork::drop(const ErrorPtr& error) noexcept {
    std::lock_guard lock(lock_);
    if (!dropped_) dropped_ = error;
}

ErrorPtr GroupWork::dropped() const {
    std::lock_guard lock(lock_);
    return dropped_;
}

void GroupWork::flush_all() noexcept {
    for (const auto& stream : streams_) stream->held().flush();
}

bool GroupWork::all_first() const {
    for (size_t place = 0; place < streams_.size(); ++place)
        if (streams_[place]->failure() || !streams_[place]->held().is_first(*parts_[place])) return false;
    return true;
}

void GroupWork::run() noexcept {
    const Ref<GroupWork> self = Ref<GroupWork>::adopt(this);
    Runtime& runtime = streams_.front()->runtime();
    bool again = false;
    std::vector<Held::Spent> spent;
    std::optional<Releasing> releasing;
    try {
        spent.resize(streams_.size());
        under_all_locks([&] {
            if (dropped() || !all_first()) return;   // a dropped part drops the others
            for (const auto& stream : streams_) again = again || stream->capturing();
            if (again) return;
            releasing.emplace(runtime);
            issue_from(0);
            for (size_t place = 0; place < streams_.size(); ++place)
                streams_[place]->held().put_first_away(spent[place]);
        });
    } catch (const std::exception& error) {
        const auto* failure = dynamic_cast<const Failure*>(&error);
        again = !begun_ && is_passing(error);
        if (!again) drop(failure ? failure->error() : make_error(GPO_INTERNAL, kind_, ": ", error.what()));
    }
    for (Held::Spent& done : spent) Held::conclude(done);
    if (!again) flush_all();
    releasing_.reset();
    if (again) {
        retain();
        runtime.errands().post(*this, host::now() + Errands::kTryAgain);
    }
}

}  // namespace gpo
