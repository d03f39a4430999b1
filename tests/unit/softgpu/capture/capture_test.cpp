// Capture on the software GPU: recording, running, and the calls that break a capture, with their codes.
#include "unit/softgpu/softgpu.h"

#include <thread>

using namespace softgpu_test;

namespace {

CUgraphExec instantiate(Gpu& gpu, CUgraph graph) {
    CUgraphExec exec = nullptr;
    OK(gpu.cu->cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

size_t node_count(Gpu& gpu, CUgraph graph) {
    size_t count = 0;
    OK(gpu.cu->cuGraphGetNodes(graph, nullptr, &count));
    return count;
}

}  // namespace

TEST_CASE("an external record is a node, an external wait too, and neither exists outside of a capture") {
    Gpu gpu;
    const CUstream stream = gpu.stream(), other = gpu.stream();
    const CUevent event = gpu.event(0);
    float ms = -1;
    IS(gpu.cu->cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuEventRecordWithFlags(event, stream, 2), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(gpu.cu->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    OK(gpu.cu->cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    OK(gpu.cu->cuStreamWaitEvent(other, event, 0));   // event wasn't recorded: no join
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    OK(gpu.cu->cuStreamIsCapturing(other, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    CUgraph graph = nullptr;
    OK(gpu.cu->cuStreamEndCapture(stream, &graph));
    CHECK(node_count(gpu, graph) == 2);
    IS(gpu.cu->cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
    const CUgraphExec exec = instantiate(gpu, graph);
    OK(gpu.cu->cuGraphLaunch(exec, stream));
    OK(gpu.cu->cuEventSynchronize(event));
    OK(gpu.cu->cuEventElapsedTime(&ms, event, event));
    OK(gpu.cu->cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT));
    OK(gpu.cu->cuStreamSynchronize(stream));
    OK(gpu.cu->cuGraphExecDestroy(exec));
    OK(gpu.cu->cuGraphDestroy(graph));
}

TEST_CASE("captured work doesn't run; the graph runs it as often as it is launched") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    int* host = gpu.pinned<int>(8);
    host[0] = 1;
    const CUdeviceptr data = gpu.memory(16);
    static std::atomic<int> calls;
    calls = 0;
    gpu.kernel("add");
    OK(gpu.cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    OK(gpu.cu->cuStreamIsCapturing(stream, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(gpu.cu->cuMemcpyHtoDAsync(data, host, 4, stream));
    OK(gpu.add(stream, data, 41, 1));
    OK(gpu.cu->cuMemsetD32Async(data + 4, 9, 1, stream));
    OK(gpu.cu->cuMemcpyDtoHAsync(host + 4, data, 8, stream));
    OK(gpu.cu->cuLaunchHostFunc(stream, [](void*) { ++calls; }, nullptr));
    CUgraph building = nullptr, graph = nullptr;
    const CUgraphNode* last = nullptr;
    cuuint64_t id = 0;
    size_t depends = 0;
    OK(gpu.cu->cuStreamGetCaptureInfo(stream, &status, &id, &building, &last, &depends));
    CHECK((id != 0 && depends == 1));
    OK(gpu.cu->cuStreamEndCapture(stream, &graph));
    CHECK(graph == building);
    CHECK(node_count(gpu, graph) == 5);
    IS(gpu.cu->cuStreamSynchronize(stream), CUDA_SUCCESS);
    CHECK((host[4] == 0 && calls == 0));
    const CUgraphExec exec = instantiate(gpu, graph);
    OK(gpu.cu->cuGraphDestroy(graph));
    for (int i = 1; i <= 3; ++i) {
        host[0] = i;
        OK(gpu.cu->cuGraphLaunch(exec, stream));
        OK(gpu.cu->cuStreamSynchronize(stream));
        CHECK(host[4] == i + 41);
        CHECK(host[5] == 9);
        CHECK(calls == i);
    }
    OK(gpu.cu->cuGraphLaunch(exec, stream));
    OK(gpu.cu->cuGraphExecDestroy(exec));   // while it may run
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(calls == 4);
    IS(gpu.cu->cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a capture forks to other streams and joins again, and branches run side by side") {
    Gpu gpu;
    const CUstream a = gpu.stream(), b = gpu.stream();
    const CUevent fork = gpu.event(), join = gpu.event();
    uint32_t* words = gpu.pinned(4);
    gpu.kernel("wait_for");
    OK(gpu.cu->cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(gpu.launch(a, "count", words));
    OK(gpu.cu->cuEventRecord(fork, a));
    OK(gpu.cu->cuStreamWaitEvent(b, fork, 0));
    // Each branch waits for the other: they only end if they run at the same time.
    OK(gpu.launch(a, "wait_for", words + 1, words + 2));
    OK(gpu.launch(b, "wait_for", words + 2, words + 1));
    OK(gpu.cu->cuEventRecord(join, b));
    OK(gpu.cu->cuStreamWaitEvent(a, join, 0));
    OK(gpu.launch(a, "count", words + 3));
    CUgraph graph = nullptr;
    OK(gpu.cu->cuStreamEndCapture(a, &graph));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    OK(gpu.cu->cuStreamIsCapturing(b, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(node_count(gpu, graph) == 4);
    const CUgraphExec exec = instantiate(gpu, graph);
    OK(gpu.cu->cuGraphLaunch(exec, b));
    OK(gpu.cu->cuStreamSynchronize(b));
    CHECK((words[0] == 1 && words[3] == 1));
}

TEST_CASE(
    "whether the legacy stream is captured can't be told while a blocking stream is, and asking does that no harm") {
    Gpu gpu;
    const CUstream blocking = gpu.stream(CU_STREAM_DEFAULT);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = nullptr;
    OK(gpu.cu->cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (CUstream legacy : {CUstream(nullptr), CUstream(CU_STREAM_LEGACY)})
        IS(gpu.cu->cuStreamIsCapturing(legacy, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    OK(gpu.cu->cuStreamIsCapturing(blocking, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(gpu.cu->cuStreamEndCapture(blocking, &graph));
    OK(gpu.cu->cuGraphDestroy(graph));
    OK(gpu.cu->cuStreamIsCapturing(nullptr, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_CASE("calls that can't be captured refuse, invalidate the capture, and the stream is usable again") {
    Gpu gpu;
    const CUstream stream = gpu.stream(), other = gpu.stream();
    const CUevent event = gpu.event(), outside = gpu.event();
    const CUdeviceptr data = gpu.memory(16);
    CUgraph graph = nullptr;
    const auto broken_by = [&](auto call, CUresult expected) {
        OK(gpu.cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CHECK(call() == expected);
        IS(gpu.cu->cuMemsetD8Async(data, 0, 16, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        IS(gpu.cu->cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CHECK(graph == nullptr);
        IS(gpu.cu->cuMemsetD8Async(data, 0, 16, stream), CUDA_SUCCESS);
    };
    CUdeviceptr memory = 0;
    void* host = nullptr;
    const auto unsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    broken_by([&] { return gpu.cu->cuStreamSynchronize(stream); }, unsupported);
    broken_by([&] { return gpu.cu->cuStreamQuery(stream); }, unsupported);
    broken_by([&] { return gpu.cu->cuEventQuery(outside); }, unsupported);
    broken_by([&] { return gpu.cu->cuMemAlloc(&memory, 16); }, unsupported);
    broken_by([&] { return gpu.cu->cuMemFree(data); }, unsupported);
    broken_by([&] { return gpu.cu->cuMemHostAlloc(&host, 16, 0); }, unsupported);
    broken_by([&] { return gpu.cu->cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048); }, unsupported);
    OK(gpu.cu->cuEventRecord(outside, other));
    broken_by([&] { return gpu.cu->cuStreamWaitEvent(stream, outside, 0); }, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    OK(gpu.cu->cuStreamSynchronize(other));
    (void)event;
}

TEST_CASE("a relaxed thread disturbs no capture, nor does another thread beside a thread-local one") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUdeviceptr data = gpu.memory(16);
    CUgraph graph = nullptr;
    CUresult relaxed = CUDA_ERROR_UNKNOWN, plain = CUDA_ERROR_UNKNOWN;
    const auto elsewhere = [&](CUstreamCaptureMode mode, CUresult* result) {
        std::thread([&] {
            gpu.cu->cuCtxSetCurrent(gpu.context);
            CUstreamCaptureMode exchanged = mode;
            gpu.cu->cuThreadExchangeStreamCaptureMode(&exchanged);
            CUdeviceptr memory = 0;
            *result = gpu.cu->cuMemAlloc(&memory, 16);
        }).join();
    };
    OK(gpu.cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    elsewhere(CU_STREAM_CAPTURE_MODE_RELAXED, &relaxed);
    CHECK(relaxed == CUDA_SUCCESS);
    OK(gpu.cu->cuMemsetD8Async(data, 0, 16, stream));
    OK(gpu.cu->cuStreamEndCapture(stream, &graph));
    OK(gpu.cu->cuGraphDestroy(graph));
    OK(gpu.cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL, &plain);
    CHECK(plain == CUDA_SUCCESS);
    OK(gpu.cu->cuStreamEndCapture(stream, &graph));
    OK(gpu.cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL, &plain);
    CHECK(plain == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    IS(gpu.cu->cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("captures end where and how they may") {
    Gpu gpu;
    const CUstream a = gpu.stream(), b = gpu.stream(), blocking = gpu.stream(CU_STREAM_DEFAULT);
    const CUevent event = gpu.event();
    const CUdeviceptr data = gpu.memory(16);
    CUgraph graph = nullptr;
    IS(gpu.cu->cuStreamEndCapture(a, &graph), CUDA_ERROR_ILLEGAL_STATE);
    IS(gpu.cu->cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(gpu.cu->cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    IS(gpu.cu->cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
    OK(gpu.cu->cuEventRecord(event, a));
    OK(gpu.cu->cuStreamWaitEvent(b, event, 0));
    OK(gpu.cu->cuMemsetD8Async(data, 0, 16, b));
    IS(gpu.cu->cuStreamEndCapture(b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CUresult from_elsewhere = CUDA_SUCCESS;
    std::thread([&] {
        gpu.cu->cuCtxSetCurrent(gpu.context);
        from_elsewhere = gpu.cu->cuStreamEndCapture(a, &graph);
    }).join();
    CHECK(from_elsewhere == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    IS(gpu.cu->cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    IS(gpu.cu->cuMemsetD8Async(data, 0, 16, b), CUDA_SUCCESS);
    // Work on the legacy stream can't be ordered with a blocking stream that is captured.
    OK(gpu.cu->cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    IS(gpu.cu->cuMemsetD8Async(data, 0, 16, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    IS(gpu.cu->cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    // Two captures don't merge.
    OK(gpu.cu->cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(gpu.cu->cuStreamBeginCapture(b, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(gpu.cu->cuEventRecord(event, a));
    IS(gpu.cu->cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
    IS(gpu.cu->cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(gpu.cu->cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(gpu.cu->cuEventRecord(event, a));
    IS(gpu.cu->cuStreamWaitEvent(b, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    IS(gpu.cu->cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(gpu.cu->cuStreamDestroy(b));   // in the middle of its capture
    OK(gpu.cu->cuStreamSynchronize(a));
}

TEST_CASE("a capture into a graph of the caller's adds to it, and destroys it if the capture breaks") {
    Gpu gpu;
    const CUstream stream = gpu.stream(), other = gpu.stream();
    const CUdeviceptr data = gpu.memory(16);
    const auto into = [&](CUstream on, CUgraph graph, const CUgraphNode* after, size_t count) {
        return gpu.cu->cuStreamBeginCaptureToGraph(on, graph, after, nullptr, count, CU_STREAM_CAPTURE_MODE_RELAXED);
    };
    CUgraph graph = nullptr, made = nullptr, elsewhere = nullptr;
    CUgraphNode first = nullptr, foreign = nullptr;
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_EMPTY;
    for (CUgraph* each : {&graph, &elsewhere}) OK(gpu.cu->cuGraphCreate(each, 0));
    OK(gpu.cu->cuGraphAddNode(&first, graph, nullptr, 0, &params));
    OK(gpu.cu->cuGraphAddNode(&foreign, elsewhere, nullptr, 0, &params));
    IS(into(stream, graph, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
    IS(into(nullptr, graph, nullptr, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(into(stream, graph, &first, 1));
    IS(into(other, graph, nullptr, 0), CUDA_ERROR_INVALID_VALUE);   // one capture at a time
    OK(gpu.cu->cuMemsetD32Async(data, 5, 1, stream));
    IS(gpu.cu->cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuStreamEndCapture(stream, &made));
    CHECK(made == graph);
    CHECK(node_count(gpu, graph) == 2);
    CUgraphNode nodes[2] = {}, before = nullptr;
    size_t count = 2;
    OK(gpu.cu->cuGraphGetNodes(graph, nodes, &count));
    count = 1;
    OK(gpu.cu->cuGraphNodeGetDependencies(nodes[1], &before, &count));
    CHECK(before == first);
    // A capture that breaks, and one that isn't joined.
    OK(into(stream, graph, nullptr, 0));
    IS(gpu.cu->cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    IS(gpu.cu->cuStreamEndCapture(stream, &made), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    IS(gpu.cu->cuGraphGetNodes(graph, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuGraphDestroy(elsewhere));
    OK(gpu.cu->cuStreamSynchronize(stream));
}
