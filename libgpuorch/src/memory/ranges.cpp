#include "memory/ranges.h"

namespace gpo {

namespace {

constexpr uint32_t kNone = UINT32_MAX;

std::atomic<uint64_t> g_maps{0};

}  // namespace

constinit thread_local RangeMap::Found RangeMap::found_[kRemembered];

RangeMap::Directory::Directory(uint32_t capacity)
    : capacity(capacity), firsts(new std::atomic<uint64_t>[capacity]()), leaves(new std::atomic<Leaf*>[capacity]()) {}

// While a Change exists, the sequence number is odd, and readers discard what they have read. The number becomes odd
// before the first data word is stored, and even after the last. Data words are stored with release order: a reader
// that sees a new word also sees the odd number. Readers acquire the data before they read the number again.
class RangeMap::Change {
public:
    explicit Change(RangeMap& map) noexcept : sequence_(map.sequence_) {
        sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    ~Change() { sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

private:
    std::atomic<uint64_t>& sequence_;
};

RangeMap::RangeMap() : number_(g_maps.fetch_add(1, std::memory_order_relaxed)) {
    directories_.push_back(std::make_unique<Directory>(16));
    directory_.store(directories_.back().get(), std::memory_order_release);
}

RangeMap::~RangeMap() = default;

// The last leaf whose first address is not above `address`; kNone if all are above.
[[gnu::always_inline]] inline uint32_t RangeMap::leaf_before(const Directory& directory, uint64_t address) noexcept {
    uint32_t low = 0, high = directory.count.load(std::memory_order_acquire);
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (directory.firsts[middle].load(std::memory_order_acquire) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? kNone : low - 1;
}

[[gnu::always_inline]] inline Range RangeMap::read(const Entry& entry) noexcept {
    return {entry.start.load(std::memory_order_acquire), entry.end.load(std::memory_order_acquire),
            entry.tag.load(std::memory_order_acquire), entry.owner.load(std::memory_order_acquire)};
}

[[gnu::always_inline]] inline uint32_t RangeMap::entry_before(const Leaf& leaf, uint64_t address) noexcept {
    uint32_t low = 0, high = leaf.count.load(std::memory_order_acquire);
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (leaf.entries[middle].start.load(std::memory_order_acquire) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? kNone : low - 1;
}

// The last entry that begins at `address` or before; NULL if there is none.
[[gnu::always_inline]] inline const RangeMap::Entry* RangeMap::search(uint64_t address) const noexcept {
    const Directory& directory = *directory_.load(std::memory_order_acquire);
    const uint32_t position = leaf_before(directory, address);
    if (position == kNone) return nullptr;
    const Leaf* leaf = directory.leaves[position].load(std::memory_order_acquire);
    if (!leaf) return nullptr;
    const uint32_t index = entry_before(*leaf, address);
    return index == kNone ? nullptr : &leaf->entries[index];
}

Range RangeMap::find(uint64_t address) const noexcept {
    const Found& last = found_[number_ % kRemembered];
    if (last.sequence == sequence_.load(std::memory_order_acquire) && address - last.range.start < last.range.bytes())
        [[likely]]
        return last.range;
    return find_slowly(address);
}

Range RangeMap::find_slowly(uint64_t address) const noexcept {
    for (unsigned spins = 0;; ++spins) {
        const uint64_t before = sequence_.load(std::memory_order_acquire);
        if (!(before & 1)) [[likely]] {
            Range range;
            if (const Entry* entry = search(address)) [[likely]] range = read(*entry);
            if (sequence_.load(std::memory_order_relaxed) == before) [[likely]] {
                if (address >= range.end) return {};
                found_[number_ % kRemembered] = {before, range};
                return range;
            }
        }
        host::step(spins);
    }
}

Range RangeMap::overlapping(uint64_t start, uint64_t end) const noexcept {
    if (end <= start) return {};
    std::lock_guard lock(writer_);
    // The last range that begins before `end`. Earlier ranges end before this range begins.
    const Directory& directory = *directory_.load(std::memory_order_relaxed);
    const uint32_t position = leaf_before(directory, end - 1);
    if (position == kNone) return {};
    const Leaf& leaf = *directory.leaves[position].load(std::memory_order_relaxed);
    const uint32_t index = entry_before(leaf, end - 1);
    if (index == kNone) return {};
    const Range range = read(leaf.entries[index]);
    return range.end > start ? range : Range{};
}

std::vector<Range> RangeMap::of(const void* owner) const {
    std::vector<Range> out;
    std::lock_guard lock(writer_);
    const Directory& directory = *directory_.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < directory.count.load(std::memory_order_relaxed); ++i) {
        const Leaf& leaf = *directory.leaves[i].load(std::memory_order_relaxed);
        for (uint32_t j = 0; j < leaf.count.load(std::memory_order_relaxed); ++j)
            if (const Range range = read(leaf.entries[j]); range.owner == owner) out.push_back(range);
    }
    return out;
}

void RangeMap::move(Entry& to, const Entry& from) noexcept {
    to.start.store(from.start.load(std::memory_order_relaxed), std::memory_order_release);
    to.end.store(from.end.load(std::memory_order_relaxed), std::memory_order_release);
    to.tag.store(from.tag.load(std::memory_order_relaxed), std::memory_order_release);
    to.owner.store(from.owner.load(std::memory_order_relaxed), std::memory_order_release);
}

// Makes room for one more range, including a leaf to split off.
void RangeMap::reserve() {
    if (spare_.empty()) {
        spare_.reserve(leaves_.size() + 1);
        leaves_.push_back(std::make_unique<Leaf>());
        spare_.push_back(leaves_.back().get());
    }
    Directory& old = *directory_.load(std::memory_order_relaxed);
    if (old.count.load(std::memory_order_relaxed) < old.capacity) return;
    directories_.push_back(std::make_unique<Directory>(2 * old.capacity));
    Directory& grown = *directories_.back();
    for (uint32_t i = 0; i < old.capacity; ++i) {
        grown.firsts[i].store(old.firsts[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
        grown.leaves[i].store(old.leaves[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    grown.count.store(old.capacity, std::memory_order_relaxed);
    directory_.store(&grown, std::memory_order_release);
}

void RangeMap::insert_leaf(uint32_t position, Leaf* leaf, uint64_t first) noexcept {
    Directory& directory = *directory_.load(std::memory_order_relaxed);
    const uint32_t count = directory.count.load(std::memory_order_relaxed);
    for (uint32_t i = count; i > position; --i) {
        directory.firsts[i].store(directory.firsts[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
        directory.leaves[i].store(directory.leaves[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
    }
    directory.firsts[position].store(first, std::memory_order_release);
    directory.leaves[position].store(leaf, std::memory_order_release);
    directory.count.store(count + 1, std::memory_order_release);
}

bool RangeMap::insert(const Range& range) {
    std::lock_guard lock(writer_);
    reserve();
    Directory& directory = *directory_.load(std::memory_order_relaxed);
    uint32_t position = leaf_before(directory, range.end - 1);
    if (position != kNone) {
        const Leaf& leaf = *directory.leaves[position].load(std::memory_order_relaxed);
        const uint32_t before = entry_before(leaf, range.end - 1);
        if (before != kNone && leaf.entries[before].end.load(std::memory_order_relaxed) > range.start) return false;
    }
    const Change change(*this);
    if (position == kNone) {
        position = 0;
        if (directory.count.load(std::memory_order_relaxed) == 0) {
            Leaf* leaf = spare_.back();
            spare_.pop_back();
            insert_leaf(0, leaf, range.start);
        }
    }
    Leaf* leaf = directory.leaves[position].load(std::memory_order_relaxed);
    uint32_t count = leaf->count.load(std::memory_order_relaxed);
    if (count == kLeaf) {
        // The upper half moves to a new leaf. In the last leaf only the last range moves: ascending inserts then leave
        // full leaves behind.
        const bool at_end = position + 1 == directory.count.load(std::memory_order_relaxed);
        const uint32_t kept = at_end ? kLeaf - 1 : kLeaf / 2;
        Leaf* upper = spare_.back();
        spare_.pop_back();
        for (uint32_t i = kept; i < kLeaf; ++i) move(upper->entries[i - kept], leaf->entries[i]);
        upper->count.store(kLeaf - kept, std::memory_order_release);
        leaf->count.store(kept, std::memory_order_release);
        insert_leaf(position + 1, upper, upper->entries[0].start.load(std::memory_order_relaxed));
        if (range.start > upper->entries[0].start.load(std::memory_order_relaxed)) {
            leaf = upper;
            ++position;
        }
        count = leaf->count.load(std::memory_order_relaxed);
    }
    const uint32_t before = entry_before(*leaf, range.start);
    const uint32_t index = before == kNone ? 0 : before + 1;
    for (uint32_t i = count; i > index; --i) move(leaf->entries[i], leaf->entries[i - 1]);
    Entry& entry = leaf->entries[index];
    entry.start.store(range.start, std::memory_order_release);
    entry.end.store(range.end, std::memory_order_release);
    entry.tag.store(range.tag, std::memory_order_release);
    entry.owner.store(range.owner, std::memory_order_release);
    leaf->count.store(count + 1, std::memory_order_release);
    if (index == 0) directory.firsts[position].store(range.start, std::memory_order_release);
    size_.fetch_add(1, std::memory_order_relaxed);
    return true;
}

// Under the writer's lock.
RangeMap::Entry* RangeMap::entry_at(uint64_t start, const void* owner) noexcept {
    Directory& directory = *directory_.load(std::memory_order_relaxed);
    const uint32_t position = leaf_before(directory, start);
    if (position == kNone) return nullptr;
    Leaf& leaf = *directory.leaves[position].load(std::memory_order_relaxed);
    const uint32_t index = entry_before(leaf, start);
    if (index == kNone) return nullptr;
    Entry& entry = leaf.entries[index];
    const Range range = read(entry);
    return range.start == start && range.owner == owner ? &entry : nullptr;
}

bool RangeMap::retag(uint64_t start, const void* owner, uint64_t from, uint64_t to) noexcept {
    std::lock_guard lock(writer_);
    Entry* entry = entry_at(start, owner);
    if (!entry || entry->tag.load(std::memory_order_relaxed) != from) return false;
    const Change change(*this);
    entry->tag.store(to, std::memory_order_release);
    return true;
}

bool RangeMap::erase(uint64_t start, const void* owner) noexcept {
    std::lock_guard lock(writer_);
    Directory& directory = *directory_.load(std::memory_order_relaxed);
    const uint32_t position = leaf_before(directory, start);
    if (position == kNone) return false;
    Leaf* leaf = directory.leaves[position].load(std::memory_order_relaxed);
    const uint32_t index = entry_before(*leaf, start);
    if (index == kNone || leaf->entries[index].start.load(std::memory_order_relaxed) != start ||
        leaf->entries[index].owner.load(std::memory_order_relaxed) != owner)
        return false;
    const Change change(*this);
    const uint32_t count = leaf->count.load(std::memory_order_relaxed);
    for (uint32_t i = index; i + 1 < count; ++i) move(leaf->entries[i], leaf->entries[i + 1]);
    leaf->count.store(count - 1, std::memory_order_release);
    if (count > 1) {
        if (index == 0)
            directory.firsts[position].store(leaf->entries[0].start.load(std::memory_order_relaxed),
                                             std::memory_order_release);
    } else {
        const uint32_t leaves = directory.count.load(std::memory_order_relaxed);
        for (uint32_t i = position; i + 1 < leaves; ++i) {
            directory.firsts[i].store(directory.firsts[i + 1].load(std::memory_order_relaxed),
                                      std::memory_order_release);
            directory.leaves[i].store(directory.leaves[i + 1].load(std::memory_order_relaxed),
                                      std::memory_order_release);
        }
        directory.count.store(leaves - 1, std::memory_order_release);
        spare_.push_back(leaf);
    }
    size_.fetch_sub(1, std::memory_order_relaxed);
    return true;
}

}  // namespace gpo
