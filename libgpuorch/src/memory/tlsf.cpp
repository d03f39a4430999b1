#include "memory/tlsf.h"

#include <sys/mman.h>

#include <bit>
#include <new>

namespace gpo {

namespace {

// Blocks of a class are up to a thirty-second apart in size, so the classes above are looked at first, where all fit. Only
// when they are empty is a list walked, this far.
constexpr unsigned kLongestWalk = 128;

// `first` or `second` without a branch: compilers make one of ?: here.
[[gnu::always_inline]] inline Tlsf::Index* select(bool which, Tlsf::Index* first, Tlsf::Index* second) noexcept {
    const auto one = reinterpret_cast<uintptr_t>(first), other = reinterpret_cast<uintptr_t>(second);
    return reinterpret_cast<Tlsf::Index*>(other ^ ((one ^ other) & (0 - uintptr_t{which})));
}

// Of a map with a bit in it. (std::countr_zero asks whether it has one.)
[[gnu::always_inline]] inline unsigned lowest_bit(uint32_t map) noexcept { return static_cast<unsigned>(__builtin_ctz(map)); }

}  // namespace

Tlsf::Tlsf(uint32_t most_blocks) : most_((most_blocks + kStep) / kStep * kStep) {
    // Addresses only: they count as memory once they are made usable.
    void* addresses = mmap(nullptr, size_t{most_} * sizeof(Block), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED) throw std::bad_alloc();
    records_ = static_cast<Block*>(addresses);
}

Tlsf::~Tlsf() {
    munmap(records_, size_t{most_} * sizeof(Block));
}

// False if there may be no more.
bool Tlsf::make_records() {
    if (made_ == most_) return false;
    if (mprotect(records_ + made_, kStep * sizeof(Block), PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    // Linked so that they are taken in ascending order. Record 0 stands for none.
    for (uint32_t i = made_ + kStep; i-- > made_;)
        if (i != 0) {
            new (&records_[i]) Block;
            give_record(i);
        }
    made_ += kStep;
    return true;
}

[[gnu::always_inline]] inline Tlsf::Index Tlsf::take_record() noexcept {
    const Index index = spare_;
    spare_ = at(index).next;
    --spare_count_;
    return index;
}

[[gnu::always_inline]] inline void Tlsf::give_record(Index index) noexcept {
    at(index).next = spare_;
    spare_ = index;
    ++spare_count_;
}

// These are what allocate and free are made of: in line, the pair takes two thirds of the time. Sizes come as they please, so
// a branch that depends on one is mispredicted half of the time, at ten times the price of what it would save: there are few.
// Record 0 takes what is written to the neighbour that isn't there.

[[gnu::always_inline]] inline unsigned Tlsf::shift_of(uint64_t size) noexcept {
    return static_cast<unsigned>(std::bit_width(size | kSecond)) - kSecondBits - 1;
}

[[gnu::always_inline]] inline Tlsf::Class Tlsf::class_of(uint32_t size) noexcept {
    const unsigned shift = shift_of(size);
    return {shift + (size >= kSecond), (size >> shift) & (kSecond - 1)};
}

[[gnu::always_inline]] inline void Tlsf::link(Index index) noexcept {
    Block& block = at(index);
    const auto [first, second] = class_of(block.size);
    Index& head = heads_[first][second];
    block.free = 1;
    block.previous = 0;
    block.next = head;
    at(head).previous = index;
    head = index;
    first_map_ |= 1u << first;
    second_map_[first] |= 1u << second;
    free_granules_ += block.size;
}

[[gnu::always_inline]] inline void Tlsf::unlink(Index index) noexcept {
    Block& block = at(index);
    const auto [first, second] = class_of(block.size);
    Index& head = heads_[first][second];
    at(block.next).previous = block.previous;
    *select(block.previous != 0, &at(block.previous).next, &head) = block.next;
    second_map_[first] &= ~(uint32_t{head == 0} << second);
    first_map_ &= ~(uint32_t{second_map_[first] == 0} << first);
    block.free = 0;
    free_granules_ -= block.size;
}

// A block of a class all of whose blocks have `size` granules or more; 0 if there is none.
[[gnu::always_inline]] inline Tlsf::Index Tlsf::find(uint64_t size) const noexcept {
    size += (uint64_t{1} << shift_of(size)) - 1;
    if (size > UINT32_MAX) return 0;
    auto [first, second] = class_of(static_cast<uint32_t>(size));
    uint32_t seconds = second_map_[first] & (~0u << second);
    if (!seconds) {
        const uint32_t firsts = first + 1 < 32 ? first_map_ & (~0u << (first + 1)) : 0;
        if (!firsts) return 0;
        first = lowest_bit(firsts);
        seconds = second_map_[first];
    }
    return heads_[first][lowest_bit(seconds)];
}

Tlsf::Index Tlsf::find_in_class(uint32_t size, uint32_t alignment) const noexcept {
    // With an alignment the classes up to the padded size may have a block that lies well.
    const uint64_t padded = uint64_t{size} + alignment - 1;
    const auto [first, second] = class_of(size);
    const auto [last_first, last_second] = class_of(padded > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(padded));
    unsigned walked = 0;
    for (unsigned f = first; f <= last_first; ++f) {
        uint32_t seconds = second_map_[f];
        if (f == first) seconds &= ~0u << second;
        if (f == last_first && last_second + 1 < kSecond) seconds &= (1u << (last_second + 1)) - 1;
        for (; seconds; seconds &= seconds - 1) {
            for (Index i = heads_[f][static_cast<unsigned>(std::countr_zero(seconds))]; i; i = at(i).next) {
                const Block& block = at(i);
                const uint64_t start = (uint64_t{block.offset} + alignment - 1) & ~uint64_t{alignment - 1};
                if (start + size <= uint64_t{block.offset} + block.size) return i;
                if (++walked == kLongestWalk) return 0;
            }
        }
    }
    return 0;
}

// Cuts an unlinked block after `size` granules; the rest, unlinked. A record must be there.
[[gnu::always_inline]] inline Tlsf::Index Tlsf::split(Index index, uint32_t size) noexcept {
    const Index rest_index = take_record();
    Block& block = at(index);
    Block& rest = at(rest_index);
    // Field by field: a copy in large words would have to wait for the small stores that the block has just seen.
    rest.offset = block.offset + size;
    rest.size = block.size - size;
    rest.before = index;
    rest.behind = block.behind;
    rest.origin = block.origin;
    rest.slab = block.slab;
    rest.free = 0;
    at(rest.behind).before = rest_index;
    block.behind = rest_index;
    block.size = size;
    return rest_index;
}

Tlsf::Index Tlsf::add(uint16_t slab, uint32_t offset, uint32_t size, uint32_t origin) {
    if (!have_records(1)) throw std::bad_alloc();
    const Index index = take_record();
    Block& block = at(index);
    block = Block{};
    block.slab = slab;
    block.offset = offset;
    block.size = size;
    block.origin = origin;
    link(index);
    return index;
}

void Tlsf::remove(Index first) noexcept {
    unlink(first);
    give_record(first);
}

Tlsf::Index Tlsf::allocate(uint32_t size, uint32_t alignment) {
    if (!have_records(2)) [[unlikely]] return 0;
    Index index = find(uint64_t{size} + alignment - 1);
    if (!index) [[unlikely]] {
        index = find_in_class(size, alignment);
        if (!index) return 0;
    }
    unlink(index);
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

Tlsf::Index Tlsf::free(Index index) noexcept {
    Block* block = &at(index);
    if (const Index behind_index = block->behind; at(behind_index).free) {
        const Block& behind = at(behind_index);
        unlink(behind_index);
        block->size += behind.size;
        block->behind = behind.behind;
        at(behind.behind).before = index;
        give_record(behind_index);
    }
    if (const Index before_index = block->before; at(before_index).free) {
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

size_t Tlsf::free_blocks() const noexcept {
    size_t count = 0;
    for (const auto& heads : heads_)
        for (Index i : heads)
            for (; i; i = at(i).next) ++count;
    return count;
}

bool Tlsf::consistent() const noexcept {
    uint64_t free = 0;
    for (unsigned f = 0; f < kFirst; ++f) {
        if (((first_map_ >> f) & 1) != (second_map_[f] != 0)) return false;
        for (unsigned s = 0; s < kSecond; ++s) {
            if (((second_map_[f] >> s) & 1) != (heads_[f][s] != 0)) return false;
            Index previous = 0;
            for (Index i = heads_[f][s]; i; previous = i, i = at(i).next) {
                const Block& block = at(i);
                const auto [first, second] = class_of(block.size);
                if (!block.free || block.size == 0 || first != f || second != s || block.previous != previous) return false;
                // Free neighbours would have been joined, and neighbours agree on where they meet.
                if (block.behind) {
                    const Block& behind = at(block.behind);
                    if (behind.free || behind.before != i || behind.offset != block.offset + block.size) return false;
                }
                if (block.before) {
                    const Block& before = at(block.before);
                    if (before.free || before.behind != i || before.offset + before.size != block.offset) return false;
                }
                free += block.size;
            }
        }
    }
    return free == free_granules_;
}

}  // namespace gpo
