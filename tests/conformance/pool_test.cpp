// Pools: allocation and free as points in streams, the cap, bad frees, held streams.
#include <atomic>
#include <thread>

#include "resident_rig.h"

using namespace gpo::test;

namespace {

constexpr uint64_t kMiB = 1 << 20;

Pool make_pool(Gpu& gpu, uint64_t max_bytes = 0, uint64_t keep_bytes = 0, uint64_t initial_bytes = 0) {
    auto options = sized<gpo_pool_options>();
    options.max_bytes = max_bytes;
    options.keep_bytes = keep_bytes;
    options.initial_bytes = initial_bytes;
    options.label = "under test";
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, &options, pool.out()));
    return pool;
}

gpo_memory_statistics statistics_of(gpo_pool_t pool) {
    auto statistics = sized<gpo_memory_statistics>();
    REQUIRE_OK(gpo_pool_get_statistics(pool, &statistics));
    return statistics;
}

uint64_t take(gpo_pool_t pool, gpo_stream_t stream, uint64_t bytes) {
    uint64_t address = 0;
    REQUIRE_OK(gpo_pool_allocate(pool, stream, bytes, &address));
    return address;
}

}  // namespace

TEST_CASE("pool: a piece is usable by what comes next on its stream") {
    Gpu gpu;
    Pool pool = make_pool(gpu);
    Stream stream = gpu.stream();
    Pinned<uint32_t> from = gpu.pinned<uint32_t>(1024), back = gpu.pinned<uint32_t>(1024);
    for (uint32_t i = 0; i < 1024; ++i) from[i] = ~i;
    const uint64_t piece = take(pool, stream, from.bytes());
    REQUIRE_OK(gpo_copy_to_device(stream, piece, from.data(), from.bytes()));
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), piece, from.bytes()));
    REQUIRE_OK(gpo_pool_free(pool, stream, piece));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    for (uint32_t i = 0; i < 1024; ++i) REQUIRE(back[i] == ~i);
    const auto statistics = statistics_of(pool);
    CHECK(statistics.in_use == 0);
    CHECK(statistics.peak_in_use == from.bytes());
    CHECK(statistics.allocations == 1);
    CHECK(statistics.frees == 1);
}

TEST_CASE("pool: what isn't in use stays reserved, as far as the options say so") {
    Gpu gpu;
    Stream stream = gpu.stream();
    const auto idle = [&](uint64_t keep_bytes) {
        auto options = sized<gpo_pool_options>();
        options.keep_bytes = keep_bytes;
        Pool pool;
        REQUIRE_OK(gpo_pool_create(gpu.device, &options, pool.out()));
        REQUIRE_OK(gpo_pool_free(pool, stream, take(pool, stream, 64 * kMiB)));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        return statistics_of(pool).reserved;
    };
    CHECK(idle(GPO_AUTO) >= 64 * kMiB);
    CHECK(idle(128 * kMiB) >= 64 * kMiB);
    auto options = sized<gpo_pool_options>();
    options.flags = GPO_POOL_KEEP_NOTHING;
    options.keep_bytes = 1;
    Pool pool;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pool_create(gpu.device, &options, pool.out()));
    CHECK(std::string(last_error().message).find("keep_bytes") != std::string::npos);
}

TEST_CASE("pool: the cap is exact, and counts what is freed no more") {
    Gpu gpu;
    Pool pool = make_pool(gpu, 3000);
    Stream stream = gpu.stream();
    const uint64_t a = take(pool, stream, 1000), b = take(pool, stream, 2000);
    uint64_t none = 5;
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_pool_allocate(pool, stream, 1, &none));
    REQUIRE_OK(gpo_pool_free(pool, stream, a));
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_pool_allocate(pool, stream, 1001, &none));
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_pool_allocate(pool, stream, UINT64_MAX, &none));
    CHECK(none == 5);
    const uint64_t c = take(pool, stream, 1000);
    CHECK(statistics_of(pool).in_use == 3000);
    REQUIRE_OK(gpo_pool_free(pool, stream, b));
    REQUIRE_OK(gpo_pool_free(pool, stream, c));
    CHECK(statistics_of(pool).peak_in_use == 3000);
}

TEST_CASE("pool: what is no live piece can't be freed") {
    Gpu gpu;
    Pool pool = make_pool(gpu), other = make_pool(gpu);
    Stream stream = gpu.stream();
    Memory plain = gpu.memory(256);
    const uint64_t piece = take(pool, stream, 4096);
    for (const uint64_t wrong : {piece + 1, piece + 256, plain.operator uint64_t(), uint64_t{1}})
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pool_free(pool, stream, wrong));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pool_free(other, stream, piece));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(gpu.device, piece));
    CHECK_OK(gpo_pool_free(pool, stream, 0));
    CHECK_OK(gpo_pool_free(pool, stream, piece));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pool_free(pool, stream, piece));
    uint64_t none = 0;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pool_allocate(pool, stream, 0, &none));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pool_allocate(pool, stream, 1, nullptr));
    CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_pool_allocate(pool, stream, uint64_t{1} << 46, &none));
    CHECK(statistics_of(pool).in_use == 0);
    REQUIRE_OK(gpo_pool_free(pool, stream, take(pool, stream, 4096)));
}

TEST_CASE("pool: on a held stream nothing is allocated, and frees wait or are taken back") {
    Gpu gpu;
    Pool pool = make_pool(gpu);
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    const uint64_t piece = take(pool, stream, 4096);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    uint64_t none = 0;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_pool_allocate(pool, stream, 4096, &none));
    REQUIRE_OK(gpo_pool_free(pool, stream, piece));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pool_free(pool, stream, piece));
    CHECK(statistics_of(pool).in_use == 4096);
    REQUIRE_OK(gpo_stream_cancel_held(stream, nullptr));
    CHECK(statistics_of(pool).in_use == 4096);
    REQUIRE_OK(gpo_pool_free(pool, stream, piece));
    CHECK(statistics_of(pool).in_use == 0);
    const uint64_t second = take(pool, stream, 4096);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_pool_free(pool, stream, second));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(statistics_of(pool).in_use == 0);
}

TEST_CASE("pool: memory taken ahead stays until it is trimmed") {
    Gpu gpu;
    Pool pool = make_pool(gpu, 0, 0, 8 * kMiB);
    CHECK(statistics_of(pool).reserved >= 8 * kMiB);
    CHECK(statistics_of(pool).in_use == 0);
    CHECK(statistics_of(pool).allocations == 0);
    REQUIRE_OK(gpo_pool_trim(pool, 0));
    CHECK(statistics_of(pool).reserved < 8 * kMiB);
    CHECK(statistics_of(pool).peak_reserved >= 8 * kMiB);
    auto options = sized<gpo_pool_options>();
    gpo_pool_t none = nullptr;
    options.flags = 2;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pool_create(gpu.device, &options, &none));
    options.flags = 0;
    options.max_bytes = 1;
    options.initial_bytes = 2;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pool_create(gpu.device, &options, &none));
    CHECK(none == nullptr);
}

TEST_CASE("pool: a trim gives back what was freed and waited for by the library") {
    Gpu gpu;
    Pool pool = make_pool(gpu, 0, GPO_AUTO);
    Stream stream = gpu.stream();
    const auto free_and_wait = [&](gpo_stream_t on) {
        REQUIRE_OK(gpo_pool_free(pool, on, take(pool, on, 64 * kMiB)));
        REQUIRE_OK(gpo_stream_wait(on, kPatience));
        CHECK(statistics_of(pool).reserved >= 64 * kMiB);
    };
    SUBCASE("by gpo_stream_wait") { free_and_wait(stream); }
    SUBCASE("again after a trim") {
        free_and_wait(stream);
        REQUIRE_OK(gpo_pool_trim(pool, 0));
        free_and_wait(stream);
    }
    SUBCASE("by gpo_stream_query alone") {
        REQUIRE_OK(gpo_pool_free(pool, stream, take(pool, stream, 64 * kMiB)));
        while (gpo_stream_query(stream) == GPO_NOT_READY) std::this_thread::yield();
    }
    SUBCASE("by a completion queue") {
        Queue queue = gpu.queue();
        REQUIRE_OK(gpo_pool_free(pool, stream, take(pool, stream, 64 * kMiB)));
        REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
        REQUIRE_OK(gpo_cq_wait(queue, kPatience));
    }
    SUBCASE("on several streams") {
        std::vector<Stream> streams;
        std::vector<uint64_t> pieces;
        for (int i = 0; i < 6; ++i) {
            streams.push_back(gpu.stream());
            pieces.push_back(take(pool, streams.back(), 8 * kMiB));
        }
        for (size_t i = 0; i < streams.size(); ++i) REQUIRE_OK(gpo_pool_free(pool, streams[i], pieces[i]));
        for (const Stream& each : streams) REQUIRE_OK(gpo_stream_wait(each, kPatience));
    }
    SUBCASE("on a stream whose native handle was given out") {
        void* native = nullptr;
        REQUIRE_OK(gpo_stream_get_native(stream, &native));
        free_and_wait(stream);
    }
    SUBCASE("on a blocking stream, and on the legacy stream") {
        Stream blocking = gpu.stream(nullptr, GPO_STREAM_BLOCKING), legacy;
        auto options = sized<gpo_stream_options>();
        REQUIRE_OK(gpo_stream_wrap(gpu.device, nullptr, &options, legacy.out()));
        free_and_wait(blocking);
        free_and_wait(legacy);
    }
    SUBCASE("on a wrapped stream whose handle was destroyed") {
        auto options = sized<gpo_stream_options>();
        Stream legacy;
        REQUIRE_OK(gpo_stream_wrap(gpu.device, nullptr, &options, legacy.out()));
        free_and_wait(legacy);
    }
    SUBCASE("on a stream that was destroyed") {
        free_and_wait(stream);
        stream.reset();
    }
    SUBCASE("on a stream that is held") {
        Timeline timeline = gpu.timeline();
        free_and_wait(stream);
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        REQUIRE_OK(gpo_fill(stream, gpu.memory(256), 0, 1, 256));
        REQUIRE_OK(gpo_pool_trim(pool, 0));
        CHECK(statistics_of(pool).reserved == 0);
        REQUIRE_OK(gpo_stream_cancel_held(stream, nullptr));
    }
    REQUIRE_OK(gpo_pool_trim(pool, 0));
    CHECK(statistics_of(pool).reserved == 0);
}

TEST_CASE("pool: a trim waits for no work, and keeps what work may use" * gated) {
    Gpu gpu;
    Pool pool = make_pool(gpu, 0, GPO_AUTO);
    Stream idle = gpu.stream(), on = gpu.stream();
    void* native = nullptr;
    uint32_t flags = 0;
    SUBCASE("behind a kernel of an ordinary stream") {}
    SUBCASE("behind one of a stream whose native handle was given out") { flags = 1; }
    const uint64_t used = take(pool, on, 64 * kMiB), unused = take(pool, idle, 64 * kMiB);
    ResidentKernel busy(gpu, "busy", 0);
    if (flags) REQUIRE_OK(gpo_stream_get_native(on, &native));
    REQUIRE_OK(gpo_stream_wait_stream(on, busy.stream));
    REQUIRE_OK(gpo_fill(on, used, 7, 1, 64 * kMiB));
    REQUIRE_OK(gpo_pool_free(pool, on, used));
    REQUIRE_OK(gpo_pool_free(pool, idle, unused));
    REQUIRE_OK(gpo_stream_wait(idle, kPatience));
    const uint64_t before = statistics_of(pool).reserved;
    REQUIRE_OK(gpo_pool_trim(pool, 0));
    CHECK(busy.stays());
    const uint64_t after = statistics_of(pool).reserved;
    CHECK(after >= 64 * kMiB);
    CHECK(after + 32 * kMiB <= before);
    busy.end();
    REQUIRE_OK(gpo_stream_wait(on, kPatience));
    REQUIRE_OK(gpo_pool_trim(pool, 0));
    CHECK(statistics_of(pool).reserved == 0);
}

TEST_CASE("pool: a trim beside a resident kernel gives back what was freed on other streams" * gated) {
    Gpu gpu;
    Pool pool = make_pool(gpu, 0, GPO_AUTO);
    Stream stream = gpu.stream();
    ResidentKernel resident(gpu);
    REQUIRE_OK(gpo_pool_free(pool, stream, take(pool, stream, 64 * kMiB)));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    REQUIRE_OK(gpo_pool_trim(pool, 0));
    CHECK(statistics_of(pool).reserved == 0);
    CHECK(resident.stays());
    resident.end();
}

TEST_CASE("pool: a trim leaves recordings alone, of the stream of its frees too") {
    Gpu gpu;
    Pool pool = make_pool(gpu, 0, GPO_AUTO);
    Stream stream = gpu.stream(), other = gpu.stream();
    Memory word = gpu.memory(4);
    Pinned<uint32_t> back = gpu.pinned<uint32_t>(1);
    for (const gpo_stream_t each : {static_cast<gpo_stream_t>(stream), static_cast<gpo_stream_t>(other)})
        REQUIRE_OK(gpo_pool_free(pool, each, take(pool, each, 64 * kMiB)));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    REQUIRE_OK(gpo_stream_wait(other, kPatience));
    Template of;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, of.out()));
    REQUIRE_OK(gpo_template_begin(of, stream));
    REQUIRE_OK(gpo_fill(stream, word, 7, 4, 1));
    gpo_status trimmed = GPO_TIMEOUT;
    std::thread([&] { trimmed = gpo_pool_trim(pool, 0); }).join();
    CHECK(trimmed == GPO_SUCCESS);
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), word, 4));
    REQUIRE_OK(gpo_template_end(of));
    Graph graph;
    REQUIRE_OK(gpo_graph_create(of, nullptr, graph.out()));
    REQUIRE_OK(gpo_graph_launch(graph, stream));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(back[0] == 7);
    REQUIRE_OK(gpo_pool_trim(pool, 0));
    CHECK(statistics_of(pool).reserved == 0);
}

TEST_CASE("pool: pieces are freed on other streams and by other threads") {
    Gpu gpu;
    Pool pool = make_pool(gpu, 64 * kMiB);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            Stream mine, other;
            if (gpo_stream_create(gpu.device, nullptr, mine.out()) != GPO_SUCCESS) ++wrong;
            if (gpo_stream_create(gpu.device, nullptr, other.out()) != GPO_SUCCESS) ++wrong;
            for (uint64_t i = 0; i < 200; ++i) {
                uint64_t piece = 0;
                if (gpo_pool_allocate(pool, mine, 1000 + i * 100, &piece) != GPO_SUCCESS) ++wrong;
                if (gpo_fill(mine, piece, 7, 1, 1000) != GPO_SUCCESS) ++wrong;
                if (gpo_stream_wait_stream(other, mine) != GPO_SUCCESS) ++wrong;
                if (gpo_pool_free(pool, other, piece) != GPO_SUCCESS) ++wrong;
            }
            if (gpo_stream_wait(other, kPatience) != GPO_SUCCESS) ++wrong;
        });
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(statistics_of(pool).in_use == 0);
    CHECK(statistics_of(pool).frees == 600);
}

TEST_CASE("pool: what a runtime leaves in one is the device's again, though another runtime uses the device") {
    Gpu stays;
    const auto free_bytes = [&] {
        uint64_t free = 0, total = 0;
        REQUIRE_OK(gpo_device_get_memory(stays.device, &free, &total));
        return free;
    };
    const uint64_t before = free_bytes();
    for (int i = 0; i < 8; ++i) {
        Gpu goes;
        Stream its = goes.stream();
        Pool pool = make_pool(goes);
        take(pool, its, 64 * kMiB);
        REQUIRE_OK(gpo_stream_wait(its, kPatience));
    }
    // Other programs may use the device too: check for a fraction of the memory taken.
    CHECK(free_bytes() + 256 * kMiB > before);
}

TEST_CASE("pool: one that is destroyed while its last frees are held goes when they have happened") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    const auto free_bytes = [&] {
        uint64_t free = 0, total = 0;
        REQUIRE_OK(gpo_device_get_memory(gpu.device, &free, &total));
        return free;
    };
    const uint64_t before = free_bytes();
    std::vector<Pool> pools;
    std::vector<uint64_t> pieces;
    for (int i = 0; i < 8; ++i) {
        pools.push_back(make_pool(gpu));
        pieces.push_back(take(pools.back(), stream, 64 * kMiB));
    }
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    for (size_t i = 0; i < pools.size(); ++i) REQUIRE_OK(gpo_pool_free(pools[i], stream, pieces[i]));
    pools.clear();
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(free_bytes() + 256 * kMiB > before);
}

TEST_CASE("pool: a piece whose held free was cancelled after the pool was destroyed is still the user's") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Pool pool = make_pool(gpu);
    const uint64_t piece = take(pool, stream, 4), other = take(pool, stream, 4);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_pool_free(pool, stream, piece));
    REQUIRE_OK(gpo_pool_free(pool, stream, other));
    pool.reset();
    REQUIRE_OK(gpo_stream_cancel_held(stream, nullptr));
    REQUIRE_OK(gpo_fill(stream, piece, 0x12345678, 4, 1));
    REQUIRE_OK(gpo_copy_to_host(stream, word.data(), piece, 4));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(word[0] == 0x12345678);
}

TEST_CASE("pool: pieces outlive the pool's handle") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Pool pool = make_pool(gpu);
    const uint64_t piece = take(pool, stream, 4);
    const gpo_pool_t stale = pool;
    REQUIRE_OK(gpo_pool_destroy(pool.release()));
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_pool_free(stale, stream, piece));
    REQUIRE_OK(gpo_fill(stream, piece, 0x12345678, 4, 1));
    REQUIRE_OK(gpo_copy_to_host(stream, word.data(), piece, 4));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(word[0] == 0x12345678);
}
