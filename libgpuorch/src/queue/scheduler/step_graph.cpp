// The graph of a scheduler of graphs: a kernel that launches the tasks' graphs and its own graph.
#include <algorithm>
#include <cstring>

#include "graph/instance.h"
#include "queue/scheduler/scheduler.h"

namespace gpo::scheduler {

namespace {

// The table that the kernel reads, as bytes: StepState, tasks, a StepHandler of each handler, a DeviceGraph of each
// graph.
std::vector<std::byte> table_of(const Plan& plan, uint64_t state_bytes) {
    std::vector<std::byte> out(state_bytes);
    const auto add = [&](const auto& row) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(&row);
        out.insert(out.end(), bytes, bytes + sizeof row);
    };
    uint32_t first = 0;
    for (const Handler& handler : plan.handlers) {
        const auto count = static_cast<uint32_t>(handler.graphs.size());
        add(StepHandler{handler.task_memory, first, count, 0, 0});
        first += count;
    }
    for (const Handler& handler : plan.handlers) {
        for (const Ref<Graph>& graph : handler.graphs) {
            const auto [native, status] = graph->device_handle();
            add(DeviceGraph{native, status});
        }
    }
    return out;
}

}  // namespace

void check_graphs(const Plan& plan, const Context& context) {
    std::vector<const Graph*> seen;
    for (const Handler& handler : plan.handlers) {
        for (const Ref<Graph>& graph : handler.graphs) {
            if (&graph->runtime() != &context.runtime())
                fail(GPO_INVALID_HANDLE, graph->describe(), " of ", handler.name,
                     " is of another runtime than the device");
            if (&graph->context() != &context)
                fail(GPO_INVALID_ARGUMENT, graph->describe(), " of ", handler.name, " is of another device");
            graph->device_handle();  // throws unless kernels may launch the graph
            if (std::count(seen.begin(), seen.end(), graph.get()))
                fail(GPO_INVALID_ARGUMENT, graph->describe(), " of ", handler.name,
                     " is given twice, and can be launched once at a time");
            seen.push_back(graph.get());
        }
    }
}

void make_step(Assets& assets, const Plan& plan, const char* label) {
    for (const Handler& handler : plan.handlers)
        assets.children.insert(assets.children.end(), handler.graphs.begin(), handler.graphs.end());
    const std::vector<std::byte> table = table_of(plan, sizeof(StepState) + kStepLanes * plan.task_size);
    const uint64_t state = assets.memory->allocate(table.size());
    assets.memory->copy_in(state, table.data(), table.size());
    const queue::HandleBytes queue = assets.queue->handle();
    const uint32_t run = 0;
    const void* const arguments[] = {&assets.work, queue.bytes, &state, &run};
    const uint32_t sizes[] = {sizeof assets.work, static_cast<uint32_t>(queue.size), sizeof state, sizeof run};
    gpo_launch launch{};
    launch.struct_size = sizeof launch;
    launch.grid[0] = 1;
    launch.block[0] = kStepLanes;
    launch.label = label;
    gpo_template_options options{};
    options.struct_size = sizeof options;
    options.label = label;
    auto made = make<Template>(Ref<Context>(&assets.kernel->context()), options);
    const LaunchKernel operation(*assets.kernel, launch, arguments, sizes, 4);
    const uint32_t node = made->add({}, operation.record(), operation.label(), assets.kernel);
    made->add_parameter("run", node, GPO_PARAMETER_ARGUMENT, 3);
    // A launch by the host uploads the graph, with the number of the run.
    assets.graph = make<Graph>(std::move(made), uint32_t{GPO_GRAPH_DEVICE_LAUNCH}, label);
}

}  // namespace gpo::scheduler
