#include "memory/tlsf.h"

#include <sys/mman.h>

#include <new>

namespace gpo {

namespace {

// Longest walk of lists, in blocks. The sizes in a class differ by up to a thirty-second. The search first takes a
// class in which all blocks fit, and walks lists only if there is none.
constexpr unsigned kLongestWalk = 128;

}  // namespace

Tlsf::Tlsf(uint32_t most_blocks) : most_((most_blocks + kStep) / kStep * kStep) {
    // Reserves addresses only: records count as memory once make_records() makes them usable.
    void* addresses =
        mmap(nullptr, size_t{most_} * sizeof(Block), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED) throw std::bad_alloc();
    records_ = static_cast<Block*>(addresses);
}

Tlsf::~Tlsf() {
    munmap(records_, size_t{most_} * sizeof(Block));
}

// False if all most_ records are made.
bool Tlsf::make_records() {
    if (made_ == most_) return false;
    if (mprotect(records_ + made_, kStep * sizeof(Block), PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    // Linked in such an order that records are taken in ascending order. Record 0 stands for none.
    for (uint32_t i = made_ + kStep; i-- > made_;)
        if (i != 0) {
            new (&records_[i]) Block;
            give_record(i);
        }
    made_ += kStep;
    return true;
}

Tlsf::Index Tlsf::find_in_class(uint32_t size, uint32_t alignment) const noexcept {
    // With an alignment, any class up to the padded size may have a block at a suitable offset.
    const uint64_t padded = uint64_t{size} + alignment - 1;
    const Class least = class_of(size),
                most = class_of(padded > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(padded));
    unsigned walked = 0;
    for (unsigned first = least / kSecond; first <= most / kSecond; ++first) {
        uint32_t seconds = second_map_[first];
        if (first == least / kSecond) seconds &= ~0u << least % kSecond;
        if (first == most / kSecond) seconds &= ~0u >> (kSecond - 1 - most % kSecond);
        for (; seconds; seconds &= seconds - 1) {
            for (Index i = heads_[first * kSecond + lowest_bit(seconds)]; i; i = at(i).next) {
                const Block& block = at(i);
                const uint64_t start = (uint64_t{block.offset} + alignment - 1) & ~uint64_t{alignment - 1};
                if (start + size <= uint64_t{block.offset} + block.size) return i;
                if (++walked == kLongestWalk) return 0;
            }
        }
    }
    return 0;
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

size_t Tlsf::free_blocks() const noexcept {
    size_t count = 0;
    for (Index head : heads_)
        for (Index i = head; i; i = at(i).next) ++count;
    return count;
}

uint64_t Tlsf::free_granules() const noexcept {
    uint64_t sum = 0;
    for (Index head : heads_)
        for (Index i = head; i; i = at(i).next) sum += at(i).size;
    return sum;
}

bool Tlsf::consistent() const noexcept {
    for (unsigned first = 0; first < kFirst; ++first)
        if (((first_map_ >> first) & 1) != (second_map_[first] != 0)) return false;
    for (Class of = 0; of < heads_.size(); ++of) {
        if (((second_map_[of / kSecond] >> of % kSecond) & 1) != (heads_[of] != 0)) return false;
        Index previous = 0;
        for (Index i = heads_[of]; i; previous = i, i = at(i).next) {
            const Block& block = at(i);
            if (block.size == 0 || class_of(block.size) != of || block.list != of + 1 || block.previous != previous)
                return false;
            // Neighbours are not free, since they would have been joined, and their bounds meet.
            if (block.behind) {
                const Block& behind = at(block.behind);
                if (behind.free() || behind.before != i || behind.offset != block.offset + block.size) return false;
            }
            if (block.before) {
                const Block& before = at(block.before);
                if (before.free() || before.behind != i || before.offset + before.size != block.offset) return false;
            }
        }
    }
    return true;
}

}  // namespace gpo
