#include "memory/heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <span>

#include "core/error.h"
#include "core/handles.h"

namespace gpo {

namespace {

constexpr unsigned kMostShards = 32;
constexpr uint64_t kLeastSpan = 64 << 10, kMostSpan = 4 << 20;
constexpr uint32_t kBlockMask = Tlsf::kMaxIndex;
constexpr unsigned kShardShift = 24;
constexpr unsigned kDrainEvery = 32;   // allocations
static_assert(kBlockMask >> Inbox::kItemBits == 0 && kShardShift == Inbox::kItemBits && kMostShards < Lanes::kMostEnds);

uint64_t round_up(uint64_t value, uint64_t to) noexcept { return (value + to - 1) / to * to; }

unsigned shards_wanted(unsigned asked) {
    if (asked == 0) asked = host::detail::scheduled() ? 1 : host::processors();
    return std::bit_ceil(std::clamp(asked, 1u, kMostShards));
}

// Granules for `bytes`; 0 if there can't be a slab so large.
uint32_t granules(uint64_t bytes) noexcept {
    return bytes <= SlabHeap::kMostSlab ? static_cast<uint32_t>((bytes + kGranule - 1) / kGranule) : 0;
}

uint32_t alignment_granules(uint64_t alignment) noexcept {
    return alignment <= kGranule ? 1 : static_cast<uint32_t>(alignment / kGranule);
}

}  // namespace

void SlabHeap::Table::operator()(std::atomic<Slab*>* slabs) const noexcept {
    std::free(slabs);
}

SlabHeap::SlabHeap(SlabSource& source, RangeMap& ranges, const Options& options)
    : source_(source), ranges_(ranges), max_bytes_(options.max_bytes) {
    slab_bytes_ = options.slab_bytes ? options.slab_bytes : Options{}.slab_bytes;
    slab_bytes_ = round_up(std::min(slab_bytes_, kMostSlab), SlabSource::kPage);
    const unsigned shards = shards_wanted(options.shards);
    shard_count_ = shards == 1 ? 1 : shards + 1;
    if (shard_count_ > 1) {
        span_ = static_cast<uint32_t>(std::clamp(std::bit_floor(slab_bytes_ / 16), kLeastSpan, kMostSpan) / kGranule);
        small_ = span_ / 4;
        owners_ = shards;
    }
    shards_ = std::make_unique<Shard[]>(shard_count_);
    lanes_ = std::make_unique<Lanes>(shard_count_);
    // Zeroed pages, which the system populates at the first access.
    slabs_.reset(static_cast<std::atomic<Slab*>*>(std::calloc(kMostSlabs, sizeof(std::atomic<Slab*>))));
    if (!slabs_) throw std::bad_alloc();
}

SlabHeap::~SlabHeap() {
    for (unsigned i = 0; i < slab_count_; ++i) {
        Slab* slab = slabs_[i].load(std::memory_order_relaxed);
        if (slab->live) {
            ranges_.erase(reinterpret_cast<uint64_t>(slab->base), slab);
            source_.give(slab->base, slab->bytes);
        }
        munmap(slab->table, slab->table_bytes);
        delete slab;
    }
}

SlabHeap::Own SlabHeap::shard_of(uint32_t thread) const noexcept {
    if (shard_count_ == 1) return {0, false};
    return {1 + (thread & (shard_count_ - 2)), thread < owners_};
}

// Holds the locks of all shards but the central heap.
class SlabHeap::AllShards {
public:
    explicit AllShards(SlabHeap& heap) noexcept : shards_(heap.shards_.get() + 1, heap.shard_count_ - 1) {
        host::OwnedMutex::lock_all(shards_, [](Shard& shard) -> auto& { return shard.lock; });
    }
    ~AllShards() {
        for (Shard& shard : shards_) shard.lock.unlock();
    }
    AllShards(const AllShards&) = delete;
    AllShards& operator=(const AllShards&) = delete;
    auto begin() const noexcept { return shards_.begin(); }
    auto end() const noexcept { return shards_.end(); }

private:
    const std::span<Shard> shards_;
};

// --- handing out ---

void* SlabHeap::allocate(uint64_t bytes, uint64_t alignment, uint32_t thread) {
    // The path of most calls: a small piece from the thread's own shard.
    if (Shard* shard = owned_by(thread); shard && bytes - 1 < small_ * kGranule && alignment <= kGranule) [[likely]] {
        if (const host::OwnerTry lock(shard->lock); lock.inside()) [[likely]] {
            if (shard->allocations % kDrainEvery == 0) [[unlikely]] drain(*shard);
            const auto size = static_cast<uint32_t>((bytes + kGranule - 1) / kGranule);
            if (const Tlsf::Index block = shard->heap.allocate(size, 1)) [[likely]]
                return hand_out(1 + thread, *shard, block);
        }
    }
    return allocate_slowly(bytes, alignment, thread);
}

void* SlabHeap::allocate_slowly(uint64_t bytes, uint64_t alignment, uint32_t thread) {
    const uint32_t size = granules(bytes), aligned = alignment_granules(alignment);
    if (size == 0) return nullptr;
    const Own own = shard_of(thread);
    if (uint64_t{size} + aligned - 1 <= small_) [[likely]]
        if (void* memory = allocate_in(own, size, aligned)) [[likely]] return memory;
    return allocate_elsewhere(own, size, aligned);
}

// For pieces that the thread's shard can't provide.
void* SlabHeap::allocate_elsewhere(Own own, uint32_t size, uint32_t alignment) {
    if (uint64_t{size} + alignment - 1 > small_) {
        if (own.number != 0) {
            Shard& shard = shards_[own.number];
            const host::OwnedLock lock(shard.lock, own.owner);
            settle(shard);
        }
        return allocate_in({0, false}, size, alignment);
    }
    while (add_span(own))
        if (void* memory = allocate_in(own, size, alignment)) return memory;
    return nullptr;
}

void* SlabHeap::allocate_in(Own own, uint32_t size, uint32_t alignment) {
    Shard& shard = shards_[own.number];
    const host::OwnedLock lock(shard.lock, own.owner);
    if (shard.allocations % kDrainEvery == 0) [[unlikely]] drain(shard);
    Tlsf::Index block = shard.heap.allocate(size, alignment);
    if (!block) [[unlikely]] {
        drain(shard);
        block = shard.heap.allocate(size, alignment);
    }
    return block ? hand_out(own.number, shard, block) : nullptr;
}

// Under the shard's lock.
[[gnu::always_inline]] inline void* SlabHeap::hand_out(unsigned number, Shard& shard, Tlsf::Index index) noexcept {
    const Tlsf::Block& block = shard.heap.at(index);
    Slab& slab = *slabs_[block.slab].load(std::memory_order_acquire);
    const uint32_t offset = block.offset;
    slab.table[offset].store(number << kShardShift | index, std::memory_order_release);
    shard.in_use += block.size * kGranule;
    ++shard.allocations;
    if (number == 0)
        publish(shard);
    else if (shard.in_use - shard.quiet_from > shard.quiet_bytes) [[unlikely]]
        look_at_peak(shard);
    return slab.origin + uint64_t{offset} * kGranule;
}

// All threads share the total over all shards, so a shard adds its change only now and then: when the total may reach a
// new peak, or when the shard's change exceeds a span.
void SlabHeap::look_at_peak(Shard& shard) noexcept {
    drain(shard);  // what others have freed is no part of a peak
    const uint64_t total = publish(shard);
    const uint64_t span = span_ * kGranule;
    shard.quiet_from = shard.in_use - std::min(span, shard.in_use);
    shard.quiet_bytes = shard.in_use - shard.quiet_from + std::min(span, peak_.load(std::memory_order_relaxed) - total);
}

// Adds the shard's change to the total, and returns the total.
uint64_t SlabHeap::publish(Shard& shard) noexcept {
    const uint64_t change = shard.in_use - shard.published;
    if (change == 0) return total_.load(std::memory_order_relaxed);
    const uint64_t total = total_.fetch_add(change, std::memory_order_relaxed) + change;
    shard.published = shard.in_use;
    uint64_t peak = peak_.load(std::memory_order_relaxed);
    while (total > peak && !peak_.compare_exchange_weak(peak, total, std::memory_order_relaxed)) {
    }
    return total;
}

// Under the shard's lock, before the shard's threads take memory elsewhere. The next allocation from the shard compares
// the total with the peak.
void SlabHeap::settle(Shard& shard) noexcept {
    drain(shard);
    publish(shard);
    shard.quiet_from = shard.in_use + 1;
    shard.quiet_bytes = 0;
}

bool SlabHeap::add_span(Own own) {
    Shard& shard = shards_[own.number];
    Shard& central = shards_[0];
    Tlsf::Index span = 0;
    Tlsf::Block block;
    {
        std::lock_guard lock(central.lock);
        span = central.heap.allocate(span_, 1);
        if (!span) return false;
        block = central.heap.at(span);
    }
    try {
        const host::OwnedLock lock(shard.lock, own.owner);
        shard.spans.reserve(shard.spans.size() + 1);
        shard.spans.push_back(shard.heap.add(block.slab, block.offset, block.size, span));
    } catch (...) {
        std::lock_guard lock(central.lock);
        central.heap.free(span);
        throw;
    }
    return true;
}

// Under the shard's lock.
void SlabHeap::return_span(Shard& shard, Tlsf::Index first) noexcept {
    const Tlsf::Index span = shard.heap.at(first).origin;
    *std::find(shard.spans.begin(), shard.spans.end(), first) = shard.spans.back();
    shard.spans.pop_back();
    shard.heap.remove(first);
    std::lock_guard lock(shards_[0].lock);
    shards_[0].heap.free(span);
}

// --- taking back ---

// The slab of this heap that has `address` in it, or NULL. Another thread may return the slab to the source at any time
// if nothing is allocated in it; its descriptor and table stay.
const SlabHeap::Slab* SlabHeap::slab_of(uint64_t address) const noexcept {
    const Range range = ranges_.find(address);
    if (range.tag != kSlabTag) return nullptr;
    const auto* slab = static_cast<const Slab*>(range.owner);
    return slab->heap == this ? slab : nullptr;
}

// The table's entry for a piece that begins at `address`; NULL if no piece can begin there.
std::atomic<uint32_t>* SlabHeap::entry_of(uint64_t address) const noexcept {
    const Slab* slab = slab_of(address);
    return slab ? entry_in(address, reinterpret_cast<uint64_t>(slab->origin), slab->table) : nullptr;
}

std::atomic<uint32_t>* SlabHeap::find_entry(uint64_t address, Known& known) const noexcept {
    const uint64_t sequence = ranges_.sequence();
    const Slab* slab = slab_of(address);
    if (!slab) return nullptr;
    const Known found{sequence, reinterpret_cast<uint64_t>(slab->base), slab->bytes,
                      reinterpret_cast<uint64_t>(slab->origin), slab->table};
    if (sequence % 2 == 0 && ranges_.sequence() == sequence) known = found;
    return entry_in(address, found.origin, found.table);
}

bool SlabHeap::free(uint64_t address, uint32_t thread) noexcept {
    Shard* own = owned_by(thread);
    std::atomic<uint32_t>* entry = own ? own->known.entry(address, ranges_.sequence()) : nullptr;
    if (!entry) [[unlikely]] {
        entry = own ? find_entry(address, own->known) : entry_of(address);
        if (!entry) return false;
    }
    // Exchanges without a load first: if another thread wrote the entry, a load would transfer its cache line, and the
    // exchange would transfer the line again.
    const uint32_t value = entry->exchange(0, std::memory_order_acq_rel);
    if (value == 0) [[unlikely]] return false;
    if (own && value >> kShardShift == 1 + thread) [[likely]] {
        if (const host::OwnerTry lock(own->lock); lock.inside()) [[likely]] {
            free_block(*own, value & kBlockMask);
            return true;
        }
    }
    give_back(value, shard_of(thread));
    return true;
}

bool SlabHeap::claim(uint64_t address, Piece& piece) noexcept {
    std::atomic<uint32_t>* entry = entry_of(address);
    if (!entry) return false;
    const uint32_t value = entry->exchange(0, std::memory_order_acq_rel);
    if (value == 0) return false;
    piece.address = address;
    piece.bytes = shards_[value >> kShardShift].heap.at(value & kBlockMask).size * kGranule;
    piece.entry = value;
    return true;
}

void SlabHeap::unclaim(const Piece& piece) noexcept {
    entry_of(piece.address)->store(piece.entry, std::memory_order_release);
}

void SlabHeap::release(const Piece& piece) noexcept {
    give_back(piece.entry, shard_of(handle::thread_number()));
}

void SlabHeap::give_back(uint32_t entry, Own own) noexcept {
    const unsigned number = entry >> kShardShift;
    const Tlsf::Index index = entry & kBlockMask;
    Shard& shard = shards_[number];
    if (number == 0) {
        // Large pieces are few. They are freed at once, so that all threads can use their memory.
        std::lock_guard lock(shard.lock);
        free_block(shard, index);
        publish(shard);
        return;
    }
    if (own.owner && own.number == number)
        if (const host::OwnerTry lock(shard.lock); lock.inside()) {
            free_block(shard, index);
            return;
        }
    if (own.owner && lanes_->put(own.number, number, index)) return;
    if (shard.inbox.put(index)) return;
    Tlsf::Block& block = shard.heap.at(index);
    Tlsf::Index newest = shard.more.load(std::memory_order_relaxed);
    do {
        block.next = newest;
    } while (!shard.more.compare_exchange_weak(newest, index, std::memory_order_release, std::memory_order_relaxed));
}

// Under the shard's lock.
[[gnu::always_inline]] inline void SlabHeap::free_block(Shard& shard, Tlsf::Index index) noexcept {
    shard.in_use -= shard.heap.at(index).size * kGranule;
    ++shard.frees;
    const Tlsf::Index joined = shard.heap.free(index);
    if (shard.heap.whole(joined)) [[unlikely]] spare_span(shard, joined);
}

// Under the shard's lock: returns an empty span to the central heap if the shard has another span's worth of free
// memory.
void SlabHeap::spare_span(Shard& shard, Tlsf::Index first) noexcept {
    if (&shard != &shards_[0] && shard.spans.size() * uint64_t{span_} - shard.in_use / kGranule >= 2 * uint64_t{span_})
        return_span(shard, first);
}

// Under the shard's lock: frees the shard's pieces that other threads have claimed.
void SlabHeap::drain(Shard& shard) noexcept {
    const auto take = [&](Tlsf::Index index) { free_block(shard, index); };
    lanes_->take_all(static_cast<unsigned>(&shard - shards_.get()), take);
    shard.inbox.take_all(take);
    if (shard.more.load(std::memory_order_relaxed) == 0) [[likely]] return;
    for (Tlsf::Index index = shard.more.exchange(0, std::memory_order_acquire), next; index; index = next) {
        next = shard.heap.at(index).next;
        free_block(shard, index);
    }
}

// Gives every empty span back to the central heap.
void SlabHeap::reclaim() noexcept {
    for (Shard& shard : AllShards(*this)) {
        settle(shard);
        for (size_t i = shard.spans.size(); i-- > 0;)
            if (shard.heap.whole(shard.spans[i])) return_span(shard, shard.spans[i]);
    }
}

void* SlabHeap::scrape(uint32_t size, uint32_t alignment) {
    reclaim();
    if (void* memory = allocate_in({0, false}, size, alignment)) return memory;
    if (uint64_t{size} + alignment - 1 > small_) return nullptr;
    for (unsigned number = 1; number < shard_count_; ++number)
        if (void* memory = allocate_in({number, false}, size, alignment)) return memory;
    return nullptr;
}

// --- slabs ---

void* SlabHeap::allocate_hard(uint64_t bytes, uint64_t alignment) {
    const uint32_t size = granules(bytes), aligned = alignment_granules(alignment);
    if (size == 0) {
        if (max_bytes_) return nullptr;
        fail(GPO_OUT_OF_MEMORY, "there can't be a piece of ", bytes, " bytes");
    }
    for (;;) {
        uint64_t seen;
        {
            std::lock_guard lock(growth_lock_);
            seen = growths_;
        }
        if (void* memory = allocate(bytes, alignment)) return memory;
        if (void* memory = scrape(size, aligned)) return memory;
        {
            host::Lock lock(growth_lock_);
            if (growing_) growth_.wait(lock, host::kForever, [&] { return !growing_; });
            if (growths_ != seen) continue;  // somebody brought memory meanwhile, or room for it
            growing_ = true;
        }
        try {
            bool limited = false;
            void* memory = grow(size, aligned, 0, &limited);
            end_turn(!limited);
            if (limited || memory) return memory;
        } catch (...) {
            end_turn(false);
            throw;
        }
    }
}

bool SlabHeap::reserve(uint64_t bytes) {
    {
        std::lock_guard lock(shards_[0].lock);
        if (reserved_ >= bytes) return true;
        bytes -= reserved_;
    }
    if (granules(bytes) == 0) fail(GPO_OUT_OF_MEMORY, "there can't be a slab of ", bytes, " bytes");
    bool limited = false;
    grow(0, 1, bytes, &limited);
    return !limited;
}

// Reserves up to `slab_bytes` within the limit, and at least `need`. If the limit doesn't allow `need`, returns empty
// slabs to the source once, and tries again.
bool SlabHeap::may_grow(uint64_t need, uint64_t& slab_bytes, bool* limited) {
    for (bool emptied = false;;) {
        {
            std::lock_guard lock(shards_[0].lock);
            *limited = max_bytes_ && (need > max_bytes_ || reserved_ > max_bytes_ - need);
            if (!*limited) {
                if (max_bytes_)
                    slab_bytes = std::min(slab_bytes, (max_bytes_ - reserved_) / SlabSource::kPage * SlabSource::kPage);
                reserved_ += slab_bytes;
                return true;
            }
        }
        if (emptied || need > max_bytes_) return false;
        emptied = true;
        give_back(max_bytes_ - need);
    }
}

// Takes a slab with room for a piece of `size` granules, and cuts the piece out of the slab at once, before another
// thread can take it. If `size` is 0, takes a slab of `bytes`, and cuts no piece.
void* SlabHeap::grow(uint32_t size, uint32_t alignment, uint64_t bytes, bool* limited) {
    constexpr uint64_t kPage = SlabSource::kPage;
    uint64_t need = round_up(size ? size * kGranule : bytes, kPage);
    if (alignment * kGranule > kPage) need += alignment * kGranule - kPage;
    uint64_t slab_bytes = std::max(need, slab_bytes_);
    if (!may_grow(need, slab_bytes, limited)) return nullptr;
    Shard& central = shards_[0];
    void* base = nullptr;
    Slab* slab = nullptr;
    const auto undo = [&] {
        if (base) {
            source_calls_.fetch_add(1, std::memory_order_relaxed);
            source_.give(base, slab_bytes);
        }
        std::lock_guard lock(central.lock);
        reserved_ -= slab_bytes;
        if (slab) bury(*slab);
    };
    try {
        try {
            source_calls_.fetch_add(1, std::memory_order_relaxed);
            base = source_.take(slab_bytes);
        } catch (const Failure& failure) {
            if (failure.error()->status != GPO_OUT_OF_MEMORY || slab_bytes == need) throw;
            // The source has no memory for a whole slab, but may have enough for the piece.
            std::lock_guard lock(central.lock);
            reserved_ -= slab_bytes - need;
            slab_bytes = need;
        }
        if (!base) {
            source_calls_.fetch_add(1, std::memory_order_relaxed);
            base = source_.take(slab_bytes);
        }
        const uint64_t address = reinterpret_cast<uint64_t>(base);
        const uint64_t phase = address % kMostAlignment;
        slab = &prepare_slab(phase + slab_bytes);
        slab->base = static_cast<char*>(base);
        slab->origin = slab->base - phase;
        slab->bytes = slab_bytes;
        if (!ranges_.insert({address, address + slab_bytes, kSlabTag, slab}))
            fail(GPO_INTERNAL, "the driver gave memory at ", hex(address), " that is in use");
        std::lock_guard lock(central.lock);
        try {
            slab->first = central.heap.add(slab->number, static_cast<uint32_t>(phase / kGranule),
                                           static_cast<uint32_t>(slab_bytes / kGranule), 0);
        } catch (...) {
            ranges_.erase(address, slab);
            throw;
        }
        slab->live = true;
        ++live_slabs_;
        peak_reserved_ = std::max(peak_reserved_, reserved_);
        if (!size) return nullptr;
        const Tlsf::Index block = central.heap.allocate(size, alignment);
        return block ? hand_out(0, central, block) : nullptr;
    } catch (...) {
        if (!slab || !slab->live) undo();
        throw;
    }
}

// A descriptor with a table for `bytes` from its origin on, all zero. Throws.
SlabHeap::Slab& SlabHeap::prepare_slab(uint64_t bytes) {
    const size_t table_bytes = round_up(bytes / kGranule * sizeof(uint32_t), SlabSource::kPage);
    void* table = mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) fail(GPO_OUT_OF_MEMORY, "no memory for the table of a slab of ", bytes, " bytes");
    try {
        std::lock_guard lock(shards_[0].lock);
        Slab* slab = nullptr;
        if (dead_.size() > kDeadSlabs || (slab_count_ == kMostSlabs && !dead_.empty())) {
            slab = slabs_[dead_.front()].load(std::memory_order_relaxed);
            dead_.erase(dead_.begin());
            munmap(slab->table, slab->table_bytes);
        } else {
            if (slab_count_ == kMostSlabs) fail(GPO_LIMIT_EXCEEDED, "an arena has at most ", kMostSlabs, " slabs");
            dead_.reserve(slab_count_ + 1);
            slab = new Slab;
            slab->heap = this;
            slab->number = static_cast<uint16_t>(slab_count_);
            slabs_[slab_count_++].store(slab, std::memory_order_release);
        }
        slab->table = static_cast<std::atomic<uint32_t>*>(table);
        slab->table_bytes = table_bytes;
        return *slab;
    } catch (...) {
        munmap(table, table_bytes);
        throw;
    }
}

// Under the central heap's lock. The descriptor and its table stay, because a thread that frees an address that is no
// piece may be reading them. The emptied table costs no memory. The descriptor is used again after more than
// kDeadSlabs other slabs were buried, or when there are kMostSlabs descriptors.
void SlabHeap::bury(Slab& slab) noexcept {
    slab.live = false;
    madvise(slab.table, slab.table_bytes, MADV_DONTNEED);
    dead_.push_back(slab.number);
}

// Under the central heap's lock.
void SlabHeap::take_empty_slabs(uint64_t keep_bytes, std::vector<Slab*>& out) noexcept {
    uint64_t left = reserved_;
    for (unsigned i = 0; i < slab_count_ && left > keep_bytes && out.size() < out.capacity(); ++i) {
        Slab& slab = *slabs_[i].load(std::memory_order_relaxed);
        if (!slab.live || !shards_[0].heap.whole(slab.first)) continue;
        shards_[0].heap.remove(slab.first);
        ranges_.erase(reinterpret_cast<uint64_t>(slab.base), &slab);
        slab.live = false;
        left -= slab.bytes;
        --live_slabs_;
        out.push_back(&slab);
    }
}

// Slabs count as reserved until they are returned to the source. A thread that needs a slab meanwhile waits.
void SlabHeap::trim(uint64_t keep_bytes) noexcept {
    {
        host::Lock lock(growth_lock_);
        if (growing_) growth_.wait(lock, host::kForever, [&] { return !growing_; });
        growing_ = true;
    }
    give_back(keep_bytes);
    end_turn(true);
}

// `room`: threads that found no memory may find some now.
void SlabHeap::end_turn(bool room) noexcept {
    std::lock_guard lock(growth_lock_);
    growing_ = false;
    growths_ += room;
    growth_.notify_all();
}

void SlabHeap::give_back(uint64_t keep_bytes) noexcept {
    reclaim();
    std::vector<Slab*> empty;
    for (;;) {
        try {
            empty.reserve(64);
        } catch (const std::bad_alloc&) {
            return;
        }
        {
            std::lock_guard lock(shards_[0].lock);
            take_empty_slabs(keep_bytes, empty);
        }
        if (empty.empty()) return;
        for (Slab* slab : empty) {
            source_calls_.fetch_add(1, std::memory_order_relaxed);
            source_.give(slab->base, slab->bytes);
        }
        std::lock_guard lock(shards_[0].lock);
        for (Slab* slab : empty) {
            reserved_ -= slab->bytes;
            bury(*slab);
        }
        empty.clear();
    }
}

SlabHeap::Totals SlabHeap::totals() noexcept {
    Totals out;
    const auto add = [&](Shard& shard) {
        drain(shard);
        publish(shard);
        out.in_use += shard.in_use;
        out.allocations += shard.allocations;
        out.frees += shard.frees;
    };
    const AllShards all(*this);
    for (Shard& shard : all) add(shard);
    std::lock_guard lock(shards_[0].lock);
    add(shards_[0]);
    out.reserved = reserved_;
    out.peak_reserved = peak_reserved_;
    out.slabs = live_slabs_;
    out.peak_in_use = peak_.load(std::memory_order_relaxed);
    out.source_calls = source_calls_.load(std::memory_order_relaxed);
    return out;
}

bool SlabHeap::consistent() noexcept {
    reclaim();
    const uint64_t in_use = totals().in_use;
    for (unsigned number = 0; number < shard_count_; ++number) {
        std::lock_guard lock(shards_[number].lock);
        const Shard& shard = shards_[number];
        if (!shard.heap.consistent()) return false;
        if (number != 0 && shard.heap.free_granules() + shard.in_use / kGranule != shard.spans.size() * uint64_t{span_})
            return false;
    }
    std::lock_guard lock(shards_[0].lock);
    return in_use != 0 || shards_[0].heap.free_blocks() == live_slabs_;
}

}  // namespace gpo
