// Destroys objects and frees memory while a kernel on a plain stream waits for the host. Every call returns, and the
// driver accepts work all the time.
#include <memory>

#include "support/gpu.h"
#include "template_rig.h"

using namespace gpo::test;

namespace {

/// The driver takes work, and the GPU does it.
void goes_on(WordsRig& rig) {
    const uint32_t before = rig.word(15);
    REQUIRE_OK(launch(rig.on, rig.add, 1, 1, rig.at(15), 1u));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(rig.word(15) == before + 1);
}

}  // namespace

TEST_CASE("beside a kernel that waits for the host all that is in use is given up" * gated) {
    WordsRig rig;
    if (rig.too_old()) return;
    Memory memory = rig.memory(1 << 20);
    auto options = sized<gpo_arena_options>();
    options.slab_bytes = options.initial_bytes = 1 << 20;
    Arena arena;
    REQUIRE_OK(gpo_arena_create(rig.device, &options, arena.out()));
    Template of = counting(rig);
    Graph loop = make_graph(of), other = make_graph(of);
    rig.run(loop);
    CHECK(rig.word(0) == 3);
    Template plain = make_template(rig);
    REQUIRE_OK(gpo_template_begin(plain, rig.on));
    REQUIRE_OK(launch(rig.on, rig.add, 1, 1, rig.at(0), 1u));
    REQUIRE_OK(gpo_template_end(plain));
    auto launched_by_kernels = sized<gpo_graph_options>();
    launched_by_kernels.flags = GPO_GRAPH_DEVICE_LAUNCH;
    Graph launched;
    REQUIRE_OK(gpo_graph_create(plain, &launched_by_kernels, launched.out()));
    const Kernel launch_tail = rig.kernel(R"(
#include <gpuorch/device/graph.cuh>
extern "C" __global__ void launch_tail(gpo::device_graph graph) { gpo::launch_tail(graph); }
)", "launch_tail");
    struct {
        uint64_t native, status;
    } handle;
    REQUIRE_OK(gpo_graph_get_device_handle(launched, &handle.native, &handle.status));
    Template launches = make_template(rig);
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const void* arguments[] = {&handle};
    REQUIRE_OK(gpo_template_add_kernel(launches, nullptr, 0, launch_tail, &shape, arguments, nullptr, 1, nullptr));
    Graph launching = make_graph(launches);
    rig.run(launching);
    CHECK(rig.word(0) == 4);
    void* shared_memory = nullptr;
    REQUIRE_OK(gpo_template_allocate_host(plain, 4, &shared_memory));
    auto shared_options = sized<gpo_event_options>();
    shared_options.flags = GPO_EVENT_INTERPROCESS;
    Event shared;
    REQUIRE_OK(gpo_event_create(rig.device, &shared_options, shared.out()));
    Stream waiting = rig.stream("waiting");
    Gate gate(rig);
    gate.put_on(waiting);
    memory = Memory();
    goes_on(rig);
    arena.reset();
    goes_on(rig);
    loop.reset();
    goes_on(rig);
    launching.reset();
    launches.reset();
    goes_on(rig);
    launched.reset();
    plain.reset();
    goes_on(rig);
    shared.reset();
    goes_on(rig);
    rig.run(other);
    CHECK(rig.word(0) == 3);
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(waiting));
    gate.open();
    CHECK_OK(gpo_stream_wait(waiting, kPatience));
    goes_on(rig);
}

TEST_CASE("what was freed goes back to the device while a later kernel waits for the host" * gated) {
    constexpr uint64_t kBytes = uint64_t{256} << 20;
    WordsRig rig;
    const auto free_bytes = [&] {
        uint64_t free = 0, total = 0;
        CHECK_OK(gpo_device_get_memory(rig.device, &free, &total));
        return free;
    };
    Memory memory = rig.memory(kBytes);
    Stream earlier = rig.stream("earlier"), later = rig.stream("later");
    Gate first(rig), second(rig);
    first.put_on(earlier);
    const uint64_t before = free_bytes();
    memory = Memory();   // behind the first kernel
    second.put_on(later);
    first.open();
    CHECK(comes_true([&] { return free_bytes() >= before + kBytes / 2; }));
    goes_on(rig);
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(later));
    second.open();
    CHECK_OK(gpo_stream_wait(later, kPatience));
}
