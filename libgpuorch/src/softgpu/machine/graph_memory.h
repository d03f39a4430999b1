// Memory of graphs: what an allocation node allocates, at one address for the node's life.
//
// The block is reserved in the device's pool for graphs when the node is made. A launch that gets to an allocation node
// makes it live, and a free node or an ordinary free ends that. The block goes back to the pool when no graph or
// executable refers to it any more and it has been freed.
#pragma once

#include <cstdint>
#include <memory>

#include "softgpu/graph/run.h"

namespace gpo::softgpu {

struct Machine;
struct Pool;

struct GraphMemory {
    GraphMemory(Machine& machine, Pool& pool, CUgraph graph, uint64_t bytes)
        : machine(machine), pool(pool), graph(graph), bytes(bytes) {}
    ~GraphMemory();

    Machine& machine;
    Pool& pool;
    const CUgraph graph;           // the allocation node's graph
    const uint64_t bytes;          // as requested
    uint64_t address = 0, id = 0;  // 0: nothing is reserved
    bool freed_here = false;       // the same graph has a free node for it
    bool freed_elsewhere = false;  // another graph has a free node for it
};

// With the machine's lock held.

/// Reserves memory for an allocation node of `graph`. Throws std::bad_alloc, Refused.
std::shared_ptr<GraphMemory> reserve_graph_memory(Machine&, Context&, Pool&, const Graph& graph, uint64_t bytes);
/// The memory of an allocation node by its address; NULL: there is none.
std::shared_ptr<GraphMemory> find_graph_memory(Machine&, uint64_t address) noexcept;
/// Whether a launch may do its nodes' allocations and frees. `replaces`: it first frees memory that is still allocated.
bool can_launch_memory(Machine&, const GraphRun&, bool replaces) noexcept;
/// From now on the caller owns the memory that the launch's nodes allocate, and no longer owns what they free.
void launch_memory(Machine&, const GraphRun&) noexcept;

}  // namespace gpo::softgpu
