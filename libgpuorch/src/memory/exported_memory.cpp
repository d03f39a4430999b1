#include "memory/exported_memory.h"

#include <cstring>

#include "trace/serialising.h"

namespace gpo {

Exported export_memory(Context& context, uint64_t address, uint64_t bytes) {
    Exported made = begin_export(context, Exported::memory);
    const DriverScope scope(context);
    const driver::Table& table = context.table();
    CUipcMemHandle handle{};
    CUdeviceptr base = 0;
    size_t size = 0;
    context.check(table.cuIpcGetMemHandle(&handle, address), "cuIpcGetMemHandle");
    context.check(table.cuMemGetAddressRange(&base, &size, address), "cuMemGetAddressRange");
    static_assert(sizeof handle.reserved == sizeof made.handle);
    std::memcpy(made.handle, handle.reserved, sizeof made.handle);
    made.bytes = bytes;
    made.offset = address - base;
    seal(made);
    return made;
}

MappedMemory map_memory(Context& context, const Exported& exported) {
    CUipcMemHandle handle{};
    std::memcpy(handle.reserved, exported.handle, sizeof handle.reserved);
    MappedMemory made;
    const SerialisingScope serialising(context.runtime(), Serialising::device_allocation);
    const CUresult result =
        context.table().cuIpcOpenMemHandle(&made.mapping, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (result != CUDA_SUCCESS) fail_import(context, exported, result, "cuIpcOpenMemHandle");
    made.address = made.mapping + exported.offset;
    return made;
}

}  // namespace gpo
