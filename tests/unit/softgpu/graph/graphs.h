// Graphs on the software GPU with the hand-written kernels, shared by the unit tests of loops and of launches by
// kernels.
#pragma once

#include <vector>

#include "unit/softgpu/softgpu.h"

namespace softgpu_test {

struct GraphGpu : Gpu {
    CUgraph graph() {
        CUgraph made = nullptr;
        OK(cu->cuGraphCreate(&made, 0));
        return made;
    }
    CUgraphNode add(CUgraph graph, CUgraphNodeParams parameters, const std::vector<CUgraphNode>& after = {}) {
        CUgraphNode node = nullptr;
        OK(cu->cuGraphAddNode(&node, graph, after.data(), after.size(), &parameters));
        return node;
    }
    CUgraphNode empty(CUgraph graph, const std::vector<CUgraphNode>& after = {}) {
        CUgraphNodeParams parameters{};
        parameters.type = CU_GRAPH_NODE_TYPE_EMPTY;
        return add(graph, parameters, after);
    }
    template <class... Arguments>
    CUgraphNode node(CUgraph graph, const char* name, const std::vector<CUgraphNode>& after, Arguments... arguments) {
        void* pointers[] = {&arguments..., nullptr};
        CUgraphNodeParams parameters{};
        parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
        parameters.kernel.func = kernel(name);
        parameters.kernel.gridDimX = parameters.kernel.gridDimY = parameters.kernel.gridDimZ = 1;
        parameters.kernel.blockDimX = parameters.kernel.blockDimY = parameters.kernel.blockDimZ = 1;
        parameters.kernel.kernelParams = pointers;
        return add(graph, parameters, after);
    }
    CUgraphConditionalHandle condition(CUgraph graph, unsigned initial) {
        CUgraphConditionalHandle made = 0;
        OK(cu->cuGraphConditionalHandleCreate(&made, graph, context, initial, CU_GRAPH_COND_ASSIGN_DEFAULT));
        return made;
    }
    /// A node's body; `node`, where it isn't NULL, gets the node.
    CUgraph conditional(CUgraph graph, CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                        CUgraphNode* node = nullptr) {
        CUgraphNodeParams parameters{};
        parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        parameters.conditional.handle = handle;
        parameters.conditional.type = type;
        parameters.conditional.size = 1;
        parameters.conditional.ctx = context;
        CUgraphNode made = nullptr;
        OK(cu->cuGraphAddNode(&made, graph, nullptr, 0, &parameters));
        if (node) *node = made;
        return parameters.conditional.phGraph_out[0];
    }
    CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
        CUgraphExec exec = nullptr;
        OK(cu->cuGraphInstantiateWithFlags(&exec, graph, flags));
        return exec;
    }
    /// An executable that kernels can launch, uploaded.
    CUgraphExec launchable(CUgraph graph, CUstream stream) {
        const CUgraphExec exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
        OK(cu->cuGraphUpload(exec, stream));
        return exec;
    }
};

enum : unsigned { kTail = 1, kFireAndForget = 2, kSibling = 3 };

inline unsigned long long number_of(CUgraphExec exec) { return reinterpret_cast<uintptr_t>(exec); }

}  // namespace softgpu_test
