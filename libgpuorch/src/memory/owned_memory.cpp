#include "memory/owned_memory.h"

#include "memory/registry.h"
#include "stream/streams.h"
#include "trace/serialising.h"

namespace gpo {

namespace {

// Inside a DriverScope.
CUresult take_piece(Context& context, uint64_t bytes, bool host, uint64_t* address) {
    const driver::Table& table = context.table();
    if (!host) {
        const SerialisingScope serialising(context.runtime(), Serialising::device_allocation);
        CUdeviceptr memory = 0;
        const CUresult result = table.cuMemAlloc(&memory, bytes);
        *address = memory;
        return result;
    }
    const SerialisingScope serialising(context.runtime(), Serialising::host_registration);
    void* memory = nullptr;
    const CUresult result = table.cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    *address = reinterpret_cast<uint64_t>(memory);
    return result;
}

// The free of a piece of host memory, made before the piece; NULL for device memory.
using HostFree = std::unique_ptr<HostMemoryFree>;

// Inside a DriverScope. `mapping`: the driver's mapping of another process's memory; 0: the memory is ours.
void give_piece(Context& context, uint64_t address, HostFree host, CUdeviceptr mapping = 0) noexcept {
    if (host)
        host.release()->make();
    else if (mapping)
        Streams::of(context).blocking_calls().end_import(mapping);
    else
        Streams::of(context).blocking_calls().free_memory(address);
}

// Users' graphs may refer to the memory: it stays in the registry until it is freed.
class OwnedFree final : public WaitingFree {
public:
    OwnedFree(Context& context, uint64_t start, uint64_t bytes, const FixedText<96>& owner, CUdeviceptr mapping = 0)
        : WaitingFree(context, start, bytes), registry_(Registry::of(context.runtime())), owner_(owner),
          mapping_(mapping) {}
    /// Called when nothing can fail any more.
    void set_host(HostFree host) noexcept { host_ = std::move(host); }

    FixedText<160> describe() const noexcept override {
        return fixed_text<160>(host_ ? "host" : "device", " memory of ", owner_.c_str(), ", ", bytes(), " bytes at ",
                               fixed_hex(start()));
    }
    void free() noexcept override {
        registry_.erase_owned(start(), host_ != nullptr);
        DriverTry scope(context());
        if (scope.entered()) give_piece(context(), start(), std::move(host_), mapping_);
    }

private:
    Registry& registry_;
    HostFree host_;
    const FixedText<96> owner_;
    const CUdeviceptr mapping_;
};

}  // namespace

uint64_t OwnedMemory::allocate(uint64_t bytes, bool host) {
    std::list<Holds::Ready> made(1);
    HostFree host_free = host ? std::make_unique<HostMemoryFree>(*context_) : nullptr;
    DriverScope scope(*context_);
    uint64_t address = 0;
    context_->check_allocation(
        take_piece(*context_, bytes, host, &address), host ? "cuMemHostAlloc" : "cuMemAlloc",
        {host ? Context::Wanted::Where::host : Context::Wanted::Where::device, bytes, owner_});
    if (host_free) host_free->set(reinterpret_cast<void*>(address));
    try {
        auto free = std::make_unique<OwnedFree>(*context_, address, bytes, owner_);
        OwnedFree& made_free = *free;
        made.front() = Holds::make_ready(std::move(free));
        Registry::of(context_->runtime()).insert_owned(address, bytes, host, owner_.c_str());
        made_free.set_host(std::move(host_free));
    } catch (...) {
        give_piece(*context_, address, std::move(host_free));
        throw;
    }
    keep(made);
    return address;
}

uint64_t OwnedMemory::import(const Exported& exported) {
    std::list<Holds::Ready> made(1);
    DriverScope scope(*context_);
    const MappedMemory mapped = map_memory(*context_, exported);
    try {
        made.front() = Holds::make_ready(
            std::make_unique<OwnedFree>(*context_, mapped.address, exported.bytes, owner_, mapped.mapping));
        Registry::of(context_->runtime()).insert_owned(mapped.address, exported.bytes, false, owner_.c_str());
    } catch (...) {
        give_piece(*context_, mapped.address, nullptr, mapped.mapping);
        throw;
    }
    keep(made);
    return mapped.address;
}

void OwnedMemory::keep(std::list<Holds::Ready>& made) noexcept {
    std::lock_guard lock(lock_);
    frees_.splice(frees_.end(), made);
}

OwnedMemory::~OwnedMemory() {
    for (Holds::Ready& free : frees_) Holds::of(context_->runtime()).free(std::move(free));  // there since allocate()
}

}  // namespace gpo
