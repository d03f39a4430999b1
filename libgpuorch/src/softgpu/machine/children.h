// Grids that kernels have launched: CUDA's dynamic parallelism.
//
// Words. A *grid* is one launch of a kernel. Its *family* is what its threads have launched: its *children*. A *tail*
// is a child that waits for its parent and for the parent's other children. A grid is *over* when its blocks have
// ended, its children are over, and then, one after the other, its tails. The command of a stream or of a graph's node
// is done when its grid is over.
//
// The stream of a block has the block's children that are neither tails nor told to run at once: one runs after the
// other.
//
// A child is accepted with all the memory that it needs. It belongs to its parent's family, under the machine's lock,
// and goes when it is over. Where work is dropped, children that haven't begun are.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "softgpu/commands/command.h"
#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

struct ChildGrid {
    /// Throws std::bad_alloc.
    ChildGrid(Command& parent, Context&, uint64_t block, const gpo_soft_launch&);
    /// What the multiprocessors prepare for it. Throws std::bad_alloc.
    KernelLaunch launch_of(const gpo_soft_launch&, int priority) const;

    bool is_tail() const noexcept { return stream == GPO_SOFT_STREAM_TAIL; }
    bool is_in_block() const noexcept { return stream == GPO_SOFT_STREAM_OF_BLOCK; }

    Command command;
    const gpo_soft_kernel kernel;
    Command* parent;
    const uint64_t block;   // of the parent, whose thread has launched it
    const uint64_t stream;  // GPO_SOFT_STREAM_*
    ChildGrid* next = nullptr;
};

/// In the order of their launches.
struct ChildGrids {
    ChildGrid *first = nullptr, *last = nullptr;

    void push(ChildGrid&) noexcept;
    /// NULL: there is none.
    ChildGrid* take() noexcept;
    /// All of `others`, now of that parent, before those that are here.
    void put_first(ChildGrids& others, Command& parent) noexcept;
};

struct Family {
    std::unordered_map<uint64_t, ChildGrids> blocks;  // streams of blocks, by number; the first of each runs
    ChildGrids tails;
    uint32_t unfinished = 0;    // children that are not over; no tails but the one that runs
    bool parent_ended = false;  // its blocks have
};

}  // namespace gpo::softgpu
