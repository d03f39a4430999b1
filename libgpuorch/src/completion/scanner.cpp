#include "completion/scanner.h"

#include <sys/prctl.h>

#include <algorithm>
#include <array>

#include "completion/pace.h"
#include "completion/completion_queue.h"
#include "core/deferred.h"
#include "device/context.h"
#include "host/fence.h"
#include "trace/recorder/recorder.h"

namespace gpo {

namespace {

using pace::kLeastSleep;
using pace::Move;

constexpr unsigned kYield = 64;  // spins that host::step takes for a yield
constexpr uint64_t kNotifyEach = 64;  // entries, at most, before a sleeping waiter is notified
constexpr unsigned kRefusals = 3;
constexpr uint64_t kYouth = 4'000;   // ns that even an empty kernel takes until it is seen done

void trace_completion(WatchedStream& stream, const Mark& mark, const Outcome& outcome) noexcept {
    trace::Recorder* recorder = trace::Recorder::of(stream.runtime());
    if (!recorder || !recorder->running()) return;
    trace::Record completion;
    completion.kind = trace::Kind::completion;
    completion.name = "completion";
    completion.status = outcome.error ? outcome.error->status : GPO_SUCCESS;
    completion.lane = stream.known_trace_lane(*recorder) & ~trace::Recorder::kUntimed;
    completion.number = mark.submitted;
    completion.bytes = mark.user_data;
    completion.begin = outcome.completed_ns;
    completion.end = host::now();
    trace::record(stream.runtime().tag(), completion);
}

}  // namespace

// Gives timed events back to the context, in batches.
class Scanner::Returns {
public:
    explicit Returns(Context& context) : context_(context) {}
    ~Returns() { flush(); }
    void add(CUevent event) noexcept {
        if (count_ == kBatch) flush();
        events_[count_++] = event;
    }

private:
    static constexpr size_t kBatch = 64;
    void flush() noexcept {
        if (count_) context_.give_events(true, events_.data(), count_);
        count_ = 0;
    }
    Context& context_;
    std::array<CUevent, kBatch> events_;
    size_t count_ = 0;
};

// A driver that notifies uses the host's cores.
Scanner::Scanner(Context& context) noexcept
    : context_(context), shared_(!context.runtime().latency_mode() && !context.driver().uses_host_cores),
      listener_(context.native()) {
    host::detail::look_at_ticks();
    first_ticks_ = host::ticks();
    first_now_ = host::now();
}

// Converts the ticks at which a mark was made into a time of host::now(). The error is at most the error of reading the
// clocks: both were first read before every mark was made, so the rate is taken over a longer time than the mark's age.
uint64_t Scanner::time_of(uint64_t ticks) const noexcept {
    if (ticks >= ticks_ || ticks_ <= first_ticks_) return now_;
    const double rate = static_cast<double>(now_ - first_now_) / static_cast<double>(ticks_ - first_ticks_);
    return now_ - static_cast<uint64_t>(static_cast<double>(ticks_ - ticks) * rate);
}

Scanner::~Scanner() {
    stop();
}

void Scanner::add(WatchedStream& stream) {
    std::lock_guard lock(lock_);
    std::list<Entry> arrival;
    arrival.push_back({Ref<WatchedStream>(&stream), stream.watched()});
    if (!thread_.joinable()) {
        stopping_.store(false);
        thread_ = host::Thread("gpo-scanner", [this] { run(); });
    }
    arrivals_.splice(arrivals_.end(), arrival);
    arrived_.store(true, std::memory_order_seq_cst);
}

void Scanner::wake(const MarkQueue* marks) noexcept {
    host::light_fence();  // between the push and the look; pairs with the heavy fences of begin_listening() and rest()
    if (!asleep_.load(std::memory_order_acquire)) [[likely]] return;
    // The scanner already listens or sleeps for the mark before, which is reached first.
    if (marks && marks->size() > 1) return;
    asleep_.store(false, std::memory_order_relaxed);  // one waker is enough
    listener_.signal.fetch_add(1, std::memory_order_seq_cst);
    host::wake_one(listener_.signal);
}

void Scanner::stop() noexcept {
    stopping_.store(true, std::memory_order_seq_cst);
    listener_.signal.fetch_add(1, std::memory_order_seq_cst);
    host::wake_one(listener_.signal);
    thread_.join();
}

void Scanner::run() noexcept {
    prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; by default a sleep of 10 us may take 50 us more
    const ServesDeferred serves;
    entered_ = false;
    refusals_ = 0;
    const bool latency = context_.runtime().latency_mode();
    const bool notifies = !latency && context_.driver().listen(listener_);
    for (pace::State state{.idle_since = host::now()};;) {
        const uint32_t seen = listener_.signal.load(std::memory_order_seq_cst);
        const bool listens = state.listening == pace::Listening::announced;
        if (listens) begin_listening();
        // Read before the turn looks at the streams: the turn sees every mark that was made before stop() was called.
        const bool stopping = stopping_.load(std::memory_order_seq_cst);
        take_arrivals();
        const pace::Turn turn = look_at_all(notifies, state.asks_all());
        if (!turn.pending && !turn.progress && stopping && !arrived_.load(std::memory_order_seq_cst)) {
            if (listens) stop_listening();
            break;
        }
        const pace::Decision next = pace::decide(latency, state, turn);
        state = next.state;
        if (next.move == Move::listen) host::wait(listener_.signal, seen);
        if (listens) stop_listening();
        if (next.move == Move::spin) host::step(next.yields ? kYield : 0);
        if (next.move == Move::sleep || next.move == Move::park) state = rest(next, seen, turn.now);
    }
    if (notifies) context_.driver().ignore(listener_);
    streams_.clear();
}

// A thread that adds a stream, pushes a mark or completes an event after the fence sees that the scanner listens. This
// turn sees everything that was added, pushed or completed before the fence.
void Scanner::begin_listening() noexcept {
    asleep_.store(true, std::memory_order_seq_cst);
    listener_.listening.store(true, std::memory_order_seq_cst);
    host::heavy_fence();
}

void Scanner::take_arrivals() noexcept {
    host::crossing();
    if (!arrived_.load(std::memory_order_relaxed) || !arrived_.exchange(false, std::memory_order_seq_cst)) return;
    std::lock_guard lock(lock_);
    streams_.splice(streams_.end(), arrivals_);
}

// The part of a turn that looks at all streams. Unused streams are destroyed.
pace::Turn Scanner::look_at_all(bool notifies, bool asks_all) noexcept {
    pace::Turn turn{.may_listen = notifies && entered_};
    enter();
    host::Lock mine(turn_lock_, std::defer_lock);
    if (shared_) {
        turn_wanted_.store(true, std::memory_order_relaxed);
        mine.lock();
        turn_wanted_.store(false, std::memory_order_relaxed);
    }
    asks_all_ = asks_all;
    read_clocks();
    turn.now = now_;
    for (auto at = streams_.begin(); at != streams_.end();) {
        WatchedStream& stream = *at->stream;
        Watched& watched = at->watched;
        // Read once per turn: each read takes the cache line away from the threads that push marks.
        const size_t marked = watched.marks.size();
        host::crossing();  // here another thread may push a mark and release the stream
        if (marked) {
            const size_t done =
                entered_ || refusals_ > kRefusals || context_.lost() ? scan(stream, watched, marked) : 0;
            turn.progress |= done != 0;
            if (done != marked) note_pending(watched, turn);
        } else if (stream.claim_unused()) {
            static_cast<void>(at->stream.leak());
            at = streams_.erase(at);
            stream.destroy_claimed();
            continue;
        }
        ++at;
    }
    if (mine.owns_lock()) mine.unlock();
    if (shared_) turn.blocked = blocked(turn.now);
    return turn;
}

// Adds a stream with pending marks to the turn's findings.
void Scanner::note_pending(Watched& watched, pace::Turn& turn) const noexcept {
    turn.pending = true;
    turn.may_listen &= !watched.deferring.load(std::memory_order_acquire);
    const uint64_t begin = begin_of_work(watched), age = turn.now > begin ? turn.now - begin : 0;
    const uint64_t rest = shared_ ? pace::rest_before_end(watched.history.expected(), age) : pace::kNever;
    if (rest == pace::kNever)
        turn.oldest = std::min(turn.oldest, begin_of_wait(watched));
    else
        turn.before_end = std::min(turn.before_end, rest);
}

// Sleeps or parks, and returns the state afterwards. `seen`: the signal before the turn, `now`: the turn's time.
pace::State Scanner::rest(const pace::Decision& next, uint32_t seen, uint64_t now) noexcept {
    const bool parks = next.move == Move::park;
    // The rest begins at the end of this turn. Until it is over, the threads that submit share neither the driver nor
    // cache lines with the scanner.
    const uint64_t until = parks ? host::kForever : host::now() + next.rest;
    if (next.worth_waking) asleep_.store(true, std::memory_order_seq_cst);
    // A thread pushes a mark, or releases a stream, and then reads asleep_. If it reads asleep_ before this fence, the
    // look below sees the mark or the release. If it reads asleep_ later, it wakes the scanner.
    if (parks) host::heavy_fence();
    if (parks && (arrived_.load(std::memory_order_seq_cst) || any_to_see())) {
        asleep_.store(false, std::memory_order_relaxed);
        return pace::after_parking(next.state, now);
    }
    const bool woken = host::wait(listener_.signal, seen, until, parks ? host::Sleep::light : host::Sleep::deep);
    if (next.worth_waking) asleep_.store(false, std::memory_order_seq_cst);
    if (parks) return pace::after_parking(next.state, host::now());
    return woken ? next.state : pace::after_sleep(next.state, host::now() - until);
}

// The scanner's thread comes first: it has other streams to look at.
void Scanner::look(WatchedStream& stream) noexcept {
    if (turn_wanted_.load(std::memory_order_relaxed) || !turn_lock_.try_lock()) return;
    host::Lock mine(turn_lock_, std::adopt_lock);
    const ServesDeferred serves;
    Watched& watched = stream.watched();
    const size_t marked = watched.marks.size();
    if (!marked) return;
    asks_all_ = true;
    read_clocks();
    scan(stream, watched, marked);
}

void Scanner::read_clocks() noexcept {
    ticks_ = host::ticks();
    now_ = host::now();
}

uint64_t Scanner::blocked(uint64_t now) const noexcept {
    const Runtime::Blocked& blocked = context_.runtime().blocked;
    if (blocked.threads.load(std::memory_order_relaxed) == 0) return pace::kNever;
    const uint64_t since = blocked.since.load(std::memory_order_relaxed);
    return now > since ? now - since : 0;
}

void Scanner::stop_listening() noexcept {
    listener_.listening.store(false, std::memory_order_relaxed);
    asleep_.store(false, std::memory_order_seq_cst);
}

// Makes the context current on the scanner's thread, in the relaxed capture mode, until the thread ends. If the driver
// refuses, the next turns try again. After more than kRefusals refusals, turns query the marks all the same, and the
// driver's answers fail the marks.
void Scanner::enter() noexcept {
    if (entered_) return;
    const driver::Table& table = context_.table();
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (const CUresult result = table.cuCtxSetCurrent(context_.native()); result != CUDA_SUCCESS) {
        if (is_sticky(result)) context_.error_of(result, "cuCtxSetCurrent");
        ++refusals_;
        return;
    }
    entered_ = table.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
    refusals_ = entered_ ? 0 : refusals_ + 1;
}

// Time from which the oldest mark's age counts. If a thread is blocked on the mark, the age counts from the completion
// of the mark before, if this is later: the work between the two marks hasn't begun earlier.
uint64_t Scanner::begin_of_wait(Watched& watched) const noexcept {
    const Mark& mark = watched.marks.at(0);
    const uint64_t submitted = time_of(mark.submitted);
    return mark.target && mark.target->awaited() ? std::max(submitted, watched.last_completed_ns) : submitted;
}

// The earliest time at which the work before the oldest mark can have begun.
uint64_t Scanner::begin_of_work(Watched& watched) const noexcept {
    return std::max(time_of(watched.marks.at(0).submitted), watched.last_completed_ns);
}

// True if a stream has marks, or only the scanner has a reference to it.
bool Scanner::any_to_see() const noexcept {
    return std::any_of(streams_.begin(), streams_.end(),
                       [](const Entry& entry) { return entry.watched.marks.size() != 0 || entry.stream->only(); });
}

// CUDA_ERROR_NOT_READY: the stream is being captured.
CUresult Scanner::ask_for_capture(WatchedStream& stream) noexcept {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = context_.table().cuStreamIsCapturing(stream.native(), &capture);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return CUDA_ERROR_NOT_READY;  // the legacy stream: see Stream::capturing
    return result == CUDA_SUCCESS && capture != CU_STREAM_CAPTURE_STATUS_NONE ? CUDA_ERROR_NOT_READY : result;
}

CUresult Scanner::ask(WatchedStream& stream, Watched& watched, Mark& mark) noexcept {
    const driver::Table& table = context_.table();
    if (mark.deferred) {
        const auto staying = stream.stay();
        if (stream.detached()) return CUDA_SUCCESS;
        if (const CUresult result = ask_for_capture(stream); result != CUDA_SUCCESS) return result;
        const CUresult recorded = table.cuEventRecord(mark.event, stream.native());
        if (recorded != CUDA_SUCCESS) return is_sticky(recorded) ? recorded : CUDA_ERROR_NOT_READY;
        // If the host has begun a capture meanwhile, the event is recorded again after the capture.
        if (const CUresult result = ask_for_capture(stream); result != CUDA_SUCCESS) return result;
        mark.deferred = false;
    }
    if (!mark.event) return CUDA_SUCCESS;
    const CUresult result = table.cuEventQuery(mark.event);
    if (result != CUDA_ERROR_CAPTURED_EVENT || !stream.given_out()) return result;
    mark.deferred = true;   // the host has begun and ended a capture, unseen by the scanner
    watched.deferring.store(true, std::memory_order_release);
    return CUDA_ERROR_NOT_READY;
}

// Returns the newest operation that is known to be done with the mark; 0: none.
uint64_t Scanner::deliver(WatchedStream& stream, Watched& watched, Mark mark, const ErrorPtr& failure, uint64_t now,
                          Returns& returns) noexcept {
    Outcome outcome;
    outcome.error = mark.error();
    if (!outcome.error) outcome.error = failure;
    outcome.operation = mark.operation;
    outcome.submitted_ns = std::min(time_of(mark.submitted), now);
    outcome.completed_ns = now;
    if (Beginning* since = mark.since(); since && !outcome.error && since->holds(mark.since_recording())) {
        float milliseconds = 0;
        if (context_.table().cuEventElapsedTime(&milliseconds, since->native(), mark.event) == CUDA_SUCCESS &&
            milliseconds >= 0)   // negative: `since` was recorded again meanwhile, and that recording is complete
            outcome.gpu_ns = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    }
    if (mark.event && mark.timing && !context_.lost()) returns.add(mark.event);
    if (mark.origin != 0)  // the program has asked for this notification
        stream.runtime().counters.count_completion(now - outcome.submitted_ns, outcome.status());
    // Before the delivery: a notified thread may query the stream, or end the trace.
    if (!outcome.error) watched.seen_done(outcome.operation);
    if (mark.origin != 0 && trace::on()) [[unlikely]] trace_completion(stream, mark, outcome);
    if (mark.queue) {
        put(*mark.queue, entry_of(outcome, mark.user_data, mark.origin), outcome.error);
    } else if (mark.target) {
        mark.target->on_completed(outcome);
    }
    return outcome.error ? 0 : outcome.operation;
}

// The first entry of a turn wakes sleeping waiters, which arrive while the other entries are put. A wake-up for each
// entry would cost more than all else.
void Scanner::put(CompletionQueue& queue, const gpo_completion& entry, const ErrorPtr& error) noexcept {
    const bool first = unnotified_queue_ != &queue;
    if (first) notify();
    queue.put(entry, error);
    unnotified_queue_ = &queue;
    if (++unnotified_ == kNotifyEach || first) {
        queue.notify(unnotified_);
        unnotified_ = 0;
    }
}

void Scanner::notify() noexcept {
    if (unnotified_) unnotified_queue_->notify(unnotified_);
    unnotified_ = 0;
    unnotified_queue_ = nullptr;
}

// Returns the number of reached marks, from the oldest. A query that is answered "not yet" costs 1.3 us, during which
// the driver blocks submitting threads. A query that is answered "done" costs a tenth of this. Therefore the oldest
// mark is queried first, and the second "not yet" ends the turn. In balanced mode, a mark that was made within the last
// few microseconds waits for the next turn, because a GPU can hardly have reached it. A query pulls the driver's cache
// lines to this core, which delays the next submission from another core. Therefore, if all marks were reached the last
// time, the newest mark is queried first, and a single query is enough. If this query came too early, the next turns
// leave marks alone for longer.
size_t Scanner::count_reached(WatchedStream& stream, Watched& watched, size_t size, CUresult& result) noexcept {
    MarkQueue& marks = watched.marks;
    if (watched.deferring.load(std::memory_order_acquire)) {
        // A mark whose event isn't recorded yet holds up all later marks.
        size_t done = 0;
        for (result = CUDA_SUCCESS; done < size; ++done)
            if ((result = ask(stream, watched, marks.at(done))) != CUDA_SUCCESS) break;
        return done;
    }
    const size_t old =
        asks_all_ || context_.runtime().latency_mode() ? size : count_old(marks, size, std::max(watched.youth, kYouth));
    size_t low = 0, high = old;   // marks before `low` are done; the mark at `high` isn't, or is too young
    // Queries the oldest mark, then the newest mark that is old enough, then the middle of the remaining marks.
    for (unsigned refusals = 0; low < high && refusals < 2;) {
        const bool newest = high == old && (low != 0 || (watched.keeps_up && refusals == 0));
        const size_t probe = newest ? old : low == 0 ? 1 : low + (high - low + 1) / 2;
        // A mark without an event is reached with the newest mark before it that has an event. If the latter has left
        // the queue, both are reached.
        const size_t back = marks.at(probe - 1).since_event;
        const size_t asked = probe > back ? probe - back : 0;
        result = asked > low ? ask(stream, watched, marks.at(asked - 1)) : CUDA_SUCCESS;
        if (result == CUDA_SUCCESS) {
            low = probe;
        } else if (result == CUDA_ERROR_NOT_READY) {
            high = asked - 1;
            ++refusals;
        } else {
            return low;
        }
    }
    if (old != 0 && !asks_all_) {
        const bool all = low == old;
        if (watched.keeps_up)
            watched.youth =
                all ? watched.youth - watched.youth / 8 : 2 * std::clamp(watched.youth, kYouth, kLeastSleep / 2);
        watched.keeps_up = all;
    }
    result = low == size ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    return low;
}

// Returns how many of the oldest `size` marks were made at least `youth` ns ago.
size_t Scanner::count_old(MarkQueue& marks, size_t size, uint64_t youth) const noexcept {
    const auto is_old = [&](size_t i) { return time_of(marks.at(i).submitted) + youth <= now_; };
    size_t old = 0;
    for (size_t unknown = size; old < unknown;) {
        const size_t probe = unknown == size ? size : old + (unknown - old + 1) / 2;
        if (is_old(probe - 1))
            old = probe;
        else
            unknown = probe - 1;
    }
    return old;
}

size_t Scanner::scan(WatchedStream& stream, Watched& watched, size_t size) noexcept {
    MarkQueue& marks = watched.marks;
    ErrorPtr failure;
    size_t done = size;
    const uint64_t begin = begin_of_work(watched);
    if (!context_.alive()) {
        failure = stream.failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr);
        stream.fail(failure);
    } else {
        CUresult result = CUDA_SUCCESS;
        done = count_reached(stream, watched, size, result);
        if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) {
            failure = stream.failure_of_work(result, "cuEventQuery");
            stream.fail(failure);
        }
    }
    if (done == 0 && !failure) {
        watched.last_pending_ns = now_;
        if (context_.runtime().latency_mode()) {
            const Mark& next = marks.at(0);
            if (next.queue)
                next.queue->fetch_ahead();
            else if (next.target)
                next.target->fetch_ahead();
        }
        return 0;
    }
    const uint64_t seen = host::now();
    watched.last_completed_ns = seen;
    if (!failure)
        watched.history.add({.pending = watched.last_pending_ns > begin ? watched.last_pending_ns - begin : 0,
                             .completed = seen > begin ? seen - begin : 0});
    Returns returns(context_);
    uint64_t newest = 0;
    // Reached marks are delivered with their own outcomes, then all other marks with the failure.
    const bool lost_before = failure && context_.lost() && done == size;
    const ErrorPtr reached = lost_before                                          ? failure
                             : watched.work_failed.load(std::memory_order_acquire) ? stream.error()
                                                                                   : nullptr;
    for (size_t i = 0; i < done; ++i)
        newest = deliver(stream, watched, marks.pop(size - i), reached, seen, returns);
    if (failure) {
        // The GPU may not have reached the marks that are popped here. A later mark without an event may depend on
        // them, and must fail too.
        watched.work_failed.store(true, std::memory_order_release);
        for (size_t i = done; i < size; ++i) deliver(stream, watched, marks.pop(size - i), failure, seen, returns);
    }
    notify();
    if (newest) watched.seen_done(newest);
    return failure ? size : done;
}

}  // namespace gpo
