// Graphs: recorded work, node by node. What runs is an executable graph (graph/run.h), which is made of a graph once
// and has copies of its nodes' work.
//
// Graphs and nodes are behind handles (handles.h), so that a stale or foreign node is found by one look-up. A graph owns
// its nodes. Everything here is guarded by the machine's lock.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "softgpu/commands/command.h"
#include "softgpu/handles.h"

namespace gpo::softgpu {

struct Graph;

struct GraphNode : Handled {
    Graph* graph = nullptr;
    uint32_t position = 0;                 // in the graph's nodes
    Work work;
    std::vector<GraphNode*> depends;       // nodes before it, in the order in which they were given
};

struct Graph : Handled {
    std::vector<GraphNode*> nodes;         // in the order in which they were added
    std::vector<CUgraphNode> natives;      // what cuStreamGetCaptureInfo points to
    bool capturing = false;                // not the caller's to destroy yet
};

/// All graphs of a machine, and their nodes.
class Graphs {
public:
    explicit Graphs(uint32_t first_generation)
        : graphs_(HandleKind::graph, first_generation), nodes_(HandleKind::graph_node, first_generation) {}

    Graph* find(CUgraph handle) const noexcept { return graphs_.find(handle); }
    GraphNode* find(CUgraphNode handle) const noexcept { return nodes_.find(handle); }
    /// Throws std::bad_alloc.
    Graph& create() { return *graphs_.create(); }
    void destroy(Graph&) noexcept;
    /// Throws std::bad_alloc, with no effect.
    GraphNode& add(Graph&, Work, std::vector<GraphNode*> depends);
    /// The nodes behind it lose that dependency, and get no other for it.
    void remove(GraphNode&) noexcept;

private:
    void recycle(GraphNode&) noexcept;

    HandleTable<Graph> graphs_;
    HandleTable<GraphNode> nodes_;
};

}  // namespace gpo::softgpu
