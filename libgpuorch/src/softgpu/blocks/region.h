// A block's memory: header, thread states, shared memory and stacks, in one range aligned to 1 << GPO_SOFT_REGION_BITS.
// The alignment lets a stack pointer give the block (kernel_abi.h).
//
// Untouched memory costs only address space. A region in the pool keeps its pages, so the stacks stay warm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

/// Where things lie in a region, in bytes from its beginning.
struct RegionLayout {
    static constexpr size_t kAlignment = size_t{1} << GPO_SOFT_REGION_BITS;
    static constexpr size_t kThreads = 64 << 10;
    static constexpr size_t kShared = 256 << 10;
    static constexpr size_t kSharedLimit = 768 << 10;      // what fits; a device's own limit is lower
    static constexpr size_t kSignalStack = 1 << 20;        // of the worker whose region it is
    static constexpr size_t kSignalStackEnd = kSignalStack + (64 << 10);
    static constexpr size_t kMainStack = 2 << 20;
    static constexpr size_t kMainStackEnd = 15 << 20;
    static constexpr size_t kStacks = 16 << 20;

    /// Stacks for blocks of up to so many threads: a power of two, 32 to 1024, or 0 for blocks that run as loops.
    static unsigned stack_count(unsigned threads) noexcept;
    /// log2 of the bytes of one stack: CUDA's 512 KiB for small blocks, 128 KiB for the largest.
    static unsigned stack_shift(unsigned stacks) noexcept;
};

class Region {
public:
    /// Throws std::bad_alloc. With `guard`, the lowest page of each stack can't be touched.
    Region(unsigned stacks, bool guard);
    ~Region();
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    std::byte* base() const noexcept { return base_; }
    unsigned stacks() const noexcept { return stacks_; }
    Region* next = nullptr;   // among those that the multiprocessors keep
    size_t size() const noexcept { return size_; }
    /// Gives the pages of stacks and shared memory back to the system.
    void trim() noexcept;

private:
    std::byte* base_ = nullptr;
    size_t size_ = 0;
    unsigned stacks_ = 0;
};

}  // namespace gpo::softgpu
