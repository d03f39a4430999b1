// What keeps a graph from being instantiated.
#pragma once

#include "softgpu/api/call.h"

namespace gpo::softgpu {

struct Flaw {
    CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    CUgraphNode node = nullptr;  // whose it is; NULL: the graph's
    CUresult code = CUDA_ERROR_INVALID_VALUE;
};

/// The first flaw that is found in a graph which is to be instantiated with CUDA_GRAPH_INSTANTIATE_FLAG_*; a success
/// where there is none. Lock held.
Flaw find_flaw(const Machine&, const Graph&, uint64_t flags) noexcept;

}  // namespace gpo::softgpu
