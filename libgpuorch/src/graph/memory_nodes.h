// Nodes that allocate and free device memory, and graphs with such nodes.
//
// The driver gives the memory an address when the node is added, and the address stays. The driver takes no node out of
// a graph with such nodes. Before another node is added there, everything that may fail is done on a temporary graph.
#pragma once

#include "device/context.h"

namespace gpo {

/// A temporary graph of the driver's. Inside a DriverScope.
class ScratchGraph {
public:
    explicit ScratchGraph(Context& context) : context_(context) {
        context.check(context.table().cuGraphCreate(&graph_, 0), "cuGraphCreate");
    }
    ~ScratchGraph() { context_.table().cuGraphDestroy(graph_); }
    ScratchGraph(const ScratchGraph&) = delete;
    ScratchGraph& operator=(const ScratchGraph&) = delete;
    operator CUgraph() const noexcept { return graph_; }

private:
    Context& context_;
    CUgraph graph_ = nullptr;
};

}  // namespace gpo
