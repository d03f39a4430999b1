#include "softgpu/memory/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <new>

#include "softgpu/memory/address_room.h"
#include "softgpu/memory/pool.h"

namespace gpo::softgpu {

namespace {

constexpr uint64_t kLeastMemory = 2ull << 20;      // a device's memory is a multiple
constexpr uint64_t kCommitStep = 64ull << 20;
constexpr uint64_t kReturnToSystem = 64ull << 10;  // smaller freed blocks keep their pages
constexpr uint64_t kMapHost = 128ull << 10;        // pinned blocks from here on are mappings of their own

uint64_t round_up(uint64_t value, uint64_t grain) { return (value + grain - 1) / grain * grain; }

void* bytes_at(uint64_t address) { return reinterpret_cast<void*>(address); }

template <class Map>
auto covering(Map& map, uint64_t address) {
    auto after = map.upper_bound(address);
    return after == map.begin() ? map.end() : std::prev(after);
}

}  // namespace

AddressSpace::AddressSpace(int devices, uint64_t bytes_per_device, bool guard)
    : capacity_(bytes_per_device / kLeastMemory * kLeastMemory), guard_(guard) {
    pinned_limit_ = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE));
    // Room for fragmentation, and under guard for the guard pages of many small blocks; less where RLIMIT_AS or the
    // system leaves less, and then in the end less memory.
    const uint64_t count = static_cast<uint64_t>(devices), least = guard ? 2 : 1;
    uint64_t factor = guard ? 64 : 4;
    if (const uint64_t room = address_room(); room != kUnlimited) {
        const uint64_t part = room / kPartOfRoom / count;
        while (factor > least && capacity_ > part / factor) factor /= 2;
        if (capacity_ > part / factor) capacity_ = part / factor / kLeastMemory * kLeastMemory;
        if (capacity_ == 0) throw Shortage(kLeastMemory * least * kPartOfRoom * count, "the software GPU");
    }
    for (;; factor /= 2) {
        if (!factor) throw Shortage(capacity_ * count, "the software GPU's memory");
        stride_ = round_up(capacity_ * factor, factor >= 2 * least ? 2 * kCommitStep : kCommitStep);
        span_ = stride_ * count;
        void* reserved = mmap(nullptr, span_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (reserved == MAP_FAILED) continue;
        madvise(reserved, span_, MADV_DONTDUMP);
        base_ = reinterpret_cast<uint64_t>(reserved);
        break;
    }
    // Two areas, each with room for the whole memory, and under guard for its guard pages.
    if (factor >= 2 * least && map_file()) plain_offset_ = stride_ / 2;
    try {
        for (int i = 0; i < devices; ++i) {
            heaps_.push_back(std::make_unique<Heap>());
            Heap& heap = *heaps_.back();
            heap.pooled.base = base_ + stride_ * uint64_t(i);
            heap.pooled.bytes = plain_offset_ ? plain_offset_ : stride_;
            heap.pooled.ranges.add(heap.pooled.base, heap.pooled.bytes);
            if (!plain_offset_) continue;
            heap.plain.base = heap.pooled.base + plain_offset_;
            heap.plain.bytes = stride_ - plain_offset_;
            heap.plain.ranges.add(heap.plain.base, heap.plain.bytes);
        }
    } catch (...) {
        munmap(bytes_at(base_), span_);
        throw;
    }
}

// False: without one nothing can be exported.
bool AddressSpace::map_file() noexcept {
    if (!file_.create(span_)) return false;
    for (uint64_t at = base_ + stride_ / 2; at < base_ + span_; at += stride_) {
        if (mmap(bytes_at(at), stride_ / 2, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_.descriptor(),
                 static_cast<off_t>(at - base_)) != MAP_FAILED) {
            madvise(bytes_at(at), stride_ / 2, MADV_DONTDUMP);
            continue;
        }
        // Only a mapping too many fails: what is there of the file serves as well, as memory of this process alone.
        file_.close();
        return false;
    }
    return true;
}

AddressSpace::~AddressSpace() {
    for (const auto& [address, range] : host_) free_host(address, range);
    munmap(bytes_at(base_), span_);
}

Place AddressSpace::find(uint64_t address) const noexcept {
    host::Lock hold(lock);
    Place place;
    if (device_range(address)) {
        const int device = int((address - base_) / stride_);
        const Heap& heap = *heaps_[size_t(device)];
        auto found = covering(heap.allocations, address);
        if (found == heap.allocations.end() || address - found->first >= found->second.size) return place;
        if (found->second.pool) return found->second.pool->find(address);
        if (found->second.freed) return place;
        place.kind = Place::device;
        place.ordinal = device;
        place.imported = found->second.imports != 0;
        place.base = found->first;
        place.size = found->second.size;
        place.context = found->second.context;
        place.id = found->second.id;
        return place;
    }
    if (auto found = covering(host_, address);
        found != host_.end() && address - found->first < found->second.size) {
        place.kind = Place::host;
        place.registered = found->second.registered;
        place.base = found->first;
        place.size = found->second.size;
        place.flags = found->second.flags;
        place.context = found->second.context;
        place.id = found->second.id;
        return place;
    }
    if (auto found = covering(variables_, address);
        found != variables_.end() && address - found->first < found->second.size) {
        place.kind = Place::variable;
        place.ordinal = found->second.device;
        place.base = found->first;
        place.size = found->second.size;
        place.context = found->second.context;
        place.id = found->second.id;
    }
    return place;
}

Place AddressSpace::find_reached(uint64_t address) const noexcept {
    host::Lock hold(lock);
    Place place;
    if (!device_range(address)) return place;
    const Heap& heap = *heaps_[(address - base_) / stride_];
    auto found = covering(heap.allocations, address);
    if (found == heap.allocations.end() || address - found->first >= found->second.size) return place;
    place.kind = Place::device;
    place.ordered = found->second.pool != nullptr;
    place.pool = found->second.pool;
    return place;
}

bool AddressSpace::touches_known(uint64_t address, uint64_t bytes) const noexcept {
    host::Lock hold(lock);
    if (address + bytes < address) return true;
    if (address < base_ + span_ && base_ < address + bytes) return true;
    auto after = host_.lower_bound(address);
    if (after != host_.end() && after->first < address + bytes) return true;
    auto found = covering(host_, address);
    return found != host_.end() && address - found->first < found->second.size;
}

bool AddressSpace::commit(Area& area, uint64_t address, uint64_t bytes) noexcept {
    if (guard_) return mprotect(bytes_at(address), bytes, PROT_READ | PROT_WRITE) == 0;
    const uint64_t end = address + bytes - area.base;
    if (end <= area.committed) return true;
    const uint64_t grown = std::min(round_up(end, kCommitStep), area.bytes);
    if (mprotect(bytes_at(area.base + area.committed), grown - area.committed, PROT_READ | PROT_WRITE) != 0)
        return false;
    area.committed = grown;
    return true;
}

CUresult AddressSpace::take(Heap& heap, Allocation allocation, uint64_t* address) {
    const uint64_t grain = allocation.pool ? 2ull << 20 : kGrain;
    if (allocation.size > capacity_) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t bytes = guard_ ? round_up(allocation.size, kPage) : round_up(allocation.size, grain);
    if (bytes > capacity_ - std::min(capacity_, heap.taken())) return CUDA_ERROR_OUT_OF_MEMORY;
    Area& area = plain_offset_ && !allocation.pool ? heap.plain : heap.pooled;
    const uint64_t block = area.ranges.take(guard_ ? bytes + 2 * kPage : bytes);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t data = guard_ ? block + kPage : block;
    if (!commit(area, data, bytes)) {
        area.ranges.give(block);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    // Under guard the block ends with its page, as far as the least alignment that CUDA promises allows.
    *address = guard_ && !allocation.pool ? data + bytes - round_up(allocation.size, 256) : data;
    allocation.block = block;
    allocation.id = next_id();
    try {
        heap.allocations.emplace(*address, allocation);
    } catch (...) {
        if (guard_) mprotect(bytes_at(data), bytes, PROT_NONE);
        area.ranges.give(block);
        throw;
    }
    return CUDA_SUCCESS;
}

// Returns whole pages. Other processes that have the file mapped find zeroes.
void AddressSpace::return_pages(bool of_file, uint64_t first, uint64_t last) noexcept {
    if (last <= first) return;
    if (of_file)
        fallocate(file_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first - base_),
                  static_cast<off_t>(last - first));
    else
        madvise(bytes_at(first), last - first, MADV_DONTNEED);
}

void AddressSpace::drop(Heap& heap, std::map<uint64_t, Allocation>::iterator found) noexcept {
    const Allocation allocation = found->second;
    const uint64_t block = allocation.block;
    Area& area = heap.area_of(block);
    const uint64_t bytes = area.ranges.size_of(block);
    heap.allocations.erase(found);
    if (allocation.imports) {
        unmap_import(heap, allocation);
        return;
    }
    const bool of_file = &area == &heap.plain;
    if (guard_) {
        return_pages(of_file, block, block + bytes);
        mprotect(bytes_at(block), bytes, PROT_NONE);
    } else if (bytes >= kReturnToSystem) {
        return_pages(of_file, round_up(block, kPage), (block + bytes) / kPage * kPage);
    }
    area.ranges.give(block);
}

CUresult AddressSpace::allocate(int device, CUcontext context, uint64_t bytes, uint64_t* address) {
    host::Lock hold(lock);
    Allocation allocation;
    allocation.size = bytes;
    allocation.context = context;
    return take(*heaps_[size_t(device)], allocation, address);
}

CUresult AddressSpace::release(uint64_t address) {
    host::Lock hold(lock);
    if (!device_range(address)) return CUDA_ERROR_INVALID_VALUE;
    Heap& heap = *heaps_[(address - base_) / stride_];
    auto found = heap.allocations.find(address);
    if (found == heap.allocations.end() || !found->second.freeable()) return CUDA_ERROR_INVALID_VALUE;
    drop(heap, found);
    return CUDA_SUCCESS;
}

CUresult AddressSpace::call_free(uint64_t address, uint64_t* id) {
    if (!device_range(address)) return CUDA_ERROR_INVALID_VALUE;
    Heap& heap = *heaps_[(address - base_) / stride_];
    const auto found = heap.allocations.find(address);
    if (found == heap.allocations.end() || !found->second.freeable()) return CUDA_ERROR_INVALID_VALUE;
    found->second.freed = true;
    *id = found->second.id;
    return CUDA_SUCCESS;
}

void AddressSpace::reach_free(uint64_t address, uint64_t id) noexcept {
    Heap& heap = *heaps_[(address - base_) / stride_];
    const auto found = heap.allocations.find(address);
    if (found != heap.allocations.end() && found->second.id == id) drop(heap, found);
}

// --- other processes' memory ---

CUresult AddressSpace::export_block(uint64_t address, MemoryHandle* handle) const noexcept {
    const Place place = find(address);
    if (place.kind != Place::device || place.ordered || place.imported) return CUDA_ERROR_INVALID_VALUE;
    const host::Process process = host::this_process();
    if (!plain_offset_ || !process.number) return CUDA_ERROR_NOT_SUPPORTED;
    handle->file = file_.name();
    handle->start = process.start;
    handle->offset = place.base - base_;
    handle->bytes = place.size;
    handle->address = place.base;
    return CUDA_SUCCESS;
}

CUresult AddressSpace::import_block(int device, CUcontext context, const MemoryHandle& handle, uint64_t* address) {
    if (handle.magic != MemoryHandle::kMagic || !handle.bytes || handle.bytes > (uint64_t{1} << 48) ||
        handle.offset > (uint64_t{1} << 56) || (handle.address - handle.offset) % kPage)
        return CUDA_ERROR_INVALID_VALUE;
    if (handle.file.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    if (host::has_ended({handle.file.process, handle.start})) return CUDA_ERROR_INVALID_HANDLE;
    host::SharedFile file;
    if (!file.open(handle.file) || file.bytes() < handle.bytes || file.bytes() - handle.bytes < handle.offset)
        return CUDA_ERROR_INVALID_HANDLE;
    constexpr uint64_t alignment = 2ull << 20;
    const uint64_t first = handle.offset / kPage * kPage, last = round_up(handle.offset + handle.bytes, kPage);
    host::Lock hold(lock);
    Heap& heap = *heaps_[size_t(device)];
    for (auto& [at, made] : heap.allocations)
        if (made.imports && made.context == context && made.offset == handle.offset && made.size == handle.bytes &&
            made.file.key == handle.file.key) {
            ++made.imports;
            *address = at;
            return CUDA_SUCCESS;
        }
    Area& area = heap.pooled;
    const uint64_t block = area.ranges.take(last - first + alignment + 2 * kPage);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    // Under guard the pages before and behind it stay unreadable.
    uint64_t mapped = (block + kPage) / alignment * alignment + (handle.address - (handle.offset - first)) % alignment;
    if (mapped < round_up(block, kPage) + kPage) mapped += alignment;
    const uint64_t bytes = last - first;
    if (mmap(bytes_at(mapped), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.descriptor(),
             static_cast<off_t>(first)) == MAP_FAILED) {
        area.ranges.give(block);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    madvise(bytes_at(mapped), bytes, MADV_DONTDUMP);
    Allocation allocation;
    allocation.size = handle.bytes;
    allocation.block = block;
    allocation.id = next_id();
    allocation.context = context;
    allocation.imports = 1;
    allocation.mapped = mapped;
    allocation.mapped_bytes = bytes;
    allocation.file = handle.file;
    allocation.offset = handle.offset;
    heap.imported += area.ranges.size_of(block);
    try {
        heap.allocations.emplace(mapped + (handle.offset - first), allocation);
    } catch (...) {
        unmap_import(heap, allocation);
        throw;
    }
    *address = mapped + (handle.offset - first);
    return CUDA_SUCCESS;
}

CUresult AddressSpace::end_import(uint64_t address) noexcept {
    host::Lock hold(lock);
    if (!device_range(address)) return CUDA_ERROR_INVALID_VALUE;
    Heap& heap = *heaps_[(address - base_) / stride_];
    const auto found = heap.allocations.find(address);
    if (found == heap.allocations.end() || !found->second.imports) return CUDA_ERROR_INVALID_VALUE;
    if (found->second.imports > 1) --found->second.imports;
    else drop(heap, found);
    return CUDA_SUCCESS;
}

// Its addresses are again what they were. If the system refuses that they stay as they are, and are used no more.
void AddressSpace::unmap_import(Heap& heap, const Allocation& allocation) noexcept {
    Area& area = heap.pooled;
    const uint64_t end = allocation.mapped + allocation.mapped_bytes;
    void* const at = bytes_at(allocation.mapped);
    if (mmap(at, allocation.mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        return;
    madvise(at, allocation.mapped_bytes, MADV_DONTDUMP);
    const uint64_t committed = area.base + area.committed;
    if (!guard_ && allocation.mapped < committed &&
        mprotect(at, std::min(end, committed) - allocation.mapped, PROT_READ | PROT_WRITE) != 0)
        return;
    heap.imported -= area.ranges.size_of(allocation.block);
    area.ranges.give(allocation.block);
}

CUresult AddressSpace::take_segment(int device, Pool* pool, uint64_t bytes, uint64_t* address) {
    Allocation allocation;
    allocation.size = bytes;
    allocation.pool = pool;
    return take(*heaps_[size_t(device)], allocation, address);
}

void AddressSpace::give_segment(uint64_t address) noexcept {
    Heap& heap = *heaps_[(address - base_) / stride_];
    if (auto found = heap.allocations.find(address); found != heap.allocations.end()) drop(heap, found);
}

uint64_t AddressSpace::used(int device) const noexcept {
    host::Lock hold(lock);
    return std::min(capacity_, heaps_[size_t(device)]->taken());
}

void AddressSpace::free_host(uint64_t address, const HostRange& range) noexcept {
    if (range.registered) return;
    if (range.mapped) munmap(bytes_at(address), range.mapped);
    else std::free(bytes_at(address));
}

CUresult AddressSpace::host_allocate(CUcontext context, uint64_t bytes, unsigned flags, void** address) {
    host::Lock hold(lock);
    if (bytes > pinned_limit_ - std::min(pinned_limit_, pinned_)) return CUDA_ERROR_OUT_OF_MEMORY;
    HostRange range;
    range.size = bytes;
    range.flags = flags;
    range.context = context;
    range.id = next_id();
    void* memory = nullptr;
    if (bytes >= kMapHost) {
        range.mapped = round_up(bytes, kPage);
        memory = mmap(nullptr, range.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    } else {
        const uint64_t alignment = bytes >= kPage ? kPage : 256;
        memory = std::aligned_alloc(alignment, round_up(bytes, alignment));
        if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    try {
        host_.emplace(reinterpret_cast<uint64_t>(memory), range);
    } catch (...) {
        free_host(reinterpret_cast<uint64_t>(memory), range);
        throw;
    }
    pinned_ += bytes;
    *address = memory;
    return CUDA_SUCCESS;
}

CUresult AddressSpace::host_release(void* address) {
    host::Lock hold(lock);
    auto found = host_.find(reinterpret_cast<uint64_t>(address));
    if (found == host_.end() || found->second.registered) return CUDA_ERROR_INVALID_VALUE;
    const HostRange range = found->second;
    host_.erase(found);
    pinned_ -= range.size;
    free_host(reinterpret_cast<uint64_t>(address), range);
    return CUDA_SUCCESS;
}

CUresult AddressSpace::host_register(CUcontext context, void* address, uint64_t bytes, unsigned flags) {
    host::Lock hold(lock);
    const uint64_t first = reinterpret_cast<uint64_t>(address);
    if (first + bytes < first) return CUDA_ERROR_INVALID_VALUE;
    if (first < base_ + span_ && base_ < first + bytes) return CUDA_ERROR_INVALID_VALUE;
    auto after = host_.lower_bound(first);
    auto before = covering(host_, first);
    if ((after != host_.end() && after->first < first + bytes) ||
        (before != host_.end() && first - before->first < before->second.size))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    HostRange range;
    range.size = bytes;
    range.flags = flags;
    range.registered = true;
    range.context = context;
    range.id = next_id();
    host_.emplace(first, range);
    return CUDA_SUCCESS;
}

CUresult AddressSpace::host_unregister(void* address) {
    host::Lock hold(lock);
    auto found = host_.find(reinterpret_cast<uint64_t>(address));
    if (found == host_.end() || !found->second.registered) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    host_.erase(found);
    return CUDA_SUCCESS;
}

void AddressSpace::add_variable(CUcontext context, int device, void* address, uint64_t bytes) {
    host::Lock hold(lock);
    Variable& variable = variables_[reinterpret_cast<uint64_t>(address)];
    variable.size = bytes;
    variable.device = device;
    variable.context = context;
    variable.id = next_id();
}

void AddressSpace::remove_variable(void* address) noexcept {
    host::Lock hold(lock);
    variables_.erase(reinterpret_cast<uint64_t>(address));
}

void AddressSpace::forget(CUcontext context) noexcept {
    host::Lock hold(lock);
    for (auto& heap : heaps_)
        for (auto at = heap->allocations.begin(); at != heap->allocations.end();) {
            auto here = at++;
            if (!here->second.pool && here->second.context == context) drop(*heap, here);
        }
    for (auto at = host_.begin(); at != host_.end();) {
        auto here = at++;
        if (here->second.context != context) continue;
        if (!here->second.registered) pinned_ -= here->second.size;
        free_host(here->first, here->second);
        host_.erase(here);
    }
    std::erase_if(variables_, [&](const auto& item) { return item.second.context == context; });
}

}  // namespace gpo::softgpu
