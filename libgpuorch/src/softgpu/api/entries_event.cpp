// Events.
#include "softgpu/api/entries.h"
#include "softgpu/api/nodes.h"
#include "softgpu/api/submission.h"

namespace gpo::softgpu {

namespace {

constexpr unsigned kFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult CUDAAPI create(CUevent* event, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(event != nullptr && !(flags & ~kFlags));
        require(!(flags & CU_EVENT_INTERPROCESS), CUDA_ERROR_NOT_SUPPORTED);
        host::Lock hold(machine.lock);
        Context& context = current_context(machine);
        Event* made = machine.events.create();
        made->context = &context;
        made->flags = flags;
        made->time = 0;
        made->completed.store(made->recorded.load());
        *event = made->as<CUevent>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy(CUevent handle) {
    return enter([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        machine.destroy_event(event_of(machine, handle));
        return success_unless_lost(machine);
    });
}

CUresult CUDAAPI record_with_flags(CUevent handle, CUstream stream, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(!(flags & ~unsigned(CU_EVENT_RECORD_EXTERNAL)));
        Submission submission(machine, stream, false);   // with any context current, or none, as an H200's driver does
        Event& event = event_of(machine, handle);
        require(event.context == &submission.context(), CUDA_ERROR_INVALID_HANDLE);
        if (flags & CU_EVENT_RECORD_EXTERNAL) {
            require(submission.captured());
            make_event_node(machine, handle, CommandKind::record, submission.command(CommandKind::record));
            submission.submit();
            return CUDA_SUCCESS;
        }
        if (submission.captured()) {
            capture_record(submission.stream(), event);
            return CUDA_SUCCESS;
        }
        Command& command = submission.command(CommandKind::record);
        Mark* mark = command.mark = machine.take_mark();
        mark->stream = submission.stream().handle;
        mark->frees = machine.frees.load(std::memory_order_relaxed);
        submission.submit();
        // Nothing has run yet: the batch advances the stream when the submission goes.
        machine.set_record(event, *mark);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI record(CUevent handle, CUstream stream) {
    return record_with_flags(handle, stream, CU_EVENT_RECORD_DEFAULT);
}

/// Refuses an event whose latest record was captured; that invalidates the capture.
void require_uncaptured(Machine& machine, Event& event) {
    (void)machine;
    if (!event.capture || event.capture->streams.empty()) return;
    event.capture->invalidated = true;
    refuse(CUDA_ERROR_CAPTURED_EVENT);
}

CUresult CUDAAPI query(CUevent handle) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        if (machine.capturing.load(std::memory_order_acquire)) {
            host::Lock hold(machine.lock);
            require_uncaptured(machine, event_of(machine, handle));
        }
        // No lock: the slot of an event is always readable.
        Event& event = event_of(machine, handle);
        const uint64_t done = event.completed.load(std::memory_order_acquire);
        const bool reached = done == event.recorded.load(std::memory_order_acquire);
        return reached ? success_unless_lost(machine) : CUDA_ERROR_NOT_READY;
    });
}

CUresult CUDAAPI synchronize(CUevent handle) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        Mark* mark = nullptr;
        uintptr_t stream = 0;
        uint64_t frees = 0;
        {
            host::Lock hold(machine.lock);
            current_context(machine);
            Event& event = event_of(machine, handle);
            require_uncaptured(machine, event);
            if (event.mark) {
                stream = event.mark->stream;
                frees = event.mark->frees;
            }
            if (event.mark && !event.mark->done.load()) {
                mark = event.mark;
                ++mark->references;
            }
        }
        if (mark) {
            machine.wait_mark(*mark);
            host::Lock hold(machine.lock);
            machine.release_mark(mark);
        }
        machine.see_frees(stream, frees);
        machine.trim_pools();
        return success_unless_lost(machine);
    });
}

CUresult CUDAAPI elapsed(float* milliseconds, CUevent first, CUevent last) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        require(milliseconds != nullptr);
        host::Lock hold(machine.lock);
        current_context(machine);
        Event& begin = event_of(machine, first);
        Event& end = event_of(machine, last);
        for (Event* event : {&begin, &end}) {
            require_uncaptured(machine, *event);
            require(!(event->flags & CU_EVENT_DISABLE_TIMING) && event->mark, CUDA_ERROR_INVALID_HANDLE);
        }
        require(begin.context->device == end.context->device, CUDA_ERROR_INVALID_HANDLE);
        for (Event* event : {&begin, &end})
            if (!event->mark->done.load()) return CUDA_ERROR_NOT_READY;
        *milliseconds = float(double(int64_t(end.time - begin.time)) / 1e6);
        return success_unless_lost(machine);
    });
}

}  // namespace

void fill_event_entries(driver::Table& table) noexcept {
    table.cuEventCreate = create;
    table.cuEventDestroy = destroy;
    table.cuEventRecord = record;
    table.cuEventRecordWithFlags = record_with_flags;
    table.cuEventQuery = query;
    table.cuEventSynchronize = synchronize;
    table.cuEventElapsedTime = elapsed;
}

}  // namespace gpo::softgpu
