// Streams: operations are put on a stream, which gives them to the driver in order and remembers failures.
//
// A stream has parts, each with a file of its own. The *submission* is the submit lock and the operations' numbers. The
// scanner watches the *marks*. *Held* operations wait on the host. The *history* provides the names of operations in
// failures. The class Stream itself has the properties (context, native stream, capture state) and the verbs of the
// API.
#pragma once

#include <mutex>

#include "completion/mark.h"
#include "device/context.h"
#include "gpuorch/completion.h"
#include "stream/captures.h"
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
    /// Wraps a driver stream of the program.
    Stream(Ref<Context> context, gpo_device_t device, CUstream foreign, const gpo_stream_options& options);
    /// Called once the stream is made: from then on the context's waits and counters include the stream.
    void announce();

    // --- properties ---
    Context& context() const noexcept { return *context_; }
    const driver::Table& table() const noexcept { return context_->table(); }
    CUstream native() const noexcept override { return native_; }
    bool wrapped() const noexcept { return wrapped_; }
    bool blocking() const noexcept { return blocking_; }
    int32_t priority() const noexcept { return priority_; }
    /// Set on resident streams, which waits for all streams leave out. NULL: an ordinary stream.
    Residence* residence() const noexcept { return residence_.get(); }
    /// True for blocking streams and the legacy stream: they wait for each other's work.
    bool legacy() const noexcept { return blocking_ || native_ == nullptr || native_ == CU_STREAM_LEGACY; }
    /// Gives out the native handle: from now on the program may capture the stream, and a recording of the stream is a
    /// capture of the driver. Throws Failure.
    CUstream expose();
    /// True if the stream may be in a capture or a recording: the native handle was given out, or the stream is in a
    /// recording.
    bool given_out() const noexcept override { return exposed_.load(std::memory_order_acquire) != Exposed::no; }
    /// Called when the stream joins a recording, and when it is in no recording any more. Under the submit lock.
    void join_recording() noexcept { expose_as(Exposed::no, Exposed::recorded); }
    void leave_recording() noexcept { expose_as(Exposed::recorded, Exposed::no); }
    /// True if the program can't put work on the native stream without asking for its handle: the stream isn't wrapped,
    /// and the handle wasn't given out.
    bool private_handle() const noexcept { return exposed_.load() != Exposed::given_out; }

    // --- direct recordings (stream/captures.h) ---
    /// The number of the direct recording that the stream is in; 0: none. Any thread.
    uint64_t direct_recording() const noexcept { return direct_.load(); }
    /// Joins a recording, and leaves it if the stream is in it. Under the submit lock.
    void join_direct(StreamRecording& recording, uint64_t number) noexcept;
    void leave_direct(const StreamRecording& recording) noexcept;
    /// True if the stream has joined a recording directly, and the recording hasn't ended. Under the submit lock.
    bool in_recording() const noexcept { return static_cast<bool>(recording_); }
    /// The stream's recording has become a capture of the driver, which the stream is in.
    void set_captured() noexcept { direct_.store(0, std::memory_order_release); }
    /// If the stream is in a direct recording, the recording goes on in a capture of the driver. With no lock of the
    /// stream held. Throws Failure.
    void enter_capture();
    /// Gives an operation to the driver, or adds it to the stream's recording. Under the submit lock, inside a
    /// DriverScope.
    void issue_or_record(Operation& operation);
    /// True for a wrapped stream whose handle was destroyed.
    bool detached() const noexcept override { return detached_.load(std::memory_order_acquire); }

    // --- parts ---
    Submission& submission() noexcept { return submission_; }
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
    gpo_status notify(CompletionQueue& queue, uint64_t user_data, Event* since, uint32_t origin = GPO_ORIGIN_STREAM);
    /// Like notify, with a target of the program instead of a queue.
    gpo_status then(Ref<CompletionHandler> target, uint32_t origin = GPO_ORIGIN_STREAM);
    gpo_status query();
    /// With deadline 0, only queries.
    gpo_status wait(uint64_t deadline);
    gpo_stream_info info();

    // --- capture. Inside a DriverScope ---
    /// Also true for the legacy stream while a blocking stream is captured: work on the legacy stream, or even a query,
    /// would break the capture. Throws if the driver can't report the state.
    bool capturing();
    /// capturing() for a caller with neither a pin nor the submit lock.
    bool captured() {
        const auto staying = stay();
        return capturing();
    }
    /// The number of the stream's capture; 0: none. Throws for the legacy stream, too, while a blocking stream is
    /// captured.
    uint64_t capture();
    /// True if the stream is in the capture with this number, or in a broken capture, which has no number. For a caller
    /// with neither a pin nor the submit lock.
    bool is_in(uint64_t capture);
    /// Throws Failure(GPO_CAPTURE_REFUSED) if the program is capturing this stream.
    void refuse_capture();
    /// refuse_capture() for callers outside a DriverScope.
    void refuse_captured() {
        if (given_out()) [[unlikely]] refuse_capture_now();
    }

    // --- failure ---
    /// Sticky: the stream refuses new work with this error, and the errands drop held work.
    void fail(const ErrorPtr& error) noexcept override;
    /// Fails the stream, and also the submitted work that isn't known to be done. Waits that have begun and submitted
    /// notifies report the failure when the work has ended.
    void fail_work(const ErrorPtr& error) noexcept;
    /// The sticky failure, or NULL.
    ErrorPtr failure() const noexcept { return failed_.load(std::memory_order_acquire) ? error() : nullptr; }
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
    /// A stream with running or held work gets a last mark, and the scanner keeps the stream until the mark completes.
    /// A stream that only the scanner keeps is destroyed at the scanner's next look: the scanner is woken to look now.
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
    /// Throws Failure(GPO_INVALID_STATE) if another thread records the stream.
    void refuse_other_thread() {
        if (given_out()) [[unlikely]] refuse_recorded_elsewhere();
    }
    [[gnu::cold]] void refuse_recorded_elsewhere();
    void refuse_capture_now();
    /// Gives an accepted operation the next number, unless the operation is unnumbered.
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
    bool push_failed(Mark mark, ErrorPtr error);
    bool mark_behind_work(Ref<CompletionHandler> target);

    bool see_idle();
    /// The driver's answer about the stream's work: CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or a refusal to answer. Throws.
    CUresult ask();
    bool running();   // true if the GPU has work of the stream
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

    // Fields that every call reads and that are rarely written: on the cache line of the base class, and on the next.
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
    const std::unique_ptr<Learner> learner_;   // NULL: the stream doesn't learn
    const std::unique_ptr<Residence> residence_;

    // Fields that submitting threads write. The scanner doesn't read them.
    Submission submission_;
    Held held_;
    Traced traced_{*this};
    // Under the submit lock: the handler of a wait that timed out, and the operation before the handler's mark. The
    // next wait for this operation reuses the handler.
    Ref<CompletionHandler> waiter_;
    uint64_t waiter_behind_ = 0, waiter_drops_ = 0;
    Ref<StreamRecording> recording_;   // that the stream has joined directly. Under the submit lock
    host::Mutex native_lock_;  // taken after the submit lock; a leaf, but for driver calls: see stay()
    std::atomic<bool> detached_{false};  // written under both locks
    std::atomic<uint64_t> direct_{0};    // see direct_recording()
    // Fields that the scanner writes as well.
    StreamMarks marks_{*this};
    History history_;
};

// Gives an operation to the driver or to the stream's recording, inside the scopes of tracing, attribution and
// residence.
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

/// Submits a record to the driver on this stream, and counts the record. Called from an operation's issue(). Throws if
/// the driver refuses.
template <class Record>
void issue(Stream& stream, const Record& work) {
    const Issued issued = issue(stream.context(), stream.native(), work);
    stream.context().check(issued.result, issued.function);
    stream.submission().count(work);
}

template <>
struct TypeOf<Stream> { static constexpr Type value = Type::stream; };

}  // namespace gpo
