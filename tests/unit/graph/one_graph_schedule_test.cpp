// The only graph of a template whose nodes allocate memory: the next graph is made while another thread destroys the
// previous one. GPUORCH_TEST_SEED=n repeats one schedule.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <utility>

#include "driver/faults.h"
#include "driver/call_recorder.h"
#include "gpuorch/gpuorch.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

namespace faults = gpo::driver::faults;
namespace recorder = gpo::driver::recorder;
using gpo::driver::Function;

constexpr int64_t kPatience = 30'000'000'000;
constexpr uint64_t kSeeds = 20;
constexpr uint64_t kStall = 5'000'000;   // ns of the virtual clock

std::atomic<bool> g_destroying{false};

/// Stalls a call that destroys an executable graph.
void stall(Function, uint64_t) noexcept {
    g_destroying = true;
    gpo::host::sleep_until(gpo::host::now() + kStall);
}

struct Interposed {
    Interposed() {
        gpo::driver::set_interposer([](std::shared_ptr<gpo::driver::Driver> driver) {
            return faults::wrap(recorder::wrap(std::move(driver)));
        });
    }
    ~Interposed() {
        faults::disarm();
        gpo::driver::set_interposer(nullptr);
    }
};

/// A template that allocates, fills and frees memory.
struct World : Interposed, gpo::test::SoftRuntime {
    explicit World(uint64_t seed) : SoftRuntime(seed), on(stream()) {
        REQUIRE(gpo_template_create(device, nullptr, &made) == GPO_SUCCESS);
        uint64_t address = 0;
        uint32_t node = 0;
        REQUIRE(gpo_template_add_allocation(made, nullptr, 0, 4096, &address, &node) == GPO_SUCCESS);
        REQUIRE(gpo_template_add_fill(made, &node, 1, address, 7, 4, 16, &node) == GPO_SUCCESS);
        REQUIRE(gpo_template_add_free(made, &node, 1, address, nullptr) == GPO_SUCCESS);
        recorder::clear();
        g_destroying = false;
    }
    ~World() { CHECK(gpo_template_destroy(made) == GPO_SUCCESS); }
    gpo_status create(gpo_graph_t* graph) { return gpo_graph_create(made, nullptr, graph); }
    void run(gpo_graph_t graph) {
        CHECK(gpo_graph_launch(graph, on) == GPO_SUCCESS);
        CHECK(gpo_stream_wait(on, kPatience) == GPO_SUCCESS);
    }
    template <class Done>
    void until(Done done) {
        const uint64_t deadline = gpo::host::deadline_after(kPatience);
        while (!done() && gpo::host::now() < deadline) gpo::host::sleep_until(gpo::host::now() + 10'000);
        REQUIRE(done());
    }
    uint64_t destroyed() { return recorder::count(Function::cuGraphExecDestroy); }

    gpo_stream_t on = nullptr;
    gpo_template_t made = nullptr;
};

}  // namespace

TEST_CASE("the next graph of a template waits while another thread destroys the one before") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        gpo_graph_t first = nullptr, second = nullptr;
        REQUIRE(world.create(&first) == GPO_SUCCESS);
        faults::arm({.function = Function::cuGraphExecDestroy, .kth = UINT64_MAX, .watch = stall});
        REQUIRE(gpo_graph_destroy(first) == GPO_SUCCESS);
        world.until([] { return g_destroying.load(); });
        REQUIRE(world.create(&second) == GPO_SUCCESS);
        CHECK(world.destroyed() == 1);
        faults::disarm();
        world.run(second);
        CHECK(gpo_graph_destroy(second) == GPO_SUCCESS);
    });
}

TEST_CASE("the next graph of a template may come first, and then destroys the one before and keeps its place") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        gpo_graph_t graph = nullptr, other = nullptr;
        REQUIRE(world.create(&graph) == GPO_SUCCESS);
        REQUIRE(gpo_graph_destroy(graph) == GPO_SUCCESS);
        REQUIRE(world.create(&graph) == GPO_SUCCESS);
        CHECK(world.destroyed() == 1);
        REQUIRE(gpo_device_wait(world.device, kPatience) == GPO_SUCCESS);   // the other thread finds nothing to destroy
        CHECK(world.destroyed() == 1);
        const uint64_t asked = recorder::count(Function::cuGraphInstantiateWithParams);
        CHECK(world.create(&other) == GPO_NOT_SUPPORTED);
        CHECK(recorder::count(Function::cuGraphInstantiateWithParams) == asked);   // the place is taken
        world.run(graph);
        CHECK(gpo_graph_destroy(graph) == GPO_SUCCESS);
    });
}

TEST_CASE("a graph that the driver refuses to make leaves its place to the next one") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        gpo_graph_t graph = nullptr;
        for (const bool before : {false, true}) {
            CAPTURE(before);
            if (before) {
                REQUIRE(world.create(&graph) == GPO_SUCCESS);
                REQUIRE(gpo_graph_destroy(graph) == GPO_SUCCESS);
            }
            faults::arm({Function::cuGraphInstantiateWithParams, 1, CUDA_ERROR_OUT_OF_MEMORY});
            CHECK(world.create(&graph) == GPO_OUT_OF_MEMORY);
            faults::disarm();
            REQUIRE(world.create(&graph) == GPO_SUCCESS);
            world.run(graph);
            CHECK(gpo_graph_destroy(graph) == GPO_SUCCESS);
        }
    });
}
