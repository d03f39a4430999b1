// Stream-ordered memory: pools, and allocation and free in stream order; the free also of other device memory. On a
// captured stream they become nodes, and the memory is the graph's.
#include "softgpu/api/entries.h"
#include "softgpu/api/nodes.h"
#include "softgpu/api/submission.h"

namespace gpo::softgpu {

namespace {

/// Lock held.
Pool& pool_of(Machine& machine, CUmemoryPool handle) {
    Pool* pool = machine.pools.find(handle);
    require(pool != nullptr, CUDA_ERROR_INVALID_VALUE);
    return *pool;
}

CUresult capture_allocation(Machine& machine, Submission& submission, CUdeviceptr* address, size_t bytes, int device) {
    Pool& pool = *device_of(machine, device).graph_pool;
    Command& command = submission.command(CommandKind::allocation);
    command.memory =
        reserve_graph_memory(machine, submission.context(), pool, *submission.stream().capture->graph, bytes);
    const uint64_t made = command.address = command.memory->address;
    command.pool = &pool;
    submission.submit();
    *address = made;
    return CUDA_SUCCESS;
}

CUresult capture_free(Machine& machine, Submission& submission, CUdeviceptr address) {
    const Graph& graph = *submission.stream().capture->graph;
    Command& command = submission.command(CommandKind::release);
    make_free_node(machine, graph, {address}, command);
    const std::shared_ptr<GraphMemory> memory = command.memory;
    submission.submit();
    note_free(graph, *memory);
    return CUDA_SUCCESS;
}

CUresult allocate_from(Machine& machine, CUdeviceptr* address, size_t bytes, CUmemoryPool handle, CUstream stream) {
    require(address != nullptr && bytes != 0);
    Submission submission(machine, stream);
    Pool& pool = handle ? pool_of(machine, handle) : *submission.context().device->default_pool;
    if (submission.captured()) return capture_allocation(machine, submission, address, bytes, pool.device);
    Command& command = submission.command(CommandKind::allocation);
    const CUcontext context = submission.context().as<CUcontext>();
    uint64_t made = 0;
    Stream* freed_on = nullptr;
    CUresult result;
    {
        host::Lock hold(machine.memory.lock);
        result = pool.take(machine.memory, &submission.stream(), context, bytes, &made);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        // Wait, in stream order, for a free that another stream has not reached.
        submission.reserve_follow();
        host::Lock hold(machine.memory.lock);
        result = pool.take_pending(machine.memory, context, bytes, &made, &freed_on);
    }
    if (result != CUDA_SUCCESS) return result;
    if (freed_on && freed_on != &submission.stream()) submission.follow_reserved(*freed_on);
    command.pool = &pool;
    command.address = made;
    submission.submit();
    *address = made;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI allocate(CUdeviceptr* address, size_t bytes, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        return allocate_from(machine, address, bytes, nullptr, stream);
    });
}

CUresult CUDAAPI allocate_from_pool(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(pool != nullptr);
        return allocate_from(machine, address, bytes, pool, stream);
    });
}

CUresult CUDAAPI release(CUdeviceptr address, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(address != 0);
        Submission submission(machine, stream);
        if (submission.captured()) return capture_free(machine, submission, address);
        Command& command = submission.command(CommandKind::release);
        const Place place = machine.memory.find(address);
        require(place.kind == Place::device && place.base == address);
        {
            host::Lock hold(machine.memory.lock);
            if (place.ordered) {
                Stream& on = submission.stream();
                const Pool::Free free{&on, on.handle, machine.frees.load(std::memory_order_relaxed) + 1};
                require(place.pool->call_free(machine.memory, address, free, &command.free_id));
                machine.frees.store(free.number, std::memory_order_release);   // the machine's lock is held
                machine.frees_unseen.store(true, std::memory_order_release);
            } else {
                require(machine.memory.call_free(address, &command.free_id) == CUDA_SUCCESS);
            }
        }
        command.pool = place.pool;
        command.address = address;
        submission.submit();
        return CUDA_SUCCESS;
    });
}

bool reserved_is_zero(const CUmemPoolProps& properties) {
    for (unsigned char byte : properties.reserved)
        if (byte) return false;
    return true;
}

CUresult CUDAAPI create(CUmemoryPool* pool, const CUmemPoolProps* properties) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(pool != nullptr && properties != nullptr);
        require(properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED && reserved_is_zero(*properties) &&
                !properties->win32SecurityAttributes && properties->usage == 0);
        require(properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE);
        require(properties->handleTypes == CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_NOT_SUPPORTED);
        Device& device = device_of(machine, properties->location.id);
        host::Lock hold(machine.lock);
        Pool* made = machine.pools.create();
        made->device = device.ordinal;
        made->max_bytes = properties->maxSize;
        made->readable = made->writable = uint64_t(1) << device.ordinal;
        *pool = made->as<CUmemoryPool>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy(CUmemoryPool handle) {
    return enter([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        Pool& pool = pool_of(machine, handle);
        require(!pool.is_default);
        machine.pools.retire(&pool);
        host::Lock space(machine.memory.lock);
        pool.destroyed = true;
        machine.settle_pool(pool);
        return success_unless_lost(machine);
    });
}

CUresult CUDAAPI trim_to(CUmemoryPool handle, size_t keep) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        Pool& pool = pool_of(machine, handle);
        host::Lock space(machine.memory.lock);
        pool.trim(machine.memory, keep);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI set_attribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(value != nullptr);
        host::Lock hold(machine.lock);
        Pool& pool = pool_of(machine, handle);
        host::Lock space(machine.memory.lock);
        switch (attribute) {
            case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: pool.follow_events = *static_cast<int*>(value); break;
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: pool.opportunistic = *static_cast<int*>(value); break;
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
                pool.internal_dependencies = *static_cast<int*>(value);
                break;
            case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool.threshold = *static_cast<cuuint64_t*>(value); break;
            case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
                require(*static_cast<cuuint64_t*>(value) == 0);
                pool.reserved_high = pool.reserved;
                break;
            case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
                require(*static_cast<cuuint64_t*>(value) == 0);
                pool.used_high = pool.used();
                break;
            default: return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_attribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(value != nullptr);
        host::Lock hold(machine.lock);
        Pool& pool = pool_of(machine, handle);
        host::Lock space(machine.memory.lock);
        const auto as_int = [&](int number) { *static_cast<int*>(value) = number; };
        const auto as_bytes = [&](uint64_t number) { *static_cast<cuuint64_t*>(value) = number; };
        switch (attribute) {
            case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: as_int(pool.follow_events); break;
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: as_int(pool.opportunistic); break;
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: as_int(pool.internal_dependencies); break;
            case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: as_bytes(pool.threshold); break;
            case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: as_bytes(pool.reserved); break;
            case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: as_bytes(pool.reserved_high); break;
            case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: as_bytes(pool.used()); break;
            case CU_MEMPOOL_ATTR_USED_MEM_HIGH: as_bytes(pool.used_high); break;
            default: return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI set_access(CUmemoryPool handle, const CUmemAccessDesc* accesses, size_t count) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(accesses != nullptr || count == 0);
        host::Lock hold(machine.lock);
        Pool& pool = pool_of(machine, handle);
        uint64_t readable = pool.readable, writable = pool.writable;
        for (size_t i = 0; i < count; ++i) {
            require(accesses[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
            const int device = device_of(machine, accesses[i].location.id).ordinal;
            const auto flags = accesses[i].flags;
            require(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
                    flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
            // The pool's own device always reaches it.
            require(device != pool.device || flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
            const uint64_t bit = uint64_t(1) << device;
            readable = flags & CU_MEM_ACCESS_FLAGS_PROT_READ ? readable | bit : readable & ~bit;
            writable = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? writable | bit : writable & ~bit;
        }
        pool.readable = readable;
        pool.writable = writable;
        return CUDA_SUCCESS;
    });
}

}  // namespace

void fill_pool_entries(driver::Table& table) noexcept {
    table.cuMemAllocAsync = allocate;
    table.cuMemAllocFromPoolAsync = allocate_from_pool;
    table.cuMemFreeAsync = release;
    table.cuMemPoolCreate = create;
    table.cuMemPoolDestroy = destroy;
    table.cuMemPoolTrimTo = trim_to;
    table.cuMemPoolSetAttribute = set_attribute;
    table.cuMemPoolGetAttribute = get_attribute;
    table.cuMemPoolSetAccess = set_access;
}

}  // namespace gpo::softgpu
