#include "softgpu/graph/graph.h"

#include <utility>

namespace gpo::softgpu {

GraphNode& Graphs::add(Graph& graph, Work work, std::vector<GraphNode*> depends) {
    graph.nodes.reserve(graph.nodes.size() + 1);
    GraphNode& node = *nodes_.create();
    node.graph = &graph;
    node.position = uint32_t(graph.nodes.size());
    node.work = std::move(work);
    node.depends = std::move(depends);
    graph.nodes.push_back(&node);
    return node;
}

void Graphs::recycle(GraphNode& node) noexcept {
    node.graph = nullptr;
    node.work = Work();
    node.depends = {};
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
    graphs_.retire(&graph);
    graphs_.recycle(&graph);
}

}  // namespace gpo::softgpu
