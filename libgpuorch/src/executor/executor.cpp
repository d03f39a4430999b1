#include "executor/executor.h"

#include <algorithm>

#include "executor/host_call.h"

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

Task::Task(Executor& executor) : executor_(&executor), awaited_(false) {}
Task::Task(Executor& executor, Awaited) : executor_(&executor), awaited_(true) {}
Task::~Task() = default;

void Task::on_completed(const Outcome& outcome) noexcept { executor_->due(*this, outcome); }

void Task::fetch_ahead() const noexcept {
    __builtin_prefetch(&state_, 1);
    __builtin_prefetch(&outcome_, 1);
    __builtin_prefetch(&*strand_, 1);  // not NULL: the task was accepted
    __builtin_prefetch(strand_->posted, 1);
    executor_->fetch_ahead();
}

Executor::Executor(Runtime& runtime, uint32_t threads, uint32_t capacity, bool spins, const char* label)
    : Object(runtime, Type::executor, label), thread_count_(threads), capacity_(capacity), spins_(spins),
      cancelled_(make_error(GPO_CANCELLED, "the executor was destroyed")) {}

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

Ref<Strand> Executor::strand_of(const void* order) {
    if (!order) return make<Strand>(*this);
    if (strands_.size() >= sweep_at_) {
        std::erase_if(strands_, [](const auto& known) { return known.second->tasks == 0; });
        sweep_at_ = std::max<size_t>(64, 2 * strands_.size());
    }
    auto [found, fresh] = strands_.try_emplace(order);
    if (fresh) {
        try {
            found->second = make<Strand>(*this);
        } catch (...) {
            strands_.erase(found);
            throw;
        }
    }
    return found->second;
}

gpo_status Executor::accept(Task& task, const void* order) {
    bool wake;
    {
        std::lock_guard lock(lock_);
        if (stopped_) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
        // To a user, a destroyed executor is a stale handle. For a library thread that waits, the task was cancelled.
        if (closing_.load(std::memory_order_relaxed))
            fail(task.awaited_ ? GPO_CANCELLED : GPO_STALE_HANDLE, describe(), " was destroyed");
        if (pending_.load(std::memory_order_relaxed) >= capacity_ && !task.awaited_) {
            count_refused();
            return GPO_WOULD_BLOCK;
        }
        task.strand_ = strand_of(order);
        ++task.strand_->tasks;
        task.state_ = Task::State::waiting;
        waiting_.add(task);
        task.retain();
        ++accepted_;
        pending_.fetch_add(1, std::memory_order_seq_cst);
        wake = spins_ && spinning_.load(std::memory_order_seq_cst) == 0;
    }
    if (wake) wake_one();  // a thread should be spinning when the task becomes due
    return GPO_SUCCESS;
}

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
        --task.strand_->tasks;
        --accepted_;
        last = pending_.fetch_sub(1, std::memory_order_seq_cst) == 1;
    }
    if (last) wake_all();
    task.release();
    return true;
}

void Executor::due(Task& task, const Outcome& outcome) noexcept {
    bool ready, too_late;
    {
        std::lock_guard lock(lock_);
        if (task.state_ != Task::State::waiting) return;
        ready = become_due(task, outcome, false);
        too_late = task.awaited_ && stopped_ && thread_count_ == 0;
    }
    if (too_late) return abandon_awaited();  // stop() was called before the task became due
    if (ready && spinning_.load(std::memory_order_seq_cst) == 0) wake_one();
}

bool Executor::become_due(Task& task, const Outcome& outcome, bool cancelled) noexcept {
    waiting_.remove(task);
    task.state_ = Task::State::due;
    task.outcome_ = outcome;
    task.cancelled_ = cancelled;
    Strand& strand = *task.strand_;
    (strand.last ? strand.last->after_ : strand.first) = &task;
    strand.last = &task;
    if (task.awaited_) due_awaited_.add(task);  // the only task of its strand
    if (strand.scheduled) return false;
    strand.scheduled = true;
    make_ready(task.strand_);
    return true;
}

void Executor::make_ready(Ref<Strand> strand) noexcept {
    due_last_.store(strand->first, std::memory_order_relaxed);
    ready_last_.store(&*strand, std::memory_order_relaxed);
    ready_.fetch_add(1, std::memory_order_seq_cst);
    run_queue_.post(std::move(strand));
}

// --- running ---

namespace {

/// Whether this thread's last poll called a task. A poll may also find an empty strand, whose task was abandoned.
thread_local bool called_one;

}  // namespace

bool Executor::run_one() noexcept {
    called_one = false;
    // This memory is probably in the cache of another core, whose thread made the strand ready.
    fetch_ahead();
    fetch(due_last_.load(std::memory_order_relaxed), sizeof(Task) + kLine);  // with fields of the derived class
    fetch(ready_last_.load(std::memory_order_relaxed), sizeof(Strand));
    run_queue_.poll_one();
    return called_one;
}

void Executor::run(Ref<Strand> strand) noexcept {
    ready_.fetch_sub(1, std::memory_order_seq_cst);
    Task* task;
    {
        std::lock_guard lock(lock_);
        task = strand->first;
        if (!task) return;
        if (task->awaited_) due_awaited_.remove(*task);
        strand->first = task->after_;
        if (!strand->first) strand->last = nullptr;
        task->state_ = Task::State::called;
    }
    call(*task, task->outcome_, task->cancelled_);
    runtime().counters.callbacks.fetch_add(1, std::memory_order_relaxed);
    bool last;
    {
        std::lock_guard lock(lock_);
        ++called_;
        cancelled_count_ += task->cancelled_;
        --strand->tasks;
        if (strand->first)
            make_ready(std::move(strand));  // behind the others that are ready
        else
            strand->scheduled = false;
        last = pending_.fetch_sub(1, std::memory_order_seq_cst) == 1;
    }
    // The calling thread goes on with ready strands itself: no wake-up is needed for them.
    if (last && (watchers_.load(std::memory_order_seq_cst) != 0 || closing_.load(std::memory_order_seq_cst)))
        wake_all();
    task->release();
    called_one = true;
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
    const bool none = pending_.load(std::memory_order_seq_cst) == 0;
    switch (until) {
        case Until::none_waiting: return none || closing;
        case Until::ended: return none && closing;
        case Until::none_ready: return true;
    }
    return true;
}

bool Executor::take_spinning() noexcept {
    uint32_t nobody = 0;
    return spins_ && spinning_.compare_exchange_strong(nobody, 1, std::memory_order_seq_cst);
}

uint64_t Executor::serve(Until until, uint64_t deadline, uint64_t most) noexcept {
    uint64_t served = 0, idle_since = 0;
    bool spinning = false, woken = false;
    const auto stop_spinning = [&] {
        if (!spinning) return;
        spinning = false;
        spinning_.store(0, std::memory_order_seq_cst);
    };
    for (unsigned spins = 0; served < most;) {
        const uint32_t seen = signal_.load(std::memory_order_seq_cst);
        if (ready_.load(std::memory_order_seq_cst) != 0) {
            const bool first = spinning || woken;
            stop_spinning();
            woken = false;
            // No thread was woken for strands that became ready while a thread was spinning. Wake one thread, which
            // wakes the next.
            if (first && spins_ && ready_.load(std::memory_order_seq_cst) > 1) wake_one();
            if (run_one()) {
                ++served;
                idle_since = 0;
            } else {
                host::step(0);  // another thread is about to post the strand, or took it first
            }
            if (deadline != host::kForever && host::now() >= deadline) break;
            continue;
        }
        if (done(until)) break;
        if (!spinning && take_spinning()) spinning = true;
        if (spinning) {
            // Now and then: is spinning still worthwhile?
            if (++spins % 64 == 0 || idle_since == 0) {
                const uint64_t now = host::now();
                if (now >= deadline) break;
                if (pending_.load(std::memory_order_seq_cst) != 0 || idle_since == 0) idle_since = now;
                if (now - idle_since >= kIdleSpinning) {
                    stop_spinning();
                    // Accepting a task wakes no thread while one is spinning: check for tasks before sleeping.
                    if (pending_.load(std::memory_order_seq_cst) == 0) sleep(seen, until, deadline);
                    woken = true;
                    idle_since = 0;
                    continue;
                }
            }
            host::step(spins % kTurnsToYield == 0 ? kSpinsOfYield : 0);
            continue;
        }
        sleep(seen, until, deadline);
        woken = true;
        if (deadline != host::kForever && host::now() >= deadline && ready_.load(std::memory_order_seq_cst) == 0) break;
    }
    stop_spinning();
    // This thread leaves, and may have received the wake-up for a ready task: wake another thread.
    if (until != Until::none_ready && ready_.load(std::memory_order_seq_cst) != 0) wake_one();
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

void Executor::sleep(uint32_t seen, Until until, uint64_t deadline) noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (ready_.load(std::memory_order_seq_cst) == 0 && !done(until)) host::wait(signal_, seen, deadline);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Executor::wake_one() noexcept {
    signal_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) host::wake_one(signal_);
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
    Outcome outcome;
    outcome.error = cancelled_;
    outcome.submitted_ns = outcome.completed_ns = host::now();
    while (waiting_.first) become_due(*waiting_.first, outcome, true);
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
    destroyed();
    if (thread_count_ != 0)
        wake_all();
    else
        serve(Until::ended, host::kForever, UINT64_MAX);
}

void Executor::stop() noexcept {
    {
        std::lock_guard lock(lock_);
        stopped_ = true;
    }
    cancel_calls();
    if (thread_count_ == 0) abandon_awaited();
}

// Prevents a deadlock: the only thread that could run an awaited task may itself wait for the library thread that waits
// for the task. The strands stay posted, but are empty.
void Executor::abandon_awaited() noexcept {
    Task* abandoned = nullptr;
    {
        std::lock_guard lock(lock_);
        while (Task* task = due_awaited_.first) {
            due_awaited_.remove(*task);
            task->strand_->first = task->strand_->last = nullptr;
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
    while (pending_.load(std::memory_order_seq_cst) != 0 && host::now() < deadline) {
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
    return pending_.load(std::memory_order_seq_cst) == 0;
}

}  // namespace gpo
