#include "softgpu/api/graph_checks.h"

#include <algorithm>

namespace gpo::softgpu {

namespace {

Flaw flaw_of(const GraphNode& node, CUgraphInstantiateResult result) { return {result, node.as<CUgraphNode>()}; }

bool is(const Flaw& flaw) { return flaw.result != CUDA_GRAPH_INSTANTIATE_SUCCESS; }

/// The node itself does something on the device.
bool works(CommandKind kind) {
    return kind == CommandKind::kernel || kind == CommandKind::copy || kind == CommandKind::fill;
}

bool pageable(const Machine& machine, uint64_t address) { return machine.memory.find(address).kind == Place::unknown; }

/// A copy with memory that the device can't reach.
bool reaches_far(const Machine& machine, const Work& work) {
    return work.kind == CommandKind::copy &&
           (pageable(machine, work.copy.source) || pageable(machine, work.copy.destination));
}

/// Its kernel may launch kernels.
bool launches_kernels(const Work& work) {
    return work.kind == CommandKind::kernel && (work.launch.kernel->flags & GPO_SOFT_KERNEL_LAUNCHES);
}

/// The first flaw that `look` finds in a node of the graph, or of its child graphs.
template <class Look>
Flaw look_through(const Graph& graph, const Look& look) {
    for (const GraphNode* node : graph.nodes) {
        if (const Flaw flaw = look(*node); is(flaw)) return flaw;
        if (node->work.kind != CommandKind::child) continue;
        if (const Flaw flaw = look_through(*node->inner.front(), look); is(flaw)) return flaw;
    }
    return {};
}

Flaw find_in_bodies(const Machine& machine, const GraphNode& node);

Flaw find_in_body(const Machine& machine, const Graph& body) {
    return look_through(body, [&](const GraphNode& node) -> Flaw {
        const CommandKind kind = node.work.kind;
        if (reaches_far(machine, node.work)) return flaw_of(node, CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED);
        if (launches_kernels(node.work) || (!works(kind) && kind != CommandKind::nothing &&
                                            kind != CommandKind::child && kind != CommandKind::conditional))
            return flaw_of(node, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
        return find_in_bodies(machine, node);
    });
}

Flaw find_in_bodies(const Machine& machine, const GraphNode& node) {
    if (node.work.kind != CommandKind::conditional) return {};
    for (const Graph* body : node.inner)
        if (const Flaw flaw = find_in_body(machine, *body); is(flaw)) return flaw;
    return {};
}

/// A graph that kernels are to launch.
Flaw find_in_launchable(const Machine& machine, const Graph& graph) {
    const Context* context = nullptr;
    const Flaw flaw = look_through(graph, [&](const GraphNode& node) -> Flaw {
        const Work& work = node.work;
        if (work.kind == CommandKind::child) return {};
        if (!works(work.kind) || reaches_far(machine, work) || launches_kernels(work))
            return flaw_of(node, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
        if (context && context != work.context)
            return flaw_of(node, CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED);
        context = work.context;
        return {};
    });
    if (is(flaw) || context) return flaw;
    return {CUDA_GRAPH_INSTANTIATE_ERROR};  // it does nothing
}

}  // namespace

Flaw find_flaw(const Machine& machine, const Graph& graph, uint64_t flags) noexcept {
    if (is_body(graph) || (graph.execs && single(graph)))
        return {CUDA_GRAPH_INSTANTIATE_ERROR, nullptr, CUDA_ERROR_NOT_SUPPORTED};
    if (!machine.graphs.conditions_used(graph)) return {CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED};
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
        if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) return {CUDA_GRAPH_INSTANTIATE_ERROR};
        return find_in_launchable(machine, graph);
    }
    return look_through(graph, [&](const GraphNode& node) { return find_in_bodies(machine, node); });
}

}  // namespace gpo::softgpu
