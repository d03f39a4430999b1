// Errors with graphs on the software GPU: stale handles, kernels that fail within a graph, contexts that are destroyed
// while a graph runs or holds memory.
#include "unit/softgpu/softgpu.h"

#include <atomic>
#include <thread>
#include <utility>

using namespace softgpu_test;

namespace {

CUgraph new_graph(Gpu& gpu) {
    CUgraph graph = nullptr;
    OK(gpu.cu->cuGraphCreate(&graph, 0));
    return graph;
}

CUgraphNode put(Gpu& gpu, CUgraph graph, CUgraphNodeParams parameters, CUgraphNode after = nullptr) {
    CUgraphNode node = nullptr;
    OK(gpu.cu->cuGraphAddNode(&node, graph, &after, after ? 1 : 0, &parameters));
    return node;
}

template <class... Arguments>
CUgraphNode put_kernel(Gpu& gpu, CUgraph graph, CUgraphNode after, const char* name, Arguments... arguments) {
    void* pointers[] = {&arguments...};
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
    CUDA_KERNEL_NODE_PARAMS_v3& kernel = parameters.kernel;
    kernel.func = gpu.kernel(name);
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
    kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
    kernel.kernelParams = pointers;
    return put(gpu, graph, parameters, after);
}

CUgraphNode put_event(Gpu& gpu, CUgraph graph, CUgraphNode after, CUgraphNodeType type, CUevent event) {
    CUgraphNodeParams parameters{};
    parameters.type = type;
    parameters.eventRecord.event = event;  // in the same place for a wait
    return put(gpu, graph, parameters, after);
}

CUgraphExec instantiate(Gpu& gpu, CUgraph graph) {
    CUgraphExec exec = nullptr;
    OK(gpu.cu->cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

CUgraphNodeParams allocation(size_t bytes) {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    parameters.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    parameters.alloc.bytesize = bytes;
    return parameters;
}

}  // namespace

TEST_CASE("stale graphs, nodes and executables are refused, and what has their slots is untouched") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* words = gpu.pinned(2);
    const CUgraph old_graph = new_graph(gpu);
    const CUgraphNode old_node = put_kernel(gpu, old_graph, nullptr, "count", words);
    const CUgraphExec old_exec = instantiate(gpu, old_graph);
    OK(gpu.cu->cuGraphExecDestroy(old_exec));
    OK(gpu.cu->cuGraphDestroy(old_graph));
    const CUgraph graph = new_graph(gpu);
    const CUgraphNode node = put_kernel(gpu, graph, nullptr, "count", words + 1);
    const CUgraphExec exec = instantiate(gpu, graph);

    CUDA_KERNEL_NODE_PARAMS read{};
    OK(gpu.cu->cuGraphKernelNodeGetParams(node, &read));
    CUgraphNodeType type{};
    CUgraphNode made = nullptr;
    CUgraphExec made_exec = nullptr;
    CUgraph made_graph = nullptr;
    CUgraphExecUpdateResultInfo info{};
    CUgraphNodeParams empty{};
    empty.type = CU_GRAPH_NODE_TYPE_EMPTY;
    size_t count = 0;
    IS(gpu.cu->cuGraphDestroy(old_graph), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphGetNodes(old_graph, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphAddNode(&made, old_graph, nullptr, 0, &empty), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphAddNode(&made, graph, &old_node, 1, &empty), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphClone(&made_graph, old_graph), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphInstantiateWithFlags(&made_exec, old_graph, 0), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphDestroyNode(old_node), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphNodeGetType(old_node, &type), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphKernelNodeGetParams(old_node, &read), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphKernelNodeSetParams(old_node, &read), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphExecKernelNodeSetParams(exec, old_node, &read), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphExecKernelNodeSetParams(old_exec, node, &read), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphNodeSetEnabled(old_exec, node, 0), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphExecUpdate(old_exec, graph, &info), CUDA_ERROR_INVALID_VALUE);
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR);
    IS(gpu.cu->cuGraphExecUpdate(exec, old_graph, &info), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphUpload(old_exec, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphLaunch(old_exec, stream), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuGraphExecDestroy(old_exec), CUDA_ERROR_INVALID_VALUE);
    for (void* nonsense : {static_cast<void*>(nullptr), static_cast<void*>(words)}) {
        IS(gpu.cu->cuGraphLaunch(static_cast<CUgraphExec>(nonsense), stream), CUDA_ERROR_INVALID_VALUE);
        IS(gpu.cu->cuGraphDestroy(static_cast<CUgraph>(nonsense)), CUDA_ERROR_INVALID_VALUE);
        IS(gpu.cu->cuGraphDestroyNode(static_cast<CUgraphNode>(nonsense)), CUDA_ERROR_INVALID_VALUE);
    }
    // A removed node's handle is invalid in executables that contain the node.
    const CUgraphNode removed = put_kernel(gpu, graph, node, "count", words + 1);
    const CUgraphExec both = instantiate(gpu, graph);
    OK(gpu.cu->cuGraphDestroyNode(removed));
    IS(gpu.cu->cuGraphNodeSetEnabled(both, removed, 0), CUDA_ERROR_INVALID_VALUE);

    OK(gpu.cu->cuGraphLaunch(exec, stream));
    OK(gpu.cu->cuGraphLaunch(both, stream));
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(words[0] == 0);
    CHECK(words[1] == 3);
}

TEST_CASE("a child graph belongs to its node: it can't be destroyed, and goes with the node") {
    Gpu gpu;
    const CUgraph outer = new_graph(gpu), inner = new_graph(gpu);
    CUgraphNodeParams child{};
    child.type = CU_GRAPH_NODE_TYPE_GRAPH;
    child.graph.graph = inner;
    const CUgraphNode node = put(gpu, outer, child);
    CUgraph embedded = nullptr;
    OK(gpu.cu->cuGraphChildGraphNodeGetGraph(node, &embedded));
    CHECK(embedded != inner);
    IS(gpu.cu->cuGraphDestroy(embedded), CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams memory = allocation(64);
    CUgraphNode made = nullptr;
    CHECK(gpu.cu->cuGraphAddNode(&made, embedded, nullptr, 0, &memory) != CUDA_SUCCESS);
    OK(gpu.cu->cuGraphDestroyNode(node));
    size_t count = 0;
    IS(gpu.cu->cuGraphGetNodes(embedded, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuGraphDestroy(outer));
    OK(gpu.cu->cuGraphDestroy(inner));
}

TEST_CASE("a kernel that fails within a graph is named, and nobody waits for what the graph was to record") {
    Gpu gpu;
    gpu.live = false;
    const CUstream stream = gpu.stream(), other = gpu.stream(), third = gpu.stream();
    uint32_t* words = gpu.pinned(3);
    const CUevent event = gpu.event(), never = gpu.event();
    const CUgraph graph = new_graph(gpu), waiting = new_graph(gpu);
    const CUgraphNode bad = put_kernel(gpu, graph, nullptr, "fail_when", words, int(CUDA_ERROR_LAUNCH_FAILED));
    const CUgraphNode after = put_kernel(gpu, graph, bad, "count", words + 1);
    put_event(gpu, graph, after, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    const CUgraphNode wait = put_event(gpu, waiting, nullptr, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    put_event(gpu, waiting, put_kernel(gpu, waiting, wait, "count", words + 2), CU_GRAPH_NODE_TYPE_EVENT_RECORD, never);
    const CUgraphExec exec = instantiate(gpu, graph), waits = instantiate(gpu, waiting);
    OK(gpu.cu->cuGraphLaunch(exec, stream));
    OK(gpu.cu->cuGraphLaunch(exec, stream));
    OK(gpu.cu->cuGraphLaunch(waits, other));
    OK(gpu.cu->cuGraphLaunch(waits, third));
    std::thread sleeper([&] {
        gpu.cu->cuCtxSetCurrent(gpu.context);
        IS(gpu.cu->cuEventSynchronize(never), CUDA_ERROR_LAUNCH_FAILED);
    });
    __atomic_store_n(words, 1u, __ATOMIC_RELEASE);
    IS(gpu.cu->cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
    IS(gpu.cu->cuStreamSynchronize(other), CUDA_ERROR_LAUNCH_FAILED);
    IS(gpu.cu->cuStreamSynchronize(third), CUDA_ERROR_LAUNCH_FAILED);
    sleeper.join();
    CHECK((words[1] == 0 && words[2] == 0));
    const auto fault = gpu.driver->fault();
    REQUIRE(fault);
    CHECK(fault->stream == stream);
    CHECK(fault->number == 1);
    CHECK(fault->kernel == "fail_when");
    OK(gpu.cu->cuGraphExecDestroy(exec));
    OK(gpu.cu->cuGraphDestroy(graph));
}

TEST_CASE("a context that goes takes along the launches on its streams, and launches elsewhere stay in order") {
    Gpu gpu;
    const CUstream stream = gpu.stream(), later = gpu.stream();
    uint32_t* words = gpu.pinned(4);
    const CUgraph graph = new_graph(gpu);
    const CUgraphNode gate = put_kernel(gpu, graph, nullptr, "wait_for", words, words + 1);
    put_kernel(gpu, graph, gate, "count", words + 2);
    const CUgraphExec exec = instantiate(gpu, graph);
    CUcontext other = nullptr;
    OK(gpu.cu->cuCtxCreate(&other, 0, 0));  // current from here on
    const CUstream dying = gpu.stream();
    OK(gpu.cu->cuGraphLaunch(exec, stream));
    await_nonzero(words);
    OK(gpu.cu->cuGraphLaunch(exec, dying));
    std::thread destroyer([&] { OK(gpu.cu->cuCtxDestroy(other)); });
    OK(gpu.cu->cuCtxSetCurrent(gpu.context));
    OK(gpu.cu->cuGraphLaunch(exec, later));
    IS(gpu.cu->cuStreamQuery(later), CUDA_ERROR_NOT_READY);
    __atomic_store_n(words + 1, 1u, __ATOMIC_RELEASE);
    destroyer.join();
    OK(gpu.cu->cuStreamSynchronize(stream));
    OK(gpu.cu->cuStreamSynchronize(later));
    CHECK((words[2] == 2 || words[2] == 3));  // the launch in between may have begun before the context went
}

TEST_CASE(
    "a graph that waits for an event ends when its stream's context goes, and what follows the event isn't lost") {
    Gpu gpu;
    const CUstream held = gpu.stream();
    uint32_t* words = gpu.pinned(1);
    const CUevent event = gpu.event();
    const CUgraph graph = new_graph(gpu);
    put_kernel(gpu, graph, put_event(gpu, graph, nullptr, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event), "count", words);
    const CUgraphExec exec = instantiate(gpu, graph);
    Gate gate(gpu, held);
    OK(gpu.cu->cuEventRecord(event, held));
    CUcontext other = nullptr;
    OK(gpu.cu->cuCtxCreate(&other, 0, 0));
    const CUstream dying = gpu.stream();
    OK(gpu.cu->cuGraphLaunch(exec, dying));
    OK(gpu.cu->cuCtxDestroy(other));
    OK(gpu.cu->cuCtxSetCurrent(gpu.context));
    CHECK(words[0] == 0);
    gate.open();
    OK(gpu.cu->cuGraphLaunch(exec, held));
    OK(gpu.cu->cuStreamSynchronize(held));
    CHECK(words[0] == 1);
}

TEST_CASE("a graph's nodes and memory go with their context: it can't be launched any more, and is destroyed safely") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    CUcontext other = nullptr;
    OK(gpu.cu->cuCtxCreate(&other, 0, 0));
    const CUgraph graph = new_graph(gpu);
    CUgraphNodeParams parameters = allocation(1 << 20);
    CUgraphNode node = nullptr;
    OK(gpu.cu->cuGraphAddNode(&node, graph, nullptr, 0, &parameters));
    const CUdeviceptr address = parameters.alloc.dptr;
    const CUgraphExec exec = instantiate(gpu, graph);
    OK(gpu.cu->cuGraphLaunch(exec, stream));
    OK(gpu.cu->cuStreamSynchronize(stream));
    OK(gpu.cu->cuCtxDestroy(other));
    OK(gpu.cu->cuCtxSetCurrent(gpu.context));
    IS(gpu.cu->cuGraphLaunch(exec, stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(gpu.cu->cuMemFreeAsync(address, stream) != CUDA_SUCCESS);
    cuuint64_t used = 1;
    OK(gpu.cu->cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used == 0);
    OK(gpu.cu->cuGraphExecDestroy(exec));
    OK(gpu.cu->cuGraphDestroy(graph));
    OK(gpu.cu->cuDeviceGraphMemTrim(0));
    OK(gpu.cu->cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &used));
    CHECK(used == 0);
}

TEST_CASE("memory of a graph that is freed on a stream goes back when the stream gets there, the graph gone or not") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUgraph graph = new_graph(gpu);
    CUgraphNodeParams parameters = allocation(1 << 20);
    CUgraphNode node = nullptr;
    OK(gpu.cu->cuGraphAddNode(&node, graph, nullptr, 0, &parameters));
    const CUgraphExec exec = instantiate(gpu, graph);
    OK(gpu.cu->cuGraphLaunch(exec, stream));
    OK(gpu.cu->cuStreamSynchronize(stream));
    std::atomic<bool> open{false};   // a kernel instead would make the executable's destruction wait
    const auto wait = [](void* word) {
        while (!static_cast<std::atomic<bool>*>(word)->load()) std::this_thread::yield();
    };
    OK(gpu.cu->cuLaunchHostFunc(stream, wait, &open));
    OK(gpu.cu->cuMemFreeAsync(parameters.alloc.dptr, stream));
    OK(gpu.cu->cuGraphExecDestroy(exec));
    OK(gpu.cu->cuGraphDestroy(graph));
    cuuint64_t used = 0;
    OK(gpu.cu->cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used >= 1 << 20);
    open.store(true);
    OK(gpu.cu->cuStreamSynchronize(stream));
    OK(gpu.cu->cuDeviceGraphMemTrim(0));
    for (const auto attribute : {CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT}) {
        OK(gpu.cu->cuDeviceGetGraphMemAttribute(0, attribute, &used));
        CHECK(used == 0);
    }
}

TEST_CASE("a software GPU that is closed with graphs, executables and their memory left over leaks nothing") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* words = gpu.pinned(2);
    const CUgraph graph = new_graph(gpu);
    CUgraphNodeParams parameters = allocation(4096);
    CUgraphNode node = nullptr;
    OK(gpu.cu->cuGraphAddNode(&node, graph, nullptr, 0, &parameters));
    put_kernel(gpu, graph, node, "wait_for", words, words + 1);
    OK(gpu.cu->cuGraphLaunch(instantiate(gpu, graph), stream));
    __atomic_store_n(words + 1, 1u, __ATOMIC_RELEASE);
}
