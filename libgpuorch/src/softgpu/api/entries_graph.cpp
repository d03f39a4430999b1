// Graphs: their nodes, executable graphs, launches.
#include <algorithm>

#include "softgpu/api/entries.h"
#include "softgpu/api/nodes.h"
#include "softgpu/api/submission.h"

namespace gpo::softgpu {

namespace {

/// Lock held.
Graph& graph_of(Machine& machine, CUgraph handle) {
    Graph* graph = machine.graphs.find(handle);
    require(graph != nullptr, CUDA_ERROR_INVALID_VALUE);
    return *graph;
}

/// Lock held.
GraphNode& node_of(Machine& machine, CUgraphNode handle) {
    GraphNode* node = machine.graphs.find(handle);
    require(node != nullptr);
    return *node;
}

/// Lock held. Nodes of the graph, none of them twice.
std::vector<GraphNode*> nodes_of(Machine& machine, const Graph& graph, const CUgraphNode* handles, size_t count) {
    std::vector<GraphNode*> nodes;
    nodes.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        GraphNode& node = node_of(machine, handles[i]);
        require(node.graph == &graph && std::find(nodes.begin(), nodes.end(), &node) == nodes.end());
        nodes.push_back(&node);
    }
    return nodes;
}

CUresult CUDAAPI create(CUgraph* handle, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(handle != nullptr && flags == 0);
        host::Lock hold(machine.lock);
        *handle = machine.graphs.create().as<CUgraph>();
        return CUDA_SUCCESS;
    });
}

Work make_work(Machine& machine, Context& context, const CUgraphNodeParams& parameters) {
    Work work;
    work.context = &context;
    switch (parameters.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: make_kernel_node(machine, context, parameters.kernel, work); break;
        case CU_GRAPH_NODE_TYPE_MEMCPY: make_copy_node(machine, parameters.memcpy.copyParams, work); break;
        case CU_GRAPH_NODE_TYPE_MEMSET: make_fill_node(machine, parameters.memset, work); break;
        case CU_GRAPH_NODE_TYPE_EMPTY: break;
        default: refuse(CUDA_ERROR_NOT_SUPPORTED);
    }
    return work;
}

CUresult CUDAAPI add_node(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies, size_t count,
                          CUgraphNodeParams* parameters) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(out != nullptr && parameters != nullptr && (count == 0 || dependencies != nullptr));
        host::Lock hold(machine.lock);
        Context& context = current_context(machine);
        Graph& graph = graph_of(machine, handle);
        std::vector<GraphNode*> depends = nodes_of(machine, graph, dependencies, count);
        Work work = make_work(machine, context, *parameters);
        *out = machine.graphs.add(graph, std::move(work), std::move(depends)).as<CUgraphNode>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy_node(CUgraphNode handle) {
    return enter([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        GraphNode& node = node_of(machine, handle);
        require(!node.graph->capturing);
        machine.graphs.remove(node);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI set_kernel_node_attribute(CUgraphNode handle, CUkernelNodeAttrID id,
                                           const CUkernelNodeAttrValue* value) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(value != nullptr);
        host::Lock hold(machine.lock);
        Work& work = node_of(machine, handle).work;
        set_kernel_attribute(machine, *work.context, work, id, *value);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_nodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    return enter([&](Machine& machine) -> CUresult {
        require(count != nullptr);
        host::Lock hold(machine.lock);
        const std::vector<GraphNode*>& all = graph_of(machine, handle).nodes;
        if (nodes) {
            for (size_t i = 0; i < *count; ++i) nodes[i] = i < all.size() ? all[i]->as<CUgraphNode>() : nullptr;
            *count = std::min(*count, all.size());
        } else {
            *count = all.size();
        }
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy(CUgraph handle) {
    return enter([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        Graph& graph = graph_of(machine, handle);
        require(!graph.capturing);
        machine.graphs.destroy(graph);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI instantiate(CUgraphExec* exec, CUgraph handle, unsigned long long flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(exec != nullptr);
        // Nothing here can be launched from the device, or holds memory to free.
        require(
            !(flags & ~uint64_t(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)),
            CUDA_ERROR_NOT_SUPPORTED);
        host::Lock hold(machine.lock);
        current_context(machine);
        const Graph& graph = graph_of(machine, handle);
        require(!graph.capturing);
        std::shared_ptr<GraphRun> run = machine.prepare_run(graph);
        GraphExec* made = machine.graph_execs.create();
        made->run = std::move(run);
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
        for (const auto& command : exec.run->commands)
            require(command->context->alive.load(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        // The launches of one executable graph run one after the other.
        if (exec.last) submission.follow(*exec.last);
        Command& command = submission.command(CommandKind::graph);
        command.graph = exec.run;
        Mark* end = command.mark = machine.take_mark();
        submission.submit();
        if (exec.last) machine.release_mark(exec.last);
        exec.last = end;
        ++end->references;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy_exec(CUgraphExec handle) {
    return enter([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        GraphExec& exec = exec_of(machine, handle);
        exec.run.reset();
        if (exec.last) machine.release_mark(exec.last);
        exec.last = nullptr;
        machine.graph_execs.retire(&exec);
        machine.graph_execs.recycle(&exec);
        return CUDA_SUCCESS;
    });
}

}  // namespace

void fill_graph_entries(driver::Table& table) noexcept {
    table.cuGraphCreate = create;
    table.cuGraphAddNode = add_node;
    table.cuGraphDestroyNode = destroy_node;
    table.cuGraphKernelNodeSetAttribute = set_kernel_node_attribute;
    table.cuGraphGetNodes = get_nodes;
    table.cuGraphDestroy = destroy;
    table.cuGraphInstantiateWithFlags = instantiate;
    table.cuGraphLaunch = launch;
    table.cuGraphExecDestroy = destroy_exec;
    table.cuGraphNodeGetType = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphNodeGetDependencies = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphKernelNodeGetParams = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphKernelNodeSetParams = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphKernelNodeGetAttribute = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphKernelNodeCopyAttributes = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphMemcpyNodeGetParams = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphMemsetNodeGetParams = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphHostNodeGetParams = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphChildGraphNodeGetGraph = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphEventRecordNodeGetEvent = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphEventWaitNodeGetEvent = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphClone = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphNodeFindInClone = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphConditionalHandleCreate = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphInstantiateWithParams = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphUpload = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphExecKernelNodeSetParams = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphExecMemcpyNodeSetParams = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphExecMemsetNodeSetParams = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphNodeSetEnabled = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuGraphExecUpdate = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuDeviceGetGraphMemAttribute = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuDeviceGraphMemTrim = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    table.cuStreamUpdateCaptureDependencies = [](auto...) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
}

}  // namespace gpo::softgpu
