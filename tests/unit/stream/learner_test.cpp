// Streams that learn, under many schedules (GPUORCH_TEST_SEED=n repeats one); and a failure's message about replayed
// work.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

constexpr int64_t kPatience = 10'000'000'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 100;
#else
constexpr uint64_t kSeeds = 400;
#endif

/// A stream that learns a fill and two copies, which bring a number to the host.
struct LearningStream : gpo::test::SoftRuntime {
    explicit LearningStream(uint64_t seed) : SoftRuntime(seed) {
        auto options = gpo::test::sized<gpo_stream_options>();
        options.flags = GPO_STREAM_LEARNS;
        REQUIRE(gpo_stream_create(device, &options, &stream) == GPO_SUCCESS);
        REQUIRE(gpo_arena_create(device, nullptr, &arena) == GPO_SUCCESS);
        void* pinned = nullptr;
        REQUIRE(gpo_arena_allocate(arena, 64, 0, &pinned) == GPO_SUCCESS);
        words = static_cast<uint32_t*>(pinned);
        words[0] = words[1] = 0;
        REQUIRE(gpo_memory_allocate(device, 64, nullptr, &memory) == GPO_SUCCESS);
        while (replayed() == 0) {
            for (uint32_t step = 0; step < 3; ++step) REQUIRE(put(step, ++number) == GPO_SUCCESS);
            REQUIRE(gpo_stream_wait(stream, kPatience) == GPO_SUCCESS);
            REQUIRE(number < 1000);
        }
    }
    ~LearningStream() {
        gpo_arena_free(arena, words);
        gpo_arena_destroy(arena);
        gpo_memory_free(device, memory);
    }

    gpo_status put(uint32_t step, uint32_t value) {
        switch (step) {
            case 0: return gpo_fill(stream, memory, value, 4, 1);
            case 1: return gpo_copy_to_host(stream, &words[0], memory, sizeof(uint32_t));
            default: return gpo_copy_to_host(stream, &words[1], memory, sizeof(uint32_t));
        }
    }
    uint64_t replayed() {
        auto info = gpo::test::sized<gpo_stream_info>();
        REQUIRE(gpo_stream_get_info(stream, &info) == GPO_SUCCESS);
        return info.replayed;
    }
    uint32_t word(size_t at) const { return std::atomic_ref(words[at]).load(std::memory_order_acquire); }
    /// Polls without a call of the library.
    bool comes(size_t at, uint32_t value) const {
        for (int looks = 0; looks < 1000 && word(at) != value; ++looks)
            gpo::host::sleep_until(gpo::host::now() + 10'000);
        return word(at) == value;
    }

    gpo_stream_t stream = nullptr;
    gpo_arena_t arena = nullptr;
    uint32_t* words = nullptr;
    uint64_t memory = 0;
    uint32_t number = 0;
};

}  // namespace

TEST_CASE("what is withheld starts by itself, however long nothing was before, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        LearningStream learning(seed);
        {
            // The stream's watch looks every 50 us and ends after 20 vain looks. In the first round there is no watch.
            // In the other rounds the operations come when the watch ends, or a look earlier or later.
            const gpo::host::Thread thread("program", [&] {
                uint64_t at = gpo::host::now() + 5'000'000;
                for (uint64_t round = 0; round < 4; ++round) {
                    gpo::host::sleep_until(at);
                    const uint32_t value = ++learning.number;
                    REQUIRE(learning.put(0, value) == GPO_SUCCESS);
                    REQUIRE(learning.put(1, value) == GPO_SUCCESS);
                    CHECK(learning.comes(0, value));
                    at += round == 2 ? 5'000'000 : 1'000'000 + 50'000 * (seed % 3);
                }
            });
        }
        CHECK(gpo_stream_wait(learning.stream, kPatience) == GPO_SUCCESS);
    });
}

TEST_CASE("what two threads put on a stream that learns, while others look at it, all runs, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        LearningStream learning(seed);
        const uint32_t before = learning.number;
        std::atomic<uint32_t> next{before};
        {
            std::vector<gpo::host::Thread> threads;
            for (int i = 0; i < 2; ++i)
                threads.emplace_back("program", [&] {
                    for (int turn = 0; turn < 3; ++turn)
                        for (uint32_t step = 0; step < 3; ++step)
                            CHECK(learning.put(step, next.fetch_add(1) + 1) == GPO_SUCCESS);
                });
            threads.emplace_back("onlooker", [&] {
                for (int i = 0; i < 4; ++i) {
                    static_cast<void>(gpo_stream_query(learning.stream));
                    uint64_t cancelled = 0;
                    CHECK(gpo_stream_cancel_held(learning.stream, &cancelled) == GPO_SUCCESS);
                    CHECK(cancelled == 0);
                    CHECK(gpo_stream_notify(learning.stream, learning.queue, 1) == GPO_SUCCESS);
                }
            });
        }
        auto info = gpo::test::sized<gpo_stream_info>();
        REQUIRE(gpo_stream_get_info(learning.stream, &info) == GPO_SUCCESS);
        CHECK(info.accepted == before + 18);
        CHECK(gpo_stream_wait(learning.stream, kPatience) == GPO_SUCCESS);
        CHECK(learning.word(0) > before);
        CHECK(learning.word(1) > before);
    });
}

TEST_CASE("a stream that is destroyed runs what is withheld, and a shutdown waits for that, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        LearningStream learning(seed);
        const uint32_t value = ++learning.number;
        REQUIRE(learning.put(0, value) == GPO_SUCCESS);
        REQUIRE(learning.put(1, value) == GPO_SUCCESS);
        if (seed % 2) CHECK(gpo_stream_destroy(learning.stream) == GPO_SUCCESS);
        if (seed % 4 < 2) CHECK(gpo_device_wait(learning.device, kPatience) == GPO_SUCCESS);
        CHECK(gpo_runtime_shutdown(std::exchange(learning.runtime, nullptr), kPatience) == GPO_SUCCESS);
    });
}

TEST_CASE("a failure of replayed work names the operations that were launched with it") {
    LearningStream learning(0);
    constexpr const char* kSource = R"(
extern "C" __global__ void fine(unsigned *target) { *target = 1; }
extern "C" __global__ void judge(unsigned *target, unsigned deadly) { if (deadly) __trap(); *target = 2; }
)";
    auto compile = gpo::test::sized<gpo_compile_options>();
    compile.source = kSource;
    gpo_module_t module = nullptr;
    std::array<gpo_kernel_t, 2> kernels{};
    REQUIRE(gpo_module_compile(learning.device, &compile, &module) == GPO_SUCCESS);
    REQUIRE(gpo_module_get_kernel(module, "fine", &kernels[0]) == GPO_SUCCESS);
    REQUIRE(gpo_module_get_kernel(module, "judge", &kernels[1]) == GPO_SUCCESS);
    auto shape = gpo::test::sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const auto put = [&](unsigned deadly) {
        const void* arguments[] = {&learning.memory, &deadly};
        REQUIRE(gpo_stream_launch_kernel(learning.stream, kernels[0], &shape, arguments, nullptr, 1) == GPO_SUCCESS);
        REQUIRE(gpo_stream_launch_kernel(learning.stream, kernels[1], &shape, arguments, nullptr, 2) == GPO_SUCCESS);
        return gpo_stream_wait(learning.stream, kPatience);
    };
    const uint64_t before = learning.replayed();
    while (learning.replayed() < before + 2) REQUIRE(put(0) == GPO_SUCCESS);
    const uint64_t replayed = learning.replayed();
    CHECK(put(1) == GPO_DEVICE_LOST);
    auto error = gpo::test::sized<gpo_error>();
    REQUIRE(gpo_object_get_error(learning.stream, &error) == GPO_SUCCESS);
    const std::string message = error.message;
    INFO(message);
    CHECK(message.find("kernel `judge`") != std::string::npos);
    if (learning.replayed() == replayed) return;  // too slow a machine: the operations were put on one by one
    CHECK(message.find("it was one of kernel `fine`") != std::string::npos);
    CHECK(error.operation == 0);
}
