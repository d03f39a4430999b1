#include "stream/stream.h"

#include <algorithm>
#include <optional>

#include "completion/pace.h"
#include "completion/completion_queue.h"
#include "stream/captures.h"
#include "stream/operation_span.h"
#include "stream/releasing.h"
#include "stream/services.h"
#include "trace/nvtx.h"
#include "trace/recorder/recorder.h"

namespace gpo {

namespace {

constexpr uint64_t kReach = 500'000;  // ns: an idle stream reaches an event sooner (35 us on an H200, sometimes more)
constexpr uint64_t kLook = 200'000;       // ns between two queries of work that has no mark
constexpr uint64_t kFewOperations = 64;   // the driver takes more operations on a stream without waiting

}  // namespace

// A mark in the form of an operation, so that the mark keeps its place on a held stream.
class MarkOperation final : public HookedOperation {
public:
    explicit MarkOperation(Mark mark) noexcept : HookedOperation("notify", nullptr, false), mark_(std::move(mark)) {}
    bool plain() const noexcept override { return true; }

    bool ready(Stream& stream) override {
        follows_ = stream.marks().end_stream();   // read here, because hand_over() resets the state before issue()
        return true;
    }

    void issue(Stream& stream) override {
        StreamMarks& marks = stream.marks();
        marks.reserve();
        mark_.timing = mark_.since() != nullptr;
        if (stream.detached()) return marks.push(std::move(mark_));
        if (follows_ && !mark_.timing) {
            marks.push(std::move(mark_));
            marks.set_newest(true);
            return;
        }
        marks.record(mark_);
        const bool recorded = !mark_.deferred;
        marks.push(std::move(mark_));
        if (recorded) marks.set_newest(true);
    }
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<MarkOperation>(mark_); }
    void held_behind(uint64_t operation) noexcept override { mark_.operation = operation; }
    void drop(Stream& stream, const ErrorPtr& error) noexcept override {
        mark_.set_error(error);
        stream.marks().record_failed(mark_);
        stream.marks().push(std::move(mark_));  // after the marks before it, whose work goes on
    }
    /// The mark of an operation that was refused.
    Mark take() noexcept { return std::move(mark_); }

private:
    Mark mark_;
    bool follows_ = false;   // no work lies behind the newest mark: this mark is reached together with the newest
};

namespace {

constexpr uint32_t kDefaultMaxHeld = 65536;

// The handler whose completion gpo_stream_wait waits for.
class Waiter final : public CompletionHandler {
public:
    void on_completed(const Outcome& outcome) noexcept override {
        error_ = outcome.error;
        done_.store(1, std::memory_order_release);
        host::wake_all(done_);
    }
    bool awaited() const noexcept override { return true; }
    void spin() noexcept {
        for (unsigned spins = 0; spins < 20'000 && !done(); ++spins) host::step(spins % 16);
    }
    /// False when the deadline has passed.
    bool wait(uint64_t deadline) noexcept {
        while (!done())
            if (!host::wait(done_, 0, deadline, host::Sleep::light)) return done();
        return true;
    }
    bool done() const noexcept { return done_.load(std::memory_order_acquire) != 0; }
    const ErrorPtr& error() const noexcept { return error_; }

private:
    std::atomic<uint32_t> done_{0};
    ErrorPtr error_;
};

}  // namespace

Stream::Stream(Ref<Context> context, gpo_device_t device, const gpo_stream_options& options)
    : DriverStream(std::move(context), options.flags & GPO_STREAM_BLOCKING, options.label),
      learner_(options.flags & GPO_STREAM_LEARNS ? std::make_unique<Learner>(*this) : nullptr),
      residence_(options.flags & GPO_STREAM_RESIDENT ? std::make_unique<Residence>(*this) : nullptr), device_(device),
      held_(*this, options.max_held ? options.max_held : kDefaultMaxHeld), history_(*this) {
    if (learner_ && blocking())
        gpo::fail(GPO_NOT_SUPPORTED,
                  "a blocking stream can't learn: the legacy stream would wait for work that the driver doesn't have");
    if (residence_ && (blocking() || learner_))
        gpo::fail(GPO_NOT_SUPPORTED, "a resident stream can't be ",
                  blocking() ? "a blocking one: the legacy stream would wait for work that stays"
                             : "one that learns: work that stays doesn't come again and again");
    StreamServices& services = StreamServices::of(this->context());
    if (learner_) services.start_prompts();
    DriverScope scope(this->context());
    if (residence_) services.blocking_calls().expect_resident_work();
    room_ = device ? services.room().take(Room::kStream, "making a stream") : services.room().take_hidden();
    make_native(options.priority);
    try {
        history_.attribute();
    } catch (...) {
        destroy_native();
        throw;
    }
}

Stream::Stream(Ref<Context> context, gpo_device_t device, CUstream foreign, const gpo_stream_options& options)
    : DriverStream(std::move(context), foreign, options.label), device_(device), held_(*this, 0), history_(*this) {
    DriverScope scope(this->context());
    check_wrapped();
    history_.attribute();
}

void Stream::announce() {
    StreamServices::of(context()).add(*this);
    announced_.store(true, std::memory_order_release);
    if (!wrapped()) trace::nvtx::name_stream(native(), label());
}

Stream::~Stream() {
    if (announced_.load(std::memory_order_acquire)) StreamServices::of(context()).remove(*this);
    marks_.give_events();
    destroy_native();
}

void Stream::release_handle() noexcept {
    const Ref<Context> context(&this->context());
    orphaned_.store(true, std::memory_order_release);
    if (wrapped()) show_frees();   // for other streams, the destruction makes the driver notice
    leave_mark();
    if (held_.any()) StreamServices::of(*context).look_for_cycles();
    const bool scanned = marks_.scanned();
    release();
    if (scanned) StreamServices::of(*context).scanner().wake();
}

// Without its handle, a stream would be destroyed at once, even if its work still runs. Memory that the work uses would
// be freed, and neither a device-wide wait nor a shutdown would wait for the work. A mark keeps the stream until the
// work is done.
void Stream::leave_mark() noexcept {
    try {
        // Without work of the library no mark is needed. The program's own work on a wrapped stream is the program's
        // business, unless a wait for all work expects a mark.
        const bool ours = load() != 0 || (wrapped() ? marks_.expects_mark() : given_out());
        const CUresult answer = !ours ? CUDA_SUCCESS : held_.any() ? CUDA_ERROR_NOT_READY : ask(marks_.any());
        // A thread that releases a held copy may be in the driver for long. Wrapped streams hold nothing.
        const uint64_t deadline = wrapped() ? host::kForever : host::now() + Submission::kBrief;
        const Marked marked = answer == CUDA_ERROR_NOT_READY ? mark_behind_work(nullptr, deadline) : Marked::anywhere;
        if (marked == Marked::not_in_time) return held_.leave_mark_later();
        if (answer != CUDA_SUCCESS && marked != Marked::behind_work) stay_unmarked();
    } catch (const std::exception& error) {
        if (is_passing(error)) return held_.leave_mark_later();
        stay_unmarked();
    }
    if (wrapped()) detach();
}

// The driver refuses to report whether the stream is idle, or to record a mark. The shutdown asks again.
void Stream::stay_unmarked() noexcept {
    if (wrapped() || context().lost() || context().ending()) return;
    retain();   // first: a shutdown that sees the flag releases this reference
    if (unmarked_.exchange(true)) release();
}

// Without a mark, only the driver knows whether the stream is idle.
bool Stream::drain_unmarked(uint64_t deadline) noexcept {
    const bool stays = unmarked();   // if set later, during this wait, the shutdown's next look drains the stream
    try {
        while ((held_.has_pending_mark() || stays) && running()) {
            const uint64_t now = host::now();
            if (now >= deadline) return false;
            host::sleep_until(std::min(deadline, now + kLook));
        }
    } catch (const std::exception&) {
        // The context is lost, or the driver refuses to answer.
    }
    if (stays && unmarked_.exchange(false)) release();
    return true;
}

void Stream::issue_or_record(Operation& operation) {
    // Marks aren't part of a recording.
    if (direct_recording() && operation.numbered()) [[unlikely]] {
        if (operation.add_to(*this, *recording())) return;
        recording()->enter_capture();
    }
    operation.issue(*this);
}

// --- putting operations on ---

void Stream::fail_shut_down() { gpo::fail(GPO_SHUT_DOWN, "the runtime is shutting down"); }

// Issues or holds an operation, without releasing the lock in between. Called after put() has found that the operation
// can't be issued, and for the library's own marks. GPO_TIMEOUT: the submit lock wasn't free by the deadline.
gpo_status Stream::hold(Operation& operation, bool internal, uint64_t deadline) {
    refuse_lost();
    host::crossing();   // a shutdown may begin, and cancel held operations
    Hooks* const hooks = operation.hooks();
    bool held = false;
    Held::Spent spent;
    std::optional<Releasing> releasing;
    {
        DriverScope scope(context(), operation.plain() ? Calls::plain : Calls::any);
        const Submission::LockUntil lock(submission(), deadline);
        if (!lock.held()) return GPO_TIMEOUT;
        if (failed()) [[unlikely]] throw Failure(failure());
        if (!internal) refuse_other_thread();
        if (nothing_held() && (!hooks || hooks->ready(*this))) {
            hand_over(operation, submission().next());
            note(operation);
        } else {
            if (!internal) {
                // A shutdown cancels held operations on one stream after the other, each under the submit lock. An
                // operation that is held afterwards would never be released.
                refuse_shut_down();
                // A held operation would run at its release, and would be missing in the capture.
                refuse_capture();
                if (wrapped())
                    gpo::fail(GPO_NOT_SUPPORTED, describe(), " is wrapped, and can't be held back on the host, as `",
                              operation.kind(), "` would have to be");
                if (held_.full()) return GPO_WOULD_BLOCK;
            }
            held_.add(operation, internal);
            traced_.begin_holding(!internal);
            if (!internal) runtime().counters.holds.fetch_add(1, std::memory_order_relaxed);
            // The operation's wait may have ended while the operation was being held.
            RelaxedCapture relaxed(table());
            releasing.emplace(runtime());   // first: other threads skip a stream that holds nothing
            held_.issue_ready(spent);
            held = true;
        }
    }
    if (held)
        Held::conclude(spent);
    else if (hooks && hooks->consequences())
        hooks->afterwards(nullptr);
    return GPO_SUCCESS;
}

void Stream::issue_withheld_now() noexcept {
    learner_->separate();
    if (held_.withheld()) held_.flush();
}

bool Stream::issue_only_withheld() {
    if (!held_.only_withheld()) return false;
    RelaxedCapture relaxed(table());
    Held::Spent none;  // stays empty: withheld operations return to their home list
    held_.issue_ready(none);
    if (failed()) throw Failure(failure());
    return held_.empty();
}

void Stream::hand_over_watched(Operation& operation, uint64_t number) {
    std::optional<BlockingCalls::Beginning> beginning;
    if (residence_ && operation.numbered()) beginning.emplace(StreamServices::of(context()).blocking_calls());
    if (residence_ && operation.numbered()) residence_->begin(operation, number);
    trace::Recorder* recorder = trace::on() && operation.numbered() ? trace::Recorder::of(runtime()) : nullptr;
    if (recorder && recorder->running()) {
        hand_over_traced(operation, number, *recorder);
    } else {
        const History::Attributing attributing(history_, operation, number);
        issue_or_record(operation);
        attributing.issued();
    }
    // Marks aren't part of a recording, and any thread may put a mark on the stream meanwhile.
    if (operation.numbered() && captures::any()) captures::note_captured(*this, operation);
}

void Stream::hand_over_traced(Operation& operation, uint64_t number, trace::Recorder& recorder) {
    trace::OperationSpan span(*this, marks_, traced_, recorder, operation);
    if (legacy()) trace::serialising(runtime(), "work on a blocking or legacy stream");
    const History::Attributing attributing(history_, operation, number);
    {
        const Traced::Current current(traced_, span);
        issue_or_record(operation);
    }
    attributing.issued();
    span.end(number);
}

// --- marks ---

void Stream::mark(Ref<CompletionHandler> target) { static_cast<void>(mark_behind_work(std::move(target))); }

bool Stream::mark_until(Ref<CompletionHandler> target, uint64_t deadline) {
    return mark_behind_work(std::move(target), deadline) != Marked::not_in_time;
}

// `anywhere` if the stream has failed and the driver has recorded no event: the mark may complete before the work.
Stream::Marked Stream::mark_behind_work(Ref<CompletionHandler> target, uint64_t deadline) {
    Mark mark;
    mark.target = std::move(target);
    mark.submitted = host::ticks();
    MarkOperation operation(std::move(mark));
    try {
        return hold(operation, true, deadline) == GPO_TIMEOUT ? Marked::not_in_time : Marked::behind_work;
    } catch (const Failure& failed) {
        // On a failed stream or a lost device the mark still completes, in order.
        if (!context().lost() && !failure()) throw;
        return push_failed(operation.take(), failed.error()) ? Marked::behind_work : Marked::anywhere;
    }
}

gpo_status Stream::notify(CompletionQueue& queue, uint64_t user_data, const Since* since, uint32_t origin) {
    const uint64_t ticks = host::ticks();   // taken first: behind locked instructions the read would wait for them
    if (!queue.reserve()) {
        refuse_captured();   // a retry wouldn't be possible, either
        return GPO_WOULD_BLOCK;
    }
    try {
        refuse_shut_down();
        try {
            if (!since && notify_now(queue, user_data, origin, ticks)) [[likely]] return GPO_SUCCESS;
        } catch (const Failure&) {
            // The device is lost. The operation below finds out, too, and determines the failure of this stream.
        }
        Mark mark;
        mark.queue = &queue;
        mark.user_data = user_data;
        mark.origin = origin;
        if (since) mark.set_since(since->event, since->recording);
        const gpo_status status = put_notify(std::move(mark));
        if (status != GPO_SUCCESS) queue.unreserve();
        return status;
    } catch (...) {
        queue.unreserve();
        throw;
    }
}

gpo_status Stream::then(Ref<CompletionHandler> target, uint32_t origin) {
    refuse_shut_down();
    Mark mark;
    mark.target = std::move(target);
    mark.origin = origin;
    return put_notify(std::move(mark));
}

gpo_status Stream::put_notify(Mark mark) {
    mark.submitted = host::ticks();
    MarkOperation operation(std::move(mark));
    refuse_captured();
    try {
        return put(operation);
    } catch (const Failure& failed) {
        // On a failed stream or a lost device the mark still completes, in order.
        if (!context().lost() && !failure()) throw;
        push_failed(operation.take(), failed.error());
        return GPO_SUCCESS;
    }
}

// The common case, without the detour through an operation: nothing is held, nothing has failed, and the stream can't
// be in a capture. False in other cases, and if the driver refuses: an operation then finds out why.
bool Stream::notify_now(CompletionQueue& queue, uint64_t user_data, uint32_t origin, uint64_t ticks) {
    if (given_out() || context().lost()) return false;
    // If no work was put on the stream since the newest mark, the new mark is reached together with the newest, without
    // a driver call. Blocking streams are excluded: the legacy stream may have delayed them by work that the library
    // doesn't see.
    MarkQueue& queued = marks_.queue();
    const bool follows = marks_.newest() && !blocking();
    queued.fetch_ahead();   // fetches lines that the scanner has read, while the driver records
    // The driver records an event in any current context. If a driver refuses, the operation makes this context
    // current.
    if (!follows && !context().alive()) return false;
    const Submission::Lock lock(submission());
    queued.fetch_next();
    if (!held_.empty() || failed()) return false;
    if (follows && !marks_.newest()) return false;  // work was put on the stream meanwhile
    marks_.reserve();
    CUevent event = nullptr;
    if (!follows) {
        event = queued.next_event();
        if (!event) [[unlikely]] {
            std::optional<DriverScope> scope;
            if (!marks_.has_spare()) scope.emplace(context(), Calls::plain);
            event = marks_.event(false);
        }
        if (table().cuEventRecord(event, native()) != CUDA_SUCCESS) [[unlikely]] return false;
        marks_.set_newest(true);
    }
    Mark& mark = queued.next();
    mark.event = event;
    mark.timing = mark.deferred = mark.special = false;
    mark.queue = &queue;
    mark.user_data = user_data;
    mark.origin = origin;
    mark.operation = submission().accepted();
    mark.submitted = ticks;
    submission().count_notify();
    if (trace::on()) [[unlikely]] traced_.note_notify(mark);
    queued.push();
    StreamServices::of(context()).scanner().wake(&queued);
    return true;
}

// Pushes a mark that completes with an error: after all submitted and held marks, and after all work that still runs.
// Returns whether the driver has recorded an event for the mark.
bool Stream::push_failed(Mark mark, ErrorPtr error) {
    // If the driver has just reported the loss of the device, the error says nothing yet about this stream's work.
    if (ErrorPtr known = failure()) error = std::move(known);
    else if (context().lost()) error = failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr);
    const Releasing releasing(runtime());
    Held::Spent spent;
    bool recorded = false;
    {
        const Submission::Lock lock(submission());
        held_.reserve_marks();   // the held operations keep the room reserved for them
        if (!held_.empty()) held_.drop(error, spent);
        mark.set_error(error);
        marks_.record_failed(mark);
        recorded = mark.event != nullptr;
        marks_.push(std::move(mark));
    }
    Held::conclude(spent);
    return recorded;
}

// --- asking and waiting ---

gpo_status Stream::query() {
    issue_withheld();
    refuse_lost();
    if (failed()) throw Failure(failure());
    const uint64_t accepted = submission().accepted();   // read first: the next line sees those that are held
    if (held_.any()) return GPO_NOT_READY;
    DriverScope scope(context());
    CUresult result;
    {
        const auto staying = stay();
        refuse_capture();
        result = !detached() ? table().cuStreamQuery(native()) : !marks_.any() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    }
    if (result == CUDA_ERROR_NOT_READY) return GPO_NOT_READY;
    if (result != CUDA_SUCCESS) {
        const ErrorPtr error = failure_of_work(result, "cuStreamQuery");
        if (context().lost()) fail(error);
        throw Failure(error);
    }
    seen_done(accepted);
    return GPO_SUCCESS;
}

void Stream::seen_done(uint64_t operation) noexcept {
    marks_.watched().seen_done(operation);
    if (residence_) residence_->release_done(operation);
}

void Stream::show_frees() noexcept {
    if (!unseen_frees_.exchange(false)) return;
    try {
        DriverScope scope(context());
        if (see_idle()) return;
    } catch (const std::exception&) {
        // The context is lost, or the driver refuses: a pool keeps the memory for allocations.
    }
    unseen_frees_.store(true);
}

// Synchronises with an event at the stream's end, if the event is reached soon. Another thread may put work on the
// stream or capture it meanwhile. Therefore the thread synchronises only with an event that it has seen reached, never
// queries the stream, and doesn't query an event that may be part of a capture. The submit lock isn't taken, since its
// holder may wait for work. cuEventRecord would also wait, on a stream that is full: streams with many operations are
// left out.
bool Stream::see_idle() {
    if (load() > kFewOperations) return false;
    CUevent event = nullptr;
    context().take_event(false, &event);
    CUresult reached = CUDA_ERROR_NOT_READY;
    try {
        const auto staying = stay();
        if (!detached() && !capturing() && table().cuEventRecord(event, native()) == CUDA_SUCCESS && !capturing())
            reached = table().cuEventQuery(event);
        else
            reached = CUDA_ERROR_INVALID_HANDLE;
    } catch (...) {
        context().give_events(false, &event, 1);
        throw;
    }
    const uint64_t deadline = host::now() + kReach;
    for (unsigned spins = 0; reached == CUDA_ERROR_NOT_READY && host::now() < deadline; ++spins) {
        host::step(spins);
        reached = table().cuEventQuery(event);
    }
    const bool seen = reached == CUDA_SUCCESS && table().cuEventSynchronize(event) == CUDA_SUCCESS;
    context().give_events(false, &event, 1);
    return seen;
}

bool Stream::may_be_at_work() noexcept {
    try {
        DriverScope scope(context());
        return capturing() ? load() != 0 : table().cuStreamQuery(native()) == CUDA_ERROR_NOT_READY;
    } catch (...) {
        return false;   // the context is lost
    }
}

// The calling thread is blocked, and looks for the completion itself: all the time in the first millisecond, then at
// intervals. True: the wait is over, or the deadline has passed. False: the scanner has to look, because another thread
// already looks all the time, this thread can't look, or the mark is held.
template <class Waiter>
bool Stream::look_for(Waiter& waiter, uint64_t deadline) noexcept {
    Scanner& scanner = StreamServices::of(context()).scanner();
    const uint64_t since = host::now();
    {
        const Scanner::Spinning spinning(scanner);
        if (!spinning.granted()) return false;
        const DriverTry scope(context());
        if (!scope.entered()) return false;
        for (uint64_t now = since; pace::rest_of_blocked(now - since, true) == 0; now = host::now()) {
            if (waiter.done() || now >= deadline) return true;
            if (!marks_.any()) return false;   // the mark is held
            scanner.look(*this);
            host::step();
        }
    }
    for (uint64_t now = host::now(); !waiter.done() && now < deadline; now = host::now()) {
        if (waiter.wait(std::min(deadline, now + pace::rest_of_blocked(now - since, true)))) break;
        const DriverTry scope(context());
        if (!scope.entered()) return false;
        scanner.look(*this);
    }
    return true;
}

gpo_status Stream::wait(uint64_t deadline) {
    if (deadline != 0 && Runtime::in_callback_of(this))
        gpo::fail(GPO_WOULD_DEADLOCK, "a host call on ", describe(), " can't wait for the stream, which waits for it");
    issue_withheld();
    // A failed stream may still run earlier work: the wait includes this work.
    const bool runs_out = failed() && !context().lost();
    if (runs_out && deadline == 0 && running()) return GPO_TIMEOUT;
    const gpo_status now = runs_out && deadline != 0 ? GPO_NOT_READY : query();
    if (now == GPO_SUCCESS || deadline == 0) return now == GPO_SUCCESS ? now : GPO_TIMEOUT;
    const uint64_t behind = submission().accepted(), drops = held_.drops();
    Ref<CompletionHandler> target;
    if (!newest_waiter(behind, deadline, target)) return GPO_TIMEOUT;
    if (!target) {
        target = make<Waiter>();
        if (!mark_until(target, deadline)) return GPO_TIMEOUT;
    }
    auto& waiter = static_cast<Waiter&>(*target);
    if (runtime().latency_mode()) waiter.spin();
    const bool looked = look_for(waiter, deadline);
    if (!(looked ? waiter.done() : waiter.wait(deadline))) {
        keep_waiter(std::move(target), behind, drops);
        return GPO_TIMEOUT;
    }
    if (waiter.error()) throw Failure(waiter.error());
    if (residence_) residence_->release_done(behind);
    return GPO_SUCCESS;
}

// The waiter of the previous wait, if this wait timed out and no operation was put on or dropped since. Repeated waits
// then leave a single mark. False if the submit lock isn't free by the deadline.
bool Stream::newest_waiter(uint64_t behind, uint64_t deadline, Ref<CompletionHandler>& found) noexcept {
    if (given_out()) return true;   // the program's own work on the stream isn't known
    const Submission::LockUntil lock(submission(), deadline);
    if (!lock.held()) return false;
    const bool same = waiter_ && waiter_behind_ == behind && waiter_drops_ == held_.drops();
    if (same && !static_cast<Waiter&>(*waiter_).done()) found = waiter_;
    return true;
}

void Stream::keep_waiter(Ref<CompletionHandler> waiter, uint64_t behind, uint64_t drops) noexcept {
    if (blocking()) return;   // the program's work on the legacy stream isn't known, either
    const Submission::LockUntil lock(submission(), 0);
    if (!lock.held()) return;
    waiter_.swap(waiter);
    waiter_behind_ = behind;
    waiter_drops_ = drops;   // from before the wait: a drop since then may include the waiter
}

gpo_stream_info Stream::info() {
    gpo_stream_info out{};
    out.flags = (blocking() ? GPO_STREAM_BLOCKING : 0) | (learner_ ? GPO_STREAM_LEARNS : 0) |
                (residence_ ? GPO_STREAM_RESIDENT : 0);
    out.priority = priority();
    out.wrapped = wrapped();
    out.accepted = submission().accepted();
    out.completed = marks_.completed();
    out.held = held_.users();
    out.device = device_;
    if (!learner_) return out;
    out.replayed = learner_->replayed();
    out.learned = learner_->learned();
    return out;
}

bool Stream::drain(uint64_t deadline) noexcept {
    try {
        if (context().lost()) return true;
        {
            DriverScope scope(context());
            if (capturing()) return true;  // nothing that is captured runs
        }
        return wait(deadline) == GPO_SUCCESS;
    } catch (...) {
        return true;  // the stream has failed: nothing runs any more
    }
}

bool Stream::claim_unused() noexcept {
    return only() && StreamServices::of(context()).claim_unused(*this);
}

uint64_t Stream::load() noexcept {
    const uint64_t done = marks_.completed(), accepted = submission().accepted();
    return accepted > done ? accepted - done : 0;
}

void Stream::add_counters(gpo_statistics& statistics) const noexcept {
    submission().add_to(statistics);
    if (legacy()) statistics.legacy_stream_uses += submission().accepted();
}

bool Stream::claim_if_idle() noexcept {
    if (claimed_.exchange(true, std::memory_order_acq_rel)) return false;
    if (!held_.any() && !marks_.any() && !failed()) return true;
    claimed_.store(false, std::memory_order_release);
    return false;
}

// --- failure ---

void Stream::fail(const ErrorPtr& error) noexcept {
    if (set_failed(error)) held_.drop_later();
}

void Stream::fail_work(const ErrorPtr& error) noexcept {
    note_sticky_error(error);
    watched().work_failed.store(true, std::memory_order_release);
    fail(error);
}

// On a lost device every stream has failed, each with an error about its own work.
void Stream::fail_lost() {
    if (!failed()) fail(failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr));
    throw Failure(failure());
}

}  // namespace gpo
