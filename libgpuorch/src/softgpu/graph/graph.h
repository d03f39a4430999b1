// Graphs: recorded work, node by node. Only executable graphs run (graph/run.h): each is made of a graph once and has
// copies of the nodes' work.
//
// Graphs and nodes are behind handles (handles.h), so that a stale or foreign node is found by one look-up. A graph
// owns its nodes, and a node owns the graphs within it. Everything here is guarded by the machine's lock.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "softgpu/commands/command.h"
#include "softgpu/handles.h"

namespace gpo::softgpu {

struct Graph;

/// The condition behind a handle that kernels set.
struct GraphCondition {
    CUgraphConditionalHandle handle = 0;  // never used twice
    CUcontext context = nullptr;
    uint32_t initial = 0;
    bool assigned = false;
    CUgraphNode node = nullptr;  // the node that decides by it; NULL or stale: none
};

struct GraphNode : Handled {
    Graph* graph = nullptr;
    uint32_t position = 0;  // in the graph's nodes
    Work work;
    std::vector<GraphNode*> depends;  // nodes before it, in the order in which they were given
    std::vector<Graph*> inner;        // the child graph, or the bodies of a conditional node
    std::vector<CUgraph> bodies;      // the latter's handles, for the caller
    CUgraphNode original = nullptr;   // in a copy of a graph: the copied node
    std::vector<void*> arguments;     // cuGraphKernelNodeGetParams points to this
};

struct Graph : Handled {
    std::vector<GraphNode*> nodes;     // in the order in which they were added
    std::vector<CUgraphNode> natives;  // cuStreamGetCaptureInfo points to this
    bool capturing = false;            // not the caller's to destroy yet
    GraphNode* owner = nullptr;        // the node around an inner graph
    std::vector<GraphCondition> conditions;
    uint32_t execs = 0;  // executables of it that exist
};

/// Whether a node's kind forbids that its graph is copied, or is within another, or has two executables.
bool single(CommandKind) noexcept;
/// Whether a graph has a node of such a kind, or is the body of a conditional node.
bool single(const Graph&) noexcept;
/// Whether the graph has nodes that allocate or free.
bool has_memory(const Graph&) noexcept;
/// Whether the graph is the body of a conditional node.
bool is_body(const Graph&) noexcept;

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
    void destroy_all() noexcept;
    /// With inner graphs, which are the node's from here on. Throws std::bad_alloc, with no effect.
    GraphNode& add(Graph&, Work, std::vector<GraphNode*> depends, std::vector<Graph*> inner = {});
    /// Removes a node. The nodes behind it lose the dependency without a replacement.
    void remove(GraphNode&) noexcept;
    /// The condition by its handle, in the graph or the graphs around it; NULL: unknown handle.
    GraphCondition* find_condition(Graph&, CUgraphConditionalHandle) const noexcept;
    /// Whether each condition is used by a node of the graph or of an inner graph.
    bool conditions_used(const Graph&) const noexcept;
    /// Whether a node decides by the condition.
    bool used(const GraphCondition&) const noexcept;
    /// A copy with its inner graphs. Throws std::bad_alloc, with no effect.
    Graph& copy(const Graph&);

private:
    void recycle(GraphNode&) noexcept;

    HandleTable<Graph> graphs_;
    HandleTable<GraphNode> nodes_;
};

/// A graph under construction, destroyed unless it is released.
class NewGraph {
public:
    explicit NewGraph(Graphs& graphs, Graph& graph) noexcept : graphs_(graphs), graph_(&graph) {}
    ~NewGraph() {
        if (graph_) graphs_.destroy(*graph_);
    }
    NewGraph(const NewGraph&) = delete;
    NewGraph& operator=(const NewGraph&) = delete;
    Graph& operator*() const noexcept { return *graph_; }
    Graph& release() noexcept { return *std::exchange(graph_, nullptr); }

private:
    Graphs& graphs_;
    Graph* graph_;
};

}  // namespace gpo::softgpu
