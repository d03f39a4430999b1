// How graphs run that are made by direct driver calls. The software GPU must behave like the real driver.
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <vector>

#include "foreign/graph.h"

using namespace gpo::test;

TEST_CASE("graphs: launches of one executable run one after the other, on whichever streams") {
    GraphRig rig;
    Made graph(rig);
    graph.kernel(rig.scale, 0, 1);
    Executable exec(rig, graph);
    std::vector<CUstream> streams(4);
    for (CUstream& stream : streams) RAW_OK(rig.cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    uint32_t expected = 0;
    for (int i = 0; i < 40; ++i) {
        expected = expected * 3 + 1;
        RAW_OK(rig.cu.cuGraphLaunch(exec, streams[size_t(i) % streams.size()]));
    }
    for (CUstream stream : streams) {
        RAW_OK(rig.cu.cuStreamSynchronize(stream));
        RAW_OK(rig.cu.cuStreamDestroy(stream));
    }
    CHECK(rig.value(0) == expected);
}

TEST_CASE("graphs: an executable and its graph may be destroyed while the graph runs" * gated) {
    GraphRig rig;
    Gate gate(rig);
    Made graph(rig, rig.capture([&] { gate.put_on(rig.on); }));
    graph.kernel(rig.add, 1, 5, graph.nodes());
    Executable exec(rig, graph);
    exec.launch();
    exec.launch();
    exec.destroy();
    graph.destroy();
    CHECK(rig.cu.cuStreamQuery(rig.native) == CUDA_ERROR_NOT_READY);
    gate.open();
    CHECK(rig.value(1) == 10);
}

TEST_CASE("graphs: a patch reaches later launches and not those that were accepted before" * gated) {
    GraphRig rig;
    Gate gate(rig);
    Made graph(rig);
    const CUgraphNode node = graph.kernel(rig.scale, 0, 1);
    Executable exec(rig, graph);
    gate.put_on(rig.on);
    uint32_t expected = 0;
    for (uint32_t by = 1; by <= 5; ++by) {
        KernelNode patched(rig.scale, rig.word(0), by);
        RAW_OK(rig.cu.cuGraphExecKernelNodeSetParams(exec, node, patched.kernel()));
        exec.launch();
        expected = expected * 3 + by;
    }
    gate.open();
    CHECK(rig.value(0) == expected);
    exec.launch();
    CHECK(rig.value(0) == expected * 3 + 5);
}

TEST_CASE("graphs: a child graph's nodes run after what its node follows and before what follows it") {
    GraphRig rig;
    Made child(rig);
    const CUgraphNode left = child.kernel(rig.scale, 0, 1);
    child.kernel(rig.scale, 0, 2, {left});
    child.kernel(rig.add, 1, 1);
    Made graph(rig);
    const CUgraphNode first = graph.add(fill_node(rig.word(0), 7));
    const CUgraphNode within = graph.add(child_node(child), {first});
    graph.kernel(rig.scale, 0, 3, {within});
    child.destroy();  // the graph has its own copy
    Executable exec(rig, graph);
    exec.launch();
    exec.launch();
    CHECK(rig.value(0) == ((7 * 3 + 1) * 3 + 2) * 3 + 3);
    CHECK(rig.value(1) == 2);

    CUgraph embedded = nullptr;
    RAW_OK(rig.cu.cuGraphChildGraphNodeGetGraph(within, &embedded));
    size_t count = 0;
    RAW_OK(rig.cu.cuGraphGetNodes(embedded, nullptr, &count));
    CHECK(count == 3);
    std::vector<CUgraphNode> nodes(count);
    RAW_OK(rig.cu.cuGraphGetNodes(embedded, nodes.data(), &count));
    KernelNode patched(rig.scale, rig.word(0), 5);
    RAW_OK(rig.cu.cuGraphExecKernelNodeSetParams(exec, nodes[1], patched.kernel()));
    exec.launch();
    CHECK(rig.value(0) == ((7 * 3 + 1) * 3 + 5) * 3 + 3);
}

TEST_CASE("graphs: an empty child graph, in a child graph, holds nothing up") {
    GraphRig rig;
    Made nothing(rig), middle(rig), graph(rig);
    middle.add(child_node(nothing));
    const CUgraphNode within = graph.add(child_node(middle), {graph.kernel(rig.scale, 0, 1)});
    graph.kernel(rig.scale, 0, 2, {within});
    Executable exec(rig, graph);
    exec.launch();
    CHECK(rig.value(0) == 5);
}

TEST_CASE("graphs: an executable can't be launched on a captured stream, and the attempt breaks the capture") {
    GraphRig rig;
    Made inner(rig);
    inner.kernel(rig.scale, 0, 1);
    Executable exec(rig, inner);
    RAW_OK(rig.cu.cuStreamBeginCapture(rig.native, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(rig.cu.cuGraphLaunch(exec, rig.native) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph graph = nullptr;
    CHECK(rig.cu.cuStreamEndCapture(rig.native, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(graph == nullptr);
    exec.launch();
    rig.sync();
}

TEST_CASE("graphs: an event that a graph records holds back those who wait for it until the node is reached" * gated) {
    GraphRig rig;
    Gate gate(rig);
    gpo::test::Stream other = rig.stream("other");
    void* handle = nullptr;
    REQUIRE_OK(gpo_stream_get_native(other, &handle));
    const auto waiting = static_cast<CUstream>(handle);
    CUevent event = nullptr;
    RAW_OK(rig.cu.cuEventCreate(&event, 0));
    Made graph(rig, rig.capture([&] { gate.put_on(rig.on); }));
    const CUgraphNode written = graph.add(fill_node(rig.word(0), 4), graph.nodes());
    const CUgraphNode record = graph.add(event_node(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event), {written});
    CUevent read = nullptr;
    RAW_OK(rig.cu.cuGraphEventRecordNodeGetEvent(record, &read));
    CHECK(read == event);
    Executable exec(rig, graph);
    for (uint32_t round = 0; round < 2; ++round) {
        exec.launch();
        RAW_OK(rig.cu.cuStreamWaitEvent(waiting, event, 0));
        RAW_OK(rig.cu.cuMemcpyDtoDAsync(rig.word(1), rig.word(0), 4, waiting));
        if (!round) {
            CHECK(rig.cu.cuEventQuery(event) == CUDA_ERROR_NOT_READY);
            CHECK(rig.cu.cuStreamQuery(waiting) == CUDA_ERROR_NOT_READY);
            gate.open();
        }
        RAW_OK(rig.cu.cuStreamSynchronize(waiting));
        CHECK(rig.cu.cuEventQuery(event) == CUDA_SUCCESS);
        CHECK(rig.value(1) == 4);
    }
    RAW_OK(rig.cu.cuEventDestroy(event));
}

TEST_CASE("graphs: a node that waits for an event waits for its newest record at the launch" * gated) {
    GraphRig rig;
    Gate gate(rig);
    gpo::test::Stream other = rig.stream("other");
    void* handle = nullptr;
    REQUIRE_OK(gpo_stream_get_native(other, &handle));
    const auto recording = static_cast<CUstream>(handle);
    CUevent event = nullptr;
    RAW_OK(rig.cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    Made graph(rig);
    const CUgraphNode wait = graph.add(event_node(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event));
    graph.add(copy_node(copy_within(rig.word(1), rig.word(0), 4)), {wait});
    CUevent read = nullptr;
    RAW_OK(rig.cu.cuGraphEventWaitNodeGetEvent(wait, &read));
    CHECK(read == event);
    Executable exec(rig, graph);
    exec.launch();  // never recorded: nothing to wait for
    CHECK(rig.value(1) == 0);
    gate.put_on(other);
    RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 8, 1, recording));
    RAW_OK(rig.cu.cuEventRecord(event, recording));
    exec.launch();
    CHECK(rig.cu.cuStreamQuery(rig.native) == CUDA_ERROR_NOT_READY);
    gate.open();
    CHECK(rig.value(1) == 8);
    RAW_OK(rig.cu.cuEventDestroy(event));
}

namespace {

/// A sanitizer keeps memory that has been freed; it finds leaks itself.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepsFreed = true;
#else
constexpr bool kKeepsFreed = false;
#endif

/// Of this process.
uint64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    uint64_t size = 0, resident = 0;
    file >> size >> resident;
    return resident * uint64_t(sysconf(_SC_PAGESIZE));
}

void count_up(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

}  // namespace

TEST_CASE("graphs: a host node calls its function in its place, once for each launch") {
    GraphRig rig;
    std::atomic<int> calls{0};
    CUgraphNodeParams host{};
    host.type = CU_GRAPH_NODE_TYPE_HOST;
    host.host.fn = count_up;
    host.host.userData = &calls;
    Made graph(rig);
    const CUgraphNode node = graph.add(host, {graph.kernel(rig.add, 0, 1)});
    graph.kernel(rig.add, 0, 2, {node});
    CUDA_HOST_NODE_PARAMS read{};
    RAW_OK(rig.cu.cuGraphHostNodeGetParams(node, &read));
    CHECK((read.fn == count_up));
    CHECK(read.userData == &calls);
    Executable exec(rig, graph);
    for (int i = 0; i < 3; ++i) exec.launch();
    CHECK(rig.value(0) == 9);
    CHECK(calls == 3);
}

namespace {

CUgraphNodeParams allocation_node(CUdevice device, size_t bytes) {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    parameters.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    parameters.alloc.poolProps.location.id = device;
    parameters.alloc.bytesize = bytes;
    return parameters;
}

struct WithMemory {
    explicit WithMemory(GraphRig& rig, bool frees) : graph(rig) {
        CUdevice device = 0;
        CUcontext context = nullptr;
        RAW_OK(rig.cu.cuCtxGetDevice(&device));
        RAW_OK(rig.cu.cuCtxGetCurrent(&context));
        CUgraphNodeParams parameters = allocation_node(device, 4096);
        RAW_OK(rig.cu.cuGraphAddNode(&allocation, graph, nullptr, 0, &parameters));
        address = parameters.alloc.dptr;
        REQUIRE(address != 0);
        const CUgraphNode filled = graph.add(fill_node(address, 77, 1024, context), {allocation});
        copied = graph.add(copy_node(copy_within(rig.word(0), address + 4092, 4)), {filled});
        if (frees) graph.add(free_node(), {copied});
    }
    CUgraphNodeParams free_node() const {
        CUgraphNodeParams parameters{};
        parameters.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
        parameters.free.dptr = address;
        return parameters;
    }
    Made graph;
    CUgraphNode allocation = nullptr, copied = nullptr;
    CUdeviceptr address = 0;
};

}  // namespace

TEST_CASE("graphs: memory that a graph allocates and frees has one address in every launch") {
    GraphRig rig;
    WithMemory with(rig, true);
    CHECK(rig.type_of(with.allocation) == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    Executable exec(rig, with.graph);
    for (int i = 0; i < 3; ++i) {
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 0, 1, rig.native));
        exec.launch();
        CHECK(rig.value(0) == 77);
    }
    CHECK(rig.cu.cuMemFreeAsync(with.address, rig.native) != CUDA_SUCCESS);
}

TEST_CASE("graphs: memory that a graph leaves allocated is the caller's until it is freed, by whatever means") {
    GraphRig rig;
    WithMemory with(rig, false);
    Executable exec(rig, with.graph);
    exec.launch();
    RAW_OK(rig.cu.cuMemcpyDtoDAsync(rig.word(1), with.address, 4, rig.native));
    CHECK(rig.value(1) == 77);
    CHECK(rig.cu.cuGraphLaunch(exec, rig.native) == CUDA_ERROR_INVALID_VALUE);  // it is allocated still
    RAW_OK(rig.cu.cuMemFreeAsync(with.address, rig.native));
    exec.launch();
    {
        Made freeing(rig);
        freeing.add(with.free_node());
        Executable frees(rig, freeing);
        frees.launch();
    }
    exec.launch();
    rig.sync();
    RAW_OK(rig.cu.cuMemFree(with.address));
}

TEST_CASE("graphs: with automatic frees a launch replaces what the launch before it left allocated") {
    GraphRig rig;
    WithMemory with(rig, false);
    {
        Executable exec(rig, with.graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
        for (int i = 0; i < 3; ++i) exec.launch();
        CHECK(rig.value(0) == 77);
    }
    // The memory stays allocated after the executable's end.
    RAW_OK(rig.cu.cuMemcpyDtoDAsync(rig.word(1), with.address, 4, rig.native));
    CHECK(rig.value(1) == 77);
    RAW_OK(rig.cu.cuMemFreeAsync(with.address, rig.native));
    rig.sync();
}

TEST_CASE("graphs: a graph that allocates has one executable at a time, and is neither cloned, nor embedded, nor cut") {
    GraphRig rig;
    WithMemory with(rig, true);
    CUgraph clone = nullptr;
    CHECK(rig.cu.cuGraphClone(&clone, with.graph) != CUDA_SUCCESS);
    CHECK(rig.cu.cuGraphDestroyNode(with.copied) != CUDA_SUCCESS);
    Made outer(rig);
    CUgraphNode node = nullptr;
    CUgraphNodeParams child = child_node(with.graph), again = with.free_node();
    CHECK(rig.cu.cuGraphAddNode(&node, outer, nullptr, 0, &child) != CUDA_SUCCESS);
    CHECK(rig.cu.cuGraphAddNode(&node, with.graph, nullptr, 0, &again) == CUDA_ERROR_INVALID_VALUE);
    again.free.dptr = rig.words;
    CHECK(rig.cu.cuGraphAddNode(&node, with.graph, nullptr, 0, &again) == CUDA_ERROR_INVALID_VALUE);
    Executable exec(rig, with.graph);
    CUgraphExec second = nullptr;
    CHECK(rig.cu.cuGraphInstantiateWithFlags(&second, with.graph, 0) != CUDA_SUCCESS);
    exec.destroy();
    Executable third(rig, with.graph);
    third.launch();
    CHECK(rig.value(0) == 77);
}

TEST_CASE("graphs: memory of graphs is counted, and goes back when it is trimmed") {
    GraphRig rig;
    CUdevice device = 0;
    RAW_OK(rig.cu.cuCtxGetDevice(&device));
    const auto attribute = [&](CUgraphMem_attribute which) {
        cuuint64_t bytes = 0;
        RAW_OK(rig.cu.cuDeviceGetGraphMemAttribute(device, which, &bytes));
        return bytes;
    };
    RAW_OK(rig.cu.cuDeviceGraphMemTrim(device));
    const cuuint64_t before = attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
    {
        WithMemory with(rig, false);
        Executable exec(rig, with.graph);
        exec.launch();
        rig.sync();
        CHECK(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) >= 4096);
        CHECK(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) >= 4096);
        RAW_OK(rig.cu.cuMemFreeAsync(with.address, rig.native));
        rig.sync();
    }
    CHECK(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) >= 4096);
    RAW_OK(rig.cu.cuDeviceGraphMemTrim(device));
    CHECK(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
    CHECK(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) <= before);
}

TEST_CASE("graphs: however often one is instantiated and destroyed, the host's memory stays what it is") {
    GraphRig rig;
    Made graph(rig);
    CUgraphNode last = nullptr;
    for (uint32_t i = 0; i < 4; ++i) {
        std::vector<CUgraphNode> after;
        if (last) after.push_back(last);
        last = graph.kernel(rig.add, 0, 1, after);
    }
    const auto rounds = [&](int count) {
        for (int i = 0; i < count; ++i) {
            Executable exec(rig, graph);
            if (i % 16 == 0) exec.launch();
            KernelNode patched(rig.add, rig.word(0), 1);
            RAW_OK(rig.cu.cuGraphExecKernelNodeSetParams(exec, last, patched.kernel()));
        }
        rig.sync();
    };
    rounds(10'000);
    const uint64_t before = resident_bytes();
    rounds(kKeepsFreed ? 1'000 : 100'000);
    CHECK((kKeepsFreed || resident_bytes() < before + (8 << 20)));
}
