#include "softgpu/graph/graph.h"

#include <algorithm>
#include <utility>

namespace gpo::softgpu {

namespace {

bool is_memory(CommandKind kind) noexcept { return kind == CommandKind::allocation || kind == CommandKind::release; }

}  // namespace

bool single(CommandKind kind) noexcept { return is_memory(kind) || kind == CommandKind::conditional; }

bool is_body(const Graph& graph) noexcept { return graph.owner && graph.owner->work.kind == CommandKind::conditional; }

bool has_memory(const Graph& graph) noexcept {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                       [](const GraphNode* node) { return is_memory(node->work.kind); });
}

bool single(const Graph& graph) noexcept {
    return is_body(graph) || std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode* node) {
               return single(node->work.kind) || std::any_of(node->inner.begin(), node->inner.end(),
                                                             [](const Graph* inner) { return single(*inner); });
           });
}

GraphNode& Graphs::add(Graph& graph, Work work, std::vector<GraphNode*> depends, std::vector<Graph*> inner) {
    graph.nodes.reserve(graph.nodes.size() + 1);
    GraphNode& node = *nodes_.create();
    node.graph = &graph;
    node.position = uint32_t(graph.nodes.size());
    node.work = std::move(work);
    node.depends = std::move(depends);
    node.inner = std::move(inner);
    for (Graph* within : node.inner) within->owner = &node;
    graph.nodes.push_back(&node);
    return node;
}

void Graphs::recycle(GraphNode& node) noexcept {
    for (Graph* within : node.inner) destroy(*within);
    node.graph = nullptr;
    node.work = Work();
    node.depends = {};
    node.inner = {};
    node.bodies = {};
    node.original = nullptr;
    node.arguments = {};
    nodes_.retire(&node);
    nodes_.recycle(&node);
}

void Graphs::remove(GraphNode& removed) noexcept {
    std::vector<GraphNode*>& nodes = removed.graph->nodes;
    nodes.erase(nodes.begin() + removed.position);
    for (uint32_t i = 0; i < nodes.size(); ++i) {
        nodes[i]->position = i;
        std::erase(nodes[i]->depends, &removed);
    }
    recycle(removed);
}

void Graphs::destroy(Graph& graph) noexcept {
    for (GraphNode* node : graph.nodes) recycle(*node);
    graph.nodes = {};
    graph.natives = {};
    graph.capturing = false;
    graph.owner = nullptr;
    graph.conditions = {};
    graph.execs = 0;
    graphs_.retire(&graph);
    graphs_.recycle(&graph);
}

bool Graphs::used(const GraphCondition& condition) const noexcept {
    const GraphNode* node = nodes_.find(condition.node);
    return node && node->work.conditional.handle == condition.handle;
}

bool Graphs::conditions_used(const Graph& graph) const noexcept {
    for (const GraphCondition& condition : graph.conditions)
        if (!used(condition)) return false;
    for (const GraphNode* node : graph.nodes)
        for (const Graph* within : node->inner)
            if (!conditions_used(*within)) return false;
    return true;
}

GraphCondition* Graphs::find_condition(Graph& graph, CUgraphConditionalHandle handle) const noexcept {
    for (Graph* at = &graph; at; at = at->owner ? at->owner->graph : nullptr)
        for (GraphCondition& condition : at->conditions)
            if (condition.handle == handle) return &condition;
    return nullptr;
}

void Graphs::destroy_all() noexcept {
    graphs_.for_each([&](Graph& graph) {
        if (!graph.owner) destroy(graph);
    });
}

Graph& Graphs::copy(const Graph& from) {
    NewGraph made(*this, create());
    for (const GraphNode* node : from.nodes) {
        std::vector<GraphNode*> depends;
        for (const GraphNode* before : node->depends) depends.push_back((*made).nodes[before->position]);
        GraphNode& own = add(*made, node->work, std::move(depends));
        own.original = node->as<CUgraphNode>();
        own.inner.reserve(node->inner.size());
        for (const Graph* within : node->inner) {
            own.inner.push_back(&copy(*within));
            own.inner.back()->owner = &own;
        }
    }
    return made.release();
}

}  // namespace gpo::softgpu
