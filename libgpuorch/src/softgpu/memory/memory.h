// The software GPU's address space. It knows which addresses are device memory, pinned host memory or variables of a
// module, and which context owns them. It also allocates device memory.
//
// All devices share one range of reserved addresses, divided into equal parts: a division finds the device of an
// address. A part is larger than the device's memory, and has two *areas*. One is anonymous memory for pools. The other
// maps a shared file, and is for cuMemAlloc, whose blocks other processes can import. (The first touch of a file's page
// takes 1.6 times as long as that of an anonymous page, and returning the page twice as long.) If no file can be made,
// there is only the anonymous area, and nothing can be exported. Imported memory is mapped into the anonymous area, and
// doesn't count as memory of this process's devices.
//
// Pages are committed as the heap grows, and are returned to the system when a large block is freed. With guards
// (GPUORCH_SOFT_GUARD) only allocated memory can be accessed. Each block then ends at the end of a page, and lies
// between two inaccessible pages.
//
// `lock` is a leaf: it is taken inside the machine's lock or alone, and while it is held only mmap, mprotect and
// madvise are called.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "host/host.h"
#include "host/shared_file.h"
#include "softgpu/memory/range_allocator.h"

namespace gpo::softgpu {

struct Pool;

/// The allocation or range that an address belongs to.
struct Place {
    enum Kind : uint8_t { unknown, device, host, variable };
    Kind kind = unknown;
    bool ordered = false;            // stream-ordered: whether it is allocated depends on the stream's progress
    bool registered = false;         // host memory of the caller, pinned by cuMemHostRegister
    bool imported = false;           // device memory of another process
    int ordinal = -1;                // device
    uint64_t base = 0, size = 0;
    unsigned flags = 0;              // host: CU_MEMHOSTALLOC_* or CU_MEMHOSTREGISTER_*
    uint64_t id = 0;                 // never used twice
    CUcontext context = nullptr;
    Pool* pool = nullptr;

    bool on_device() const noexcept { return kind == device || kind == variable; }
    bool holds(uint64_t address, uint64_t bytes) const noexcept {
        return kind != unknown && address >= base && address - base <= size && bytes <= size - (address - base);
    }
};

/// The content of the software GPU's CUipcMemHandle.
struct MemoryHandle {
    static constexpr uint32_t kMagic = 0x4d50'5347;   // "GSPM"
    uint32_t magic = kMagic, reserved = 0;
    host::SharedFileName file;
    uint64_t start = 0;              // of the process
    uint64_t offset = 0, bytes = 0;  // in the file
    uint64_t address = 0;            // in the exporter; the importer's is equal modulo the largest alignment
};
static_assert(sizeof(MemoryHandle) <= sizeof(CUipcMemHandle));

class AddressSpace {
public:
    /// If RLIMIT_AS leaves few addresses each device has less than `bytes_per_device`: total(). Throws Shortage
    /// (address_room.h) if the addresses left are too few at all.
    AddressSpace(int devices, uint64_t bytes_per_device, bool guard);
    ~AddressSpace();
    AddressSpace(const AddressSpace&) = delete;
    AddressSpace& operator=(const AddressSpace&) = delete;

    Place find(uint64_t address) const noexcept;
    /// Like find(), but for running work: finds a stream-ordered block until its stream has reached the free.
    Place find_reached(uint64_t address) const noexcept;
    Place find(const void* address) const noexcept { return find(reinterpret_cast<uint64_t>(address)); }
    /// True when [address, address + bytes) lies in device addresses or touches a pinned range: not plain host memory.
    bool touches_known(uint64_t address, uint64_t bytes) const noexcept;
    bool device_range(uint64_t address) const noexcept { return address - base_ < span_; }

    CUresult allocate(int device, CUcontext, uint64_t bytes, uint64_t* address);
    /// INVALID_VALUE unless `address` is the start of a block of allocate().
    CUresult release(uint64_t address);
    /// release() in two steps, for a free in stream order. After call_free() only running work finds the block.
    /// reach_free() gives it back, and may also come after the block was freed with its context. With `lock` held.
    CUresult call_free(uint64_t address, uint64_t* id);
    void reach_free(uint64_t address, uint64_t id) noexcept;

    /// Exports the block of allocate() around `address`. NOT_SUPPORTED: there is no file.
    CUresult export_block(uint64_t address, MemoryHandle* handle) const noexcept;
    /// Maps another process's block, or counts one more import if the context has already mapped it.
    /// INVALID_HANDLE: there is no such block. Throws std::bad_alloc.
    CUresult import_block(int device, CUcontext, const MemoryHandle&, uint64_t* address);
    CUresult end_import(uint64_t address) noexcept;

    CUresult host_allocate(CUcontext, uint64_t bytes, unsigned flags, void** address);
    CUresult host_release(void* address);
    CUresult host_register(CUcontext, void* address, uint64_t bytes, unsigned flags);
    CUresult host_unregister(void* address);

    void add_variable(CUcontext, int device, void* address, uint64_t bytes);
    void remove_variable(void* address) noexcept;

    /// Frees everything that was made in a context.
    void forget(CUcontext) noexcept;

    uint64_t total() const noexcept { return capacity_; }
    uint64_t used(int device) const noexcept;
    bool guarded() const noexcept { return guard_; }

    // For pools, with `lock` held. A segment is a piece of device memory that a pool cuts up.
    mutable host::Mutex lock;
    CUresult take_segment(int device, Pool*, uint64_t bytes, uint64_t* address);
    void give_segment(uint64_t address) noexcept;
    uint64_t next_id() noexcept { return ++ids_; }

private:
    struct Allocation {
        uint64_t size = 0;           // as asked for
        uint64_t block = 0;          // its address in the heap: lower than the allocation's under guard
        uint64_t id = 0;
        CUcontext context = nullptr;
        Pool* pool = nullptr;        // a segment
        bool freed = false;          // by a call that its stream hasn't reached
        uint32_t imports = 0;        // of another process's memory: how often
        uint64_t mapped = 0, mapped_bytes = 0;   // likewise: its pages
        host::SharedFileName file;   // likewise, as:
        uint64_t offset = 0;
        bool freeable() const noexcept { return !pool && !freed && !imports; }
    };
    struct Area {
        RangeAllocator ranges;
        uint64_t base = 0, bytes = 0, committed = 0;   // everything below base + committed may be touched (no guard)
        bool holds(uint64_t address) const noexcept { return address - base < bytes; }
    };
    struct Heap {
        Area pooled, plain;              // plain: of the file; without one everything is in `pooled`
        std::map<uint64_t, Allocation> allocations;
        uint64_t imported = 0;           // bytes of the areas that hold other processes' memory
        uint64_t taken() const noexcept { return pooled.ranges.taken() + plain.ranges.taken() - imported; }
        Area& area_of(uint64_t address) noexcept { return plain.holds(address) ? plain : pooled; }
    };
    struct HostRange {
        uint64_t size = 0, mapped = 0;      // mapped: bytes to unmap, 0 for malloc'ed or the caller's memory
        unsigned flags = 0;
        bool registered = false;
        uint64_t id = 0;
        CUcontext context = nullptr;
    };
    struct Variable {
        uint64_t size = 0;
        int device = 0;
        uint64_t id = 0;
        CUcontext context = nullptr;
    };
    CUresult take(Heap&, Allocation, uint64_t* address);
    void drop(Heap&, std::map<uint64_t, Allocation>::iterator) noexcept;
    bool commit(Area&, uint64_t address, uint64_t bytes) noexcept;
    bool map_file() noexcept;
    void return_pages(bool of_file, uint64_t first, uint64_t last) noexcept;
    void unmap_import(Heap&, const Allocation&) noexcept;
    void free_host(uint64_t address, const HostRange&) noexcept;

    uint64_t base_ = 0, span_ = 0, stride_ = 0, capacity_ = 0;
    bool guard_ = false;
    host::SharedFile file_;          // its byte 0 is at base_
    uint64_t plain_offset_ = 0;      // in each device's part; 0: there is no file
    uint64_t ids_ = 0;
    uint64_t pinned_ = 0, pinned_limit_ = 0;
    std::vector<std::unique_ptr<Heap>> heaps_;
    std::map<uint64_t, HostRange> host_;
    std::map<uint64_t, Variable> variables_;
};

}  // namespace gpo::softgpu
