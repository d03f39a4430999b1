// Calls for a kind of graph nodes: reading and setting parameters, attributes of kernels; and the memory of graphs.
#include "softgpu/api/entries.h"
#include "softgpu/api/nodes.h"
#include "softgpu/api/submission.h"

namespace gpo::softgpu {

namespace {

/// Lock held. A node of that kind.
GraphNode& node_of(Machine& machine, CUgraphNode handle, CommandKind kind) {
    GraphNode& node = gpo::softgpu::node_of(machine, handle);
    require(node.work.kind == kind);
    return node;
}

/// Reads a node: checks, finds the node, and calls `read`, which writes `*out`.
template <class Out, class Read>
CUresult read_node(CUgraphNode handle, CommandKind kind, Out* out, Read read) {
    return enter([&](Machine& machine) -> CUresult {
        require(out != nullptr);
        host::Lock hold(machine.lock);
        read(node_of(machine, handle, kind));
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_kernel(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* out) {
    return read_node(handle, CommandKind::kernel, out, [&](GraphNode& node) { read_kernel_node(node, out); });
}

CUresult CUDAAPI get_copy(CUgraphNode handle, CUDA_MEMCPY3D* out) {
    return read_node(handle, CommandKind::copy, out, [&](GraphNode& node) { read_copy_node(node.work, out); });
}

CUresult CUDAAPI get_fill(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* out) {
    return read_node(handle, CommandKind::fill, out, [&](GraphNode& node) { read_fill_node(node.work, out); });
}

CUresult CUDAAPI get_host(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* out) {
    return read_node(handle, CommandKind::host_call, out, [&](GraphNode& node) {
        out->fn = node.work.host_function;
        out->userData = node.work.user_data;
    });
}

CUresult CUDAAPI get_recorded(CUgraphNode handle, CUevent* out) {
    return read_node(handle, CommandKind::record, out, [&](GraphNode& node) { *out = node.work.event; });
}

CUresult CUDAAPI get_awaited(CUgraphNode handle, CUevent* out) {
    return read_node(handle, CommandKind::wait, out, [&](GraphNode& node) { *out = node.work.event; });
}

CUresult CUDAAPI get_allocation(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
    return read_node(handle, CommandKind::allocation, out, [&](GraphNode& node) {
        const GraphMemory& memory = *node.work.memory;
        *out = {};
        out->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        out->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        out->poolProps.location.id = memory.pool.device;
        out->bytesize = memory.bytes;
        out->dptr = memory.address;
    });
}

CUresult CUDAAPI get_free(CUgraphNode handle, CUdeviceptr* out) {
    return read_node(handle, CommandKind::release, out, [&](GraphNode& node) { *out = node.work.address; });
}

CUresult CUDAAPI set_kernel(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS* parameters) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(parameters != nullptr);
        host::Lock hold(machine.lock);
        Work& work = node_of(machine, handle, CommandKind::kernel).work;
        Work made;
        make_kernel_node(machine, *parameters, made, &work.launch);
        work = std::move(made);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_attribute(CUgraphNode handle, CUkernelNodeAttrID id, CUkernelNodeAttrValue* out) {
    return read_node(handle, CommandKind::kernel, out,
                     [&](GraphNode& node) { get_kernel_attribute(node.work, id, out); });
}

CUresult CUDAAPI set_attribute(CUgraphNode handle, CUkernelNodeAttrID id, const CUkernelNodeAttrValue* value) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(value != nullptr);
        host::Lock hold(machine.lock);
        set_kernel_attribute(machine, node_of(machine, handle, CommandKind::kernel).work, id, *value);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI copy_attributes(CUgraphNode to, CUgraphNode from) {
    return enter_live([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        copy_kernel_attributes(machine, node_of(machine, to, CommandKind::kernel).work,
                               node_of(machine, from, CommandKind::kernel).work);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_memory_attribute(CUdevice device, CUgraphMem_attribute attribute, void* out) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(out != nullptr);
        const Pool& pool = *device_of(machine, device).graph_pool;
        host::Lock hold(machine.memory.lock);
        uint64_t bytes = 0;
        switch (attribute) {
            case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: bytes = pool.live_bytes; break;
            case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: bytes = pool.live_high; break;
            case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: bytes = pool.reserved; break;
            case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: bytes = pool.reserved_high; break;
            default: return CUDA_ERROR_INVALID_VALUE;
        }
        *static_cast<cuuint64_t*>(out) = bytes;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI trim_memory(CUdevice device) {
    return enter_unsafe([&](Machine& machine) -> CUresult {
        Pool& pool = *device_of(machine, device).graph_pool;
        host::Lock hold(machine.lock);
        host::Lock space(machine.memory.lock);
        pool.trim(machine.memory, 0);
        return CUDA_SUCCESS;
    });
}

}  // namespace

void make_host_node(const CUDA_HOST_NODE_PARAMS_v2& parameters, Work& work) {
    require(parameters.fn != nullptr);
    work.kind = CommandKind::host_call;
    work.host_function = parameters.fn;
    work.user_data = parameters.userData;
}

void make_event_node(Machine& machine, CUevent event, CommandKind kind, Work& work) {
    event_of(machine, event);
    work.kind = kind;
    work.event = event;
}

void make_allocation_node(Machine& machine, const Graph& graph, const CUDA_MEM_ALLOC_NODE_PARAMS_v2& parameters,
                          Work& work) {
    const CUmemPoolProps& properties = parameters.poolProps;
    require(!graph.owner, CUDA_ERROR_NOT_SUPPORTED);
    require(parameters.bytesize != 0 && properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
            properties.handleTypes == CU_MEM_HANDLE_TYPE_NONE &&
            properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    require(parameters.accessDescCount == 0 || parameters.accessDescs != nullptr);
    for (size_t i = 0; i < parameters.accessDescCount; ++i) {
        require(parameters.accessDescs[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
        device_of(machine, parameters.accessDescs[i].location.id);
    }
    Pool& pool = *device_of(machine, properties.location.id).graph_pool;
    work.kind = CommandKind::allocation;
    work.memory = reserve_graph_memory(machine, *work.context, pool, graph, parameters.bytesize);
    work.address = work.memory->address;
    work.pool = &pool;
}

void make_free_node(Machine& machine, const Graph& graph, const CUDA_MEM_FREE_NODE_PARAMS& parameters, Work& work) {
    require(!graph.owner, CUDA_ERROR_NOT_SUPPORTED);
    work.memory = find_graph_memory(machine, parameters.dptr);
    require(work.memory != nullptr);
    const bool own = work.memory->graph == graph.as<CUgraph>();
    require(!work.memory->freed_here && !(own && work.memory->freed_elsewhere));
    for (const GraphNode* node : graph.nodes)
        require(node->work.kind != CommandKind::release || node->work.memory != work.memory);
    work.kind = CommandKind::release;
    work.address = parameters.dptr;
    work.pool = &work.memory->pool;
}

void added_node(GraphNode& node, CUgraphNodeParams& parameters) noexcept {
    if (node.work.kind == CommandKind::allocation) parameters.alloc.dptr = node.work.address;
    if (node.work.kind == CommandKind::release) note_free(*node.graph, *node.work.memory);
}

void note_free(const Graph& graph, GraphMemory& memory) noexcept {
    (memory.graph == graph.as<CUgraph>() ? memory.freed_here : memory.freed_elsewhere) = true;
}

void fill_node_entries(driver::Table& table) noexcept {
    table.cuGraphKernelNodeGetParams = get_kernel;
    table.cuGraphKernelNodeSetParams = set_kernel;
    table.cuGraphKernelNodeGetAttribute = get_attribute;
    table.cuGraphKernelNodeSetAttribute = set_attribute;
    table.cuGraphKernelNodeCopyAttributes = copy_attributes;
    table.cuGraphMemcpyNodeGetParams = get_copy;
    table.cuGraphMemsetNodeGetParams = get_fill;
    table.cuGraphHostNodeGetParams = get_host;
    table.cuGraphEventRecordNodeGetEvent = get_recorded;
    table.cuGraphEventWaitNodeGetEvent = get_awaited;
    table.cuGraphMemAllocNodeGetParams = get_allocation;
    table.cuGraphMemFreeNodeGetParams = get_free;
    table.cuDeviceGetGraphMemAttribute = get_memory_attribute;
    table.cuDeviceGraphMemTrim = trim_memory;
}

}  // namespace gpo::softgpu
