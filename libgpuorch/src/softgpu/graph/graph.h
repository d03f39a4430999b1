// Graphs: recorded work, its executable form, and one run of it.
//
// A graph owns one command for each node, which is itself never queued. Instantiating a graph copies the nodes, so that
// a later change of the graph doesn't change its executables. A run has commands of its own, copied from those of the
// executable, and belongs to the stream's command that runs it. Nothing here knows of the machine, which runs the
// commands (machine/batch.h).
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "softgpu/commands/command.h"
#include "softgpu/handles.h"

namespace gpo::softgpu {

struct Context;

struct GraphNodes {
    struct Node {
        std::unique_ptr<Command> work;
        Context* context = nullptr;            // whose device runs it
        std::vector<uint32_t> depends;         // nodes before it
        std::vector<uint32_t> followers;
    };
    std::vector<Node> nodes;

    /// What cuda.h calls a node: its command's address. Good as long as the graph is.
    CUgraphNode native(uint32_t node) const noexcept {
        return reinterpret_cast<CUgraphNode>(nodes[node].work.get());
    }
    /// The number of a node by its native handle; kNone: it isn't of this graph.
    static constexpr uint32_t kNone = UINT32_MAX;
    uint32_t find(CUgraphNode native) const noexcept;
    /// Throws std::bad_alloc, with no effect.
    uint32_t add(std::unique_ptr<Command> work, Context* context, std::vector<uint32_t> depends);
    /// The nodes behind it lose that dependency, and get no other for it.
    void remove(uint32_t node) noexcept;
    /// Throws std::bad_alloc.
    std::shared_ptr<GraphNodes> copy() const;
};

struct Graph : Handled {
    std::shared_ptr<GraphNodes> nodes;
    std::vector<CUgraphNode> natives;          // what cuStreamGetCaptureInfo points to
    bool capturing = false;                    // not the caller's yet
};

struct GraphExec : Handled {
    std::shared_ptr<const GraphNodes> nodes;
    Context* context = nullptr;
    Mark* last = nullptr;                      // of the latest launch: launches of one exec run one after the other
};

struct GraphRun {
    /// Machine::prepare_run makes a run whose kernels are prepared too. Throws std::bad_alloc.
    GraphRun(std::shared_ptr<const GraphNodes>, Command& owner);

    std::shared_ptr<const GraphNodes> nodes;
    Command& owner;                            // the stream's command
    std::vector<Command> commands;
    std::vector<uint32_t> missing;             // dependencies not done yet
    std::vector<uint32_t> startable;           // has room for all nodes
    uint32_t in_flight = 0;
    bool begun = false;
};

}  // namespace gpo::softgpu
