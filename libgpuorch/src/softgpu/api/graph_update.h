// Changes of executable graphs: which CUDA permits, and how they are made. All of it with the machine's lock held.
#pragma once

#include "softgpu/api/call.h"

namespace gpo::softgpu {

/// Why a node of an executable can't become `is`; CU_GRAPH_EXEC_UPDATE_SUCCESS: it can. `flags`: the executable's.
CUgraphExecUpdateResult obstacle(const Work& was, const Work& is, uint64_t flags) noexcept;

/// A node of an executable. Throws std::bad_alloc.
std::shared_ptr<Command> prepared_node(Machine&, uint32_t number, Work);
/// Refuses a change of what a kernel has launched. From here on kernels can't launch it before it is uploaded.
void begin_change(GraphExec&);
/// The executable's run to change, a copy if accepted launches still use the run. Throws std::bad_alloc.
GraphRun& own_run(GraphExec&);

/// Gives the executable's nodes the work of a graph of the same shape, all or none. Throws std::bad_alloc, with no
/// effect.
CUgraphExecUpdateResultInfo update(Machine&, GraphExec&, const Graph&);

}  // namespace gpo::softgpu
