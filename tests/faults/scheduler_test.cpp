// The start of a scheduler while memory is short.
#include "faults/allocations.h"
#include "support/device_queue.h"
#include "support/gpu.h"

using namespace gpo::test;

constexpr uint64_t kSpell = 5'000'000;   // ns that the library's threads find no memory

TEST_CASE("the start of a scheduler finds no memory: it has launched nothing, or the run goes on and its end is seen") {
    Gpu gpu;
    const Stream pushes = gpu.stream();
    const Memory memory = gpu.memory(16);
    auto options = sized<gpo_scheduler_options>();
    auto handler = sized<gpo_handler>();
    Template fills;
    Graph graph;
    gpo_graph_t child = nullptr;
    SUBCASE("a resident kernel") {
        options.form = GPO_SCHEDULER_RESIDENT;
        options.source = "struct task { unsigned handler; };\n"
                         "__device__ int work(gpo::task_context &, const task &) { return 0; }\n";
        options.threads = 32;
        options.multiprocessors = 1;
        handler.name = "work";
    }
    SUBCASE("a graph that launches itself") {
        options.form = GPO_SCHEDULER_GRAPHS;
        REQUIRE_OK(gpo_template_create(gpu.device, nullptr, fills.out()));
        REQUIRE_OK(gpo_template_add_fill(fills, nullptr, 0, memory, 7, 4, 4, nullptr));
        auto graph_options = sized<gpo_graph_options>();
        graph_options.flags = GPO_GRAPH_DEVICE_LAUNCH;
        REQUIRE_OK(gpo_graph_create(fills, &graph_options, graph.out()));
        child = graph;
        handler.graphs = &child;
        handler.graph_count = 1;
    }
    auto ring_options = sized<gpo_queue_options>();
    ring_options.kind = GPO_QUEUE_RING;
    ring_options.task_size = 16;
    ring_options.capacity = 4;
    const char task[16] = {};
    uint64_t failed = 1, late = 0;
    for (uint64_t kth = 1; failed != 0 && kth < 1000; ++kth) {
        CAPTURE(kth);
        const Stream resident = gpu.stream("resident", GPO_STREAM_RESIDENT);   // its first mark needs memory
        DeviceQueue ring;
        ring_options.stream = resident;
        REQUIRE_OK(gpo_queue_create(gpu.device, &ring_options, ring.out()));
        options.queue = ring;
        Owned<gpo_scheduler_t, gpo_scheduler_destroy> scheduler;
        REQUIRE_OK(gpo_scheduler_create(gpu.device, &options, &handler, sizeof handler, 1, scheduler.out()));
        REQUIRE_OK(gpo_queue_push(ring, pushes, task, 1, 0));
        const uint64_t before = info_of(resident).accepted;
        allocations::arm_threads(1, kth % 2 ? kSpell : 0);
        allocations::arm(kth, false);
        const gpo_status status = gpo_scheduler_start(scheduler);
        failed = allocations::failed();
        allocations::disarm();
        if (status == GPO_SUCCESS) {
            late += failed;
        } else {
            CHECK_STATUS(GPO_OUT_OF_MEMORY, status);
            CHECK(info_of(resident).accepted == before);
            REQUIRE_OK(gpo_scheduler_start(scheduler));
        }
        REQUIRE_OK(gpo_scheduler_drain(scheduler, kPatience));
        allocations::disarm_threads();
    }
    CHECK(failed == 0);
    CHECK(late > 0);
}
