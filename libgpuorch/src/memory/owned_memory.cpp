#include "memory/owned_memory.h"

#include "memory/registry.h"
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

void give_piece(Context& context, uint64_t address, bool host) noexcept {
    const SerialisingScope serialising(context.runtime(),
                                       host ? Serialising::host_registration : Serialising::device_allocation);
    if (host)
        context.table().cuMemFreeHost(reinterpret_cast<void*>(address));
    else
        context.table().cuMemFree(address);
}

// Users' graphs may refer to the memory as to any other: until it is freed it stays in the registry.
class OwnedFree final : public WaitingFree {
public:
    OwnedFree(Context& context, uint64_t start, uint64_t bytes, bool host, const FixedText<96>& owner)
        : WaitingFree(context, start, bytes), registry_(Registry::of(context.runtime())), host_(host), owner_(owner) {}

    FixedText<160> describe() const noexcept override {
        return fixed_text<160>(host_ ? "host" : "device", " memory of ", owner_.c_str(), ", ", bytes(), " bytes at ",
                               fixed_hex(start()));
    }
    void free() noexcept override {
        registry_.erase_owned(start(), host_);
        DriverTry scope(context());
        if (scope.entered()) give_piece(context(), start(), host_);
    }

private:
    Registry& registry_;
    const bool host_;
    const FixedText<96> owner_;
};

}  // namespace

uint64_t OwnedMemory::allocate(uint64_t bytes, bool host) {
    std::list<Holds::Ready> made(1);
    DriverScope scope(*context_);
    uint64_t address = 0;
    context_->check(take_piece(*context_, bytes, host, &address), host ? "cuMemHostAlloc" : "cuMemAlloc");
    try {
        made.front() = Holds::make_ready(std::make_unique<OwnedFree>(*context_, address, bytes, host, owner_));
        Registry::of(context_->runtime()).insert_owned(address, bytes, host, owner_.c_str());
    } catch (...) {
        give_piece(*context_, address, host);
        throw;
    }
    std::lock_guard lock(lock_);
    frees_.splice(frees_.end(), made);
    return address;
}

OwnedMemory::~OwnedMemory() {
    for (Holds::Ready& free : frees_) Holds::of(context_->runtime()).free(std::move(free));  // there since allocate()
}

}  // namespace gpo
