#include "stream/driver_stream.h"

namespace gpo {

// --- life ---

void DriverStream::make_native(int32_t priority) {
    context_->check(table().cuStreamCreateWithPriority(&native_, blocking_ ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING,
                                                       priority),
                    "cuStreamCreateWithPriority");
    table().cuStreamGetPriority(native_, &priority_);
}

void DriverStream::check_wrapped() {
    // The per-thread default stream is another stream in each thread, and the driver doesn't report which. The
    // library's threads would record marks on other streams than the program's.
    if (native_ == CU_STREAM_PER_THREAD)
        gpo::fail(GPO_NOT_SUPPORTED,
                  "the per-thread default stream (2) is another one in each thread, and the library's threads "
                  "can't follow it: use a stream of gpo_stream_create, or wrap one that the program has created");
    // The legacy default stream belongs to the current context. Any other stream must belong to this context.
    if (native_ != nullptr && native_ != CU_STREAM_LEGACY) {
        CUcontext owner = nullptr;
        context_->check(table().cuStreamGetCtx(native_, &owner), "cuStreamGetCtx");
        if (owner != context_->native())
            gpo::fail(GPO_INVALID_ARGUMENT, "the stream is of another context than the device");
    }
    table().cuStreamGetPriority(native_, &priority_);
}

void DriverStream::destroy_native() noexcept {
    if (wrapped_ || !native_) return;
    DriverTry scope(*context_);
    if (scope.entered()) table().cuStreamDestroy(native_);
}

void DriverStream::detach() noexcept {
    const Submission::Lock lock(submission_);
    const auto staying = stay();
    detached_.store(true, std::memory_order_release);
}

// --- exposure and direct recordings ---

CUstream DriverStream::expose() {
    // First the flag: a recording that the stream joins from now on is a capture.
    exposed_.store(Exposed::given_out);
    enter_capture();
    return native_;
}

void DriverStream::join_direct(StreamRecording& recording, uint64_t number) noexcept {
    join_recording();
    recording_ = Ref<StreamRecording>(&recording);
    direct_.store(number);   // before private_handle() is asked again, as expose() does in the other order
}

void DriverStream::leave_direct(const StreamRecording& recording) noexcept {
    if (recording_.get() != &recording) return;
    if (direct_.exchange(0) != 0) leave_recording();
    recording_ = nullptr;
}

void DriverStream::enter_capture() {
    if (!direct_recording()) return;
    Ref<StreamRecording> recording;
    {
        const Submission::Lock lock(submission_);
        recording = recording_;
    }
    if (recording) recording->enter_capture();
}

void DriverStream::refuse_recorded_elsewhere() {
    if (!captures::any()) return;
    if (!direct_recording()) return captures::refuse_other_thread(*this);
    if (!recording_->on_this_thread()) throw Failure(captures::of_other_thread(*this));
}

// --- capture ---

bool DriverStream::capturing() {
    if (!given_out() || detached()) return false;
    if (direct_recording()) return true;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = table().cuStreamIsCapturing(native_, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
    context_->check(result, "cuStreamIsCapturing");
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

uint64_t DriverStream::capture() {
    if (!given_out()) return 0;
    if (const uint64_t recording = direct_recording()) return recording;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    context_->check(table().cuStreamIsCapturing(native_, &status), "cuStreamIsCapturing");
    if (status == CU_STREAM_CAPTURE_STATUS_NONE) return 0;
    // An invalidated capture has no number. Even so, the stream leaves the capture only when the capture is ended.
    cuuint64_t number = 0;
    const CUresult result = table().cuStreamGetCaptureInfo(native_, &status, &number, nullptr, nullptr, nullptr);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) context_->check(result, "cuStreamGetCaptureInfo");
    return result == CUDA_SUCCESS && number != 0 ? number : UINT64_MAX;
}

bool DriverStream::is_in(uint64_t number) {
    const auto staying = stay();
    if (detached()) return false;
    const uint64_t now = capture();
    return now == number || now == UINT64_MAX;
}

void DriverStream::refuse_capture() {
    if (capturing()) gpo::fail(GPO_CAPTURE_REFUSED, describe(), " is being captured");
}

void DriverStream::refuse_capture_now() {
    DriverScope scope(*context_);
    refuse_capture();
}

// --- the work ---

// For a stream with pending marks: false if the work is done, and only the scanner hasn't looked yet.
bool DriverStream::may_run() noexcept {
    if (wrapped_) return true;   // don't ask the driver: the program may destroy the native stream after its work
    try {
        DriverScope scope(*context_);
        return capturing() || table().cuStreamQuery(native_) == CUDA_ERROR_NOT_READY;
    } catch (...) {
        return false;
    }
}

CUresult DriverStream::ask(bool marks) {
    DriverScope scope(*context_);
    const auto staying = stay();
    if (detached()) return marks ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
    return capturing() ? CUDA_SUCCESS : table().cuStreamQuery(native_);
}

}  // namespace gpo
