// Device memory of this process for others, and of others in this one.
#pragma once

#include "device/exported.h"

namespace gpo {

/// Of an allocation of cuMemAlloc. Throws Failure.
Exported export_memory(Context& context, uint64_t address, uint64_t bytes);

struct MappedMemory {
    uint64_t address = 0;      // of the memory
    CUdeviceptr mapping = 0;   // what the driver has mapped for it, and unmaps
};
/// Inside a DriverScope. `exported` was read (read_exported). Throws Failure.
MappedMemory map_memory(Context& context, const Exported& exported);

}  // namespace gpo
