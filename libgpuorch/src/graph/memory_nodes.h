// Nodes that allocate and free device memory, and graphs that have such nodes.
//
// The driver gives the memory an address when the node is added, and the address stays. It takes no node out of a graph
// with such nodes. So whatever may fail when another node is added there comes first, on a graph that goes again.
#pragma once

#include "device/context.h"

namespace gpo {

/// A graph of the driver's for as long as this lives. Inside a DriverScope.
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
