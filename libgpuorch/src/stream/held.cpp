#include "stream/held.h"

#include <algorithm>
#include <optional>

#include "stream/releasing.h"
#include "stream/services.h"
#include "stream/stream.h"

namespace gpo {

void Held::conclude(Spent& spent) noexcept {
    for (; !spent.empty(); spent.pop_front())
        if (Hooks* const hooks = spent.front().operation->hooks()) hooks->afterwards(spent.front().dropped);
}

// --- holding and issuing ---

void Held::reserve_marks() { stream_.marks().reserve(operations_.size() + 1); }

Held::Spent Held::prepare(const Operation& operation, bool internal) {
    reserve_marks();  // all held operations may be dropped at once, each with a mark, and dropping must not fail
    Spent prepared(1);
    prepared.front().internal = internal;
    prepared.front().operation = operation.held_copy();  // may have effects: nothing may fail afterwards
    return prepared;
}

void Held::add(Spent& prepared) noexcept {
    HeldOperation& held = prepared.front();
    operations_.splice(operations_.end(), prepared);
    if (Hooks* const hooks = held.operation->hooks()) hooks->held_behind(stream_.submission().accepted());
    count_.store(operations_.size(), std::memory_order_release);  // before it is counted as accepted: see Stream::query
    stream_.note(*held.operation);
    held.operation->set_number(stream_.submission().accepted());
    stream_.history().note_held(*held.operation);
    if (!held.internal) users_.store(users() + 1, std::memory_order_relaxed);
}

void Held::put_first_away(Spent& spent) noexcept {
    stream_.history().note_issued(*operations_.front().operation);
    put_away(operations_.begin(), spent);
    count_.store(operations_.size(), std::memory_order_release);
    if (operations_.empty()) stream_.traced().end_holding();
}

void Held::issue_ready(Spent& spent) noexcept {
    while (!operations_.empty()) {
        try {
            if (stream_.capturing()) {  // the operation was accepted before the capture: not for the captured graph
                try_again();
                break;
            }
            Operation& operation = *operations_.front().operation;
            if (Hooks* const hooks = operation.hooks(); hooks && !hooks->ready(stream_)) {
                watch_work();
                break;
            }
            stream_.hand_over(operation, operation.number());
            stream_.history().note_issued(operation);
            put_away(operations_.begin(), spent);
        } catch (const NeverPossible& failure) {
            drop(failure.error(), spent);
        } catch (const std::exception& error) {
            const auto* failure = dynamic_cast<const Failure*>(&error);
            // The operation was accepted, and no caller is left to get the error. Therefore the operation waits for
            // memory, or for the end of a capture that has just begun.
            if (is_passing(error) || (failure && failure->error()->status == GPO_CAPTURE_REFUSED)) {
                try_again();
                break;
            }
            drop(stream_.context().lost() ? stream_.failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr)
                 : failure                ? failure->error()
                                          : make_error(GPO_INTERNAL, stream_.describe(), ": ", error.what()),
                 spent);
        }
    }
    count_.store(operations_.size(), std::memory_order_release);
    if (operations_.empty()) stream_.traced().end_holding();
}

// Moves an issued or dropped operation to its home list, if any, else to `spent`.
void Held::put_away(Spent::iterator done, Spent& spent) noexcept {
    count_spent(*done);
    if (done->home) withheld_.store(withheld() - 1, std::memory_order_release);
    Spent& to = done->home ? *done->home : spent;
    to.splice(to.end(), operations_, done);
}

void Held::withhold(Spent::iterator operation) noexcept {
    operations_.splice(operations_.end(), *operation->home, operation);
    withheld_.store(operations_.size(), std::memory_order_release);
    count_.store(operations_.size(), std::memory_order_release);  // before it is counted as accepted, as in add()
}

void Held::end_withholding() noexcept {
    Spent& home = *operations_.front().home;
    home.splice(home.end(), operations_);
    withheld_.store(0, std::memory_order_release);
    count_.store(0, std::memory_order_release);
}

// If work without a mark fails, the next operation given to the driver finds out. A held operation isn't given to the
// driver, and threads that wait for it would wait without end. Therefore the scanner gets a mark behind the work that
// precedes the first held operation.
void Held::watch_work() {
    const Operation& next = *operations_.front().operation;
    const uint64_t before = next.number() - (next.numbered() ? 1 : 0);
    StreamMarks& marks = stream_.marks();
    if (marks.newest() || marks.completed() >= before || stream_.detached()) return;
    reserve_marks();  // the held operations keep the room reserved for them
    Mark mark;
    mark.operation = before;
    marks.record(mark);
    marks.set_newest(!mark.deferred);
    marks.push(std::move(mark));
}

// --- again, later ---

void Held::try_again() noexcept {
    if (std::exchange(trying_again_, true)) return;
    stream_.retain();
    stream_.runtime().errands().post(again_, host::now() + Errands::kTryAgain);
}

void Held::Again::run() noexcept {
    Stream& stream = held_.stream_;
    {
        const Submission::Lock lock(stream.submission());
        held_.trying_again_ = false;
    }
    held_.flush();
    stream.release();
}

void Held::leave_mark_later() noexcept {
    pending_marks_.fetch_add(1, std::memory_order_release);
    stream_.retain();
    stream_.runtime().errands().post(last_mark_, host::now() + Errands::kTryAgain);
}

void Held::LastMark::run() noexcept {
    Stream& stream = held_.stream_;
    stream.leave_mark();   // may post the errand again, which counts first
    held_.pending_marks_.fetch_sub(1, std::memory_order_release);
    stream.release();
}

void Held::drop_later() noexcept {
    stream_.retain();
    stream_.runtime().errands().post(failing_);
}

void Held::Failing::run() noexcept {
    Stream& stream = held_.stream_;
    held_.flush();
    stream.release();
}

// --- flushing ---

// A flushed stream may release other streams, as often as there are held operations. Nested flushes could take a
// thread's whole stack. Therefore each thread has a list, and flushes the streams on its list one after the other. The
// list takes no memory. If a stream is already on another thread's list, the other thread flushes it.
void Held::flush() noexcept {
    struct Turn {
        Held* first = nullptr;
        Held** end = &first;
    };
    static thread_local Turn* t_turn = nullptr;
    if (in_host_node()) return flush_elsewhere();
    std::optional<Releasing> releasing;
    if (!Releasing::here()) releasing.emplace(stream_.runtime());
    if (to_flush_.exchange(true, std::memory_order_acq_rel)) return;
    stream_.retain();
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
    while (Held* held = turn.first) {
        turn.first = held->next_to_flush_;
        if (!turn.first) turn.end = &turn.first;
        // Acquires the changes of the threads that found the stream on the list.
        held->to_flush_.exchange(false, std::memory_order_acq_rel);
        held->flush_now();
        held->stream_.release();
    }
    t_turn = nullptr;
}

void Held::flush_elsewhere() noexcept {
    if (flushing_elsewhere_.exchange(true, std::memory_order_acq_rel)) return;
    stream_.retain();
    stream_.runtime().errands().post(elsewhere_);
}

void Held::Elsewhere::run() noexcept {
    Stream& stream = held_.stream_;
    // Acquires the changes of the threads that found the errand posted.
    held_.flushing_elsewhere_.exchange(false, std::memory_order_acq_rel);
    held_.flush();
    stream.release();
}

void Held::flush_now() noexcept {
    Context& context = stream_.context();
    Spent spent;
    {
        DriverTry scope(context);
        const Submission::Lock lock(stream_.submission());
        if (operations_.empty()) return;
        if (const ErrorPtr failure = stream_.failure())
            drop(failure, spent);
        else if (scope.entered())
            issue_ready(spent);
        else if (context.lost())
            drop(stream_.failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr), spent);
        else
            try_again();   // the driver refuses, for now
    }
    conclude(spent);
    // The handle may have been destroyed long ago, and the next operation may wait for work that is held behind it.
    if (stream_.orphaned() && any()) StreamServices::of(context).look_for_cycles();
}

void Held::settle_withheld() noexcept {
    Context& context = stream_.context();
    const Releasing releasing(stream_.runtime());
    Spent spent;
    {
        const DriverTry scope(context);
        const Submission::Lock lock(stream_.submission());
        if (!withheld()) return;
        if (scope.entered()) issue_ready(spent);
        if (withheld())
            drop(context.lost() ? stream_.failure_of_work(CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr)
                                : bare_error(GPO_OUT_OF_MEMORY),
                 spent);
    }
    conclude(spent);
}

bool Held::what_for(uint64_t deadline, For& out) {
    const Submission::LockUntil lock(stream_.submission(), deadline);
    if (!lock.held()) return false;
    if (operations_.empty()) return true;
    Operation& next = *operations_.front().operation;
    const Hooks* const hooks = next.hooks();
    out = {next.number(), hooks ? hooks->awaits() : Awaits()};
    return true;
}

// --- dropping ---

void Held::drop(const ErrorPtr& error, Spent& spent) noexcept {
    stream_.set_failed(error);
    // Marks are counted when they notify, and withheld operations count as issued.
    const auto failures = std::count_if(operations_.begin(), operations_.end(), [](const HeldOperation& held) {
        return held.operation->numbered() && !held.home;
    });
    stream_.runtime().counters.failures.fetch_add(static_cast<uint64_t>(failures), std::memory_order_relaxed);
    drop_all(error, spent);
}

// Under the submit lock.
uint64_t Held::drop_all(const ErrorPtr& error, Spent& spent) noexcept {
    return drop_from(operations_.begin(), error, spent);
}

uint64_t Held::drop_from(Spent::iterator first, const ErrorPtr& error, Spent& spent) noexcept {
    const uint64_t count = users();
    drops_.store(drops_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    while (first != operations_.end()) {
        const auto dropped = first++;
        if (!dropped->home) dropped->dropped = error;
        if (Hooks* const hooks = dropped->operation->hooks()) hooks->drop(stream_, error);
        put_away(dropped, spent);
    }
    count_.store(operations_.size(), std::memory_order_release);
    stream_.traced().end_holding();
    return count;
}

// If nothing is held, the holder of the submit lock isn't waited for: it may be in the driver.
uint64_t Held::cancel() noexcept {
    uint64_t count = 0;
    if (!any()) return count;
    cancel_until(host::kForever, &count);
    return count;
}

bool Held::cancel_until(uint64_t deadline, uint64_t* count) noexcept {
    const ErrorPtr cancelled = make_error(GPO_CANCELLED, "what was held on ", stream_.describe(), " was cancelled");
    const auto too_late = [this] {
        uncancelled_.store(true, std::memory_order_release);
        return false;
    };
    if (withheld()) {
        {
            const Submission::LockUntil lock(stream_.submission(), deadline);
            if (!lock.held()) return too_late();
        }
        flush();
    }
    std::optional<Releasing> releasing;   // begins under the lock: others wait for its end, and not for the lock
    Spent spent;
    {
        const Submission::LockUntil lock(stream_.submission(), deadline);
        if (!lock.held()) return too_late();
        releasing.emplace(stream_.runtime());
        const auto first = std::next(operations_.begin(), static_cast<std::ptrdiff_t>(withheld()));
        const uint64_t dropped = drop_from(first, cancelled, spent);
        if (count) *count = dropped;
        uncancelled_.store(false, std::memory_order_release);
    }
    conclude(spent);
    return true;
}

void Held::fail(const ErrorPtr& error) noexcept {
    if (!any()) return;   // as in cancel()
    const Releasing releasing(stream_.runtime());
    Spent spent;
    {
        const Submission::Lock lock(stream_.submission());
        if (operations_.empty()) return;
        stream_.set_failed(error);
        drop_all(error, spent);
    }
    conclude(spent);
}

}  // namespace gpo
