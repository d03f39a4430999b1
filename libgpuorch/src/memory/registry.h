// All memory that a runtime knows: address ranges that the runtime has pinned or allocated, memory that the caller has
// registered, plain device allocations. At shutdown, the registry reports memory that was never freed.
#pragma once

#include <list>
#include <map>
#include <string>

#include "device/context.h"
#include "memory/exported_memory.h"
#include "memory/holds.h"
#include "memory/ranges.h"

namespace gpo {

/// RangeMap::Range::tag; kSlabTag (memory/heap.h) is 1.
inline constexpr uint64_t kRegisteredTag = 2, kAllocatedTag = 3, kPieceTag = 4, kFreeingTag = 5, kOwnedTag = 6,
                          kGraphTag = 7;

class Registry final : public Annex {
public:
    static constexpr Slot kSlot = Slot::registry;
    explicit Registry(Runtime& runtime) : runtime_(runtime), holds_(Holds::of(runtime)) {}
    static Registry& of(Runtime& runtime) { return runtime.annex<Registry>(); }

    /// Host memory that GPUs reach: slabs of arenas, registrations. Read by every copy.
    RangeMap host;
    /// Device memory: plain allocations, pieces of pools.
    RangeMap device;
    /// True if the address lies in memory of ours; false for registrations. Takes no lock.
    bool owns(uint64_t address) const noexcept {
        if (device.find(address)) return true;
        const Range range = host.find(address);
        return range && range.tag != kRegisteredTag;
    }

    /// Throws Failure. The driver is called under no lock.
    void register_host(Context& context, void* memory, uint64_t bytes, uint32_t flags);
    void unregister_host(void* memory);

    uint64_t allocate(Context& context, uint64_t bytes, const char* label);
    /// Frees an allocation, or ends an import.
    void free(Context& context, uint64_t address);
    Exported export_allocation(Context& context, uint64_t address);
    /// `exported` was read (read_exported).
    uint64_t import(Context& context, const Exported& exported, const char* label);

    /// Inserts pinned host memory or device memory that users can't free, since an object owns it; `owner` names the
    /// object. Has no effect if it throws std::bad_alloc.
    void insert_owned(uint64_t address, uint64_t bytes, bool host_memory, const char* owner);
    void erase_owned(uint64_t address, bool host_memory) noexcept;

    /// Inserts a range into `device`, and removes overlapping ranges: the program must have freed their memory through
    /// the driver, which hands no address out twice. Throws std::bad_alloc.
    void insert_device(const Range& range);

    /// A list of objects, or the node of a single object. Objects make their nodes at construction: keeping an
    /// object later takes no memory.
    using Nodes = std::list<Ref<Object>>;
    static Nodes make_node() { return Nodes(1); }
    /// Holds a reference, until shutdown, to an object whose handle is destroyed while the user still has memory of it.
    /// Once per object.
    void keep_until_shutdown(Object& object, Nodes& node) noexcept;
    /// Releases the reference of keep_until_shutdown(), if any: the user has freed all memory of the object. The caller
    /// has a reference.
    void keep_no_longer(const Object& object) noexcept;

    /// Called when the runtime has shut down and nothing runs any more. Reports and frees memory that was never freed,
    /// and releases contexts.
    void shut_down() noexcept;

private:
    enum class State : uint8_t { changing, live };
    struct Registration {
        Ref<Context> context;
        uint64_t bytes;
        State state;
    };
    struct Allocation {
        Ref<Context> context;
        uint64_t bytes;
        const char* label;
        CUdeviceptr mapping = 0;   // of another process's memory
        uint64_t imports = 0;      // of such memory: imports that were not ended
    };

    [[noreturn]] void fail_no_allocation(uint64_t address) const;
    void free_behind_streams(Context& context, const Range& memory, CUdeviceptr mapping);
    bool end_one_import(Context& context, uint64_t address);

    Runtime& runtime_;
    Holds& holds_;
    host::Mutex lock_;
    std::map<uint64_t, Registration> registrations_;   // under lock_, as the following
    std::map<uint64_t, Allocation> allocations_;
    std::map<uint64_t, std::string> owned_;            // by address: the owner's name
    Nodes kept_;
};

}  // namespace gpo
