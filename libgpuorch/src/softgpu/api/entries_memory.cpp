// Device memory, pinned and registered host memory, what a pointer is.
#include <sys/mman.h>

#include <cstring>

#include "softgpu/api/call.h"
#include "softgpu/api/entries.h"

namespace gpo::softgpu {

namespace {

CUresult CUDAAPI get_info(size_t* free, size_t* total) {
    return enter_live([&](Machine& machine) -> CUresult {
        Context& context = current_context(machine);
        if (free) *free = machine.memory.total() - machine.memory.used(context.device->ordinal);
        if (total) *total = machine.memory.total();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI allocate(CUdeviceptr* address, size_t bytes) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        require(address != nullptr && bytes != 0);
        Context& context = current_context(machine);
        uint64_t made = 0;
        const CUresult result =
            machine.memory.allocate(context.device->ordinal, context.as<CUcontext>(), bytes, &made);
        if (result == CUDA_SUCCESS) *address = made;
        return result;
    });
}

/// The freeing call waits for all work that might still use the memory: for device memory the work of its context's
/// streams, for host memory the work of all streams.
void wait_for_users(Machine& machine, const Place& place) {
    Context* context = machine.contexts.find(place.context);
    machine.wait_context(place.kind == Place::host ? nullptr : context);
}

CUresult free_ordered(Machine& machine, const Place& place, uint64_t address) {
    Batch batch(machine);
    host::Lock hold(machine.memory.lock);
    uint64_t id = 0;
    require(place.pool->call_free(machine.memory, address, Pool::Free(), &id));
    place.pool->reach_free(address, id);
    machine.settle_pool(*place.pool);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI release(CUdeviceptr address) {
    return enter([&](Machine& machine) -> CUresult {
        if (!address) return CUDA_SUCCESS;
        current_context(machine);
        if (!success_unless_lost(machine)) refuse_beside_capture(machine);
        const Place place = machine.memory.find(address);
        require(place.kind == Place::device && place.base == address && !place.imported);
        wait_for_users(machine, place);
        const CUresult result = place.ordered ? free_ordered(machine, place, address) : machine.memory.release(address);
        machine.trim_pools();
        return result == CUDA_SUCCESS ? success_unless_lost(machine) : result;
    });
}

CUresult CUDAAPI host_allocate(void** address, size_t bytes, unsigned flags) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        constexpr unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
        require(address != nullptr && bytes != 0 && !(flags & ~known));
        Context& context = current_context(machine);
        void* made = nullptr;
        const CUresult result = machine.memory.host_allocate(context.as<CUcontext>(), bytes, flags, &made);
        if (result == CUDA_SUCCESS) *address = made;
        return result;
    });
}

CUresult CUDAAPI host_release(void* address) {
    return enter([&](Machine& machine) -> CUresult {
        current_context(machine);
        if (!success_unless_lost(machine)) refuse_beside_capture(machine);
        const Place place = machine.memory.find(address);
        require(place.kind == Place::host && !place.registered &&
                place.base == reinterpret_cast<uint64_t>(address));
        wait_for_users(machine, place);
        const CUresult result = machine.memory.host_release(address);
        return result == CUDA_SUCCESS ? success_unless_lost(machine) : result;
    });
}

/// Whether something is mapped at every page of a range.
bool mapped(uint64_t first, uint64_t bytes) noexcept {
    constexpr uint64_t page = 4096, step = page * 4096;
    unsigned char there[4096];
    const uint64_t end = (first + bytes + page - 1) / page * page;
    for (uint64_t at = first / page * page; at < end; at += step)
        if (mincore(reinterpret_cast<void*>(at), std::min(step, end - at), there) != 0) return false;
    return true;
}

CUresult CUDAAPI host_register(void* address, size_t bytes, unsigned flags) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        constexpr unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                   CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
        require(address != nullptr && bytes != 0 && !(flags & ~known));
        Context& context = current_context(machine);
        const uint64_t first = reinterpret_cast<uint64_t>(address);
        require(first + bytes > first);
        require(!(flags & CU_MEMHOSTREGISTER_IOMEMORY), CUDA_ERROR_NOT_SUPPORTED);
        require(mapped(first, bytes));
        return machine.memory.host_register(context.as<CUcontext>(), address, bytes, flags);
    });
}

CUresult CUDAAPI host_unregister(void* address) {
    return enter([&](Machine& machine) -> CUresult {
        require(address != nullptr);
        current_context(machine);
        if (!success_unless_lost(machine)) refuse_beside_capture(machine);
        const Place place = machine.memory.find(address);
        require(place.kind == Place::host && place.registered && place.base == reinterpret_cast<uint64_t>(address),
                CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        wait_for_users(machine, place);
        const CUresult result = machine.memory.host_unregister(address);
        return result == CUDA_SUCCESS ? success_unless_lost(machine) : result;
    });
}

CUresult CUDAAPI host_device_pointer(CUdeviceptr* device, void* address, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(device != nullptr && flags == 0);
        current_context(machine);
        require(machine.memory.find(address).kind == Place::host);
        *device = reinterpret_cast<CUdeviceptr>(address);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI pointer_attribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(data != nullptr);
        current_context(machine);
        const Place place = machine.memory.find(address);
        if (attribute == CU_POINTER_ATTRIBUTE_MAPPED) {
            *static_cast<bool*>(data) = place.kind != Place::unknown;
            return CUDA_SUCCESS;
        }
        require(place.kind != Place::unknown);
        const auto as_int = [&](int value) { *static_cast<int*>(data) = value; };
        switch (attribute) {
            case CU_POINTER_ATTRIBUTE_CONTEXT:
                *static_cast<CUcontext*>(data) = place.pool ? nullptr : place.context;
                break;
            case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
                as_int(place.on_device() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
                break;
            case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *static_cast<CUdeviceptr*>(data) = address; break;
            case CU_POINTER_ATTRIBUTE_HOST_POINTER:
                require(place.kind == Place::host);
                *static_cast<void**>(data) = reinterpret_cast<void*>(address);
                break;
            case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            case CU_POINTER_ATTRIBUTE_IS_MANAGED: as_int(0); break;
            case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: {
                MemoryHandle handle;
                *static_cast<bool*>(data) = machine.memory.export_block(address, &handle) == CUDA_SUCCESS;
                break;
            }
            case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: *static_cast<bool*>(data) = false; break;
            case CU_POINTER_ATTRIBUTE_BUFFER_ID: *static_cast<unsigned long long*>(data) = place.id; break;
            case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: {
                Context* context = machine.contexts.find(place.context);
                as_int(place.on_device() ? place.ordinal : context ? context->device->ordinal : 0);
                break;
            }
            case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: *static_cast<CUdeviceptr*>(data) = place.base; break;
            case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: *static_cast<size_t*>(data) = place.size; break;
            case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: *static_cast<unsigned long long*>(data) = 0; break;
            case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: as_int(CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE); break;
            case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
                *static_cast<CUmemoryPool*>(data) = place.pool ? place.pool->as<CUmemoryPool>() : nullptr;
                break;
            default: return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI address_range(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
    return enter_live([&](Machine& machine) -> CUresult {
        current_context(machine);
        const Place place = machine.memory.find(address);
        require(place.kind != Place::unknown, CUDA_ERROR_NOT_FOUND);
        if (base) *base = place.base;
        if (size) *size = place.size;
        return CUDA_SUCCESS;
    });
}

// --- between processes ---

CUresult CUDAAPI export_memory(CUipcMemHandle* exported, CUdeviceptr address) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(exported != nullptr);
        current_context(machine);
        MemoryHandle handle;
        const CUresult result = machine.memory.export_block(address, &handle);
        require(result == CUDA_SUCCESS, result);
        std::memset(exported->reserved, 0, sizeof exported->reserved);
        std::memcpy(exported->reserved, &handle, sizeof handle);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI import_memory(CUdeviceptr* address, CUipcMemHandle exported, unsigned flags) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        require(address != nullptr && !(flags & ~unsigned(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)));
        Context& context = current_context(machine);
        MemoryHandle handle;
        std::memcpy(&handle, exported.reserved, sizeof handle);
        uint64_t made = 0;
        const CUresult result =
            machine.memory.import_block(context.device->ordinal, context.as<CUcontext>(), handle, &made);
        if (result == CUDA_SUCCESS) *address = made;
        return result;
    });
}

CUresult CUDAAPI end_import(CUdeviceptr address) {
    return enter([&](Machine& machine) -> CUresult {
        current_context(machine);
        if (!success_unless_lost(machine)) refuse_beside_capture(machine);
        const Place place = machine.memory.find(address);
        require(place.kind == Place::device && place.base == address && place.imported);
        wait_for_users(machine, place);
        const CUresult result = machine.memory.end_import(address);
        return result == CUDA_SUCCESS ? success_unless_lost(machine) : result;
    });
}

}  // namespace

void fill_memory_entries(driver::Table& table) noexcept {
    table.cuMemGetInfo = get_info;
    table.cuMemAlloc = allocate;
    table.cuMemFree = release;
    table.cuMemHostAlloc = host_allocate;
    table.cuMemFreeHost = host_release;
    table.cuMemHostRegister = host_register;
    table.cuMemHostUnregister = host_unregister;
    table.cuMemHostGetDevicePointer = host_device_pointer;
    table.cuPointerGetAttribute = pointer_attribute;
    table.cuMemGetAddressRange = address_range;
    table.cuIpcGetMemHandle = export_memory;
    table.cuIpcOpenMemHandle = import_memory;
    table.cuIpcCloseMemHandle = end_import;
}

}  // namespace gpo::softgpu
