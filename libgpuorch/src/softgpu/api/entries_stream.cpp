// Streams: creation and destruction, queries and waits, host functions, writes of and waits for values, capture.
#include <algorithm>

#include "softgpu/api/entries.h"
#include "softgpu/api/nodes.h"
#include "softgpu/api/submission.h"

namespace gpo::softgpu {

namespace {

CUresult CUDAAPI create(CUstream* stream, unsigned flags, int priority) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(stream != nullptr && !(flags & ~unsigned(CU_STREAM_NON_BLOCKING)));
        host::Lock hold(machine.lock);
        Context& context = current_context(machine);
        // Out of range is taken to the nearest end, as CUDA does.
        priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
        *stream = machine.create_stream(context, flags, priority)->as<CUstream>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy(CUstream handle) {
    return enter([&](Machine& machine) -> CUresult {
        require(handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD, CUDA_ERROR_INVALID_HANDLE);
        uintptr_t destroyed = 0;
        {
            Batch batch(machine);
            Stream* stream = machine.streams.find(handle);
            require(stream && !stream->legacy && !stream->per_thread, CUDA_ERROR_INVALID_HANDLE);
            if (const auto capture = stream->capture) {
                capture->invalidated = true;
                if (capture->origin == stream) abandon_capture(machine, *capture);
                else std::erase(capture->streams, stream);
                stream->depends.clear();
            }
            destroyed = stream->handle;
            machine.destroy_stream(batch, *stream);
        }
        machine.see_frees(destroyed, UINT64_MAX);
        machine.trim_pools();
        return success_unless_lost(machine);
    });
}

/// The stream and the ticket of its latest work. Refuses a captured stream and invalidates the capture.
Stream& observed(Machine& machine, CUstream handle, uint64_t* ticket) {
    host::Lock hold(machine.lock);
    current_context(machine);
    Stream& stream = stream_of(machine, handle);
    require_valid(stream);
    if (stream.capture) refuse_in_capture(stream);
    if (stream.legacy && !machine.captures.empty()) refuse_implicit(machine, stream);
    *ticket = stream.submitted.load(std::memory_order_relaxed);
    return stream;
}

CUresult CUDAAPI query(CUstream handle) {
    return enter_live([&](Machine& machine) -> CUresult {
        // The usual case takes no lock: the slot of a stream is always readable.
        if (Stream* stream = machine.streams.find(handle); stream && !machine.capturing.load() && stream->idle()) {
            current_context(machine);
            return success_unless_lost(machine);
        }
        // A record is done a moment before its stream is past it. Both happen under the lock, so a thread that has seen
        // the first sees the second after taking the lock.
        uint64_t ticket = 0;
        Stream& stream = observed(machine, handle, &ticket);
        bool idle = stream.idle();
        if (stream.legacy) {   // its end comes after the blocking streams' work
            host::Lock hold(machine.lock);
            for (Stream* other : stream.context->streams) idle = idle && (!other->blocking() || other->idle());
        }
        return idle ? success_unless_lost(machine) : CUDA_ERROR_NOT_READY;
    });
}

CUresult CUDAAPI synchronize(CUstream handle) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        uint64_t ticket = 0;
        const uint64_t frees = machine.frees.load(std::memory_order_acquire);
        Stream& stream = observed(machine, handle, &ticket);
        const uintptr_t waited_for = stream.handle;
        if (stream.legacy) machine.wait_blocking(*stream.context);
        machine.wait_ticket(stream, ticket);
        machine.see_frees(waited_for, frees);
        machine.trim_pools();
        return success_unless_lost(machine);
    });
}

CUresult CUDAAPI wait_event(CUstream handle, CUevent event_handle, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(!(flags & ~unsigned(CU_EVENT_WAIT_EXTERNAL)));
        Submission submission(machine, handle);
        Event& event = event_of(machine, event_handle);
        if (flags & CU_EVENT_WAIT_EXTERNAL) {
            require(submission.captured());
            make_event_node(machine, event_handle, CommandKind::wait, submission.command(CommandKind::wait));
            submission.submit();
            return CUDA_SUCCESS;
        }
        if (capture_wait(submission.stream(), event)) return CUDA_SUCCESS;
        if (!event.mark || event.mark->done.load(std::memory_order_acquire)) {
            submission.count();
            return CUDA_SUCCESS;
        }
        Command& command = submission.command(CommandKind::wait);
        command.mark = event.mark;
        ++event.mark->references;
        submission.submit();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_priority(CUstream handle, int* priority) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(priority != nullptr);
        host::Lock hold(machine.lock);
        *priority = stream_of(machine, handle).priority;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_flags(CUstream handle, unsigned* flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(flags != nullptr);
        host::Lock hold(machine.lock);
        *flags = stream_of(machine, handle).flags;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_context(CUstream handle, CUcontext* context) {
    return enter([&](Machine& machine) -> CUresult {
        require(context != nullptr);
        host::Lock hold(machine.lock);
        *context = stream_of(machine, handle).context->as<CUcontext>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI launch_host_function(CUstream handle, CUhostFn function, void* user_data) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(function != nullptr);
        machine.need_host_caller();
        Submission submission(machine, handle);
        Command& command = submission.command(CommandKind::host_call);
        command.host_function = function;
        command.user_data = user_data;
        submission.submit();
        return CUDA_SUCCESS;
    });
}

/// Where a stream reads or writes a value: device or pinned memory, 4-byte aligned.
void require_value_address(Machine& machine, CUdeviceptr address) {
    require(address != 0 && address % 4 == 0 && machine.memory.find(address).holds(address, 4));
}

CUresult CUDAAPI write_value(CUstream handle, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        // Like CUDA's v2 functions: no other flag is supported.
        require(flags == CU_STREAM_WRITE_VALUE_DEFAULT);
        require_value_address(machine, address);
        Submission submission(machine, handle);
        Command& command = submission.command(CommandKind::write_value);
        command.address = address;
        command.value = value;
        submission.submit();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI wait_value(CUstream handle, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(!(flags & ~unsigned(3 | CU_STREAM_WAIT_VALUE_FLUSH)));
        require_value_address(machine, address);
        machine.need_clock();
        Submission submission(machine, handle);
        if (submission.captured()) refuse_in_capture(submission.stream());
        Command& command = submission.command(CommandKind::wait_value);
        command.address = address;
        command.value = value;
        command.flags = flags;
        submission.submit();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI is_capturing(CUstream handle, CUstreamCaptureStatus* status) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(status != nullptr);
        host::Lock hold(machine.lock);
        current_context(machine);
        Stream& stream = stream_of(machine, handle);
        if (stream.legacy && is_implicit(machine, stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        *status = !stream.capture               ? CU_STREAM_CAPTURE_STATUS_NONE
                  : stream.capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                : CU_STREAM_CAPTURE_STATUS_ACTIVE;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI begin_capture_entry(CUstream handle, CUstreamCaptureMode mode) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
        host::Lock hold(machine.lock);
        current_context(machine);
        begin_capture(machine, stream_of(machine, handle), mode, nullptr, {});
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI begin_capture_to_graph(CUstream handle, CUgraph into, const CUgraphNode* after,
                                        const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED && !edges);
        host::Lock hold(machine.lock);
        current_context(machine);
        Graph& graph = graph_of(machine, into);
        require(!graph.capturing);
        require(!graph.owner, CUDA_ERROR_NOT_SUPPORTED);   // a failed capture destroys its graph
        begin_capture(machine, stream_of(machine, handle), mode, &graph, nodes_of(machine, graph, after, count));
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI end_capture_entry(CUstream handle, CUgraph* graph) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(graph != nullptr);
        host::Lock hold(machine.lock);
        current_context(machine);
        return end_capture(machine, stream_of(machine, handle), graph);
    });
}

CUresult CUDAAPI capture_info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                              const CUgraphNode** dependencies, size_t* count) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(status != nullptr);
        host::Lock hold(machine.lock);
        current_context(machine);
        Stream& stream = stream_of(machine, handle);
        if (stream.legacy && !machine.captures.empty()) refuse_implicit(machine, stream);
        *status = CU_STREAM_CAPTURE_STATUS_NONE;
        if (!stream.capture) return CUDA_SUCCESS;
        Capture& capture = *stream.capture;
        if (capture.invalidated) {
            *status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
            return CUDA_SUCCESS;
        }
        if (dependencies) {
            // Kept by the graph until the next call of this kind.
            std::vector<CUgraphNode> natives;
            for (const GraphNode* node : stream.depends) natives.push_back(node->as<CUgraphNode>());
            capture.graph->natives = std::move(natives);
            *dependencies = capture.graph->natives.data();
        }
        *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
        if (id) *id = capture.id;
        if (graph) *graph = capture.graph->as<CUgraph>();
        if (count) *count = stream.depends.size();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI update_dependencies(CUstream handle, CUgraphNode* nodes, size_t count, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require((nodes != nullptr || count == 0) &&
                (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES || flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES));
        host::Lock hold(machine.lock);
        current_context(machine);
        Stream& stream = stream_of(machine, handle);
        require(stream.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
        require_valid(stream);
        set_dependencies(stream, nodes_of(machine, *stream.capture->graph, nodes, count),
                         flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
        return CUDA_SUCCESS;
    });
}

}  // namespace

void fill_stream_entries(driver::Table& table) noexcept {
    table.cuStreamCreateWithPriority = create;
    table.cuStreamDestroy = destroy;
    table.cuStreamQuery = query;
    table.cuStreamSynchronize = synchronize;
    table.cuStreamWaitEvent = wait_event;
    table.cuStreamGetPriority = get_priority;
    table.cuStreamGetFlags = get_flags;
    table.cuStreamGetCtx = get_context;
    table.cuLaunchHostFunc = launch_host_function;
    table.cuStreamWriteValue32 = write_value;
    table.cuStreamWaitValue32 = wait_value;
    table.cuStreamIsCapturing = is_capturing;
    table.cuStreamBeginCapture = begin_capture_entry;
    table.cuStreamBeginCaptureToGraph = begin_capture_to_graph;
    table.cuStreamEndCapture = end_capture_entry;
    table.cuStreamGetCaptureInfo = capture_info;
    table.cuStreamUpdateCaptureDependencies = update_dependencies;
}

}  // namespace gpo::softgpu
