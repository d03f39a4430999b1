// Clusters of blocks: a block's position in its cluster, the cluster's barrier, and the shared memory of the cluster's
// other blocks.
#pragma once

#include "gpo_warp.h"

__gpo_inline dim3 __clusterDim() { return dim3(__gpo_uint3(__gpo_block()->cluster)); }
__gpo_inline unsigned __clusterDimIsSpecified() { return __gpo_block()->cluster_size > 1; }
__gpo_inline unsigned __clusterSizeInBlocks() { return __gpo_block()->cluster_size; }
__gpo_inline unsigned __clusterRelativeBlockRank() { return __gpo_block()->cluster_rank; }
__gpo_inline dim3 __clusterRelativeBlockIdx() {
    const dim3 size = __clusterDim();
    const uint3 at = __gpo_block_index();
    return dim3(at.x % size.x, at.y % size.y, at.z % size.z);
}
__gpo_inline dim3 __clusterIdx() {
    const dim3 size = __clusterDim();
    const uint3 at = __gpo_block_index();
    return dim3(at.x / size.x, at.y / size.y, at.z / size.z);
}
__gpo_inline dim3 __clusterGridDimInClusters() {
    const dim3 size = __clusterDim(), all = __gpo_grid_dim();
    return dim3(all.x / size.x, all.y / size.y, all.z / size.z);
}

__gpo_inline void __cluster_barrier_arrive() {
    gpo_soft_block* block = __gpo_block();
    block->services->cluster_arrive(block);
}
__gpo_inline void __cluster_barrier_arrive_relaxed() { __cluster_barrier_arrive(); }
__gpo_inline void __cluster_barrier_wait() {
    gpo_soft_block* block = __gpo_block();
    block->services->cluster_wait(block);
}
__gpo_inline void __threadfence_cluster() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

/// The place that corresponds to `address` of this block's shared memory, in the block of a rank.
__gpo_inline void* __cluster_map_shared_rank(const void* address, unsigned rank) {
    gpo_soft_block* block = __gpo_block();
    const gpo_soft_address offset = reinterpret_cast<gpo_soft_address>(address) & ((gpo_soft_address(1) << GPO_SOFT_REGION_BITS) - 1);
    return reinterpret_cast<char*>(block->cluster_blocks[rank < block->cluster_size ? rank : block->cluster_rank]) + offset;
}
/// The rank of the block whose shared memory has the address; this block's rank if none has.
__gpo_inline unsigned __cluster_query_shared_rank(const void* address) {
    gpo_soft_block* block = __gpo_block();
    const gpo_soft_address region = reinterpret_cast<gpo_soft_address>(address) >> GPO_SOFT_REGION_BITS;
    for (unsigned rank = 0; rank < block->cluster_size; ++rank)
        if (reinterpret_cast<gpo_soft_address>(block->cluster_blocks[rank]) >> GPO_SOFT_REGION_BITS == region) return rank;
    return block->cluster_rank;
}
__gpo_inline unsigned __isClusterShared(const void* address) {
    gpo_soft_block* block = __gpo_block();
    const gpo_soft_address region = reinterpret_cast<gpo_soft_address>(address) >> GPO_SOFT_REGION_BITS;
    for (unsigned rank = 0; rank < block->cluster_size; ++rank)
        if (reinterpret_cast<gpo_soft_address>(block->cluster_blocks[rank]) >> GPO_SOFT_REGION_BITS == region) return 1;
    return 0;
}
