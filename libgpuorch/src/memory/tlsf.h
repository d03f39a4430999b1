// Two-level segregated fit: finds a free part of a region, and takes one back, in constant time.
//
// Words. A *granule* is 256 bytes. A *region* is a run of granules that was handed to the heap as a whole: a slab, or a
// span of one. A region is cut into *blocks*, which are free or allocated. Free blocks are in lists by size class: the
// first level is the power of two, the second divides it into 32. Two levels of bitmaps find a class that has a block.
// Free blocks beside each other are joined at once. (M. Masmano, I. Ripoll, A. Crespo, J. Real: "TLSF: a new dynamic
// memory allocator for real-time systems", ECRTS 2004.)
//
// Blocks are described by records in ordinary memory. The heap writes nothing into the memory that it hands out: the
// memory may be write-combined, and its contents can't be trusted.
//
// Not thread-safe: the heap that uses it holds a lock. The exception is at(): a thread that has claimed a block
// (heap.h) may look up the block's record and use the record's `next` without the lock. The address of the records lies
// on a cache line that no call writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpo {

inline constexpr uint64_t kGranule = 256;

class Tlsf {
public:
    /// Number of a block's record; 0: none.
    using Index = uint32_t;
    static constexpr Index kMaxIndex = (1u << 24) - 1;

    struct Block {
        uint32_t offset = 0, size = 0;  // granules; the offset counts from an address that the region's owner knows
        Index before = 0, behind = 0;        // neighbours in the region
        Index previous = 0, next = 0;        // in the list of its class, while it is free
        uint32_t origin = 0;                 // the region owner's word, the same for all blocks of a region
        uint16_t slab = 0;
        uint16_t list = 0;                   // 0: allocated; else 1 + the class in whose list the block is
        bool free() const noexcept { return list != 0; }
    };

    /// Up to `most_blocks` blocks, free blocks included. Reserves addresses for their records, and takes memory as
    /// records are used. Throws std::bad_alloc.
    explicit Tlsf(uint32_t most_blocks = 1u << 21);
    ~Tlsf();
    Tlsf(const Tlsf&) = delete;
    Tlsf& operator=(const Tlsf&) = delete;

    /// Adds a region as a single free block. The record stays the region's first record until remove(). Throws
    /// std::bad_alloc, also if there are too many blocks.
    Index add(uint16_t slab, uint32_t offset, uint32_t size, uint32_t origin);
    /// Removes a region that is a single free block.
    void remove(Index first) noexcept;
    /// True if the block is free and is its whole region.
    bool whole(Index block) const noexcept { return at(block).free() && !at(block).before && !at(block).behind; }

    /// A block of `size` granules whose offset is a multiple of `alignment` (a power of two); 0 if none fits, or there
    /// are too many blocks. Throws std::bad_alloc.
    Index allocate(uint32_t size, uint32_t alignment);
    /// Frees an allocated block. Returns the joined free block.
    Index free(Index block) noexcept;

    Block& at(Index index) noexcept { return records_[index]; }
    const Block& at(Index index) const noexcept { return records_[index]; }

    /// For tests, since they walk all lists: whether the lists, maps and neighbours agree; number of free blocks; sum
    /// of their sizes.
    bool consistent() const noexcept;
    size_t free_blocks() const noexcept;
    uint64_t free_granules() const noexcept;

private:
    static constexpr unsigned kSecondBits = 5, kSecond = 1u << kSecondBits, kFirst = 32 - kSecondBits + 1;
    static constexpr uint32_t kStep = 1u << 10;   // records that become usable at once

    // Number of a class: first level * kSecond + second level.
    using Class = uint32_t;
    static unsigned shift_of(uint32_t size) noexcept;
    static Class class_of(uint32_t size, unsigned shift) noexcept { return (shift << kSecondBits) + (size >> shift); }
    static Class class_of(uint32_t size) noexcept { return class_of(size, shift_of(size)); }
    Class find(uint64_t size) const noexcept;
    Index find_in_class(uint32_t size, uint32_t alignment) const noexcept;
    void link(Index block) noexcept;
    void unlink(Index block) noexcept;
    Index unlink_first(Class of) noexcept;
    void forget(Class of, bool empty) noexcept;
    bool have_records(unsigned count) { return spare_count_ >= count || make_records(); }
    bool make_records();
    Index take_record() noexcept;
    void give_record(Index index) noexcept;
    Index split(Index block, uint32_t size) noexcept;
    /// `which ? first : second` without a branch: compilers make a branch of ?: here.
    static Index* select(bool which, Index* first, Index* second) noexcept {
        const auto one = reinterpret_cast<uintptr_t>(first), other = reinterpret_cast<uintptr_t>(second);
        return reinterpret_cast<Index*>(other ^ ((one ^ other) & (0 - uintptr_t{which})));
    }
    /// `map` must have a bit set. (std::countr_zero tests for zero.)
    static unsigned lowest_bit(uint32_t map) noexcept { return static_cast<unsigned>(__builtin_ctz(map)); }

    const uint32_t most_;
    Block* records_ = nullptr;  // most_ of them, the first made_ usable; they never move
    alignas(128) uint32_t first_map_ = 0;                         // classes of the first level that have a free block
    std::array<uint32_t, kFirst> second_map_{};
    std::array<Index, kFirst * kSecond> heads_{};
    Index spare_ = 0;                                             // records not in use, linked by `next`
    uint32_t spare_count_ = 0, made_ = 0;
};

// An arena's calls spend most of their time in the functions below, which are inline. Sizes are unpredictable: a branch
// on a size is mispredicted half of the time, at ten times the cost of the work that it would save. The code therefore
// has few such branches. Writes to a missing neighbour go to record 0.

inline unsigned Tlsf::shift_of(uint32_t size) noexcept {
    return 31u - static_cast<unsigned>(__builtin_clz(size | kSecond)) - kSecondBits;
}

inline Tlsf::Index Tlsf::take_record() noexcept {
    const Index index = spare_;
    spare_ = at(index).next;
    --spare_count_;
    return index;
}

inline void Tlsf::give_record(Index index) noexcept {
    at(index).next = spare_;
    spare_ = index;
    ++spare_count_;
}

// Clears the class's bits in the maps if its list is empty.
[[gnu::always_inline]] inline void Tlsf::forget(Class of, bool empty) noexcept {
    uint32_t& seconds = second_map_[of / kSecond];
    seconds &= ~(uint32_t{empty} << of % kSecond);
    first_map_ &= ~(uint32_t{seconds == 0} << of / kSecond);
}

[[gnu::always_inline]] inline void Tlsf::link(Index index) noexcept {
    Block& block = at(index);
    const Class of = class_of(block.size);
    const Index head = heads_[of];
    block.list = static_cast<uint16_t>(of + 1);
    block.previous = 0;
    block.next = head;
    at(head).previous = index;
    heads_[of] = index;
    first_map_ |= 1u << of / kSecond;
    second_map_[of / kSecond] |= 1u << of % kSecond;
}

[[gnu::always_inline]] inline void Tlsf::unlink(Index index) noexcept {
    Block& block = at(index);
    const Class of = block.list - 1u;
    Index& head = heads_[of];
    at(block.next).previous = block.previous;
    *select(block.previous != 0, &at(block.previous).next, &head) = block.next;
    forget(of, head == 0);
    block.list = 0;
}

// Unlinks the first block of a non-empty list.
[[gnu::always_inline]] inline Tlsf::Index Tlsf::unlink_first(Class of) noexcept {
    const Index index = heads_[of];
    Block& block = at(index);
    const Index next = block.next;
    at(next).previous = 0;
    heads_[of] = next;
    forget(of, next == 0);
    block.list = 0;
    return index;
}

// A class with a free block in which all blocks have `size` granules or more; 0 if there is none.
[[gnu::always_inline]] inline Tlsf::Class Tlsf::find(uint64_t size) const noexcept {
    if (size > UINT32_MAX) return 0;
    const unsigned shift = shift_of(static_cast<uint32_t>(size));
    size += (uint64_t{1} << shift) - 1;
    if (size > UINT32_MAX) return 0;
    const Class least = class_of(static_cast<uint32_t>(size), shift);  // this may be a class of the next power of two
    uint32_t first = least / kSecond;
    uint32_t seconds = second_map_[first] & (~0u << least % kSecond);
    if (!seconds) {
        const uint32_t firsts = first_map_ & (~0u << (first + 1));
        if (!firsts) return 0;
        first = lowest_bit(firsts);
        seconds = second_map_[first];
    }
    return first * kSecond + lowest_bit(seconds);
}

// Cuts an unlinked block after `size` granules. Returns the rest, unlinked. A spare record must be there.
[[gnu::always_inline]] inline Tlsf::Index Tlsf::split(Index index, uint32_t size) noexcept {
    const Index rest_index = take_record();
    Block& block = at(index);
    Block& rest = at(rest_index);
    // Field by field: a copy in large words would have to wait for the small stores just made to the block.
    rest.offset = block.offset + size;
    rest.size = block.size - size;
    rest.before = index;
    rest.behind = block.behind;
    rest.origin = block.origin;
    rest.slab = block.slab;
    rest.list = 0;
    at(rest.behind).before = rest_index;
    block.behind = rest_index;
    block.size = size;
    return rest_index;
}

[[gnu::always_inline]] inline Tlsf::Index Tlsf::allocate(uint32_t size, uint32_t alignment) {
    if (!have_records(2)) [[unlikely]] return 0;
    Index index;
    if (const Class of = find(uint64_t{size} + alignment - 1)) [[likely]] {
        index = unlink_first(of);
    } else {
        index = find_in_class(size, alignment);
        if (!index) return 0;
        unlink(index);
    }
    const uint32_t offset = at(index).offset;
    const uint32_t gap = (alignment - (offset & (alignment - 1))) & (alignment - 1);
    if (gap) [[unlikely]] {
        const Index aligned = split(index, gap);
        link(index);
        index = aligned;
    }
    if (at(index).size > size) link(split(index, size));
    return index;
}

[[gnu::always_inline]] inline Tlsf::Index Tlsf::free(Index index) noexcept {
    Block* block = &at(index);
    if (const Index behind_index = block->behind; at(behind_index).free()) {
        const Block& behind = at(behind_index);
        unlink(behind_index);
        block->size += behind.size;
        block->behind = behind.behind;
        at(behind.behind).before = index;
        give_record(behind_index);
    }
    if (const Index before_index = block->before; at(before_index).free()) {
        Block& before = at(before_index);
        unlink(before_index);
        before.size += block->size;
        before.behind = block->behind;
        at(block->behind).before = before_index;
        give_record(index);
        index = before_index;
    }
    link(index);
    return index;
}

}  // namespace gpo
