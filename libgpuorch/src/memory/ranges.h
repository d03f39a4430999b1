// A map of address ranges that can be read without a lock: which slab, registration or allocation does an address lie
// in?
//
// Ranges don't overlap. Leaves of up to 64 sorted ranges hold them, and a directory has the first address of each leaf.
// A single writer at a time changes them in place, between two steps of a sequence number (a seqlock). A reader that
// saw the number change reads again. All words are atomics, and leaves and directories are not freed before the map is:
// a reader that races with a writer reads nonsense at worst, and discards it.
//
// Most readers look for the range that they have found last. Each thread remembers the last range that it found in a
// map, together with the sequence number: if the number is still the same, the range is still there. Each map has its
// own block of sequence numbers (blocks repeat after sixteen million maps), so the number also identifies the map.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/host.h"

namespace gpo {

struct Range {
    uint64_t start = 0, end = 0;
    uint64_t tag = 0;        // for the owner's use
    void* owner = nullptr;   // NULL only in a Range that find() did not find

    explicit operator bool() const noexcept { return owner != nullptr; }
    uint64_t bytes() const noexcept { return end - start; }
};

class RangeMap {
public:
    RangeMap();
    ~RangeMap();
    RangeMap(const RangeMap&) = delete;
    RangeMap& operator=(const RangeMap&) = delete;

    /// The range around `address`, or an empty Range. Any thread; takes no lock.
    Range find(uint64_t address) const noexcept;
    /// While the number is even and unchanged, the map is unchanged.
    uint64_t sequence() const noexcept { return sequence_.load(std::memory_order_acquire); }
    /// True if all these bytes lie in the range that the calling thread found last. False says nothing about other
    /// ranges.
    bool remembers(uint64_t address, uint64_t bytes) const noexcept {
        const Found& last = found_[number_ % kRemembered];
        return last.sequence == sequence_.load(std::memory_order_acquire) &&
               address - last.range.start < last.range.bytes() && bytes <= last.range.end - address;
    }

    /// False if `range` overlaps a range in the map. Has no effect if it throws std::bad_alloc.
    bool insert(const Range& range);
    /// Takes out the range of `owner` that begins at `start`. False if there is none.
    bool erase(uint64_t start, const void* owner) noexcept;
    /// Changes the tag of the range of `owner` that begins at `start` from `from` to `to`: true for a single caller.
    /// False if no such range has the tag `from`.
    bool retag(uint64_t start, const void* owner, uint64_t from, uint64_t to) noexcept;
    /// The last range with a byte in [start, end), or an empty Range.
    Range overlapping(uint64_t start, uint64_t end) const noexcept;
    /// All ranges of an owner. Throws std::bad_alloc.
    std::vector<Range> of(const void* owner) const;
    size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

private:
    static constexpr uint32_t kLeaf = 64;
    struct Entry {
        std::atomic<uint64_t> start{0}, end{0}, tag{0};
        std::atomic<void*> owner{nullptr};
    };
    struct Leaf {
        std::atomic<uint32_t> count{0};
        std::array<Entry, kLeaf> entries;
    };
    struct Directory {
        explicit Directory(uint32_t capacity);
        const uint32_t capacity;
        std::atomic<uint32_t> count{0};
        std::unique_ptr<std::atomic<uint64_t>[]> firsts;   // first address of each leaf
        std::unique_ptr<std::atomic<Leaf*>[]> leaves;
    };

    class Change;
    struct Found {
        uint64_t sequence = 1;   // odd: none
        Range range;
    };
    static constexpr unsigned kRemembered = 4;   // maps, by number
    static constexpr unsigned kNumberShift = 40;
    static thread_local constinit Found found_[kRemembered];

    Range find_slowly(uint64_t address) const noexcept;
    const Entry* search(uint64_t address) const noexcept;
    static uint32_t leaf_before(const Directory& directory, uint64_t address) noexcept;
    static uint32_t entry_before(const Leaf& leaf, uint64_t address) noexcept;
    static void move(Entry& to, const Entry& from) noexcept;
    static Range read(const Entry& entry) noexcept;
    Entry* entry_at(uint64_t start, const void* owner) noexcept;
    void reserve();
    void insert_leaf(uint32_t position, Leaf* leaf, uint64_t first) noexcept;

    const uint64_t number_;                                // number of maps made before
    std::atomic<uint64_t> sequence_{number_ << kNumberShift};   // odd while a writer changes the map
    std::atomic<Directory*> directory_;
    std::atomic<size_t> size_{0};
    mutable host::Mutex writer_;
    std::vector<std::unique_ptr<Directory>> directories_;  // all, old ones too; each is twice as large as the last
    std::vector<std::unique_ptr<Leaf>> leaves_;            // all, spare ones too
    std::vector<Leaf*> spare_;                             // leaves not in the directory; room for all of leaves_
};

}  // namespace gpo
