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

/// Lock held. A graph that is being captured is not the caller's to change.
Graph& own_graph_of(Machine& machine, CUgraph handle) {
    Graph& graph = graph_of(machine, handle);
    require(!graph.capturing);
    return graph;
}

/// Lock held. A node of any graph, which is found by looking through all.
std::pair<GraphNodes*, uint32_t> node_of(Machine& machine, CUgraphNode handle) {
    std::pair<GraphNodes*, uint32_t> found{nullptr, GraphNodes::kNone};
    machine.graphs.for_each([&](Graph& graph) {
        if (found.first || graph.capturing) return;
        const uint32_t node = graph.nodes->find(handle);
        if (node != GraphNodes::kNone) found = {graph.nodes.get(), node};
    });
    require(found.first != nullptr);
    return found;
}

CUresult CUDAAPI create(CUgraph* handle, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(handle != nullptr && flags == 0);
        auto nodes = std::make_shared<GraphNodes>();
        host::Lock hold(machine.lock);
        Graph* graph = machine.graphs.create();
        graph->nodes = std::move(nodes);
        *handle = graph->as<CUgraph>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI add_node(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies, size_t count,
                          CUgraphNodeParams* parameters) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(out != nullptr && parameters != nullptr && (count == 0 || dependencies != nullptr));
        auto command = std::make_unique<Command>();
        host::Lock hold(machine.lock);
        Context& context = current_context(machine);
        GraphNodes& nodes = *own_graph_of(machine, handle).nodes;
        std::vector<uint32_t> depends;
        for (size_t i = 0; i < count; ++i) {
            const uint32_t before = nodes.find(dependencies[i]);
            require(before != GraphNodes::kNone && std::find(depends.begin(), depends.end(), before) == depends.end());
            depends.push_back(before);
        }
        switch (parameters->type) {
            case CU_GRAPH_NODE_TYPE_KERNEL: make_kernel_node(machine, context, parameters->kernel, *command); break;
            case CU_GRAPH_NODE_TYPE_MEMCPY: make_copy_node(machine, parameters->memcpy.copyParams, *command); break;
            case CU_GRAPH_NODE_TYPE_MEMSET: make_fill_node(machine, parameters->memset, *command); break;
            case CU_GRAPH_NODE_TYPE_EMPTY: break;
            default: refuse(CUDA_ERROR_NOT_SUPPORTED);
        }
        *out = nodes.native(nodes.add(std::move(command), &context, std::move(depends)));
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy_node(CUgraphNode handle) {
    return enter([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        const auto [nodes, node] = node_of(machine, handle);
        nodes->remove(node);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI set_kernel_node_attribute(CUgraphNode handle, CUkernelNodeAttrID id,
                                           const CUkernelNodeAttrValue* value) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(value != nullptr);
        host::Lock hold(machine.lock);
        const auto [nodes, node] = node_of(machine, handle);
        set_kernel_attribute(machine, *nodes->nodes[node].context, *nodes->nodes[node].work, id, *value);
        return CUDA_SUCCESS;
    });
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
        require(
            !(flags & ~uint64_t(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)),
            CUDA_ERROR_NOT_SUPPORTED);
        host::Lock hold(machine.lock);
        Context& context = current_context(machine);
        Graph& graph = graph_of(machine, handle);
        require(!graph.capturing);
        std::shared_ptr<const GraphNodes> nodes = graph.nodes->copy();
        GraphExec* made = machine.graph_execs.create();
        made->nodes = std::move(nodes);
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
        command.graph = machine.prepare_run(exec.nodes, command);
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
