// A stream of the driver with what the library knows of it, as the parts of a stream see it: context, native handle,
// submit lock, capture state, failure. The class Stream (stream/stream.h) adds the parts and the verbs of the API.
//
// A stream is *exposed* while the program, or a recording, may have a capture of it: as long as it isn't, no call asks
// the driver for a capture.
#pragma once

#include <mutex>

#include "completion/watched.h"
#include "device/context.h"
#include "stream/captures.h"
#include "stream/submission.h"

namespace gpo {

class DriverStream : public WatchedStream {
public:
    // --- properties ---
    Context& context() const noexcept { return *context_; }
    const driver::Table& table() const noexcept { return context_->table(); }
    CUstream native() const noexcept final { return native_; }
    bool wrapped() const noexcept { return wrapped_; }
    bool blocking() const noexcept { return blocking_; }
    int32_t priority() const noexcept { return priority_; }
    /// True for blocking streams and the legacy stream: they wait for each other's work.
    bool legacy() const noexcept { return blocking_ || native_ == nullptr || native_ == CU_STREAM_LEGACY; }
    /// True for a wrapped stream whose handle was destroyed.
    bool detached() const noexcept final { return detached_.load(std::memory_order_acquire); }
    Submission& submission() noexcept { return submission_; }
    const Submission& submission() const noexcept { return submission_; }

    // --- exposure ---
    /// Gives out the native handle: from now on the program may capture the stream, and a recording of the stream is a
    /// capture of the driver. Throws Failure.
    CUstream expose();
    /// True if the stream may be in a capture or a recording: the native handle was given out, or the stream is in a
    /// recording.
    bool given_out() const noexcept final { return exposed_.load(std::memory_order_acquire) != Exposed::no; }
    /// Called when the stream joins a recording, and when it is in no recording any more. Under the submit lock.
    void join_recording() noexcept { expose_as(Exposed::no, Exposed::recorded); }
    void leave_recording() noexcept { expose_as(Exposed::recorded, Exposed::no); }
    /// True if the program can't put work on the native stream without asking for its handle: the stream isn't wrapped,
    /// and the handle wasn't given out.
    bool private_handle() const noexcept { return exposed_.load() != Exposed::given_out; }

    // --- direct recordings (stream/captures.h) ---
    /// The number of the direct recording that the stream is in; 0: none. Any thread.
    uint64_t direct_recording() const noexcept { return direct_.load(); }
    /// The recording that the stream has joined directly, or NULL. Under the submit lock.
    StreamRecording* recording() const noexcept { return recording_.get(); }
    /// Joins a recording, and leaves it if the stream is in it. Under the submit lock.
    void join_direct(StreamRecording& recording, uint64_t number) noexcept;
    void leave_direct(const StreamRecording& recording) noexcept;
    /// The stream's recording has become a capture of the driver, which the stream is in.
    void set_captured() noexcept { direct_.store(0, std::memory_order_release); }
    /// If the stream is in a direct recording, the recording goes on in a capture of the driver. With no lock of the
    /// stream held. Throws Failure.
    void enter_capture();

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
    /// Throws Failure(GPO_INVALID_STATE) if another thread records the stream. Under the submit lock.
    void refuse_other_thread() {
        if (given_out()) [[unlikely]] refuse_recorded_elsewhere();
    }
    /// For a stream with pending marks: false if the work is done, and only the scanner hasn't looked yet.
    bool may_run() noexcept;

    // --- failure ---
    /// The sticky failure, or NULL.
    ErrorPtr failure() const noexcept { return failed_.load(std::memory_order_acquire) ? error() : nullptr; }
    /// Whether there is one. Relaxed: exact under the submit lock.
    bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
    /// Sets the sticky failure, unless there is one: true if there was none.
    bool set_failed(const ErrorPtr& error) noexcept {
        note_sticky_error(error);
        return !failed_.exchange(true, std::memory_order_acq_rel);
    }

protected:
    /// Without a native stream, which make_native() makes.
    DriverStream(Ref<Context> context, bool blocking, const char* label)
        : WatchedStream(context->runtime(), Type::stream, label), context_(std::move(context)),
          exposed_(Exposed::no), wrapped_(false), blocking_(blocking) {}
    /// Wraps a stream of the program.
    DriverStream(Ref<Context> context, CUstream foreign, const char* label)
        : WatchedStream(context->runtime(), Type::stream, label), context_(std::move(context)), native_(foreign),
          exposed_(Exposed::given_out), wrapped_(true), blocking_(false) {}
    ~DriverStream() override = default;
    /// Inside a DriverScope. Throws Failure.
    void make_native(int32_t priority);
    /// Throws Failure unless a wrapped stream is one of the context, and one that other threads can use. Inside a
    /// DriverScope.
    void check_wrapped();
    /// The driver lets pending work finish. Does nothing for wrapped streams.
    void destroy_native() noexcept;

    std::unique_lock<host::Mutex> stay() noexcept final {
        return wrapped_ ? std::unique_lock(native_lock_) : std::unique_lock<host::Mutex>();
    }
    /// No thread passes the handle to the driver from now on. With neither lock held.
    void detach() noexcept;
    /// The driver's answer about the stream's work: CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or a refusal to answer.
    /// `marks`: the stream has pending marks. Throws.
    CUresult ask(bool marks);

private:
    enum class Exposed : uint8_t { no, recorded, given_out };
    void expose_as(Exposed from, Exposed to) noexcept { exposed_.compare_exchange_strong(from, to); }
    [[gnu::cold]] void refuse_recorded_elsewhere();
    void refuse_capture_now();

    // Fields that every call reads and that are rarely written: on the cache line of the base class, and on the next.
    const Ref<Context> context_;
    CUstream native_ = nullptr;
    std::atomic<bool> failed_{false};
    std::atomic<Exposed> exposed_;
    std::atomic<bool> detached_{false};  // written under both locks
    const bool wrapped_, blocking_;
    int32_t priority_ = 0;
    std::atomic<uint64_t> direct_{0};    // see direct_recording()
    host::Mutex native_lock_;            // taken after the submit lock; a leaf, but for driver calls: see stay()
    Ref<StreamRecording> recording_;     // under the submit lock
    Submission submission_;
};

/// Submits a record to the driver on this stream, and counts the record. Called from an operation's issue(). Throws if
/// the driver refuses.
template <class Record>
void issue(DriverStream& stream, const Record& work) {
    const Issued issued = issue(stream.context(), stream.native(), work);
    stream.context().check(issued.result, issued.function);
    stream.submission().count(work);
}

/// The same for any record.
inline void issue(DriverStream& stream, const AnyWork& work) {
    std::visit([&](const auto& record) { issue(stream, record); }, work);
}

}  // namespace gpo
