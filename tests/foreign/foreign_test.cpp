// The host program also calls the driver itself. Calls of the library must have no effect on the state that it sees
// there. Runs on every device, and uses the scenarios of the fault tests to call the whole API.
#include <dlfcn.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "faults/attempt.h"
#include "foreign/raw.h"
#include "support/pipeline_ends.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

/// Calls every exported function, and `look` after each call.
void walk_everything(const std::function<void(const char*)>& look, bool with_groups = true) {
    Trouble none{.name = "nothing goes wrong", .must_succeed = true};
    none.after = look;
    for (const Scenario& scenario : scenarios())
        if (with_groups || !scenario.makes_groups) attempt(scenario, none);
}

/// The CUDA runtime library, if the machine has one. It stores a last error for each thread.
class CudaRuntime {
public:
    using SetDevice = int(int);
    using Malloc = int(void**, size_t);
    using PeekAtLastError = int();

    CudaRuntime() {
        for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so"})
            if (!library_) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library_) return;
        set_device = reinterpret_cast<SetDevice*>(dlsym(library_, "cudaSetDevice"));
        malloc = reinterpret_cast<Malloc*>(dlsym(library_, "cudaMalloc"));
        peek = reinterpret_cast<PeekAtLastError*>(dlsym(library_, "cudaPeekAtLastError"));
    }
    bool there() const noexcept { return set_device && malloc && peek; }

    SetDevice* set_device = nullptr;
    Malloc* malloc = nullptr;
    PeekAtLastError* peek = nullptr;

private:
    void* library_ = nullptr;
};

}  // namespace

TEST_CASE("the caller's current context and capture mode are as they were after every call") {
    Raw raw;
    const auto& cu = raw.cu();
    CUcontext own = nullptr, popped = nullptr;
    RAW_OK(cu.cuCtxCreate(&own, 0, raw.device));
    RAW_OK(cu.cuCtxPopCurrent(&popped));
    for (CUcontext outer : {CUcontext(nullptr), own, raw.primary}) {
        CAPTURE(static_cast<void*>(outer));
        // On a thread of its own, which has no context and the default mode.
        std::thread([&] {
            CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            RAW_OK(cu.cuThreadExchangeStreamCaptureMode(&mode));
            if (outer) RAW_OK(cu.cuCtxPushCurrent(outer));
            walk_everything([&](const char* call) {
                INFO(std::string(call));
                CUcontext now = own;
                CHECK(cu.cuCtxGetCurrent(&now) == CUDA_SUCCESS);
                CHECK(now == outer);
                CUstreamCaptureMode found = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
                CHECK(cu.cuThreadExchangeStreamCaptureMode(&found) == CUDA_SUCCESS);
                CHECK(found == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
            });
            // The whole stack, not only what is on top.
            CUcontext last = nullptr;
            if (outer) CHECK(cu.cuCtxPopCurrent(&last) == CUDA_SUCCESS);
            CHECK(last == outer);
            CUcontext none = own;
            CHECK(cu.cuCtxGetCurrent(&none) == CUDA_SUCCESS);
            CHECK(none == nullptr);
        }).join();
    }
    CHECK(cu.cuCtxDestroy(own) == CUDA_SUCCESS);
}

TEST_CASE("the CUDA runtime's last error is what it was after every call") {
    Raw raw;
    if (raw.software) return skip("the CUDA runtime has no software GPU");
    CudaRuntime runtime;
    if (!runtime.there()) return skip("no libcudart here");
    std::thread([&] {
        void* memory = nullptr;
        REQUIRE(runtime.set_device(raw.device) == 0);
        const int error = runtime.malloc(&memory, size_t{1} << 46);
        REQUIRE(error != 0);
        REQUIRE(runtime.peek() == error);
        walk_everything([&](const char* call) {
            INFO(std::string(call));
            CHECK(runtime.peek() == error);
        });
    }).join();
}

TEST_CASE(
    "a capture of the host's, in the strictest mode, goes on through every call on its own thread and on another") {
    Raw raw;
    const auto& cu = raw.cu();
    const Current current(raw, raw.primary);
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
    RAW_OK(cu.cuMemAlloc(&memory, 4096));
    RAW_OK(cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    // Keep work pending, so that the runtime's scanner, executor and errands' thread run all the time.
    Gpu gpu;
    Stream busy = gpu.stream("busy");
    Queue queue = gpu.queue();
    Memory target = gpu.memory(1 << 20);
    REQUIRE_OK(gpo_fill(busy, target, 0, 4, 1 << 18));
    REQUIRE_OK(gpo_stream_wait(busy, kPatience));

    RAW_OK(cu.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    RAW_OK(cu.cuMemsetD8Async(memory, 1, 2048, stream));
    const bool with_groups = raw.software;   // NCCL's own threads end such a capture (peers.h)
    const auto look = [&](const char* call) {
        INFO(std::string(call));
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        CHECK(cu.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS);
        CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    };
    std::thread([&] {
        const Current there(raw, raw.primary);
        walk_everything(look, with_groups);
    }).join();
    for (uint64_t i = 0; i < 100; ++i) {
        REQUIRE_OK(gpo_fill(busy, target, i, 4, 1 << 18));
        REQUIRE_OK(gpo_stream_notify(busy, queue, i));
    }
    walk_everything(look, with_groups);
    for (const auto& entry : take(queue, 100)) CHECK_OK(entry.status);
    RAW_OK(cu.cuMemsetD8Async(memory + 2048, 2, 2048, stream));
    CUgraph graph = nullptr;
    RAW_OK(cu.cuStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    RAW_OK(cu.cuGraphGetNodes(graph, nullptr, &nodes));
    CHECK(nodes == 2);

    CUgraphExec exec = nullptr;
    RAW_OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    RAW_OK(cu.cuGraphLaunch(exec, stream));
    std::vector<uint8_t> back(4096);
    RAW_OK(cu.cuMemcpyDtoHAsync(back.data(), memory, back.size(), stream));
    RAW_OK(cu.cuStreamSynchronize(stream));
    CHECK(back[0] == 1);
    CHECK(back[2047] == 1);
    CHECK(back[2048] == 2);
    CHECK(back[4095] == 2);
    CHECK(cu.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    CHECK(cu.cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK(cu.cuStreamDestroy(stream) == CUDA_SUCCESS);
    CHECK(cu.cuMemFree(memory) == CUDA_SUCCESS);
}

namespace {

/// Uses the driver in a callback: allocates, copies there and back, waits, frees.
struct CudaInside {
    const Raw& raw;
    std::atomic<int> calls{0}, worked{0};

    void use() noexcept {
        ++calls;
        const auto& cu = raw.cu();
        CUcontext popped = nullptr;
        CUdeviceptr memory = 0;
        CUstream stream = nullptr;
        uint32_t in = 42, out = 0;
        bool fine = cu.cuCtxPushCurrent(raw.primary) == CUDA_SUCCESS;
        fine = fine && cu.cuMemAlloc(&memory, 64) == CUDA_SUCCESS;
        fine = fine && cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS;
        fine = fine && cu.cuMemcpyHtoDAsync(memory, &in, sizeof in, stream) == CUDA_SUCCESS;
        fine = fine && cu.cuMemcpyDtoHAsync(&out, memory, sizeof out, stream) == CUDA_SUCCESS;
        fine = fine && cu.cuStreamSynchronize(stream) == CUDA_SUCCESS && out == in;
        fine = fine && cu.cuStreamDestroy(stream) == CUDA_SUCCESS && cu.cuMemFree(memory) == CUDA_SUCCESS;
        fine = cu.cuCtxPopCurrent(&popped) == CUDA_SUCCESS && fine;
        worked += fine;
    }
    static void completion(void* user, const gpo_completion*, const gpo_error*) {
        static_cast<CudaInside*>(user)->use();
    }
    static gpo_status host_call(void* user, const gpo_host_call*) {
        static_cast<CudaInside*>(user)->use();
        return GPO_SUCCESS;
    }
    static gpo_status stage(void* user, gpo_stream_t, const gpo_chunk*) {
        static_cast<CudaInside*>(user)->use();
        return GPO_SUCCESS;
    }
    static void log(void* user, int32_t, const char*) { static_cast<CudaInside*>(user)->use(); }
};

}  // namespace

TEST_CASE("CUDA can be called inside every kind of callback: none runs on a thread of the driver's") {
    Raw raw;
    CudaInside completions{raw}, host_calls{raw}, stages{raw}, lines{raw};
    auto options = sized<gpo_runtime_options>();
    options.log = CudaInside::log;
    options.log_user = &lines;
    {
        Gpu gpu(options);
        Stream stream = gpu.stream();
        Event event = gpu.event();
        Timeline timeline = gpu.timeline();
        Executor threads = gpu.executor(0, 2);
        REQUIRE_OK(gpo_event_record(event, stream));
        REQUIRE_OK(gpo_stream_then(stream, threads, CudaInside::completion, &completions));
        REQUIRE_OK(gpo_event_then(event, threads, CudaInside::completion, &completions));
        REQUIRE_OK(gpo_timeline_then(timeline, 1, threads, CudaInside::completion, &completions));
        REQUIRE_OK(gpo_stream_host_call(stream, threads, CudaInside::host_call, &host_calls));
        REQUIRE_OK(gpo_timeline_signal(timeline, 1));
        REQUIRE_OK(gpo_executor_run_for(threads, kPatience, nullptr));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));

        std::vector<uint8_t> in(64 << 10), out(in.size());
        auto stage = sized<gpo_stage>();
        stage.kind = GPO_STAGE_CALLBACK;
        stage.enqueue = CudaInside::stage;
        stage.user = &stages;
        auto pipeline_options = sized<gpo_pipeline_options>();
        pipeline_options.chunk_bytes = in.size() / 4;
        pipeline_options.stage_stride = sizeof(gpo_stage);
        pipeline_options.stage_count = 1;
        pipeline_options.stages = &stage;
        Pipeline pipeline;
        REQUIRE_OK(gpo_pipeline_create(gpu.device, &pipeline_options, pipeline.out()));
        const gpo_source source = from_memory(in.data(), in.size());
        const gpo_sink sink = to_memory(out.data(), out.size());
        auto result = sized<gpo_pipeline_result>();
        REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
        REQUIRE_OK(gpo_pipeline_wait(pipeline, kPatience, &result));
        gpu.event().release();   // left behind: a line of the log at shutdown
    }
    CHECK(completions.calls == 3);
    CHECK(host_calls.calls == 1);
    CHECK(stages.calls == 4);
    CHECK(lines.calls >= 1);
    CHECK(completions.worked == completions.calls);
    CHECK(host_calls.worked == host_calls.calls);
    CHECK(stages.worked == stages.calls);
    CHECK(lines.worked == lines.calls);
}
