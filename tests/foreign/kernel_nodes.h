// Helpers that add nodes of any kernels to graphs, by direct driver calls.
#pragma once

#include <vector>

#include "foreign/graph.h"

namespace gpo::test {

struct KernelRig : GraphRig {
    /// `source`: of the kernels.
    explicit KernelRig(const char* source) : source_(source) { RAW_OK(cu.cuCtxGetCurrent(&context)); }
    /// A kernel by its name.
    CUfunction function(const char* name) {
        kernels_.push_back(Gpu::kernel(source_, name));
        return gpo::Pin<gpo::Kernel>(kernels_.back().get())->native();
    }
    void fill(uint32_t i, uint32_t value) { RAW_OK(cu.cuMemsetD32Async(word(i), value, 1, native)); }
    /// Values of words, after all work of the stream.
    std::vector<uint32_t> values(uint32_t first, uint32_t count) {
        RAW_OK(cu.cuMemcpyDtoHAsync(out.data(), word(first), 4 * count, native));
        sync();
        return {out.data(), out.data() + count};
    }
    CUgraphNode add_node(CUgraph graph, const std::vector<CUgraphNode>& after, CUgraphNodeParams parameters) {
        CUgraphNode node = nullptr;
        RAW_OK(cu.cuGraphAddNode(&node, graph, after.data(), after.size(), &parameters));
        return node;
    }
    /// A kernel's node, with one thread.
    template <class... Arguments>
    CUgraphNode kernel(CUgraph graph, const std::vector<CUgraphNode>& after, CUfunction function,
                       Arguments... arguments) {
        void* pointers[] = {&arguments..., nullptr};
        CUgraphNodeParams parameters{};
        parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
        CUDA_KERNEL_NODE_PARAMS_v3& kernel = parameters.kernel;
        kernel.func = function;
        kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
        kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
        kernel.kernelParams = pointers;
        return add_node(graph, after, parameters);
    }

    CUcontext context = nullptr;

private:
    const char* const source_;
    std::vector<Kernel> kernels_;
};

}  // namespace gpo::test
