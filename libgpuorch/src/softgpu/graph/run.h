// Executable graphs: the nodes' commands, ready to run, and the state of the run that is under way.
//
// A graph is instantiated once: its nodes' work is copied and each command is prepared, so that a launch takes no memory
// for them. Launches of one executable run one after the other; so one GraphRun serves them all. It is held by the
// executable and by each launch that is not done yet. A change of an executable that has such launches makes another
// GraphRun, which shares the nodes that stay as they are. So a change affects later launches only, and an executable may
// be destroyed while it runs.
//
// Nodes are numbered from 0. They are in regions: what runs as a whole, perhaps several times in one run. Region 0 is
// the graph itself.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "softgpu/graph/graph.h"

namespace gpo::softgpu {

/// What follows what; fixed when the graph is instantiated.
struct GraphShape {
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Node {
        CUgraphNode origin = nullptr;      // the graph's node that it was made of
        std::vector<uint32_t> depends, followers;
        uint32_t region = 0;
    };
    std::vector<Node> nodes;
    std::vector<std::vector<uint32_t>> regions;                // the nodes of each
    std::vector<std::pair<CUgraphNode, uint32_t>> by_origin;   // in the order of the handles

    /// Throws std::bad_alloc.
    static std::shared_ptr<const GraphShape> of(const Graph&);
    /// The number of the node that was made of a graph's node; kNone: none was.
    uint32_t find(CUgraphNode origin) const noexcept;
};

struct GraphRun {
    /// Commands with the work of the graph's nodes, not prepared yet. Throws std::bad_alloc.
    explicit GraphRun(const Graph&);

    std::shared_ptr<const GraphShape> shape;
    std::vector<std::shared_ptr<Command>> commands;

    // The run that is under way.
    Command* owner = nullptr;              // the stream's command
    std::vector<uint32_t> missing;         // of each node: dependencies that are not done yet
    std::vector<uint32_t> left;            // of each region: nodes that are not done yet
    std::vector<uint32_t> startable;       // has room for all nodes
    uint32_t in_flight = 0;

    /// What of the graph can start at its beginning is startable.
    void begin(Command& owner) noexcept;
    void begin_region(uint32_t region) noexcept;
    /// What was held up by the node alone is startable. True when the node's region is done.
    bool node_done(uint32_t node) noexcept;
};

struct GraphExec : Handled {
    std::shared_ptr<GraphRun> run;         // what the next launch runs
    Mark* last = nullptr;                  // done when the latest launch is; holds a reference
};

}  // namespace gpo::softgpu
