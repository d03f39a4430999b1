// Graphs for kernels: conditions of nodes in the kernel's own graph, and launches of other graphs.
#pragma once

#include "gpo_launches.h"

typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef unsigned long long cudaGraphConditionalHandle;

#define cudaStreamGraphTailLaunch (cudaStream_t)0x0100000000000000
#define cudaStreamGraphFireAndForget (cudaStream_t)0x0200000000000000
#define cudaStreamGraphFireAndForgetAsSibling (cudaStream_t)0x0300000000000000

__gpo_inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) {
    gpo_soft_block* block = __gpo_block();
    block->services->set_condition(block, handle, value);
}
__gpo_inline cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    const gpo_soft_u64 how = reinterpret_cast<gpo_soft_address>(stream);
    if (how << 8) return cudaErrorInvalidValue;
    gpo_soft_block* block = __gpo_block();
    return static_cast<cudaError_t>(block->services->launch_graph(
        block, reinterpret_cast<gpo_soft_address>(graph), static_cast<gpo_soft_u32>(how >> 56)));
}
__gpo_inline cudaGraphExec_t cudaGetCurrentGraphExec() {
    gpo_soft_block* block = __gpo_block();
    return reinterpret_cast<cudaGraphExec_t>(block->services->current_graph(block));
}
