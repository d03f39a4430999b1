// A recipe as a copy of a graph of the caller's or of another library's.
//
// The driver copies the graph whole, with facts about nodes that only the driver knows. The driver can't copy a graph
// with conditional or memory nodes, and doesn't name the node: therefore such nodes are looked for first.
#include "graph/recipe.h"

namespace gpo {

namespace {

/// "node 3, conditional", of the graph or of a child graph in it; "" if the driver copies the graph.
std::string uncopied_node(Context& context, CUgraph graph) {
    const driver::Table& table = context.table();
    uint32_t number = 0;
    for (const CUgraphNode native : native_nodes(context, graph)) {
        const NodeWork work = OtherNode{native_type(context, native)};
        const std::string name = text("node ", ++number, ", ", kind_of(work));
        switch (std::get<OtherNode>(work).type) {
            case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            case CU_GRAPH_NODE_TYPE_MEM_FREE: return name;
            case CU_GRAPH_NODE_TYPE_GRAPH: break;
            default: continue;
        }
        CUgraph child = nullptr;
        context.check(table.cuGraphChildGraphNodeGetGraph(native, &child), "cuGraphChildGraphNodeGetGraph");
        if (const std::string inner = uncopied_node(context, child); !inner.empty())
            return text(inner, ", of the child graph of node ", number);
    }
    return "";
}

}  // namespace

void Recipe::copy(CUgraph original) {
    const driver::Table& table = context_->table();
    size_t count = 0;
    if (table.cuGraphGetNodes(original, nullptr, &count) == CUDA_ERROR_INVALID_VALUE)
        fail(GPO_INVALID_ARGUMENT, "native ", hex(reinterpret_cast<uint64_t>(original)),
             " is no graph that the driver knows");
    if (const std::string node = uncopied_node(*context_, original); !node.empty())
        fail(GPO_NOT_SUPPORTED, "the driver copies no graph that has a node of this kind: ", node);
    context_->check(table.cuGraphClone(&graph_, original), "cuGraphClone");
    owned_ = true;
    made_.store(true, std::memory_order_release);
    for (const CUgraphNode theirs : native_nodes(*context_, original)) {
        CUgraphNode ours = nullptr;
        context_->check(table.cuGraphNodeFindInClone(&ours, theirs, graph_), "cuGraphNodeFindInClone");
        see_unlabelled(ours);
    }
    read_dependencies();
}

}  // namespace gpo
