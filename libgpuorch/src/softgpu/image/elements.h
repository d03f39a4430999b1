// How the built-in kernels of the software GPU read their arguments, and which elements a block works on. Threads are
// numbered through grids and blocks of any shape, and each thread takes every n-th element, where n is the number of
// all threads, as on CUDA. No thread waits for another, so a block is a loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

inline uint64_t volume(const gpo_soft_dim3& dims) { return uint64_t{dims.x} * dims.y * dims.z; }

template <class T>
T argument(const gpo_soft_block* block, int i) {
    T value;
    std::memcpy(&value, block->args[i], sizeof value);
    return value;
}

/// Calls `piece(from, to)` for each run of elements below n that the block's threads take side by side. Between two of
/// them the core may go to another block.
template <class Piece>
void for_elements(gpo_soft_block* block, uint64_t n, Piece piece) {
    const uint64_t threads = volume(block->block), blocks = volume(block->grid);
    const uint64_t runs = n / threads + (n % threads != 0);
    const gpo_soft_dim3 &at = block->block_index, &grid = block->grid;
    const uint64_t number = at.x + uint64_t{grid.x} * (at.y + uint64_t{grid.y} * at.z);
    for (uint64_t turn = 0;; ++turn) {
        const uint64_t run = turn * blocks + number;
        if (run >= runs) return;
        piece(run * threads, run * threads + std::min(n - run * threads, threads));
        if (turn % 1024 == 1023) block->services->yield(block);
    }
}

}  // namespace gpo::softgpu
