// The kind of memory at an address, and the bounds of its allocation.
//
// Our own memory is found in the runtime's range maps, in some ten nanoseconds. For other addresses the driver is
// asked, which takes ten times as long; a copy asks only if the answer changes what happens.
#pragma once

#include "gpuorch/memory.h"
#include "memory/registry.h"

namespace gpo {

struct Place {
    uint32_t kind = GPO_MEMORY_PAGEABLE;   // GPO_MEMORY_*
    int ordinal = -1;                      // the driver's ordinal, for device and managed memory
    uint64_t start = 0, bytes = 0;         // of the allocation; 0: not known, or plain host memory

    bool pageable() const noexcept { return kind == GPO_MEMORY_PAGEABLE; }
    bool holds(uint64_t address, uint64_t count) const noexcept {
        return address >= start && address - start <= bytes && count <= bytes - (address - start);
    }
};

/// Asks the range maps, then the driver. Inside a DriverScope of the context.
Place place_of(Context& context, uint64_t address) noexcept;

/// Throws Failure(GPO_INVALID_ARGUMENT) naming `role` ("destination") if address + bytes wraps, or if address is 0.
void check_addresses(const char* role, uint64_t address, uint64_t bytes);

/// Throws Failure(GPO_INVALID_ARGUMENT) if the place is known and ends before address + bytes.
void check_room(const char* role, const Place& place, uint64_t address, uint64_t bytes);
/// The message of check_room's failure; "" if there is room.
std::string lack_of_room(const char* role, const Place& place, uint64_t address, uint64_t bytes);

/// For a range of host memory that the driver has refused. Throws Failure(GPO_INVALID_ARGUMENT), naming both ranges, if
/// the range begins in pinned memory and ends outside of it, or the other way round. Inside a DriverScope of the
/// context.
void check_pinned_throughout(Context& context, const char* role, uint64_t address, uint64_t bytes);

/// "pinned host memory", "device memory", …
const char* kind_name(uint32_t kind) noexcept;

}  // namespace gpo
