#include "graph/recording.h"

#include <algorithm>
#include <string_view>

#include "kernel/launch.h"

namespace gpo {

// Takes the stream out of the recording, if the driver says that it isn't captured. Under its submit lock.
static void leave_if_ended(Stream& stream) noexcept {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (stream.table().cuStreamIsCapturing(stream.native(), &status) != CUDA_SUCCESS) return;
    if (status == CU_STREAM_CAPTURE_STATUS_NONE) stream.leave_recording();
}

GraphRecording::GraphRecording(Ref<Stream> stream) : stream_(std::move(stream)), thread_(handle::thread_number()) {
    Context& context = stream_->context();
    const driver::Table& table = context.table();
    DriverScope scope(context);
    const Submission::Lock lock(stream_->submission());
    if (const ErrorPtr failed = stream_->failure()) throw Failure(failed);
    if (!stream_->nothing_held())
        fail(GPO_INVALID_STATE, stream_->describe(), " is held: what it holds would be recorded when it is released");
    stream_->join_recording();
    stream_->refuse_capture();
    CUresult result = table.cuStreamBeginCapture(stream_->native(), CU_STREAM_CAPTURE_MODE_RELAXED);
    if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        fail(GPO_CAPTURE_REFUSED, stream_->describe(), " is the legacy default stream, which can't be captured");
    context.check(result, "cuStreamBeginCapture");
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t number = 0;
    const CUgraphNode* after = nullptr;
    size_t count = 0;
    result = table.cuStreamGetCaptureInfo(stream_->native(), &status, &number, &graph_, &after, &count);
    number_ = number;
    try {
        context.check(result, "cuStreamGetCaptureInfo");
        captures::add(*this, number_);
    } catch (...) {
        CUgraph graph = nullptr;
        if (table.cuStreamEndCapture(stream_->native(), &graph) == CUDA_SUCCESS && graph) table.cuGraphDestroy(graph);
        leave_if_ended(*stream_);
        throw;
    }
}

GraphRecording::~GraphRecording() {
    captures::remove(*this);
    // Tries twice to enter the driver: a stream that stays in capture is useless.
    for (int tries = 0; !ended_ && tries < 2; ++tries) discard();
}

void GraphRecording::discard() noexcept {
    try {
        DriverScope scope(stream_->context());
        CUgraph graph = nullptr;
        if (end_capture(&graph) == CUDA_SUCCESS && graph) stream_->table().cuGraphDestroy(graph);
        leave();
    } catch (const std::exception&) {
        // Usually the device is lost, and the recording with it.
    }
}

bool GraphRecording::on_this_thread() const noexcept { return thread_ == handle::thread_number(); }

CUresult GraphRecording::end_capture(CUgraph* graph) noexcept {
    ended_ = true;
    const Submission::Lock lock(stream_->submission());
    const driver::Table& table = stream_->table();
    CUresult result = table.cuStreamEndCapture(stream_->native(), graph);
    if (result == CUDA_SUCCESS) return result;
    // A failure of the capture has ended it. Any other failure, such as lack of memory, may have had no effect, and the
    // stream must not stay in capture.
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const bool goes_on = table.cuStreamIsCapturing(stream_->native(), &status) == CUDA_SUCCESS &&
                         status != CU_STREAM_CAPTURE_STATUS_NONE;
    if (goes_on) result = table.cuStreamEndCapture(stream_->native(), graph);
    if (is_sticky(result)) stream_->context().error_of(result, "cuStreamEndCapture");  // no other call may find out
    return result;
}

// Calls of the streams needn't check for a capture any more.
void GraphRecording::leave() noexcept {
    const auto leave_one = [](Stream& stream) {
        const Submission::Lock lock(stream.submission());
        leave_if_ended(stream);
    };
    leave_one(*stream_);
    for (const Ref<Stream>& stream : joined_) leave_one(*stream);
}

CUgraph GraphRecording::end() {
    captures::remove(*this);
    CUgraph graph = nullptr;
    const CUresult result = end_capture(&graph);
    leave();
    const bool broken = result != CUDA_SUCCESS || !graph;
    if (!broken && !first_refusal_) return graph;
    if (graph) stream_->table().cuGraphDestroy(graph);
    if (broken && is_sticky(result)) throw Failure(stream_->context().loss());
    // After lack of memory the caller may try again; any other refused piece can't be recorded.
    const bool no_memory =
        first_refusal_ ? first_refusal_->status == GPO_OUT_OF_MEMORY : result == CUDA_ERROR_OUT_OF_MEMORY;
    auto error = std::make_shared<Error>();
    error->status = no_memory ? GPO_OUT_OF_MEMORY : GPO_CAPTURE_REFUSED;
    error->native_code = result;
    error->native_domain = result ? GPO_NATIVE_CUDA : GPO_NATIVE_NONE;
    error->message = first_refusal_ ? text("the recording lacks what was refused: ", first_refusal_->sentence())
                                    : why_broken(result);
    throw Failure(std::move(error));
}

std::string GraphRecording::why_broken(CUresult result) const {
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return "the driver had no memory to end the recording";
    if (result != CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
        return "a call that can't be recorded, of another library or of the program, has broken the recording";
    std::string names;
    for (const Ref<Stream>& stream : joined_) names += text(names.empty() ? "" : ", ", stream->describe());
    return text("a stream joined the recording, and ", stream_->describe(), " doesn't wait for it at the end",
                names.empty() ? "" : text("; these were given work: ", names));
}

// --- what streams report ---

// A kernel that is captured has the priority of its stream.
static std::optional<LaunchAttributes> attributes_of(const Operation& operation, const Stream& stream) noexcept {
    const auto* launch = dynamic_cast<const LaunchKernel*>(&operation);
    if (!launch) return std::nullopt;
    const KernelWork& work = launch->record();
    return LaunchAttributes{{work.cluster[0], work.cluster[1], work.cluster[2]},
                            work.cooperative,
                            work.has_priority ? work.priority : stream.priority()};
}

void GraphRecording::captured(Stream& stream, const Operation& operation, CUgraphNode node) noexcept {
    std::lock_guard lock(lock_);
    try {
        const auto is_this = [&](const Ref<Stream>& joined) { return &*joined == &stream; };
        if (&stream != &*stream_ && std::none_of(joined_.begin(), joined_.end(), is_this))
            joined_.push_back(Ref<Stream>(&stream));
        const Operation& what = operation.content(stream);
        Ref<const Counted> owner = what.owner();
        if (!node || (operation.work().engine == trace::Engine::none && !owner)) return;   // the operation made no node
        made_.push_back({node, what.label(), std::move(owner), attributes_of(what, stream)});
    } catch (const std::bad_alloc&) {
        if (!first_refusal_) first_refusal_ = bare_error(GPO_OUT_OF_MEMORY);
    }
}

void GraphRecording::refused(Stream& stream, const char* function, const ErrorPtr& error) noexcept {
    refused(function, stream.describe().c_str(), error);
}

void GraphRecording::refused(const char* function, const char* of, const ErrorPtr& error) noexcept {
    std::lock_guard lock(lock_);
    if (first_refusal_) return;
    // A sentence about a labelled stream needn't name the stream again.
    const std::string_view sentence = error->sentence(), whose = of;
    const bool again = whose.ends_with('`') && sentence.starts_with(whose);
    first_refusal_ = make_error(error->status, function, " on ", whose, again ? ": it" : ": ",
                                again ? sentence.substr(whose.size()) : sentence);
}

std::optional<GraphRecording::Made> GraphRecording::next_made() noexcept {
    std::lock_guard lock(lock_);
    return passed_ < made_.size() ? std::optional(made_[passed_]) : std::nullopt;
}

void GraphRecording::passed() noexcept {
    std::lock_guard lock(lock_);
    ++passed_;
}

// --- where a stream is ---

CUgraphNode GraphRecording::last(Stream& stream) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t number = 0;
    CUgraph graph = nullptr;
    const CUgraphNode* after = nullptr;
    size_t count = 0;
    const CUresult result =
        stream.table().cuStreamGetCaptureInfo(stream.native(), &status, &number, &graph, &after, &count);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) stream.context().check(result, "cuStreamGetCaptureInfo");
    if (result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE || number != number_)
        fail(GPO_INVALID_STATE, stream.describe(), " is not in this recording");
    return count == 1 ? after[0] : nullptr;
}

void GraphRecording::set_last(Stream& stream, CUgraphNode node) {
    static_cast<void>(last(stream));   // throws if the stream isn't in the recording
    stream.context().check(
        stream.table().cuStreamUpdateCaptureDependencies(stream.native(), &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
        "cuStreamUpdateCaptureDependencies");
}

}  // namespace gpo
