#include "softgpu/memory/pool.h"

#include <algorithm>
#include <iterator>

namespace gpo::softgpu {

namespace {

constexpr uint64_t kSegmentGrain = 2ull << 20;
constexpr uint64_t kSegment = 32ull << 20;   // what a pool asks the device for at a time

}  // namespace

Place Pool::find(uint64_t address) const noexcept {
    Place place;
    auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return place;
    const Block& block = std::prev(after)->second;
    if (!(block.handed || block.fixed) || address - block.address >= block.size) return place;
    place.kind = Place::device;
    place.ordered = true;
    place.ordinal = device;
    place.base = block.address;
    place.size = block.size;
    place.context = block.context;
    place.pool = const_cast<Pool*>(this);
    place.id = block.id;
    return place;
}

Pool::Block* Pool::reuse(uint64_t bytes, Stream* stream, bool same) noexcept {
    int looked = 0;
    for (Block* block = pending_first_; block && looked < 64; block = block->next, ++looked)
        if ((block->freed_on == stream) == same && block->capacity >= bytes && block->capacity / 2 <= bytes)
            return block;
    return nullptr;
}

void Pool::pend(Block& block) noexcept {
    block.previous = pending_last_;
    block.next = nullptr;
    (pending_last_ ? pending_last_->next : pending_first_) = &block;
    pending_last_ = &block;
}

void Pool::unpend(Block& block) noexcept {
    (block.previous ? block.previous->next : pending_first_) = block.next;
    (block.next ? block.next->previous : pending_last_) = block.previous;
    block.freed_on = nullptr;
    block.previous = block.next = nullptr;
}

void Pool::hand_out(AddressSpace& space, Block& block, CUcontext context, uint64_t bytes) noexcept {
    block.size = bytes;
    block.context = context;
    block.handed = true;
    block.id = space.next_id();
    used_high = std::max(used_high, used());
}

CUresult Pool::take(AddressSpace& space, Stream* stream, CUcontext context, uint64_t bytes, uint64_t* address) {
    const uint64_t grain = space.guarded() ? kPage : kGrain;
    if (bytes > space.total()) return CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t capacity = (bytes + grain - 1) / grain * grain;
    if (Block* block = reuse(capacity, stream, true)) {
        unpend(*block);
        hand_out(space, *block, context, bytes);
        *address = block->address;
        return CUDA_SUCCESS;
    }
    const uint64_t limit = max_bytes ? max_bytes : space.total();
    uint64_t taken = ranges_.take(capacity);
    if (!taken) {
        const uint64_t least =
            space.guarded() ? capacity : (capacity + kSegmentGrain - 1) / kSegmentGrain * kSegmentGrain;
        // If possible, a large segment: it serves many blocks.
        for (uint64_t size : {space.guarded() ? least : std::max(least, kSegment), least}) {
            if (reserved + size > limit) continue;
            uint64_t base = 0;
            if (space.take_segment(device, this, size, &base) != CUDA_SUCCESS) continue;
            try {
                segments_[base].size = size;
                try {
                    ranges_.add(base, size);
                } catch (...) {
                    segments_.erase(base);
                    throw;
                }
            } catch (...) {
                space.give_segment(base);
                throw;
            }
            reserved += size;
            reserved_high = std::max(reserved_high, reserved);
            taken = ranges_.take(capacity);
            break;
        }
        if (!taken) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    try {
        Block& block = blocks_[taken];
        block = Block();
        block.address = taken;
        block.capacity = capacity;
        hand_out(space, block, context, bytes);
    } catch (...) {
        ranges_.give(taken);
        throw;
    }
    *address = taken;
    return CUDA_SUCCESS;
}

CUresult Pool::take_pending(AddressSpace& space, CUcontext context, uint64_t bytes, uint64_t* address,
                            Stream** freed_on) {
    if (!internal_dependencies) return CUDA_ERROR_OUT_OF_MEMORY;
    Block* found = nullptr;
    for (Block* block = pending_first_; block && !found; block = block->next)
        if (block->capacity >= bytes) found = block;
    if (!found) return CUDA_ERROR_OUT_OF_MEMORY;
    *freed_on = found->freed_on;
    unpend(*found);
    hand_out(space, *found, context, bytes);
    *address = found->address;
    return CUDA_SUCCESS;
}

bool Pool::call_free(AddressSpace& space, uint64_t address, const Free& free, uint64_t* id) {
    auto found = blocks_.find(address);
    if (found == blocks_.end() || !found->second.handed) return false;
    Block& block = found->second;
    if (free.stream && !block.fixed)
        std::prev(segments_.upper_bound(address))->second.unseen[free.handle] = free.number;
    block.handed = false;
    block.freed_on = free.stream;
    *id = block.freed_id = space.next_id();
    if (!block.fixed) pend(block);
    return true;
}

void Pool::see_frees(uintptr_t stream, uint64_t number) noexcept {
    for (auto& [base, segment] : segments_)
        if (auto newest = segment.unseen.find(stream); newest != segment.unseen.end() && newest->second <= number)
            segment.unseen.erase(newest);
}

bool Pool::has_unseen_frees() const noexcept {
    return std::any_of(segments_.begin(), segments_.end(), [](const auto& one) { return !one.second.unseen.empty(); });
}

void Pool::see_all_frees() noexcept {
    for (auto& [base, segment] : segments_) segment.unseen.clear();
}

void Pool::set_live(Block& block, bool live) noexcept {
    if (block.live == live) return;
    block.live = live;
    live_bytes += live ? block.capacity : -block.capacity;
    live_high = std::max(live_high, live_bytes);
}

void Pool::erase(std::map<uint64_t, Block>::iterator at) noexcept {
    set_live(at->second, false);
    ranges_.give(at->first);
    blocks_.erase(at);
}

void Pool::reach_allocation(uint64_t address) noexcept {
    if (auto found = blocks_.find(address); found != blocks_.end()) set_live(found->second, true);
}

void Pool::reach_free(uint64_t address, uint64_t id) noexcept {
    auto found = blocks_.find(address);
    if (found == blocks_.end()) return;
    Block& block = found->second;
    if (block.fixed) {
        set_live(block, false);
        if (block.freed_id == id) block.freed_id = 0;
        return;
    }
    set_live(block, false);
    if (block.handed || block.freed_id != id) return;   // handed out again meanwhile
    unpend(block);
    erase(found);
}

CUresult Pool::fix(AddressSpace& space, CUcontext context, uint64_t bytes, uint64_t* address, uint64_t* id) {
    const CUresult result = take(space, nullptr, context, bytes, address);
    if (result != CUDA_SUCCESS) return result;
    Block& block = blocks_.find(*address)->second;
    block.fixed = true;
    block.handed = false;
    *id = block.id;
    return CUDA_SUCCESS;
}

void Pool::unfix(uint64_t address, uint64_t id) noexcept {
    Block* block = fixed(address, id);
    if (!block) return;
    block->fixed = false;
    if (block->handed) return;
    if (block->freed_id) pend(*block);   // a stream has yet to reach the free
    else erase(blocks_.find(address));
}

Pool::Block* Pool::fixed(uint64_t address, uint64_t id) noexcept {
    auto found = blocks_.find(address);
    return found != blocks_.end() && found->second.fixed && found->second.id == id ? &found->second : nullptr;
}

bool Pool::live(uint64_t address, uint64_t bytes) const noexcept {
    auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return false;
    const Block& block = std::prev(after)->second;
    return block.live && address - block.address <= block.capacity &&
           bytes <= block.capacity - (address - block.address);
}

void Pool::trim(AddressSpace& space, uint64_t keep) noexcept {
    for (auto at = segments_.begin(); at != segments_.end() && reserved > keep;) {
        auto here = at++;
        const uint64_t size = here->second.size;
        if (!here->second.unseen.empty() || (size > reserved - keep && keep)) continue;
        if (!ranges_.remove(here->first, size)) continue;
        space.give_segment(here->first);
        reserved -= size;
        segments_.erase(here);
    }
}

void Pool::clear(AddressSpace& space) noexcept {
    for (auto& [address, block] : blocks_) ranges_.give(address);
    blocks_.clear();
    pending_first_ = pending_last_ = nullptr;
    see_all_frees();
    trim(space, 0);
    is_default = destroyed = false;
    follow_events = opportunistic = internal_dependencies = 1;
    threshold = max_bytes = reserved_high = used_high = live_bytes = live_high = readable = writable = 0;
}

void Pool::forget(CUcontext context) noexcept {
    for (auto at = blocks_.begin(); at != blocks_.end();) {
        auto here = at++;
        if (here->second.context != context) continue;
        if (!here->second.handed && !here->second.fixed) unpend(here->second);
        erase(here);
    }
}

}  // namespace gpo::softgpu
