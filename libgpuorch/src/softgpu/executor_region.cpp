#include "softgpu/executor_region.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "softgpu/range_allocator.h"

namespace gpo::softgpu {

unsigned RegionLayout::stack_count(unsigned threads) noexcept {
    return threads == 0 ? 0 : std::max(32u, std::bit_ceil(threads));
}

unsigned RegionLayout::stack_shift(unsigned stacks) noexcept {
    return stacks <= 256 ? 19 : stacks <= 512 ? 18 : 17;
}

Region::Region(unsigned stacks, bool guard) : stacks_(stacks) {
    const unsigned shift = RegionLayout::stack_shift(stacks);
    size_ = RegionLayout::kStacks + (size_t{stacks} << shift);
    // The whole aligned range stays reserved: memory of others in it would be taken for the block's own.
    const size_t reserved = 2 * RegionLayout::kAlignment;
    void* memory = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    const auto begin = reinterpret_cast<uintptr_t>(memory);
    const uintptr_t aligned = (begin + RegionLayout::kAlignment - 1) & ~(RegionLayout::kAlignment - 1);
    if (aligned != begin) munmap(memory, aligned - begin);
    const uintptr_t end = aligned + RegionLayout::kAlignment;
    if (end != begin + reserved) munmap(reinterpret_cast<void*>(end), begin + reserved - end);
    base_ = reinterpret_cast<std::byte*>(aligned);
    if (mprotect(base_, size_, PROT_READ | PROT_WRITE) != 0) {
        munmap(base_, RegionLayout::kAlignment);
        throw std::bad_alloc();
    }
    // A huge page per touched stack would turn kilobytes into gigabytes.
    madvise(base_, size_, MADV_NOHUGEPAGE);
    mprotect(base_ + RegionLayout::kMainStack, kPage, PROT_NONE);
    if (guard)
        for (unsigned i = 0; i < stacks; ++i)
            mprotect(base_ + RegionLayout::kStacks + (size_t{i} << shift), kPage, PROT_NONE);
}

Region::~Region() { munmap(base_, RegionLayout::kAlignment); }

void Region::trim() noexcept {
    madvise(base_ + RegionLayout::kShared, size_ - RegionLayout::kShared, MADV_DONTNEED);
}

}  // namespace gpo::softgpu
