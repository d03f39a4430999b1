// An event in a held launch, recorded elsewhere while the driver gets the launch, under many schedules.
// GPUORCH_TEST_SEED=n repeats one schedule.
#include <doctest/doctest.h>

#include <vector>

#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "softgpu/machine/rates.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

constexpr int64_t kPatience = 10'000'000'000;
constexpr uint64_t kSlow = 4 << 20, kQuick = 64;   // bytes of fills that take 100 ms and less
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 100;
#else
constexpr uint64_t kSeeds = 400;
#endif

/// Graphs that fill and record the event: `quick` is launched on a held stream, `slow` is for another one.
struct World : gpo::test::SoftRuntime {
    explicit World(uint64_t seed) : SoftRuntime(seed), held(stream()), busy(stream()), waiting(stream()) {
        gpo::softgpu::set_rates({.d2d_bytes_per_s = 4096e4});
        REQUIRE(gpo_timeline_create(runtime, nullptr, &go) == GPO_SUCCESS);
        REQUIRE(gpo_event_create(device, nullptr, &event) == GPO_SUCCESS);
        REQUIRE(gpo_memory_allocate(device, kSlow, nullptr, &memory) == GPO_SUCCESS);
        quick = graph(kQuick);
        slow = graph(kSlow);
        REQUIRE(gpo_stream_wait_timeline(held, go, 1) == GPO_SUCCESS);
        REQUIRE(gpo_graph_launch(quick, held) == GPO_SUCCESS);
        REQUIRE(gpo_stream_wait_event(waiting, event) == GPO_SUCCESS);
    }
    gpo_graph_t graph(uint64_t bytes) {
        gpo_template_t made = nullptr;
        gpo_graph_t out = nullptr;
        uint32_t node = 0;
        REQUIRE(gpo_template_create(device, nullptr, &made) == GPO_SUCCESS);
        REQUIRE(gpo_template_add_fill(made, nullptr, 0, memory, 7, 1, bytes, &node) == GPO_SUCCESS);
        REQUIRE(gpo_template_add_event_record(made, &node, 1, event, nullptr) == GPO_SUCCESS);
        REQUIRE(gpo_graph_create(made, nullptr, &out) == GPO_SUCCESS);
        return out;
    }
    const gpo_stream_t held, busy, waiting;
    gpo_timeline_t go = nullptr;
    gpo_event_t event = nullptr;
    gpo_graph_t quick = nullptr, slow = nullptr;
    uint64_t memory = 0;
};

}  // namespace

TEST_CASE("what is recorded after a held launch was accepted is waited for, whenever that is given to the driver") {
    for (const bool launch : {false, true}) {
        CAPTURE(launch);
        gpo::test::each_seed(kSeeds, [&](uint64_t seed) {
            World world(seed);
            const gpo_stream_t other = world.stream(), behind = world.stream();
            gpo_status at_wait = GPO_INTERNAL, at_stream = GPO_INTERNAL;
            {
                std::vector<gpo::host::Thread> threads;
                threads.emplace_back("releaser", [&] { CHECK(gpo_timeline_signal(world.go, 1) == GPO_SUCCESS); });
                threads.emplace_back("recorder", [&] {
                    if (launch) {
                        CHECK(gpo_graph_launch(world.slow, world.busy) == GPO_SUCCESS);
                    } else {
                        CHECK(gpo_fill(world.busy, world.memory, 7, 1, kSlow) == GPO_SUCCESS);
                        CHECK(gpo_event_record(world.event, world.busy) == GPO_SUCCESS);
                    }
                    CHECK(gpo_stream_wait_event(other, world.event) == GPO_SUCCESS);
                    CHECK(gpo_event_wait(world.event, kPatience) == GPO_SUCCESS);
                    at_wait = gpo_stream_wait(world.busy, 1'000'000);
                    CHECK(gpo_stream_wait_event(behind, world.event) == GPO_SUCCESS);
                    CHECK(gpo_stream_wait(other, kPatience) == GPO_SUCCESS);
                    at_stream = gpo_stream_wait(world.busy, 0);
                });
                threads.emplace_back("looker", [&] {
                    for (int i = 0; i < 3; ++i) gpo_event_query(world.event);
                });
            }
            CHECK(at_wait == GPO_SUCCESS);
            CHECK(at_stream == GPO_SUCCESS);
            for (const gpo_stream_t stream : {world.held, world.waiting, behind})
                CHECK(gpo_stream_wait(stream, kPatience) == GPO_SUCCESS);
            CHECK(gpo_event_query(world.event) == GPO_SUCCESS);
        });
    }
}

TEST_CASE("a held launch that is cancelled or given to the driver ends its recordings, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        gpo_status waited = GPO_INTERNAL;
        {
            std::vector<gpo::host::Thread> threads;
            threads.emplace_back("releaser", [&] { CHECK(gpo_timeline_signal(world.go, 1) == GPO_SUCCESS); });
            threads.emplace_back("canceller",
                                 [&] { CHECK(gpo_stream_cancel_held(world.held, nullptr) == GPO_SUCCESS); });
            threads.emplace_back("waiter", [&] { waited = gpo_event_wait(world.event, kPatience); });
        }
        CHECK((waited == GPO_SUCCESS || waited == GPO_CANCELLED));
        CHECK(gpo_stream_wait(world.waiting, kPatience) == waited);
        CHECK(gpo_event_record(world.event, world.busy) == GPO_SUCCESS);
        CHECK(gpo_event_wait(world.event, kPatience) == GPO_SUCCESS);
    });
}
