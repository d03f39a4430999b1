#include "softgpu/memory/range_allocator.h"

#include <iterator>

namespace gpo::softgpu {

void RangeAllocator::link(Block& block) noexcept {
    Block*& head = bins_[bin_of(block.size)];
    block.previous = nullptr;
    block.next = head;
    if (head) head->previous = &block;
    head = &block;
}

void RangeAllocator::unlink(Block& block) noexcept {
    if (block.previous) block.previous->next = block.next;
    else bins_[bin_of(block.size)] = block.next;
    if (block.next) block.next->previous = block.previous;
}

void RangeAllocator::add(uint64_t base, uint64_t size) {
    Block& block = blocks_[base];
    block.address = base;
    block.size = size;
    block.first = true;
    link(block);
}

bool RangeAllocator::remove(uint64_t base, uint64_t size) noexcept {
    auto found = blocks_.find(base);
    if (found == blocks_.end() || found->second.used || found->second.size != size) return false;
    unlink(found->second);
    blocks_.erase(found);
    return true;
}

RangeAllocator::Block* RangeAllocator::best_fit(uint64_t size) const noexcept {
    Block* best = nullptr;
    // Blocks of the size's own class may be too small; a bounded look keeps the worst case short.
    int looked = 0;
    for (Block* block = bins_[bin_of(size)]; block && looked < 64; block = block->next, ++looked)
        if (block->size >= size && (!best || block->size < best->size)) best = block;
    for (unsigned bin = bin_of(size) + 1; !best && bin < 64; ++bin) {
        looked = 0;
        for (Block* block = bins_[bin]; block && looked < 16; block = block->next, ++looked)
            if (!best || block->size < best->size) best = block;
    }
    for (Block* block = bins_[bin_of(size)]; block && !best; block = block->next)
        if (block->size >= size) best = block;
    return best;
}

uint64_t RangeAllocator::take(uint64_t size) {
    if (!size) return 0;
    Block* block = best_fit(size);
    if (!block) return 0;
    if (block->size > size) {
        const uint64_t rest_address = block->address + size;
        Block& rest = blocks_[rest_address];   // throws before anything is changed
        rest.address = rest_address;
        rest.size = block->size - size;
        unlink(*block);
        block->size = size;
        link(rest);
    } else {
        unlink(*block);
    }
    block->used = true;
    taken_ += size;
    return block->address;
}

uint64_t RangeAllocator::give(uint64_t address) noexcept {
    auto found = blocks_.find(address);
    if (found == blocks_.end() || !found->second.used) return 0;
    const uint64_t size = found->second.size;
    taken_ -= size;
    found->second.used = false;
    if (auto next = std::next(found);
        next != blocks_.end() && !next->second.used && !next->second.first && next->first == address + size) {
        unlink(next->second);
        found->second.size += next->second.size;
        blocks_.erase(next);
    }
    if (!found->second.first && found != blocks_.begin()) {
        auto before = std::prev(found);
        if (!before->second.used && before->first + before->second.size == address) {
            unlink(before->second);
            before->second.size += found->second.size;
            blocks_.erase(found);
            found = before;
        }
    }
    link(found->second);
    return size;
}

uint64_t RangeAllocator::size_of(uint64_t address) const noexcept {
    auto found = blocks_.find(address);
    return found == blocks_.end() || !found->second.used ? 0 : found->second.size;
}

}  // namespace gpo::softgpu
