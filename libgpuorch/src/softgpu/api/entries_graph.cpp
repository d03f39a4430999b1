// Graphs: their nodes, what follows what, copies.
#include <algorithm>

#include "softgpu/api/entries.h"
#include "softgpu/api/nodes.h"

namespace gpo::softgpu {

Graph& graph_of(Machine& machine, CUgraph handle) {
    Graph* graph = machine.graphs.find(handle);
    require(graph != nullptr);
    return *graph;
}

GraphNode& node_of(Machine& machine, CUgraphNode handle) {
    GraphNode* node = machine.graphs.find(handle);
    require(node != nullptr);
    return *node;
}

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

namespace {

CUresult CUDAAPI create(CUgraph* handle, unsigned flags) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(handle != nullptr && flags == 0);
        host::Lock hold(machine.lock);
        *handle = machine.graphs.create().as<CUgraph>();
        return CUDA_SUCCESS;
    });
}

/// A graph that may be copied, and be in another one.
const Graph& plain_graph_of(Machine& machine, CUgraph handle) {
    const Graph& graph = graph_of(machine, handle);
    require(!graph.capturing);
    require(!single(graph), CUDA_ERROR_NOT_SUPPORTED);
    return graph;
}

Work make_work(Machine& machine, const Graph& graph, CUgraphNodeParams& parameters) {
    Work work;
    work.context = &current_context(machine);
    switch (parameters.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: make_kernel_node(machine, kernel_parameters(parameters.kernel), work); break;
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            work.context = &context_or_current(machine, parameters.memcpy.copyCtx);
            make_copy_node(machine, parameters.memcpy.copyParams, work);
            break;
        case CU_GRAPH_NODE_TYPE_MEMSET:
            work.context = &context_or_current(machine, parameters.memset.ctx);
            make_fill_node(machine, parameters.memset, work);
            break;
        case CU_GRAPH_NODE_TYPE_HOST: make_host_node(parameters.host, work); break;
        case CU_GRAPH_NODE_TYPE_EMPTY: break;
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            make_event_node(machine, parameters.eventRecord.event, CommandKind::record, work);
            break;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            make_event_node(machine, parameters.eventWait.event, CommandKind::wait, work);
            break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC: make_allocation_node(machine, graph, parameters.alloc, work); break;
        case CU_GRAPH_NODE_TYPE_MEM_FREE: make_free_node(machine, graph, parameters.free, work); break;
        default: refuse(CUDA_ERROR_NOT_SUPPORTED);
    }
    return work;
}

GraphNode& add_child(Machine& machine, Graph& graph, std::vector<GraphNode*> depends,
                     const CUDA_CHILD_GRAPH_NODE_PARAMS& parameters) {
    require(parameters.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE, CUDA_ERROR_NOT_SUPPORTED);
    NewGraph child(machine.graphs, machine.graphs.copy(plain_graph_of(machine, parameters.graph)));
    Work work;
    work.kind = CommandKind::child;
    work.context = &current_context(machine);
    GraphNode& node = machine.graphs.add(graph, std::move(work), std::move(depends), {&*child});
    child.release();
    return node;
}

CUresult CUDAAPI add_node(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies, size_t count,
                          CUgraphNodeParams* parameters) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(out != nullptr && parameters != nullptr && (count == 0 || dependencies != nullptr));
        if (parameters->type == CU_GRAPH_NODE_TYPE_HOST) machine.need_host_caller();
        host::Lock hold(machine.lock);
        current_context(machine);
        Graph& graph = graph_of(machine, handle);
        std::vector<GraphNode*> depends = nodes_of(machine, graph, dependencies, count);
        if (parameters->type == CU_GRAPH_NODE_TYPE_GRAPH) {
            *out = add_child(machine, graph, std::move(depends), parameters->graph).as<CUgraphNode>();
            return CUDA_SUCCESS;
        }
        if (parameters->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
            *out = add_conditional_node(machine, graph, std::move(depends), parameters->conditional).as<CUgraphNode>();
            return CUDA_SUCCESS;
        }
        Work work = make_work(machine, graph, *parameters);
        GraphNode& node = machine.graphs.add(graph, std::move(work), std::move(depends));
        added_node(node, *parameters);
        *out = node.as<CUgraphNode>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy_node(CUgraphNode handle) {
    return enter([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        GraphNode& node = node_of(machine, handle);
        require(!node.graph->capturing);
        require(!has_memory(*node.graph), CUDA_ERROR_NOT_SUPPORTED);
        machine.graphs.remove(node);
        return CUDA_SUCCESS;
    });
}

/// Lists nodes like the driver: without `out` only their number; else as many as fit, and NULL behind the last.
void list(const std::vector<GraphNode*>& nodes, CUgraphNode* out, size_t* count) {
    if (out) {
        for (size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? nodes[i]->as<CUgraphNode>() : nullptr;
        *count = std::min(*count, nodes.size());
    } else {
        *count = nodes.size();
    }
}

CUresult CUDAAPI get_nodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    return enter([&](Machine& machine) -> CUresult {
        require(count != nullptr);
        host::Lock hold(machine.lock);
        list(graph_of(machine, handle).nodes, nodes, count);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_dependencies(CUgraphNode handle, CUgraphNode* nodes, size_t* count) {
    return enter([&](Machine& machine) -> CUresult {
        require(count != nullptr);
        host::Lock hold(machine.lock);
        list(node_of(machine, handle).depends, nodes, count);
        return CUDA_SUCCESS;
    });
}

CUgraphNodeType type_of(CommandKind kind) noexcept {
    switch (kind) {
        case CommandKind::kernel: return CU_GRAPH_NODE_TYPE_KERNEL;
        case CommandKind::copy: return CU_GRAPH_NODE_TYPE_MEMCPY;
        case CommandKind::fill: return CU_GRAPH_NODE_TYPE_MEMSET;
        case CommandKind::host_call: return CU_GRAPH_NODE_TYPE_HOST;
        case CommandKind::child: return CU_GRAPH_NODE_TYPE_GRAPH;
        case CommandKind::conditional: return CU_GRAPH_NODE_TYPE_CONDITIONAL;
        case CommandKind::wait: return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
        case CommandKind::record: return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
        case CommandKind::allocation: return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
        case CommandKind::release: return CU_GRAPH_NODE_TYPE_MEM_FREE;
        case CommandKind::write_value:
        case CommandKind::wait_value: return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
        case CommandKind::graph:
        case CommandKind::nothing: break;
    }
    return CU_GRAPH_NODE_TYPE_EMPTY;
}

CUresult CUDAAPI get_type(CUgraphNode handle, CUgraphNodeType* type) {
    return enter([&](Machine& machine) -> CUresult {
        require(type != nullptr);
        host::Lock hold(machine.lock);
        *type = type_of(node_of(machine, handle).work.kind);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_child(CUgraphNode handle, CUgraph* graph) {
    return enter([&](Machine& machine) -> CUresult {
        require(graph != nullptr);
        host::Lock hold(machine.lock);
        const GraphNode& node = node_of(machine, handle);
        require(node.work.kind == CommandKind::child);
        *graph = node.inner.front()->as<CUgraph>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI clone(CUgraph* out, CUgraph handle) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(out != nullptr);
        host::Lock hold(machine.lock);
        *out = machine.graphs.copy(plain_graph_of(machine, handle)).as<CUgraph>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI find_in_clone(CUgraphNode* out, CUgraphNode original, CUgraph handle) {
    return enter([&](Machine& machine) -> CUresult {
        require(out != nullptr);
        host::Lock hold(machine.lock);
        node_of(machine, original);
        const std::vector<GraphNode*>& nodes = graph_of(machine, handle).nodes;
        const auto found =
            std::find_if(nodes.begin(), nodes.end(), [&](const GraphNode* node) { return node->original == original; });
        require(found != nodes.end());
        *out = (*found)->as<CUgraphNode>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI destroy(CUgraph handle) {
    return enter([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        Graph& graph = graph_of(machine, handle);
        require(!graph.capturing && !graph.owner);
        machine.graphs.destroy(graph);
        return CUDA_SUCCESS;
    });
}

}  // namespace

void fill_graph_entries(driver::Table& table) noexcept {
    table.cuGraphCreate = create;
    table.cuGraphAddNode = add_node;
    table.cuGraphDestroyNode = destroy_node;
    table.cuGraphGetNodes = get_nodes;
    table.cuGraphNodeGetDependencies = get_dependencies;
    table.cuGraphNodeGetType = get_type;
    table.cuGraphChildGraphNodeGetGraph = get_child;
    table.cuGraphClone = clone;
    table.cuGraphNodeFindInClone = find_in_clone;
    table.cuGraphDestroy = destroy;
}

}  // namespace gpo::softgpu
