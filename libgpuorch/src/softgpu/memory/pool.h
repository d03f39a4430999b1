// Stream-ordered memory pools (cuMemAllocAsync).
//
// A block is *handed out* from the allocating call to the freeing call: in this time other calls may name the address.
// A block is *live* from the time when the stream reaches the allocation to the time when the stream reaches the
// free; running copies check this. A block is *pending* from the freeing call until the stream reaches the free. The
// freeing stream may take a pending block again at once, since the stream's order makes the reuse safe. Other streams
// may take the block when the freeing stream has reached the free.
//
// A free is *seen* when the stream has reached the free and a host thread has waited for the stream, destroyed the
// stream, or waited for an event recorded on the stream behind the free. A query doesn't count. As with the real
// driver, memory returns to the device only when its frees are seen.
//
// The caller of every function here must hold the lock of the address space.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>

#include "softgpu/handles.h"
#include "softgpu/memory/memory.h"
#include "softgpu/memory/range_allocator.h"

namespace gpo::softgpu {

struct Stream;

struct Pool : Handled {
    struct Block {
        uint64_t size = 0;               // asked for
        uint64_t capacity = 0;           // held
        uint64_t id = 0;
        CUcontext context = nullptr;
        bool handed = false, live = false;
        bool fixed = false;              // belongs to a graph: a free doesn't make it available to others
        Stream* freed_on = nullptr;      // pending: the freeing stream; NULL: a call that waits for all streams
        uint64_t freed_id = 0;           // the free that it is pending for; 0: not pending
        uint64_t address = 0;
        Block *previous = nullptr, *next = nullptr;   // list of pending blocks, oldest first
    };

    int device = 0;
    bool is_default = false;
    bool destroyed = false;              // recycled after its last block
    int follow_events = 1, opportunistic = 1, internal_dependencies = 1;
    uint64_t threshold = 0;
    uint64_t max_bytes = 0;              // 0: the device's memory
    uint64_t reserved = 0, reserved_high = 0, used_high = 0;
    uint64_t live_bytes = 0, live_high = 0;
    uint64_t readable = 0, writable = 0; // bit per device

    Place find(uint64_t address) const noexcept;
    /// Hands out a block for `stream`. Throws std::bad_alloc.
    CUresult take(AddressSpace&, Stream* stream, CUcontext, uint64_t bytes, uint64_t* address);
    /// Hands out a block that another stream will free later. The caller must make its work wait for that stream.
    CUresult take_pending(AddressSpace&, CUcontext, uint64_t bytes, uint64_t* address, Stream** freed_on);
    /// A freeing call. `id` identifies it in reach_free(). False unless `address` is the start of a handed-out block.
    struct Free {
        Stream* stream = nullptr;   // NULL: the call waits for all streams, and its free is seen at once
        uintptr_t handle = 0;       // the stream's
        uint64_t number = 0;        // counts the machine's frees in streams' order
    };
    /// Throws std::bad_alloc.
    bool call_free(AddressSpace&, uint64_t address, const Free& free, uint64_t* id);
    /// Frees up to this number on the stream with this handle are seen.
    void see_frees(uintptr_t stream, uint64_t number) noexcept;
    void see_all_frees() noexcept;
    bool has_unseen_frees() const noexcept;
    void reach_allocation(uint64_t address) noexcept;
    /// `id` 0: the free node of a graph.
    void reach_free(uint64_t address, uint64_t id) noexcept;
    bool live(uint64_t address, uint64_t bytes) const noexcept;

    /// Takes a block that stays at its address until unfix(), whether it is allocated or not. Throws std::bad_alloc.
    CUresult fix(AddressSpace&, CUcontext, uint64_t bytes, uint64_t* address, uint64_t* id);
    /// Ends fix(). If the block is allocated, it becomes an ordinary block; otherwise it is released.
    void unfix(uint64_t address, uint64_t id) noexcept;
    /// NULL: the block was freed with its context.
    Block* fixed(uint64_t address, uint64_t id) noexcept;

    /// Gives unused segments whose frees are seen back until at most `keep` bytes are reserved.
    void trim(AddressSpace&, uint64_t keep) noexcept;
    uint64_t used() const noexcept { return ranges_.taken(); }
    bool empty() const noexcept { return blocks_.empty(); }
    /// Back to the state of a new object.
    void clear(AddressSpace&) noexcept;
    void forget(CUcontext) noexcept;

private:
    struct Segment {
        uint64_t size = 0;
        std::map<uintptr_t, uint64_t> unseen;   // by the stream's handle: number of the newest free on it
    };
    Block* reuse(uint64_t bytes, Stream* stream, bool same) noexcept;
    void hand_out(AddressSpace&, Block&, CUcontext, uint64_t bytes) noexcept;
    void pend(Block&) noexcept;
    void unpend(Block&) noexcept;
    void set_live(Block&, bool live) noexcept;
    void erase(std::map<uint64_t, Block>::iterator) noexcept;

    RangeAllocator ranges_;
    std::map<uint64_t, Segment> segments_;
    std::map<uint64_t, Block> blocks_;
    Block *pending_first_ = nullptr, *pending_last_ = nullptr;
};

}  // namespace gpo::softgpu
