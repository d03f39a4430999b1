#include "executor/executor.h"

#include <algorithm>

#include "executor/host_call.h"
#include "executor/posted.h"

namespace gpo {

namespace {

constexpr uint64_t kIdleSpinning = 1'000'000;               // ns after which a spinner without work stops
constexpr unsigned kTurnsToYield = 16, kSpinsOfYield = 64;  // how often a spinner yields, and for how many spins
constexpr size_t kLine = 64;

/// `at` may dangle.
void fetch(const void* at, size_t bytes) noexcept {
    for (size_t line = 0; line < bytes; line += kLine) __builtin_prefetch(static_cast<const char*>(at) + line, 1);
}

}  // namespace

Task::Task(Executor& executor) : awaited_(false), executor_(&executor), held_(&executor) {}
Task::Task(Executor& executor, Awaited) : awaited_(true), executor_(&executor), held_(&executor) {}
Task::Task() noexcept : awaited_(false), executor_(nullptr) {}
Task::~Task() = default;

void Task::on_completed(const Outcome& outcome) noexcept { executor_->due(*this, outcome); }

void Task::fetch_ahead() const noexcept {
    __builtin_prefetch(&state_, 1);
    __builtin_prefetch(&outcome_, 1);
    __builtin_prefetch(strand_ ? static_cast<const void*>(strand_) : &own_, 1);
    executor_->fetch_ahead();
}

Executor::Executor(Runtime& runtime, uint32_t threads, uint32_t capacity, bool spins, const char* label)
    : Object(runtime, Type::executor, label), thread_count_(threads), capacity_(capacity), spins_(spins),
      cancelled_(make_error(GPO_CANCELLED, "the executor was destroyed")),
      withdrawn_(make_error(GPO_CANCELLED, "the callback was cancelled before its time")) {}

Executor::~Executor() = default;

void Executor::start() {
    if (thread_count_ == 0) return;
    std::unique_ptr<Crew> crew;
    // The starting thread counts as inside too: none of the new threads is the last to leave before all are started.
    inside_.store(1, std::memory_order_relaxed);
    // From here on a shutdown waits for this executor. Only then does it end the errands' thread, which joins the new
    // threads.
    runtime().lingering(1);
    try {
        if (runtime().shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
        runtime().errands().start();
        crew = std::make_unique<Crew>();
        crew->threads.reserve(thread_count_);
        for (uint32_t i = 0; i < thread_count_; ++i) {
            inside_.fetch_add(1, std::memory_order_relaxed);
            try {
                crew->threads.emplace_back(text("gpo-exec-", i).c_str(),
                                           [self = Ref<Executor>(this)] { self->thread(); });
            } catch (...) {
                inside_.fetch_sub(1, std::memory_order_relaxed);
                throw;
            }
        }
    } catch (...) {
        closing_.store(true, std::memory_order_seq_cst);
        wake_all();
        crew.reset();  // joins the started threads
        runtime().lingering(-1);
        throw;
    }
    crew_ = std::move(crew);
    inside_.fetch_sub(1, std::memory_order_acq_rel);
}

void Executor::thread() noexcept {
    serve(Until::ended, host::kForever, UINT64_MAX);
    if (inside_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Runtime& runtime = this->runtime();
    runtime.errands().post(*crew_.release());
    runtime.lingering(-1);
}

// --- accepted tasks ---

Strand* Executor::strand_of(const void* order) {
    if (!order) return nullptr;
    if (strands_.size() >= sweep_at_) {
        std::erase_if(strands_, [](const auto& known) { return known.second.tasks == 0; });
        sweep_at_ = std::max<size_t>(64, 2 * strands_.size());
    }
    return &strands_[order];
}

void Executor::refuse_ended(bool awaited) const {
    if (stopped_.load(std::memory_order_seq_cst)) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
    // To a user, a destroyed executor is a stale handle. For a library thread that waits, the task was cancelled.
    if (closing_.load(std::memory_order_seq_cst))
        fail(awaited ? GPO_CANCELLED : GPO_STALE_HANDLE, describe(), " was destroyed");
}

// Counts a task as pending, or refuses it. The count comes before the look at the executor's end: who ends the executor
// sees the count, or its end is seen here.
gpo_status Executor::admit(bool awaited) {
    uint32_t pending = pending_.load(std::memory_order_relaxed);
    for (;;) {
        if (pending >= capacity_ && !awaited) {
            refuse_ended(awaited);
            count_refused();
            return GPO_WOULD_BLOCK;
        }
        if (pending_.compare_exchange_weak(pending, pending + 1, std::memory_order_seq_cst)) break;
    }
    host::crossing();  // the executor may end
    try {
        refuse_ended(awaited);
    } catch (...) {
        leave();
        throw;
    }
    return GPO_SUCCESS;
}

// Takes back the count of a task that was never accepted. Also under lock_.
void Executor::leave() noexcept {
    if (pending_.fetch_sub(1, std::memory_order_seq_cst) == 1) wake_all();
}

gpo_status Executor::accept(Task& task, const void* order) {
    bool wake;
    {
        std::lock_guard lock(lock_);
        if (const gpo_status refused = admit(task.awaited_)) return refused;
        try {
            task.strand_ = strand_of(order);
        } catch (...) {
            leave();
            throw;
        }
        if (task.strand_) ++task.strand_->tasks;
        task.state_ = Task::State::waiting;
        waiting_.add(task);
        task.retain();
        ++accepted_;
        wake = spins_ && wake_for(true);  // a thread should be spinning when the task becomes due
    }
    if (wake) host::wake_one(signal_);
    return GPO_SUCCESS;
}

// --- posted callbacks ---

gpo_status Executor::post(gpo_completion_fn callback, void* user) {
    Ref<Posted> task = FreePosted::of_this_thread().take();
    if (const gpo_status refused = admit(false)) {
        FreePosted::of_this_thread().give(std::move(task));
        return refused;
    }
    host::crossing();  // the executor may be destroyed
    task->executor_ = this;
    task->callback_ = callback;
    task->user_ = user;
    task->cancelled_ = false;
    task->state_ = Task::State::due;
    task->outcome_.submitted_ns = task->outcome_.completed_ns = host::now();
    Turn& turn = task->own_;
    turn.first = turn.last = task.leak();
    turn.scheduled = true;
    Turn* newest = inbox_.load(std::memory_order_relaxed);
    do {
        turn.after = newest;
    } while (!inbox_.compare_exchange_weak(newest, &turn, std::memory_order_seq_cst, std::memory_order_relaxed));
    host::crossing();
    // A thread that goes to sleep is counted before it looks into the inbox.
    if (sleepers_.load(std::memory_order_seq_cst) == 0 || spinning_.load(std::memory_order_seq_cst) != 0)
        return GPO_SUCCESS;
    bool wake;
    {
        std::lock_guard lock(lock_);
        wake = wake_for_jobs();
    }
    if (wake) host::wake_one(signal_);
    return GPO_SUCCESS;
}

gpo_status Executor::post_at(uint64_t time_ns, gpo_completion_fn callback, void* user, uint64_t* ticket) {
    Ref<Posted> task = FreePosted::of_this_thread().take();
    task->executor_ = this;
    task->callback_ = callback;
    task->user_ = user;
    task->state_ = Task::State::waiting;
    task->outcome_.submitted_ns = host::now();
    bool wake;
    {
        std::lock_guard lock(lock_);
        if (const gpo_status refused = admit(false)) return refused;
        try {
            *ticket = timetable_.add(*task, time_ns);
        } catch (...) {
            leave();
            throw;
        }
        waiting_.add(*task.leak());
        ++accepted_;
        look_at_times();
        wake = wake_for_jobs();
    }
    if (wake) host::wake_one(signal_);
    return GPO_SUCCESS;
}

// In the order of the posts.
void Executor::empty_inbox() noexcept {
    if (!inbox_.load(std::memory_order_seq_cst)) return;
    Turn* const newest = inbox_.exchange(nullptr, std::memory_order_acquire);
    Turn* oldest = nullptr;
    uint32_t count = 0;
    for (Turn* turn = newest; turn; ++count) {
        Turn* const older = turn->after;
        turn->after = oldest;
        oldest = std::exchange(turn, older);
    }
    (ready_last_ ? ready_last_->after : ready_first_) = oldest;
    ready_last_ = newest;
    accepted_ += count;
    ready_.store(ready_.load(std::memory_order_relaxed) + count, std::memory_order_release);
}

bool Executor::cancel(uint64_t ticket) noexcept {
    const uint64_t now = host::now();
    bool wake, cancelled;
    {
        std::lock_guard lock(lock_);
        ring(now);
        Task* const task = timetable_.take(ticket);
        cancelled = task != nullptr;
        if (task) {
            look_at_times();
            become_due(*task, cancelled_outcome(*task, withdrawn_), true);
        }
        wake = wake_for_jobs();
    }
    if (wake) host::wake_one(signal_);
    return cancelled;
}

Outcome Executor::cancelled_outcome(const Task& task, const ErrorPtr& why) const noexcept {
    Outcome outcome;
    outcome.error = why;
    outcome.completed_ns = host::now();
    outcome.submitted_ns = task.outcome_.submitted_ns ? task.outcome_.submitted_ns : outcome.completed_ns;
    return outcome;
}

void Executor::look_at_times() noexcept {
    next_time_.store(timetable_.next(), std::memory_order_relaxed);
    timed_.store(static_cast<uint32_t>(timetable_.size()), std::memory_order_relaxed);
}

void Executor::ring(uint64_t now) noexcept {
    if (timetable_.next() > now) return;
    while (Task* const task = timetable_.take_due(now)) {
        Outcome outcome;
        outcome.submitted_ns = task->outcome_.submitted_ns;
        outcome.completed_ns = now;
        become_due(*task, outcome, false);
    }
    look_at_times();
}

void Executor::cancel_timed() noexcept {
    while (Task* const task = timetable_.take_any()) become_due(*task, cancelled_outcome(*task, cancelled_), true);
    look_at_times();
}

// --- the lists ---

void Executor::List::add(Task& task) noexcept {
    task.before_ = last;
    (last ? last->after_ : first) = &task;
    last = &task;
}

void Executor::List::remove(Task& task) noexcept {
    (task.before_ ? task.before_->after_ : first) = task.after_;
    (task.after_ ? task.after_->before_ : last) = task.before_;
    task.before_ = task.after_ = nullptr;
}

bool Executor::withdraw(Task& task) noexcept {
    bool last;
    {
        std::lock_guard lock(lock_);
        if (task.state_ != Task::State::waiting) return false;
        waiting_.remove(task);
        task.state_ = Task::State::called;
        if (task.strand_) --task.strand_->tasks;
        --accepted_;
        last = pending_.fetch_sub(1, std::memory_order_seq_cst) == 1;
    }
    if (last) wake_all();
    task.release();
    return true;
}

void Executor::due(Task& task, const Outcome& outcome) noexcept {
    bool wake, too_late;
    {
        std::lock_guard lock(lock_);
        if (task.state_ != Task::State::waiting) return;
        become_due(task, outcome, false);
        too_late = task.awaited_ && stopped_.load(std::memory_order_relaxed) && thread_count_ == 0;
        wake = wake_for_jobs();
    }
    if (wake) host::wake_one(signal_);
    if (too_late) abandon_awaited();  // stop() was called before the task became due
}

void Executor::become_due(Task& task, const Outcome& outcome, bool cancelled) noexcept {
    waiting_.remove(task);
    task.state_ = Task::State::due;
    task.outcome_ = outcome;
    task.cancelled_ = cancelled;
    Turn& turn = task.strand_ ? *task.strand_ : task.own_;
    (turn.last ? turn.last->after_ : turn.first) = &task;
    turn.last = &task;
    if (task.awaited_) due_awaited_.add(task);  // it has a turn of its own
    due_last_.store(&task, std::memory_order_relaxed);
    if (turn.scheduled) return;
    turn.scheduled = true;
    make_ready(turn);
}

void Executor::make_ready(Turn& turn) noexcept {
    empty_inbox();  // what was posted before comes before
    turn.after = nullptr;
    (ready_last_ ? ready_last_->after : ready_first_) = &turn;
    ready_last_ = &turn;
    ready_.store(ready_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Executor::take_out(const Turn& turn) noexcept {
    Turn* before = nullptr;
    for (Turn* at = ready_first_; at != &turn; at = at->after) before = at;
    (before ? before->after : ready_first_) = turn.after;
    if (ready_last_ == &turn) ready_last_ = before;
    ready_.store(ready_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

Task* Executor::take() noexcept {
    empty_inbox();
    if (!ready_first_) return nullptr;
    Turn& turn = *ready_first_;
    take_out(turn);
    Task& task = *turn.first;
    if (task.awaited_) due_awaited_.remove(task);
    turn.first = task.after_;
    if (!turn.first) turn.last = nullptr;
    task.state_ = Task::State::called;
    return &task;
}

// True if no task is pending any more.
bool Executor::finish(Task& task) noexcept {
    ++called_;
    cancelled_count_ += task.cancelled_;
    Turn& turn = task.strand_ ? *task.strand_ : task.own_;
    if (task.strand_) --task.strand_->tasks;
    if (turn.first)
        make_ready(turn);  // behind the others that are ready
    else
        turn.scheduled = false;
    return pending_.fetch_sub(1, std::memory_order_seq_cst) == 1;
}

// --- running ---

// True if the caller must wake a sleeper once it has released the lock. A thread that spins looks by itself.
bool Executor::wake_for(bool something) noexcept {
    if (!something || spinning_.load(std::memory_order_seq_cst) != 0) return false;
    if (sleepers_.load(std::memory_order_relaxed) <= woken_) return false;
    ++woken_;
    signal_.fetch_add(1, std::memory_order_seq_cst);
    return true;
}

// Jobs are the turns that are ready, and keeping the time.
bool Executor::wake_for_jobs() noexcept {
    empty_inbox();  // a thread that stops spinning may leave a turn there
    const uint32_t jobs = ready_.load(std::memory_order_relaxed) + (timetable_.next() < kept_ ? 1 : 0);
    return wake_for(jobs > woken_);
}

// Ends a task and takes the next turn, under one lock. NULL: no turn was ready, or none was wanted.
Task* Executor::next(Task* finished, bool take_one) noexcept {
    Task* task = nullptr;
    bool wake, last = false;
    const bool timed = take_one && next_time_.load(std::memory_order_relaxed) != host::kForever;
    const uint64_t now = timed ? host::now() : 0;
    {
        std::lock_guard lock(lock_);
        if (finished) last = finish(*finished);
        if (take_one) {
            ring(now);
            task = take();
        }
        wake = wake_for_jobs();
    }
    if (wake) host::wake_one(signal_);
    if (last && (watchers_.load(std::memory_order_seq_cst) != 0 || closing_.load(std::memory_order_seq_cst)))
        wake_all();
    if (finished && finished->held_)
        finished->release();
    else if (finished)
        FreePosted::of_this_thread().give(Ref<Posted>::adopt(static_cast<Posted*>(finished)));
    return task;
}

uint64_t Executor::call_ready(uint64_t most, uint64_t deadline) noexcept {
    constexpr uint64_t kReport = 64;
    // This memory is probably in the cache of another core, whose thread made the task due.
    fetch_ahead();
    fetch(due_last_.load(std::memory_order_relaxed), sizeof(Task) + kLine);  // with fields of the derived class
    uint64_t served = 0;
    auto& total = runtime().counters.callbacks;
    for (Task* task = next(nullptr, true); task;) {
        call(*task, task->outcome_, task->cancelled_);
        if (++served % kReport == 0) total.fetch_add(kReport, std::memory_order_relaxed);
        task = next(task, served < most && (deadline == host::kForever || host::now() < deadline));
    }
    total.fetch_add(served % kReport, std::memory_order_relaxed);
    return served;
}

void Executor::call(Task& task, const Outcome& outcome, bool cancelled) noexcept {
    const char* what = "something that is no std::exception";
    std::string thrown;
    const Runtime::CallbackScope scope(runtime(), this);  // around the log line too: the task is pending until then
    try {
        task.call(outcome, cancelled);
        return;
    } catch (const std::exception& exception) {
        try {
            thrown = exception.what();
            what = thrown.c_str();
        } catch (...) {
            what = "an exception that there is no memory to name";
        }
    } catch (...) {
    }
    {
        std::lock_guard lock(lock_);
        ++threw_;
    }
    runtime().log(GPO_LOG_ERROR, "a callback on ", describe(), " threw: ", what);
}

bool Executor::done(Until until) const noexcept {
    const bool closing = closing_.load(std::memory_order_seq_cst);   // read first: nothing is accepted after closing
    host::crossing();
    return done(until, closing);
}

bool Executor::done(Until until, bool closing) const noexcept {
    const bool none = pending_.load(std::memory_order_seq_cst) == 0;
    switch (until) {
        case Until::none_waiting: return none || closing;
        case Until::ended: return none && closing;
        case Until::none_ready: return true;
    }
    return true;
}

bool Executor::anything_to_do() const noexcept {
    if (ready_.load(std::memory_order_acquire) != 0 || inbox_.load(std::memory_order_acquire)) return true;
    const uint64_t next = next_time_.load(std::memory_order_relaxed);
    return next != host::kForever && host::now() >= next;
}

// Tasks that will become due at any time, not at a time that is known.
bool Executor::working() const noexcept {
    return pending_.load(std::memory_order_relaxed) != timed_.load(std::memory_order_relaxed);
}

bool Executor::take_spinning() noexcept {
    uint32_t nobody = 0;
    return spins_ && spinning_.compare_exchange_strong(nobody, 1, std::memory_order_seq_cst);
}

uint64_t Executor::serve(Until until, uint64_t deadline, uint64_t most) noexcept {
    uint64_t served = 0, idle_since = 0;
    bool spinning = false;
    const auto stop_spinning = [&] {
        if (std::exchange(spinning, false)) spinning_.store(0, std::memory_order_seq_cst);
    };
    for (unsigned spins = 0; served < most;) {
        if (anything_to_do()) {
            stop_spinning();
            const uint64_t called = call_ready(most - served, deadline);
            served += called;
            if (called != 0)
                idle_since = 0;
            else
                host::step(0);  // another thread took it first
            if (deadline != host::kForever && host::now() >= deadline) break;
            continue;
        }
        if (done(until)) break;
        if (!spinning && take_spinning()) spinning = true;
        if (!spinning) {
            sleep(until, deadline, false);
        } else if (++spins % 64 != 0 && idle_since != 0) {
            host::step(spins % kTurnsToYield == 0 ? kSpinsOfYield : 0);
            continue;
        } else {
            // Now and then: is spinning still worthwhile?
            const uint64_t now = host::now();
            if (now >= deadline) break;
            if (working() || idle_since == 0) idle_since = now;
            if (now - idle_since < kIdleSpinning) {
                host::step(spins % kTurnsToYield == 0 ? kSpinsOfYield : 0);
                continue;
            }
            stop_spinning();
            sleep(until, deadline, true);
            idle_since = 0;
        }
        if (deadline != host::kForever && host::now() >= deadline && !anything_to_do()) break;
    }
    stop_spinning();
    if (until != Until::none_ready) next(nullptr, false);  // may have been woken for what it leaves: wakes another
    return served;
}

uint64_t Executor::serve_as_caller(Until until, uint64_t deadline, uint64_t most) noexcept {
    serving_callers_.fetch_add(1, std::memory_order_seq_cst);
    uint64_t served = serve(until, deadline, most);
    serving_callers_.fetch_sub(1, std::memory_order_seq_cst);
    // A thread that destroyed the executor meanwhile may have left the remaining tasks to this thread.
    if (thread_count_ == 0 && closing_.load(std::memory_order_seq_cst))
        served += serve(Until::none_ready, host::kForever, UINT64_MAX);
    return served;
}

// `unless_working`: not if a thread should be spinning.
void Executor::sleep(Until until, uint64_t deadline, bool unless_working) noexcept {
    uint64_t kept = host::kForever;
    uint32_t seen;
    {
        std::lock_guard lock(lock_);
        seen = signal_.load(std::memory_order_seq_cst);
        if (done(until, closing_.load(std::memory_order_seq_cst)) || (unless_working && working())) return;
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        if (ready_.load(std::memory_order_relaxed) != 0 || inbox_.load(std::memory_order_seq_cst)) {
            sleepers_.fetch_sub(1, std::memory_order_relaxed);
            return;
        }
        if (timetable_.next() < kept_) kept_ = kept = timetable_.next();
    }
    host::wait(signal_, seen, std::min(deadline, kept));
    std::lock_guard lock(lock_);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    if (woken_ != 0) --woken_;
    if (kept != host::kForever && kept_ == kept) kept_ = host::kForever;
}

void Executor::wake_all() noexcept {
    signal_.fetch_add(1, std::memory_order_seq_cst);
    host::wake_all(signal_);
    none_waiting_.fetch_add(1, std::memory_order_seq_cst);
    host::wake_all(none_waiting_);
}

gpo_status Executor::run(uint64_t deadline, uint64_t* count) {
    if (Runtime::in_callback_of(this))
        fail(GPO_WOULD_DEADLOCK, "a callback on ", describe(), " can't wait for all callbacks on it");
    runners_.fetch_add(1, std::memory_order_seq_cst);
    watchers_.fetch_add(1, std::memory_order_seq_cst);
    const uint64_t served = serve_as_caller(Until::none_waiting, deadline, UINT64_MAX);
    watchers_.fetch_sub(1, std::memory_order_seq_cst);
    runners_.fetch_sub(1, std::memory_order_seq_cst);
    host::crossing();  // another task may be accepted
    if (count) *count = served;
    if (closing_.load(std::memory_order_seq_cst)) fail(GPO_CANCELLED, describe(), " was destroyed");
    // Before the deadline, serve() ends only when no task is pending.
    return pending_.load(std::memory_order_seq_cst) == 0 || host::now() < deadline ? GPO_SUCCESS : GPO_TIMEOUT;
}

uint64_t Executor::poll() {
    // At most as many as are pending now: callbacks that add tasks could otherwise keep this call busy without end.
    return serve_as_caller(Until::none_ready, host::kForever, pending_.load(std::memory_order_seq_cst));
}

// --- host calls ---

void Executor::add_call(HostCall& call, uint64_t& number) {
    std::lock_guard lock(lock_);
    number = last_call_ + 1;
    calls_.emplace(number, Ref<HostCall>(&call));
    ++last_call_;
}

void Executor::remove_call(uint64_t number) noexcept { static_cast<void>(take_call(number)); }

Ref<HostCall> Executor::take_call(uint64_t number) noexcept {
    Ref<HostCall> call;
    std::lock_guard lock(lock_);
    if (const auto found = calls_.find(number); found != calls_.end()) {
        call = std::move(found->second);
        calls_.erase(found);
    }
    return call;
}

gpo_executor_statistics Executor::statistics() noexcept {
    std::lock_guard lock(lock_);
    empty_inbox();
    gpo_executor_statistics out{};
    out.threads = thread_count_;
    out.accepted = accepted_;
    out.called = called_;
    out.cancelled = cancelled_count_;
    out.threw = threw_;
    out.refused = refused_.load(std::memory_order_relaxed);
    out.pending = pending_.load(std::memory_order_seq_cst);
    return out;
}

// --- ending ---

void Executor::cancel_waiting() noexcept {
    std::lock_guard lock(lock_);
    cancel_timed();
    while (waiting_.first) become_due(*waiting_.first, cancelled_outcome(*waiting_.first, cancelled_), true);
}

void Executor::cancel_calls() noexcept {
    for (;;) {
        Ref<HostCall> call;
        {
            std::lock_guard lock(lock_);
            if (calls_.empty()) return;
            call = std::move(calls_.begin()->second);
            calls_.erase(calls_.begin());
        }
        call->finish(cancelled_);
    }
}

// Other threads may be inside run() or poll(), which return now. Host calls are cancelled, because streams would
// otherwise wait for calls that may never finish.
void Executor::destroyed() noexcept {
    {
        std::lock_guard lock(lock_);
        closing_.store(true, std::memory_order_seq_cst);
    }
    cancel_waiting();
    cancel_calls();
    wake_all();
    // Don't leave this to close(), which runs on the last thread that uses the executor, perhaps a library thread.
    if (thread_count_ == 0 && serving_callers_.load(std::memory_order_seq_cst) == 0)
        serve(Until::none_ready, host::kForever, UINT64_MAX);
}

void Executor::close() noexcept {
    const host::NoCancel no_cancel;  // callbacks may run in a call that doesn't turn cancellation off
    destroyed();
    if (thread_count_ != 0)
        wake_all();
    else
        serve(Until::ended, host::kForever, UINT64_MAX);
}

void Executor::stop() noexcept {
    bool wake;
    {
        std::lock_guard lock(lock_);
        stopped_.store(true, std::memory_order_seq_cst);
        cancel_timed();
        wake = wake_for_jobs();
    }
    if (wake) host::wake_one(signal_);
    cancel_calls();
    if (thread_count_ == 0) abandon_awaited();
}

// Prevents a deadlock: the only thread that could run an awaited task may itself wait for the library thread that waits
// for the task.
void Executor::abandon_awaited() noexcept {
    Task* abandoned = nullptr;
    {
        std::lock_guard lock(lock_);
        while (Task* task = due_awaited_.first) {
            due_awaited_.remove(*task);
            take_out(task->own_);
            task->state_ = Task::State::called;
            task->after_ = std::exchange(abandoned, task);
            --accepted_;
            pending_.fetch_sub(1, std::memory_order_seq_cst);
        }
    }
    if (!abandoned) return;
    wake_all();
    while (abandoned) {
        Task* task = std::exchange(abandoned, abandoned->after_);
        task->abandon();
        task->release();
    }
}

bool Executor::drain(uint64_t deadline) noexcept {
    watchers_.fetch_add(1, std::memory_order_seq_cst);
    bool none = false;
    while (!(none = pending_.load(std::memory_order_seq_cst) == 0) && host::now() < deadline) {
        const uint32_t seen = none_waiting_.load(std::memory_order_seq_cst);
        if (thread_count_ == 0 && runners_.load(std::memory_order_seq_cst) == 0) {
            // No other thread runs the executor. A thread that calls run() meanwhile takes part.
            serve_as_caller(Until::none_waiting, std::min(deadline, host::now() + 1'000'000), UINT64_MAX);
        } else if (pending_.load(std::memory_order_seq_cst) != 0) {
            // Not on signal_: a thread woken there must take the ready task.
            host::wait(none_waiting_, seen, std::min(deadline, host::now() + 1'000'000));
        }
    }
    watchers_.fetch_sub(1, std::memory_order_seq_cst);
    host::crossing();  // a task that is refused is counted for a moment: the count isn't read again
    return none;
}

}  // namespace gpo
