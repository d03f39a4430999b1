#include "stream/event.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "completion/pace.h"
#include "completion/completion_queue.h"
#include "stream/captures.h"
#include "stream/event_recording.h"
#include "stream/streams.h"

namespace gpo {

// Interval for checking that the recording process is alive.
static constexpr uint64_t kLooksEvery = 20'000'000;   // ns

class RecordEvent final : public HookedOperation {
public:
    RecordEvent(Event& event, Stream& stream)
        : HookedOperation("record event", event.label()), event_(&event), stream_(&stream) {}
    RecordEvent(const RecordEvent& other)
        : HookedOperation(other), event_(other.event_), stream_(other.stream_),
          event_reference_(Ref<Event>(other.event_)),
          recording_(make<Recording>(stream_->context(), stream_, event_->timing())) {}

    bool plain() const noexcept override { return true; }
    Ref<const Counted> owner() const noexcept override { return event_->owner_of_nodes(); }
    bool add_to(Stream& stream, StreamRecording& recording) override {
        if (!event_->recordable_directly(stream)) return false;
        if (event_->external()) return recording.add(stream, *this, EventWork{event_->native(), false});
        put_in_capture(stream, stream.capture(), &recording);
        return true;
    }
    void issue(Stream& stream) override {
        if (recording_) return issue_held(stream);
        const uint64_t capture = stream.capture();
        if (capture && event_->external()) return event_->add_node(stream, capture, false);
        put_in_capture(stream, capture, nullptr);
    }
    std::unique_ptr<Operation> held_copy() const override {
        auto held = std::make_unique<RecordEvent>(*this);
        Ref<Recording> before;
        std::lock_guard lock(event_->newest_lock_);
        before = event_->set_newest(held->recording_);
        held->number_ = event_->begin_recording();
        event_->capture_.store(0, std::memory_order_release);   // no recording is held in a capture
        return held;
    }
    void drop(Stream&, const ErrorPtr& error) noexcept override { recording_->end(error); }
    void afterwards(const ErrorPtr&) noexcept override { recording_->release_waiting(); }

private:
    // `capture` 0: outside of any. `direct`: the direct recording with this number, or NULL.
    [[gnu::always_inline]] void put_in_capture(Stream& stream, uint64_t capture, StreamRecording* direct) {
        // Replaces the event's newest recording, which another thread may be copying (Event::snapshot). The copying
        // thread sets watched_ before it copies, and holds native_lock_ until the copy is made. Hence either the copy
        // has the new recording, or this thread sees watched_ and replaces newest_.
        Ref<Recording> before, point;   // released after the locks
        std::unique_lock native(event_->native_lock_, std::defer_lock);
        if (event_->watched_.load(std::memory_order_acquire)) [[unlikely]] native.lock();
        record(stream, capture, direct);
        host::light_fence();
        if (!event_->watched_.load(std::memory_order_acquire)) [[likely]] return;
        if (!native.owns_lock()) native.lock();
        if (!capture) point = own_point(stream);
        std::lock_guard lock(event_->newest_lock_);
        before = event_->set_newest(std::move(point));
    }
    void record(Stream& stream, uint64_t capture, StreamRecording* direct) {
        const bool recorded = direct && direct->record(stream, *event_);
        if (direct && !recorded) capture = stream.capture();   // the driver's: the recording has entered it meanwhile
        if (recorded) {
            // The event names nodes of the recording.
        } else if (event_->shared_) [[unlikely]] {
            if (capture)
                fail(GPO_CAPTURE_REFUSED, event_->describe(), " is of several processes: no capture can record it");
            event_->shared_->record(stream);
        } else {
            gpo::issue(stream, EventWork{event_->native(), false});
        }
        if (capture) event_->captured_on_.store(&stream, std::memory_order_relaxed);
        event_->capture_.store(capture, std::memory_order_release);
        event_->issued_.store(recording_ ? number_ : event_->begin_recording(), std::memory_order_release);
    }
    // A held launch of a graph will overwrite the recording in the driver's event. A point of its own preserves the
    // recording for waits.
    Ref<Recording> own_point(Stream& stream) {
        if (event_->overwriting_.load(std::memory_order_acquire) == 0) return nullptr;
        auto out = make<Recording>(stream.context(), nullptr, event_->timing());
        gpo::issue(stream, EventWork{out->point(), false});
        out->end(nullptr);
        return out;
    }
    void issue_held(Stream& stream) {
        gpo::issue(stream, EventWork{recording_->point(), false});
        {
            std::lock_guard native(event_->native_lock_);
            if (event_->newest() == recording_) record(stream, 0, nullptr);
        }
        recording_->end(nullptr);
    }
    Event* event_;
    Stream* stream_;
    Ref<Event> event_reference_;  // set only in held copies, like the next two:
    Ref<Recording> recording_;
    uint64_t number_ = 0;
};

/// Thrown if a held stream would wait for the event itself: bind() must first determine the recording to wait for.
struct Unbound {};

class WaitEvent final : public HookedOperation {
public:
    /// `ticket`: the recording to wait for, if several processes share the event. Made under no lock.
    explicit WaitEvent(Event& event, SharedRecordings::Ticket ticket = 0)
        : HookedOperation("wait for event", event.label()), event_(&event), ticket_(ticket),
          of_ended_capture_(event.of_ended_capture()) {}
    WaitEvent(const WaitEvent& other)
        : HookedOperation(other), event_(other.event_), ticket_(other.ticket_),
          of_ended_capture_(other.of_ended_capture_), recording_(other.recording_), bound_(other.bound_),
          itself_(other.itself_), held_(true) {}
    bool plain() const noexcept override { return true; }
    Ref<const Counted> owner() const noexcept override { return event_->owner_of_nodes(); }

    bool may_join_capture() const noexcept override {
        return !bound_ && (event_->capture_.load(std::memory_order_acquire) != 0 || event_->recorded_by_others());
    }

    bool add_to(Stream& stream, StreamRecording& recording) override {
        if (bound_ || !event_->recordable_directly(stream)) return false;
        if (event_->external()) return recording.add(stream, *this, EventWork{event_->native(), true});
        issue(stream);
        return true;
    }

    /// Determines the recording to wait for, however long the stream is held. Under no lock. Throws.
    void bind() {
        const Event::Place newest = event_->newest_place();
        recording_ = newest.recording;
        // The driver's event has this recording, or a later recording by another process or the program.
        const bool others = event_->shared_ || event_->recorded_by_others();
        if (others && recording_ && newest.native == event_->native() && !recording_->pending() &&
            !recording_->dropped())
            recording_ = nullptr;
        if (!recording_ && !event_->never_recorded()) {
            event_->refuse_unusable();
            if (event_->last_ || event_->shared_)   // with shared_, ticket_ names the recording
                itself_ = true;
            else
                recording_ = event_->snapshot();
        }
        bound_ = true;
    }

    bool ready(Stream& stream) override {
        if (!bound_) [[likely]] {
            if (!event_->watched_.load(std::memory_order_acquire)) [[likely]] return true;
            if (event_->external() && stream.capturing()) return true;   // the node waits at each launch
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
        if (event_->external())
            if (const uint64_t capture = stream.capture()) return event_->add_node(stream, capture, true);
        const Event::Place newest = event_->newest_place();
        if (const ErrorPtr dropped = newest.recording ? newest.recording->dropped() : nullptr)
            throw NeverPossible(dropped);
        if (event_->never_recorded()) return;
        const uint64_t of_event = event_->capture_.load(std::memory_order_acquire), of_stream = stream.capture();
        if (of_ended_capture_ && of_event) event_->refuse_capture(true);
        const bool others = event_->recorded_by_others();   // perhaps in an unknown capture
        if (of_stream && of_stream != of_event && !others)
            refuse_capture(stream, of_event);          // the driver would invalidate the whole capture
        if (captures::is_direct(of_event) && wait_directly(stream, of_event)) return;
        if ((of_event || others) && !of_stream) stream.join_recording();   // the wait joins the stream to the capture
        wait(stream, newest.native);
        if (others && !of_stream && !stream.capturing()) stream.leave_recording();   // usually there is no capture
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
    // False if the recording goes on in a capture of the driver, in which the event is recorded.
    bool wait_directly(Stream& stream, uint64_t recording) {
        const Ref<StreamRecording> found = captures::find(recording);
        if (!found) event_->refuse_capture(true);
        return found->wait(stream, *event_);
    }
    void issue_bound(Stream& stream) {
        if (!recording_ && !itself_) return;   // the event had no recording
        if (const ErrorPtr dropped = recording_ ? recording_->dropped() : nullptr) throw NeverPossible(dropped);
        if (stream.capturing()) refuse_capture(stream, 0);
        wait(stream, recording_ ? recording_->point() : event_->native());
    }
    [[noreturn]] void refuse_capture(const Stream& stream, uint64_t of_event) const {
        fail(GPO_CAPTURE_REFUSED, stream.describe(), " is being captured, and ",
             event_->describe(), " was recorded ", of_event ? "in another capture" : "outside of the capture");
    }
    void wait(Stream& stream, CUevent event) const {
        if (&event_->context() != &stream.context()) event_->context().require_alive();
        if (event_->shared_ && event == event_->native()) [[unlikely]] return event_->shared_->wait(stream, ticket_);
        gpo::issue(stream, EventWork{event, true});
    }
    Ref<Event> event_;
    const SharedRecordings::Ticket ticket_;
    const bool of_ended_capture_;
    Ref<Recording> recording_;   // the recording to wait for, once bound
    bool bound_ = false, itself_ = false;   // itself_: bound to the event itself, not to recording_
    const bool held_ = false;
};

// Copies the newest recording of the program's event to an event of the library. Both complete together.
class CopyRecording final : public HookedOperation {
public:
    CopyRecording(Event& event, Recording& to)
        : HookedOperation("wait for event", event.label(), false), event_(&event), to_(&to) {}
    bool plain() const noexcept override { return true; }
    void issue(Stream& stream) override {
        gpo::issue(stream, EventWork{event_->native(), true});
        gpo::issue(stream, EventWork{to_->point(), false});
        to_->end(nullptr);
    }
    // The operation is only put on hidden streams, which hold nothing.
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<CopyRecording>(*this); }
    void drop(Stream&, const ErrorPtr& error) noexcept override { to_->end(error); }
    void afterwards(const ErrorPtr&) noexcept override { to_->release_waiting(); }

private:
    Ref<Event> event_;
    Ref<Recording> to_;
};

// A scope in which a claimed hidden stream is used.
struct Claimed {
    explicit Claimed(Stream& stream) noexcept : stream(stream) {}
    ~Claimed() { stream.unclaim(); }
    Claimed(const Claimed&) = delete;
    Claimed& operator=(const Claimed&) = delete;
    /// Puts a mark behind a wait that has no mark yet, so that the stream isn't taken for idle before the wait is over.
    /// If no mark can be made, the stream fails, and is never used again.
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

// --- events that several processes share ---

// Watches the streams that wait for recordings of other processes. If a recording process ends, its waiters would wait
// without end. Therefore the watch first fails the waiting streams, and two looks later ends their waits through the
// recording's word. Other waiting processes look equally often, and have failed their own streams before the waits end.
//
// The watch also keeps the event until no stream of this process will access the event's words.
class Event::Watch final : public Counted, private Errand {
public:
    explicit Watch(Event& event) noexcept : event_(event) {}
    void add(Waits& made) noexcept;
    void remove(const Wait& wait) noexcept;
    /// The event was destroyed.
    void keep_until_idle() noexcept;

private:
    static constexpr unsigned kReleasedAt = 3;   // looks: the first look fails the stream
    void run() noexcept override;
    void post() noexcept;
    void look_again() noexcept;

    Event& event_;           // a reference to the event is held while the watch is posted
    host::Mutex lock_;       // a leaf
    Waits waits_;            // under lock_, as:
    bool posted_ = false, keeping_ = false;
};

// A stream's wait, watched until a mark behind the wait shows that the stream has passed.
class Event::Wait final : public CompletionHandler {
public:
    Wait(Ref<Watch> watch, Stream& stream, SharedRecordings::Ticket ticket, SharedRecordings::Recorder recorder)
        : ticket(ticket), recorder(recorder), watch_(std::move(watch)), stream_(&stream) {}
    void on_completed(const Outcome&) noexcept override { watch_->remove(*this); }
    Stream& stream() const noexcept { return *stream_; }
    /// Puts the mark behind the wait, once. If this isn't possible now, the next look tries again. (If the function is
    /// inlined, GCC 12 takes the list of waits for empty and warns.)
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
    unsigned lost_looks = 0;   // used only by Watch::run

private:
    const Ref<Watch> watch_;
    const Ref<Stream> stream_;
    std::atomic<bool> marked_{false};
};

// Called under no lock, since the errand may run at once. posted_ was just set.
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
                !shared.done(wait->ticket))   // the process may have completed the recording just before it ended
                shared.set_lost(wait->ticket);
            if (shared.lost(wait->ticket)) {
                if (wait->lost_looks++ == 0)
                    wait->stream().fail_work(shared.loss(event_.describe().c_str(), wait->recorder));
                if (wait->lost_looks >= kReleasedAt) shared.release(wait->ticket);
            }
            wait->mark();
        }
    } catch (...) {
        // Memory is short for now, or the device and its streams are lost.
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

// True if the recording will never be complete.
bool Event::lost(SharedRecordings::Ticket ticket) {
    if (shared_->lost(ticket)) return true;
    if (shared_->done(ticket)) return false;
    const uint64_t now = host::now();
    if (now - looked_.load(std::memory_order_relaxed) < kLooksEvery) return false;
    looked_.store(now, std::memory_order_relaxed);
    // The process may have completed the recording just before it ended.
    if (!shared_->has_ended(shared_->recorder(ticket)) || shared_->done(ticket)) return false;
    shared_->set_lost(ticket);
    return true;
}

// Prepares to watch a wait, before the wait is put on the stream. Empty if the recording is complete. Throws
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
        for (const auto& [flag, name] : {std::pair{GPO_EVENT_TIMING, "GPO_EVENT_TIMING"},
                                         std::pair{GPO_EVENT_EXTERNAL, "GPO_EVENT_EXTERNAL"}})
            if (flags_ & static_cast<uint32_t>(flag))
                fail(GPO_INVALID_ARGUMENT, "options.flags has ", name,
                     ", which events of several processes don't have");
        refuse_deterministic();
        shared_ = SharedRecordings::create(*context_);
        watch_ = make<Watch>(*this);
    }
    DriverScope scope(*context_);
    context_->check(context_->table().cuEventCreate(
                        &native_, (timing() ? 0u : unsigned{CU_EVENT_DISABLE_TIMING}) |
                                      (flags_ & GPO_EVENT_BLOCKING_SYNC ? unsigned{CU_EVENT_BLOCKING_SYNC} : 0u)),
                    "cuEventCreate");
}

Event::Event(Ref<Context> context, const Exported& exported, const char* label)
    : Beginning(context->runtime(), Type::event, label), context_(std::move(context)), flags_(GPO_EVENT_INTERPROCESS),
      shared_(SharedRecordings::open(*context_, exported)), watch_(make<Watch>(*this)) {
    DriverScope scope(*context_);
    context_->check(context_->table().cuEventCreate(&native_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
}

Event::~Event() {
    // If recordings aren't complete, a shutdown didn't wait for them, or the device is lost.
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

gpo_status Event::put_launch_wait(Stream& stream) {
    if (capture_.load(std::memory_order_acquire)) refuse_capture();
    // The graph's node waits for the recording that the driver's event has when the driver gets the launch.
    if (!watched_.load(std::memory_order_acquire) && !stream.held().any()) return GPO_SUCCESS;
    return put_wait(stream);
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
    watched_.store(recording || overwriting_.load(std::memory_order_relaxed), std::memory_order_release);
    newest_.swap(recording);
    return recording;
}

void Event::end_overwriting() noexcept {
    std::lock_guard lock(newest_lock_);
    overwriting_.store(overwriting_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    watched_.store(newest_ || overwriting_.load(std::memory_order_relaxed), std::memory_order_release);
}

Ref<Recording> Event::newest() {
    std::lock_guard lock(newest_lock_);
    return newest_;
}

Event::Place Event::newest_place() {
    if (!watched_.load(std::memory_order_acquire)) [[likely]] return {native_, nullptr};
    std::lock_guard lock(newest_lock_);
    const bool elsewhere = newest_ && !newest_->pending() &&
                           issued_.load(std::memory_order_relaxed) != begun_.load(std::memory_order_relaxed);
    return {elsewhere ? newest_->point() : native_, newest_};
}

Ref<Recording> Event::snapshot() {
    std::lock_guard native(native_lock_);
    {
        std::lock_guard lock(newest_lock_);
        if (newest_ && !recorded_by_others()) return newest_;
        watched_.store(true, std::memory_order_release);
    }
    host::heavy_fence();
    refuse_captured_by_others();
    Ref<Recording> made;
    {
        DriverScope scope(*context_);
        made = make<Recording>(*context_, nullptr, timing());
    }
    copy_native_to(*made);
    // Later waits for the same recording reuse the copy, if no other recording can have come in between.
    std::lock_guard lock(newest_lock_);
    if (!recorded_by_others() && watched_.load(std::memory_order_relaxed) && !newest_) newest_ = made;
    return made;
}

// Uses a hidden stream that has no other work. Under native_lock_.
void Event::copy_native_to(Recording& to) {
    Ref<Stream> stream = Streams::of(to.context()).idle();
    Claimed claimed(*stream);
    CopyRecording operation(*this, to);
    try {
        stream->submit(operation);
    } catch (...) {
        claimed.occupy();
        throw;
    }
    claimed.occupy();
}

// --- captures ---

Ref<const Counted> Event::owner_of_nodes() const noexcept {
    return external() ? Ref<const Counted>(this) : nullptr;
}

bool Event::recordable_directly(const Stream& stream) const noexcept {
    return !shared_ && !recorded_by_others() && &stream.context() == &*context_;
}

void Event::move_recording(uint64_t from, uint64_t to, const Stream& on) noexcept {
    if (!capture_.compare_exchange_strong(from, to, std::memory_order_acq_rel)) return;
    captured_on_.store(&on, std::memory_order_relaxed);
}

void Event::expose() {
    note_recorded_by_others();
    const uint64_t capture = capture_.load(std::memory_order_acquire);
    if (!captures::is_direct(capture)) return;
    if (const Ref<StreamRecording> recording = captures::find(capture)) recording->enter_capture();
}

// Adds a node to the capture of a stream, inside a DriverScope: each launch of the graph records the event, or waits
// for it.
void Event::add_node(Stream& stream, uint64_t capture, bool wait) {
    gpo::issue(stream, EventWork{native_, wait, true});
    if (!captures::is_recording(capture)) note_recorded_by_others();   // the program itself launches the graph
}

bool Event::of_ended_capture() {
    const uint64_t capture = capture_.load(std::memory_order_acquire);
    if (!capture || captures::is_recording(capture)) return false;
    // The driver reports a capture of the program only by its streams. The stream that recorded the event stays in the
    // capture until the capture ends.
    const Ref<Stream> stream = Streams::of(*context_).find(captured_on_.load(std::memory_order_relaxed));
    if (!stream) return true;
    DriverScope scope(*context_);
    return !stream->is_in(capture);
}

// Called before a hidden stream waits for the event. If the program has recorded the event in a capture, the hidden
// stream would join the capture. A query then fails, and the driver rightly treats it as misuse of a captured event.
void Event::refuse_captured_by_others() {
    if (!recorded_by_others()) return;
    DriverScope scope(*context_);
    const CUresult result = context_->table().cuEventQuery(native_);
    if (result != CUDA_ERROR_NOT_READY) context_->check(result, "cuEventQuery");
}

void Event::refuse_capture() { refuse_capture(of_ended_capture()); }

void Event::refuse_capture(bool ended) const {
    fail(GPO_CAPTURE_REFUSED, describe(),
         ended ? " was recorded in a recording that has ended: record it anew, or launch a graph that records it"
               : " was recorded on a stream that is being captured");
}

void Event::refuse_unusable() {
    if (capture_.load(std::memory_order_acquire)) refuse_capture();
    const Ref<Recording> held = newest();
    if (const ErrorPtr dropped = held ? held->dropped() : nullptr) throw Failure(dropped);
}

uint64_t Event::newest_recording() {
    const uint64_t begun = begun_.load(std::memory_order_acquire);
    if (never_recorded()) fail(GPO_INVALID_ARGUMENT, describe(), " was never recorded");
    if (capture_.load(std::memory_order_acquire)) refuse_capture();
    if (begun == 0) {
        DriverScope scope(*context_);
        if (driver_has_no_recording()) fail(GPO_INVALID_ARGUMENT, describe(), " was never recorded");
    }
    return begun;   // if the recording has failed, holds() is never true for its number
}

Stream::Since Event::beginning_on(Stream& stream) {
    if (&runtime() != &stream.runtime())
        fail(GPO_INVALID_HANDLE, "since: ", describe(), " is of another runtime than ", stream.describe());
    if (&stream.context() != &*context_ || !timing())
        fail(GPO_INVALID_ARGUMENT, "since: ", describe(), " has no timing, or is of another device");
    stream.refuse_captured();
    return {Ref<Beginning>(this), newest_recording()};
}

// True if the driver's event was never recorded. For events with timing, inside a DriverScope.
bool Event::driver_has_no_recording() const noexcept {
    float none = 0;
    return context_->table().cuEventElapsedTime(&none, native_, native_) == CUDA_ERROR_INVALID_HANDLE;
}

bool Event::pending() {
    if (!watched_.load(std::memory_order_acquire)) return false;
    const Ref<Recording> held = newest();
    return held && held->pending();
}

gpo_status Event::query() {
    if (pending()) return GPO_NOT_READY;
    refuse_unusable();
    const SharedRecordings::Ticket ticket = newest_ticket();
    if (shared_) [[unlikely]] {
        if (lost(ticket)) throw Failure(loss(ticket));
        if (shared_->done(ticket)) return GPO_SUCCESS;
    }
    const Place newest = newest_place();
    DriverScope scope(*context_);
    const CUresult result = context_->table().cuEventQuery(newest.native);
    if (result == CUDA_ERROR_NOT_READY || (shared_ && result == CUDA_SUCCESS)) return GPO_NOT_READY;
    context_->check(result, "cuEventQuery");
    return GPO_SUCCESS;
}

gpo_status Event::wait(uint64_t deadline) {
    Scanner& scanner = Streams::of(*context_).scanner();
    const bool may_spin = !(flags_ & GPO_EVENT_BLOCKING_SYNC);
    std::optional<Scanner::Spinning> spinning;
    const uint64_t since = host::now();
    for (unsigned turns = 0;; ++turns) {
        const gpo_status status = query();
        if (status == GPO_SUCCESS) return GPO_SUCCESS;
        const uint64_t now = host::now();
        if (now >= deadline) return GPO_TIMEOUT;
        if (const Ref<Recording> held = newest(); held && held->pending() && Runtime::in_callback_of(held->stream))
            fail(GPO_WOULD_DEADLOCK, "a host call can't wait for ", describe(), ", which is recorded behind it");
        if (interrupted_.load(std::memory_order_acquire)) fail(GPO_CANCELLED, describe(), " was destroyed");
        if (may_spin && turns == 0) spinning.emplace(scanner);
        // In latency mode every thread may spin. If the driver notifies, a thread spins only for some turns.
        const bool spins = may_spin && ((spinning && spinning->granted()) || runtime().latency_mode() ||
                                        (!scanner.shared() && turns < 64));
        const uint64_t rest = pace::rest_of_blocked(now - since, spins);
        if (rest == 0) {
            host::step();
            continue;
        }
        spinning.reset();
        host::sleep_until(std::min(deadline, now + rest));
    }
}

// Begins to watch a wait that was put on its stream.
void Event::watch(Waits& made) noexcept {
    const Ref<Wait> wait = made.front();
    watch_->add(made);
    wait->mark();
}

// The recording may lie anywhere in a stream, and a mark at the stream's end would come too late. Instead, a hidden
// stream waits for the event, and is marked behind the wait. If the newest recording or the device has already failed,
// `failed` gets the failure, and nothing is marked.
template <class Mark>
gpo_status Event::watch(Mark&& mark, ErrorPtr& failed) {
    if (capture_.load(std::memory_order_acquire)) refuse_capture();
    refuse_captured_by_others();
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

// Counts a notify that completes with a failure at once, and returns its outcome.
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

void Event::fail_never_recorded() const { fail(GPO_INVALID_STATE, describe(), " was never recorded"); }

gpo_status Event::elapsed(Event& start, Event& end, int64_t* nanoseconds) {
    if (&start.runtime() != &end.runtime()) fail(GPO_INVALID_HANDLE, "the two events are of different runtimes");
    for (Event* event : {&start, &end}) {
        if (!event->timing()) fail(GPO_INVALID_ARGUMENT, event->describe(), " was made without GPO_EVENT_TIMING");
        if (event->pending()) return GPO_NOT_READY;
        event->refuse_unusable();
        if (event->never_recorded()) event->fail_never_recorded();
    }
    if (&start.context() != &end.context()) fail(GPO_INVALID_ARGUMENT, "the two events are of different devices");
    const Place first = start.newest_place(), last = end.newest_place();
    DriverScope scope(start.context());
    float milliseconds = 0;
    const CUresult result = start.context().table().cuEventElapsedTime(&milliseconds, first.native, last.native);
    if (result == CUDA_ERROR_INVALID_HANDLE)   // perhaps a shared event that was never recorded
        for (Event* event : {&start, &end})
            if (event->recorded_by_others() && event->driver_has_no_recording()) event->fail_never_recorded();
    if (result == CUDA_ERROR_NOT_READY) return GPO_NOT_READY;
    start.context().check(result, "cuEventElapsedTime");
    *nanoseconds = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    return GPO_SUCCESS;
}

}  // namespace gpo
