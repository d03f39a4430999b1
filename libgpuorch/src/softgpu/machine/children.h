// Grids that kernels have launched: CUDA's dynamic parallelism.
//
// Words. A *grid* is one launch of a kernel. The *children* of a grid are the grids that its threads have launched;
// together they are the grid's *family*. A *tail* is a child that waits for its parent and for the parent's other
// children. Tails of a grid run one after the other. A grid is *over* when its blocks have ended and its children and
// tails are over. The command of a stream or of a graph's node is done when its grid is over.
//
// A block's stream holds the block's children except tails and fire-and-forget launches, and runs them in order.
//
// A launch takes all the memory that the child needs. The parent's family, guarded by the machine's lock,
// holds the child until it is over. When work is dropped, children that haven't begun are dropped too.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "softgpu/commands/command.h"
#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

struct ChildGrid {
    /// Throws std::bad_alloc.
    ChildGrid(Command& parent, Context&, uint64_t block, const gpo_soft_launch&);
    /// The launch for the multiprocessors to prepare. Throws std::bad_alloc.
    KernelLaunch launch_of(const gpo_soft_launch&, int priority) const;

    bool is_tail() const noexcept { return stream == GPO_SOFT_STREAM_TAIL; }
    bool is_in_block() const noexcept { return stream == GPO_SOFT_STREAM_OF_BLOCK; }

    Command command;
    const gpo_soft_kernel kernel;
    Command* parent;
    const uint64_t block;   // number of the launching block in the parent
    const uint64_t stream;  // GPO_SOFT_STREAM_*
    ChildGrid* next = nullptr;
};

/// A queue of children in launch order.
struct ChildGrids {
    ChildGrid *first = nullptr, *last = nullptr;

    void push(ChildGrid&) noexcept;
    /// The first child, removed; NULL: the queue is empty.
    ChildGrid* take() noexcept;
    /// Moves all of `others` to the front and makes them children of `parent`.
    void put_first(ChildGrids& others, Command& parent) noexcept;
};

struct Family {
    std::unordered_map<uint64_t, ChildGrids> blocks;  // streams of blocks, by number; the first of each runs
    ChildGrids tails;
    uint32_t unfinished = 0;    // children that are not over, and the running tail
    bool parent_ended = false;  // the parent's blocks have ended
};

}  // namespace gpo::softgpu
