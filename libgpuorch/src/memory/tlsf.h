// Two-level segregated fit: which part of which region is free, found and given back in constant time.
//
// Words. A *granule* is 256 bytes. A *region* is a run of granules that was handed to the heap as a whole: a slab, or a span
// of one. It is cut into *blocks*, free or allocated. Free blocks hang in lists by size class: the first level is the power
// of two, the second cuts it into 32; two levels of bitmaps find a class with a block in it. Blocks that are free side by
// side are joined at once. (M. Masmano, I. Ripoll, A. Crespo, J. Real: "TLSF: a new dynamic memory allocator for real-time
// systems", ECRTS 2004.)
//
// Blocks are described by records of their own, beside each other in ordinary memory: nothing is written into the memory
// that is handed out, which may be write-combined, and is not to be trusted.
//
// Not thread-safe: whoever owns the heap has the lock. The exception is at(): a block's record can be looked up, and the
// `next` of an allocated block used, by whoever has claimed that block. Where the records are lies on a line that nobody
// writes, apart from what changes with every call.
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
        uint32_t offset = 0, size = 0;       // granules; the offset counts from an address that the region's owner knows
        Index before = 0, behind = 0;        // neighbours in the region
        Index previous = 0, next = 0;        // in the list of its class, while it is free
        uint32_t origin = 0;                 // the region owner's word, the same for all blocks of a region
        uint16_t slab = 0;
        uint8_t free = 0;
    };

    /// Up to `most_blocks` blocks, free ones counted. Reserves addresses for their records, and takes memory as they are
    /// used. Throws std::bad_alloc.
    explicit Tlsf(uint32_t most_blocks = 1u << 21);
    ~Tlsf();
    Tlsf(const Tlsf&) = delete;
    Tlsf& operator=(const Tlsf&) = delete;

    /// A new region, one free block. Throws std::bad_alloc, also for a block too many. The record stays the region's first for as long as it is there.
    Index add(uint16_t slab, uint32_t offset, uint32_t size, uint32_t origin);
    /// Takes a region out that is one free block.
    void remove(Index first) noexcept;
    /// True if the region that this block is in is one free block.
    bool whole(Index block) const noexcept { return at(block).free && !at(block).before && !at(block).behind; }

    /// A block of `size` granules whose offset is a multiple of `alignment` (a power of two); 0 if none fits, or there are
    /// too many blocks. Throws std::bad_alloc.
    Index allocate(uint32_t size, uint32_t alignment);
    /// Frees an allocated block; the free block that it is part of then.
    Index free(Index block) noexcept;

    Block& at(Index index) noexcept { return records_[index]; }
    const Block& at(Index index) const noexcept { return records_[index]; }

    uint64_t free_granules() const noexcept { return free_granules_; }
    /// Looks at everything and compares; for tests.
    bool consistent() const noexcept;
    size_t free_blocks() const noexcept;

private:
    static constexpr unsigned kSecondBits = 5, kSecond = 1u << kSecondBits, kFirst = 32 - kSecondBits + 1;
    static constexpr uint32_t kStep = 1u << 10;   // records that become usable at once

    struct Class {
        unsigned first, second;
    };
    static unsigned shift_of(uint64_t size) noexcept;
    static Class class_of(uint32_t size) noexcept;
    Index find(uint64_t size) const noexcept;
    Index find_in_class(uint32_t size, uint32_t alignment) const noexcept;
    void link(Index block) noexcept;
    void unlink(Index block) noexcept;
    bool have_records(unsigned count) { return spare_count_ >= count || make_records(); }
    bool make_records();
    Index take_record() noexcept;
    void give_record(Index index) noexcept;
    Index split(Index block, uint32_t size) noexcept;

    const uint32_t most_;
    Block* records_ = nullptr;                                    // most_ of them, the first made_ usable; they never move
    alignas(128) uint32_t first_map_ = 0;                         // classes of the first level that have a free block
    std::array<uint32_t, kFirst> second_map_{};
    std::array<std::array<Index, kSecond>, kFirst> heads_{};
    uint64_t free_granules_ = 0;
    Index spare_ = 0;                                             // records not in use, linked by `next`
    uint32_t spare_count_ = 0, made_ = 0;
};

}  // namespace gpo
