// The nodes of a recipe and of the bodies of its conditional nodes, as one list; and the addition of a copy to a graph
// of the driver's.
//
// The driver copies no conditional node, and no graph that has one. Nodes are therefore added one by one, from their
// known work. Conditional nodes get handles of the new graph, and kernels that set a condition get the new handle.
//
// A body isn't recorded into the graph that the driver made for it (cuStreamBeginCaptureToGraph), though that would
// save the copies. If a call of the program or of another library invalidates such a capture, the driver destroys the
// body's graph at the end of the capture, while the conditional node still has it. The process then crashes when the
// graph with the node is destroyed (NVIDIA/cuda-python#2918). A recording has a graph of its own and can fail without
// harm.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/node.h"

namespace gpo {

struct NodeTree {
    /// A body: its conditional node, and its index among the node's bodies. Section 0 is the graph itself. A body comes
    /// behind the section with its node.
    struct Section {
        uint32_t node, index;
    };
    /// A kernel that sets a condition.
    struct Bound {
        uint32_t kernel, argument, conditional;
    };

    std::vector<Node> nodes;   // section by section; all node numbers are indices here
    std::vector<Section> sections = {{0, 0}};
    std::vector<Bound> bound;
};

/// Where the nodes of each section begin.
std::vector<uint32_t> begins_of(std::span<const Node> nodes, size_t sections);
/// "node 2, kernel `scale`, in a body of node 3, while", with the caller's numbers.
std::string describe_node(const NodeTree& tree, uint32_t number);

/// A tree that is added anew. Inside a DriverScope.
class TreeCopy {
public:
    /// Throws std::bad_alloc.
    explicit TreeCopy(NodeTree from);
    /// Adds all nodes to `graph`. Nodes without predecessors come behind `behind`. Throws Failure; then `added` and
    /// `handles` say what is left to be taken out of `graph`.
    void add_to(Context& context, CUgraph graph, std::span<const CUgraphNode> behind);

    NodeTree tree;                    // with the new native nodes and handles
    std::vector<CUgraph> graphs;      // by section
    std::vector<CUgraphNode> added;   // to the graph itself
    bool handles = false;             // condition handles were made; the driver takes none back

private:
    void add_section(Context& context, uint32_t section, std::span<const CUgraphNode> behind);
    void make_handles(Context& context, uint32_t section);
    void set_handle(Context& context, const NodeTree::Bound& bound, CUgraphConditionalHandle handle);
    CUgraphNode add_node(Context& context, uint32_t number, std::span<const CUgraphNode> after);
    std::vector<uint32_t> order(uint32_t section) const;

    std::vector<bool> done_;          // by node number: was added
};

}  // namespace gpo
