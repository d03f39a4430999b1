// Streams: the order in which operations reach the driver, what is held back, and what has failed.
//
// The submit lock is held from before an operation gets its number until the driver has it, so that numbers, driver order
// and marks agree. It is the only lock of ours under which the driver is called, but for an event's own two, where its newest
// recording was held or is copied for streams that are, and the one under which a wrapped stream stays (stay). Nobody takes two
// submit locks: what has to happen on other streams as a consequence (a timeline signal that releases them) is done after the
// lock is released (Operation::afterwards), for one stream after the other (flush). The scanner never takes it.
//
// What was accepted isn't lost. Work that is held takes memory when it is issued, ours and the driver's: where there is
// none it stays held and is tried again, by a later call or by the errands a millisecond later. Dropping it takes none.
#pragma once

#include <array>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "completion/mark.h"
#include "core/handles.h"
#include "device/context.h"
#include "gpuorch/completion.h"
#include "host/owned_mutex.h"
#include "stream/operation.h"

namespace gpo::trace {
class OperationSpan;
class Recorder;
}

namespace gpo {

/// The calling thread may release streams, or has taken it over from another to do so: from before others can see that, until
/// it is done. A stream that one thread's call makes ready may be issued by another thread, which was there first, and only that
/// one knows which streams come next. So whoever promises that streams are released when a call returns waits for the others.
class Releasing {
public:
    explicit Releasing(Runtime& runtime) noexcept;
    ~Releasing();
    Releasing(const Releasing&) = delete;
    Releasing& operator=(const Releasing&) = delete;
    /// Waits for all who release streams by now. At the end of a call: one that is made while the thread releases streams itself
    /// doesn't wait.
    static void wait_for_others(Runtime& runtime) noexcept;
    static bool here() noexcept;

private:
    const Deferred::Entry entry_;
};

class Stream final : public Object {
public:
    /// Creates a driver stream. Throws.
    Stream(Ref<Context> context, gpo_device_t device, const gpo_stream_options& options);
    /// Wraps one.
    Stream(Ref<Context> context, gpo_device_t device, CUstream foreign, const gpo_stream_options& options);
    /// To be called once it is made: it is waited for and counted with the context's streams from then on.
    void announce();

    Context& context() const noexcept { return *context_; }
    const Ref<Context>& context_ref() const noexcept { return context_; }
    const driver::Table& table() const noexcept { return context_->table(); }
    CUstream native() const noexcept { return native_; }
    bool wrapped() const noexcept { return wrapped_; }
    bool blocking() const noexcept { return blocking_; }
    /// The native handle, which is given out: from now on the host may capture the stream.
    CUstream expose() noexcept;
    /// Of a wrapped stream: its handle is gone, and from then on the host may destroy the native one, which nobody names to the
    /// driver any more. What was put on lies before the last mark: marks that come now are reached with that one.
    bool gone() const noexcept { return gone_.load(std::memory_order_acquire); }
    /// Not while this is held. For whoever names the native handle with neither a pin nor the submit lock.
    std::unique_lock<host::Mutex> stay() noexcept {
        return wrapped_ ? std::unique_lock(native_lock_) : std::unique_lock<host::Mutex>();
    }
    /// The host has the native handle, and may capture the stream.
    bool given_out() const noexcept { return exposed_.load(std::memory_order_acquire); }

    /// Puts an operation on the stream: issues it, or keeps it if the stream is held. GPO_SUCCESS or GPO_WOULD_BLOCK (too
    /// much held). Throws Failure: its own, or the stream's sticky one. Enters the context itself.
    /// Written out for each type of operation, so that it is one straight way to the driver where nothing is held.
    template <class Any>
    gpo_status submit(Any& operation) {
        refuse_shut_down();
        return put(operation);
    }

    /// A mark behind all that is on the stream: `target->reached` is called exactly once, also if the stream has failed,
    /// is held or is being captured. Throws only where nothing was marked (no memory, no thread).
    void mark(Ref<Reached> target);
    gpo_status notify(CompletionQueue& queue, uint64_t user_data, Event* since, uint32_t source = GPO_SOURCE_STREAM);
    /// Somebody waits for what is on the stream, also for what only the host knows of, and marks it later: it doesn't go without a
    /// mark. Taken back when that mark is made.
    void owe_mark() noexcept { owed_marks_.fetch_add(1, std::memory_order_acq_rel); }
    void pay_mark() noexcept { owed_marks_.fetch_sub(1, std::memory_order_acq_rel); }

    /// The same for a target of the user's instead of a queue.
    gpo_status then(Ref<Reached> target, uint32_t source = GPO_SOURCE_STREAM);

    gpo_status query();
    /// Deadline 0: asks.
    gpo_status wait(uint64_t deadline);
    uint64_t cancel_held() noexcept;
    /// Drops what is held, and with it all that would come behind: from then on the stream has failed. Nothing where none is held.
    void fail_held(const ErrorPtr& error) noexcept;
    gpo_stream_info info();
    uint64_t operations_held() const noexcept { return users_held_.load(std::memory_order_relaxed); }
    /// The library's own marks among them included.
    uint64_t held_with_marks() const noexcept { return held_count_.load(std::memory_order_relaxed); }
    bool held() const noexcept { return held_count_.load(std::memory_order_acquire) != 0; }

    /// Its handle is gone, and no call is inside any more: nobody can cancel what is held.
    bool orphaned() const noexcept { return orphaned_.load(std::memory_order_acquire); }
    /// What the stream is held for now, and the number of the operation that is: 0 if nothing is held. Throws std::bad_alloc.
    struct HeldFor {
        uint64_t operation = 0;
        Awaits awaits;
    };
    HeldFor held_for();

    /// Issues what is held as far as it is ready. Called by whoever made it ready, with no lock held.
    void flush() noexcept;

    /// Sticky: new work is refused with this error, and what is held is dropped, by the errands.
    void fail(const ErrorPtr& error) noexcept;
    /// The sticky failure, or NULL.
    ErrorPtr failure() const noexcept;

    /// Throws Failure(GPO_CAPTURE_REFUSED) if the host is capturing this stream. Inside a DriverScope.
    void refuse_capture(const char* what);
    /// Also true of the legacy stream while a blocking stream is captured: nothing may be put on it, or even asked of it, as that
    /// would break the capture. Inside a DriverScope. Throws if the driver can't tell.
    bool capturing();
    /// The same for whoever has neither a pin nor the submit lock.
    bool captured() {
        const auto staying = stay();
        return capturing();
    }
    /// The number of the capture that the stream is in; 0: none. Inside a DriverScope. Throws also of the legacy stream while a
    /// blocking stream is captured.
    uint64_t capture();

    // --- for operations, while they are issued or dropped (under the submit lock) ---
    /// Makes sure that the next `count` push_marks can't fail. Throws.
    void prepare_mark(size_t count = 1);
    /// The newest recorded mark is behind all that is on the stream: another mark needs no event. Under the submit lock.
    bool ends_with_mark() const noexcept {
        // What others put on a blocking stream's way, through the legacy stream, or on a stream that they have, we don't see.
        return marked_.load(std::memory_order_relaxed) && !blocking_ && !given_out();
    }
    /// A mark was recorded, and nothing is behind it yet.
    void set_ends_with_mark() noexcept { marked_.store(true, std::memory_order_relaxed); }
    /// An event for the next mark: its place's own, or, with timing, one of the context's. Give it back by return_event if
    /// it isn't used. Throws.
    CUevent mark_event(bool timing);
    /// Records the event of the mark that is pushed next. In a capture, also one that the host has begun just before the event was
    /// recorded, that is left to the scanner: to ask for an event that is in a capture would break that. Throws.
    void record_mark(Mark& mark);
    void return_event(bool timing, CUevent event) noexcept;
    /// Fills in the operation's number and the time.
    void push_mark(Mark&& mark) noexcept;
    /// A mark that tells a failure: it comes when what the driver was given before has ended, whose memory is in use.
    void keep_behind_work(Mark& mark) noexcept;
    void count_notify() noexcept { bump(notifies_, 1); }

    /// Where the GPU's part of the operation begins, for those that wait first (Operation::work).
    void begin_work() noexcept;

    // --- for the trace ---
    /// The stream's lane in the recorder's session, with Recorder::kUntimed if it has no clock; 0: none.
    uint32_t trace_lane(trace::Recorder& recorder) noexcept;
    uint32_t known_trace_lane(const trace::Recorder& recorder) const noexcept;
    /// An event with timing, or NULL.
    CUevent trace_event() noexcept;

    /// Everything up to this operation is done: somebody has found out.
    void seen_done(uint64_t operation) noexcept {
        uint64_t known = completed_.load(std::memory_order_relaxed);
        while (known < operation && !completed_.compare_exchange_weak(known, operation, std::memory_order_relaxed)) {
        }
    }

    // --- for the scanner ---
    MarkQueue& marks() noexcept { return marks_; }
    bool deferring() const noexcept { return deferring_.load(std::memory_order_acquire); }
    void set_deferring() noexcept { deferring_.store(true, std::memory_order_release); }
    /// When a mark of this stream was last seen reached. The scanner's own.
    uint64_t last_reached_ns() const noexcept { return last_reached_ns_; }
    void set_last_reached(uint64_t now) noexcept { last_reached_ns_ = now; }
    /// How the scanner asks for this stream's marks. Its own.
    struct Asking {
        bool keeps_up = false;   // all that were asked for had been reached, the last time
        uint64_t youth = 0;      // ns: what was made so lately is not asked for yet
    };
    Asking& asking() noexcept { return asking_; }
    /// The failure of work on this stream, with the suspects, for what the driver answered.
    ErrorPtr failure_of_work(CUresult result, const char* function) noexcept;

    /// A stream on which something runs or is held gets a last mark, and with it the scanner keeps it until then. One that the
    /// scanner keeps otherwise it keeps until it looks the next time: it looks now.
    void let_go() noexcept override;
    void stop() noexcept override;
    bool drain(uint64_t deadline) noexcept override;
    /// Waits until all its marks are reached. False if the deadline passes first.
    bool drain_marks(uint64_t deadline) noexcept;

    /// What it is part of and goes with (a pool, a pipeline), as static text: the user may not destroy it. NULL: it is the
    /// user's.
    const char* whole() const noexcept { return whole_.load(std::memory_order_acquire); }
    void set_whole(const char* whole) noexcept { whole_.store(whole, std::memory_order_release); }
    bool is_part() const noexcept override { return whole() != nullptr; }

    /// For streams that are used for one thing after another: true for one caller if nothing is on it.
    bool claim_if_idle() noexcept;
    void unclaim() noexcept { claimed_.store(false, std::memory_order_release); }

    uint64_t accepted() const noexcept { return accepted_.load(std::memory_order_relaxed); }  // operations, so far
    uint64_t load() const noexcept;  // of them, those not seen done
    void count_launch() noexcept { bump(launches_, 1); }
    void count_copy(uint64_t bytes) noexcept { count_copies(1, bytes); }
    void count_copies(uint64_t count, uint64_t bytes) noexcept {
        bump(copies_, count);
        bump(copied_bytes_, bytes);
    }
    void count_fill() noexcept { bump(fills_, 1); }
    void add_counters(gpo_statistics& statistics) const noexcept;

private:
    ~Stream() override;
    // Counters have one writer at a time, under the submit lock.
    static void bump(std::atomic<uint64_t>& counter, uint64_t by) noexcept {
        counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }
    template <class Any>
    gpo_status put(Any& operation);
    template <class Any>
    bool issue(Any& operation);
    template <class Any>
    void hand_over(Any& operation, uint64_t number);
    void hand_over_watched(Operation& operation, uint64_t number);
    void hand_over_traced(Operation& operation, uint64_t number, trace::Recorder& recorder);
    /// Around an operation while it is issued: with GPUORCH_ATTRIBUTE its number is written on the GPU before and behind it. Not
    /// in a capture: the host's graph is not to have what is ours, and may be launched when the numbers' memory is gone.
    class Attributing {
    public:
        Attributing(Stream& stream, const Operation& operation, uint64_t number);
        void issued() const noexcept {
            if (on_) write_end();
        }

    private:
        void write(CUdeviceptr address) const noexcept;
        void write_end() const noexcept;
        Stream& stream_;
        const cuuint32_t number_;
        const bool on_;
    };
    void trace_notify(const Mark& mark) noexcept;
    void trace_held() noexcept;
    void note(const Operation& operation) noexcept;
    void note_again(const Operation& operation, bool issued) noexcept;
    [[noreturn]] static void fail_argument(const char* message);
    void refuse_shut_down() const {
        if (runtime().shutting_down()) [[unlikely]] fail_shut_down();
    }
    [[noreturn]] static void fail_shut_down();
    /// Holds the submit lock. The first thread to take it, as a rule the one that puts something on first, owns it, and gets it
    /// for less.
    class Submitting {
    public:
        explicit Submitting(Stream& stream) noexcept : lock_(stream.submit_, stream.owned_by(handle::thread_number())) {}

    private:
        const host::OwnedLock lock_;
    };
    bool owned_by(uint32_t thread) noexcept {
        const uint32_t owner = owner_.load(std::memory_order_relaxed);
        return owner == handle::kNoThread ? become_owned(thread) : owner == thread;
    }
    bool become_owned(uint32_t thread) noexcept;
    gpo_status hold(Operation& operation, bool internal);
    CUevent take_spare_event(bool timing);
    void take_spare_events(bool timing);
    gpo_status put_notify(Mark mark);
    bool notify_now(CompletionQueue& queue, uint64_t user_data, uint32_t source, uint64_t ticks);
    bool running();   // whether the GPU is at work for it
    Ref<Reached> newest_waiter(uint64_t behind) noexcept;
    void keep_waiter(Ref<Reached> waiter, uint64_t behind, uint64_t drops) noexcept;
    bool may_run() noexcept;
    void leave_mark() noexcept;
    void go() noexcept;   // it is gone() from there on
    void refuse_lost() {
        if (context_->lost()) [[unlikely]] fail_lost();
    }
    [[noreturn]] void fail_lost();
    void push_failed(Mark mark, ErrorPtr error);
    struct Held {
        std::unique_ptr<Operation> operation;
        bool internal = false;                         // one of the library's own marks: not counted
        ErrorPtr dropped;                              // why it was dropped; NULL: it is held, or was issued
    };
    using Kept = std::list<Held>;
    // All under the submit lock. What they are done with is put on `spent`, for conclude() after the lock: with an operation
    // goes what it refers to, and that may need a submit lock (a module that is unloaded when all streams have passed).
    void issue_ready(Kept& spent) noexcept;
    void watch_work();
    void drop_held(const ErrorPtr& error, Kept& spent) noexcept;
    uint64_t drop_all(const ErrorPtr& error, Kept& spent) noexcept;
    void try_again() noexcept;
    void flush_now() noexcept;
    void count_spent(const Held& held) noexcept {
        if (!held.internal) users_held_.store(users_held_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }
    static void conclude(Kept& spent) noexcept;
    std::string suspects() const;
    std::string name_of(uint64_t number) const;
    uint64_t operation_of(uint64_t driver_number) const noexcept;

    // What each call looks at and hardly anybody writes: on the line of the object's own, and the next.
    const Ref<Context> context_;
    CUstream native_ = nullptr;
    Context::Attribution attribution_;
    std::atomic<bool> failed_{false}, deferring_{false};
    std::atomic<bool> scanned_{false};                 // known to the scanner
    std::atomic<bool> exposed_, announced_{false}, claimed_{false}, orphaned_{false};
    const bool wrapped_, blocking_;
    const gpo_device_t device_;
    int32_t priority_ = 0;
    const uint32_t max_held_;
    std::atomic<const char*> whole_{nullptr};

    // Written by whoever puts work on: first what every call writes. The scanner doesn't read it.
    alignas(64) host::OwnedMutex submit_;
    std::atomic<uint32_t> owner_{handle::kNoThread};   // thread number of whoever took it first
    std::atomic<bool> was_current_{false};             // the context, for whoever put on the last operation
    std::atomic<bool> marked_{false};                  // changed under submit_: nothing lies behind the newest recorded mark
    std::atomic<uint64_t> accepted_{0};
    Kept held_;                                        // under submit_
    std::atomic<uint64_t> launches_{0}, notifies_{0};
    std::atomic<uint64_t> copies_{0}, copied_bytes_{0}, fills_{0};
    std::atomic<uint64_t> held_count_{0};              // of held_, and of these the user's: written under submit_
    std::atomic<uint64_t> users_held_{0};
    class Again final : public Errand {
    public:
        explicit Again(Stream& stream) noexcept : stream_(stream) {}
        void run() noexcept override;

    private:
        Stream& stream_;                               // a reference is held while it is posted
    } again_{*this};
    class Failing final : public Errand {
    public:
        explicit Failing(Stream& stream) noexcept : stream_(stream) {}
        void run() noexcept override;

    private:
        Stream& stream_;                               // a reference is held while it is posted
    } failing_{*this};                                 // drops what is held: posted once, by whoever finds that it has failed
    bool trying_again_ = false;                        // `again_` is posted; under submit_
    bool unmarked_ = false;                            // and is to leave the last mark; under submit_
    std::atomic<bool> to_flush_{false};                // a thread has it on its list, and
    Stream* next_to_flush_ = nullptr;                  // goes on with this one
    trace::OperationSpan* span_ = nullptr;             // under submit_: of the operation that is being issued
    uint64_t held_since_ = 0, operations_kept_ = 0;    // under submit_: while it is traced, and held
    std::atomic<uint64_t> trace_lane_{0};              // session << 32 | lane; written under submit_
    std::vector<CUevent> events_[2];                   // under submit_: spare ones, for marks and places of marks
    Ref<Reached> waiter_;                              // under submit_: of a wait that timed out, whose mark is
    uint64_t waiter_behind_ = 0;                       // behind this operation: for the next wait for the same
    std::atomic<uint64_t> drops_{0};                   // how often what was held was dropped; written under submit_
    std::atomic<uint32_t> owed_marks_{0};
    host::Mutex native_lock_;                          // taken after submit_; a leaf, but for driver calls: see stay()
    std::atomic<bool> gone_{false};                    // written under both
    // What the scanner writes all the time.
    alignas(64) std::atomic<uint64_t> completed_{0};
    uint64_t last_reached_ns_ = 0;
    Asking asking_;
    MarkQueue marks_;

    struct Recent {
        std::atomic<const char*> kind{nullptr}, label{nullptr};
        std::atomic<uint64_t> driver_number{0};        // the driver's count behind it, where the driver counts; or this:
    };
    static constexpr uint64_t kNotIssued = UINT64_MAX;
    static constexpr uint64_t kRecent = 64;
    std::array<Recent, kRecent> recent_;               // the last operations, for suspects
};

// To the driver, with what is to be known of it.
template <class Any>
inline void Stream::hand_over(Any& operation, uint64_t number) {
    marked_.store(false, std::memory_order_relaxed);
    if (trace::on() || attribution_.words) [[unlikely]]
        hand_over_watched(operation, number);
    else
        operation.issue(*this);
}

/// False if it has to be held.
template <class Any>
inline bool Stream::issue(Any& operation) {
    refuse_lost();
    const DriverScope scope(*context_, operation.plain() ? Calls::plain : Calls::any, was_current_);
    const Submitting submitting(*this);
    if (failed_.load(std::memory_order_relaxed)) [[unlikely]] throw Failure(failure());
    if (!held_.empty() || !operation.ready(*this)) [[unlikely]] return false;
    hand_over(operation, accepted_.load(std::memory_order_relaxed) + 1);
    note(operation);
    return true;
}

template <class Any>
inline gpo_status Stream::put(Any& operation) {
    if (!issue(operation)) [[unlikely]] return hold(operation, false);
    if (operation.consequences()) [[unlikely]] operation.afterwards(nullptr);
    return GPO_SUCCESS;
}

inline void Stream::note(const Operation& operation) noexcept {
    if (!operation.numbered()) return;
    const uint64_t number = accepted_.load(std::memory_order_relaxed) + 1;
    Recent& recent = recent_[number % kRecent];
    recent.kind.store(operation.kind(), std::memory_order_relaxed);
    recent.label.store(operation.label(), std::memory_order_relaxed);
    if (context_->software())
        recent.driver_number.store(context_->driver().submitted(native_), std::memory_order_relaxed);
    accepted_.store(number, std::memory_order_release);
}

template <>
struct TypeOf<Stream> { static constexpr Type value = Type::stream; };

}  // namespace gpo
