// Streams: what operations are put on, in which order the driver gets them, and what has failed.
//
// A stream is made of parts, each with a file of its own: the *submission* (the submit lock, the numbers of
// operations), the *marks* that the scanner watches, what is *held* back, and the *history* from which failures are
// named. The stream itself says what it is (its context, its native stream, whether that is captured) and has the verbs
// of the API.
#pragma once

#include <mutex>

#include "completion/mark.h"
#include "device/context.h"
#include "gpuorch/completion.h"
#include "stream/held.h"
#include "stream/history.h"
#include "stream/learner.h"
#include "stream/marks.h"
#include "stream/operation.h"
#include "stream/residence.h"
#include "stream/room.h"
#include "stream/submission.h"
#include "stream/traced.h"

namespace gpo {

class CompletionQueue;
class Event;

class Stream final : public WatchedStream {
public:
    /// Creates a driver stream. Throws.
    Stream(Ref<Context> context, gpo_device_t device, const gpo_stream_options& options);
    /// Wraps one.
    Stream(Ref<Context> context, gpo_device_t device, CUstream foreign, const gpo_stream_options& options);
    /// To be called once it is made: it is waited for and counted with the context's streams from then on.
    void announce();

    // --- what it is ---
    Context& context() const noexcept { return *context_; }
    const driver::Table& table() const noexcept { return context_->table(); }
    CUstream native() const noexcept override { return native_; }
    bool wrapped() const noexcept { return wrapped_; }
    bool blocking() const noexcept { return blocking_; }
    int32_t priority() const noexcept { return priority_; }
    /// Waits for all streams leave it out. NULL: it is an ordinary stream.
    Residence* residence() const noexcept { return residence_.get(); }
    /// Work on it waits for work on the context's blocking streams, or these for it.
    bool legacy() const noexcept { return blocking_ || native_ == nullptr || native_ == CU_STREAM_LEGACY; }
    /// The native handle, which is given out: from now on the program may capture the stream.
    CUstream expose() noexcept;
    /// May be in a capture: its native handle was given out, or it is in a recording.
    bool given_out() const noexcept override { return exposed_.load(std::memory_order_acquire) != Exposed::no; }
    /// It gets into a recording, and is in none any more. Under the submit lock.
    void join_recording() noexcept { expose_as(Exposed::no, Exposed::recorded); }
    void leave_recording() noexcept { expose_as(Exposed::recorded, Exposed::no); }
    /// Of a wrapped stream whose handle was destroyed.
    bool detached() const noexcept override { return detached_.load(std::memory_order_acquire); }

    // --- its parts ---
    Submission& submission() noexcept { return submission_; }
    StreamMarks& marks() noexcept { return marks_; }
    Held& held() noexcept { return held_; }
    History& history() noexcept { return history_; }
    Traced& traced() noexcept { return traced_; }
    Watched& watched() noexcept override { return marks_.watched(); }

    // --- the verbs ---
    /// Puts an operation on the stream: issues it, or keeps it if the stream is held. GPO_SUCCESS or GPO_WOULD_BLOCK
    /// (too much held). Throws Failure: its own, or the stream's sticky one. Enters the context itself. Written out for
    /// each type of operation, so that it is one straight way to the driver where nothing is held.
    template <class Any>
    gpo_status submit(Any& operation) {
        refuse_shut_down();
        return put(operation);
    }
    /// A mark behind all that is on the stream: `target->on_completed` is called exactly once, also if the stream has
    /// failed, is held or is being captured. Throws only where nothing was marked (no memory, no thread).
    void mark(Ref<CompletionHandler> target);
    gpo_status notify(CompletionQueue& queue, uint64_t user_data, Event* since, uint32_t origin = GPO_ORIGIN_STREAM);
    /// The same for a target of the user's instead of a queue.
    gpo_status then(Ref<CompletionHandler> target, uint32_t origin = GPO_ORIGIN_STREAM);
    gpo_status query();
    /// Deadline 0: asks.
    gpo_status wait(uint64_t deadline);
    gpo_stream_info info();

    // --- capture. Inside a DriverScope ---
    /// Also true of the legacy stream while a blocking stream is captured: nothing may be put on it, or even asked of
    /// it, as that would break the capture. Throws if the driver can't tell.
    bool capturing();
    /// The same for a caller with neither a pin nor the submit lock.
    bool captured() {
        const auto staying = stay();
        return capturing();
    }
    /// The number of the capture that the stream is in; 0: none. Throws also of the legacy stream while a blocking
    /// stream is captured.
    uint64_t capture();
    /// Whether the stream is in the capture of this number, or in one that was broken, which has none. For a caller
    /// with neither a pin nor the submit lock.
    bool is_in(uint64_t capture);
    /// Throws Failure(GPO_CAPTURE_REFUSED) if the program is capturing this stream.
    void refuse_capture();
    /// The same outside a DriverScope.
    void refuse_captured() {
        if (given_out()) [[unlikely]] refuse_capture_now();
    }

    // --- failure ---
    /// Sticky: new work is refused with this error, and what is held is dropped, by the errands.
    void fail(const ErrorPtr& error) noexcept override;
    /// The same, and what the driver has and isn't known to be done counts as failed too: waits that have begun and
    /// notifies that were submitted say so, when the work has ended.
    void fail_work(const ErrorPtr& error) noexcept;
    /// The sticky failure, or NULL.
    ErrorPtr failure() const noexcept { return failed_.load(std::memory_order_acquire) ? error() : nullptr; }
    ErrorPtr failure_of_work(CUresult result, const char* function) noexcept override {
        return history_.failure_of_work(result, function);
    }

    // --- its life ---
    /// Waits for the work of a stream without a handle whose last mark is still owed. False: the deadline passed.
    bool drain_unmarked(uint64_t deadline) noexcept;
    /// Its handle was destroyed, nothing marks the end of its work, and it stays until drain_unmarked.
    bool unmarked() const noexcept { return unmarked_.load(std::memory_order_acquire); }
    /// Its handle was destroyed, and no call is inside any more: nobody can cancel what is held.
    bool orphaned() const noexcept { return orphaned_.load(std::memory_order_acquire); }
    /// What it is part of and goes with (a pool, a pipeline), as static text: the user may not destroy it. NULL: it is
    /// the user's.
    const char* whole() const noexcept { return whole_.load(std::memory_order_acquire); }
    void set_whole(const char* whole) noexcept { whole_.store(whole, std::memory_order_release); }
    /// For streams that are used for one thing after another: true for one caller if nothing is on it.
    bool claim_if_idle() noexcept;
    void unclaim() noexcept { claimed_.store(false, std::memory_order_release); }

    // --- streams that learn (stream/learner.h) ---
    /// The program looks at the stream: what is withheld is issued, unless there is no memory for that now.
    void issue_withheld() noexcept {
        if (learner_) [[unlikely]] issue_withheld_now();
    }
    /// The same under the submit lock, inside a DriverScope. True if nothing is held then. Throws the stream's sticky
    /// failure.
    bool nothing_held() { return held_.empty() || (learner_ && issue_only_withheld()); }

    // --- memory that is freed in its order ---
    /// The driver has been given such a free.
    void note_free() noexcept {
        if (!unseen_frees_.load()) unseen_frees_.store(true);
    }
    /// There are such frees, and the driver may not know that they are done: it learns that only where a host thread
    /// synchronises behind them. Any thread.
    bool has_unseen_frees() const noexcept { return unseen_frees_.load(); }
    /// Lets the driver know, if the stream is idle and not captured. Waits for no work. Any thread, with no lock held.
    void show_frees() noexcept;

    /// Of a resident stream: whether the driver has work of it that isn't done. True also where the driver can't be
    /// asked, since the stream is in a capture.
    bool may_be_at_work() noexcept;
    /// Operations that were accepted and not seen done.
    uint64_t load() noexcept;
    void add_counters(gpo_statistics& statistics) const noexcept;

private:
    friend class GroupWork;
    friend class Held;
    friend class Learner;
    friend class StreamMarks;
    ~Stream() override;

    // --- for core/object.h and completion/watched.h, which call these ---
    std::unique_lock<host::Mutex> stay() noexcept override {
        return wrapped_ ? std::unique_lock(native_lock_) : std::unique_lock<host::Mutex>();
    }
    /// A stream on which something runs or is held gets a last mark, and with it the scanner holds it until then. A
    /// stream that only the scanner holds is destroyed when the scanner looks the next time: it looks now.
    void release_handle() noexcept override;
    void stop() noexcept override { held_.cancel(); }
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
    template <class Any>
    void hand_over(Any& operation, uint64_t number);
    void hand_over_watched(Operation& operation, uint64_t number);
    /// Where another thread records what the stream is given. Throws Failure(GPO_INVALID_STATE).
    void refuse_other_thread() {
        if (given_out()) [[unlikely]] refuse_recorded_elsewhere();
    }
    [[gnu::cold]] void refuse_recorded_elsewhere();
    void refuse_capture_now();
    /// Gives an operation that was accepted the next number, if it has one.
    void note(const Operation& operation) noexcept {
        if (!operation.numbered()) return;
        const uint64_t number = submission_.next();
        history_.note(operation, number, native_);
        submission_.accept(number);
    }
    gpo_status hold(Operation& operation, bool internal);
    void issue_withheld_now() noexcept;
    bool issue_only_withheld();

    void refuse_shut_down() const {
        if (runtime().shutting_down()) [[unlikely]] fail_shut_down();
    }
    [[noreturn]] static void fail_shut_down();
    void refuse_lost() {
        if (context_->lost()) [[unlikely]] fail_lost();
    }
    [[noreturn]] void fail_lost();
    void set_failed(const ErrorPtr& error) noexcept;
    void seen_done(uint64_t operation) noexcept;

    gpo_status put_notify(Mark mark);
    bool notify_now(CompletionQueue& queue, uint64_t user_data, uint32_t origin, uint64_t ticks);
    void push_failed(Mark mark, ErrorPtr error);

    bool see_idle();
    /// What the driver says of its work: CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or that it doesn't say. Throws.
    CUresult ask();
    bool running();   // whether the GPU is at work for it
    bool may_run() noexcept;
    Ref<CompletionHandler> newest_waiter(uint64_t behind) noexcept;
    template <class Waiter>
    bool look_for(Waiter& waiter, uint64_t deadline) noexcept;
    void keep_waiter(Ref<CompletionHandler> waiter, uint64_t behind, uint64_t drops) noexcept;
    void leave_mark() noexcept;
    void stay_unmarked() noexcept;
    void detach() noexcept;
    uint64_t completed() const noexcept { return marks_.completed(); }
    friend class History;

    // What each call looks at and hardly anybody writes: on the line of the object's own, and the next.
    const Ref<Context> context_;
    Room::Share room_;
    CUstream native_ = nullptr;
    std::atomic<bool> failed_{false};
    enum class Exposed : uint8_t { no, recorded, given_out };
    void expose_as(Exposed from, Exposed to) noexcept { exposed_.compare_exchange_strong(from, to); }
    std::atomic<Exposed> exposed_;
    std::atomic<bool> announced_{false}, claimed_{false}, orphaned_{false}, unseen_frees_{false}, unmarked_{false};
    const bool wrapped_, blocking_;
    const gpo_device_t device_;
    int32_t priority_ = 0;
    std::atomic<const char*> whole_{nullptr};
    const std::unique_ptr<Learner> learner_;   // NULL: it doesn't learn
    const std::unique_ptr<Residence> residence_;

    // Written by whoever puts work on. The scanner doesn't read it.
    Submission submission_;
    Held held_;
    Traced traced_{*this};
    // Under the submit lock: the handler of a wait that timed out, whose mark is behind this operation. The next wait
    // for the same uses it again.
    Ref<CompletionHandler> waiter_;
    uint64_t waiter_behind_ = 0, waiter_drops_ = 0;
    host::Mutex native_lock_;  // taken after the submit lock; a leaf, but for driver calls: see stay()
    std::atomic<bool> detached_{false};  // written under both
    // Written by the scanner as well.
    StreamMarks marks_{*this};
    History history_;
};

// To the driver, with what is to be known of it.
template <class Any>
inline void Stream::hand_over(Any& operation, uint64_t number) {
    marks_.set_newest(false);
    if (trace::on() || history_.attributes() || residence_) [[unlikely]]
        hand_over_watched(operation, number);
    else
        operation.issue(*this);
}

/// False if it has to be held.
template <class Any>
inline bool Stream::issue(Any& operation) {
    refuse_lost();
    const DriverScope scope(*context_, operation.plain() ? Calls::plain : Calls::any, submission_.was_current());
    const Submission::Lock lock(submission_);
    if (failed_.load(std::memory_order_relaxed)) [[unlikely]] throw Failure(failure());
    refuse_other_thread();
    if (!nothing_held() || !operation.ready(*this)) [[unlikely]] return false;
    hand_over(operation, submission_.next());
    note(operation);
    return true;
}

template <class Any>
inline gpo_status Stream::put(Any& operation) {
    if (learner_ && learner_->withhold(operation)) [[unlikely]] return GPO_SUCCESS;
    if (!issue(operation)) [[unlikely]] return hold(operation, false);
    if (operation.consequences()) [[unlikely]] operation.afterwards(nullptr);
    return GPO_SUCCESS;
}

/// Gives a record to the driver, on this stream, and counts it: from an operation's issue(). Throws what the driver
/// refuses.
template <class Record>
void issue(Stream& stream, const Record& work) {
    const Issued issued = issue(stream.context(), stream.native(), work);
    stream.context().check(issued.result, issued.function);
    stream.submission().count(work);
}

template <>
struct TypeOf<Stream> { static constexpr Type value = Type::stream; };

}  // namespace gpo
