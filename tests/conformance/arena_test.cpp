// Arenas of pinned memory through the API: pieces, bad frees, caps, trim, frees behind streams, arenas that go first.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

constexpr uint64_t kMiB = 1 << 20;

Arena make_arena(Gpu& gpu, uint64_t max_bytes = 0, uint64_t slab_bytes = kMiB, uint64_t initial_bytes = 0) {
    auto options = sized<gpo_arena_options>();
    options.max_bytes = max_bytes;
    options.slab_bytes = slab_bytes;
    options.initial_bytes = initial_bytes;
    options.label = "under test";
    Arena arena;
    REQUIRE_OK(gpo_arena_create(gpu.device, &options, arena.out()));
    return arena;
}

gpo_memory_statistics statistics_of(gpo_arena_t arena) {
    auto statistics = sized<gpo_memory_statistics>();
    REQUIRE_OK(gpo_arena_get_statistics(arena, &statistics));
    return statistics;
}

char* take(gpo_arena_t arena, uint64_t bytes, uint64_t alignment = 0) {
    void* memory = nullptr;
    REQUIRE_OK(gpo_arena_allocate(arena, bytes, alignment, &memory));
    return static_cast<char*>(memory);
}

/// Waits until the statistics show no waiting frees.
void settle(gpo_arena_t arena) {
    while (statistics_of(arena).waiting != 0) std::this_thread::yield();
}

}  // namespace

TEST_CASE("arena: pieces are aligned, pinned, and usable by copies both ways") {
    Gpu gpu;
    Arena arena = make_arena(gpu);
    char* a = take(arena, 1000);
    char* b = take(arena, 1000, kMiB / 2);
    CHECK(reinterpret_cast<uintptr_t>(a) % 256 == 0);
    CHECK(reinterpret_cast<uintptr_t>(b) % (kMiB / 2) == 0);
    auto info = sized<gpo_memory_info>();
    REQUIRE_OK(gpo_memory_describe(gpu.device, reinterpret_cast<uint64_t>(a) + 5, &info));
    CHECK(info.kind == GPO_MEMORY_PINNED);
    CHECK(info.device_ordinal == -1);
    Memory memory = gpu.memory(1000);
    Stream stream = gpu.stream();
    std::memset(a, 0x5a, 1000);
    REQUIRE_OK(gpo_copy_to_device(stream, memory, a, 1000));
    REQUIRE_OK(gpo_copy_to_host(stream, b, memory, 1000));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(std::memcmp(a, b, 1000) == 0);
    CHECK(gpu.statistics().pageable_copies == 0);
    CHECK_OK(gpo_arena_free(arena, a));
    CHECK_OK(gpo_arena_free(arena, b));
    CHECK_OK(gpo_arena_free(arena, nullptr));
}

TEST_CASE("arena: statistics follow every step, and pieces that fit make no driver call") {
    Gpu gpu;
    Arena arena = make_arena(gpu, 0, kMiB);
    CHECK(statistics_of(arena).reserved == 0);
    char* a = take(arena, 300);
    const auto one = statistics_of(arena);
    CHECK(one.in_use == 512);
    CHECK(one.reserved == kMiB);
    CHECK(one.slabs == 1);
    CHECK(one.driver_calls == 1);
    char* b = take(arena, 4096);
    CHECK(statistics_of(arena).in_use == 512 + 4096);
    REQUIRE_OK(gpo_arena_free(arena, a));
    REQUIRE_OK(gpo_arena_free(arena, b));
    const auto none = statistics_of(arena);
    CHECK(none.in_use == 0);
    CHECK(none.waiting == 0);
    CHECK(none.allocations == 2);
    CHECK(none.frees == 2);
    CHECK(none.driver_calls == 1);
    CHECK(none.peak_in_use == 512 + 4096);
    REQUIRE_OK(gpo_arena_trim(arena, 0));
    CHECK(statistics_of(arena).reserved == 0);
    CHECK(statistics_of(arena).peak_reserved == kMiB);
    CHECK(statistics_of(arena).driver_calls == 2);
}

TEST_CASE("arena: what is no allocated piece can't be freed, and the pieces are unharmed") {
    Gpu gpu;
    Arena arena = make_arena(gpu), other = make_arena(gpu);
    Stream stream = gpu.stream();
    char* piece = take(arena, 1000);
    char outside;
    for (void* wrong : {static_cast<void*>(&outside), static_cast<void*>(piece + 1), static_cast<void*>(piece + 256),
                        reinterpret_cast<void*>(uintptr_t{256}), reinterpret_cast<void*>(~uintptr_t{255})}) {
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_free(arena, wrong));
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_free_after(arena, wrong, stream));
    }
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_free(other, piece));
    CHECK(statistics_of(arena).frees == 0);
    CHECK_OK(gpo_arena_free(arena, piece));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_free(arena, piece));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_free_after(arena, piece, stream));
    CHECK(statistics_of(arena).frees == 1);
}

TEST_CASE("arena: sizes and alignments that make no sense are refused, huge ones too") {
    Gpu gpu;
    Arena arena = make_arena(gpu), capped = make_arena(gpu, 4 * kMiB);
    void* memory = &arena;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_allocate(arena, 0, 0, &memory));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_allocate(arena, 1, 3, &memory));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_allocate(arena, 1, 2 * kMiB, &memory));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_allocate(arena, 1, 0, nullptr));
    CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_arena_allocate(arena, uint64_t{1} << 46, 0, &memory));
    CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_arena_allocate(arena, UINT64_MAX, 0, &memory));
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_arena_allocate(capped, uint64_t{1} << 46, 0, &memory));
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_arena_allocate(capped, UINT64_MAX, 0, &memory));
    CHECK(memory == &arena);
    CHECK(statistics_of(arena).reserved == 0);
    CHECK_OK(gpo_arena_free(arena, take(arena, 1)));

    auto options = sized<gpo_arena_options>();
    gpo_arena_t none = nullptr;
    options.flags = 4;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_create(gpu.device, &options, &none));
    options.flags = 0;
    options.reserved = 1;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_create(gpu.device, &options, &none));
    options.reserved = 0;
    options.max_bytes = kMiB;
    options.slab_bytes = 2 * kMiB;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_create(gpu.device, &options, &none));
    options.slab_bytes = 0;
    options.initial_bytes = 2 * kMiB;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_create(gpu.device, &options, &none));
    options.max_bytes = 0;
    for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 4095, uint64_t{1} << 63, uint64_t{1} << 46}) {
        CAPTURE(bytes);
        options.initial_bytes = bytes;
        CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_arena_create(gpu.device, &options, &none));
    }
    options.max_bytes = options.initial_bytes = UINT64_MAX;
    CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_arena_create(gpu.device, &options, &none));
    CHECK(none == nullptr);
}

TEST_CASE("arena: the cap holds, and a refused allocation names what is in the way") {
    Gpu gpu;
    Arena arena = make_arena(gpu, 2 * kMiB, kMiB);
    char* a = take(arena, kMiB);
    char* b = take(arena, kMiB);
    void* c = nullptr;
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_arena_allocate(arena, 256, 0, &c));
    CHECK(std::string(last_error().message).find("under test") != std::string::npos);
    CHECK(statistics_of(arena).reserved == 2 * kMiB);
    REQUIRE_OK(gpo_arena_free(arena, a));
    char* d = take(arena, kMiB);
    CHECK(d == a);
    REQUIRE_OK(gpo_arena_free(arena, b));
    REQUIRE_OK(gpo_arena_free(arena, d));
    // Two empty slabs are replaced by a slab as large as both.
    char* large = take(arena, 2 * kMiB);
    CHECK(statistics_of(arena).slabs == 1);
    REQUIRE_OK(gpo_arena_free(arena, large));
}

TEST_CASE("arena: initial bytes are there before the first allocation") {
    Gpu gpu;
    Arena arena = make_arena(gpu, 0, kMiB, 3 * kMiB);
    CHECK(statistics_of(arena).reserved == 3 * kMiB);
    char* piece = take(arena, 3 * kMiB);
    CHECK(statistics_of(arena).driver_calls == 1);
    REQUIRE_OK(gpo_arena_free(arena, piece));
}

TEST_CASE("arena: write-combined memory and a NUMA node can be asked for") {
    Gpu gpu;
    auto options = sized<gpo_arena_options>();
    options.flags = GPO_ARENA_WRITE_COMBINED;
    options.slab_bytes = kMiB;
    Arena combined;
    REQUIRE_OK(gpo_arena_create(gpu.device, &options, combined.out()));
    char* piece = take(combined, 4096);
    std::memset(piece, 1, 4096);
    REQUIRE_OK(gpo_arena_free(combined, piece));
    options.flags = GPO_ARENA_NUMA;
    Arena near;
    REQUIRE_OK(gpo_arena_create(gpu.device, &options, near.out()));
    void* memory = nullptr;
    const gpo_status status = gpo_arena_allocate(near, 4096, 0, &memory);
    if (status == GPO_SUCCESS)
        REQUIRE_OK(gpo_arena_free(near, memory));
    else
        CHECK_STATUS(GPO_NOT_SUPPORTED, status);  // containers may forbid it
    options.numa_node = 1000;
    Arena nowhere;
    REQUIRE_OK(gpo_arena_create(gpu.device, &options, nowhere.out()));
    CHECK(gpo_arena_allocate(nowhere, 4096, 0, &memory) != GPO_SUCCESS);
}

TEST_CASE("arena: slabs lie on the NUMA node that was asked for") {
    Gpu gpu;
    int nodes = 0;
    // Skip nodes without memory, which can't hold a slab.
    for (int node = 0; node < 64; ++node) {
        CAPTURE(node);
        std::ifstream sizes("/sys/devices/system/node/node" + std::to_string(node) + "/meminfo");
        std::string word;
        uint64_t total = 0;
        while (sizes >> word)
            if (word == "MemTotal:") sizes >> total;
        if (total == 0) continue;
        auto options = sized<gpo_arena_options>();
        options.flags = GPO_ARENA_NUMA;
        options.numa_node = node;
        options.slab_bytes = kMiB;
        Arena arena;
        REQUIRE_OK(gpo_arena_create(gpu.device, &options, arena.out()));
        void* memory = nullptr;
        const gpo_status status = gpo_arena_allocate(arena, kMiB / 2, 0, &memory);
        if (status == GPO_NOT_SUPPORTED)
            return skip("this process may not say where memory goes: " + std::string(last_error().message));
        REQUIRE_OK(status);
        std::memset(memory, 1, kMiB / 2);
        for (uint64_t at = 0; at < kMiB / 2; at += kMiB / 8) {
            int found = -1;
            constexpr unsigned long kNodeOf =
                1 | 2;  // MPOL_F_NODE | MPOL_F_ADDR, of <numaif.h>, which belongs to libnuma
            if (syscall(SYS_get_mempolicy, &found, nullptr, 0ul, static_cast<char*>(memory) + at, kNodeOf) != 0)
                return skip("where these pages are can't be asked: " + std::string(std::strerror(errno)));
            CHECK(found == node);
        }
        ++nodes;
        REQUIRE_OK(gpo_arena_free(arena, memory));
    }
    if (nodes == 0) skip("this machine tells of no NUMA node");
}

TEST_CASE("arena: a free behind a stream takes effect when the stream has passed") {
    Gpu gpu;
    Arena arena = make_arena(gpu, kMiB, kMiB);
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    char* piece = take(arena, kMiB);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_arena_free_after(arena, piece, stream));
    CHECK(statistics_of(arena).waiting == kMiB);
    CHECK(statistics_of(arena).in_use == kMiB);
    void* none = nullptr;
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_arena_allocate(arena, 256, 0, &none));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_free(arena, piece));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    // After the wait for the stream, the memory is free without a look at the statistics and without a pause.
    char* again = take(arena, kMiB);
    CHECK(again == piece);
    CHECK(statistics_of(arena).waiting == 0);
    REQUIRE_OK(gpo_arena_free(arena, again));
}

TEST_CASE("arena: who has waited for a stream can have what was freed behind it, every time") {
    Gpu gpu;
    Arena arena = make_arena(gpu, kMiB, kMiB);
    Memory target = gpu.memory(256);
    Stream stream = gpu.stream();
    const int rounds = std::getenv("GPUORCH_TEST_FULL") ? 20'000 : 1'000;
    for (int round = 0; round < rounds; ++round) {
        char* piece = take(arena, kMiB);
        REQUIRE_OK(gpo_copy_to_device(stream, target, piece, 256));
        REQUIRE_OK(gpo_arena_free_after(arena, piece, stream));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    }
    CHECK(statistics_of(arena).in_use <= kMiB);
}

TEST_CASE("arena: many frees behind several streams all take effect, on busy streams and idle ones") {
    Gpu gpu;
    Arena arena = make_arena(gpu, 0, 16 * kMiB);
    Memory target = gpu.memory(kMiB);
    std::vector<Stream> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(gpu.stream());
    for (int round = 0; round < 500; ++round) {
        Stream& stream = streams[static_cast<size_t>(round) % 3];
        char* piece = take(arena, 1024);
        REQUIRE_OK(gpo_copy_to_device(stream, target, piece, 1024));
        REQUIRE_OK(gpo_arena_free_after(arena, piece, stream));
    }
    for (auto& stream : streams) REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    settle(arena);
    CHECK(statistics_of(arena).in_use == 0);
    CHECK(statistics_of(arena).frees == 500);
}

TEST_CASE("arena: memory freed behind a stream comes back when what was held is cancelled or fails") {
    Gpu gpu;
    Arena arena = make_arena(gpu, 0, kMiB);
    for (const bool cancel : {true, false}) {
        Stream stream = gpu.stream();
        Timeline timeline = gpu.timeline();
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        for (int i = 0; i < 40; ++i) REQUIRE_OK(gpo_arena_free_after(arena, take(arena, 256), stream));
        CHECK(statistics_of(arena).waiting == 40 * 256);
        if (cancel)
            REQUIRE_OK(gpo_stream_cancel_held(stream, nullptr));
        else
            REQUIRE_OK(gpo_timeline_fail(timeline, GPO_FAILED, "on purpose"));
        settle(arena);
        CHECK(statistics_of(arena).in_use == 0);
    }
}

TEST_CASE("arena: memory freed behind a stream comes back when the stream's handle is destroyed") {
    Gpu gpu;
    Arena arena = make_arena(gpu, 0, kMiB);
    Timeline timeline = gpu.timeline();
    {
        Stream stream = gpu.stream();
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        for (int i = 0; i < 40; ++i) REQUIRE_OK(gpo_arena_free_after(arena, take(arena, 256), stream));
    }
    CHECK(statistics_of(arena).waiting == 40 * 256);
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    settle(arena);
    CHECK(statistics_of(arena).in_use == 0);
}

TEST_CASE("arena: pieces outlive the arena's handle, and waiting ones outlive nothing") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    Memory memory = gpu.memory(4096);
    Pinned<char> back = gpu.pinned<char>(4096);
    Arena arena = make_arena(gpu);
    char* kept = take(arena, 4096);
    char* waiting = take(arena, 4096);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_arena_free_after(arena, waiting, stream));
    const gpo_arena_t stale = arena;
    REQUIRE_OK(gpo_arena_destroy(arena.release()));
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_arena_free(stale, kept));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    std::memset(kept, 7, 4096);
    REQUIRE_OK(gpo_copy_to_device(stream, memory, kept, 4096));
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, 4096));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(back[4095] == 7);
}

TEST_CASE("arena: what was never freed is reported by label at shutdown") {
    std::string log;
    auto options = sized<gpo_runtime_options>();
    options.log = [](void* user, int32_t, const char* line) {
        *static_cast<std::string*>(user) += std::string(line) + "\n";
    };
    options.log_user = &log;
    {
        Gpu gpu(options);
        Arena gone = make_arena(gpu);
        take(gone, 1000);
        take(gone, 1000);
        gone.reset();
        uint64_t address = 0;
        REQUIRE_OK(gpo_memory_allocate(gpu.device, 5000, "weights", &address));
        Pool pool;
        auto pool_options = sized<gpo_pool_options>();
        pool_options.label = "scratch";
        REQUIRE_OK(gpo_pool_create(gpu.device, &pool_options, pool.out()));
        Stream stream = gpu.stream();
        REQUIRE_OK(gpo_pool_allocate(pool, stream, 7000, &address));
    }
    INFO(log);
    CHECK(log.find("arena `under test` with 2048 bytes in 2 pieces") != std::string::npos);
    CHECK(log.find("`weights`, 5000 bytes") != std::string::npos);
    CHECK(log.find("pool `scratch` with 7000 bytes in 1 pieces") != std::string::npos);
}

TEST_CASE("arena: nothing is reported where all was freed") {
    std::string log;
    auto options = sized<gpo_runtime_options>();
    options.log = [](void* user, int32_t, const char* line) {
        *static_cast<std::string*>(user) += std::string(line) + "\n";
    };
    options.log_user = &log;
    {
        Gpu gpu(options);
        Arena arena = make_arena(gpu);
        REQUIRE_OK(gpo_arena_free(arena, take(arena, 1000)));
        Memory memory = gpu.memory(5000);
    }
    CHECK(log == "");
}

TEST_CASE("arena: threads share one") {
    Gpu gpu;
    Arena arena = make_arena(gpu, 0, 16 * kMiB);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            std::vector<void*> mine;
            for (uint64_t i = 0; i < 2000; ++i) {
                void* memory = nullptr;
                if (gpo_arena_allocate(arena, 256 + i * 37 % 9000, 0, &memory) != GPO_SUCCESS) ++wrong;
                std::memset(memory, static_cast<int>(i), 256);
                mine.push_back(memory);
                if (mine.size() < 20) continue;
                if (gpo_arena_free(arena, mine[i % 20]) != GPO_SUCCESS) ++wrong;
                mine[i % 20] = mine.back();
                mine.pop_back();
            }
            for (void* memory : mine)
                if (gpo_arena_free(arena, memory) != GPO_SUCCESS) ++wrong;
        });
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(statistics_of(arena).in_use == 0);
    CHECK(statistics_of(arena).allocations == 8000);
    CHECK(statistics_of(arena).frees == 8000);
}

TEST_CASE("an arena is destroyed while a kernel runs, and the call doesn't wait for the kernel" * gated) {
    Gpu gpu;
    Arena arena;
    auto options = sized<gpo_arena_options>();
    options.slab_bytes = options.initial_bytes = 1 << 20;
    REQUIRE_OK(gpo_arena_create(gpu.device, &options, arena.out()));
    Stream stream = gpu.stream();
    Gate gate(gpu);
    gate.put_on(stream);
    arena.reset();
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(stream));
    gate.open();
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}
