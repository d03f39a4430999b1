// Marks under many schedules: whatever the scanner looks at meanwhile, each is told of, once. GPUORCH_TEST_SEED=n runs one again.
#include <doctest/doctest.h>

#include "gpuorch/gpuorch.h"
#include "support/explore.h"

namespace {

// One in a thousand found the mark that was lost, when one was.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 1000;
#else
constexpr uint64_t kSeeds = 10'000;
#endif

void expect_entry(gpo_cq_t queue, uint64_t number) {
    gpo_completion entry{};
    uint64_t count = 0;
    REQUIRE(gpo_cq_wait(queue, 10'000'000'000) == GPO_SUCCESS);
    REQUIRE(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count) == GPO_SUCCESS);
    REQUIRE(count == 1);
    CHECK(entry.user_data == number);
    CHECK(entry.status == GPO_SUCCESS);
}

}  // namespace

TEST_CASE("a mark made just before its stream is destroyed is told of under every schedule") {
    const auto [first, count] = gpo::test::seeds({1, kSeeds});
    for (uint64_t seed = first; seed < first + count; ++seed) {
        INFO("GPUORCH_TEST_SEED=", seed);
        gpo_runtime_options options{};
        options.struct_size = sizeof options;
        options.device = "soft";
        options.schedule_seed = seed;
        gpo_runtime_t runtime = nullptr;
        gpo_device_t device = nullptr;
        gpo_cq_t queue = nullptr;
        REQUIRE(gpo_runtime_create(&options, &runtime) == GPO_SUCCESS);
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        REQUIRE(gpo_cq_create(runtime, nullptr, &queue) == GPO_SUCCESS);
        for (uint64_t i = 0; i < 4; ++i) {
            gpo_stream_t stream = nullptr;
            REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
            REQUIRE(gpo_stream_notify(stream, queue, 2 * i) == GPO_SUCCESS);
            expect_entry(queue, 2 * i);   // from here on the scanner knows the stream, and looks at it
            REQUIRE(gpo_stream_notify(stream, queue, 2 * i + 1) == GPO_SUCCESS);
            REQUIRE(gpo_stream_destroy(stream) == GPO_SUCCESS);
            expect_entry(queue, 2 * i + 1);
        }
        CHECK(gpo_runtime_shutdown(runtime, 10'000'000'000) == GPO_SUCCESS);
    }
}
