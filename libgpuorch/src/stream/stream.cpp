#include "stream/stream.h"

#include <algorithm>

#include "completion/queue.h"
#include "completion/scanner.h"
#include "stream/event.h"
#include "trace/nvtx.h"
#include "trace/recorder.h"

namespace gpo {

// A mark as an operation, so that it keeps its place on a held stream.
class MarkOperation final : public Operation {
public:
    explicit MarkOperation(Mark mark) noexcept : Operation("notify", nullptr, false), mark_(std::move(mark)) {}
    bool plain() const noexcept override { return true; }

    bool ready(Stream& stream) override {
        follows_ = stream.ends_with_mark();   // not any more when it is issued
        return true;
    }

    void issue(Stream& stream) override {
        stream.prepare_mark();
        mark_.timing = mark_.since() != nullptr;
        if (stream.gone()) return stream.push_mark(std::move(mark_));
        if (follows_ && !mark_.timing) {
            stream.push_mark(std::move(mark_));
            stream.set_ends_with_mark();
            return;
        }
        stream.record_mark(mark_);
        const bool recorded = !mark_.deferred;
        stream.push_mark(std::move(mark_));
        if (recorded) stream.set_ends_with_mark();
    }
    std::unique_ptr<Operation> keep() const override { return std::make_unique<MarkOperation>(mark_); }
    void kept_behind(uint64_t operation) noexcept override { mark_.operation = operation; }
    void drop(Stream& stream, const ErrorPtr& error) noexcept override {
        mark_.set_error(error);
        stream.keep_behind_work(mark_);
        stream.push_mark(std::move(mark_));  // after the marks before it, whose work goes on
    }
    /// The mark of an operation that was refused.
    Mark take() noexcept { return std::move(mark_); }

private:
    Mark mark_;
    bool follows_ = false;   // a mark that nothing lies behind: it is reached with that one
};

namespace {

constexpr uint32_t kDefaultMaxHeld = 65536;

// What gpo_stream_wait waits on.
class Waiter final : public Reached {
public:
    void reached(const Outcome& outcome) noexcept override {
        error_ = outcome.error;
        done_.store(1, std::memory_order_release);
        host::wake_all(done_);
    }
    bool awaited() const noexcept override { return true; }
    bool wait(uint64_t deadline, bool spin) noexcept {
        for (unsigned spins = 0; spin && spins < 20'000 && !done_.load(std::memory_order_acquire); ++spins) host::step(spins % 16);
        while (!done_.load(std::memory_order_acquire))
            if (!host::wait(done_, 0, deadline, host::Sleep::light)) return done_.load(std::memory_order_acquire) != 0;
        return true;
    }
    bool done() const noexcept { return done_.load(std::memory_order_acquire) != 0; }
    const ErrorPtr& error() const noexcept { return error_; }

private:
    std::atomic<uint32_t> done_{0};
    ErrorPtr error_;
};

}  // namespace

namespace {
constinit thread_local unsigned t_releasing = 0;
}  // namespace

Releasing::Releasing(Runtime& runtime) noexcept : entry_(runtime.releases()) { ++t_releasing; }
Releasing::~Releasing() { --t_releasing; }
bool Releasing::here() noexcept { return t_releasing != 0; }

void Releasing::wait_for_others(Runtime& runtime) noexcept {
    if (!here()) runtime.releases().wait_for_all();
}

Stream::Stream(Ref<Context> context, gpo_device_t device, const gpo_stream_options& options)
    : Object(context->runtime(), Type::stream, options.label), context_(std::move(context)), exposed_(false), wrapped_(false),
      blocking_(options.flags & GPO_STREAM_BLOCKING), device_(device),
      max_held_(options.max_held ? options.max_held : kDefaultMaxHeld) {
    DriverScope scope(*context_);
    context_->check(table().cuStreamCreateWithPriority(&native_, blocking_ ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING,
                                                       options.priority),
                    "cuStreamCreateWithPriority");
    table().cuStreamGetPriority(native_, &priority_);
    try {
        if (runtime().attribute()) attribution_ = context_->take_attribution();
    } catch (...) {
        table().cuStreamDestroy(native_);
        throw;
    }
}

Stream::Stream(Ref<Context> context, gpo_device_t device, CUstream foreign, const gpo_stream_options& options)
    : Object(context->runtime(), Type::stream, options.label), context_(std::move(context)), native_(foreign),
      exposed_(true), wrapped_(true), blocking_(false), device_(device), max_held_(0) {
    // It is another stream in each thread, and the driver doesn't tell which: marks from our threads would say nothing of it.
    if (foreign == CU_STREAM_PER_THREAD)
        gpo::fail(GPO_NOT_SUPPORTED, "the per-thread default stream (2) is another one in each thread, and the library's threads "
                  "can't follow it: use a stream of gpo_stream_create, or wrap one that the program has created");
    DriverScope scope(*context_);
    // The legacy default stream belongs to whatever context is current; every other one must be of ours.
    if (foreign != nullptr && foreign != CU_STREAM_LEGACY) {
        CUcontext owner = nullptr;
        context_->check(table().cuStreamGetCtx(foreign, &owner), "cuStreamGetCtx");
        if (owner != context_->native()) fail_argument("the stream is of another context than the device");
    }
    table().cuStreamGetPriority(native_, &priority_);
    if (runtime().attribute()) attribution_ = context_->take_attribution();
}

void Stream::fail_argument(const char* message) {
    gpo::fail(GPO_INVALID_ARGUMENT, message);
}

void Stream::announce() {
    context_->add_stream(*this);
    announced_.store(true, std::memory_order_release);
    if (!wrapped_) trace::nvtx::name_stream(native_, label());
}

Stream::~Stream() {
    if (announced_.load(std::memory_order_acquire)) context_->remove_stream(*this);
    context_->give_attribution(attribution_);
    marks_.take_events([this](CUevent event) { context_->give_events(false, &event, 1); });
    for (bool timing : {false, true})
        if (!events_[timing].empty()) context_->give_events(timing, events_[timing].data(), events_[timing].size());
    if (wrapped_ || !native_) return;
    DriverTry scope(*context_);
    if (scope.entered()) table().cuStreamDestroy(native_);  // the driver lets pending work finish
}

void Stream::let_go() noexcept {
    const Ref<Context> context = context_;
    orphaned_.store(true, std::memory_order_release);
    leave_mark();
    if (held()) context->look_for_cycles();
    const bool scanned = scanned_.load(std::memory_order_acquire);
    release();
    if (scanned) context->scanner().wake();
}

// Without its handle it would go at once, and what runs on it would be nobody's: memory that it uses would be freed, and neither a
// wait for the device nor a shutdown would know of it. With a mark it stays until then.
void Stream::leave_mark() noexcept {
    try {
        // Nothing of ours runs; what the host has put on a stream of its own is its business, unless somebody waits for that.
        const bool ours = load() != 0 || (wrapped_ ? owed_marks_.load(std::memory_order_acquire) != 0 : given_out());
        if (ours && (held() || running())) mark(nullptr);
    } catch (const std::exception& error) {
        if (is_passing(error)) {
            const Submitting submitting(*this);
            unmarked_ = true;
            try_again();
            return;
        }
    }
    if (wrapped_) go();
}

void Stream::go() noexcept {
    const Submitting submitting(*this);
    const auto staying = stay();
    gone_.store(true, std::memory_order_release);
}

bool Stream::drain_marks(uint64_t deadline) noexcept {
    for (unsigned spins = 0; marks_.size() != 0; ++spins) {
        if (host::now() >= deadline) return !may_run();
        if (spins < 64)
            host::step(spins);
        else
            host::sleep_until(std::min(deadline, host::now() + 100'000));
    }
    return true;
}

// Of a stream with a mark on it: false if the scanner just hasn't looked.
bool Stream::may_run() noexcept {
    if (wrapped_) return true;   // the host may have destroyed it, once it had been reached
    try {
        DriverScope scope(*context_);
        return capturing() || table().cuStreamQuery(native_) == CUDA_ERROR_NOT_READY;
    } catch (...) {
        return false;
    }
}

CUstream Stream::expose() noexcept {
    exposed_.store(true, std::memory_order_release);
    return native_;
}

// --- putting operations on ---

void Stream::fail_shut_down() { gpo::fail(GPO_SHUT_DOWN, "the runtime is shutting down"); }

// Issues it or keeps it, under one hold of the lock: where put() has found that it can't be issued, and for the library's own marks.
gpo_status Stream::hold(Operation& operation, bool internal) {
    refuse_lost();
    host::crossing();   // a shutdown may begin, and cancel what is held
    bool kept = false;
    Kept spent;
    std::optional<Releasing> releasing;
    {
        DriverScope scope(*context_, operation.plain() ? Calls::plain : Calls::any);
        const Submitting submitting(*this);
        if (failed_.load(std::memory_order_relaxed)) [[unlikely]] throw Failure(failure());
        if (held_.empty() && operation.ready(*this)) {
            hand_over(operation, accepted_.load(std::memory_order_relaxed) + 1);
            note(operation);
        } else {
            // A shutdown that has begun cancels what is held on one stream after the other, each under this lock: what is kept
            // behind that would be let go by nobody.
            if (!internal) refuse_shut_down();
            // It would run when it is released, and be missing in what is recorded.
            if (!internal) refuse_capture(operation.kind());
            if (wrapped_ && !internal)
                gpo::fail(GPO_NOT_SUPPORTED, describe(), " is wrapped, and can't be held back on the host, as `",
                          operation.kind(), "` would have to be");
            if (!internal && users_held_.load(std::memory_order_relaxed) >= max_held_) return GPO_WOULD_BLOCK;
            // Whatever is held may have to be dropped, all at once and without failing: a mark each.
            prepare_mark(held_.size() + 1);
            Kept fresh(1);
            fresh.front().internal = internal;
            fresh.front().operation = operation.keep();   // the last that may fail: some have effects once they are kept
            held_.splice(held_.end(), fresh);
            held_.back().operation->kept_behind(accepted_.load(std::memory_order_relaxed));
            held_count_.store(held_.size(), std::memory_order_release);   // before it is counted as accepted: see query()
            note(operation);
            held_.back().operation->set_number(accepted_.load(std::memory_order_relaxed));
            note_again(*held_.back().operation, false);
            if (trace::on() && held_since_ == 0) [[unlikely]] held_since_ = host::now();
            if (!internal) {
                bump(users_held_, 1);
                ++operations_kept_;
                runtime().counters.holds.fetch_add(1, std::memory_order_relaxed);
            }
            // What it waits for may have come while it was being kept.
            RelaxedCapture relaxed(table());
            issue_ready(spent);
            if (!spent.empty()) releasing.emplace(runtime());
            kept = true;
        }
    }
    if (kept)
        conclude(spent);
    else if (operation.consequences())
        operation.afterwards(nullptr);
    return GPO_SUCCESS;
}

// Work without a mark that fails is found out about by the next that is put on. What is held isn't put on, and who waits for that
// would wait for ever: so the scanner is given the end of what it is held behind.
void Stream::watch_work() {
    const Operation& next = *held_.front().operation;
    const uint64_t before = next.number() - (next.numbered() ? 1 : 0);
    if (marked_.load(std::memory_order_relaxed) || completed_.load(std::memory_order_relaxed) >= before || gone()) return;
    prepare_mark(held_.size() + 1);   // those that are held keep what is reserved for them
    Mark mark;
    mark.operation = before;
    record_mark(mark);
    marked_.store(!mark.deferred, std::memory_order_relaxed);
    push_mark(std::move(mark));
}

void Stream::hand_over_watched(Operation& operation, uint64_t number) {
    if (trace::on() && operation.numbered()) {
        trace::Recorder* recorder = runtime().recorder();
        if (recorder && recorder->running()) return hand_over_traced(operation, number, *recorder);
    }
    const Attributing attributing(*this, operation, number);
    operation.issue(*this);
    attributing.issued();
}

Stream::Attributing::Attributing(Stream& stream, const Operation& operation, uint64_t number)
    : stream_(stream), number_(static_cast<cuuint32_t>(number)),
      on_(stream.attribution_.words && operation.numbered() && !operation.may_join_capture() && !stream.capturing()) {
    if (on_) write(stream_.attribution_.address);
}

void Stream::Attributing::write_end() const noexcept {
    try {
        if (stream_.capturing()) return;   // the host has begun a capture meanwhile
    } catch (...) {
        return;
    }
    write(stream_.attribution_.address + 4);
}

void Stream::Attributing::write(CUdeviceptr address) const noexcept {
    stream_.table().cuStreamWriteValue32(stream_.native_, address, number_, 0);
}

void Stream::issue_ready(Kept& spent) noexcept {
    while (!held_.empty()) {
        try {
            if (capturing()) {   // it was accepted to run, before the capture began: the graph is not to have it
                try_again();
                break;
            }
            Operation& operation = *held_.front().operation;
            if (!operation.ready(*this)) {
                watch_work();
                break;
            }
            hand_over(operation, operation.number());
            note_again(operation, true);
            count_spent(held_.front());
            spent.splice(spent.end(), held_, held_.begin());
        } catch (const NeverPossible& failure) {
            drop_held(failure.error(), spent);
        } catch (const std::exception& error) {
            const auto* failure = dynamic_cast<const Failure*>(&error);
            // It was accepted, and nobody is there to be told: it waits for memory, or until a capture that has just begun ends.
            if (is_passing(error) || (failure && failure->error()->status == GPO_CAPTURE_REFUSED)) {
                try_again();
                break;
            }
            drop_held(context_->lost() ? failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr)
                      : failure        ? failure->error()
                                       : make_error(GPO_INTERNAL, describe(), ": ", error.what()),
                      spent);
        }
    }
    held_count_.store(held_.size(), std::memory_order_release);
    if (held_.empty()) trace_held();
}

void Stream::try_again() noexcept {
    if (std::exchange(trying_again_, true)) return;
    retain();
    runtime().errands().post(again_, host::now() + Errands::kTryAgain);
}

void Stream::Again::run() noexcept {
    bool unmarked = false;
    {
        const Submitting submitting(stream_);
        stream_.trying_again_ = false;
        unmarked = std::exchange(stream_.unmarked_, false);
    }
    stream_.flush();
    if (unmarked) stream_.leave_mark();
    stream_.release();
}

void Stream::Failing::run() noexcept {
    stream_.flush();
    stream_.release();
}

// Streams may let each other go as often as they hold operations: one after the other, not each inside the one before, which
// would take a thread's whole stack. The list takes no memory; who is on one already is flushed by that thread.
void Stream::flush() noexcept {
    struct Turn {
        Stream* first = nullptr;
        Stream** end = &first;
    };
    static thread_local Turn* t_turn = nullptr;
    std::optional<Releasing> releasing;
    if (!Releasing::here()) releasing.emplace(runtime());
    if (to_flush_.exchange(true, std::memory_order_acq_rel)) return;
    retain();
    next_to_flush_ = nullptr;
    if (t_turn) {
        *t_turn->end = this;
        t_turn->end = &next_to_flush_;
        return;
    }
    Turn turn;
    turn.first = this;
    turn.end = &next_to_flush_;
    t_turn = &turn;
    while (Stream* stream = turn.first) {
        turn.first = stream->next_to_flush_;
        if (!turn.first) turn.end = &turn.first;
        stream->to_flush_.exchange(false, std::memory_order_acq_rel);   // sees what those did who found it on the list
        stream->flush_now();
        stream->release();
    }
    t_turn = nullptr;
}

void Stream::flush_now() noexcept {
    Kept spent;
    {
        DriverTry scope(*context_);
        const Submitting submitting(*this);
        if (held_.empty()) return;
        if (failed_.load(std::memory_order_relaxed))
            drop_held(failure(), spent);
        else if (scope.entered())
            issue_ready(spent);
        else if (context_->lost())
            drop_held(failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr), spent);
        else
            try_again();   // the driver refuses, for now
    }
    conclude(spent);
    // Its handle may be gone for long, and what it waits for next held behind it.
    if (orphaned() && held()) context_->look_for_cycles();
}

Stream::HeldFor Stream::held_for() {
    const Submitting submitting(*this);
    if (held_.empty()) return {};
    const Operation& next = *held_.front().operation;
    return {next.number(), next.awaits()};
}

void Stream::conclude(Kept& spent) noexcept {
    for (; !spent.empty(); spent.pop_front()) spent.front().operation->afterwards(spent.front().dropped);
}

// Under the submit lock. The failure is sticky.
void Stream::drop_held(const ErrorPtr& error, Kept& spent) noexcept {
    note_sticky_error(error);
    failed_.store(true, std::memory_order_release);
    // What was to notify is counted when it does.
    const auto failures = std::count_if(held_.begin(), held_.end(), [](const Held& held) { return held.operation->numbered(); });
    runtime().counters.failures.fetch_add(static_cast<uint64_t>(failures), std::memory_order_relaxed);
    drop_all(error, spent);
}

// Under the submit lock.
uint64_t Stream::drop_all(const ErrorPtr& error, Kept& spent) noexcept {
    const uint64_t count = users_held_.load(std::memory_order_relaxed);
    waiter_ = nullptr;   // what comes next is not to be told of this
    bump(drops_, 1);
    while (!held_.empty()) {
        Held& held = held_.front();
        held.dropped = error;
        count_spent(held);
        held.operation->drop(*this, error);
        spent.splice(spent.end(), held_, held_.begin());
    }
    held_count_.store(0, std::memory_order_release);
    trace_held();
    return count;
}

void Stream::fail(const ErrorPtr& error) noexcept {
    note_sticky_error(error);
    if (failed_.exchange(true, std::memory_order_acq_rel)) return;
    retain();
    runtime().errands().post(failing_);
}

ErrorPtr Stream::failure() const noexcept {
    return failed_.load(std::memory_order_acquire) ? error() : nullptr;
}

uint64_t Stream::cancel_held() noexcept {
    const ErrorPtr cancelled = make_error(GPO_CANCELLED, "what was held on ", describe(), " was cancelled");
    const Releasing releasing(runtime());
    Kept spent;
    uint64_t count = 0;
    {
        const Submitting submitting(*this);
        count = drop_all(cancelled, spent);
    }
    conclude(spent);
    return count;
}

void Stream::fail_held(const ErrorPtr& error) noexcept {
    const Releasing releasing(runtime());
    Kept spent;
    {
        const Submitting submitting(*this);
        if (held_.empty()) return;
        note_sticky_error(error);
        failed_.store(true, std::memory_order_release);
        drop_all(error, spent);
    }
    conclude(spent);
}

// --- marks ---

void Stream::prepare_mark(size_t count) {
    marks_.reserve(count);
    if (!scanned_.load(std::memory_order_acquire)) [[unlikely]] {
        context_->scanner().add(*this);
        scanned_.store(true, std::memory_order_release);
    }
}

CUevent Stream::mark_event(bool timing) {
    if (timing) return take_spare_event(true);
    CUevent& event = marks_.next_event();
    if (!event) [[unlikely]] event = take_spare_event(false);
    return event;
}

CUevent Stream::take_spare_event(bool timing) {
    auto& spare = events_[timing];
    if (spare.empty()) take_spare_events(timing);
    CUevent event = spare.back();
    spare.pop_back();
    return event;
}

void Stream::take_spare_events(bool timing) {
    RelaxedCapture relaxed(table());
    context_->take_events(timing, timing && !trace::on() ? 4 : 32, events_[timing]);
}

void Stream::record_mark(Mark& mark) {
    const CUevent event = mark_event(mark.timing);
    try {
        mark.deferred = capturing();
        if (!mark.deferred) {
            context_->check(table().cuEventRecord(event, native_), "cuEventRecord");
            mark.deferred = capturing();
        }
    } catch (...) {
        mark.deferred = false;
        return_event(mark.timing, event);
        throw;
    }
    mark.event = event;
}

void Stream::return_event(bool timing, CUevent event) noexcept {
    if (timing) events_[true].push_back(event);  // there is room: it was taken out of here
}

void Stream::push_mark(Mark&& mark) noexcept {
    if (mark.operation == Mark::kNewest) mark.operation = accepted_.load(std::memory_order_relaxed);  // else it was kept
    if (!mark.submitted) mark.submitted = host::ticks();
    if (mark.deferred) set_deferring();
    if (mark.source != 0) {
        count_notify();
        if (trace::on()) [[unlikely]] trace_notify(mark);
    }
    marks_.next() = std::move(mark);
    marks_.push();
    context_->scanner().wake(&marks_);
}

void Stream::mark(Ref<Reached> target) {
    Mark mark;
    mark.target = std::move(target);
    mark.submitted = host::ticks();
    MarkOperation operation(std::move(mark));
    try {
        hold(operation, true);
    } catch (const Failure& failed) {
        // A stream that has failed or whose device is lost still answers, in order.
        if (!context_->lost() && !failure()) throw;
        push_failed(operation.take(), failed.error());
    }
}

gpo_status Stream::notify(CompletionQueue& queue, uint64_t user_data, Event* since, uint32_t source) {
    if (since) {
        if (&since->runtime() != &runtime())
            gpo::fail(GPO_INVALID_HANDLE, "since: ", since->describe(), " is of another runtime than ", describe());
        if (&since->context() != &*context_ || !since->timing())
            gpo::fail(GPO_INVALID_ARGUMENT, "since: ", since->describe(), " has no timing, or is of another device");
        if (exposed_.load(std::memory_order_acquire)) {
            DriverScope scope(*context_);
            refuse_capture("timed notify");
        }
    }
    const uint64_t recording = since ? since->newest_recording("timed notify") : 0;
    const uint64_t ticks = host::ticks();   // behind the locked instructions it would have to wait for them
    if (!queue.reserve()) return GPO_WOULD_BLOCK;
    try {
        refuse_shut_down();
        try {
            if (!since && notify_now(queue, user_data, source, ticks)) [[likely]] return GPO_SUCCESS;
        } catch (const Failure&) {
            // The device is lost: the operation finds that out too, and what it means for this stream.
        }
        Mark mark;
        mark.queue = &queue;
        mark.user_data = user_data;
        mark.source = source;
        if (since) mark.set_since(Ref<Event>(since), recording);
        const gpo_status status = put_notify(std::move(mark));
        if (status != GPO_SUCCESS) queue.unreserve();
        return status;
    } catch (...) {
        queue.unreserve();
        throw;
    }
}

gpo_status Stream::then(Ref<Reached> target, uint32_t source) {
    refuse_shut_down();
    Mark mark;
    mark.target = std::move(target);
    mark.source = source;
    return put_notify(std::move(mark));
}

gpo_status Stream::put_notify(Mark mark) {
    mark.submitted = host::ticks();
    MarkOperation operation(std::move(mark));
    if (exposed_.load(std::memory_order_acquire)) {
        DriverScope scope(*context_);
        refuse_capture("notify");
    }
    try {
        return put(operation);
    } catch (const Failure& failed) {
        // A stream that has failed or whose device is lost still answers, in order.
        if (!context_->lost() && !failure()) throw;
        push_failed(operation.take(), failed.error());
        return GPO_SUCCESS;
    }
}

// The common case without the detour through an operation: nothing is held, nothing has failed, nobody captures. False if
// it isn't that case, or if the driver refuses: then the operation finds out.
bool Stream::notify_now(CompletionQueue& queue, uint64_t user_data, uint32_t source, uint64_t ticks) {
    if (exposed_.load(std::memory_order_acquire) || context_->lost()) return false;
    // With nothing put on since the mark before, this one is reached when that one is, and the driver isn't needed. What
    // others put on a blocking stream's way, through the legacy stream, we don't see.
    const bool follows = marked_.load(std::memory_order_relaxed) && !blocking_;
    marks_.fetch_ahead();   // what the scanner has read, while the driver records
    // An event is recorded whatever context is current; where a driver minds, the operation makes this one current.
    if (!follows && !context_->alive()) return false;
    const Submitting submitting(*this);
    marks_.fetch_next();
    if (!held_.empty() || failed_.load(std::memory_order_relaxed)) return false;
    if (follows && !marked_.load(std::memory_order_relaxed)) return false;  // something was put on meanwhile
    prepare_mark();
    CUevent event = nullptr;
    if (!follows) {
        event = marks_.next_event();
        if (!event) [[unlikely]] {
            if (events_[false].empty()) {
                DriverScope scope(*context_, Calls::plain);
                take_spare_events(false);
            }
            event = mark_event(false);
        }
        if (table().cuEventRecord(event, native_) != CUDA_SUCCESS) [[unlikely]] return false;
        marked_.store(true, std::memory_order_relaxed);
    }
    Mark& mark = marks_.next();
    mark.event = event;
    mark.timing = mark.deferred = mark.special = false;
    mark.queue = &queue;
    mark.user_data = user_data;
    mark.source = source;
    mark.operation = accepted_.load(std::memory_order_relaxed);
    mark.submitted = ticks;
    count_notify();
    if (trace::on()) [[unlikely]] trace_notify(mark);
    marks_.push();
    context_->scanner().wake(&marks_);
    return true;
}

bool Stream::become_owned(uint32_t thread) noexcept {
    uint32_t nobody = handle::kNoThread;
    return thread != handle::kNoThread && owner_.compare_exchange_strong(nobody, thread, std::memory_order_relaxed);
}

// A mark that comes back with an error, behind those that are on their way or held and what still runs.
void Stream::push_failed(Mark mark, ErrorPtr error) {
    // Where the device is lost, and the driver has been the first to say so, that says nothing yet of this stream's work.
    if (ErrorPtr known = failure()) error = std::move(known);
    else if (context_->lost()) error = failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr);
    const Releasing releasing(runtime());
    Kept spent;
    {
        const Submitting submitting(*this);
        prepare_mark(held_.size() + 1);   // those that are held keep what is reserved for them
        if (!held_.empty()) drop_held(error, spent);
        mark.set_error(error);
        keep_behind_work(mark);
        push_mark(std::move(mark));
    }
    conclude(spent);
}

void Stream::keep_behind_work(Mark& mark) noexcept {
    mark.timing = false;
    if (gone()) return;
    const DriverTry scope(*context_);
    if (!scope.entered()) return;   // nothing runs any more
    try {
        record_mark(mark);
    } catch (const std::exception&) {
        // Without an event it follows the marks before it.
    }
}

bool Stream::capturing() {
    if (!exposed_.load(std::memory_order_acquire) || gone()) return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = table().cuStreamIsCapturing(native_, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
    context_->check(result, "cuStreamIsCapturing");
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

uint64_t Stream::capture() {
    if (!exposed_.load(std::memory_order_acquire)) return 0;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    context_->check(table().cuStreamIsCapturing(native_, &status), "cuStreamIsCapturing");
    if (status == CU_STREAM_CAPTURE_STATUS_NONE) return 0;
    // One that was invalidated has no number, and is left by ending it all the same.
    cuuint64_t number = 0;
    const CUresult result = table().cuStreamGetCaptureInfo(native_, &status, &number, nullptr, nullptr, nullptr);
    return result == CUDA_SUCCESS && number != 0 ? number : UINT64_MAX;
}

void Stream::refuse_capture(const char* what) {
    if (capturing()) gpo::fail(GPO_CAPTURE_REFUSED, what, ": ", describe(), " is being captured");
}

// --- asking and waiting ---

// On a lost device every stream has failed, each with what is known of its own work.
void Stream::fail_lost() {
    if (!failed_.load(std::memory_order_acquire)) fail(failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr));
    throw Failure(failure());
}

gpo_status Stream::query() {
    refuse_lost();
    if (failed_.load(std::memory_order_acquire)) throw Failure(failure());
    const uint64_t accepted = accepted_.load(std::memory_order_acquire);   // if one of these is held, that is seen next
    if (held()) return GPO_NOT_READY;
    DriverScope scope(*context_);
    CUresult result;
    {
        const auto staying = stay();
        refuse_capture("query");
        result = !gone() ? table().cuStreamQuery(native_) : marks_.size() == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    }
    if (result == CUDA_ERROR_NOT_READY) return GPO_NOT_READY;
    if (result != CUDA_SUCCESS) {
        const ErrorPtr error = failure_of_work(result, "cuStreamQuery");
        if (context_->lost()) fail(error);
        throw Failure(error);
    }
    seen_done(accepted);
    return GPO_SUCCESS;
}

bool Stream::running() {
    DriverScope scope(*context_);
    const auto staying = stay();
    if (gone()) return marks_.size() != 0;
    return !capturing() && table().cuStreamQuery(native_) == CUDA_ERROR_NOT_READY;
}

gpo_status Stream::wait(uint64_t deadline) {
    if (deadline != 0 && Runtime::in_callback_of(this))
        gpo::fail(GPO_WOULD_DEADLOCK, "a host call on ", describe(), " can't wait for the stream, which waits for it");
    // Of a stream that has failed what was put on it before may still run: that is waited for, too.
    const bool runs_out = failed_.load(std::memory_order_acquire) && !context_->lost();
    if (runs_out && deadline == 0 && running()) return GPO_TIMEOUT;
    const gpo_status now = runs_out && deadline != 0 ? GPO_NOT_READY : query();
    if (now == GPO_SUCCESS || deadline == 0) return now == GPO_SUCCESS ? now : GPO_TIMEOUT;
    const uint64_t behind = accepted_.load(std::memory_order_acquire), drops = drops_.load(std::memory_order_acquire);
    Ref<Reached> target = newest_waiter(behind);
    if (!target) {
        target = make<Waiter>();
        mark(target);
    }
    auto& waiter = static_cast<Waiter&>(*target);
    if (!waiter.wait(deadline, runtime().latency_mode())) {
        keep_waiter(std::move(target), behind, drops);
        return GPO_TIMEOUT;
    }
    if (waiter.error()) throw Failure(waiter.error());
    return GPO_SUCCESS;
}

// Of the wait before, if that timed out and nothing was put on since: somebody who asks again and again leaves one mark.
Ref<Reached> Stream::newest_waiter(uint64_t behind) noexcept {
    if (given_out()) return nullptr;   // what the host has put on we don't know
    const Submitting submitting(*this);
    return waiter_ && waiter_behind_ == behind && !static_cast<Waiter&>(*waiter_).done() ? waiter_ : nullptr;
}

void Stream::keep_waiter(Ref<Reached> waiter, uint64_t behind, uint64_t drops) noexcept {
    if (blocking_) return;   // nor what is on the legacy stream
    const Submitting submitting(*this);
    if (drops != drops_.load(std::memory_order_relaxed)) return;   // it may be among what was dropped meanwhile
    waiter_.swap(waiter);
    waiter_behind_ = behind;
}

gpo_stream_info Stream::info() {
    gpo_stream_info out{};
    out.flags = blocking_ ? GPO_STREAM_BLOCKING : 0;
    out.priority = priority_;
    out.wrapped = wrapped_;
    out.accepted = accepted_.load(std::memory_order_relaxed);
    out.completed = completed_.load(std::memory_order_relaxed);
    out.held = operations_held();
    out.device = device_;
    return out;
}

void Stream::stop() noexcept { cancel_held(); }

bool Stream::drain(uint64_t deadline) noexcept {
    try {
        if (context_->lost()) return true;
        {
            DriverScope scope(*context_);
            if (capturing()) return true;  // nothing of it runs
        }
        return wait(deadline) == GPO_SUCCESS;
    } catch (...) {
        return true;  // it has failed: nothing runs any more
    }
}

uint64_t Stream::load() const noexcept {
    const uint64_t completed = completed_.load(std::memory_order_relaxed), accepted = accepted_.load(std::memory_order_relaxed);
    return accepted > completed ? accepted - completed : 0;
}

void Stream::add_counters(gpo_statistics& statistics) const noexcept {
    statistics.launches += launches_.load(std::memory_order_relaxed);
    statistics.copies += copies_.load(std::memory_order_relaxed);
    statistics.copied_bytes += copied_bytes_.load(std::memory_order_relaxed);
    statistics.fills += fills_.load(std::memory_order_relaxed);
    statistics.notifies += notifies_.load(std::memory_order_relaxed);
    if (blocking_ || native_ == nullptr || native_ == CU_STREAM_LEGACY)
        statistics.legacy_stream_uses += accepted_.load(std::memory_order_relaxed);
}

// --- failures ---

bool Stream::claim_if_idle() noexcept {
    if (claimed_.exchange(true, std::memory_order_acq_rel)) return false;
    if (!held() && marks_.size() == 0 && !failed_.load(std::memory_order_acquire)) return true;
    claimed_.store(false, std::memory_order_release);
    return false;
}

// Of one that is held, and then issued: among the last ones it is known by what the driver has got by then.
void Stream::note_again(const Operation& operation, bool issued) noexcept {
    const uint64_t number = operation.number();
    if (!context_->software() || !operation.numbered() || number + kRecent <= accepted_.load(std::memory_order_relaxed)) return;
    recent_[number % kRecent].driver_number.store(issued ? context_->driver().submitted(native_) : kNotIssued,
                                                  std::memory_order_relaxed);
}

// 0 if it isn't among the last ones.
uint64_t Stream::operation_of(uint64_t driver_number) const noexcept {
    const uint64_t last = accepted_.load(std::memory_order_relaxed);
    uint64_t found = 0;
    for (uint64_t number = last; number > 0 && number + kRecent > last; --number) {
        const uint64_t behind = recent_[number % kRecent].driver_number.load(std::memory_order_relaxed);
        if (behind == kNotIssued) continue;
        if (behind < driver_number) break;
        found = number;
    }
    return found;
}

// "kernel `blur` (operation 7)".
std::string Stream::name_of(uint64_t number) const {
    const Recent& recent = recent_[number % kRecent];
    const char* kind = recent.kind.load(std::memory_order_relaxed);
    const char* label = recent.label.load(std::memory_order_relaxed);
    return text(kind ? kind : "work", label && *label ? text(" `", label, "`") : std::string(), " (operation ", number, ")");
}

std::string Stream::suspects() const {
    uint64_t first = completed_.load(std::memory_order_relaxed) + 1, last = accepted_.load(std::memory_order_relaxed);
    if (attribution_.words) {
        // Begun and not ended, at most one: the stream runs one operation at a time.
        const uint32_t begun = attribution_.words[0], ended = attribution_.words[1];
        if (begun == ended) return {};
        first = last = begun;
    }
    if (last >= kRecent && first < last - kRecent + 1) first = last - kRecent + 1;
    std::string out;
    unsigned listed = 0;
    for (uint64_t number = first; number <= last; ++number) {
        if (++listed > 8) return out + text(" and ", last - number + 1, " more");
        out += text(out.empty() ? "" : ", ", name_of(number));
    }
    return out;
}

ErrorPtr Stream::failure_of_work(CUresult result, const char* function) noexcept {
    try {
        const ErrorPtr first = context_->lost() ? context_->loss() : context_->error_of(result, function ? function : "");
        auto error = std::make_shared<Error>(*first);
        error->object = describe();
        if (error->status < 30) error->status = GPO_DRIVER_ERROR;  // the work has failed, whatever call told so
        const auto fault = context_->driver().fault();
        if (fault) {
            // The driver knows: on this stream it is this operation, on others none is suspect.
            error->message += text("; ", fault->text.empty() ? fault->kernel : fault->text);
            if (fault->stream != native_) return error;
            error->operation = operation_of(fault->number);
            if (error->operation) error->message += text("; it was ", name_of(error->operation), " on ", describe());
            return error;
        }
        const std::string listed = suspects();
        if (!listed.empty()) error->message += text("; suspects on ", describe(), ": ", listed);
        return error;
    } catch (const std::bad_alloc&) {
        if (ErrorPtr loss = context_->loss()) return loss;
        const gpo_status status = status_of(result);
        return bare_error(status < 30 ? GPO_DRIVER_ERROR : status);
    }
}

}  // namespace gpo
