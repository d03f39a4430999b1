// The driver calls of launches on a recorded stream, and of graph updates to recordings with few differences; and the
// state after an update with a failed call.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "driver/faults.h"
#include "driver/call_recorder.h"
#include "gpuorch/gpuorch.h"
#include "support/soft.h"

namespace {

namespace driver_faults = gpo::driver::faults;
namespace driver_calls = gpo::driver::recorder;
using gpo::driver::Function;

constexpr const char* kAddSource = R"(
extern "C" __global__ void add(unsigned *to, unsigned value) { if (threadIdx.x == 0) atomicAdd(to, value); }
)";

/// A stream, a kernel that adds, and memory that a copy, a fill and the kernel write.
struct Recorded {
    Recorded() {
        gpo::driver::set_interposer([](std::shared_ptr<gpo::driver::Driver> driver) {
            return driver_calls::wrap(driver_faults::wrap(std::move(driver)));
        });
        runtime = gpo::test::make_soft_runtime();
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        for (gpo_stream_t* each : {&stream, &other}) REQUIRE(gpo_stream_create(device, nullptr, each) == GPO_SUCCESS);
        auto compile = gpo::test::sized<gpo_compile_options>();
        compile.source = kAddSource;
        REQUIRE(gpo_module_compile(device, &compile, &module) == GPO_SUCCESS);
        REQUIRE(gpo_module_get_kernel(module, "add", &add) == GPO_SUCCESS);
        REQUIRE(gpo_memory_allocate(device, sizeof(uint32_t) * kWords, nullptr, &memory) == GPO_SUCCESS);
        REQUIRE(gpo_arena_create(device, nullptr, &arena) == GPO_SUCCESS);
        REQUIRE(gpo_arena_allocate(arena, sizeof(uint32_t) * kWords, GPO_AUTO, &pinned) == GPO_SUCCESS);
        REQUIRE(gpo_template_create(device, nullptr, &recorded) == GPO_SUCCESS);
    }
    ~Recorded() {
        if (graph) CHECK(gpo_graph_destroy(graph) == GPO_SUCCESS);
        CHECK(gpo_template_destroy(recorded) == GPO_SUCCESS);
        CHECK(gpo_arena_free(arena, pinned) == GPO_SUCCESS);
        CHECK(gpo_memory_free(device, memory) == GPO_SUCCESS);
        CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000) == GPO_SUCCESS);
        driver_faults::disarm();
        gpo::driver::set_interposer(nullptr);
    }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;

    uint64_t word(uint64_t index) const { return memory + index * sizeof(uint32_t); }

    /// word 0 = 0, and then + 1, + middle, + 1; word 1 = fill; word 2 = word `from`.
    void record(uint32_t middle, uint32_t fill, uint64_t from, uint32_t blocks = 1) const {
        REQUIRE(gpo_template_begin(recorded, stream) == GPO_SUCCESS);
        REQUIRE(gpo_fill(stream, word(0), 0, 4, 1) == GPO_SUCCESS);
        launch(1, 1);
        launch(middle, blocks);
        uint32_t node = 0;
        REQUIRE(gpo_template_get_last_node(recorded, stream, &node) == GPO_SUCCESS);
        REQUIRE(gpo_template_add_parameter(recorded, "middle", node, GPO_PARAMETER_ARGUMENT, 1) == GPO_SUCCESS);
        launch(1, 1);
        REQUIRE(gpo_fill(stream, word(1), fill, 4, 1) == GPO_SUCCESS);
        REQUIRE(gpo_copy_on_device(stream, word(2), word(from), 4) == GPO_SUCCESS);
        REQUIRE(gpo_template_end(recorded) == GPO_SUCCESS);
    }
    void launch(uint32_t value, uint32_t blocks, const gpo_launch& extra = gpo_launch{}) const {
        gpo_launch shape = extra;
        shape.struct_size = sizeof shape;
        shape.grid[0] = blocks;
        shape.block[0] = 32;
        const uint64_t to = word(0);
        const void* arguments[] = {&to, &value};
        REQUIRE(gpo_stream_launch_kernel(stream, add, &shape, arguments, nullptr, 2) == GPO_SUCCESS);
    }
    void make_graph() { REQUIRE(gpo_graph_create(recorded, nullptr, &graph) == GPO_SUCCESS); }
    /// The driver otherwise gets no graph of a recording that is only compared with a graph's.
    void give_driver_the_graph() const {
        void* native = nullptr;
        REQUIRE(gpo_template_get_native(recorded, &native) == GPO_SUCCESS);
    }
    gpo_graph_update_report update() const {
        auto report = gpo::test::sized<gpo_graph_update_report>();
        REQUIRE(gpo_graph_update(graph, &report) == GPO_SUCCESS);
        return report;
    }
    std::vector<uint32_t> run() const {
        REQUIRE(gpo_graph_launch(graph, stream) == GPO_SUCCESS);
        REQUIRE(gpo_copy_to_host(stream, pinned, memory, sizeof(uint32_t) * kWords) == GPO_SUCCESS);
        REQUIRE(gpo_stream_wait(stream, 30'000'000'000) == GPO_SUCCESS);
        std::vector<uint32_t> out(3);
        std::memcpy(out.data(), pinned, out.size() * sizeof out[0]);
        return out;
    }

    static constexpr uint64_t kWords = 8;
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr, other = nullptr;
    gpo_module_t module = nullptr;
    gpo_kernel_t add = nullptr;
    gpo_arena_t arena = nullptr;
    gpo_template_t recorded = nullptr;
    gpo_graph_t graph = nullptr;
    uint64_t memory = 0;
    void* pinned = nullptr;
};

using Words = std::vector<uint32_t>;

}  // namespace

TEST_CASE("graph: streams that were recorded aren't asked at each launch whether they are captured") {
    Recorded world;
    gpo_event_t fork = nullptr, join = nullptr;
    REQUIRE(gpo_event_create(world.device, nullptr, &fork) == GPO_SUCCESS);
    REQUIRE(gpo_event_create(world.device, nullptr, &join) == GPO_SUCCESS);
    REQUIRE(gpo_template_begin(world.recorded, world.stream) == GPO_SUCCESS);
    REQUIRE(gpo_event_record(fork, world.stream) == GPO_SUCCESS);
    REQUIRE(gpo_stream_wait_event(world.other, fork) == GPO_SUCCESS);
    REQUIRE(gpo_fill(world.other, world.word(0), 7, 4, 3) == GPO_SUCCESS);
    REQUIRE(gpo_event_record(join, world.other) == GPO_SUCCESS);
    REQUIRE(gpo_stream_wait_event(world.stream, join) == GPO_SUCCESS);
    REQUIRE(gpo_template_end(world.recorded) == GPO_SUCCESS);
    world.make_graph();
    driver_calls::clear();
    CHECK(world.run() == Words{7, 7, 7});
    CHECK(gpo_graph_launch(world.graph, world.other) == GPO_SUCCESS);
    CHECK(driver_calls::count(Function::cuGraphLaunch) == 2);
    CHECK(driver_calls::count(Function::cuStreamIsCapturing) == 0);

    SUBCASE("but those whose native stream the program has are") {
        void* native = nullptr;
        REQUIRE(gpo_stream_get_native(world.stream, &native) == GPO_SUCCESS);
        REQUIRE(gpo_template_begin(world.recorded, world.stream) == GPO_SUCCESS);
        REQUIRE(gpo_template_cancel(world.recorded) == GPO_SUCCESS);
        driver_calls::clear();
        CHECK(gpo_graph_launch(world.graph, world.stream) == GPO_SUCCESS);
        CHECK(driver_calls::count(Function::cuStreamIsCapturing) == 1);
    }
    SUBCASE("and while they are recorded again, a launch is refused") {
        REQUIRE(gpo_template_begin(world.recorded, world.stream) == GPO_SUCCESS);
        CHECK(gpo_graph_launch(world.graph, world.stream) == GPO_CAPTURE_REFUSED);
        REQUIRE(gpo_template_cancel(world.recorded) == GPO_SUCCESS);
        CHECK(gpo_graph_launch(world.graph, world.stream) == GPO_SUCCESS);
    }
    CHECK(gpo_event_destroy(fork) == GPO_SUCCESS);
    CHECK(gpo_event_destroy(join) == GPO_SUCCESS);
}

TEST_CASE("graph: an update to a recording that differs in a few nodes gives the driver these") {
    Recorded world;
    world.record(10, 5, 0);
    world.make_graph();
    CHECK(world.run() == Words{12, 5, 12});

    SUBCASE("an argument") {
        world.record(20, 5, 0);
        driver_calls::clear();
        CHECK(world.update().rebuilt == 0);
        CHECK(driver_calls::count(Function::cuGraphExecKernelNodeSetParams) == 1);
        CHECK(driver_calls::count(Function::cuGraphExecUpdate) == 0);
        CHECK(world.run() == Words{22, 5, 22});
    }
    SUBCASE("nothing") {
        world.record(10, 5, 0);
        driver_calls::clear();
        CHECK(world.update().rebuilt == 0);
        CHECK(driver_calls::count(Function::cuGraphExecKernelNodeSetParams) == 0);
        CHECK(driver_calls::count(Function::cuGraphExecUpdate) == 0);
        CHECK(world.run() == Words{12, 5, 12});
    }
    SUBCASE("a grid, a fill and a copy") {
        world.record(10, 6, 1, 3);
        driver_calls::clear();
        CHECK(world.update().rebuilt == 0);
        CHECK(driver_calls::count(Function::cuGraphExecKernelNodeSetParams) == 1);
        CHECK(driver_calls::count(Function::cuGraphExecMemsetNodeSetParams) == 1);
        CHECK(driver_calls::count(Function::cuGraphExecMemcpyNodeSetParams) == 1);
        CHECK(driver_calls::count(Function::cuGraphExecUpdate) == 0);
        CHECK(world.run() == Words{32, 6, 6});
    }
    SUBCASE("a value that was set is compared with, and stays") {
        const uint32_t value = 100;
        REQUIRE(gpo_graph_set(world.graph, "middle", &value, sizeof value) == GPO_SUCCESS);
        CHECK(world.run() == Words{102, 5, 102});
        world.record(10, 5, 0);
        driver_calls::clear();
        CHECK(world.update().rebuilt == 0);
        CHECK(driver_calls::count(Function::cuGraphExecKernelNodeSetParams) == 1);   // to 10, the recorded value
        CHECK(world.run() == Words{102, 5, 102});
    }
    SUBCASE("a node that the driver refuses is left to its own update, with those before put back") {
        world.record(20, 6, 0);
        driver_faults::arm({Function::cuGraphExecMemsetNodeSetParams, 1, CUDA_ERROR_INVALID_VALUE});
        driver_calls::clear();
        CHECK(world.update().rebuilt == 0);
        CHECK(driver_calls::count(Function::cuGraphExecKernelNodeSetParams) == 2);
        CHECK(driver_calls::count(Function::cuGraphExecUpdate) == 1);
        driver_faults::disarm();
        CHECK(world.run() == Words{22, 6, 22});
    }
}

TEST_CASE("graph: an update to a recording that differs in a launch's attributes is the driver's") {
    Recorded world;
    const auto record = [&](int32_t priority) {
        REQUIRE(gpo_template_begin(world.recorded, world.stream) == GPO_SUCCESS);
        REQUIRE(gpo_fill(world.stream, world.word(0), 0, 4, 3) == GPO_SUCCESS);
        gpo_launch with{};
        if (priority) {
            with.flags = GPO_LAUNCH_PRIORITY;
            with.priority = priority;
        }
        world.launch(3, 1, with);
        REQUIRE(gpo_template_end(world.recorded) == GPO_SUCCESS);
    };
    record(0);
    world.make_graph();
    record(-1);
    driver_calls::clear();
    CHECK(world.update().rebuilt == 0);
    CHECK(driver_calls::count(Function::cuGraphExecUpdate) == 1);
    CHECK(world.run() == Words{3, 0, 0});
}

TEST_CASE("graph: what is turned off stays off through updates, and through one that fails") {
    Recorded world;
    // Three nodes; one or all differ each time. The driver gets a change of one node, or a whole update.
    bool all = false;
    SUBCASE("of one node") {}
    SUBCASE("of most nodes") { all = true; }
    const auto record = [&](uint32_t value) {
        REQUIRE(gpo_template_begin(world.recorded, world.stream) == GPO_SUCCESS);
        uint32_t node = 0;
        for (uint32_t i = 0; i < 3; ++i) {
            REQUIRE(gpo_fill(world.stream, world.word(i), i == 0 || all ? value : 9, 4, 1) == GPO_SUCCESS);
            REQUIRE(gpo_template_get_last_node(world.recorded, world.stream, &node) == GPO_SUCCESS);
            const char* const names[] = {"first", "second", "third"};
            REQUIRE(gpo_template_add_parameter(world.recorded, names[i], node, GPO_PARAMETER_ENABLED, 0) ==
                    GPO_SUCCESS);
        }
        REQUIRE(gpo_template_end(world.recorded) == GPO_SUCCESS);
        if (all) world.give_driver_the_graph();
    };
    const auto turn = [&](const char* name, uint32_t on) {
        REQUIRE(gpo_graph_set(world.graph, name, &on, sizeof on) == GPO_SUCCESS);
    };
    const auto run = [&] {
        REQUIRE(gpo_fill(world.stream, world.word(0), 0, 4, 3) == GPO_SUCCESS);
        return world.run();
    };
    const auto rest = [&](uint32_t value) { return all ? value : 9; };
    record(1);
    world.make_graph();
    turn("first", 0);
    CHECK(run() == Words{0, rest(1), rest(1)});

    record(2);
    CHECK(world.update().rebuilt == 0);
    CHECK(run() == Words{0, rest(2), rest(2)});
    record(3);
    CHECK(world.update().rebuilt == 0);   // one update after the other, without a launch between them
    record(4);
    CHECK(world.update().rebuilt == 0);
    turn("third", 0);
    CHECK(run() == Words{0, rest(4), 0});

    // The update stops at this call.
    record(5);
    const Function last = all ? Function::cuGraphExecUpdate : Function::cuGraphNodeSetEnabled;
    driver_faults::arm({last, all ? 1u : 2u, CUDA_ERROR_OUT_OF_MEMORY});
    CHECK(gpo_graph_update(world.graph, nullptr) == GPO_OUT_OF_MEMORY);
    driver_faults::disarm();
    CHECK(run() == Words{0, rest(4), 0});

    CHECK(world.update().rebuilt == 0);
    turn("first", 1);
    turn("second", 0);
    CHECK(run() == Words{5, 0, 0});
    turn("second", 1);
    turn("third", 1);
    CHECK(run() == Words{5, rest(5), rest(5)});
}

TEST_CASE("graph: an update that fails leaves the memory held that the graph has, and not that of the recording") {
    Recorded world;
    uint64_t has = 0, recorded = 0;
    for (uint64_t* each : {&has, &recorded})
        REQUIRE(gpo_memory_allocate(world.device, 64, nullptr, each) == GPO_SUCCESS);
    const auto record = [&](uint64_t address, uint32_t fills) {
        REQUIRE(gpo_template_begin(world.recorded, world.stream) == GPO_SUCCESS);
        for (uint32_t i = 0; i < fills; ++i)
            REQUIRE(gpo_fill(world.stream, address, 7 + i, 4, 1) == GPO_SUCCESS);
        REQUIRE(gpo_copy_on_device(world.stream, world.word(0), address, 4) == GPO_SUCCESS);
        REQUIRE(gpo_template_end(world.recorded) == GPO_SUCCESS);
    };
    const auto waiting = [&] {
        auto figures = gpo::test::sized<gpo_template_statistics>();
        REQUIRE(gpo_template_get_statistics(world.recorded, &figures) == GPO_SUCCESS);
        return figures.waiting_frees;
    };
    record(has, 1);
    world.make_graph();
    Function fails = Function::cuGraphInstantiateWithParams;
    SUBCASE("another graph can't be made") { record(recorded, 2); }
    SUBCASE("the driver's update fails") {
        record(recorded, 1);
        world.give_driver_the_graph();
        fails = Function::cuGraphExecUpdate;
    }
    driver_faults::arm({fails, 1, CUDA_ERROR_OUT_OF_MEMORY});
    CHECK(gpo_graph_update(world.graph, nullptr) == GPO_OUT_OF_MEMORY);
    driver_faults::disarm();
    CHECK(gpo_memory_free(world.device, recorded) == GPO_SUCCESS);
    CHECK(waiting() == 0);
    CHECK(gpo_memory_free(world.device, has) == GPO_SUCCESS);
    CHECK(waiting() == 1);
    CHECK(world.run()[0] == 7);
    CHECK(gpo_graph_destroy(world.graph) == GPO_SUCCESS);
    world.graph = nullptr;
    CHECK(waiting() == 0);
}
