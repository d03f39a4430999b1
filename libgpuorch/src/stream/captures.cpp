#include "stream/captures.h"

#include <mutex>
#include <utility>

#include "stream/driver_stream.h"
#include "stream/operation.h"

namespace gpo {

// Capture number of a stream whose capture the driver can't report.
static constexpr uint64_t kAnyCapture = UINT64_MAX;

/// All listeners of the process.
class StreamRecordings {
public:
    void add(StreamRecording& listener, uint64_t capture) noexcept {
        std::lock_guard lock(lock_);
        listener.capture_ = capture;
        listener.next_ = std::exchange(first_, &listener);
        count_.fetch_add(1, std::memory_order_relaxed);
    }
    void remove(StreamRecording& listener) noexcept {
        std::lock_guard lock(lock_);
        for (StreamRecording** at = &first_; *at; at = &(*at)->next_) {
            if (*at != &listener) continue;
            *at = listener.next_;
            count_.fetch_sub(1, std::memory_order_relaxed);
            return;
        }
    }
    static void renumber(StreamRecording& listener, uint64_t capture) noexcept { listener.capture_ = capture; }
    template <class Visit>
    void visit(uint64_t capture, Visit visit) noexcept {
        std::lock_guard lock(lock_);
        for (StreamRecording* each = first_; each; each = each->next_)
            if (each->capture_ == capture || capture == kAnyCapture) visit(*each);
    }
    bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }

private:
    host::Mutex lock_;
    StreamRecording* first_ = nullptr;   // under lock_
    std::atomic<uint32_t> count_{0};
};

namespace captures {

namespace {

constinit StreamRecordings g_listeners;

struct Point {
    uint64_t capture = 0;  // 0: the stream isn't captured; kAnyCapture: the driver can't report it, for `why`
    CUgraphNode node = nullptr;
    CUresult why = CUDA_SUCCESS;
};

// The captured stream's capture and last node. Inside a DriverScope.
Point point_of(DriverStream& stream) noexcept {
    if (!stream.given_out() || stream.detached()) return {};
    if (const uint64_t recording = stream.direct_recording()) return {recording};
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t number = 0;
    CUgraph graph = nullptr;
    const CUgraphNode* after = nullptr;
    size_t count = 0;
    const CUresult result =
        stream.table().cuStreamGetCaptureInfo(stream.native(), &status, &number, &graph, &after, &count);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return {};
    if (result != CUDA_SUCCESS) return {kAnyCapture, nullptr, result};
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return {};
    return {number, count == 1 ? after[0] : nullptr};
}

}  // namespace

ErrorPtr of_other_thread(const DriverStream& stream) noexcept {
    return make_error(GPO_INVALID_STATE, stream.describe(),
                      " is in a recording, which only the thread that began it may add to");
}

void add(StreamRecording& listener, uint64_t capture) noexcept {
    g_listeners.add(listener, capture);
}

void remove(StreamRecording& listener) noexcept {
    g_listeners.remove(listener);
}

uint64_t new_number() noexcept {
    static constinit std::atomic<uint64_t> newest{uint64_t{1} << 62};
    return newest.fetch_add(1, std::memory_order_relaxed) + 1;
}

void renumber(StreamRecording& listener, uint64_t capture) noexcept { g_listeners.renumber(listener, capture); }

Ref<StreamRecording> find(uint64_t capture) noexcept {
    Ref<StreamRecording> found;
    g_listeners.visit(capture, [&](StreamRecording& listener) { found = Ref<StreamRecording>(&listener); });
    return found;
}

bool any() noexcept { return g_listeners.any(); }

bool is_recording(uint64_t capture) noexcept {
    bool found = false;
    g_listeners.visit(capture, [&](StreamRecording&) { found = true; });
    return found;
}

void note_captured(DriverStream& stream, const Operation& operation) noexcept {
    if (stream.direct_recording()) return;   // the operation has added itself
    const Point point = point_of(stream);
    if (!point.capture) return;
    ErrorPtr unknown;   // the recording couldn't keep the operation's objects
    if (point.capture == kAnyCapture) {
        const ErrorPtr why = stream.context().error_of(point.why, "cuStreamGetCaptureInfo");
        unknown = make_error(why->status, "which node the operation has become isn't known: ", why->sentence());
    }
    g_listeners.visit(point.capture, [&](StreamRecording& listener) {
        if (unknown) listener.refused(stream, operation.kind(), unknown);
        else if (!listener.on_this_thread()) listener.refused(stream, operation.kind(), of_other_thread(stream));
        else listener.captured(stream, operation, point.node);
    });
}

void note_refused(DriverStream& stream, const char* function, const ErrorPtr& error) noexcept {
    if (!stream.given_out()) return;
    const DriverTry scope(stream.context());
    const Point point = scope.entered() ? point_of(stream) : Point{kAnyCapture};
    if (!point.capture) return;
    g_listeners.visit(point.capture, [&](StreamRecording& listener) { listener.refused(stream, function, error); });
}

void refuse_other_thread(DriverStream& stream) {
    const Point point = point_of(stream);
    if (!point.capture || point.capture == kAnyCapture) return;
    bool other = false;
    g_listeners.visit(point.capture, [&](StreamRecording& listener) { other |= !listener.on_this_thread(); });
    if (other) throw Failure(of_other_thread(stream));
}

}  // namespace captures

}  // namespace gpo
