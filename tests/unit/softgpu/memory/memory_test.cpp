// Memory and copies of the software GPU: accepted addresses, the effect of copies, the figures of pools.
#include "unit/softgpu/softgpu.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "softgpu/memory/range_allocator.h"

using namespace softgpu_test;

TEST_CASE("freed device addresses are refused and used again") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* host = gpu.pinned(64);
    const CUdeviceptr first = gpu.memory(1 << 20);
    OK(gpu.cu->cuMemFree(first));
    IS(gpu.cu->cuMemcpyHtoDAsync(first, host, 16, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemsetD8Async(first, 0, 16, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemFree(first), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemFree(0), CUDA_SUCCESS);
    CHECK(gpu.memory(1 << 20) == first);
}

TEST_CASE("memory that was allocated at once is freed in a stream's order") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    size_t before = 0, free = 0, total = 0;
    OK(gpu.cu->cuMemGetInfo(&before, &total));
    const CUdeviceptr data = gpu.memory(1 << 20);
    {
        Gate gate(gpu, stream);
        OK(gpu.cu->cuMemFreeAsync(data, stream));
        IS(gpu.cu->cuMemFreeAsync(data, stream), CUDA_ERROR_INVALID_VALUE);
        IS(gpu.cu->cuMemFree(data), CUDA_ERROR_INVALID_VALUE);
        IS(gpu.cu->cuMemsetD8Async(data, 0, 16, stream), CUDA_ERROR_INVALID_VALUE);
        CHECK(gpu.memory(1 << 20) != data);
        OK(gpu.cu->cuMemGetInfo(&free, &total));
        CHECK(free == before - (2 << 20));
    }
    OK(gpu.cu->cuStreamSynchronize(stream));
    OK(gpu.cu->cuMemGetInfo(&free, &total));
    CHECK(free == before - (1 << 20));
    IS(gpu.cu->cuMemFreeAsync(data + 256, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("copies past the end, from the wrong side or with absurd sizes are refused") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* host = gpu.pinned(64);
    const CUdeviceptr data = gpu.memory(256);
    const auto as_host = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
    std::vector<char> pageable(512);
    IS(gpu.cu->cuMemcpyHtoDAsync(data, host, 257, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemcpyHtoDAsync(data + 200, host, 57, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemcpyHtoDAsync(data + 200, host, 56, stream), CUDA_SUCCESS);
    IS(gpu.cu->cuMemcpyHtoDAsync(data, host, SIZE_MAX, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemcpyHtoDAsync(data, as_host(data), 16, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemcpyDtoHAsync(as_host(data), data, 16, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(pageable.data()), host, 16, stream),
       CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemcpyHtoDAsync(0, host, 16, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemcpyHtoDAsync(data, nullptr, 16, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemsetD32Async(data + 2, 0, 1, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemsetD32Async(data, 0, SIZE_MAX / 2, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemcpyHtoDAsync(data, host, 0, stream), CUDA_SUCCESS);
    CUdeviceptr none = 0;
    IS(gpu.cu->cuMemAlloc(&none, 0), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemAlloc(&none, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
    IS(gpu.cu->cuMemAlloc(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
    CHECK(none == 0);
    OK(gpu.cu->cuStreamSynchronize(stream));
}

TEST_CASE("a device has as much memory as it says, and gets it back") {
    Setting size("GPUORCH_SOFT_MEMORY", std::to_string(64 << 20));
    Gpu gpu;
    size_t free = 0, total = 0;
    OK(gpu.cu->cuMemGetInfo(&free, &total));
    CHECK(total == 64 << 20);
    CHECK(free == total);
    const CUdeviceptr half = gpu.memory(32 << 20);
    CUdeviceptr more = 0;
    IS(gpu.cu->cuMemAlloc(&more, 33 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    OK(gpu.cu->cuMemAlloc(&more, 32 << 20));
    OK(gpu.cu->cuMemGetInfo(&free, &total));
    CHECK(free == 0);
    OK(gpu.cu->cuMemFree(half));
    OK(gpu.cu->cuMemFree(more));
    OK(gpu.cu->cuMemGetInfo(&free, &total));
    CHECK(free == total);
    (void)gpu.memory(64 << 20);   // freed pieces have become one again
}

TEST_CASE("pageable sources may be changed when the call returns, pageable targets are written then") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    for (const size_t bytes : {size_t(64), size_t(64 << 10), size_t(1 << 20)}) {
        const CUdeviceptr data = gpu.memory(bytes);
        std::vector<unsigned char> source(bytes, 0x5a), target(bytes, 0);
        {
            // A small copy returns while the stream is held up; a large one waits, so nothing may hold the stream up.
            std::unique_ptr<Gate> gate;
            if (bytes <= 64 << 10) gate = std::make_unique<Gate>(gpu, stream);
            OK(gpu.cu->cuMemcpyHtoDAsync(data, source.data(), bytes, stream));
            std::fill(source.begin(), source.end(), 0);
        }
        OK(gpu.cu->cuMemcpyDtoHAsync(target.data(), data, bytes, stream));
        CHECK(std::count(target.begin(), target.end(), 0x5a) == long(bytes));
        OK(gpu.cu->cuMemFree(data));
    }
}

TEST_CASE("2D copies move rows between pitches and nothing between them") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    unsigned char* host = gpu.pinned<unsigned char>(64 * 8);
    for (int i = 0; i < 64 * 8; ++i) host[i] = static_cast<unsigned char>(i);
    const CUdeviceptr data = gpu.memory(128 * 8);
    OK(gpu.cu->cuMemsetD8Async(data, 0xee, 128 * 8, stream));
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.srcPitch = 64;
    copy.srcXInBytes = 4;
    copy.srcY = 1;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = data;
    copy.dstPitch = 128;
    copy.WidthInBytes = 32;
    copy.Height = 7;
    OK(gpu.cu->cuMemcpy2DAsync(&copy, stream));
    std::vector<unsigned char> out(128 * 8);
    OK(gpu.cu->cuMemcpyDtoHAsync(out.data(), data, out.size(), stream));
    int wrong = 0;
    for (int y = 0; y < 7; ++y)
        for (int x = 0; x < 128; ++x)
            wrong += out[size_t(y * 128 + x)] != (x < 32 ? static_cast<unsigned char>((y + 1) * 64 + x + 4) : 0xee);
    CHECK(wrong == 0);
    copy.Height = 8;   // a row more than the source has
    IS(gpu.cu->cuMemcpy2DAsync(&copy, stream), CUDA_ERROR_INVALID_VALUE);
    copy.Height = 7;
    copy.WidthInBytes = 61;   // with the offset, wider than the pitch
    IS(gpu.cu->cuMemcpy2DAsync(&copy, stream), CUDA_ERROR_INVALID_VALUE);
    copy.WidthInBytes = 32;
    copy.srcY = SIZE_MAX / 2;
    IS(gpu.cu->cuMemcpy2DAsync(&copy, stream), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuMemsetD2D8Async(data, 128, 1, 16, 8, stream));
    OK(gpu.cu->cuMemcpyDtoHAsync(out.data(), data, out.size(), stream));
    CHECK(out[128 + 15] == 1);
    CHECK(out[128 + 16] != 1);
    IS(gpu.cu->cuMemsetD2D8Async(data, 8, 1, 16, 8, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a batch of copies moves each, and bad attributes move none") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* host = gpu.pinned(8);
    for (uint32_t i = 0; i < 4; ++i) host[i] = i + 1;
    const CUdeviceptr data = gpu.memory(32);
    const auto at = [&](int i) { return reinterpret_cast<CUdeviceptr>(host + i); };
    CUdeviceptr to[] = {data, data + 8, at(4)}, from[] = {at(0), at(2), at(1)};
    size_t sizes[] = {8, 8, 4}, first = 0;
    CUmemcpyAttributes attributes = {};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    OK(gpu.cu->cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, stream));
    uint32_t out[4] = {};
    OK(gpu.cu->cuMemcpyDtoHAsync(out, data, 16, stream));
    CHECK((out[0] == 1 && out[1] == 2 && out[2] == 3 && out[3] == 4));
    CHECK(host[4] == 2);
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    IS(gpu.cu->cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, stream), CUDA_ERROR_INVALID_VALUE);
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    IS(gpu.cu->cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
    first = 1;
    IS(gpu.cu->cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, stream), CUDA_ERROR_INVALID_VALUE);
    first = 0;
    sizes[1] = 1 << 20;
    IS(gpu.cu->cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("registering says what overlaps, what isn't mapped and what isn't registered") {
    Gpu gpu;
    constexpr size_t page = 4096;
    char* memory = static_cast<char*>(
        mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory != MAP_FAILED);
    OK(gpu.cu->cuMemHostRegister(memory + page, 2 * page, 0));
    IS(gpu.cu->cuMemHostRegister(memory + page, 2 * page, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    IS(gpu.cu->cuMemHostRegister(memory, 2 * page, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    IS(gpu.cu->cuMemHostRegister(memory + 2 * page, 4 * page, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(gpu.cu->cuMemHostRegister(memory + 3 * page, page, 0));
    IS(gpu.cu->cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    IS(gpu.cu->cuMemFreeHost(memory + page), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr device = 0;
    OK(gpu.cu->cuMemHostGetDevicePointer(&device, memory + page, 0));
    IS(gpu.cu->cuMemHostGetDevicePointer(&device, memory, 0), CUDA_ERROR_INVALID_VALUE);
    // A copy may not run over the end of what is registered.
    const CUdeviceptr data = gpu.memory(4 * page);
    const CUstream stream = gpu.stream();
    IS(gpu.cu->cuMemcpyHtoDAsync(data, memory + 3 * page, 2 * page, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemcpyHtoDAsync(data, memory, 2 * page, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemcpyHtoDAsync(data, memory, page, stream), CUDA_SUCCESS);
    OK(gpu.cu->cuMemHostUnregister(memory + page));
    IS(gpu.cu->cuMemHostUnregister(memory + page), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(gpu.cu->cuMemHostUnregister(memory + 3 * page));
    munmap(memory + 4 * page, 4 * page);
    IS(gpu.cu->cuMemHostRegister(memory + 4 * page, page, 0), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemHostRegister(memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
    munmap(memory, 4 * page);
    void* huge = nullptr;
    IS(gpu.cu->cuMemHostAlloc(&huge, size_t(1) << 46, 0), CUDA_ERROR_OUT_OF_MEMORY);
    IS(gpu.cu->cuMemHostAlloc(&huge, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a pointer says what it is") {
    Setting two("GPUORCH_SOFT_DEVICES", "2");
    Gpu gpu;
    CUcontext other = nullptr;
    OK(gpu.cu->cuDevicePrimaryCtxRetain(&other, 1));
    OK(gpu.cu->cuCtxPushCurrent(other));
    const CUdeviceptr remote = gpu.memory(100);
    OK(gpu.cu->cuCtxPopCurrent(nullptr));
    const CUdeviceptr local = gpu.memory(100);
    uint32_t* pinned = gpu.pinned(4);
    int type = 0, ordinal = -1, managed = -1;
    OK(gpu.cu->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, remote + 50));
    OK(gpu.cu->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, remote + 50));
    OK(gpu.cu->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, remote));
    CHECK((type == CU_MEMORYTYPE_DEVICE && ordinal == 1 && managed == 0));
    CUdeviceptr base = 0;
    size_t size = 0;
    OK(gpu.cu->cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, local + 99));
    OK(gpu.cu->cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, local + 99));
    CHECK((base == local && size == 100));
    OK(gpu.cu->cuMemGetAddressRange(&base, &size, remote + 7));
    CHECK((base == remote && size == 100));
    CUcontext owner = nullptr;
    OK(gpu.cu->cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, remote));
    CHECK(owner == other);
    const auto host = reinterpret_cast<CUdeviceptr>(pinned);
    void* back = nullptr;
    OK(gpu.cu->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host));
    OK(gpu.cu->cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_HOST_POINTER, host));
    CHECK((type == CU_MEMORYTYPE_HOST && back == pinned));
    IS(gpu.cu->cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_HOST_POINTER, local), CUDA_ERROR_INVALID_VALUE);
    int on_stack = 0;
    IS(gpu.cu->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&on_stack)),
       CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuMemGetAddressRange(&base, &size, local + 100), CUDA_ERROR_NOT_FOUND);
    OK(gpu.cu->cuDevicePrimaryCtxRelease(1));
    IS(gpu.cu->cuMemGetAddressRange(&base, &size, remote), CUDA_ERROR_NOT_FOUND);   // destroyed with its context
}

TEST_CASE("peers: what can be reached, enabled, disabled and copied") {
    Setting two("GPUORCH_SOFT_DEVICES", "2");
    Gpu gpu;
    CUcontext other = nullptr;
    OK(gpu.cu->cuDevicePrimaryCtxRetain(&other, 1));
    int can = -1;
    OK(gpu.cu->cuDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1);
    OK(gpu.cu->cuDeviceCanAccessPeer(&can, 0, 0));
    CHECK(can == 0);
    IS(gpu.cu->cuDeviceCanAccessPeer(&can, 0, 2), CUDA_ERROR_INVALID_DEVICE);
    IS(gpu.cu->cuCtxDisablePeerAccess(other), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    OK(gpu.cu->cuCtxEnablePeerAccess(other, 0));
    IS(gpu.cu->cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    IS(gpu.cu->cuCtxEnablePeerAccess(other, 1), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuCtxDisablePeerAccess(other));
    const CUdeviceptr here = gpu.memory(64);
    OK(gpu.cu->cuCtxSetCurrent(other));
    const CUdeviceptr there = gpu.memory(64);
    OK(gpu.cu->cuCtxSetCurrent(gpu.context));
    const CUstream stream = gpu.stream();
    OK(gpu.cu->cuMemsetD8Async(here, 7, 64, stream));
    OK(gpu.cu->cuMemcpyPeerAsync(there, other, here, gpu.context, 64, stream));
    unsigned char out[64] = {};
    OK(gpu.cu->cuMemcpyDtoHAsync(out, there, 64, stream));
    CHECK(out[63] == 7);
    IS(gpu.cu->cuMemcpyPeerAsync(there, gpu.context, here, gpu.context, 64, stream), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuDevicePrimaryCtxRelease(1));
}

namespace {

uint64_t pool_bytes(Gpu& gpu, CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    OK(gpu.cu->cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

}  // namespace

TEST_CASE("stream-ordered memory: a stream has its freed block back at once, another when the free is reached") {
    Gpu gpu;
    const CUstream a = gpu.stream(), b = gpu.stream();
    CUmemoryPool pool = nullptr;
    OK(gpu.cu->cuDeviceGetDefaultMemPool(&pool, 0));
    CUdeviceptr first = 0, second = 0, third = 0;
    {
        Gate gate(gpu, a);
        OK(gpu.cu->cuMemAllocAsync(&first, 4096, a));
        OK(gpu.cu->cuMemsetD8Async(first, 1, 4096, a));
        OK(gpu.cu->cuMemFreeAsync(first, a));
        IS(gpu.cu->cuMemsetD8Async(first, 1, 4096, a), CUDA_ERROR_INVALID_VALUE);
        IS(gpu.cu->cuMemFreeAsync(first, a), CUDA_ERROR_INVALID_VALUE);
        OK(gpu.cu->cuMemAllocAsync(&third, 4096, b));
        CHECK(third != first);
        OK(gpu.cu->cuMemAllocAsync(&second, 4096, a));
        CHECK(second == first);
    }
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 8192);
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 8192);
    OK(gpu.cu->cuMemFreeAsync(second, a));
    OK(gpu.cu->cuMemFreeAsync(third, b));
    OK(gpu.cu->cuStreamSynchronize(a));
    OK(gpu.cu->cuStreamSynchronize(b));
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 8192);
    // The threshold is 0: a synchronising call has given everything back.
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
}

TEST_CASE("a pool keeps what its threshold says until it is trimmed, and lives until its last block is freed") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool = nullptr;
    OK(gpu.cu->cuMemPoolCreate(&pool, &properties));
    cuuint64_t threshold = UINT64_MAX, zero = 0, one = 1;
    OK(gpu.cu->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    CUdeviceptr block = 0;
    OK(gpu.cu->cuMemAllocFromPoolAsync(&block, 1 << 20, pool, stream));
    CUmemoryPool owner = nullptr;
    OK(gpu.cu->cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, block + 5));
    CHECK(owner == pool);
    OK(gpu.cu->cuMemFreeAsync(block, stream));
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 1 << 20);
    OK(gpu.cu->cuMemPoolTrimTo(pool, 0));
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) >= 1 << 20);
    OK(gpu.cu->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 0);
    IS(gpu.cu->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuMemAllocFromPoolAsync(&block, 1 << 20, pool, stream));
    OK(gpu.cu->cuMemPoolDestroy(pool));
    IS(gpu.cu->cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuMemsetD8Async(block, 1, 1 << 20, stream));
    OK(gpu.cu->cuMemFreeAsync(block, stream));
    OK(gpu.cu->cuStreamSynchronize(stream));
    CUmemoryPool standard = nullptr;
    OK(gpu.cu->cuDeviceGetDefaultMemPool(&standard, 0));
    IS(gpu.cu->cuMemPoolDestroy(standard), CUDA_ERROR_INVALID_VALUE);
    properties.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    IS(gpu.cu->cuMemPoolCreate(&pool, &properties), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a trim gives back only memory whose frees a host thread has synchronised with") {
    Gpu gpu;
    const CUstream a = gpu.stream(), b = gpu.stream();
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool = nullptr;
    OK(gpu.cu->cuMemPoolCreate(&pool, &properties));
    cuuint64_t threshold = UINT64_MAX;
    OK(gpu.cu->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    CUevent before = nullptr, behind = nullptr;
    OK(gpu.cu->cuEventCreate(&before, CU_EVENT_DISABLE_TIMING));
    OK(gpu.cu->cuEventCreate(&behind, CU_EVENT_DISABLE_TIMING));
    const auto trimmed = [&] {
        OK(gpu.cu->cuMemPoolTrimTo(pool, 0));
        return pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    };
    CUdeviceptr block = 0;
    OK(gpu.cu->cuMemAllocFromPoolAsync(&block, 64 << 20, pool, a));
    OK(gpu.cu->cuEventRecord(before, a));
    OK(gpu.cu->cuMemFreeAsync(block, a));
    OK(gpu.cu->cuEventRecord(behind, a));
    OK(gpu.cu->cuStreamQuery(a));
    OK(gpu.cu->cuEventQuery(behind));
    CHECK(trimmed() == 64 << 20);
    OK(gpu.cu->cuEventSynchronize(before));
    OK(gpu.cu->cuStreamSynchronize(b));
    CHECK(trimmed() == 64 << 20);
    SUBCASE("by an event behind them") { OK(gpu.cu->cuEventSynchronize(behind)); }
    SUBCASE("by their stream") { OK(gpu.cu->cuStreamSynchronize(a)); }
    CHECK(trimmed() == 0);
    // The memory can be allocated again before any synchronisation.
    OK(gpu.cu->cuMemAllocFromPoolAsync(&block, 64 << 20, pool, a));
    OK(gpu.cu->cuMemFreeAsync(block, a));
    OK(gpu.cu->cuMemAllocFromPoolAsync(&block, 64 << 20, pool, b));
    OK(gpu.cu->cuMemFreeAsync(block, b));
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 64 << 20);
    OK(gpu.cu->cuStreamSynchronize(b));
    CHECK(trimmed() == 64 << 20);
    OK(gpu.cu->cuStreamSynchronize(a));
    CHECK(trimmed() == 0);
    OK(gpu.cu->cuMemPoolDestroy(pool));
    OK(gpu.cu->cuEventDestroy(before));
    OK(gpu.cu->cuEventDestroy(behind));
}

TEST_CASE("stream-ordered memory that is freed by cuMemFree is given back, and with the last of it a destroyed pool") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    const auto free_bytes = [&] {
        size_t free = 0, total = 0;
        OK(gpu.cu->cuMemGetInfo(&free, &total));
        return free;
    };
    const size_t before = free_bytes();
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool = nullptr;
    OK(gpu.cu->cuMemPoolCreate(&pool, &properties));
    CUdeviceptr a = 0, b = 0, again = 0;
    OK(gpu.cu->cuMemAllocFromPoolAsync(&a, 1 << 20, pool, stream));
    OK(gpu.cu->cuMemFree(a));
    IS(gpu.cu->cuMemFree(a), CUDA_ERROR_INVALID_VALUE);
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    CHECK(pool_bytes(gpu, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    // Two kinds of free, with an allocation in between: each free applies to the block at the time of its call.
    OK(gpu.cu->cuMemAllocFromPoolAsync(&a, 1 << 20, pool, stream));
    OK(gpu.cu->cuMemFreeAsync(a, stream));
    OK(gpu.cu->cuMemAllocFromPoolAsync(&again, 1 << 20, pool, stream));
    CHECK(again == a);
    OK(gpu.cu->cuMemAllocFromPoolAsync(&b, 1 << 20, pool, stream));
    OK(gpu.cu->cuMemFree(again));
    OK(gpu.cu->cuMemPoolDestroy(pool));
    CHECK(free_bytes() < before);
    OK(gpu.cu->cuMemFree(b));
    CHECK(free_bytes() == before);
}

TEST_CASE("with a context goes the stream-ordered memory that was made in it, of destroyed pools too") {
    Gpu gpu;
    size_t before = 0, after = 0, total = 0;
    OK(gpu.cu->cuMemGetInfo(&before, &total));
    CUcontext other = nullptr, popped = nullptr;
    OK(gpu.cu->cuCtxCreate(&other, 0, 0));
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool = nullptr;
    OK(gpu.cu->cuMemPoolCreate(&pool, &properties));
    CUdeviceptr block = 0;
    OK(gpu.cu->cuMemAllocFromPoolAsync(&block, 1 << 20, pool, gpu.stream()));
    OK(gpu.cu->cuMemPoolDestroy(pool));
    OK(gpu.cu->cuCtxPopCurrent(&popped));
    OK(gpu.cu->cuCtxDestroy(other));
    OK(gpu.cu->cuCtxSetCurrent(gpu.context));
    OK(gpu.cu->cuMemGetInfo(&after, &total));
    CHECK(after == before);
}

TEST_CASE("memory that is used in another stream before its allocation is reached is an illegal address") {
    Gpu gpu;
    gpu.live = false;
    const CUstream a = gpu.stream(), b = gpu.stream();
    CUdeviceptr block = 0;
    Gate gate(gpu, a);
    OK(gpu.cu->cuMemAllocAsync(&block, 256, a));
    OK(gpu.cu->cuMemsetD8Async(block, 1, 256, b));
    IS(gpu.cu->cuStreamSynchronize(b), CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE(gpu.driver->fault());
    CHECK(gpu.driver->fault()->stream == b);
    CHECK(gpu.driver->fault()->number == 1);
}

TEST_CASE("ranges: random takes and gives never overlap, and all comes back as one") {
    gpo::softgpu::RangeAllocator ranges;
    ranges.add(1 << 20, 1 << 20);
    std::mt19937 random(7);
    std::vector<std::pair<uint64_t, uint64_t>> held;
    for (int round = 0; round < 4000; ++round) {
        if (held.empty() || random() % 5 < 3) {
            const uint64_t size = (random() % 64 + 1) * 512;
            const uint64_t address = ranges.take(size);
            if (!address) continue;
            CHECK(address % 512 == 0);
            CHECK((address >= 1 << 20 && address + size <= 2 << 20));
            for (const auto& [other, length] : held) REQUIRE((address + size <= other || other + length <= address));
            held.emplace_back(address, size);
        } else {
            const size_t which = random() % held.size();
            CHECK(ranges.give(held[which].first) == held[which].second);
            held.erase(held.begin() + long(which));
        }
    }
    for (const auto& [address, size] : held) ranges.give(address);
    CHECK(ranges.taken() == 0);
    CHECK(ranges.take(1 << 20) == 1 << 20);
    CHECK(ranges.give(5) == 0);
}
