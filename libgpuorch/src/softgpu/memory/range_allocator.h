// Hands out parts of address ranges: best fit by size class, with coalescing. Handles only numbers and touches no
// memory. Not thread-safe. give() never allocates and never fails; take() and add() may throw std::bad_alloc, and then
// have no effect.
#pragma once

#include <cstdint>
#include <map>

namespace gpo::softgpu {

constexpr uint64_t kPage = 4096;   // bytes of a page of the machine
constexpr uint64_t kGrain = 512;   // alignment of a device allocation, in bytes, as on NVIDIA's devices

class RangeAllocator {
public:
    RangeAllocator() = default;
    RangeAllocator(const RangeAllocator&) = delete;
    RangeAllocator& operator=(const RangeAllocator&) = delete;

    /// Makes [base, base + size) available. Blocks of different ranges are never merged.
    void add(uint64_t base, uint64_t size);
    /// Takes a range back, if all of it is free.
    bool remove(uint64_t base, uint64_t size) noexcept;
    /// The address of `size` bytes (a multiple of `grain`, which add()'s arguments are too), 0 when there are none.
    uint64_t take(uint64_t size);
    /// Gives back a piece from take(). Returns the piece's size.
    uint64_t give(uint64_t address) noexcept;
    /// The size of the piece that take() handed out at `address`.
    uint64_t size_of(uint64_t address) const noexcept;
    uint64_t taken() const noexcept { return taken_; }

private:
    struct Block {
        uint64_t address = 0, size = 0;
        bool used = false;
        bool first = false;              // of its range: doesn't merge with what lies before
        Block *previous = nullptr, *next = nullptr;   // in its bin, while free
    };
    using Blocks = std::map<uint64_t, Block>;
    static unsigned bin_of(uint64_t size) noexcept { return 63 - unsigned(__builtin_clzll(size)); }
    void link(Block&) noexcept;
    void unlink(Block&) noexcept;
    Block* best_fit(uint64_t size) const noexcept;

    Blocks blocks_;
    Block* bins_[64] = {};               // free blocks of [2^i, 2^(i+1)) bytes
    uint64_t taken_ = 0;
};

}  // namespace gpo::softgpu
