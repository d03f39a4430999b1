// Flaws that keep a graph from being instantiated.
#pragma once

#include "softgpu/api/call.h"

namespace gpo::softgpu {

struct Flaw {
    CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    CUgraphNode node = nullptr;  // the flawed node; NULL: the graph itself
    CUresult code = CUDA_ERROR_INVALID_VALUE;
};

/// The first flaw found in a graph before its instantiation with CUDA_GRAPH_INSTANTIATE_FLAG_*; a success if it has
/// none. Lock held.
Flaw find_flaw(const Machine&, const Graph&, uint64_t flags) noexcept;

}  // namespace gpo::softgpu
