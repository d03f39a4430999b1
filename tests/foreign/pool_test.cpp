// What a pool doesn't keep goes back when the program has the driver wait for a stream: the library's waits don't.
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
