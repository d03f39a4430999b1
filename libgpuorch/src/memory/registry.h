// All memory that a runtime knows: address ranges that it has pinned or allocated, memory that the caller has
// registered, plain device allocations; and, at shutdown, which of these were never freed.
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
    /// Whether an address lies in memory of ours, which a registration isn't of. Takes no lock.
    bool owns(uint64_t address) const noexcept {
        if (device.find(address)) return true;
        const Range range = host.find(address);
        return range && range.tag != kRegisteredTag;
    }

    /// Throws Failure. The driver is called under no lock.
    void register_host(Context& context, void* memory, uint64_t bytes, uint32_t flags);
    void unregister_host(void* memory);

    uint64_t allocate(Context& context, uint64_t bytes, const char* label);
    /// Also ends an import.
    void free(Context& context, uint64_t address);
    Exported export_allocation(Context& context, uint64_t address);
    /// `exported` was read (read_exported).
    uint64_t import(Context& context, const Exported& exported, const char* label);

    /// Memory that users can't free, since it is of an object: `owner` says which. Pinned host memory, or the device's.
    /// Throws std::bad_alloc, and then has had no effect.
    void insert_owned(uint64_t address, uint64_t bytes, bool host_memory, const char* owner);
    void erase_owned(uint64_t address, bool host_memory) noexcept;

    /// Puts a range into `device`. One that is there already is of memory that somebody has freed behind our back: the
    /// driver gives no address twice. Throws std::bad_alloc.
    void insert_device(const Range& range);

    /// A list of objects, and the node of one of them: each makes its node when it is made itself, so that to keep it
    /// takes no memory.
    using Nodes = std::list<Ref<Object>>;
    static Nodes make_node() { return Nodes(1); }
    /// An object whose handle is gone and in which something of the user's is still allocated: kept until shutdown.
    /// Once.
    void keep_until_shutdown(Object& object, Nodes& node) noexcept;
    /// Nothing is allocated in it any more. The caller has a reference to it. One that isn't kept stays as it is.
    void keep_no_longer(const Object& object) noexcept;

    /// The runtime has shut down, and nothing runs any more: reports what was never freed, frees it, lets go of
    /// contexts.
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
        uint64_t imports = 0;      // likewise: how often it was imported, and that wasn't ended
    };

    [[noreturn]] void fail_no_allocation(uint64_t address) const;
    void free_behind_streams(Context& context, const Range& memory, CUdeviceptr mapping);
    bool end_one_import(Context& context, uint64_t address);

    Runtime& runtime_;
    Holds& holds_;
    host::Mutex lock_;
    std::map<uint64_t, Registration> registrations_;   // under lock_, as the following
    std::map<uint64_t, Allocation> allocations_;
    std::map<uint64_t, std::string> owned_;            // by address, the owner
    Nodes kept_;
};

}  // namespace gpo
