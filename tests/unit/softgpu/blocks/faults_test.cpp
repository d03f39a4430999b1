// Errors in a kernel, in its source or with its image give a status and a sentence, and the next kernel works. Only the
// software GPU has these sentences, the guard, a missing C++ compiler and the order of blocks under a seed. The tests
// use its multiprocessors, compiler and images directly, because a failed kernel takes a device's context along
// (process/kernel_fault.cpp tests that, on any device).
#include "unit/softgpu/kernel_device.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>

#include "host/host.h"
#include "host/schedule.h"

using namespace kernel_test;

namespace {

const Program& program() {
    static const Program compiled(R"(
#include <assert.h>
extern "C" __global__ void trap(int at) { if (threadIdx.x == at) __trap(); }
extern "C" __global__ void check(int limit) {
    __syncthreads();
    assert(threadIdx.x < limit && "too many");
    __syncthreads();
}
extern "C" __global__ void spin_after_trap(volatile int *never) {
    if (blockIdx.x == 1 && threadIdx.x == 3) __trap();
    while (!*never) ;
}
extern "C" __global__ void wild(int *at) { *at = 1; }
extern "C" __global__ void wild_later(int *at) { __syncthreads(); if (threadIdx.x == 5) *at = 1; __syncthreads(); }
__device__ int deep(int n, volatile int *sink) { volatile char frame[4096]; frame[n % 4096] = 1; *sink = frame[0]; return n == 0 ? 0 : deep(n - 1, sink) + frame[n % 4096]; }
extern "C" __global__ void overrun(int *sink, int n) { __syncthreads(); *sink = deep(n, sink); }
extern "C" __global__ void divide(int *a, int b) { *a = *a / b; }
extern "C" __global__ void good(int *out) { *out += 1; }
)");
    return compiled;
}

std::string message(const gpo::driver::CompileResult& result) {
    CHECK_FALSE(result.ok);
    CHECK(result.image.empty());
    return result.log;
}

bool says(const std::string& text, const char* what) {
    const bool found = text.find(what) != std::string::npos;
    INFO(text);
    CHECK_MESSAGE(found, what);
    return found;
}

}  // namespace

TEST_CASE("a trap ends its launch with the place, and the next launch works") {
    Device device;
    KernelOutcome outcome = device.launch(program().kernel("trap"), {{4, 1, 1}, {64, 1, 1}}, 40)->wait();
    CHECK(outcome.result == CUDA_ERROR_LAUNCH_FAILED);
    says(outcome.text, "thread 40,0,0");
    device.run(program().kernel("trap"), {{4, 1, 1}, {64, 1, 1}}, 64);
    int out = 0;
    device.run(program().kernel("good"), {}, &out);
    CHECK(out == 1);
}

TEST_CASE("a failed assertion tells file, line, expression and thread") {
    Device device;
    const KernelOutcome outcome = device.launch(program().kernel("check"), {{2, 1, 1}, {96, 1, 1}}, 95)->wait();
    CHECK(outcome.result == CUDA_ERROR_ASSERT);
    says(outcome.text, "kernel.cu:6: ");
    says(outcome.text, "threadIdx.x < limit");
    says(outcome.text, "thread 95,0,0");
    device.run(program().kernel("check"), {{2, 1, 1}, {96, 1, 1}}, 96);
}

TEST_CASE("a failed assertion names the function that it is in: the kernel, also a template, or one that it calls") {
    const Program source(R"(
#include <assert.h>
__device__ void inner(int limit) { assert(limit == 0); }
extern "C" __global__ void plain(int limit) { assert(limit == 0); }
extern "C" __global__ void waiting(int limit) { __syncthreads(); if (limit) { assert(limit == 0); } }
extern "C" __global__ void calling(int limit) { inner(limit); }
template <class T> __global__ void of_template(T limit) { assert(limit == 0); }
)",
                         {"of_template<int>"});
    const char* const kernels[][2] = {{"plain", ": plain: "},
                                      {"waiting", ": waiting: "},
                                      {"calling", ": inner: "},
                                      {"of_template<int>", ": of_template: "}};
    for (const auto& [kernel, function] : kernels) {
        INFO(kernel);
        Device device;
        const KernelOutcome outcome = device.launch(source.kernel(kernel), {}, 1)->wait();
        CHECK(outcome.result == CUDA_ERROR_ASSERT);
        says(outcome.text, function);
        CHECK(std::string(outcome.text).find("operator()") == std::string::npos);
    }
}

TEST_CASE("a trap in one block ends the others that spin") {
    Device device;
    int never = 0;
    CHECK(device.launch(program().kernel("spin_after_trap"), {{8, 1, 1}, {32, 1, 1}}, &never)->wait().result ==
          CUDA_ERROR_LAUNCH_FAILED);
    device.run(program().kernel("trap"), {{1, 1, 1}, {1, 1, 1}}, 1);
}

// Sanitizers watch these signals themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("with the guard a wild access and a stack that overruns end the launch, not the process") {
    Device device(2, true);
    int* nowhere = reinterpret_cast<int*>(0x10);
    KernelOutcome outcome = device.launch(program().kernel("wild"), {}, nowhere)->wait();
    CHECK(outcome.result == CUDA_ERROR_ILLEGAL_ADDRESS);
    says(outcome.text, "0x10");
    outcome = device.launch(program().kernel("wild_later"), {{4, 1, 1}, {64, 1, 1}}, nowhere)->wait();
    CHECK(outcome.result == CUDA_ERROR_ILLEGAL_ADDRESS);
    says(outcome.text, "thread 5,0,0");
    int sink = 0;
    CHECK(device.launch(program().kernel("overrun"), {{2, 1, 1}, {32, 1, 1}}, &sink, 100000)->wait().result ==
          CUDA_ERROR_ILLEGAL_ADDRESS);
    device.run(program().kernel("overrun"), {{2, 1, 1}, {32, 1, 1}}, &sink, 20);
    outcome = device.launch(program().kernel("divide"), {}, &sink, 0)->wait();
    CHECK(outcome.result == CUDA_ERROR_LAUNCH_FAILED);
    says(outcome.text, "division by zero");
    int out = 0;
    device.run(program().kernel("good"), {}, &out);
    CHECK(out == 1);
}
#endif

TEST_CASE("a compile error shows the user's file and line") {
    says(message(compile("__global__ void k(int *a) {\n    *a = 1;\n    *a = undeclared;\n}\n")), "kernel.cu:3:");
    says(message(compile("#include \"missing.h\"\n")), "missing.h");
    says(message(compile("__global__ void k(int *a) {\n  {\n")), "kernel.cu(2): error: '{' is never closed");
    says(message(compile("__global__ void k(int *a) { *a = \"no end;\n }\n")), "kernel.cu");
    CHECK(compile("__global__ void k(int *a) { *a = 1; }\n").ok);
}

TEST_CASE("what the subset lacks is refused with its line") {
    says(message(compile("\n\n__global__ void k(int *a) { asm(\"mov.u32 %0, %laneid;\" : \"=r\"(*a)); }")),
         "kernel.cu(3): error: inline PTX");
    says(message(compile("__global__ void k();\n__global__ void p() {\nk<<<1, 1>>>(); }")),
         "kernel.cu(3): error: a kernel that launches kernels");
    says(message(compile("__global__ void k(cudaTextureObject_t t) {}")), "kernel.cu(1): error: textures");
    for (const char* call : {"tex2D<float>(0, 0, 0)", "tex1Dfetch<int>(0, 0)", "texCubemapLayeredLod<float>(0)",
                             "surf2Dread<int>(0, 0, 0)", "surfCubemapLayeredwrite(1, 0, 0)"})
        says(message(compile("__global__ void k() {\n" + std::string(call) + "; }")), "kernel.cu(2): error: textures");
    says(message(compile("__global__ void k() {\n __shared__ int x = 3; }")), "kernel.cu(2): error: a __shared__");
    CHECK(compile("// asm <<<\n#if 0\nasm volatile(\"\");\n#endif\n__global__ void k() { const char *s = \"asm <<<\"; "
                  "(void)s; }")
              .ok);
}

TEST_CASE("a name expression that names nothing and an unknown option are refused") {
    says(message(compile("template <int N> __global__ void k() {}", {"missing<3>"})), "missing");
    says(message(compile("__global__ void k() {}", {}, {"--no-such-option"})), "unrecognized option --no-such-option");
    CHECK(compile("template <int N> __global__ void k() {}", {"k<3>"}, {"--use_fast_math", "-DX=1", "-I", "/nowhere"})
              .ok);
}

TEST_CASE("without a compiler the answer says what was looked for, and later ones work") {
    setenv("GPUORCH_CXX", "/nowhere/no-compiler", 1);
    const auto none = compile("__global__ void k() {}");
    unsetenv("GPUORCH_CXX");
    CHECK_FALSE(none.ok);
    CHECK(none.unavailable);
    says(none.log, "/nowhere/no-compiler");
    const std::string path = getenv("PATH");
    setenv("PATH", "/nowhere", 1);
    const auto nothing = compile("__global__ void k() {}");
    setenv("PATH", path.c_str(), 1);
    CHECK(nothing.unavailable);
    says(nothing.log, "clang++");
    CHECK(compile("__global__ void k() {}").ok);
}

TEST_CASE("headers of the request are found, and their kernels are kernels") {
    gpo::driver::CompileRequest request;
    request.source = "#include \"lib/add.cuh\"\nextern \"C\" __global__ void k(int *a) { *a = add(*a); }\n";
    request.file_name = "main.cu";
    request.headers = {{"lib/add.cuh", "__device__ __forceinline__ int add(int x) { return x + 2; }\n"}};
    const auto compiler = gpo::softgpu::make_soft_compiler();
    const auto result = compiler->compile(request);
    INFO(result.log);
    CHECK(result.ok);
    request.headers = {{"../outside.cuh", ""}};
    CHECK_FALSE(compiler->compile(request).ok);
    CHECK(compiler->identity().find("abi " + std::to_string(GPO_SOFT_KERNEL_ABI) + " ") != std::string::npos);
}

TEST_CASE("an image that is cut short, random or another kind of file is refused with a sentence") {
    const auto result = compile("extern \"C\" __global__ void k(int *a) { *a = 1; }");
    REQUIRE(result.ok);
    std::string log;
    std::unique_ptr<Image> image;
    for (size_t part = 0; part < 16; ++part) {
        // A copy of exactly this size, so sanitizers see a read beyond the end.
        const std::vector<std::byte> cut(result.image.begin(), result.image.begin() + result.image.size() * part / 16);
        log.clear();
        CHECK(Image::load(cut.empty() ? result.image.data() : cut.data(), cut.empty() ? 1 : cut.size(), &log, &image) ==
              CUDA_ERROR_INVALID_IMAGE);
        CHECK_FALSE(log.empty());
    }
    std::vector<std::byte> random(result.image.size());
    for (size_t i = 0; i < random.size(); ++i) random[i] = static_cast<std::byte>(i * 2654435761u >> 11);
    CHECK(Image::load(random.data(), random.size(), &log, &image) == CUDA_ERROR_INVALID_IMAGE);
    std::vector<std::byte> foreign = result.image;
    foreign[18] = std::byte{0x15};   // e_machine
    CHECK(Image::load(foreign.data(), foreign.size(), &log, &image) == CUDA_ERROR_INVALID_IMAGE);
    const char text[] = "//\n// Generated by NVIDIA NVVM Compiler\n//\n.version 8.2\n.target sm_90\n";
    CHECK(Image::load(text, sizeof text, &log, &image) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(Image::load(text, 0, &log, &image) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(Image::load(result.image.data(), 0, &log, &image) == CUDA_SUCCESS);
    CHECK(image->kernels().size() == 1);
}

TEST_CASE("a schedule with the same seed runs blocks in the same order") {
    const Program program(R"(
__device__ int turn;
extern "C" __global__ void order(int *out, volatile int *go) {
    while (!*go) {}
    __syncthreads();
    if (threadIdx.x == 0) out[atomicAdd(&turn, 1)] = blockIdx.x;
}
extern "C" __global__ void start(int *go, int *turn) { *turn = 0; *(volatile int *)go = 1; }
)");
    const auto run = [&](uint64_t seed, std::vector<int>& out) {
        gpo::host::Schedule schedule(seed);
        int go = 0;
        std::atomic<int> left{2};
        const auto submit = [&](Multiprocessors& multiprocessors, const char* name, unsigned blocks, void* first,
                                void* second) {
            KernelLaunch launch;
            launch.kernel = &program.kernel(name);
            launch.grid = {blocks, 1, 1};
            launch.block = {blocks == 1 ? 1u : 32u, 1, 1};
            launch.arguments.resize(16);
            std::memcpy(launch.arguments.data(), &first, 8);
            std::memcpy(launch.arguments.data() + 8, &second, 8);
            launch.done = [&](const KernelOutcome& outcome, gpo::softgpu::Launches&) {
                CHECK(outcome.result == CUDA_SUCCESS);
                left.fetch_sub(1);
            };
            multiprocessors.submit(multiprocessors.prepare(std::move(launch)));
        };
        Multiprocessors::Options options;
        options.workers = 3;
        const auto multiprocessors = Multiprocessors::create(options);
        submit(*multiprocessors, "order", 12, out.data(), &go);
        submit(*multiprocessors, "start", 1, &go, program.variable<int>("turn"));
        for (unsigned spins = 0; left.load() != 0; ++spins) gpo::host::step(spins);
        return schedule.trace_hash();
    };
    std::vector<int> first(12), again(12), other(12);
    const uint64_t hash = run(7, first);
    CHECK(run(7, again) == hash);
    CHECK(first == again);
    run(8, other);
    std::sort(other.begin(), other.end());
    for (int i = 0; i < 12; ++i) CHECK(other[i] == i);
}

TEST_CASE("an image that is destroyed is unloaded") {
    const auto mapped = [] {
        std::ifstream maps("/proc/self/maps");
        int count = 0;
        for (std::string line; std::getline(maps, line);) count += line.find("gpuorch-image") != std::string::npos;
        return count;
    };
    const int before = mapped();
    {
        const Program compiled(R"(
inline __device__ int kept;
template <class T> __global__ void reverse(T* out) {
    __shared__ T all[32];
    all[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = all[31 - threadIdx.x] + kept;
}
)", {"reverse<int>"}, {"--std=c++17"});
        CHECK(mapped() > before);
    }
    CHECK(mapped() == before);
}
