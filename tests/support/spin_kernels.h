// Kernels whose blocks and threads wait for one another, for other kernels and for the host: the conformance suite runs
// them as any kernel, the unit tests on as many of the software GPU's workers as they like.
#pragma once

namespace gpo::test {

inline constexpr char kSpinKernels[] = R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// A barrier of the whole grid, as it is written by hand.
__device__ unsigned arrived;
__device__ volatile unsigned generation;
extern "C" __global__ void grid_spin(int *cells, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        cells[blockIdx.x] += 1;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned seen = generation;
            if (atomicAdd(&arrived, 1) == gridDim.x - 1) { arrived = 0; __threadfence(); generation = seen + 1; }
            else while (generation == seen);
            __threadfence();
        }
        __syncthreads();
        if (cells[(blockIdx.x + 1) % gridDim.x] < (int)(round + 1) * (int)blockDim.x) atomicExch(&cells[gridDim.x], 1);
    }
}

extern "C" __global__ void grid_sync(int *cells, int rounds) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    for (int round = 1; round <= rounds; ++round) {
        if (block.thread_rank() == 0) cells[blockIdx.x] = round;
        grid.sync();
        if (cells[(blockIdx.x + 1) % gridDim.x] != round) cells[gridDim.x] = 1;
        cg::sync(grid);
    }
}

// Block 0 produces, the others consume, in any order of start.
extern "C" __global__ void pipe(volatile int *slot, volatile int *full, int *out, int items) {
    if (blockIdx.x == gridDim.x - 1) {
        for (int i = 0; i < items; ++i) {
            while (*full != 0) {}
            *slot = i * i;
            __threadfence();
            *full = 1;
        }
    } else if (blockIdx.x == 0) {
        for (int i = 0; i < items; ++i) {
            while (*full == 0);
            __threadfence();
            out[i] = *slot;
            *full = 0;
        }
    }
}

extern "C" __global__ void until(volatile int *flag, int *seen) {
    while (!*flag) { }
    atomicAdd(seen, 1);
}
extern "C" __global__ void set(int *flag) { *(volatile int *)flag = 1; }

// Threads of one warp that take turns with a lock.
__device__ int lock_word;
extern "C" __global__ void locked(int *counter) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock_word, 0, 1) == 0) {
            *(volatile int *)counter = *(volatile int *)counter + 1;
            __threadfence();
            atomicExch(&lock_word, 0);
            done = true;
        }
    }
}
extern "C" __global__ void spinlock(int *counter) {
    while (atomicCAS(&lock_word, 0, 1) != 0);
    __threadfence();
    *counter += 1;
    __threadfence();
    atomicExch(&lock_word, 0);
}
// Blocks of a cluster pass numbers on through each other's shared memory; one of them may fail.
extern "C" __global__ void cluster_ring(int *out, int rounds, int failing) {
    __shared__ int box[2];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    if (threadIdx.x == 0) box[0] = 0;
    cluster.sync();
    for (int round = 0; round < rounds; ++round) {
        if ((int)blockIdx.x == failing && round == rounds / 2 && threadIdx.x == 1) __trap();
        if (threadIdx.x == 0) cluster.map_shared_rank(box, next)[(round + 1) & 1] = box[round & 1] + 1;
        cluster.sync();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = box[rounds & 1];
}
// Everybody adds to one number in the first block's shared memory, that block too.
extern "C" __global__ void cluster_add(unsigned *out, int times) {
    __shared__ unsigned sum;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    cluster.sync();
    unsigned *there = cluster.map_shared_rank(&sum, 0);
    for (int i = 0; i < times; ++i) atomicAdd(there, 1);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) out[blockIdx.x / cluster.num_blocks()] = sum;
}
extern "C" __global__ void lonely() { if (threadIdx.x == 0) { __syncwarp(3u); } else { __syncthreads(); } }
)";

}  // namespace gpo::test
