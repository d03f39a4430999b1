#include "device/device.h"

namespace gpo {

namespace {

int attribute(const driver::Table& table, CUdevice device, CUdevice_attribute which) {
    int value = 0;
    return table.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

void check(const driver::Table& table, CUresult result, const char* function) {
    if (result == CUDA_SUCCESS) return;
    const char* description = nullptr;
    table.cuGetErrorString(result, &description);
    fail(status_of(result), function, ": ", description ? description : "unknown error");
}

}  // namespace

gpo_device_properties device_properties(driver::Driver& driver, int native_ordinal) {
    const driver::Table& table = driver.table;
    CUdevice device = 0;
    check(table, table.cuDeviceGet(&device, native_ordinal), "cuDeviceGet");
    const auto get = [&](CUdevice_attribute which) { return attribute(table, device, which); };
    const auto count = [&](CUdevice_attribute which) { return static_cast<uint32_t>(attribute(table, device, which)); };
    gpo_device_properties out{};
    out.native_ordinal = native_ordinal;
    check(table, table.cuDeviceGetName(out.name, sizeof out.name, device), "cuDeviceGetName");
    CUuuid uuid{};
    if (table.cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS) std::copy(uuid.bytes, uuid.bytes + 16, out.uuid);
    table.cuDeviceGetPCIBusId(out.pci_address, sizeof out.pci_address, device);
    out.numa_node = -1;
    int node = -1;
    if (table.cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device) == CUDA_SUCCESS)
        out.numa_node = node;
    out.compute_capability_major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    out.compute_capability_minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    out.multiprocessors = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    out.copy_engines = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    out.warp_size = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    out.max_threads_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    out.max_threads_per_multiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    out.clock_khz = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    out.memory_clock_khz = get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    out.memory_bus_bits = get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    out.l2_bytes = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    out.software = driver.software;
    size_t bytes = 0;
    check(table, table.cuDeviceTotalMem(&bytes, device), "cuDeviceTotalMem");
    out.memory_bytes = bytes;
    out.shared_bytes_per_block = count(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    out.shared_bytes_per_block_max = count(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    out.shared_bytes_per_multiprocessor = count(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    out.max_block[0] = count(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    out.max_block[1] = count(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    out.max_block[2] = count(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    out.max_grid[0] = count(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    out.max_grid[1] = count(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    out.max_grid[2] = count(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    out.cooperative_launch = count(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
    out.cluster_launch = count(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
    out.memory_pools = count(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    out.batched_copies = table.cuMemcpyBatchAsync != nullptr;
    return out;
}

gpo_peer_properties peer_properties(driver::Driver& driver, int from, int to) {
    const driver::Table& table = driver.table;
    CUdevice a = 0, b = 0;
    check(table, table.cuDeviceGet(&a, from), "cuDeviceGet");
    check(table, table.cuDeviceGet(&b, to), "cuDeviceGet");
    gpo_peer_properties out{};
    if (from == to) {
        out.accessible = out.native_atomics = 1;
        return out;
    }
    int value = 0;
    check(table, table.cuDeviceCanAccessPeer(&value, a, b), "cuDeviceCanAccessPeer");
    out.accessible = value != 0;
    value = 0;
    if (table.cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, a, b) == CUDA_SUCCESS)
        out.native_atomics = value != 0;
    value = 0;
    if (table.cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, a, b) == CUDA_SUCCESS)
        out.performance_rank = value;
    return out;
}

}  // namespace gpo
