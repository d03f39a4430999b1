// A heap over slabs: it hands out pieces of pinned memory to many threads at once.
//
// Words
// - A *slab* is a range that the source gave: tens of MiB, or one large piece.
// - The *central* heap (shard 0) owns all slabs.
// - The other *shards* take *spans* of slabs from the central heap, and cut pieces of up to a quarter of a span from
//   their spans. Larger pieces come from the central heap.
// - A thread allocates from the shard that its number selects, so threads rarely meet. The first thread of each shard
//   *owns* the shard: only the owner enters without locked instructions (host/owned_mutex.h).
// - To *claim* a piece is to take its entry out of the slab's table with one exchange. Every free begins with a claim,
//   so a piece is freed once.
//
// After the claim, the owner of the piece's shard joins the piece with its free neighbours at once. The owner of
// another shard puts the piece into the *lane* from its shard to the piece's shard. All other threads, and owners whose
// lane is full, put the piece into the shard's *inbox*. No thread waits for a lock. A shard empties its lanes and its
// inbox at every thirty-second allocation, when nothing at hand fits, and when memory is short. Until a claimed piece
// is in a lane or an inbox, the shard still counts it as allocated; pieces that wait for a stream are in that state.
//
// The table of a slab has one word for each granule: shard and block of the piece that begins there, otherwise 0. So
// any address can be looked up, a piece can be claimed only once, and nothing is written into the memory that is handed
// out.
//
// Locks. A shard's lock, or those of all shards in their order; inside it the central heap's. The source is called
// under no lock.
//
// NOTES.md says what was measured.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/handles.h"
#include "host/host.h"
#include "host/owned_mutex.h"
#include "memory/inbox.h"
#include "memory/ranges.h"
#include "memory/tlsf.h"

namespace gpo {

/// Where slabs come from. May block, and serialise the device; called under no lock.
class SlabSource {
public:
    virtual ~SlabSource() = default;
    /// `bytes` (a multiple of kPage) at a multiple of kPage. Throws Failure.
    virtual void* take(uint64_t bytes) = 0;
    virtual void give(void* memory, uint64_t bytes) noexcept = 0;
    static constexpr uint64_t kPage = 4096;
};

/// RangeMap::Range::tag of slabs; their owner is the SlabHeap::Slab.
inline constexpr uint64_t kSlabTag = 1;

class SlabHeap {
public:
    struct Options {
        uint64_t max_bytes = 0;              // cap on what is taken from the source; 0: none
        uint64_t slab_bytes = 64ull << 20;   // least size of a slab; 0: the default
        unsigned shards = 0;  // beside the central heap; 0: as there are processors; 1: the central heap alone
    };
    SlabHeap(SlabSource& source, RangeMap& ranges, const Options& options);
    /// Returns all slabs to the source. The memory must not be in use any more.
    ~SlabHeap();
    SlabHeap(const SlabHeap&) = delete;
    SlabHeap& operator=(const SlabHeap&) = delete;

    /// A piece of at least `bytes` (more than 0) at a multiple of `alignment` (a power of two, up to kMostAlignment).
    /// Takes no slab: NULL if no free memory at hand fits. Throws std::bad_alloc. `thread`: the calling thread's
    /// number.
    void* allocate(uint64_t bytes, uint64_t alignment, uint32_t thread = handle::take_thread_number());
    /// Like allocate(), but searches all shards, and takes a slab if necessary. NULL: max_bytes is reached. Throws the
    /// source's Failure, Failure(GPO_OUT_OF_MEMORY), std::bad_alloc.
    void* allocate_hard(uint64_t bytes, uint64_t alignment);

    struct Piece {
        uint64_t address = 0;
        uint64_t bytes = 0;   // as handed out: a multiple of kGranule
        uint32_t entry = 0;
    };
    /// Frees an allocated piece; true for one caller. False if no allocated piece begins at `address`.
    bool free(uint64_t address, uint32_t thread = handle::thread_number()) noexcept;
    /// Claims an allocated piece: no other call can free it then. False if no allocated piece begins at `address`.
    bool claim(uint64_t address, Piece& piece) noexcept;
    /// Undoes a claim.
    void unclaim(const Piece& piece) noexcept;
    /// Frees a claimed piece. Any thread, the scanner included.
    void release(const Piece& piece) noexcept;

    /// Takes a slab for the missing bytes if less than `bytes` are reserved in all. False: max_bytes is reached. Throws
    /// as allocate_hard() does.
    bool reserve(uint64_t bytes);
    /// Returns empty slabs to the source until at most `keep_bytes` are reserved.
    void trim(uint64_t keep_bytes) noexcept;

    struct Totals {
        uint64_t in_use = 0, reserved = 0, peak_in_use = 0, peak_reserved = 0;
        uint64_t allocations = 0, frees = 0, source_calls = 0;
        uint32_t slabs = 0;
    };
    /// The totals at one moment; pieces that other threads are freeing may still be counted. The peak of bytes in use
    /// is exact if a single thread allocated; each further thread that allocates at once adds an error of up to a span.
    Totals totals() noexcept;

    uint64_t max_bytes() const noexcept { return max_bytes_; }
    static constexpr uint64_t kMostAlignment = 1ull << 20;
    /// In bytes. The number of a slab's granules, with the loss to alignment, fits into 32 bits.
    static constexpr uint64_t kMostSlab = (uint64_t{1} << 32) * kGranule - 4 * kMostAlignment;

    /// For tests: true if every shard is consistent and, when nothing is allocated, each slab is one free block.
    bool consistent() noexcept;

private:
    struct Slab {
        SlabHeap* heap = nullptr;
        char* base = nullptr;
        char* origin = nullptr;  // base, rounded down to kMostAlignment: block offsets count from here
        uint64_t bytes = 0;
        Tlsf::Index first = 0;                     // first block, in the central heap
        bool live = false;
        uint16_t number = 0;
        std::atomic<uint32_t>* table = nullptr;    // for each granule from `origin`: shard << 24 | block, or 0
        size_t table_bytes = 0;
    };
    /// The slab into which a shard's owner freed last. Only the owner accesses this.
    struct Known {
        uint64_t sequence = 1;                     // of the ranges; odd: none
        uint64_t begin = 0, bytes = 0, origin = 0; // as in the Slab, as numbers
        std::atomic<uint32_t>* table = nullptr;
        /// The table's entry for a piece that begins at `address`. NULL if the address isn't in this slab, or no piece
        /// can begin there.
        std::atomic<uint32_t>* entry(uint64_t address, uint64_t now) const noexcept {
            if (sequence != now || address - begin >= bytes || address % kGranule != 0) [[unlikely]] return nullptr;
            return &table[(address - origin) / kGranule];
        }
    };
    struct alignas(128) Shard {
        host::OwnedMutex lock;
        Known known;
        uint64_t in_use = 0, published = 0;        // bytes; bytes that total_ includes
        uint64_t quiet_from = 1, quiet_bytes = 0;  // nothing to publish while in_use is in this range
        uint64_t allocations = 0, frees = 0;
        std::vector<Tlsf::Index> spans;            // first blocks
        Tlsf heap;
        Inbox inbox;                               // claimed blocks that are free now
        std::atomic<Tlsf::Index> more{0};          // claimed blocks beyond the inbox's room, linked by `next`
    };
    struct Table {
        void operator()(std::atomic<Slab*>* slabs) const noexcept;
    };
    static constexpr unsigned kMostSlabs = 65535, kDeadSlabs = 256;

    // The calling thread's.
    struct Own {
        unsigned number;
        bool owner;
    };
    Own shard_of(uint32_t thread) const noexcept;
    /// The shard that the thread owns, or NULL.
    Shard* owned_by(uint32_t thread) noexcept { return thread < owners_ ? &shards_[1 + thread] : nullptr; }
    class AllShards;
    void* allocate_slowly(uint64_t bytes, uint64_t alignment, uint32_t thread);
    void* allocate_in(Own shard, uint32_t size, uint32_t alignment);
    void* allocate_elsewhere(Own own, uint32_t size, uint32_t alignment);
    void* hand_out(unsigned number, Shard& shard, Tlsf::Index block) noexcept;
    const Slab* slab_of(uint64_t address) const noexcept;
    static std::atomic<uint32_t>* entry_in(uint64_t address, uint64_t origin, std::atomic<uint32_t>* table) noexcept {
        const uint64_t distance = address - origin;
        return distance % kGranule == 0 ? &table[distance / kGranule] : nullptr;
    }
    std::atomic<uint32_t>* entry_of(uint64_t address) const noexcept;
    std::atomic<uint32_t>* find_entry(uint64_t address, Known& known) const noexcept;
    void give_back(uint32_t entry, Own own) noexcept;
    void free_block(Shard& shard, Tlsf::Index block) noexcept;
    bool add_span(Own own);
    void spare_span(Shard& shard, Tlsf::Index first) noexcept;
    void return_span(Shard& shard, Tlsf::Index first) noexcept;
    void drain(Shard& shard) noexcept;
    uint64_t publish(Shard& shard) noexcept;
    void look_at_peak(Shard& shard) noexcept;
    void settle(Shard& shard) noexcept;
    void reclaim() noexcept;
    void* scrape(uint32_t size, uint32_t alignment);
    bool may_grow(uint64_t need, uint64_t& slab_bytes, bool* limited);
    void* grow(uint32_t size, uint32_t alignment, uint64_t bytes, bool* limited);
    void give_back(uint64_t keep_bytes) noexcept;
    void end_turn(bool room) noexcept;
    Slab& prepare_slab(uint64_t bytes);
    void take_empty_slabs(uint64_t keep_bytes, std::vector<Slab*>& out) noexcept;
    void bury(Slab& slab) noexcept;

    SlabSource& source_;
    RangeMap& ranges_;
    const uint64_t max_bytes_;
    uint64_t slab_bytes_;
    uint32_t span_ = 0, small_ = 0;                // granules: size of a span; the largest piece that shards hand out
    unsigned shard_count_;                         // with the central heap
    uint32_t owners_ = 0;                          // threads with numbers below own a shard
    std::unique_ptr<Shard[]> shards_;               // the central heap's first
    std::unique_ptr<Lanes> lanes_;                  // claimed blocks on their way from shard to shard
    std::unique_ptr<std::atomic<Slab*>[], Table> slabs_;   // by number
    alignas(128) std::atomic<uint64_t> total_{0};  // bytes in use, as far as published
    std::atomic<uint64_t> peak_{0};

    // Under the central heap's lock:
    uint64_t reserved_ = 0, peak_reserved_ = 0;
    unsigned slab_count_ = 0, live_slabs_ = 0;     // descriptors; descriptors with a slab
    std::vector<uint16_t> dead_;                   // descriptors without a slab, oldest first; room for all
    std::atomic<uint64_t> source_calls_{0};

    host::Mutex growth_lock_;  // one thread at a time takes a slab or gives some back, others wait for it
    host::Condition growth_;
    bool growing_ = false;
    uint64_t growths_ = 0;
};

}  // namespace gpo
