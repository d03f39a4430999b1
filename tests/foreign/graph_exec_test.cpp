// Executable graphs are changed by the driver's own calls: node by node, and to another graph as a whole.
#include <vector>

#include "foreign/graph.h"

using namespace gpo::test;

TEST_CASE("executables: kernels, copies and fills take other parameters, and the graph keeps its own") {
    GraphRig rig;
    Made graph(rig);
    const CUgraphNode fill = graph.add(fill_node(rig.word(0), 5));
    const CUgraphNode kernel = graph.kernel(rig.scale, 0, 1, {fill});
    const CUgraphNode copy = graph.add(copy_node(copy_within(rig.word(1), rig.word(0), 4)), {kernel});
    Executable exec(rig, graph), untouched(rig, graph);
    CUDA_MEMSET_NODE_PARAMS filled{};
    filled.dst = rig.word(8);
    filled.value = 9;
    filled.elementSize = 4;
    filled.width = filled.height = 1;
    CUcontext context = nullptr;
    RAW_OK(rig.cu.cuCtxGetCurrent(&context));
    KernelNode changed(rig.add, rig.word(8), 11);
    const CUDA_MEMCPY3D copied = copy_within(rig.word(10), rig.word(8), 8);
    RAW_OK(rig.cu.cuGraphExecMemsetNodeSetParams(exec, fill, &filled, context));
    RAW_OK(rig.cu.cuGraphExecKernelNodeSetParams(exec, kernel, changed.kernel()));
    RAW_OK(rig.cu.cuGraphExecMemcpyNodeSetParams(exec, copy, &copied, context));
    exec.launch();
    CHECK(rig.value(0) == 0);
    CHECK(rig.value(8) == 20);
    CHECK(rig.value(10) == 20);
    untouched.launch();
    CHECK(rig.value(0) == 16);
    CHECK(rig.value(1) == 16);
}

TEST_CASE("executables: a copy keeps the kinds of its memory") {
    GraphRig rig;
    Pinned<uint32_t> host = rig.pinned<uint32_t>(2);
    host[0] = 3;
    host[1] = 4;
    Made graph(rig, rig.capture([&] {
        RAW_OK(rig.cu.cuMemcpyHtoDAsync(rig.word(0), host.data(), 4, rig.native));
        RAW_OK(rig.cu.cuMemcpyDtoDAsync(rig.word(1), rig.word(0), 4, rig.native));
    }));
    const std::vector<CUgraphNode> nodes = graph.nodes();
    Executable exec(rig, graph);
    CUcontext context = nullptr;
    RAW_OK(rig.cu.cuCtxGetCurrent(&context));
    CUDA_MEMCPY3D copy{};
    RAW_OK(rig.cu.cuGraphMemcpyNodeGetParams(nodes[0], &copy));
    copy.WidthInBytes = 8;  // the length may change
    copy.srcPitch = copy.dstPitch = 0;
    RAW_OK(rig.cu.cuGraphExecMemcpyNodeSetParams(exec, nodes[0], &copy, context));
    CUDA_MEMCPY3D unified = copy;
    unified.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    CHECK(rig.cu.cuGraphExecMemcpyNodeSetParams(exec, nodes[0], &unified, context) == CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY3D called_host = copy_within(rig.word(1), 0, 4);
    called_host.srcMemoryType = CU_MEMORYTYPE_HOST;
    called_host.srcHost = host.data();
    CHECK(rig.cu.cuGraphExecMemcpyNodeSetParams(exec, nodes[1], &called_host, context) == CUDA_ERROR_INVALID_VALUE);
    exec.launch();
    CHECK(rig.value(0) == 3);
    CHECK(rig.value(1) == 3);  // the second copy is what it was
    // Pinned memory has a device address.
    CUDA_MEMCPY3D pinned = copy_within(rig.word(1), host.address() + 4, 4);
    RAW_OK(rig.cu.cuGraphExecMemcpyNodeSetParams(exec, nodes[1], &pinned, context));
    exec.launch();
    CHECK(rig.value(1) == 4);
}

TEST_CASE("executables: a disabled node does nothing until it is enabled again, and what follows it runs") {
    GraphRig rig;
    Made graph(rig);
    const CUgraphNode first = graph.kernel(rig.scale, 0, 1);
    const CUgraphNode second = graph.kernel(rig.scale, 0, 2, {first});
    graph.kernel(rig.scale, 0, 3, {second});
    Executable exec(rig, graph);
    RAW_OK(rig.cu.cuGraphNodeSetEnabled(exec, second, 0));
    KernelNode patched(rig.scale, rig.word(0), 4);  // a patch doesn't enable it
    RAW_OK(rig.cu.cuGraphExecKernelNodeSetParams(exec, second, patched.kernel()));
    exec.launch();
    CHECK(rig.value(0) == 6);
    RAW_OK(rig.cu.cuGraphNodeSetEnabled(exec, second, 1));
    RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 0, 1, rig.native));
    exec.launch();
    CHECK(rig.value(0) == (1 * 3 + 4) * 3 + 3);
}

namespace {

CUgraphExecUpdateResultInfo update(GraphRig& rig, CUgraphExec exec, CUgraph graph) {
    CUgraphExecUpdateResultInfo info{};
    const CUresult result = rig.cu.cuGraphExecUpdate(exec, graph, &info);
    const CUresult expected =
        info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    CHECK(result == expected);
    return info;
}

/// Two kernels, one after the other, and a copy after both.
struct Chain {
    Chain(GraphRig& rig, uint32_t by) : graph(rig) {
        first = graph.kernel(rig.scale, 0, by);
        second = graph.kernel(rig.add, 0, by, {first});
        last = graph.add(copy_node(copy_within(rig.word(1), rig.word(0), 4)), {second});
    }
    Made graph;
    CUgraphNode first = nullptr, second = nullptr, last = nullptr;
};

}  // namespace

TEST_CASE("executables: an update takes over the parameters of a graph of the same shape") {
    GraphRig rig;
    Chain old(rig, 1), fresh(rig, 10);
    KernelNode other(rig.add, rig.word(0), 7);
    RAW_OK(rig.cu.cuGraphKernelNodeSetParams(fresh.first, other.kernel()));  // another function
    Executable exec(rig, old.graph);
    CHECK(update(rig, exec, fresh.graph).result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    exec.launch();
    CHECK(rig.value(1) == 17);
    // The nodes of the original graph still name the executable's nodes.
    RAW_OK(rig.cu.cuGraphNodeSetEnabled(exec, old.second, 0));
    exec.launch();
    CHECK(rig.value(1) == 24);
}

TEST_CASE("executables: an update pairs branches that were added in another order") {
    GraphRig rig;
    Made old(rig), fresh(rig);
    CUgraphNode left = old.kernel(rig.add, 0, 1), right = old.kernel(rig.add, 1, 2);
    old.add(empty_node(), {left, right});
    Executable exec(rig, old);
    right = fresh.kernel(rig.add, 1, 20);
    left = fresh.kernel(rig.scale, 0, 10);
    fresh.add(empty_node(), {left, right});
    CHECK(update(rig, exec, fresh).result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    exec.launch();
    CHECK(rig.value(0) == 10);
    CHECK(rig.value(1) == 20);
}

TEST_CASE("executables: an update that can't be made says why, and leaves the executable as it was") {
    GraphRig rig;
    Chain old(rig, 1);
    Executable exec(rig, old.graph);
    SUBCASE("another number of nodes") {
        Chain fresh(rig, 2);
        fresh.graph.add(empty_node(), {fresh.last});
        const auto info = update(rig, exec, fresh.graph);
        CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
        CHECK(info.errorNode == nullptr);
    }
    SUBCASE("other dependencies") {
        Made fresh(rig);
        const CUgraphNode first = fresh.kernel(rig.scale, 0, 2), second = fresh.kernel(rig.add, 0, 2);
        const CUgraphNode last = fresh.add(copy_node(copy_within(rig.word(1), rig.word(0), 4)), {second, first});
        const auto info = update(rig, exec, fresh);
        CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
        CHECK(info.errorNode == last);
    }
    SUBCASE("a node of another kind") {
        Made fresh(rig);
        const CUgraphNode first = fresh.kernel(rig.scale, 0, 2);
        const CUgraphNode second = fresh.add(fill_node(rig.word(0), 2), {first});
        fresh.add(copy_node(copy_within(rig.word(1), rig.word(0), 4)), {second});
        const auto info = update(rig, exec, fresh);
        CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
        CHECK(info.errorNode == second);
    }
    SUBCASE("a copy to another kind of memory") {
        Made fresh(rig);
        const CUgraphNode first = fresh.kernel(rig.scale, 0, 2);
        const CUgraphNode second = fresh.kernel(rig.add, 0, 2, {first});
        CUDA_MEMCPY3D copy = copy_within(0, rig.word(0), 4);
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
        copy.dstHost = rig.out.data();
        const CUgraphNode last = fresh.add(copy_node(copy), {second});
        const auto info = update(rig, exec, fresh);
        CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
        CHECK(info.errorNode == last);
    }
    exec.launch();
    CHECK(rig.value(1) == 2);  // the kernels' 0 × 3 + 1 + 1
}

TEST_CASE("executables: an update reaches into child graphs") {
    GraphRig rig;
    Made old_child(rig), fresh_child(rig), old(rig), fresh(rig), different(rig), wider(rig);
    old_child.kernel(rig.add, 0, 1);
    fresh_child.kernel(rig.add, 0, 50);
    old.add(child_node(old_child));
    fresh.add(child_node(fresh_child));
    wider.kernel(rig.add, 0, 1);
    wider.kernel(rig.add, 1, 1);
    different.add(child_node(wider));
    Executable exec(rig, old);
    CHECK(update(rig, exec, fresh).result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    exec.launch();
    CHECK(rig.value(0) == 50);
    CHECK(update(rig, exec, different).result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    exec.launch();
    CHECK(rig.value(0) == 100);
}

TEST_CASE("executables: an update during a run reaches later launches" * gated) {
    GraphRig rig;
    Gate gate(rig);
    Chain old(rig, 1), fresh(rig, 5);
    Executable exec(rig, old.graph);
    gate.put_on(rig.on);
    exec.launch();
    CHECK(update(rig, exec, fresh.graph).result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    exec.launch();
    gate.open();
    CHECK(rig.value(1) == (1 + 1) * 3 + 5 + 5);
}

TEST_CASE("executables: instantiated with parameters, and uploaded ahead") {
    GraphRig rig;
    Made graph(rig), nothing(rig);
    graph.kernel(rig.add, 0, 2);
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    parameters.hUploadStream = rig.native;
    parameters.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    CUgraphExec exec = nullptr;
    RAW_OK(rig.cu.cuGraphInstantiateWithParams(&exec, graph, &parameters));
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS);
    CHECK(parameters.hErrNode_out == nullptr);
    RAW_OK(rig.cu.cuGraphUpload(exec, rig.native));
    RAW_OK(rig.cu.cuGraphLaunch(exec, rig.native));
    CHECK(rig.value(0) == 2);
    RAW_OK(rig.cu.cuGraphExecDestroy(exec));
    parameters = {};
    parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    CHECK(rig.cu.cuGraphInstantiateWithParams(&exec, nothing, &parameters) == CUDA_ERROR_INVALID_VALUE);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_ERROR);
}
