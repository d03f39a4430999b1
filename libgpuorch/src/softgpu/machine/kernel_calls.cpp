#include "softgpu/machine/kernel_calls.h"

#include "softgpu/kernel_abi.h"
#include "softgpu/machine/batch.h"

namespace gpo::softgpu {

namespace {

// cudaError
constexpr int kSuccess = 0, kInvalidValue = 1, kNotSupported = 801;

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

}  // namespace

void KernelCalls::set_condition(Command& caller, uint64_t handle, uint32_t value) noexcept {
    if (caller.run) caller.run->set_condition(handle, value);
}

uint64_t KernelCalls::current(Command& caller) noexcept {
    return caller.run ? reinterpret_cast<uintptr_t>(caller.run->launchable) : 0;
}

int KernelCalls::launch(Command& caller, uint64_t graph, uint32_t how) noexcept {
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

}  // namespace gpo::softgpu
