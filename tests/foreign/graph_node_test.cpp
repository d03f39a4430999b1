// Queries of the driver for graphs and nodes: kinds, parameters, dependencies; copies of graphs; nodes that are added
// to a capture.
#include <vector>

#include "foreign/graph.h"

using namespace gpo::test;

TEST_CASE("graph nodes: captured work reads back as it was given") {
    GraphRig rig;
    Pinned<uint32_t> host = rig.pinned<uint32_t>(4);
    Made graph(rig, rig.capture([&] {
        uint64_t word = rig.word(3);
        uint32_t by = 42;
        void* arguments[] = {&word, &by};
        RAW_OK(rig.cu.cuMemcpyHtoDAsync(rig.word(0), host.data(), 16, rig.native));
        RAW_OK(rig.cu.cuLaunchKernel(rig.add, 1, 1, 1, 1, 1, 1, 0, rig.native, arguments, nullptr));
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(8), 5, 3, rig.native));
        RAW_OK(rig.cu.cuMemcpyAsync(rig.word(20), rig.word(8), 12, rig.native));
    }));
    const std::vector<CUgraphNode> nodes = graph.nodes();
    REQUIRE(nodes.size() == 4);
    CHECK(rig.type_of(nodes[0]) == CU_GRAPH_NODE_TYPE_MEMCPY);
    CHECK(rig.type_of(nodes[1]) == CU_GRAPH_NODE_TYPE_KERNEL);
    CHECK(rig.type_of(nodes[2]) == CU_GRAPH_NODE_TYPE_MEMSET);
    CHECK(rig.dependencies_of(nodes[0]).empty());
    CHECK(rig.dependencies_of(nodes[2]) == std::vector<CUgraphNode>{nodes[1]});

    CUDA_MEMCPY3D copy{};
    RAW_OK(rig.cu.cuGraphMemcpyNodeGetParams(nodes[0], &copy));
    CHECK(copy.srcMemoryType == CU_MEMORYTYPE_HOST);
    CHECK(copy.dstMemoryType == CU_MEMORYTYPE_DEVICE);
    CHECK(copy.srcHost == host.data());
    CHECK(copy.dstDevice == rig.word(0));
    CHECK(copy.WidthInBytes == 16);
    CHECK(copy.Height == 1);
    CHECK(copy.Depth == 1);
    RAW_OK(rig.cu.cuGraphMemcpyNodeGetParams(nodes[3], &copy));  // from a call without memory kinds
    CHECK(copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED);
    CHECK(copy.dstMemoryType == CU_MEMORYTYPE_UNIFIED);
    CHECK(copy.srcDevice == rig.word(8));

    CUDA_KERNEL_NODE_PARAMS kernel{};
    RAW_OK(rig.cu.cuGraphKernelNodeGetParams(nodes[1], &kernel));
    CHECK(kernel.func == rig.add);
    CHECK(kernel.gridDimX == 1);
    CHECK(kernel.blockDimX == 1);
    CHECK(kernel.extra == nullptr);
    REQUIRE(kernel.kernelParams != nullptr);
    CHECK(*static_cast<uint64_t*>(kernel.kernelParams[0]) == rig.word(3));
    CHECK(*static_cast<uint32_t*>(kernel.kernelParams[1]) == 42);

    CUDA_MEMSET_NODE_PARAMS fill{};
    RAW_OK(rig.cu.cuGraphMemsetNodeGetParams(nodes[2], &fill));
    CHECK(fill.dst == rig.word(8));
    CHECK(fill.value == 5);
    CHECK(fill.elementSize == 4);
    CHECK(fill.width == 3);
    CHECK(fill.height == 1);
}

TEST_CASE("graph nodes: what was read can be given to another graph") {
    GraphRig rig;
    Made graph(rig), other(rig);
    const CUgraphNode node = graph.kernel(rig.add, 2, 6);
    CUDA_KERNEL_NODE_PARAMS read{};
    RAW_OK(rig.cu.cuGraphKernelNodeGetParams(node, &read));
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
    parameters.kernel.func = read.func;
    parameters.kernel.gridDimX = parameters.kernel.gridDimY = parameters.kernel.gridDimZ = 1;
    parameters.kernel.blockDimX = parameters.kernel.blockDimY = parameters.kernel.blockDimZ = 1;
    parameters.kernel.kernelParams = read.kernelParams;
    other.add(parameters);
    Executable exec(rig, other);
    exec.launch();
    CHECK(rig.value(2) == 6);
}

TEST_CASE("graph nodes: a kernel's parameters are set, and the executables made before don't change") {
    GraphRig rig;
    Made graph(rig);
    const CUgraphNode node = graph.kernel(rig.add, 0, 1);
    Executable before(rig, graph);
    KernelNode changed(rig.scale, rig.word(0), 10);
    RAW_OK(rig.cu.cuGraphKernelNodeSetParams(node, changed.kernel()));
    Executable after(rig, graph);
    before.launch();
    CHECK(rig.value(0) == 1);
    after.launch();
    CHECK(rig.value(0) == 13);

    // The new arguments may point into the node's own.
    CUDA_KERNEL_NODE_PARAMS read{};
    RAW_OK(rig.cu.cuGraphKernelNodeGetParams(node, &read));
    uint32_t by = 20;
    void* arguments[] = {read.kernelParams[0], &by};
    read.kernelParams = arguments;
    RAW_OK(rig.cu.cuGraphKernelNodeSetParams(node, &read));
    Executable last(rig, graph);
    last.launch();
    CHECK(rig.value(0) == 59);
}

TEST_CASE("graph nodes: attributes of kernels are set, read and copied") {
    GraphRig rig;
    Made graph(rig);
    const CUgraphNode first = graph.kernel(rig.add, 0, 1), second = graph.kernel(rig.add, 1, 2);
    CUlaunchAttributeValue value{}, read{};
    value.cooperative = 1;
    RAW_OK(rig.cu.cuGraphKernelNodeSetAttribute(first, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    RAW_OK(rig.cu.cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &read));
    CHECK(read.cooperative == 0);
    RAW_OK(rig.cu.cuGraphKernelNodeCopyAttributes(second, first));
    RAW_OK(rig.cu.cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &read));
    CHECK(read.cooperative == 1);
    Executable exec(rig, graph);
    exec.launch();
    CHECK(rig.value(0) == 1);
    CHECK(rig.value(1) == 2);
}

TEST_CASE("graph nodes: a clone is a graph of its own, and its nodes are found by the original's") {
    GraphRig rig;
    Made child(rig), graph(rig);
    child.kernel(rig.scale, 0, 2);
    const CUgraphNode first = graph.kernel(rig.scale, 0, 1);
    const CUgraphNode within = graph.add(child_node(child), {first});
    CUgraph copied = nullptr;
    RAW_OK(rig.cu.cuGraphClone(&copied, graph));
    Made clone(rig, copied);
    KernelNode changed(rig.scale, rig.word(0), 100);
    RAW_OK(rig.cu.cuGraphKernelNodeSetParams(first, changed.kernel()));
    const CUgraphNode late = graph.kernel(rig.add, 1, 1);
    CUgraphNode found = nullptr, found_within = nullptr, none = nullptr;
    RAW_OK(rig.cu.cuGraphNodeFindInClone(&found, first, clone));
    RAW_OK(rig.cu.cuGraphNodeFindInClone(&found_within, within, clone));
    CHECK(rig.cu.cuGraphNodeFindInClone(&none, late, clone) == CUDA_ERROR_INVALID_VALUE);
    CHECK(clone.nodes() == std::vector<CUgraphNode>{found, found_within});
    CHECK(rig.dependencies_of(found_within) == std::vector<CUgraphNode>{found});
    graph.destroy();
    Executable exec(rig, clone);
    exec.launch();
    CHECK(rig.value(0) == 5);
}

TEST_CASE("graph nodes: nodes may be added to what is being captured, and the stream told to follow them") {
    GraphRig rig;
    CUgraph capturing = nullptr;
    CUgraphNode added = nullptr;
    Made graph(rig, rig.capture([&] {
        uint64_t word = rig.word(0);
        uint32_t by = 3;
        void* arguments[] = {&word, &by};
        const auto scale = [&] {
            RAW_OK(rig.cu.cuLaunchKernel(rig.scale, 1, 1, 1, 1, 1, 1, 0, rig.native, arguments, nullptr));
        };
        scale();
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        const CUgraphNode* last = nullptr;
        size_t count = 0;
        RAW_OK(rig.cu.cuStreamGetCaptureInfo(rig.native, &status, nullptr, &capturing, &last, &count));
        REQUIRE(count == 1);
        CUDA_KERNEL_NODE_PARAMS read{};
        RAW_OK(rig.cu.cuGraphKernelNodeGetParams(*last, &read));
        CHECK(read.func == rig.scale);
        KernelNode node(rig.scale, rig.word(0), 5);
        RAW_OK(rig.cu.cuGraphAddNode(&added, capturing, last, 1, &node.parameters));
        RAW_OK(rig.cu.cuStreamUpdateCaptureDependencies(rig.native, &added, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
        scale();
    }));
    CHECK(capturing == graph);
    const std::vector<CUgraphNode> nodes = graph.nodes();
    REQUIRE(nodes.size() == 3);
    CHECK(rig.dependencies_of(nodes[2]) == std::vector<CUgraphNode>{added});
    Executable exec(rig, graph);
    exec.launch();
    CHECK(rig.value(0) == (3 * 3 + 5) * 3 + 3);
}

TEST_CASE("graph nodes: a stream follows what is added to its dependencies besides what it followed") {
    GraphRig rig;
    Made graph(rig, rig.capture([&] {
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 1, 1, rig.native));
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        CUgraph capturing = nullptr;
        RAW_OK(rig.cu.cuStreamGetCaptureInfo(rig.native, &status, nullptr, &capturing, nullptr, nullptr));
        CUgraphNode added = nullptr;
        CUgraphNodeParams parameters = fill_node(rig.word(1), 2);
        RAW_OK(rig.cu.cuGraphAddNode(&added, capturing, nullptr, 0, &parameters));
        RAW_OK(rig.cu.cuStreamUpdateCaptureDependencies(rig.native, &added, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(2), 3, 1, rig.native));
    }));
    const std::vector<CUgraphNode> nodes = graph.nodes();
    REQUIRE(nodes.size() == 3);
    CHECK(rig.dependencies_of(nodes[2]).size() == 2);
    CHECK(rig.cu.cuStreamUpdateCaptureDependencies(rig.native, nullptr, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES) ==
          CUDA_ERROR_ILLEGAL_STATE);
}

TEST_CASE("graph nodes: dependencies that a stream was told to forget needn't be joined") {
    GraphRig rig;
    Made graph(rig, rig.capture([&] {
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 1, 1, rig.native));
        RAW_OK(rig.cu.cuStreamUpdateCaptureDependencies(rig.native, nullptr, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(1), 2, 1, rig.native));
    }));
    const std::vector<CUgraphNode> nodes = graph.nodes();
    REQUIRE(nodes.size() == 2);
    CHECK(rig.dependencies_of(nodes[1]).empty());
    Executable exec(rig, graph);
    exec.launch();
    CHECK(rig.value(0) == 1);
    CHECK(rig.value(1) == 2);
}

TEST_CASE("graph nodes: a node of another kind, another graph's, and none at all are refused") {
    GraphRig rig;
    Made graph(rig), other(rig);
    const CUgraphNode kernel = graph.kernel(rig.add, 0, 1), empty = graph.add(empty_node());
    const CUgraphNode foreign = other.kernel(rig.add, 0, 1);
    CUDA_KERNEL_NODE_PARAMS params{};
    CUDA_MEMCPY3D copy{};
    CUgraph embedded = nullptr;
    CUevent event = nullptr;
    CHECK(rig.cu.cuGraphKernelNodeGetParams(empty, &params) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphKernelNodeGetParams(nullptr, &params) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphKernelNodeGetParams(kernel, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphMemcpyNodeGetParams(kernel, &copy) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphChildGraphNodeGetGraph(kernel, &embedded) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphEventRecordNodeGetEvent(kernel, &event) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphNodeGetType(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CUgraphNode made = nullptr;
    CUgraphNodeParams parameters = empty_node();
    CHECK(rig.cu.cuGraphAddNode(&made, graph, &foreign, 1, &parameters) == CUDA_ERROR_INVALID_VALUE);
    const CUgraphNode twice[] = {kernel, kernel};
    CHECK(rig.cu.cuGraphAddNode(&made, graph, twice, 2, &parameters) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphAddNode(&made, nullptr, nullptr, 0, &parameters) == CUDA_ERROR_INVALID_VALUE);
    CHECK(graph.nodes().size() == 2);
    Executable exec(rig, graph);
    KernelNode patched(rig.add, rig.word(0), 2);
    CHECK(rig.cu.cuGraphExecKernelNodeSetParams(exec, foreign, patched.kernel()) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphExecKernelNodeSetParams(exec, empty, patched.kernel()) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphExecKernelNodeSetParams(exec, kernel, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphNodeSetEnabled(exec, foreign, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphNodeSetEnabled(exec, empty, 0) == CUDA_ERROR_INVALID_VALUE);
    exec.launch();
    CHECK(rig.value(0) == 1);
}
