// Grids launched by kernels: their end when a grid fails or the context is destroyed, their limit, and the graphs that
// refuse them.
#include <thread>

#include "softgpu/compiler/compiler.h"
#include "support/explore.h"
#include "unit/softgpu/graph/graphs.h"

using namespace softgpu_test;

namespace {

constexpr const char* kFamilies = R"(
__device__ void hold(unsigned* words) {
    words[0] = 1;
    while (!*(volatile unsigned*)(words + 1)) {}
}
__global__ void count(unsigned* to) { atomicAdd(to, 1u); }
static __global__ void hold_and_trap(unsigned* words) { hold(words); __trap(); }
__global__ void held(unsigned* words) { hold(words); }
template <int N> __global__ void trap_of_template() { if (N == 3) __trap(); }

// words: begun, open, children that ran
extern "C" __global__ void parent_of_trap(unsigned* words) {
    hold_and_trap<<<1, 1>>>(words);
    for (int i = 0; i < 20; ++i) count<<<1, 1>>>(words + 2);
    count<<<1, 1, 0, cudaStreamTailLaunch>>>(words + 2);
}
extern "C" __global__ void parent_of_held(unsigned* words) {
    held<<<1, 1>>>(words);
    for (int i = 0; i < 20; ++i) count<<<1, 1>>>(words + 2);
    count<<<1, 1, 0, cudaStreamTailLaunch>>>(words + 2);
}
extern "C" __global__ void parent_of_template() { trap_of_template<3><<<1, 1, 0, cudaStreamFireAndForget>>>(); }
extern "C" __global__ void parent_of_tails(unsigned* words, unsigned attempts) {
    for (unsigned i = 0; i < attempts; ++i) {
        count<<<1, 1, 0, cudaStreamTailLaunch>>>(words);
        if (cudaGetLastError() == cudaErrorLaunchPendingCountExceeded) ++words[1];
    }
}
// log: how many there are, and then they
__global__ void note(unsigned* log, unsigned value) { log[1 + atomicAdd(log, 1u)] = value; }
__global__ void note_with_child(unsigned* log, unsigned value) {
    note<<<1, 1>>>(log, value);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, value + 1);
}
extern "C" __global__ void whole_family(unsigned* log) {
    if (threadIdx.x) {
        note<<<1, 1, 0, cudaStreamFireAndForget>>>(log, 50);
        return;
    }
    for (unsigned i = 0; i < 3; ++i) note<<<1, 1>>>(log, 100 * (blockIdx.x + 1) + i);
    note_with_child<<<1, 1>>>(log, 100 * (blockIdx.x + 1) + 3);
    note<<<1, 1>>>(log, 100 * (blockIdx.x + 1) + 5);
    if (blockIdx.x) return;
    note_with_child<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 900);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 902);
}
extern "C" __global__ void see(unsigned* to, const unsigned* log) { *to = *log; }
extern "C" __global__ void plain(unsigned* words) { ++words[3]; }
)";

/// A software GPU with these kernels.
struct Families : GraphGpu {
    Families() {
        load();
        words = pinned(4);
    }
    /// Loads the image into the current context.
    void load() { OK(cu->cuModuleLoadDataEx(&module, image().data(), 0, nullptr, nullptr)); }
    /// The image, compiled once.
    static const std::vector<std::byte>& image() {
        static const std::vector<std::byte> made = [] {
            gpo::driver::CompileRequest request;
            request.source = kFamilies;
            request.dynamic_parallelism = true;
            const auto compiled = gpo::softgpu::make_soft_compiler()->compile(request);
            INFO(compiled.log);
            REQUIRE(compiled.ok);
            return compiled.image;
        }();
        return made;
    }
    void open() const { __atomic_store_n(words + 1, 1u, __ATOMIC_RELEASE); }
    uint32_t word(int i) const { return __atomic_load_n(words + i, __ATOMIC_ACQUIRE); }

    uint32_t* words = nullptr;
};

CUgraphNodeParams node_of(CUfunction function, void** arguments) {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
    parameters.kernel.func = function;
    parameters.kernel.gridDimX = parameters.kernel.gridDimY = parameters.kernel.gridDimZ = 1;
    parameters.kernel.blockDimX = parameters.kernel.blockDimY = parameters.kernel.blockDimZ = 1;
    parameters.kernel.kernelParams = arguments;
    return parameters;
}

CUDA_KERNEL_NODE_PARAMS new_parameters(CUfunction function, void** arguments) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = function;
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.kernelParams = arguments;
    return parameters;
}

}  // namespace

TEST_CASE("a child that fails is named, as its stream's operation, and what has not begun of the family never does") {
    Families gpu;
    gpu.live = false;
    const CUstream stream = gpu.stream();
    OK(gpu.launch(stream, "plain", gpu.words));
    OK(gpu.launch(stream, "parent_of_trap", gpu.words));
    OK(gpu.launch(stream, "plain", gpu.words));
    await_nonzero(gpu.words);
    gpu.open();
    IS(gpu.cu->cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
    const auto fault = gpu.driver->fault();
    REQUIRE(fault);
    CHECK(fault->result == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(fault->stream == stream);
    CHECK(fault->number == 2);
    CHECK(fault->kernel == "_ZL13hold_and_trapPj");
    CHECK(gpu.word(2) == 0);
    CHECK(gpu.word(3) == 1);
}

TEST_CASE("a template that only kernels launch is named as in the source") {
    Families gpu;
    gpu.live = false;
    const CUstream stream = gpu.stream();
    OK(gpu.launch(stream, "parent_of_template"));
    IS(gpu.cu->cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
    const auto fault = gpu.driver->fault();
    REQUIRE(fault);
    CHECK(fault->kernel == "trap_of_template");
}

TEST_CASE("a context that goes waits for the children that run, and drops the others") {
    Families gpu;
    CUcontext own = nullptr;
    OK(gpu.cu->cuCtxCreate(&own, 0, 0));
    gpu.load();
    const CUstream stream = gpu.stream();
    OK(gpu.launch(stream, "parent_of_held", gpu.words));
    await_nonzero(gpu.words);
    std::thread destroyer([&] { IS(gpu.cu->cuCtxDestroy(own), CUDA_SUCCESS); });
    unsigned long long id = 0;
    while (gpu.cu->cuCtxGetId(own, &id) == CUDA_SUCCESS) usleep(50);
    usleep(20'000);  // until its commands are dropped
    gpu.open();
    destroyer.join();
    CHECK(gpu.word(2) == 0);
    OK(gpu.cu->cuCtxSetCurrent(gpu.context));
}

TEST_CASE("a family runs in its order, and what is behind it in the stream after all of it, on any schedule") {
    Families::image();
    gpo::test::explore(60, [] {
        Families gpu;
        uint32_t* const log = gpu.pinned(40);
        const CUstream stream = gpu.stream();
        void* arguments[] = {const_cast<uint32_t**>(&log)};
        OK(gpu.cu->cuLaunchKernel(gpu.kernel("whole_family"), 3, 1, 1, 2, 1, 1, 0, stream, arguments, nullptr));
        OK(gpu.launch(stream, "see", gpu.words, log));
        OK(gpu.cu->cuStreamSynchronize(stream));
        const uint32_t all = 3 * (1 + 6) + 3;
        CHECK(gpu.word(0) == all);
        for (uint32_t block = 1; block <= 3; ++block) {
            std::vector<uint32_t> of_block;
            for (uint32_t i = 1; i <= all; ++i)
                if (log[i] / 100 == block) of_block.push_back(log[i] % 100);
            CHECK(of_block == std::vector<uint32_t>{0, 1, 2, 3, 4, 5});
        }
        CHECK(std::vector<uint32_t>(log + all - 2, log + all + 1) == std::vector<uint32_t>{900, 901, 902});
    });
}

TEST_CASE("as many launches as the limit says may be pending, and those that are over make room") {
    Families gpu;
    const CUstream stream = gpu.stream();
    size_t limit = 0;
    OK(gpu.cu->cuCtxGetLimit(&limit, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT));
    CHECK(limit == 2048);
    OK(gpu.cu->cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 5));
    for (uint32_t turn = 1; turn <= 3; ++turn) {
        OK(gpu.launch(stream, "parent_of_tails", gpu.words, 8u));
        OK(gpu.cu->cuStreamSynchronize(stream));
        CHECK(gpu.word(0) == 5 * turn);
        CHECK(gpu.word(1) == 3 * turn);
    }
}

TEST_CASE("graphs that kernels launch and bodies of conditional nodes refuse kernels that launch kernels") {
    Families gpu;
    const CUgraph graph = gpu.graph();
    void* arguments[] = {&gpu.words};
    const CUgraphNode node = gpu.add(graph, node_of(gpu.kernel("parent_of_held"), arguments));
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    CUgraphExec exec = nullptr;
    CHECK(gpu.cu->cuGraphInstantiateWithParams(&exec, graph, &parameters) != CUDA_SUCCESS);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
    CHECK(parameters.hErrNode_out == node);

    const CUgraph deciding = gpu.graph();
    const CUgraph body = gpu.conditional(deciding, gpu.condition(deciding, 1), CU_GRAPH_COND_TYPE_IF);
    const CUgraphNode inside = gpu.add(body, node_of(gpu.kernel("parent_of_held"), arguments));
    parameters = {};
    CHECK(gpu.cu->cuGraphInstantiateWithParams(&exec, deciding, &parameters) != CUDA_SUCCESS);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
    CHECK(parameters.hErrNode_out == inside);
}

TEST_CASE("a node of an executable doesn't get a kernel that launches for one that doesn't") {
    Families gpu;
    const CUgraph graph = gpu.graph();
    void* arguments[] = {&gpu.words};
    const CUgraphNode plain = gpu.add(graph, node_of(gpu.kernel("plain"), arguments));
    const CUgraphNode parent = gpu.add(graph, node_of(gpu.kernel("parent_of_held"), arguments));
    const CUgraphExec exec = gpu.instantiate(graph);
    const auto launching = new_parameters(gpu.kernel("parent_of_trap"), arguments);
    CHECK(gpu.cu->cuGraphExecKernelNodeSetParams(exec, plain, &launching) != CUDA_SUCCESS);
    OK(gpu.cu->cuGraphExecKernelNodeSetParams(exec, parent, &launching));
    const auto harmless = new_parameters(gpu.kernel("plain"), arguments);
    OK(gpu.cu->cuGraphExecKernelNodeSetParams(exec, parent, &harmless));
    const CUstream stream = gpu.stream();
    OK(gpu.cu->cuGraphLaunch(exec, stream));
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(gpu.word(3) == 2);
}
