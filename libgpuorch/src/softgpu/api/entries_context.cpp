// Contexts: primary and created ones, the thread's stack of them, limits, peers.
#include <algorithm>

#include "softgpu/api/call.h"
#include "softgpu/api/entries.h"

namespace gpo::softgpu {

namespace {

constexpr unsigned kContextFlags = CU_CTX_FLAGS_MASK;

/// While an Ending lives, a primary context ends, and primary_retain waits for the end.
class Ending {
public:
    Ending(Machine& machine, Context& primary) noexcept : machine_(machine), primary_(primary) {}
    ~Ending() {
        host::Lock hold(machine_.lock);
        primary_.ending = false;
        machine_.primary_ended.notify_all();
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

private:
    Machine& machine_;
    Context& primary_;
};

CUresult CUDAAPI primary_retain(CUcontext* context, CUdevice ordinal) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(context != nullptr);
        Device& device = device_of(machine, ordinal);
        device.start();
        host::Lock hold(machine.lock);
        Context& primary = *device.primary;
        machine.primary_ended.wait(hold, host::kForever, [&] { return !primary.ending; });
        if (!primary.alive.load()) machine.begin_context(primary);
        ++primary.retained;
        *context = primary.as<CUcontext>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI primary_release(CUdevice ordinal) {
    return enter([&](Machine& machine) -> CUresult {
        Device& device = device_of(machine, ordinal);
        {
            host::Lock hold(machine.lock);
            require(device.primary->retained > 0, CUDA_ERROR_INVALID_CONTEXT);
            if (--device.primary->retained) return success_unless_lost(machine);
            device.primary->ending = true;
        }
        const Ending ending(machine, *device.primary);
        machine.end_context(*device.primary);
        return success_unless_lost(machine);
    });
}

CUresult CUDAAPI primary_state(CUdevice ordinal, unsigned* flags, int* active) {
    return enter([&](Machine& machine) -> CUresult {
        require(flags != nullptr && active != nullptr);
        Device& device = device_of(machine, ordinal);
        host::Lock hold(machine.lock);
        *flags = device.primary->flags;
        *active = device.primary->alive.load();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI create(CUcontext* context, unsigned flags, CUdevice ordinal) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(context != nullptr && !(flags & ~kContextFlags));
        Device& device = device_of(machine, ordinal);
        device.start();
        push_current(machine, nullptr);   // makes room: the last step can't fail
        CUcontext handle = nullptr;
        try {
            host::Lock hold(machine.lock);
            Context* made = machine.contexts.create();
            made->device = &device;
            made->flags = flags;
            try {
                machine.begin_context(*made);
            } catch (...) {
                machine.contexts.retire(made);
                machine.contexts.recycle(made);
                throw;
            }
            handle = made->as<CUcontext>();
        } catch (...) {
            CUcontext none = nullptr;
            pop_current(machine, &none);
            throw;
        }
        set_current(machine, handle);
        *context = handle;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy(CUcontext handle) {
    return enter([&](Machine& machine) -> CUresult {
        require(handle != nullptr, CUDA_ERROR_INVALID_CONTEXT);
        Context* context = nullptr;
        {
            host::Lock hold(machine.lock);
            context = &context_of(machine, handle);
            require(!context->primary, CUDA_ERROR_INVALID_CONTEXT);
            require(!context->dying, CUDA_ERROR_CONTEXT_IS_DESTROYED);
            context->alive.store(false);
        }
        machine.end_context(*context);
        {
            host::Lock hold(machine.lock);
            machine.contexts.retire(context);
            machine.contexts.recycle(context);
        }
        CUcontext popped = nullptr;
        if (current_handle(machine) == handle) pop_current(machine, &popped);
        return success_unless_lost(machine);
    });
}

CUresult CUDAAPI get_current(CUcontext* context) {
    return enter([&](Machine& machine) -> CUresult {
        require(context != nullptr);
        *context = current_handle(machine);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI set_current_entry(CUcontext context) {
    return enter([&](Machine& machine) -> CUresult {
        if (context) context_of(machine, context);
        set_current(machine, context);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI push(CUcontext context) {
    return enter([&](Machine& machine) -> CUresult {
        context_of(machine, context);
        push_current(machine, context);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI pop(CUcontext* context) {
    return enter([&](Machine& machine) -> CUresult {
        CUcontext popped = nullptr;
        require(pop_current(machine, &popped), CUDA_ERROR_INVALID_CONTEXT);
        if (context) *context = popped;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_device(CUdevice* device) {
    return enter([&](Machine& machine) -> CUresult {
        require(device != nullptr);
        *device = current_context(machine).device->ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_id(CUcontext context, unsigned long long* id) {
    return enter([&](Machine& machine) -> CUresult {
        require(id != nullptr);
        *id = context_or_current(machine, context).id.load(std::memory_order_acquire);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_limit(size_t* value, CUlimit limit) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(value != nullptr);
        Context& context = current_context(machine);
        require(limit >= 0 && limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE, CUDA_ERROR_UNSUPPORTED_LIMIT);
        host::Lock hold(machine.lock);
        *value = context.limits[limit];
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI set_limit(CUlimit limit, size_t value) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        Context& context = current_context(machine);
        require(limit >= 0 && limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE, CUDA_ERROR_UNSUPPORTED_LIMIT);
        if (limit == CU_LIMIT_STACK_SIZE) {
            require(value <= 512 << 10);
            value = (value + 15) / 16 * 16;
            machine.wait_running(context);
        }
        if (limit == CU_LIMIT_MALLOC_HEAP_SIZE) require(value <= machine.memory.total(), CUDA_ERROR_OUT_OF_MEMORY);
        if (limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT) require(value >= 1 && value <= 1 << 20);
        if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY) require(value <= 128);
        if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE) value = 0;   // there is none to set aside
        host::Lock hold(machine.lock);
        context.limits[limit] = value;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI priority_range(int* least, int* greatest) {
    return enter_live([&](Machine& machine) -> CUresult {
        current_context(machine);
        if (least) *least = kLeastPriority;
        if (greatest) *greatest = kGreatestPriority;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI enable_peer(CUcontext handle, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(flags == 0);
        Context& mine = current_context(machine);
        Context& peer = context_of(machine, handle);
        require(&mine != &peer, CUDA_ERROR_INVALID_CONTEXT);
        require(mine.device != peer.device, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
        host::Lock hold(machine.lock);
        const bool enabled = std::find(mine.peers.begin(), mine.peers.end(), handle) != mine.peers.end();
        require(!enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        mine.peers.push_back(handle);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI disable_peer(CUcontext handle) {
    return enter_live([&](Machine& machine) -> CUresult {
        Context& mine = current_context(machine);
        context_of(machine, handle);
        host::Lock hold(machine.lock);
        require(std::erase(mine.peers, handle) > 0, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI exchange_mode(CUstreamCaptureMode* mode) {
    return enter([&](Machine&) -> CUresult {
        require(mode != nullptr && *mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && *mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
        *mode = exchange_capture_mode(*mode);
        return CUDA_SUCCESS;
    });
}

}  // namespace

void fill_context_entries(driver::Table& table) noexcept {
    table.cuDevicePrimaryCtxRetain = primary_retain;
    table.cuDevicePrimaryCtxRelease = primary_release;
    table.cuDevicePrimaryCtxGetState = primary_state;
    table.cuCtxCreate = create;
    table.cuCtxDestroy = destroy;
    table.cuCtxGetCurrent = get_current;
    table.cuCtxSetCurrent = set_current_entry;
    table.cuCtxPushCurrent = push;
    table.cuCtxPopCurrent = pop;
    table.cuCtxGetDevice = get_device;
    table.cuCtxGetId = get_id;
    table.cuCtxGetLimit = get_limit;
    table.cuCtxSetLimit = set_limit;
    table.cuCtxGetStreamPriorityRange = priority_range;
    table.cuCtxEnablePeerAccess = enable_peer;
    table.cuCtxDisablePeerAccess = disable_peer;
    table.cuThreadExchangeStreamCaptureMode = exchange_mode;
}

}  // namespace gpo::softgpu
