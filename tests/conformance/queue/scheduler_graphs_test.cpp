// Schedulers whose tasks are graphs of kernels.
#include "conformance/queue/scheduler_rig.h"

using namespace gpo::test;

namespace {

constexpr const char* kNodes = R"(
#include <gpuorch/device/queue.cuh>
struct task { unsigned handler, number, rest[2]; };
// The first node of a graph reads the task and doubles its number. The second node adds the result to the sums.
extern "C" __global__ void twice(const task *mine, unsigned *made) { *made = 2 * mine->number; }
extern "C" __global__ void add(const unsigned *made, unsigned long long *sums) {
    atomicAdd(&sums[0], (unsigned long long)*made);
    atomicAdd(&sums[1], 1ull);
}
// Pushes tasks for the first handler: as many as its own says.
extern "C" __global__ void push(const task *mine, gpo::ring ring) {
    for (unsigned i = 0; i < mine->number; ++i) gpo::push(ring, task{0, 1, {}}, gpo::nanoseconds(1000000000));
}
)";

using Template = Owned<gpo_template_t, gpo_template_destroy>;
using Graph = Owned<gpo_graph_t, gpo_graph_destroy>;

struct Firing : Gpu {
    Firing() : plain(stream("plain")), ring(make_queue(*this, ring_options(256))), sums(memory(64)) {
        REQUIRE_OK(gpo_fill(plain, sums, 0, 4, 16));
        REQUIRE_OK(gpo_stream_wait(plain, kPatience));
        options = sized<gpo_scheduler_options>();
        options.form = GPO_SCHEDULER_GRAPHS;
        options.queue = ring;
        options.label = "steps";
        auto compiled = sized<gpo_compile_options>();
        compiled.source = kNodes;
        REQUIRE_OK(gpo_module_compile(device, &compiled, module.out()));
    }
    Graph graph(gpo_template_t of, uint32_t flags = GPO_GRAPH_DEVICE_LAUNCH) {
        auto graph_options = sized<gpo_graph_options>();
        graph_options.flags = flags;
        graph_options.label = "child";
        Graph made;
        REQUIRE_OK(gpo_graph_create(of, &graph_options, made.out()));
        return made;
    }
    template <class... Arguments>
    uint32_t node(gpo_template_t to, uint32_t after, const char* name, Arguments... arguments) {
        Kernel kernel;
        REQUIRE_OK(gpo_module_get_kernel(module, name, kernel.out()));
        auto shape = sized<gpo_launch>();
        shape.grid[0] = shape.block[0] = 1;
        const void* values[] = {&arguments...};
        uint32_t made = 0;
        REQUIRE_OK(gpo_template_add_kernel(to, &after, after != 0, kernel, &shape, values, nullptr,
                                           sizeof...(arguments), &made));
        return made;
    }
    /// Makes `count` graphs of two nodes. Each graph reads its own task in `tasks`.
    void make_adding(uint64_t count) {
        tasks = memory(count * sizeof(NumberTask));
        made = memory(count * 4);
        for (uint64_t i = 0; i < count; ++i) {
            Template to;
            REQUIRE_OK(gpo_template_create(device, nullptr, to.out()));
            const uint32_t first = node(to, 0, "twice", uint64_t{tasks} + i * 16, uint64_t{made} + i * 4);
            node(to, first, "add", uint64_t{made} + i * 4, uint64_t{sums});
            adding.push_back(graph(to));
            handles.push_back(adding.back());
        }
    }
    gpo_handler adding_handler() const {
        auto handler = sized<gpo_handler>();
        handler.name = "add";
        handler.graphs = handles.data();
        handler.graph_count = static_cast<uint32_t>(handles.size());
        handler.task_memory = tasks;
        return handler;
    }
    gpo_status create(const std::vector<gpo_handler>& handlers, Scheduler& out) {
        return gpo_scheduler_create(device, &options, handlers.data(), sizeof handlers[0],
                                    static_cast<uint32_t>(handlers.size()), out.out());
    }
    std::vector<uint64_t> sum() { return device_words<uint64_t>(*this, plain, sums, 2); }

    Stream plain;
    DeviceQueue ring;
    Memory sums, tasks, made;
    Module module;
    std::vector<Graph> adding;
    std::vector<gpo_graph_t> handles;
    gpo_scheduler_options options;
};

}  // namespace

TEST_CASE("a scheduler launches graphs for what a closed ring has left, and ends by itself") {
    Firing gpu;
    gpu.make_adding(3);
    Scheduler scheduler;
    REQUIRE_OK(gpu.create({gpu.adding_handler()}, scheduler));
    std::vector<NumberTask> tasks;
    for (uint32_t i = 1; i <= 20; ++i) tasks.push_back({0, i, {}});
    push_tasks(gpu.ring, gpu.plain, tasks);
    CHECK_OK(gpo_queue_close(gpu.ring));
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
    CHECK(gpu.sum() == std::vector<uint64_t>{20 * 21, 20});
    CHECK(queue_info(gpu.ring).done == 20);
}

TEST_CASE("tasks wait for the graphs of their handler while others are launched, whatever the batch") {
    for (const uint32_t batch : {1, 2, 7, 40, 120}) {
        CAPTURE(batch);
        Firing gpu;
        gpu.make_adding(37);
        gpu.options.batch = batch;
        Template to;
        REQUIRE_OK(gpo_template_create(gpu.device, nullptr, to.out()));
        const Memory task = gpu.memory(16), made = gpu.memory(4);
        const uint32_t first = gpu.node(to, 0, "twice", uint64_t{task}, uint64_t{made});
        gpu.node(to, first, "add", uint64_t{made}, uint64_t{gpu.sums});
        const Graph only = gpu.graph(to);
        const gpo_graph_t graph = only;
        auto handler = sized<gpo_handler>();
        handler.graphs = &graph;
        handler.graph_count = 1;
        handler.task_memory = task;
        Scheduler scheduler;
        REQUIRE_OK(gpu.create({gpu.adding_handler(), handler}, scheduler));
        // The second handler has one graph, and gets task 5, tasks 21 to 29, and every third task.
        std::vector<NumberTask> tasks;
        for (uint32_t i = 1; i <= 60; ++i) tasks.push_back({i == 5 || (i > 20 && i < 30) || i % 3 == 0, i, {}});
        push_tasks(gpu.ring, gpu.plain, tasks);
        CHECK_OK(gpo_queue_close(gpu.ring));
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
        CHECK(gpu.sum() == std::vector<uint64_t>{60 * 61, 60});
        CHECK(scheduler_info(scheduler).tasks == 60);
        CHECK(scheduler_info(scheduler).errors == 0);
        CHECK(queue_info(gpu.ring).done == 60);
    }
}

TEST_CASE("a scheduler launches a graph for each task, in steps, run after run" * gated) {
    Firing gpu;
    gpu.make_adding(3);
    Scheduler scheduler;
    REQUIRE_OK(gpu.create({gpu.adding_handler()}, scheduler));
    for (uint32_t run = 1; run <= 3; ++run) {
        std::vector<NumberTask> tasks;
        for (uint32_t i = 1; i <= 20; ++i) tasks.push_back({0, i, {}});
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        push_tasks(gpu.ring, gpu.plain, tasks);
        CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
        CHECK(gpu.sum()[0] == run * 20 * 21);
        CHECK(gpu.sum()[1] == run * 20);
        const auto info = scheduler_info(scheduler);
        CHECK(info.tasks == run * 20);
        CHECK(info.steps >= run * 7);  // each step launches at most three graphs
        CHECK(info.blocks == 1);
        CHECK(info.workers == 0);
        CHECK(queue_info(gpu.ring).done == run * 20);
    }
}

TEST_CASE("graphs push tasks, tasks of no handler are errors, and a run stops in its middle" * gated) {
    Firing gpu;
    gpu.make_adding(2);
    Template to;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, to.out()));
    const Memory task = gpu.memory(16);
    gpu.node(to, 0, "push", uint64_t{task}, row_of<RingRow>(gpu.ring));
    const Graph pushing = gpu.graph(to);
    const gpo_graph_t graph = pushing;
    auto handler = sized<gpo_handler>();
    handler.graphs = &graph;
    handler.graph_count = 1;
    handler.task_memory = task;
    Scheduler scheduler;
    REQUIRE_OK(gpu.create({gpu.adding_handler(), handler}, scheduler));
    push_tasks(gpu.ring, gpu.plain, {{1, 5, {}}, {4, 0, {}}, {1, 6, {}}});
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
    CHECK(gpu.sum()[1] == 11);
    const auto errors = task_errors(scheduler);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].handler == 4);
    CHECK(errors[0].status == GPO_NOT_FOUND);
    CHECK(errors[0].position == 1);
    CHECK(scheduler_info(scheduler).tasks == 14);

    REQUIRE_OK(gpo_scheduler_start(scheduler));
    push_tasks(gpu.ring, gpu.plain, std::vector<NumberTask>(100));
    CHECK_OK(gpo_scheduler_stop(scheduler, kPatience));
    const auto info = scheduler_info(scheduler);
    CHECK(info.last_end == GPO_CANCELLED);
    CHECK(info.tasks + info.depth == 114);  // every task that was taken was done
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
    CHECK(gpu.sum()[1] == 111);
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    gpu.runtime = nullptr;
    for (auto& made : gpu.adding) made.release();
}

TEST_CASE("graphs that a scheduler can't launch are refused, and the message names them" * gated) {
    Firing gpu;
    gpu.make_adding(1);
    Scheduler made;
    auto handler = gpu.adding_handler();
    const gpo_graph_t twice[] = {gpu.handles[0], gpu.handles[0]};
    handler.graphs = twice;
    handler.graph_count = 2;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpu.create({handler}, made));
    CHECK(mentions(queue_refusal(), "graph `child` of handlers[0], `add` is given twice"));
    handler.graph_count = 0;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpu.create({gpu.adding_handler(), handler}, made));
    CHECK(mentions(queue_refusal(), "handlers[1].graph_count is 0"));
    handler = gpu.adding_handler();
    handler.task_memory += 8;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpu.create({handler}, made));
    CHECK(mentions(queue_refusal(), "no multiple of 16"));
    gpu.options.batch = 121;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpu.create({gpu.adding_handler()}, made));
    CHECK(mentions(queue_refusal(), "options.batch is 121, not 0 to 120"));
    gpu.options.batch = 0;
    gpu.options.threads = 32;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpu.create({gpu.adding_handler()}, made));
    CHECK(mentions(queue_refusal(), "options.threads is given"));
    gpu.options.threads = 0;

    Template to;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, to.out()));
    gpu.node(to, 0, "add", uint64_t{gpu.made}, uint64_t{gpu.sums});
    const Graph plain = gpu.graph(to, 0);
    const gpo_graph_t graph = plain;
    handler = gpu.adding_handler();
    handler.graphs = &graph;
    CHECK_STATUS(GPO_INVALID_STATE, gpu.create({handler}, made));
    CHECK(mentions(queue_refusal(), "graph `child` was made without GPO_GRAPH_DEVICE_LAUNCH"));
}
