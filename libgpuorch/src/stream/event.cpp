#include "stream/event.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "completion/queue.h"
#include "stream/streams.h"

namespace gpo {

// At whether the process that has made a recording is there.
static constexpr uint64_t kLooksEvery = 20'000'000;   // ns

// A recording that was held on its stream, or is waited for by a stream that is held itself: it has an event of its
// own, since the user's may be recorded again before that stream is let go.
class Recording final : public Counted {
public:
    /// `stream`: what it is held on; NULL: nothing, it will be issued at once. Throws.
    Recording(Context& context, const Stream* stream) : stream(stream), context_(&context) {
        RelaxedCapture relaxed(context.table());
        context.take_event(false, &point_);
    }
    ~Recording() override { context_->give_events(false, &point_, 1); }

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
    CUevent point_ = nullptr;
    mutable host::Mutex lock_;
    bool pending_ = true;
    ErrorPtr dropped_;
    std::vector<Ref<Stream>> waiting_;       // streams that are held for it
};

class RecordEvent final : public Operation {
public:
    RecordEvent(Event& event, Stream& stream)
        : Operation("record event", event.label()), event_(&event), stream_(&stream) {}
    RecordEvent(const RecordEvent& other)
        : Operation(other), event_(other.event_), stream_(other.stream_), event_reference_(Ref<Event>(other.event_)),
          recording_(make<Recording>(stream_->context(), stream_)) {}

    bool plain() const noexcept override { return true; }
    void issue(Stream& stream) override {
        if (recording_) return issue_held(stream);
        // Replaces the event's newest recording. A thread that releases or copies the old recording must either finish
        // before this store or observe it; a copy takes part in this from before it begins until it has ended.
        Ref<Recording> before;   // given up behind the lock
        std::unique_lock lock(event_->newest_lock_, std::defer_lock);
        if (event_->watched_.load(std::memory_order_acquire)) [[unlikely]] lock.lock();
        record(stream);
        host::light_fence();
        if (event_->watched_.load(std::memory_order_acquire)) [[unlikely]] {
            if (!lock.owns_lock()) lock.lock();
            before = event_->set_newest(nullptr);
        }
    }
    std::unique_ptr<Operation> held_copy() const override {
        auto held = std::make_unique<RecordEvent>(*this);
        Ref<Recording> before;
        std::lock_guard lock(event_->newest_lock_);
        before = event_->set_newest(held->recording_);
        held->number_ = event_->begin_recording();
        event_->capture_.store(0, std::memory_order_release);   // none is held in a capture
        return held;
    }
    void drop(Stream&, const ErrorPtr& error) noexcept override { recording_->end(error); }
    void afterwards(const ErrorPtr&) noexcept override { recording_->release_waiting(); }

private:
    void record(Stream& stream) {
        const uint64_t capture = stream.capture();
        if (event_->shared_) [[unlikely]] {
            if (capture)
                fail(GPO_CAPTURE_REFUSED, event_->describe(), " is of several processes: no capture can record it");
            event_->shared_->record(stream);
        } else {
            gpo::issue(stream, EventWork{event_->native(), false});
        }
        event_->capture_.store(capture, std::memory_order_release);
        event_->recorded_.store(true, std::memory_order_release);
        event_->issued_.store(recording_ ? number_ : event_->begin_recording(), std::memory_order_release);
    }
    void issue_held(Stream& stream) {
        gpo::issue(stream, EventWork{recording_->point(), false});
        {
            std::lock_guard lock(event_->newest_lock_);
            if (event_->newest_ == recording_) record(stream);
        }
        recording_->end(nullptr);
    }
    Event* event_;
    Stream* stream_;
    Ref<Event> event_reference_;  // of a held one, as are:
    Ref<Recording> recording_;
    uint64_t number_ = 0;
};

/// A held stream can't wait for the event itself: which of its recordings is meant has to be found out first, by
/// bind().
struct Unbound {};

class WaitEvent final : public Operation {
public:
    /// `ticket`: of an event of several processes, the recording that is meant.
    explicit WaitEvent(Event& event, SharedRecordings::Ticket ticket = 0)
        : Operation("wait for event", event.label()), event_(&event), ticket_(ticket) {}
    WaitEvent(const WaitEvent& other)
        : Operation(other), event_(other.event_), ticket_(other.ticket_), recording_(other.recording_),
          bound_(other.bound_), itself_(other.itself_), held_(true) {}
    bool plain() const noexcept override { return true; }

    bool may_join_capture() const noexcept override {
        return !bound_ && event_->capture_.load(std::memory_order_acquire) != 0;
    }

    /// Finds out which recording is meant, for as long as the stream may be held. Under no lock. Throws.
    void bind() {
        recording_ = event_->newest();
        if (event_->shared_ && recording_ && !recording_->pending() && !recording_->dropped()) recording_ = nullptr;
        if (!recording_ && event_->recorded_.load(std::memory_order_acquire)) {
            event_->refuse_unusable("wait");
            if (event_->last_ || event_->shared_)   // which its ticket says
                itself_ = true;
            else
                recording_ = event_->snapshot();
        }
        bound_ = true;
    }

    bool ready(Stream& stream) override {
        if (!bound_) [[likely]] {
            if (!event_->watched_.load(std::memory_order_acquire)) [[likely]] return true;
            Ref<Recording> newest = event_->newest();
            if (!newest || !newest->pending()) return true;
            recording_ = std::move(newest);
            bound_ = true;
        }
        if (!recording_) return true;
        return !(held_ ? recording_->wait(stream) : recording_->pending());  // the stream may refuse to hold it
    }
    void issue(Stream& stream) override {
        if (bound_) return issue_bound(stream);
        if (event_->watched_.load(std::memory_order_acquire)) [[unlikely]] {
            const Ref<Recording> newest = event_->newest();
            if (const ErrorPtr dropped = newest ? newest->dropped() : nullptr) throw NeverPossible(dropped);
        }
        if (!event_->recorded_.load(std::memory_order_acquire)) return;
        const uint64_t of_event = event_->capture_.load(std::memory_order_acquire), of_stream = stream.capture();
        if (of_stream && of_stream != of_event)
            refuse_capture(stream, of_event);          // the driver would give the whole capture up
        if (of_event && !of_stream) stream.join_recording();   // by this wait it joins the capture
        wait(stream, event_->native());
    }
    std::unique_ptr<Operation> held_copy() const override {
        if (!bound_) throw Unbound{};
        return std::make_unique<WaitEvent>(*this);
    }

    Awaits awaits() const override {
        Awaits out;
        const Stream* on = recording_ && recording_->pending() ? recording_->stream : nullptr;
        if (!on) return out;
        out.others = false;
        out.streams.push_back(on);
        const char* label = event_->label();
        out.text =
            text("waits for ", *label ? text("event `", label, "`") : std::string("an event"), ", whose recording is");
        return out;
    }

private:
    void issue_bound(Stream& stream) {
        if (!recording_ && !itself_) return;   // the event had not been recorded
        if (const ErrorPtr dropped = recording_ ? recording_->dropped() : nullptr) throw NeverPossible(dropped);
        if (stream.capturing()) refuse_capture(stream, 0);
        wait(stream, recording_ ? recording_->point() : event_->native());
    }
    [[noreturn]] void refuse_capture(const Stream& stream, uint64_t of_event) const {
        fail(GPO_CAPTURE_REFUSED, "wait for an event: ", stream.describe(), " is being captured, and ",
             event_->describe(), " was recorded ", of_event ? "in another capture" : "outside of the capture");
    }
    void wait(Stream& stream, CUevent event) const {
        if (&event_->context() != &stream.context()) event_->context().require_alive();
        if (event_->shared_ && event == event_->native()) [[unlikely]] return event_->shared_->wait(stream, ticket_);
        gpo::issue(stream, EventWork{event, true});
    }
    Ref<Event> event_;
    const SharedRecordings::Ticket ticket_;
    Ref<Recording> recording_;   // what is meant, once that is bound
    bool bound_ = false, itself_ = false;   // bound to the event itself; else, without a recording, to none
    const bool held_ = false;
};

// Makes an event of the library's that is reached with the newest recording of the user's.
class CopyRecording final : public Operation {
public:
    CopyRecording(Event& event, Recording& to)
        : Operation("wait for event", event.label(), false), event_(&event), to_(&to) {}
    bool plain() const noexcept override { return true; }
    void issue(Stream& stream) override {
        gpo::issue(stream, EventWork{event_->native(), true});
        gpo::issue(stream, EventWork{to_->point(), false});
        to_->end(nullptr);
    }
    // It is put on streams of the library's that hold nothing.
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<CopyRecording>(*this); }
    void drop(Stream&, const ErrorPtr& error) noexcept override { to_->end(error); }
    void afterwards(const ErrorPtr&) noexcept override { to_->release_waiting(); }

private:
    Ref<Event> event_;
    Ref<Recording> to_;
};

// A stream of the library's, while it is used for one thing.
struct Claimed {
    explicit Claimed(Stream& stream) noexcept : stream(stream) {}
    ~Claimed() { stream.unclaim(); }
    Claimed(const Claimed&) = delete;
    Claimed& operator=(const Claimed&) = delete;
    /// A wait was put on the stream, and no mark behind it. This puts a mark there, so that the stream isn't taken for
    /// idle until the wait is over. If no mark can be made, the stream fails, and is never used again.
    void occupy() noexcept {
        struct Unheard final : CompletionHandler {
            void on_completed(const Outcome&) noexcept override {}
        };
        try {
            stream.mark(make<Unheard>());
        } catch (const Failure& failure) {
            stream.fail(failure.error());
        } catch (...) {
            stream.fail(bare_error(GPO_OUT_OF_MEMORY));
        }
    }
    Stream& stream;
};

// --- of several processes ---

// The streams that wait for recordings of other processes. A stream that waits for a process that has ended would wait
// for ever: it fails, and then the recording's word lets its wait go. The other processes that wait look as often as
// this, and have failed their streams by then.
//
// It also keeps the event until no stream of this process will access its words.
class Event::Watch final : public Counted, private Errand {
public:
    explicit Watch(Event& event) noexcept : event_(event) {}
    void add(Waits& made) noexcept;
    void remove(const Wait& wait) noexcept;
    /// The event was destroyed.
    void keep_until_idle() noexcept;

private:
    static constexpr unsigned kReleasedAt = 3;   // looks: the first one fails the stream
    void run() noexcept override;
    void post() noexcept;
    void look_again() noexcept;

    Event& event_;           // a reference to it is held while this is posted
    host::Mutex lock_;       // a leaf
    Waits waits_;            // under lock_, as:
    bool posted_ = false, keeping_ = false;
};

// A stream's, until a mark behind the wait says that the stream has passed it.
class Event::Wait final : public CompletionHandler {
public:
    Wait(Ref<Watch> watch, Stream& stream, SharedRecordings::Ticket ticket, SharedRecordings::Recorder recorder)
        : ticket(ticket), recorder(recorder), watch_(std::move(watch)), stream_(&stream) {}
    void on_completed(const Outcome&) noexcept override { watch_->remove(*this); }
    Stream& stream() const noexcept { return *stream_; }
    /// Once for good. Where that isn't possible now, the next look tries it again. (Inlined, GCC 12 takes the list of
    /// waits for empty and warns.)
    [[gnu::noinline]] void mark() noexcept {
        if (marked_.exchange(true, std::memory_order_relaxed)) return;
        try {
            stream_->mark(Ref<CompletionHandler>(this));
        } catch (...) {
            marked_.store(false, std::memory_order_relaxed);
        }
    }

    const SharedRecordings::Ticket ticket;
    const SharedRecordings::Recorder recorder;
    unsigned lost_looks = 0;   // the watch's errand's

private:
    const Ref<Watch> watch_;
    const Ref<Stream> stream_;
    std::atomic<bool> marked_{false};
};

// Under no lock: it may run at once. posted_ was just set.
void Event::Watch::post() noexcept {
    event_.retain();
    event_.runtime().errands().post(*this, host::now() + kLooksEvery);
}

void Event::Watch::add(Waits& made) noexcept {
    {
        std::lock_guard lock(lock_);
        waits_.splice(waits_.end(), made);
        if (std::exchange(posted_, true)) return;
    }
    post();
}

void Event::Watch::keep_until_idle() noexcept {
    {
        std::lock_guard lock(lock_);
        keeping_ = true;
        if (std::exchange(posted_, true)) return;
    }
    post();
}

void Event::Watch::remove(const Wait& wait) noexcept {
    Waits removed;   // released under no lock
    std::lock_guard lock(lock_);
    for (auto at = waits_.begin(); at != waits_.end(); ++at) {
        if (at->get() != &wait) continue;
        removed.splice(removed.end(), waits_, at);
        return;
    }
}

void Event::Watch::look_again() noexcept {
    const Ref<Event> event = Ref<Event>::adopt(&event_);
    {
        std::lock_guard lock(lock_);
        const bool needed = !waits_.empty() || (keeping_ && !event_.shared_->idle());
        posted_ = needed && !event_.runtime().shutting_down() && !event_.context().lost();
        if (!posted_) return;
    }
    post();
}

void Event::Watch::run() noexcept {
    try {
        SharedRecordings& shared = *event_.shared_;
        std::vector<Ref<Wait>> waits;
        {
            std::lock_guard lock(lock_);
            waits.assign(waits_.begin(), waits_.end());
        }
        for (const Ref<Wait>& wait : waits) {
            if (!shared.lost(wait->ticket) && !shared.done(wait->ticket) && shared.has_ended(wait->recorder) &&
                !shared.done(wait->ticket))   // it may have been completed just before its process ended
                shared.set_lost(wait->ticket);
            if (shared.lost(wait->ticket)) {
                if (wait->lost_looks++ == 0)
                    wait->stream().fail_work(shared.loss(event_.describe().c_str(), wait->recorder));
                if (wait->lost_looks >= kReleasedAt) shared.release(wait->ticket);
            }
            wait->mark();
        }
    } catch (...) {
        // There is no memory, now; or the device is lost, and its streams with it.
    }
    look_again();
}

void Event::destroyed() noexcept {
    stop();
    if (shared_ && !shared_->idle()) watch_->keep_until_idle();
}

ErrorPtr Event::loss(SharedRecordings::Ticket ticket) const {
    return shared_->loss(describe().c_str(), shared_->recorder(ticket));
}

SharedRecordings::Ticket Event::newest_ticket() { return shared_ ? shared_->newest() : 0; }

// Whether the recording will never be complete.
bool Event::lost(SharedRecordings::Ticket ticket) {
    if (shared_->lost(ticket)) return true;
    if (shared_->done(ticket)) return false;
    const uint64_t now = host::now();
    if (now - looked_.load(std::memory_order_relaxed) < kLooksEvery) return false;
    looked_.store(now, std::memory_order_relaxed);
    // It may have been completed just before its process ended.
    if (!shared_->has_ended(shared_->recorder(ticket)) || shared_->done(ticket)) return false;
    shared_->set_lost(ticket);
    return true;
}

// What it takes to watch a wait, before the wait is put on the stream: nothing, if the recording is complete. Throws
// std::bad_alloc.
Event::Waits Event::prepare_watch(Stream& stream, SharedRecordings::Ticket ticket) {
    Waits made;
    if (shared_ && !shared_->done(ticket)) [[unlikely]]
        made.push_back(make<Wait>(watch_, stream, ticket, shared_->recorder(ticket)));
    return made;
}

Exported Event::export_event() {
    if (!shared_)
        fail(GPO_INVALID_ARGUMENT, describe(), " was made without GPO_EVENT_INTERPROCESS, and can't be exported");
    if (shared_->imported())
        fail(GPO_INVALID_ARGUMENT, describe(), " is imported: the process that made it can export it");
    Exported made = begin_export(*context_, Exported::event);
    made.file = shared_->name();
    seal(made);
    return made;
}

void Event::require_own(const char* what) const {
    if (shared_) fail(GPO_NOT_SUPPORTED, what, ": ", describe(), " is of several processes");
}

Event::Event(Ref<Context> context, uint32_t flags, const char* label)
    : Beginning(context->runtime(), Type::event, label), context_(std::move(context)), flags_(flags) {
    if (flags_ & GPO_EVENT_INTERPROCESS) {
        if (timing())
            fail(GPO_INVALID_ARGUMENT,
                 "options.flags has GPO_EVENT_TIMING, which events of several processes don't have");
        refuse_deterministic();
        shared_ = SharedRecordings::create(*context_);
        watch_ = make<Watch>(*this);
        recorded_.store(true, std::memory_order_relaxed);   // perhaps by another process
    }
    DriverScope scope(*context_);
    context_->check(context_->table().cuEventCreate(
                        &native_, (timing() ? 0u : unsigned{CU_EVENT_DISABLE_TIMING}) |
                                      (flags_ & GPO_EVENT_BLOCKING_SYNC ? unsigned{CU_EVENT_BLOCKING_SYNC} : 0u)),
                    "cuEventCreate");
}

Event::Event(Ref<Context> context, const Exported& exported, const char* label)
    : Beginning(context->runtime(), Type::event, label), context_(std::move(context)), flags_(GPO_EVENT_INTERPROCESS),
      shared_(SharedRecordings::open(*context_, exported)), watch_(make<Watch>(*this)), recorded_(true) {
    DriverScope scope(*context_);
    context_->check(context_->table().cuEventCreate(&native_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
}

Event::~Event() {
    // A shutdown didn't wait for all recordings, or the device is lost.
    if (shared_ && !shared_->idle()) shared_->keep_words();
    if (!native_) return;
    DriverTry scope(*context_);
    if (scope.entered()) context_->table().cuEventDestroy(native_);
}

gpo_status Event::record(Stream& stream) {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, describe(), " and ", stream.describe(), " are of different runtimes");
    if (&stream.context() != &*context_)
        fail(GPO_INVALID_ARGUMENT, describe(), " and ", stream.describe(), " are of different devices");
    RecordEvent operation(*this, stream);
    return stream.submit(operation);
}

gpo_status Event::put_wait(Stream& stream) {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, describe(), " and ", stream.describe(), " are of different runtimes");
    const SharedRecordings::Ticket ticket = newest_ticket();
    if (shared_ && shared_->lost(ticket)) [[unlikely]] throw Failure(loss(ticket));
    Waits watched = prepare_watch(stream, ticket);
    const gpo_status status = submit_wait(stream, ticket);
    if (status == GPO_SUCCESS && !watched.empty()) [[unlikely]] watch(watched);
    return status;
}

gpo_status Event::submit_wait(Stream& stream, SharedRecordings::Ticket ticket) {
    WaitEvent operation(*this, ticket);
    try {
        return stream.submit(operation);
    } catch (const Unbound&) {
        operation.bind();
        return stream.submit(operation);
    }
}

Ref<Recording> Event::set_newest(Ref<Recording> recording) noexcept {
    watched_.store(static_cast<bool>(recording), std::memory_order_release);
    newest_.swap(recording);
    return recording;
}

Ref<Recording> Event::newest() {
    std::lock_guard lock(newest_lock_);
    return newest_;
}

Ref<Recording> Event::snapshot() {
    std::lock_guard one(snapshot_lock_);
    {
        std::lock_guard lock(newest_lock_);
        if (newest_) return newest_;
        watched_.store(true, std::memory_order_release);
    }
    host::heavy_fence();
    Ref<Stream> stream = Streams::of(*context_).idle();
    Claimed claimed(*stream);
    Ref<Recording> made;
    {
        DriverScope scope(*context_);
        made = make<Recording>(*context_, nullptr);
    }
    CopyRecording operation(*this, *made);
    try {
        stream->submit(operation);
    } catch (...) {
        claimed.occupy();
        throw;
    }
    claimed.occupy();
    // Others that wait for this recording take the same.
    std::lock_guard lock(newest_lock_);
    if (watched_.load(std::memory_order_relaxed) && !newest_) newest_ = made;
    return made;
}

void Event::refuse_capture(const char* what) const {
    fail(GPO_CAPTURE_REFUSED, what, ": ", describe(), " was recorded in a stream that is being captured");
}

void Event::refuse_unusable(const char* what) {
    if (capture_.load(std::memory_order_acquire)) refuse_capture(what);
    const Ref<Recording> held = newest();
    if (const ErrorPtr dropped = held ? held->dropped() : nullptr) throw Failure(dropped);
}

uint64_t Event::newest_recording(const char* what) {
    const uint64_t begun = begun_.load(std::memory_order_acquire);
    if (begun == 0) fail(GPO_INVALID_ARGUMENT, what, ": ", describe(), " was never recorded");
    if (capture_.load(std::memory_order_acquire)) refuse_capture(what);
    return begun;   // of one that has failed: no mark is reached since that
}

bool Event::pending() {
    if (!watched_.load(std::memory_order_acquire)) return false;
    const Ref<Recording> held = newest();
    return held && held->pending();
}

gpo_status Event::query() {
    if (pending()) return GPO_NOT_READY;
    refuse_unusable("query");
    const SharedRecordings::Ticket ticket = newest_ticket();
    if (shared_) [[unlikely]] {
        if (lost(ticket)) throw Failure(loss(ticket));
        if (shared_->done(ticket)) return GPO_SUCCESS;
    }
    DriverScope scope(*context_);
    const CUresult result = context_->table().cuEventQuery(native_);
    if (result == CUDA_ERROR_NOT_READY || (shared_ && result == CUDA_SUCCESS)) return GPO_NOT_READY;
    context_->check(result, "cuEventQuery");
    return GPO_SUCCESS;
}

gpo_status Event::wait(uint64_t deadline) {
    for (unsigned turns = 0;; ++turns) {
        const gpo_status status = query();
        if (status == GPO_SUCCESS) return GPO_SUCCESS;
        const uint64_t now = host::now();
        if (now >= deadline) return GPO_TIMEOUT;
        if (const Ref<Recording> held = newest(); held && held->pending() && Runtime::in_callback_of(held->stream))
            fail(GPO_WOULD_DEADLOCK, "a host call can't wait for ", describe(), ", which is recorded behind it");
        if (interrupted_.load(std::memory_order_acquire)) fail(GPO_CANCELLED, describe(), " was destroyed");
        if (!(flags_ & GPO_EVENT_BLOCKING_SYNC) && turns < 64)
            host::step(turns);
        else
            host::sleep_until(std::min(deadline, now + std::clamp<uint64_t>(turns, 10, 1000) * 1000));
    }
}

// A wait was put on its stream.
void Event::watch(Waits& made) noexcept {
    const Ref<Wait> wait = made.front();
    watch_->add(made);
    wait->mark();
}

// The event's point lies somewhere in a stream: a stream of the library's waits for the event, and is marked behind the
// wait. Where the newest recording or the device has failed by now, `failed` gets that failure, and nothing is marked.
template <class Mark>
gpo_status Event::watch(Mark&& mark, ErrorPtr& failed) {
    if (capture_.load(std::memory_order_acquire)) refuse_capture("notify");
    const SharedRecordings::Ticket ticket = newest_ticket();
    if (shared_ && shared_->lost(ticket)) [[unlikely]] {
        failed = loss(ticket);
        return GPO_SUCCESS;
    }
    try {
        Ref<Stream> stream = Streams::of(*context_).idle();
        Claimed claimed(*stream);
        Waits watched = prepare_watch(*stream, ticket);
        WaitEvent wait(*this, ticket);
        gpo_status status = stream->submit(wait);
        if (status != GPO_SUCCESS) return status;
        try {
            status = mark(*stream);
        } catch (...) {
            claimed.occupy();
            throw;
        }
        if (status != GPO_SUCCESS) claimed.occupy();
        else if (!watched.empty()) [[unlikely]] watch(watched);
        return status;
    } catch (const NeverPossible& dropped) {
        failed = dropped.error();
    } catch (const Failure&) {
        if (runtime().shutting_down() || !context_->lost()) throw;
        failed = context_->loss();
    }
    return GPO_SUCCESS;
}

// Counts a notify that is told of a failure at once.
Outcome Event::fail_at_once(const ErrorPtr& failed) noexcept {
    Outcome outcome;
    outcome.error = failed;
    outcome.submitted_ns = outcome.completed_ns = host::now();
    runtime().counters.notifies.fetch_add(1, std::memory_order_relaxed);
    runtime().counters.count_completion(0, outcome.status());
    return outcome;
}

gpo_status Event::notify(CompletionQueue& queue, uint64_t user_data) {
    if (&queue.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, describe(), " and ", queue.describe(), " are of different runtimes");
    ErrorPtr failed;
    const gpo_status status =
        watch([&](Stream& stream) { return stream.notify(queue, user_data, nullptr, GPO_ORIGIN_EVENT); }, failed);
    if (!failed) return status;
    if (!queue.reserve()) return GPO_WOULD_BLOCK;
    queue.deliver(entry_of(fail_at_once(failed), user_data, GPO_ORIGIN_EVENT), failed);
    return GPO_SUCCESS;
}

gpo_status Event::then(const Ref<CompletionHandler>& target) {
    ErrorPtr failed;
    const gpo_status status = watch([&](Stream& stream) { return stream.then(target, GPO_ORIGIN_EVENT); }, failed);
    if (failed) target->on_completed(fail_at_once(failed));
    return status;
}

gpo_status Event::elapsed(Event& start, Event& end, int64_t* nanoseconds) {
    if (&start.runtime() != &end.runtime()) fail(GPO_INVALID_HANDLE, "the two events are of different runtimes");
    for (Event* event : {&start, &end}) {
        if (!event->timing()) fail(GPO_INVALID_ARGUMENT, event->describe(), " was made without GPO_EVENT_TIMING");
        if (event->pending()) return GPO_NOT_READY;
        event->refuse_unusable("elapsed");
        if (!event->recorded_.load(std::memory_order_acquire))
            fail(GPO_INVALID_STATE, event->describe(), " was never recorded");
    }
    if (&start.context() != &end.context()) fail(GPO_INVALID_ARGUMENT, "the two events are of different devices");
    DriverScope scope(start.context());
    float milliseconds = 0;
    const CUresult result = start.context().table().cuEventElapsedTime(&milliseconds, start.native(), end.native());
    if (result == CUDA_ERROR_NOT_READY) return GPO_NOT_READY;
    start.context().check(result, "cuEventElapsedTime");
    *nanoseconds = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    return GPO_SUCCESS;
}

}  // namespace gpo
