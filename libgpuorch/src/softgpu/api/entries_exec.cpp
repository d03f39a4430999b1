// Executable graphs: made, launched, patched, updated.
#include <algorithm>

#include "softgpu/api/entries.h"
#include "softgpu/api/graph_checks.h"
#include "softgpu/api/graph_update.h"
#include "softgpu/api/nodes.h"
#include "softgpu/api/submission.h"

namespace gpo::softgpu {

namespace {

/// Lock held.
GraphExec& exec_of(Machine& machine, CUgraphExec handle) {
    GraphExec* exec = machine.graph_execs.find(handle);
    require(exec != nullptr);
    return *exec;
}

void check_flags(uint64_t flags) {
    constexpr uint64_t kKnown = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    require(!(flags & ~kKnown));
}

/// Lock held. Refuses a graph with a flaw, which `flaw` says then.
CUgraphExec instantiate(Machine& machine, CUgraph handle, uint64_t flags, Flaw& flaw) {
    flaw.result = CUDA_GRAPH_INSTANTIATE_ERROR;
    check_flags(flags);
    current_context(machine);
    Graph& graph = graph_of(machine, handle);
    require(!graph.capturing);
    flaw = find_flaw(machine, graph, flags);
    require(flaw.result == CUDA_GRAPH_INSTANTIATE_SUCCESS, flaw.code);
    std::shared_ptr<GraphRun> run = machine.prepare_run(graph);
    GraphExec& made = *machine.graph_execs.create();
    made.run = std::move(run);
    made.graph = handle;
    made.flags = flags;
    made.uploaded = flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) made.run->launchable = made.as<CUgraphExec>();
    ++graph.execs;
    return made.as<CUgraphExec>();
}

CUresult CUDAAPI instantiate_with_flags(CUgraphExec* exec, CUgraph handle, unsigned long long flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(exec != nullptr && !(flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD));
        Flaw flaw;
        host::Lock hold(machine.lock);
        *exec = instantiate(machine, handle, flags, flaw);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI instantiate_with_params(CUgraphExec* exec, CUgraph handle, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(exec != nullptr && parameters != nullptr);
        Flaw flaw{CUDA_GRAPH_INSTANTIATE_ERROR};
        const auto answer = [&] {
            parameters->hErrNode_out = flaw.node;
            parameters->result_out = flaw.result;
        };
        answer();
        host::Lock hold(machine.lock);
        if (parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) stream_of(machine, parameters->hUploadStream);
        try {
            *exec = instantiate(machine, handle, parameters->flags, flaw);
        } catch (...) {
            if (flaw.result == CUDA_GRAPH_INSTANTIATE_SUCCESS) flaw.result = CUDA_GRAPH_INSTANTIATE_ERROR;
            answer();
            throw;
        }
        answer();
        return CUDA_SUCCESS;
    });
}

/// Puts the marks that a launch's event nodes record or wait for into `command`. Throws std::bad_alloc.
void take_marks(Machine& machine, const GraphRun& run, Command& command) {
    command.marks.reserve(run.shape->events.size());
    for (uint32_t node : run.shape->events) {
        const Event& event = event_of(machine, run.commands[node]->event);
        const bool waits = run.commands[node]->kind == CommandKind::wait;
        Mark* mark = waits ? event.mark : machine.take_mark();
        if (waits && mark) ++mark->references;
        command.marks.push_back(mark);
    }
}

/// Makes the launch's marks the latest records of its events.
void set_events(Machine& machine, const GraphRun& run, const Command& command) noexcept {
    for (size_t i = 0; i < command.marks.size(); ++i) {
        const Command& node = *run.commands[run.shape->events[i]];
        if (node.kind != CommandKind::record) continue;
        machine.set_record(*machine.events.find(node.event), *command.marks[i]);
    }
}

void check_launch(Machine& machine, const GraphExec& exec) {
    for (const auto& command : exec.run->commands)
        require(!command->context || command->context->alive.load(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    require(can_launch_memory(machine, *exec.run, exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
}

CUresult CUDAAPI launch(CUgraphExec handle, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        Submission submission(machine, stream);
        GraphExec& exec = exec_of(machine, handle);
        if (submission.captured()) refuse_in_capture(submission.stream());
        check_launch(machine, exec);
        // The launches of one executable graph run one after the other.
        if (exec.last) submission.follow_launch(*exec.last);
        Command& command = submission.command(CommandKind::graph);
        command.graph = exec.run;
        Mark* end = command.mark = machine.take_mark();
        take_marks(machine, *exec.run, command);
        submission.submit();
        set_events(machine, *exec.run, command);
        launch_memory(machine, *exec.run);
        if (exec.last) machine.release_mark(exec.last);
        exec.last = end;
        ++end->references;
        exec.uploaded = true;
        return CUDA_SUCCESS;
    });
}

/// Kernels may launch it from here on. There is nothing to upload: the call only takes its place on the stream.
CUresult CUDAAPI upload(CUgraphExec handle, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        Submission submission(machine, stream);
        GraphExec& exec = exec_of(machine, handle);
        if (submission.captured()) refuse_in_capture(submission.stream());
        submission.count();
        exec.uploaded = true;
        return CUDA_SUCCESS;
    });
}

/// The number of the node in an executable that was made of a graph's node.
uint32_t number_of(Machine& machine, const GraphExec& exec, CUgraphNode handle, CommandKind kind) {
    node_of(machine, handle);  // it must still be in its graph
    const uint32_t number = exec.run->shape->find(handle);
    require(number != GraphShape::kNone && exec.run->commands[number]->kind == kind);
    return number;
}

/// Changes a node of an executable. `make(machine, was, work)` makes the node's new work.
template <class Make>
CUresult patch(CUgraphExec handle, CUgraphNode node, CommandKind kind, bool given, Make make) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(given);
        host::Lock hold(machine.lock);
        GraphExec& exec = exec_of(machine, handle);
        const uint32_t number = number_of(machine, exec, node, kind);
        const Work& was = *exec.run->commands[number];
        Work work;
        make(machine, was, work);
        require(obstacle(was, work, exec.flags) == CU_GRAPH_EXEC_UPDATE_SUCCESS);
        std::shared_ptr<Command> command = prepared_node(machine, number, std::move(work));
        own_run(exec).commands[number] = std::move(command);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI patch_kernel(CUgraphExec handle, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
    return patch(handle, node, CommandKind::kernel, parameters, [&](Machine& machine, const Work& was, Work& work) {
        make_kernel_node(machine, *parameters, work, &was.launch);
    });
}

CUresult CUDAAPI patch_copy(CUgraphExec handle, CUgraphNode node, const CUDA_MEMCPY3D* parameters, CUcontext context) {
    return patch(handle, node, CommandKind::copy, parameters, [&](Machine& machine, const Work&, Work& work) {
        work.context = &context_or_current(machine, context);
        make_copy_node(machine, *parameters, work);
    });
}

CUresult CUDAAPI patch_fill(CUgraphExec handle, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* parameters,
                            CUcontext context) {
    return patch(handle, node, CommandKind::fill, parameters, [&](Machine& machine, const Work&, Work& work) {
        work.context = &context_or_current(machine, context);
        make_fill_node(machine,
                       {parameters->dst, parameters->pitch, parameters->value, parameters->elementSize,
                        parameters->width, parameters->height, context},
                       work);
    });
}

CUresult CUDAAPI set_enabled(CUgraphExec handle, CUgraphNode node, unsigned enabled) {
    return enter_live([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        GraphExec& exec = exec_of(machine, handle);
        const CommandKind kind = node_of(machine, node).work.kind;
        require(kind == CommandKind::kernel || kind == CommandKind::copy || kind == CommandKind::fill);
        const uint32_t number = number_of(machine, exec, node, kind);
        if (exec.run->disabled[number] == !enabled) return CUDA_SUCCESS;
        own_run(exec).disabled[number] = !enabled;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI update_exec(CUgraphExec handle, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(info != nullptr);
        *info = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
        host::Lock hold(machine.lock);
        GraphExec& exec = exec_of(machine, handle);
        const Graph& wanted = graph_of(machine, graph);
        require(!wanted.capturing);
        *info = update(machine, exec, wanted);
        return info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    });
}

/// Some kernel of it launches others.
bool launches_graphs(const GraphRun& run) {
    return std::ranges::any_of(run.commands, [](const auto& command) {
        return command->kind == CommandKind::kernel && command->launch.kernel->flags & GPO_SOFT_KERNEL_LAUNCHES_GRAPHS;
    });
}

/// An executable with conditional or memory nodes, or with kernels that launch others, waits for the kernels that run
/// on the device, and for its own launch. The real driver waits as well where kernels launch the executable.
void wait_for_end_of(Machine& machine, CUgraphExec handle) {
    Mark* last = nullptr;
    {
        host::Lock hold(machine.lock);
        const GraphExec& exec = exec_of(machine, handle);
        const GraphShape& shape = *exec.run->shape;
        if (shape.memory.empty() && shape.regions.size() == 1 && !launches_graphs(*exec.run)) return;
        last = exec.last;
        if (last) ++last->references;
    }
    machine.wait_running(current_context(machine));
    if (!last) return;
    machine.wait_mark(*last);
    host::Lock hold(machine.lock);
    machine.release_mark(last);
}

CUresult CUDAAPI destroy(CUgraphExec handle) {
    return enter([&](Machine& machine) -> CUresult {
        wait_for_end_of(machine, handle);
        host::Lock hold(machine.lock);
        GraphExec& exec = exec_of(machine, handle);
        if (Graph* graph = machine.graphs.find(exec.graph)) --graph->execs;
        exec.run.reset();
        if (exec.last) machine.release_mark(exec.last);
        exec.last = nullptr;
        machine.graph_execs.retire(&exec);
        machine.graph_execs.recycle(&exec);
        return CUDA_SUCCESS;
    });
}

}  // namespace

void fill_exec_entries(driver::Table& table) noexcept {
    table.cuGraphInstantiateWithFlags = instantiate_with_flags;
    table.cuGraphInstantiateWithParams = instantiate_with_params;
    table.cuGraphLaunch = launch;
    table.cuGraphUpload = upload;
    table.cuGraphExecKernelNodeSetParams = patch_kernel;
    table.cuGraphExecMemcpyNodeSetParams = patch_copy;
    table.cuGraphExecMemsetNodeSetParams = patch_fill;
    table.cuGraphNodeSetEnabled = set_enabled;
    table.cuGraphExecUpdate = update_exec;
    table.cuGraphExecDestroy = destroy;
}

}  // namespace gpo::softgpu
