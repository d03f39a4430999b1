#include "softgpu/blocks/region.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "softgpu/memory/address_room.h"
#include "softgpu/memory/range_allocator.h"

namespace gpo::softgpu {

namespace {

/// An aligned range of addresses. The whole range stays reserved, since other memory in it would count as the block's
/// own. Twice as much is mapped for a moment only if neither the system's first choice nor the range right below it
/// fits. NULL: no room.
void* reserve_aligned() noexcept {
    constexpr size_t kSize = RegionLayout::kAlignment;
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* memory = mmap(nullptr, kSize, PROT_NONE, kFlags, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    uintptr_t begin = reinterpret_cast<uintptr_t>(memory);
    uintptr_t aligned = begin & ~(kSize - 1);
    if (aligned == begin) return memory;
    munmap(memory, kSize);
    memory = mmap(reinterpret_cast<void*>(aligned), kSize, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == reinterpret_cast<void*>(aligned)) return memory;
    if (memory != MAP_FAILED) munmap(memory, kSize);   // a system that takes the address for a hint
    memory = mmap(nullptr, 2 * kSize, PROT_NONE, kFlags, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    begin = reinterpret_cast<uintptr_t>(memory);
    aligned = (begin + kSize - 1) & ~(kSize - 1);
    if (aligned != begin) munmap(memory, aligned - begin);
    if (const uintptr_t end = aligned + kSize; end != begin + 2 * kSize)
        munmap(reinterpret_cast<void*>(end), begin + 2 * kSize - end);
    return reinterpret_cast<void*>(aligned);
}

}  // namespace

unsigned RegionLayout::stack_count(unsigned threads) noexcept {
    return threads == 0 ? 0 : std::max(32u, std::bit_ceil(threads));
}

unsigned RegionLayout::stack_shift(unsigned stacks) noexcept {
    return stacks <= 256 ? 19 : stacks <= 512 ? 18 : 17;
}

Region::Region(unsigned stacks, bool guard) : stacks_(stacks) {
    const unsigned shift = RegionLayout::stack_shift(stacks);
    size_ = RegionLayout::kStacks + (size_t{stacks} << shift);
    base_ = static_cast<std::byte*>(reserve_aligned());
    if (!base_) throw Shortage(RegionLayout::kAlignment, "the stacks of a kernel's block");
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
