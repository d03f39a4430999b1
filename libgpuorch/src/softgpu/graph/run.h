// Executable graphs: the nodes' commands, ready to run, and the state of the run that is under way.
//
// A graph is instantiated once: its nodes' work is copied and each command is prepared, so that a launch takes no
// memory for them. Launches of one executable run one after the other; so one GraphRun serves them all. It is held by
// the executable and by each launch that is not done yet. A change of an executable that has such launches makes
// another GraphRun, which shares the nodes that stay as they are. So a change affects later launches only, and an
// executable may be destroyed while it runs.
//
// The nodes of the graph and of all inner graphs are numbered together from 0. They are in regions: what runs as a
// whole, perhaps several times in one run. Region 0 is the graph itself, with its child graphs. A child graph's node
// stands for its beginning; a node without an origin stands for its end. The other regions are bodies of conditional
// nodes.
//
// Kernels launch executables, too. The *environment* of a run is the run with all that its kernels launch into it. A
// *line* is what is launched at one place in an environment: a graph, and then its tails, one after the other. The
// *first* of a line is the graph that was launched there. A run is done when nothing of it is in flight and all lines
// in its environment are done.
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
        CUgraphNode origin = nullptr;     // the graph's node that it was made of
        std::vector<uint32_t> depends;    // as they were given
        std::vector<uint32_t> inner;      // the levels of its inner graphs
        std::vector<uint32_t> bodies;     // of a conditional node: their regions
        std::vector<uint32_t> followers;  // what is held up by it
        uint32_t holders = 0;             // how many nodes hold it up
        uint32_t end = 0;                 // the node that holds up what depends on this one
        uint32_t region = 0;
    };
    /// The nodes of one graph, in its order: of the graph itself (level 0) or of an inner one.
    using Level = std::vector<uint32_t>;

    std::vector<Node> nodes;
    std::vector<Level> levels;
    std::vector<std::vector<uint32_t>> regions;               // the nodes of each
    std::vector<uint32_t> deciders;                           // of each region the conditional node; kNone: region 0's
    std::vector<uint32_t> events;                             // nodes that record events or wait for them
    std::vector<uint32_t> memory;                             // nodes that allocate or free
    std::vector<std::pair<CUgraphNode, uint32_t>> by_origin;  // in the order of the handles

    /// The number of the node that was made of a graph's node; kNone: none was.
    uint32_t find(CUgraphNode origin) const noexcept;
};

struct GraphRun;

/// Launches of one run that have to wait until it is done, in their order, by GraphRun::next_tail.
struct Tails {
    GraphRun *front = nullptr, *back = nullptr;

    void push(GraphRun&) noexcept;
    /// All of `others` before those that are here.
    void put_first(Tails& others) noexcept;
    GraphRun* take() noexcept;
};

/// What graphs decide by, in the order of the handles.
struct Condition {
    CUgraphConditionalHandle handle = 0;
    uint32_t initial = 0;
    bool assigned = false;
    uint32_t value = 0;  // kernels write it, on any thread
};

struct Line {
    GraphRun* first = nullptr;   // NULL: the line is done
    GraphRun* parent = nullptr;  // in whose environment it is; NULL: in the stream's command's
    Tails tails;
};

struct GraphRun {
    /// Commands with the work of the graph's nodes, not prepared yet. Throws std::bad_alloc.
    explicit GraphRun(const Graph&);
    /// The same nodes, with no run under way. Throws std::bad_alloc.
    GraphRun(const GraphRun&);

    std::shared_ptr<const GraphShape> shape;
    std::vector<std::shared_ptr<Command>> commands;
    std::vector<bool> disabled;
    std::vector<Condition> conditions;
    CUgraphExec launchable = nullptr;  // what kernels launch it by; NULL: they can't

    // The run that is under way.
    Command* owner = nullptr;         // the stream's command
    std::vector<uint32_t> missing;    // of each node: those that still hold it up
    std::vector<uint32_t> left;       // of each region: nodes that are not done yet
    std::vector<uint32_t> startable;  // has room for all nodes
    uint32_t in_flight = 0;
    bool moved = false;  // something was in flight since a body was repeated

    // Launches by kernels.
    bool running = false, waiting = false;  // waiting: as a tail
    Line* line = nullptr;                   // that it runs in
    Line own_line;                          // whose first it is
    uint32_t lines = 0;                     // in its environment, that are not done
    uint32_t launched = 0, queued = 0;      // how many there have been in this run: into environments; as tails
    Tails tails;                            // that the run's kernels have launched
    GraphRun* next_tail = nullptr;
    std::shared_ptr<GraphRun> keeps;  // itself, as long as a kernel's launch of it isn't done
    Command* held_up = nullptr;       // a stream's command that is to run it when that is so

    /// The run that begins is the first of a line.
    void begin_line(GraphRun* parent) noexcept;
    /// Something launched it, and isn't done with it.
    bool busy() const noexcept { return running || waiting || own_line.first; }
    /// The region that a conditional node runs by its condition; kNone: none.
    uint32_t chosen(uint32_t node) noexcept;
    /// Any thread. Unknown handles are ignored.
    void set_condition(CUgraphConditionalHandle, uint32_t value) noexcept;
    Condition* find_condition(CUgraphConditionalHandle) noexcept;

    /// What of the graph can start at its beginning is startable.
    void begin(Command& owner) noexcept;
    void begin_region(uint32_t region) noexcept;
    /// What was held up by the node alone is startable. True when the node's region is done.
    bool node_done(uint32_t node) noexcept;
};

/// A graph with the work that the executable has now. Throws std::bad_alloc, with no effect.
Graph& graph_of(Graphs&, const GraphRun&);

struct GraphExec : Handled {
    std::shared_ptr<GraphRun> run;  // what the next launch runs
    Mark* last = nullptr;           // done when the latest launch is; holds a reference
    CUgraph graph = nullptr;        // that it was made of, which may be gone
    uint64_t flags = 0;             // CUDA_GRAPH_INSTANTIATE_FLAG_*
    bool uploaded = false;          // since the latest change: kernels may launch it
};

}  // namespace gpo::softgpu
