// The work of graph nodes: made from the parameters that cuGraphAddNode and the like take, and read back into them. All
// of it with the machine's lock held; what is refused has changed nothing.
#pragma once

#include <vector>

#include "softgpu/api/call.h"

namespace gpo::softgpu {

/// The parameters of a node that is added, as those of the functions for kernels' nodes.
inline CUDA_KERNEL_NODE_PARAMS kernel_parameters(const CUDA_KERNEL_NODE_PARAMS_v3& p) noexcept {
    return {p.func,      p.gridDimX,       p.gridDimY,     p.gridDimZ, p.blockDimX, p.blockDimY,
            p.blockDimZ, p.sharedMemBytes, p.kernelParams, p.extra,    p.kern,      p.ctx};
}
/// A kernel in its function's context. `attributes`: a launch whose attributes the node keeps; NULL: those of a plain
/// one.
void make_kernel_node(Machine&, const CUDA_KERNEL_NODE_PARAMS&, Work&, const KernelLaunch* attributes = nullptr);
/// The parameters point to the node's own arguments, until those are changed. Throws std::bad_alloc.
void read_kernel_node(GraphNode&, CUDA_KERNEL_NODE_PARAMS*);
// Launch attributes of a kernel's node.
void set_kernel_attribute(Machine&, Work&, CUlaunchAttributeID, const CUlaunchAttributeValue&);
void get_kernel_attribute(const Work&, CUlaunchAttributeID, CUlaunchAttributeValue*);
void copy_kernel_attributes(Machine&, Work& to, const Work& from);

void make_copy_node(Machine&, const CUDA_MEMCPY3D&, Work&);
void read_copy_node(const Work&, CUDA_MEMCPY3D*);
void make_fill_node(Machine&, const CUDA_MEMSET_NODE_PARAMS_v2&, Work&);
void read_fill_node(const Work&, CUDA_MEMSET_NODE_PARAMS*);
void make_host_node(const CUDA_HOST_NODE_PARAMS_v2&, Work&);
void make_event_node(Machine&, CUevent, CommandKind, Work&);
/// Throws std::bad_alloc.
void make_allocation_node(Machine&, const Graph&, const CUDA_MEM_ALLOC_NODE_PARAMS_v2&, Work&);
void make_free_node(Machine&, const Graph&, const CUDA_MEM_FREE_NODE_PARAMS&, Work&);
/// The graph has a free node for it now.
void note_free(const Graph&, GraphMemory&) noexcept;
/// With its bodies. Throws std::bad_alloc.
GraphNode& add_conditional_node(Machine&, Graph&, std::vector<GraphNode*> depends, CUDA_CONDITIONAL_NODE_PARAMS&);
/// The last step of adding a node.
void added_node(GraphNode&, CUgraphNodeParams&) noexcept;

// Refuse a handle that is none, or stale.
Graph& graph_of(Machine&, CUgraph);
GraphNode& node_of(Machine&, CUgraphNode);
/// Nodes of the graph, none of them twice.
std::vector<GraphNode*> nodes_of(Machine&, const Graph&, const CUgraphNode* handles, size_t count);

}  // namespace gpo::softgpu
