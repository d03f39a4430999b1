#include "softgpu/machine/kernel_calls.h"

#include <algorithm>
#include <memory>
#include <new>

#include "softgpu/kernel_abi.h"
#include "softgpu/machine/batch.h"
#include "softgpu/machine/children.h"

namespace gpo::softgpu {

namespace {

// cudaError
constexpr int kSuccess = 0, kInvalidValue = 1, kMemoryAllocation = 2, kInvalidConfiguration = 9,
              kPendingCountExceeded = 69, kInvalidResourceHandle = 400, kContextIsDestroyed = 709, kNotSupported = 801,
              kInvalidClusterSize = 912;

constexpr uint32_t kMostLaunched = 120, kMostQueued = 255;  // of one run

/// Whether a launch by a kernel of `by` would be the executable's only one.
bool is_free(const GraphRun& by, const GraphExec& exec, bool as_tail) {
    const GraphRun& run = *exec.run;
    const bool same_line = by.line == &run.own_line;
    if (exec.last && !exec.last->done.load(std::memory_order_relaxed) && !same_line) return false;  // a stream's
    if (!as_tail) return !run.busy();
    return !run.waiting && (!run.running || &run == &by) && (!run.own_line.first || same_line);
}

bool can_launch(const Command& caller, const GraphExec& exec) {
    if (!exec.run->launchable || !exec.uploaded) return false;
    const Context& context = *exec.run->commands.front()->context;
    return context.alive.load() && context.device == caller.context->device;
}

bool fits_device(const gpo_soft_launch& asked) {
    const gpo_soft_dim3 &grid = asked.grid, &block = asked.block;
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z) return false;
    if (grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 || block.z > 64) return false;
    return uint64_t{block.x} * block.y * block.z <= asked.kernel.max_threads && block.x <= 1024 && block.y <= 1024 &&
           asked.dynamic_shared_bytes <= kSharedMost - std::min<size_t>(kSharedMost, asked.kernel.static_shared_bytes);
}

bool has_whole_clusters(const gpo_soft_launch& asked) {
    const gpo_soft_dim3 &grid = asked.grid, &cluster = asked.kernel.cluster;
    if (!cluster.x) return true;
    return cluster.x * cluster.y * cluster.z <= 8 && grid.x % cluster.x == 0 && grid.y % cluster.y == 0 &&
           grid.z % cluster.z == 0;
}

/// Whether there can be such a grid; a cudaError.
int check_grid(const gpo_soft_launch& asked) {
    switch (asked.stream) {
        case GPO_SOFT_STREAM_OF_BLOCK:
        case GPO_SOFT_STREAM_TAIL:
        case GPO_SOFT_STREAM_FIRE_AND_FORGET: break;
        default: return kInvalidResourceHandle;
    }
    if (!fits_device(asked)) return kInvalidConfiguration;
    return has_whole_clusters(asked) ? kSuccess : kInvalidClusterSize;
}

}  // namespace

void KernelCalls::set_condition(Command& caller, uint64_t handle, uint32_t value) noexcept {
    if (caller.run) caller.run->set_condition(handle, value);
}

uint64_t KernelCalls::current_graph(Command& caller) noexcept {
    return caller.run ? reinterpret_cast<uintptr_t>(caller.run->launchable) : 0;
}

int KernelCalls::launch_graph(Command& caller, uint64_t graph, uint32_t how) noexcept {
    if (!caller.run) return kNotSupported;
    GraphRun& by = *caller.run;
    const GraphShape& shape = *by.shape;
    if (shape.deciders[shape.nodes[caller.node].region] != GraphShape::kNone) return kNotSupported;
    if (how < GPO_SOFT_GRAPH_TAIL || how > GPO_SOFT_GRAPH_SIBLING) return kInvalidValue;
    const bool as_tail = how == GPO_SOFT_GRAPH_TAIL;
    Batch batch(machine_);
    const GraphExec* exec = machine_.graph_execs.find(reinterpret_cast<const void*>(graph));
    if (!exec || machine_.dropping(*caller.stream) || !can_launch(caller, *exec) || !is_free(by, *exec, as_tail))
        return kInvalidValue;
    if (as_tail ? by.queued == kMostQueued : by.launched == kMostLaunched) return kInvalidValue;
    if (as_tail)
        batch.launch_tail(by, exec->run);
    else
        batch.launch_beside(by, exec->run, how == GPO_SOFT_GRAPH_SIBLING);
    return kSuccess;
}

/// A launch that finds no memory fails; once accepted, it needs no more.
int KernelCalls::launch_kernel(const KernelLaunch& caller, uint64_t block, const gpo_soft_launch& asked) noexcept {
    if (const int error = check_grid(asked)) return error;
    try {
        Command& parent = *caller.command;
        Context& context = context_of(parent);
        auto child = std::make_unique<ChildGrid>(parent, context, block, asked);
        machine_.prepare(child->command, *context.device->multiprocessors, child->launch_of(asked, caller.priority));
        Batch batch(machine_);  // ends before the child does, which is freed without the lock if it's refused
        if (machine_.dropping(*parent.stream)) return kContextIsDestroyed;
        if (context.pending_launches >= context.limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT])
            return kPendingCountExceeded;
        batch.launch_child(std::move(child));
        return kSuccess;
    } catch (const std::bad_alloc&) {
        return kMemoryAllocation;
    }
}

}  // namespace gpo::softgpu
