// Device memory shared between processes: export of this process's memory, and mapping of another process's memory.
#pragma once

#include "device/exported.h"

namespace gpo {

/// Exports an allocation of cuMemAlloc. Throws Failure.
Exported export_memory(Context& context, uint64_t address, uint64_t bytes);

struct MappedMemory {
    uint64_t address = 0;      // of the memory
    CUdeviceptr mapping = 0;   // start of the driver's mapping, as cuIpcCloseMemHandle takes it
};
/// Inside a DriverScope. `exported` was read (read_exported). Throws Failure.
MappedMemory map_memory(Context& context, const Exported& exported);

}  // namespace gpo
