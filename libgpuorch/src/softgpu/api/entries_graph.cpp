// Graphs, as far as capture needs them: their nodes, executable graphs, launches.
#include <algorithm>

#include "softgpu/api/entries.h"
#include "softgpu/api/submission.h"

namespace gpo::softgpu {

namespace {

/// Lock held.
Graph& graph_of(Machine& machine, CUgraph handle) {
    Graph* graph = machine.graphs.find(handle);
    require(graph != nullptr, CUDA_ERROR_INVALID_VALUE);
    return *graph;
}

CUresult CUDAAPI get_nodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    return enter([&](Machine& machine) -> CUresult {
        require(count != nullptr);
        host::Lock hold(machine.lock);
        const GraphNodes& all = *graph_of(machine, handle).nodes;
        if (nodes) {
            for (size_t i = 0; i < *count; ++i) nodes[i] = i < all.nodes.size() ? all.native(uint32_t(i)) : nullptr;
            *count = std::min(*count, all.nodes.size());
        } else {
            *count = all.nodes.size();
        }
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy(CUgraph handle) {
    return enter([&](Machine& machine) -> CUresult {
        std::shared_ptr<GraphNodes> nodes;   // let go of after the lock
        host::Lock hold(machine.lock);
        Graph& graph = graph_of(machine, handle);
        require(!graph.capturing);
        nodes = std::move(graph.nodes);
        graph.natives.clear();
        machine.graphs.retire(&graph);
        machine.graphs.recycle(&graph);
        hold.unlock();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI instantiate(CUgraphExec* exec, CUgraph handle, unsigned long long flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(exec != nullptr);
        // Nothing here can be launched from the device, or holds memory to free.
        require(!(flags & ~uint64_t(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                    CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)),
                CUDA_ERROR_NOT_SUPPORTED);
        host::Lock hold(machine.lock);
        Context& context = current_context(machine);
        Graph& graph = graph_of(machine, handle);
        require(!graph.capturing);
        GraphExec* made = machine.graph_execs.create();
        made->nodes = graph.nodes;
        made->context = &context;
        *exec = made->as<CUgraphExec>();
        return CUDA_SUCCESS;
    });
}

/// Lock held.
GraphExec& exec_of(Machine& machine, CUgraphExec handle) {
    GraphExec* exec = machine.graph_execs.find(handle);
    require(exec != nullptr, CUDA_ERROR_INVALID_VALUE);
    return *exec;
}

CUresult CUDAAPI launch(CUgraphExec handle, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        machine.need_host_caller();
        Submission submission(machine, stream);
        if (submission.captured()) refuse_in_capture(submission.stream());
        GraphExec& exec = exec_of(machine, handle);
        for (const GraphNodes::Node& node : exec.nodes->nodes)
            require(node.context->alive.load(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        // The launches of one executable graph run one after the other.
        if (exec.last) submission.follow(*exec.last);
        Command& command = submission.command(CommandKind::graph);
        command.graph = std::make_shared<GraphRun>(exec.nodes, command);
        Mark* mark = submission.reserve_end_mark();
        submission.submit();
        submission.append_end_mark();
        if (exec.last) machine.release_mark(exec.last);
        exec.last = mark;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy_exec(CUgraphExec handle) {
    return enter([&](Machine& machine) -> CUresult {
        std::shared_ptr<const GraphNodes> nodes;
        host::Lock hold(machine.lock);
        GraphExec& exec = exec_of(machine, handle);
        nodes = std::move(exec.nodes);
        if (exec.last) machine.release_mark(exec.last);
        exec.last = nullptr;
        machine.graph_execs.retire(&exec);
        machine.graph_execs.recycle(&exec);
        hold.unlock();
        return CUDA_SUCCESS;
    });
}

}  // namespace

void fill_graph_entries(driver::Table& table) noexcept {
    table.cuGraphGetNodes = get_nodes;
    table.cuGraphDestroy = destroy;
    table.cuGraphInstantiateWithFlags = instantiate;
    table.cuGraphLaunch = launch;
    table.cuGraphExecDestroy = destroy_exec;
}

}  // namespace gpo::softgpu
