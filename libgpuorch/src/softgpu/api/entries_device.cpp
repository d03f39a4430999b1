// Devices: their properties, and which devices reach each other's memory.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "softgpu/api/call.h"
#include "softgpu/api/entries.h"

namespace gpo::softgpu {

namespace {

CUresult CUDAAPI get_count(int* count) {
    return enter([&](Machine& machine) -> CUresult {
        require(count != nullptr);
        *count = int(machine.devices.size());
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get(CUdevice* device, int ordinal) {
    return enter([&](Machine& machine) -> CUresult {
        require(device != nullptr);
        *device = device_of(machine, ordinal).ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_name(char* name, int length, CUdevice device) {
    return enter([&](Machine& machine) -> CUresult {
        require(name != nullptr && length > 0);
        device_of(machine, device);
        std::snprintf(name, size_t(length), "gpuorch software GPU");
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_uuid(CUuuid* uuid, CUdevice device) {
    return enter([&](Machine& machine) -> CUresult {
        require(uuid != nullptr);
        std::memcpy(uuid->bytes, "gpuorch-soft-gpu", 16);
        uuid->bytes[15] = char(device_of(machine, device).ordinal);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI total_memory(size_t* bytes, CUdevice device) {
    return enter([&](Machine& machine) -> CUresult {
        require(bytes != nullptr);
        device_of(machine, device);
        *bytes = machine.memory.total();
        return CUDA_SUCCESS;
    });
}

/// The software GPU's own value, else an H200's; 0 for features that are not supported.
int attribute_of(const Machine& machine, const Device& device, CUdevice_attribute attribute) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: return 2147483647;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return int(kSharedDefault);
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return int(kSharedMost);
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return 228 << 10;
        case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return 1 << 10;
        case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: return 64 << 10;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
        case CU_DEVICE_ATTRIBUTE_MAX_PITCH: return 2147483647;
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return 65536;
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1'000'000;          // kHz: clock64() counts nanoseconds
        case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return 1'600'000;
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return 64;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return 1 << 20;
        case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: return 512;
        case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: return 32;
        case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT: return 512;
        case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP: return 1;
        case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 2;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return int(machine.multiprocessors);
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return 32;
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
        case CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES:
        case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
        case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
        case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS:
        case CU_DEVICE_ATTRIBUTE_INTEGRATED: return attribute != CU_DEVICE_ATTRIBUTE_INTEGRATED;
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return device.ordinal + 1;
        case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: return 0;
        case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: return 0xffff;          // no real card's
        case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: return CU_COMPUTEMODE_DEFAULT;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return 9;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return 0;
        case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: return 2;
        case CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT: return 1;
        case CU_DEVICE_ATTRIBUTE_NUMA_CONFIG: return CU_DEVICE_NUMA_CONFIG_NONE;
        case CU_DEVICE_ATTRIBUTE_NUMA_ID:
        case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID: return -1;
        default: return 0;
    }
}

CUresult CUDAAPI get_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    return enter([&](Machine& machine) -> CUresult {
        require(value != nullptr && attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX);
        *value = attribute_of(machine, device_of(machine, device), attribute);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_pci_bus_id(char* text, int length, CUdevice device) {
    return enter([&](Machine& machine) -> CUresult {
        require(text != nullptr && length > 0);
        char id[16];
        std::snprintf(id, sizeof id, "ffff:%02x:00.0", unsigned(device_of(machine, device).ordinal + 1) & 0xff);
        require(size_t(length) > std::strlen(id));
        std::strcpy(text, id);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI can_access_peer(int* can, CUdevice device, CUdevice peer) {
    return enter([&](Machine& machine) -> CUresult {
        require(can != nullptr);
        *can = &device_of(machine, device) != &device_of(machine, peer);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_p2p_attribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice destination) {
    return enter([&](Machine& machine) -> CUresult {
        require(value != nullptr);
        require(&device_of(machine, source) != &device_of(machine, destination), CUDA_ERROR_INVALID_DEVICE);
        switch (attribute) {
            case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: *value = 0; break;
            case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
            case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: *value = 1; break;
            case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
            case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: *value = 0; break;
            default: return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_default_pool(CUmemoryPool* pool, CUdevice device) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(pool != nullptr);
        *pool = device_of(machine, device).default_pool->as<CUmemoryPool>();
        return CUDA_SUCCESS;
    });
}

}  // namespace

void fill_device_entries(driver::Table& table) noexcept {
    table.cuDeviceGetCount = get_count;
    table.cuDeviceGet = get;
    table.cuDeviceGetName = get_name;
    table.cuDeviceGetUuid = get_uuid;
    table.cuDeviceTotalMem = total_memory;
    table.cuDeviceGetAttribute = get_attribute;
    table.cuDeviceGetPCIBusId = get_pci_bus_id;
    table.cuDeviceCanAccessPeer = can_access_peer;
    table.cuDeviceGetP2PAttribute = get_p2p_attribute;
    table.cuDeviceGetDefaultMemPool = get_default_pool;
}

}  // namespace gpo::softgpu
