#include "stream/work.h"

#include <cstring>

namespace gpo {

namespace {

// The launch attributes of a kernel.
struct Attributes {
    explicit Attributes(const KernelWork& work) noexcept {
        std::memset(values, 0, sizeof values);
        if (work.cooperative) next(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
        if (work.has_priority) next(CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = work.priority;
        if (!work.cluster[0]) return;
        CUlaunchAttributeValue& cluster = next(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
        cluster.clusterDim.x = work.cluster[0];
        cluster.clusterDim.y = work.cluster[1];
        cluster.clusterDim.z = work.cluster[2];
    }
    CUlaunchAttributeValue& next(CUlaunchAttributeID id) noexcept {
        values[count].id = id;
        return values[count++].value;
    }
    CUlaunchAttribute values[3];
    unsigned count = 0;
};

Issued add_node(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies,
                CUgraphNodeParams& node, CUgraphNode* made) noexcept {
    return {context.table().cuGraphAddNode(made, graph, dependencies.data(), dependencies.size(), &node),
            "cuGraphAddNode"};
}

void set_rows(CUDA_MEMCPY3D& copy, const RowsWork& work) noexcept {
    copy.srcPitch = work.source_pitch;
    copy.dstPitch = work.destination_pitch;
    copy.WidthInBytes = work.width;
    copy.Height = work.height;
    copy.Depth = 1;
}

// A copy of a single row by unified addressing: the driver finds out the kinds of memory.
CUgraphNodeParams copy_node(const Context& context, const CopyWork& work) noexcept {
    CUgraphNodeParams node = node_of(CU_GRAPH_NODE_TYPE_MEMCPY);
    node.memcpy.copyCtx = context.native();
    CUDA_MEMCPY3D& copy = node.memcpy.copyParams;
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = work.source;
    copy.dstDevice = work.destination;
    RowsWork row;
    row.destination_pitch = row.source_pitch = row.width = work.bytes;
    row.height = 1;
    set_rows(copy, row);
    return node;
}

uint64_t span_of(uint64_t pitch, uint64_t width, uint64_t rows) noexcept {
    return rows ? pitch * (rows - 1) + width : 0;
}

}  // namespace

CUgraphNodeParams node_of(CUgraphNodeType type) noexcept {
    CUgraphNodeParams node;
    std::memset(&node, 0, sizeof node);   // the driver refuses reserved fields other than 0
    node.type = type;
    return node;
}

// --- on a stream ---

Issued issue_with_attributes(const Context& context, CUstream stream, const KernelWork& work) noexcept {
    Attributes attributes(work);
    CUlaunchConfig config;
    std::memset(&config, 0, sizeof config);
    config.gridDimX = work.grid[0];
    config.gridDimY = work.grid[1];
    config.gridDimZ = work.grid[2];
    config.blockDimX = work.block[0];
    config.blockDimY = work.block[1];
    config.blockDimZ = work.block[2];
    config.sharedMemBytes = work.dynamic_shared;
    config.hStream = stream;
    config.attrs = attributes.values;
    config.numAttrs = attributes.count;
    return {context.table().cuLaunchKernelEx(&config, work.function, work.arguments, nullptr), "cuLaunchKernelEx"};
}

Issued issue_elsewhere(const Context& context, CUstream stream, const CopyWork& work) noexcept {
    const driver::Table& table = context.table();
    if (work.way == CopyWork::Way::on_device)
        return {table.cuMemcpyDtoDAsync(work.destination, work.source, work.bytes, stream), "cuMemcpyDtoDAsync"};
    if (work.way == CopyWork::Way::peer)
        return {table.cuMemcpyPeerAsync(work.destination, work.destination_context, work.source, work.source_context,
                                        work.bytes, stream),
                "cuMemcpyPeerAsync"};
    return {table.cuMemcpyAsync(work.destination, work.source, work.bytes, stream), "cuMemcpyAsync"};
}

Issued issue(const Context& context, CUstream stream, const RowsWork& work) noexcept {
    CUDA_MEMCPY2D rows{};
    rows.srcMemoryType = work.from_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    rows.srcHost = reinterpret_cast<const void*>(work.source);
    rows.srcDevice = work.source;
    rows.srcPitch = work.source_pitch;
    rows.dstMemoryType = work.to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    rows.dstHost = reinterpret_cast<void*>(work.destination);
    rows.dstDevice = work.destination;
    rows.dstPitch = work.destination_pitch;
    rows.WidthInBytes = work.width;
    rows.Height = work.height;
    return {context.table().cuMemcpy2DAsync(&rows, stream), "cuMemcpy2DAsync"};
}

Issued issue(const Context& context, CUstream stream, const FillWork& work) noexcept {
    const driver::Table& table = context.table();
    const auto byte = static_cast<unsigned char>(work.value);
    if (work.rows != 1)
        return {table.cuMemsetD2D8Async(work.destination, work.pitch, byte, work.count, work.rows, stream),
                "cuMemsetD2D8Async"};
    if (work.element_bytes == 1)
        return {table.cuMemsetD8Async(work.destination, byte, work.count, stream), "cuMemsetD8Async"};
    if (work.element_bytes == 2)
        return {table.cuMemsetD16Async(work.destination, static_cast<unsigned short>(work.value), work.count, stream),
                "cuMemsetD16Async"};
    return {table.cuMemsetD32Async(work.destination, work.value, work.count, stream), "cuMemsetD32Async"};
}

// --- in a graph ---

CUDA_KERNEL_NODE_PARAMS params_of(const KernelWork& work) noexcept {
    CUDA_KERNEL_NODE_PARAMS params;
    std::memset(&params, 0, sizeof params);
    params.func = work.function;
    params.gridDimX = work.grid[0];
    params.gridDimY = work.grid[1];
    params.gridDimZ = work.grid[2];
    params.blockDimX = work.block[0];
    params.blockDimY = work.block[1];
    params.blockDimZ = work.block[2];
    params.sharedMemBytes = work.dynamic_shared;
    params.kernelParams = work.arguments;
    return params;
}

Issued set_attributes(const Context& context, CUgraphNode node, const KernelWork& work) noexcept {
    const Attributes attributes(work);
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < attributes.count && result == CUDA_SUCCESS; ++i)
        result =
            context.table().cuGraphKernelNodeSetAttribute(node, attributes.values[i].id, &attributes.values[i].value);
    return {result, "cuGraphKernelNodeSetAttribute"};
}

// Names the kinds of memory, since the driver accepts no other kind when the node is changed later.
CUgraphNodeParams params_of(const Context& context, const RowsWork& work) noexcept {
    CUgraphNodeParams node = node_of(CU_GRAPH_NODE_TYPE_MEMCPY);
    node.memcpy.copyCtx = context.native();
    CUDA_MEMCPY3D& copy = node.memcpy.copyParams;
    copy.srcMemoryType = work.from_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.dstMemoryType = work.to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    if (work.from_device) copy.srcDevice = work.source;
    else copy.srcHost = reinterpret_cast<const void*>(work.source);
    if (work.to_device) copy.dstDevice = work.destination;
    else copy.dstHost = reinterpret_cast<void*>(work.destination);
    set_rows(copy, work);
    return node;
}

CUgraphNodeParams params_of(const Context& context, const FillWork& work) noexcept {
    CUgraphNodeParams node = node_of(CU_GRAPH_NODE_TYPE_MEMSET);
    node.memset.dst = work.destination;
    node.memset.pitch = work.pitch;
    node.memset.value = element_of(work);
    node.memset.elementSize = work.element_bytes;
    node.memset.width = work.count;
    node.memset.height = work.rows;
    node.memset.ctx = context.native();
    return node;
}

CUgraphNodeParams params_of(const EventWork& work) noexcept {
    CUgraphNodeParams node = node_of(work.wait ? CU_GRAPH_NODE_TYPE_WAIT_EVENT : CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    (work.wait ? node.eventWait.event : node.eventRecord.event) = work.event;
    return node;
}

Issued add(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies, const KernelWork& work,
           CUgraphNode* node) noexcept {
    CUgraphNodeParams params = node_of(CU_GRAPH_NODE_TYPE_KERNEL);
    params.kernel.func = work.function;
    params.kernel.gridDimX = work.grid[0];
    params.kernel.gridDimY = work.grid[1];
    params.kernel.gridDimZ = work.grid[2];
    params.kernel.blockDimX = work.block[0];
    params.kernel.blockDimY = work.block[1];
    params.kernel.blockDimZ = work.block[2];
    params.kernel.sharedMemBytes = work.dynamic_shared;
    params.kernel.kernelParams = work.arguments;
    CUgraphNode made = nullptr;
    Issued added = add_node(context, graph, dependencies, params, &made);
    if (added.result == CUDA_SUCCESS) added = set_attributes(context, made, work);
    if (added.result == CUDA_SUCCESS) *node = made;
    else if (made) context.table().cuGraphDestroyNode(made);
    return added;
}

Issued add(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies, const CopyWork& work,
           CUgraphNode* node) noexcept {
    CUgraphNodeParams params = copy_node(context, work);
    return add_node(context, graph, dependencies, params, node);
}

Issued add(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies, const RowsWork& work,
           CUgraphNode* node) noexcept {
    CUgraphNodeParams params = params_of(context, work);
    return add_node(context, graph, dependencies, params, node);
}

Issued add(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies, const FillWork& work,
           CUgraphNode* node) noexcept {
    CUgraphNodeParams params = params_of(context, work);
    return add_node(context, graph, dependencies, params, node);
}

Issued add(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies, const EventWork& work,
           CUgraphNode* node) noexcept {
    CUgraphNodeParams params = params_of(work);
    return add_node(context, graph, dependencies, params, node);
}

Issued change(const Context& context, CUgraphExec exec, CUgraphNode node, const KernelWork& work) noexcept {
    const CUDA_KERNEL_NODE_PARAMS params = params_of(work);
    return {context.table().cuGraphExecKernelNodeSetParams(exec, node, &params), "cuGraphExecKernelNodeSetParams"};
}

Issued change(const Context& context, CUgraphExec exec, CUgraphNode node, const CopyWork& work) noexcept {
    const CUgraphNodeParams params = copy_node(context, work);
    return {context.table().cuGraphExecMemcpyNodeSetParams(exec, node, &params.memcpy.copyParams, context.native()),
            "cuGraphExecMemcpyNodeSetParams"};
}

Issued change(const Context& context, CUgraphExec exec, CUgraphNode node, const FillWork& work) noexcept {
    CUDA_MEMSET_NODE_PARAMS params;
    std::memset(&params, 0, sizeof params);
    params.dst = work.destination;
    params.pitch = work.pitch;
    params.value = element_of(work);
    params.elementSize = work.element_bytes;
    params.width = work.count;
    params.height = work.rows;
    return {context.table().cuGraphExecMemsetNodeSetParams(exec, node, &params, context.native()),
            "cuGraphExecMemsetNodeSetParams"};
}

// --- memory accesses ---

Accesses accesses(const RowsWork& work) noexcept {
    return {true,
            {work.source, span_of(work.source_pitch, work.width, work.height)},
            {work.destination, span_of(work.destination_pitch, work.width, work.height)}};
}

Accesses accesses(const FillWork& work) noexcept {
    return {true, {}, {work.destination, span_of(work.pitch, work.count * work.element_bytes, work.rows)}};
}

}  // namespace gpo
