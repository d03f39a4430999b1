#include "softgpu/capture/capture.h"

#include <algorithm>

#include "softgpu/machine/machine.h"
#include "softgpu/machine/refused.h"

namespace gpo::softgpu {

namespace {

std::atomic<uint64_t> g_threads{0};
thread_local uint64_t t_thread = 0;
thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

void leave(Stream& stream) noexcept {
    stream.capture.reset();
    stream.capture_origin = false;
    stream.depends.clear();
}

/// Whether every stream has joined the origin: all nodes in `depends` of the capture's streams are among the origin's
/// `depends` or before them. Nodes that no stream follows don't count: nodes added by hand, or replaced by
/// cuStreamUpdateCaptureDependencies.
bool joined(const Capture& capture) {
    std::vector<bool> reached(capture.graph->nodes.size());
    std::vector<GraphNode*> open = capture.origin->depends;
    while (!open.empty()) {
        const GraphNode& node = *open.back();
        open.pop_back();
        if (reached[node.position]) continue;
        reached[node.position] = true;
        open.insert(open.end(), node.depends.begin(), node.depends.end());
    }
    return std::all_of(capture.streams.begin(), capture.streams.end(), [&](const Stream* stream) {
        return std::all_of(stream->depends.begin(), stream->depends.end(),
                           [&](const GraphNode* node) { return reached[node->position]; });
    });
}

void add_dependencies(std::vector<GraphNode*>& to, const std::vector<GraphNode*>& more) {
    for (GraphNode* node : more)
        if (std::find(to.begin(), to.end(), node) == to.end()) to.push_back(node);
}

}  // namespace

uint64_t this_thread() noexcept {
    if (!t_thread) t_thread = g_threads.fetch_add(1, std::memory_order_relaxed) + 1;
    return t_thread;
}

CUstreamCaptureMode exchange_capture_mode(CUstreamCaptureMode mode) noexcept { return std::exchange(t_mode, mode); }

void refuse_beside_capture(Machine& machine) {
    if (!machine.strict_captures.load(std::memory_order_acquire) || t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
    host::Lock hold(machine.lock);
    bool unsafe = false;
    for (const auto& capture : machine.captures) {
        if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
        const bool mine = capture->thread == this_thread();
        const bool all = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && t_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (mine || all) unsafe = capture->invalidated = true;
    }
    if (unsafe) refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void begin_capture(Machine& machine, Stream& stream, CUstreamCaptureMode mode, Graph* into,
                   std::vector<GraphNode*> after) {
    require(!stream.legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require(!stream.capture, CUDA_ERROR_ILLEGAL_STATE);
    auto capture = std::make_shared<Capture>();
    capture->mode = mode;
    capture->thread = this_thread();
    capture->context = stream.context;
    capture->origin = &stream;
    capture->streams.push_back(&stream);
    machine.captures.reserve(machine.captures.size() + 1);
    capture->graph = into ? into : &machine.graphs.create();
    capture->graph->capturing = true;
    capture->id = ++machine.next_capture_id;
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED) machine.strict_captures.fetch_add(1, std::memory_order_release);
    machine.captures.push_back(capture);
    machine.capturing.fetch_add(1, std::memory_order_release);
    stream.capture_origin = true;
    stream.depends = std::move(after);
    stream.capture = std::move(capture);
}

/// The capture is over; the graph stays.
static void close_capture(Machine& machine, Capture& capture) noexcept {
    if (capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED) machine.strict_captures.fetch_sub(1, std::memory_order_release);
    machine.capturing.fetch_sub(1, std::memory_order_release);
    const auto streams = std::move(capture.streams);
    machine.events.for_each([&](Event& event) {
        if (event.capture.get() == &capture) event.captured.clear();
    });
    // The last reference may be a stream's: nothing of the capture is touched after this.
    std::erase_if(machine.captures, [&](const auto& each) { return each.get() == &capture; });
    for (Stream* stream : streams) leave(*stream);
}

void abandon_capture(Machine& machine, Capture& capture) noexcept {
    Graph& graph = *capture.graph;
    close_capture(machine, capture);
    machine.graphs.destroy(graph);
}

CUresult end_capture(Machine& machine, Stream& stream, CUgraph* graph) {
    *graph = nullptr;
    require(stream.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    const std::shared_ptr<Capture> capture = stream.capture;
    require(capture->origin == &stream, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    require(capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED || capture->thread == this_thread(),
            CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    CUresult result = CUDA_SUCCESS;
    try {
        if (capture->invalidated)
            result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        else if (!joined(*capture))
            result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    } catch (const std::bad_alloc&) {
        result = CUDA_ERROR_OUT_OF_MEMORY;  // the stream leaves the capture all the same
    }
    if (result != CUDA_SUCCESS) {
        abandon_capture(machine, *capture);
        return result;
    }
    Graph& made = *capture->graph;
    close_capture(machine, *capture);
    made.capturing = false;
    *graph = made.as<CUgraph>();
    return CUDA_SUCCESS;
}

void require_valid(const Stream& stream) {
    if (stream.capture && stream.capture->invalidated) refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

void refuse_in_capture(Stream& stream) {
    stream.capture->invalidated = true;
    refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

bool is_implicit(const Machine& machine, const Stream& legacy) noexcept {
    for (const auto& capture : machine.captures)
        for (const Stream* stream : capture->streams)
            if (stream->blocking() && stream->context == legacy.context) return true;
    return false;
}

void refuse_implicit(Machine& machine, Stream& legacy) {
    bool any = false;
    for (const auto& capture : machine.captures)
        for (const Stream* stream : capture->streams)
            if (stream->blocking() && stream->context == legacy.context) any = capture->invalidated = true;
    if (any) refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

void capture_work(Machine& machine, Stream& stream, Work work, std::vector<Graph*> inner) {
    work.context = stream.context;
    std::vector<GraphNode*> next;
    next.reserve(1);
    Graph& graph = *stream.capture->graph;
    next.push_back(&machine.graphs.add(graph, std::move(work), stream.depends, std::move(inner)));
    stream.depends = std::move(next);
}

void set_dependencies(Stream& stream, const std::vector<GraphNode*>& nodes, bool instead) {
    std::vector<GraphNode*> depends;
    if (!instead) depends = stream.depends;
    add_dependencies(depends, nodes);
    stream.depends = std::move(depends);
}

void capture_record(Stream& stream, Event& event) {
    event.captured = stream.depends;
    event.capture = stream.capture;
}

bool capture_wait(Stream& stream, Event& event) {
    const bool captured = event.capture && !event.capture->streams.empty();
    if (!captured && !stream.capture) return false;
    if (!captured) {   // a captured stream can't follow work outside
        stream.capture->invalidated = true;
        refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
    if (event.capture->invalidated) refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (stream.legacy) {
        event.capture->invalidated = true;
        refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    if (stream.capture && stream.capture != event.capture) {
        stream.capture->invalidated = event.capture->invalidated = true;
        refuse(CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (stream.capture) {
        add_dependencies(stream.depends, event.captured);
        return true;
    }
    std::vector<GraphNode*> depends = event.captured;
    event.capture->streams.push_back(&stream);
    stream.depends = std::move(depends);
    stream.capture = event.capture;
    return true;
}

}  // namespace gpo::softgpu
