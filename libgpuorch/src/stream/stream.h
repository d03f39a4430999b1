// Streams: operations are put on a stream, which gives them to the driver in order and remembers failures.
//
// A stream is a stream of the driver (stream/driver_stream.h: handle, submit lock, capture state) with parts, each with
// a file of its own. The scanner watches the *marks*. *Held* operations wait on the host. The *history* provides the
// names of operations in failures. The class Stream itself has the verbs of the API.
#pragma once

#include "completion/mark.h"
#include "gpuorch/completion.h"
#include "stream/driver_stream.h"
#include "stream/held.h"
#include "stream/history.h"
#include "stream/learner.h"
#include "stream/marks.h"
#include "stream/operation.h"
#include "stream/residence.h"
#include "stream/room.h"
#include "stream/traced.h"

namespace gpo {

class CompletionQueue;

class Stream final : public DriverStream {
public:
    /// Creates a driver stream. Throws.
    Stream(Ref<Context> context, gpo_device_t device, const gpo_stream_options& options);
    /// Wraps a driver stream of the program.
    Stream(Ref<Context> context, gpo_device_t device, CUstream foreign, const gpo_stream_options& options);
    /// Called once the stream is made: from then on the context's waits and counters include the stream.
    void announce();
    /// Set on resident streams, which waits for all streams leave out. NULL: an ordinary stream.
    Residence* residence() const noexcept { return residence_.get(); }

    // --- parts ---
    StreamMarks& marks() noexcept { return marks_; }
    Held& held() noexcept { return held_; }
    History& history() noexcept { return history_; }
    Traced& traced() noexcept { return traced_; }
    Watched& watched() noexcept override { return marks_.watched(); }

    // --- the verbs ---
    /// Puts an operation on the stream: issues it, or holds it if the stream is held. GPO_SUCCESS or GPO_WOULD_BLOCK
    /// (too much held). Throws Failure: the operation's, or the stream's sticky failure. Enters the context itself.
    /// Instantiated for each type of operation: while nothing is held, the path to the driver is short and straight.
    template <class Any>
    gpo_status submit(Any& operation) {
        refuse_shut_down();
        return put(operation);
    }
    /// Puts a mark behind all work of the stream: `target->on_completed` is called exactly once, even if the stream has
    /// failed, is held or is being captured. Throws only if no mark was made (no memory, no thread).
    void mark(Ref<CompletionHandler> target);
    /// Like mark(), but false, without a mark, if the submit lock isn't free by the deadline.
    bool mark_until(Ref<CompletionHandler> target, uint64_t deadline);
    /// The recording of an event where a notify's GPU time begins (Event::beginning_on).
    struct Since {
        Ref<Beginning> event;
        uint64_t recording;
    };
    /// `since` NULL: the work isn't timed.
    gpo_status notify(CompletionQueue& queue, uint64_t user_data, const Since* since = nullptr,
                      uint32_t origin = GPO_ORIGIN_STREAM);
    /// Like notify, with a target of the program instead of a queue.
    gpo_status then(Ref<CompletionHandler> target, uint32_t origin = GPO_ORIGIN_STREAM);
    gpo_status query();
    /// With deadline 0, only queries.
    gpo_status wait(uint64_t deadline);
    gpo_stream_info info();

    // --- failure ---
    /// Sticky: the stream refuses new work with this error, and the errands drop held work.
    void fail(const ErrorPtr& error) noexcept override;
    /// Fails the stream, and also the submitted work that isn't known to be done. Waits that have begun and submitted
    /// notifies report the failure when the work has ended.
    void fail_work(const ErrorPtr& error) noexcept;
    ErrorPtr failure_of_work(CUresult result, const char* function) noexcept override {
        return history_.failure_of_work(result, function);
    }

    // --- life ---
    /// Waits for the work of a stream without a handle whose last mark isn't made yet. False: the deadline passed.
    bool drain_unmarked(uint64_t deadline) noexcept;
    /// True if the handle was destroyed and no mark could be made: the stream stays until drain_unmarked.
    bool unmarked() const noexcept { return unmarked_.load(std::memory_order_acquire); }
    /// True if the handle was destroyed and no call uses the stream any more: the program can't cancel held work.
    bool orphaned() const noexcept { return orphaned_.load(std::memory_order_acquire); }
    /// The object that the stream is part of and ends with (a pool, a pipeline), as static text: the program may not
    /// destroy the stream. NULL: the stream is the program's own.
    const char* whole() const noexcept { return whole_.load(std::memory_order_acquire); }
    void set_whole(const char* whole) noexcept { whole_.store(whole, std::memory_order_release); }
    /// Claims a stream that serves several callers in turn: true for a single caller, and only if nothing is on the
    /// stream.
    bool claim_if_idle() noexcept;
    void unclaim() noexcept { claimed_.store(false, std::memory_order_release); }

    // --- streams that learn (stream/learner.h) ---
    /// Called when the program looks at the stream: issues withheld operations, unless memory is short now.
    void issue_withheld() noexcept {
        if (learner_) [[unlikely]] issue_withheld_now();
    }
    /// Issues withheld operations under the submit lock, inside a DriverScope. True if nothing is held afterwards.
    /// Throws the stream's sticky failure.
    bool nothing_held() { return held_.empty() || (learner_ && issue_only_withheld()); }

    // --- memory that is freed in the stream's order ---
    /// Notes that such a free was submitted to the driver.
    void note_free() noexcept {
        if (!unseen_frees_.load()) unseen_frees_.store(true);
    }
    /// True if the driver may not know that submitted frees are done. The driver notices only when a host thread
    /// synchronises behind the frees. Any thread.
    bool has_unseen_frees() const noexcept { return unseen_frees_.load(); }
    /// Makes the driver notice, if the stream is idle and not captured. Waits for no work. Any thread, with no lock
    /// held.
    void show_frees() noexcept;

    /// For resident streams: true if the driver has unfinished work of the stream. In a capture the driver can't be
    /// asked: then true if load() isn't 0.
    bool may_be_at_work() noexcept;
    /// Number of operations that were accepted and not seen done.
    uint64_t load() noexcept;
    void add_counters(gpo_statistics& statistics) const noexcept;

    // --- for the parts and for group work, under the submit lock unless a comment says otherwise ---
    /// Throws Failure: the runtime is shutting down, the device is lost. Any thread.
    void refuse_shut_down() const {
        if (runtime().shutting_down()) [[unlikely]] fail_shut_down();
    }
    void refuse_lost() {
        if (context().lost()) [[unlikely]] fail_lost();
    }
    /// Gives an operation to the driver or to the stream's recording, inside the scopes of tracing, attribution and
    /// residence. Inside a DriverScope. Throws the operation's exceptions.
    template <class Any>
    void hand_over(Any& operation, uint64_t number);
    /// Gives an accepted operation the next number, unless the operation is unnumbered.
    void note(const Operation& operation) noexcept {
        if (!operation.numbered()) return;
        const uint64_t number = submission().next();
        history_.note(operation, number, native());
        submission().accept(number);
    }
    /// Puts the last mark of a stream without a handle behind its work, or tries again later. With no lock held.
    void leave_mark() noexcept;

private:
    ~Stream() override;

    // --- for core/object.h and completion/watched.h, which call these ---
    /// A stream with running or held work gets a last mark, and the scanner keeps the stream until the mark completes.
    /// A stream that only the scanner keeps is destroyed at the scanner's next look: the scanner is woken to look now.
    void release_handle() noexcept override;
    /// If another thread is inside the driver with the submit lock, Streams::cancel_held cancels later.
    void stop() noexcept override { held_.cancel_until(0); }
    bool drain(uint64_t deadline) noexcept override;
    bool claim_unused() noexcept override;
    bool is_part() const noexcept override { return whole() != nullptr; }
    uint32_t known_trace_lane(const trace::Recorder& recorder) const noexcept override {
        return traced_.known_lane(recorder);
    }

    template <class Any>
    gpo_status put(Any& operation);
    template <class Any>
    bool issue(Any& operation);
    void hand_over_watched(Operation& operation, uint64_t number);
    void hand_over_traced(Operation& operation, uint64_t number, trace::Recorder& recorder);
    void issue_or_record(Operation& operation);
    gpo_status hold(Operation& operation, bool internal, uint64_t deadline = host::kForever);
    void issue_withheld_now() noexcept;
    bool issue_only_withheld();

    [[noreturn]] static void fail_shut_down();
    [[noreturn]] void fail_lost();
    void seen_done(uint64_t operation) noexcept;

    gpo_status put_notify(Mark mark);
    bool notify_now(CompletionQueue& queue, uint64_t user_data, uint32_t origin, uint64_t ticks);
    bool push_failed(Mark mark, ErrorPtr error);
    enum class Marked : uint8_t { behind_work, anywhere, not_in_time };
    Marked mark_behind_work(Ref<CompletionHandler> target, uint64_t deadline = host::kForever);

    bool see_idle();
    bool running() { return ask(marks_.any()) == CUDA_ERROR_NOT_READY; }   // true if the GPU has work of the stream
    bool newest_waiter(uint64_t behind, uint64_t deadline, Ref<CompletionHandler>& found) noexcept;
    template <class Waiter>
    bool look_for(Waiter& waiter, uint64_t deadline) noexcept;
    void keep_waiter(Ref<CompletionHandler> waiter, uint64_t behind, uint64_t drops) noexcept;
    void stay_unmarked() noexcept;

    // Fields that every call reads and that are rarely written.
    const std::unique_ptr<Learner> learner_;   // NULL: the stream doesn't learn
    const std::unique_ptr<Residence> residence_;
    Room::Share room_;
    std::atomic<bool> announced_{false}, claimed_{false}, orphaned_{false}, unseen_frees_{false}, unmarked_{false};
    const gpo_device_t device_;
    std::atomic<const char*> whole_{nullptr};

    // Fields that submitting threads write. The scanner doesn't read them.
    Held held_;
    Traced traced_{*this};
    // Under the submit lock: the handler of a wait that timed out, and the operation before the handler's mark. The
    // next wait for this operation reuses the handler.
    Ref<CompletionHandler> waiter_;
    uint64_t waiter_behind_ = 0, waiter_drops_ = 0;
    // Fields that the scanner writes as well.
    StreamMarks marks_{*this, traced_};
    History history_;
};

template <class Any>
inline void Stream::hand_over(Any& operation, uint64_t number) {
    marks_.set_newest(false);
    const bool recorded = given_out() && captures::any();
    if (trace::on() || history_.attributes() || residence_ || recorded) [[unlikely]]
        hand_over_watched(operation, number);
    else
        operation.issue(*this);
}

/// False if the operation has to be held.
template <class Any>
inline bool Stream::issue(Any& operation) {
    refuse_lost();
    const DriverScope scope(context(), operation.plain() ? Calls::plain : Calls::any, submission().was_current());
    const Submission::Lock lock(submission());
    if (failed()) [[unlikely]] throw Failure(failure());
    refuse_other_thread();
    if (!nothing_held()) [[unlikely]] return false;
    if (Hooks* const hooks = hooks_of(operation); hooks && !hooks->ready(*this)) [[unlikely]] return false;
    hand_over(operation, submission().next());
    note(operation);
    return true;
}

template <class Any>
inline gpo_status Stream::put(Any& operation) {
    if (learner_ && learner_->withhold(operation)) [[unlikely]] return GPO_SUCCESS;
    if (!issue(operation)) [[unlikely]] return hold(operation, false);
    if (Hooks* const hooks = hooks_of(operation); hooks && hooks->consequences()) [[unlikely]]
        hooks->afterwards(nullptr);
    return GPO_SUCCESS;
}

template <>
struct TypeOf<Stream> { static constexpr Type value = Type::stream; };

}  // namespace gpo
