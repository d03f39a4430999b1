// The nodes of a recipe with those of the bodies of its conditional nodes, as one list; and how they are added anew to
// a graph of the driver's.
//
// The driver copies no conditional node, and no graph that has one. So whatever is copied is added again, node by node,
// from what is known of it: conditional nodes with handles of the graph that they go to, and kernels that set such a
// condition with the new handle.
//
// A body isn't recorded into the graph that the driver made for it (cuStreamBeginCaptureToGraph), though that would
// save the copies. Where a call of the program or of another library invalidates such a capture, the driver destroys
// the body's graph at the end of the capture, while the conditional node still has it, and the process crashes with
// the end of the graph that has the node (NVIDIA/cuda-python#2918). What is recorded has a graph of its own, so that a
// recording can fail without harm.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/node.h"

namespace gpo {

struct NodeTree {
    /// A body: of which node, and which of its bodies. The section 0 is the graph itself. A body comes behind the
    /// section that has its node.
    struct Section {
        uint32_t node, index;
    };
    /// A kernel that sets a condition.
    struct Bound {
        uint32_t kernel, argument, conditional;
    };

    std::vector<Node> nodes;   // section by section; all numbers are places in here
    std::vector<Section> sections = {{0, 0}};
    std::vector<Bound> bound;
};

/// Where the nodes of each section begin.
std::vector<uint32_t> begins_of(std::span<const Node> nodes, size_t sections);
/// "node 2, kernel `scale`, in a body of node 3, while": with the numbers that the caller knows.
std::string describe_node(const NodeTree& tree, uint32_t number);

/// A tree that is added anew. Inside a DriverScope.
class TreeCopy {
public:
    /// Throws std::bad_alloc.
    explicit TreeCopy(NodeTree from);
    /// Adds all nodes to `graph`, those that come after no other one behind `behind`. Throws Failure; then `added` and
    /// `handles` say what is left to be taken out of `graph`.
    void add_to(Context& context, CUgraph graph, std::span<const CUgraphNode> behind);

    NodeTree tree;                    // with the new native nodes and handles
    std::vector<CUgraph> graphs;      // by section
    std::vector<CUgraphNode> added;   // to the graph itself
    bool handles = false;             // of conditions were made, which the driver doesn't take back

private:
    void add_section(Context& context, uint32_t section, std::span<const CUgraphNode> behind);
    void make_handles(Context& context, uint32_t section);
    void set_handle(Context& context, const NodeTree::Bound& bound, CUgraphConditionalHandle handle);
    CUgraphNode add_node(Context& context, uint32_t number, std::span<const CUgraphNode> after);
    std::vector<uint32_t> order(uint32_t section) const;

    std::vector<bool> done_;          // by number of a node: it was added
};

}  // namespace gpo
