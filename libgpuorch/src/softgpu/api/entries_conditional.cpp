// Conditions, and the conditional nodes that decide by them.
#include <algorithm>

#include "softgpu/api/entries.h"
#include "softgpu/api/nodes.h"

namespace gpo::softgpu {

namespace {

CUresult CUDAAPI create_condition(CUgraphConditionalHandle* handle, CUgraph graph, CUcontext context, unsigned initial,
                                  unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(handle != nullptr && !(flags & ~unsigned(CU_GRAPH_COND_ASSIGN_DEFAULT)));
        host::Lock hold(machine.lock);
        context_of(machine, context);
        Graph& within = graph_of(machine, graph);
        within.conditions.push_back({++machine.next_condition, context, initial, flags != 0});
        *handle = machine.next_condition;
        return CUDA_SUCCESS;
    });
}

bool fits(CUgraphConditionalNodeType type, unsigned bodies) {
    switch (type) {
        case CU_GRAPH_COND_TYPE_IF: return bodies == 1 || bodies == 2;
        case CU_GRAPH_COND_TYPE_WHILE: return bodies == 1;
        case CU_GRAPH_COND_TYPE_SWITCH: return bodies >= 1;
        default: return false;
    }
}

}  // namespace

GraphNode& add_conditional_node(Machine& machine, Graph& graph, std::vector<GraphNode*> depends,
                                CUDA_CONDITIONAL_NODE_PARAMS& parameters) {
    require(fits(parameters.type, parameters.size));
    GraphCondition* condition = machine.graphs.find_condition(graph, parameters.handle);
    require(condition && !machine.graphs.used(*condition) && parameters.ctx == condition->context);
    Work work;
    work.kind = CommandKind::conditional;
    work.context = &context_of(machine, parameters.ctx);
    work.conditional = {condition->handle, parameters.type, condition->initial, condition->assigned};

    std::vector<std::unique_ptr<NewGraph>> bodies;
    std::vector<Graph*> inner;
    std::vector<CUgraph> natives;
    for (unsigned i = 0; i < parameters.size; ++i) {
        bodies.push_back(std::make_unique<NewGraph>(machine.graphs, machine.graphs.create()));
        inner.push_back(&**bodies.back());
        natives.push_back(inner.back()->as<CUgraph>());
    }
    GraphNode& node = machine.graphs.add(graph, std::move(work), std::move(depends), std::move(inner));
    for (auto& body : bodies) body->release();
    node.bodies = std::move(natives);
    condition->node = node.as<CUgraphNode>();
    parameters.phGraph_out = node.bodies.data();
    return node;
}

void fill_conditional_entries(driver::Table& table) noexcept {
    table.cuGraphConditionalHandleCreate = create_condition;
}

}  // namespace gpo::softgpu
