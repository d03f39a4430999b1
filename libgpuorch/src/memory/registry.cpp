#include "memory/registry.h"

#include <optional>

#include "base/checked.h"
#include "gpuorch/memory.h"
#include "stream/streams.h"
#include "trace/serialising.h"

namespace gpo {

// Frees device memory of this process, or ends the mapping of another process's memory. Inside a DriverScope.
static void give_back(Context& context, uint64_t address, CUdeviceptr mapping) noexcept {
    BlockingCalls& calls = Streams::of(context).blocking_calls();
    if (mapping) calls.end_import(mapping);
    else calls.free_memory(address);
}

// The waiting free of device memory. The memory stays in the registry's map until it is freed, since graphs may use it.
class WaitingMemoryFree final : public WaitingFree {
public:
    WaitingMemoryFree(Context& context, RangeMap& ranges, const void* owner, const Range& memory, const char* label,
                      CUdeviceptr mapping)
        : WaitingFree(context, memory.start, memory.bytes()), ranges_(ranges), owner_(owner), label_(label),
          mapping_(mapping) {}

    FixedText<160> describe() const noexcept override {
        return fixed_text<160>("device memory", *label_ ? " `" : "", label_, *label_ ? "`, " : ", ", bytes(),
                               " bytes at ", fixed_hex(start()));
    }
    void free() noexcept override {
        ranges_.erase(start(), owner_);
        DriverTry scope(context());
        if (scope.entered()) give_back(context(), start(), mapping_);
    }

private:
    RangeMap& ranges_;
    const void* const owner_;
    const char* const label_;
    const CUdeviceptr mapping_;
};

void Registry::register_host(Context& context, void* memory, uint64_t bytes, uint32_t flags) {
    const auto address = reinterpret_cast<uint64_t>(memory);
    if (past_addresses(address, bytes))
        fail(GPO_INVALID_ARGUMENT, "memory + bytes (", bytes, ") runs past the end of addresses");
    {
        std::lock_guard lock(lock_);
        const auto refuse = [&](uint64_t start, uint64_t of) {
            fail(GPO_INVALID_STATE, "of the ", bytes, " bytes at ", hex(address), " some are pinned already: ", of,
                 " bytes at ", hex(start));
        };
        if (const Range range = host.overlapping(address, address + bytes)) refuse(range.start, range.bytes());
        // Memory that is being registered now is only in registrations_.
        auto behind = registrations_.lower_bound(address + bytes);
        if (behind != registrations_.begin() && std::prev(behind)->first + std::prev(behind)->second.bytes > address)
            refuse(std::prev(behind)->first, std::prev(behind)->second.bytes);
        registrations_.emplace(address, Registration{Ref<Context>(&context), bytes, State::changing});
    }
    try {
        host.insert({address, address + bytes, kRegisteredTag, this});
        DriverScope scope(context);
        unsigned driver_flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
        if (flags & GPO_REGISTER_READ_ONLY) {
            CUdevice device = 0;
            int supported = 0;
            context.check(context.table().cuDeviceGet(&device, context.ordinal()), "cuDeviceGet");
            if (context.table().cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED,
                                                     device) == CUDA_SUCCESS && supported)
                driver_flags |= CU_MEMHOSTREGISTER_READ_ONLY;
        }
        const SerialisingScope serialising(runtime_, Serialising::host_registration);
        context.check_allocation(context.table().cuMemHostRegister(memory, bytes, driver_flags), "cuMemHostRegister",
                                 {Context::Wanted::Where::host, bytes, {}});
    } catch (...) {
        host.erase(address, this);
        std::lock_guard lock(lock_);
        registrations_.erase(address);
        throw;
    }
    std::lock_guard lock(lock_);
    registrations_.find(address)->second.state = State::live;
}

void Registry::unregister_host(void* memory) {
    const auto address = reinterpret_cast<uint64_t>(memory);
    Ref<Context> context;
    uint64_t bytes = 0;
    {
        std::lock_guard lock(lock_);
        auto found = registrations_.find(address);
        if (found == registrations_.end() || found->second.state != State::live)
            fail(GPO_INVALID_ARGUMENT, "no memory is registered at ", hex(address));
        found->second.state = State::changing;
        context = found->second.context;
        bytes = found->second.bytes;
    }
    std::optional<BlockingCalls::Now> now;
    try {
        now.emplace(*context, "unregistering memory");
    } catch (...) {
        std::lock_guard lock(lock_);
        registrations_.find(address)->second.state = State::live;
        throw;
    }
    host.erase(address, this);
    Streams::settle_withheld(runtime_);
    CUresult result = CUDA_SUCCESS;
    {
        DriverTry scope(*context);
        if (scope.entered()) {
            const SerialisingScope serialising(runtime_, Serialising::host_registration);
            result = context->table().cuMemHostUnregister(memory);
        }
    }
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED && !is_sticky(result)) {
        try {
            host.insert({address, address + bytes, kRegisteredTag, this});
        } catch (const std::bad_alloc&) {
            // Copies from and to the memory will count as pageable.
        }
        std::lock_guard lock(lock_);
        registrations_.find(address)->second.state = State::live;
    } else {
        std::lock_guard lock(lock_);
        registrations_.erase(address);
    }
    context->check(result, "cuMemHostUnregister");
}

void Registry::insert_device(const Range& range) {
    while (!device.insert(range)) {
        const Range stale = device.overlapping(range.start, range.end);
        device.erase(stale.start, stale.owner);
        std::lock_guard lock(lock_);
        allocations_.erase(stale.start);
    }
}

uint64_t Registry::allocate(Context& context, uint64_t bytes, const char* label) {
    const char* name = label && *label ? runtime_.intern(label) : "";
    DriverScope scope(context);
    CUdeviceptr address = 0;
    const SerialisingScope serialising(runtime_, Serialising::device_allocation);
    context.check_allocation(context.table().cuMemAlloc(&address, bytes), "cuMemAlloc",
                             {Context::Wanted::Where::device, bytes,
                              *name ? fixed_text<96>("`", name, "`") : FixedText<96>()});
    try {
        insert_device({address, address + bytes, kAllocatedTag, this});
        std::lock_guard lock(lock_);
        allocations_.insert_or_assign(address, Allocation{Ref<Context>(&context), bytes, name});
    } catch (...) {
        device.erase(address, this);
        Streams::of(context).blocking_calls().free_memory(address);
        throw;
    }
    return address;
}

Exported Registry::export_allocation(Context& context, uint64_t address) {
    uint64_t bytes = 0;
    {
        std::lock_guard lock(lock_);
        const auto found = allocations_.find(address);
        if (found == allocations_.end()) {
            if (const Range range = device.find(address); range && range.tag == kPieceTag)
                fail(GPO_INVALID_ARGUMENT, "the memory at ", hex(address),
                     " is of a pool, whose memory can't be exported: that of gpo_memory_allocate can");
            if (const Range range = device.find(address); range && range.tag == kAllocatedTag)
                fail(GPO_INVALID_ARGUMENT, hex(address), " is inside of an allocation, whose start is ",
                     hex(range.start));
            fail_no_allocation(address);
        }
        if (found->second.context.get() != &context)
            fail(GPO_INVALID_ARGUMENT, "the allocation at ", hex(address), " is of another device");
        if (found->second.mapping)
            fail(GPO_INVALID_ARGUMENT, "the memory at ", hex(address),
                 " is imported: the process that allocated it can export it");
        bytes = found->second.bytes;
    }
    return export_memory(context, address, bytes);
}

uint64_t Registry::import(Context& context, const Exported& exported, const char* label) {
    const char* name = label && *label ? runtime_.intern(label) : "";
    DriverScope scope(context);
    const MappedMemory made = map_memory(context, exported);
    try {
        {
            // The driver counts repeated imports of mapped memory, and so does the registry.
            std::lock_guard lock(lock_);
            const auto found = allocations_.find(made.address);
            if (found != allocations_.end() && found->second.mapping == made.mapping &&
                found->second.context.get() == &context) {
                ++found->second.imports;
                return made.address;
            }
        }
        insert_device({made.address, made.address + exported.bytes, kAllocatedTag, this});
        std::lock_guard lock(lock_);
        allocations_.insert_or_assign(
            made.address, Allocation{Ref<Context>(&context), exported.bytes, name, made.mapping, 1});
    } catch (...) {
        device.erase(made.address, this);
        Streams::of(context).blocking_calls().end_import(made.mapping);
        throw;
    }
    return made.address;
}

void Registry::insert_owned(uint64_t address, uint64_t bytes, bool host_memory, const char* owner) {
    const Range range{address, address + bytes, kOwnedTag, this};
    if (host_memory) host.insert(range);
    else insert_device(range);
    try {
        std::lock_guard lock(lock_);
        owned_.insert_or_assign(address, owner);
    } catch (...) {
        (host_memory ? host : device).erase(address, this);
        throw;
    }
}

void Registry::erase_owned(uint64_t address, bool host_memory) noexcept {
    (host_memory ? host : device).erase(address, this);
    std::lock_guard lock(lock_);
    owned_.erase(address);
}

// Under lock_.
void Registry::fail_no_allocation(uint64_t address) const {
    if (const auto owned = owned_.find(address); owned != owned_.end())
        fail(GPO_INVALID_STATE, "the memory at ", hex(address), " is of ", owned->second, ", and is freed with it");
    fail(GPO_INVALID_ARGUMENT, hex(address), " is not the start of a live allocation");
}

// Ends one of several imports of the same memory. False if the memory has fewer than two imports.
bool Registry::end_one_import(Context& context, uint64_t address) {
    CUdeviceptr mapping = 0;
    {
        std::lock_guard lock(lock_);
        const auto found = allocations_.find(address);
        if (found == allocations_.end() || found->second.context.get() != &context || found->second.imports < 2)
            return false;
        --found->second.imports;
        mapping = found->second.mapping;
    }
    DriverTry scope(context);
    if (scope.entered()) Streams::of(context).blocking_calls().end_import(mapping);   // stays mapped for other imports
    return true;
}

void Registry::free(Context& context, uint64_t address) {
    if (end_one_import(context, address)) return;
    decltype(allocations_)::node_type node;
    {
        std::lock_guard lock(lock_);
        const auto found = allocations_.find(address);
        if (found == allocations_.end()) fail_no_allocation(address);
        if (found->second.context.get() != &context)
            fail(GPO_INVALID_ARGUMENT, "the allocation at ", hex(address), " is of another device");
        node = allocations_.extract(found);
    }
    const Range memory{address, address + node.mapped().bytes, kAllocatedTag, this};
    try {
        const auto waiting_free = [&] {
            return std::make_unique<WaitingMemoryFree>(context, device, this, memory, node.mapped().label,
                                                       node.mapped().mapping);
        };
        if (!holds_.defer(address, memory.bytes(), waiting_free))
            free_behind_streams(context, memory, node.mapped().mapping);
    } catch (...) {
        std::lock_guard lock(lock_);
        allocations_.insert(std::move(node));
        throw;
    }
}

void Registry::free_behind_streams(Context& context, const Range& memory, CUdeviceptr mapping) {
    device.erase(memory.start, this);
    try {
        Streams::of(context).when_all_pass([at = memory.start, mapping, &context](bool ok) {
            if (ok) give_back(context, at, mapping);
        });
    } catch (...) {
        try {
            device.insert(memory);
        } catch (const std::bad_alloc&) {
            // Only the driver then checks the bounds of this memory.
        }
        throw;
    }
}

void Registry::keep_until_shutdown(Object& object, Nodes& node) noexcept {
    node.front() = Ref<Object>(&object);
    std::lock_guard lock(lock_);
    kept_.splice(kept_.end(), node);
}

void Registry::keep_no_longer(const Object& object) noexcept {
    std::lock_guard lock(lock_);
    std::erase_if(kept_, [&](const Ref<Object>& kept) { return kept.get() == &object; });
}

// No other thread uses the registry any more.
void Registry::shut_down() noexcept {
    const auto report = [&](const auto&... pieces) { runtime_.log(GPO_LOG_WARNING, pieces...); };
    constexpr unsigned kMostLines = 32;
    unsigned lines = 0;
    for (const auto& object : kept_) {
        const auto leaks = object->leaks();
        if (!std::string_view(leaks).empty() && ++lines <= kMostLines)
            report("never freed: ", object->describe(), " with ", leaks);
    }
    kept_.clear();
    for (auto& [address, allocation] : allocations_) {
        DriverTry scope(*allocation.context);
        if (!scope.entered()) continue;
        if (++lines <= kMostLines)
            report("never freed: ", allocation.mapping ? "imported" : "device", " memory",
                   *allocation.label ? " `" : "", allocation.label, *allocation.label ? "`" : "", ", ",
                   allocation.bytes, " bytes at ", hex(address));
        const driver::Table& table = allocation.context->table();
        if (!allocation.mapping) table.cuMemFree(address);
        for (uint64_t import = 0; import < allocation.imports; ++import) table.cuIpcCloseMemHandle(allocation.mapping);
    }
    for (auto& [address, registration] : registrations_) {
        DriverTry scope(*registration.context);
        if (!scope.entered()) continue;
        if (++lines <= kMostLines) report("never unregistered: ", registration.bytes, " bytes at ", hex(address));
        registration.context->table().cuMemHostUnregister(reinterpret_cast<void*>(address));
    }
    if (lines > kMostLines) report("never freed: ", lines - kMostLines, " more");
    allocations_.clear();
    registrations_.clear();
}

}  // namespace gpo
