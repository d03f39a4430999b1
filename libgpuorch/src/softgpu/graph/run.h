// Executable graphs: the nodes' commands, ready to run, and the state of the run that is under way.
//
// A graph is instantiated once: its nodes' work is copied and each command is prepared, so that a launch takes no
// memory for them. Launches of one executable run one after the other and share a GraphRun. The executable and each
// unfinished launch hold the GraphRun. A change of an executable with unfinished launches makes another GraphRun, which
// shares the unchanged nodes. The change affects only later launches. An executable may be destroyed while it runs.
//
// The nodes of the graph and of all inner graphs are numbered together from 0. A *region* is a set of nodes that runs
// as a whole, perhaps several times in a run. Region 0 is the graph itself, with its child graphs. A child graph's node
// stands for its beginning; a node without an origin stands for its end. The other regions are bodies of conditional
// nodes.
//
// Kernels launch executables, too. The *environment* of a run has the run and all launches by its kernels into it. A
// *line* is a launch in an environment with its tails: a graph, the *first* of the line, and then the tails, one after
// the other. A run is done when nothing of it is in flight and all lines in its environment are done.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "softgpu/graph/graph.h"

namespace gpo::softgpu {

/// The order of the nodes, fixed when the graph is instantiated.
struct GraphShape {
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Node {
        CUgraphNode origin = nullptr;     // the graph's node
        std::vector<uint32_t> depends;    // the graph's node's dependencies, in their order
        std::vector<uint32_t> inner;      // the levels of its inner graphs
        std::vector<uint32_t> bodies;     // of a conditional node: their regions
        std::vector<uint32_t> followers;  // the nodes held up by this node
        uint32_t holders = 0;             // number of nodes that hold it up
        uint32_t end = 0;                 // the node to hold up dependents: of a child graph its end, else itself
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

/// Launches that wait for the end of a run, in their order, linked by GraphRun::next_tail.
struct Tails {
    GraphRun *front = nullptr, *back = nullptr;

    void push(GraphRun&) noexcept;
    /// Moves all of `others` to the front.
    void put_first(Tails& others) noexcept;
    GraphRun* take() noexcept;
};

/// A condition of a conditional node; in a run they are ordered by handle.
struct Condition {
    CUgraphConditionalHandle handle = 0;
    uint32_t initial = 0;
    bool assigned = false;
    uint32_t value = 0;  // kernels write it, on any thread
};

struct Line {
    GraphRun* first = nullptr;   // NULL: the line is done
    GraphRun* parent = nullptr;  // the run whose environment the line is in; NULL: the stream's command's
    Tails tails;
};

struct GraphRun {
    /// Commands with the work of the graph's nodes, not prepared yet. Throws std::bad_alloc.
    explicit GraphRun(const Graph&);
    /// A copy with the same nodes and no run under way. Throws std::bad_alloc.
    GraphRun(const GraphRun&);

    std::shared_ptr<const GraphShape> shape;
    std::vector<std::shared_ptr<Command>> commands;
    std::vector<bool> disabled;
    std::vector<Condition> conditions;
    CUgraphExec launchable = nullptr;  // the handle for launches by kernels; NULL: they can't launch it

    // The run that is under way.
    Command* owner = nullptr;         // the stream's command
    std::vector<uint32_t> missing;    // of each node: number of nodes that still hold it up
    std::vector<uint32_t> left;       // of each region: nodes that are not done yet
    std::vector<uint32_t> startable;  // has room for all nodes
    uint32_t in_flight = 0;
    bool moved = false;  // something was in flight since a body was repeated

    // Launches by kernels.
    bool running = false, waiting = false;  // waiting: as a tail
    Line* line = nullptr;                   // the line that it runs in
    Line own_line;                          // the line whose first it is
    uint32_t lines = 0;                     // unfinished lines in its environment
    uint32_t launched = 0, queued = 0;      // launches by this run's kernels so far: into environments; as tails
    Tails tails;                            // launched by the run's kernels
    GraphRun* next_tail = nullptr;
    std::shared_ptr<GraphRun> keeps;  // itself, as long as a kernel's launch of it isn't done
    Command* held_up = nullptr;       // a stream's command that runs it when no launch is left

    /// The run that begins is the first of a line.
    void begin_line(GraphRun* parent) noexcept;
    /// Whether a launch of it isn't done.
    bool busy() const noexcept { return running || waiting || own_line.first; }
    /// The region that a conditional node runs by its condition; kNone: none.
    uint32_t chosen(uint32_t node) noexcept;
    /// Any thread. Unknown handles are ignored.
    void set_condition(CUgraphConditionalHandle, uint32_t value) noexcept;
    Condition* find_condition(CUgraphConditionalHandle) noexcept;

    /// Begins a run: nodes that wait for no others become startable.
    void begin(Command& owner) noexcept;
    void begin_region(uint32_t region) noexcept;
    /// Nodes that waited only for this node become startable. True when the node's region is done.
    bool node_done(uint32_t node) noexcept;
};

/// A graph with the work that the executable has now. Throws std::bad_alloc, with no effect.
Graph& graph_of(Graphs&, const GraphRun&);

struct GraphExec : Handled {
    std::shared_ptr<GraphRun> run;  // for the next launch
    Mark* last = nullptr;           // done when the latest launch is; holds a reference
    CUgraph graph = nullptr;        // its origin, perhaps destroyed
    uint64_t flags = 0;             // CUDA_GRAPH_INSTANTIATE_FLAG_*
    bool uploaded = false;          // since the latest change: kernels may launch it
};

}  // namespace gpo::softgpu
