// Memory that a pool doesn't keep goes back when the program waits for a stream through the driver; the library's own
// waits don't return it. Trims beside captures that the program makes itself.
#include <thread>

#include "foreign/raw.h"

using namespace gpo::test;

TEST_CASE("pool: memory that isn't kept goes back when the driver waits for a stream") {
    Gpu gpu;
    Raw raw;
    Stream stream = gpu.stream();
    void* native = nullptr;
    REQUIRE_OK(gpo_stream_get_native(stream, &native));
    const auto reserved_after = [&](uint32_t flags) {
        auto options = sized<gpo_pool_options>();
        auto statistics = sized<gpo_memory_statistics>();
        options.flags = flags;
        Pool pool;
        uint64_t piece = 0;
        REQUIRE_OK(gpo_pool_create(gpu.device, &options, pool.out()));
        REQUIRE_OK(gpo_pool_allocate(pool, stream, 64 << 20, &piece));
        REQUIRE_OK(gpo_pool_free(pool, stream, piece));
        {
            const Current current(raw, raw.primary);
            RAW_OK(raw.cu().cuStreamSynchronize(static_cast<CUstream>(native)));
        }
        REQUIRE_OK(gpo_pool_get_statistics(pool, &statistics));
        return statistics.reserved;
    };
    CHECK(reserved_after(0) >= 64 << 20);
    CHECK(reserved_after(GPO_POOL_KEEP_NOTHING) == 0);
}

TEST_CASE("pool: at a trim the driver gives back what a host thread has synchronised with, not what it has queried") {
    Gpu gpu;
    Raw raw;
    const Current current(raw, raw.primary);
    const auto& cu = raw.cu();
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = raw.device;
    CUmemoryPool pool = nullptr;
    cuuint64_t keep = UINT64_MAX;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUdeviceptr piece = 0;
    RAW_OK(cu.cuMemPoolCreate(&pool, &properties));
    RAW_OK(cu.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    RAW_OK(cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    RAW_OK(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    RAW_OK(cu.cuMemAllocFromPoolAsync(&piece, 64 << 20, pool, stream));
    RAW_OK(cu.cuMemFreeAsync(piece, stream));
    RAW_OK(cu.cuEventRecord(event, stream));
    while (cu.cuEventQuery(event) == CUDA_ERROR_NOT_READY || cu.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) {
    }
    const auto reserved_after_trim = [&] {
        cuuint64_t reserved = 0;
        RAW_OK(cu.cuMemPoolTrimTo(pool, 0));
        RAW_OK(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
        return reserved;
    };
    CHECK(reserved_after_trim() >= 64 << 20);
    RAW_OK(cu.cuEventSynchronize(event));
    CHECK(reserved_after_trim() == 0);
    RAW_OK(cu.cuEventDestroy(event));
    RAW_OK(cu.cuStreamDestroy(stream));
    RAW_OK(cu.cuMemPoolDestroy(pool));
}

TEST_CASE("pool: a trim breaks no capture of the program's, of the stream of its frees either") {
    Gpu gpu;
    Raw raw;
    Stream stream = gpu.stream(), other = gpu.stream();
    void* native = nullptr;
    REQUIRE_OK(gpo_stream_get_native(stream, &native));
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
    for (const gpo_stream_t each : {static_cast<gpo_stream_t>(stream), static_cast<gpo_stream_t>(other)}) {
        uint64_t piece = 0;
        REQUIRE_OK(gpo_pool_allocate(pool, each, 64 << 20, &piece));
        REQUIRE_OK(gpo_pool_free(pool, each, piece));
        REQUIRE_OK(gpo_stream_wait(each, kPatience));
    }
    const auto reserved = [&] {
        auto statistics = sized<gpo_memory_statistics>();
        REQUIRE_OK(gpo_pool_get_statistics(pool, &statistics));
        return statistics.reserved;
    };
    CHECK(reserved() >= 64 << 20);
    const Current current(raw, raw.primary);
    CUgraph graph = nullptr;
    RAW_OK(raw.cu().cuStreamBeginCapture(static_cast<CUstream>(native), CU_STREAM_CAPTURE_MODE_GLOBAL));
    gpo_status trimmed = gpo_pool_trim(pool, 0);
    CHECK(trimmed == GPO_SUCCESS);
    std::thread([&] { trimmed = gpo_pool_trim(pool, 0); }).join();
    CHECK(trimmed == GPO_SUCCESS);
    RAW_OK(raw.cu().cuStreamEndCapture(static_cast<CUstream>(native), &graph));
    RAW_OK(raw.cu().cuGraphDestroy(graph));
    REQUIRE_OK(gpo_pool_trim(pool, 0));
    CHECK(reserved() == 0);
}
