// Forward progress on a chosen number of workers, and requested ends. The tests use the multiprocessors directly: a
// device of the public API has a worker for each core, and a context with a failed kernel is lost. Waits of blocks and
// threads that any device allows are tested in conformance/kernel_spins_test.cpp.
#include "unit/softgpu/kernel_device.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/spin_kernels.h"

using namespace kernel_test;

namespace {

const Program& program() {
    static const Program compiled(gpo::test::kSpinKernels);
    return compiled;
}

}  // namespace

TEST_CASE("blocks of a cluster run together, on one worker and on more, and with a whole grid that does") {
    for (const unsigned workers : {1u, 2u, 5u})
        for (const bool cooperative : {false, true}) {
            Device device(workers);
            std::vector<int> out(48);
            device.run(program().kernel("cluster_ring"), {{12, 4, 1}, {40, 1, 1}, 0, cooperative, {2, 4, 1}},
                       out.data(), 50, -1);
            for (unsigned i = 0; i < 12; ++i) CHECK(out[i] == 50);
        }
}

TEST_CASE("a block that fails ends its cluster, and the regions serve the next one") {
    for (const unsigned workers : {1u, 3u}) {
        Device device(workers);
        std::vector<int> out(16);
        for (int failing = 0; failing < 8; ++failing) {
            const KernelOutcome outcome =
                device
                    .launch(program().kernel("cluster_ring"), {{16, 1, 1}, {64, 1, 1}, 0, false, {8, 1, 1}}, out.data(),
                            9, failing)
                    ->wait();
            CHECK(outcome.result == CUDA_ERROR_LAUNCH_FAILED);
        }
        device.run(program().kernel("cluster_ring"), {{16, 1, 1}, {64, 1, 1}, 0, false, {8, 1, 1}}, out.data(), 7, -1);
        for (const int value : out) CHECK(value == 7);
    }
}

TEST_CASE("a consumer block gets what a producer block writes, on one worker and on more") {
    for (const unsigned workers : {1u, 3u}) {
        Device device(workers);
        int slot = 0, full = 0;
        std::vector<int> out(100);
        device.run(program().kernel("pipe"), {{5, 1, 1}, {1, 1, 1}}, &slot, &full, out.data(), 100);
        for (int i = 0; i < 100; ++i) CHECK(out[i] == i * i);
    }
}

TEST_CASE("a kernel that waits for a later kernel ends, even on one worker") {
    Device device(1);
    int flag = 0, seen = 0;
    auto waiting = device.launch(program().kernel("until"), {{3, 1, 1}, {96, 1, 1}}, &flag, &seen);
    device.run(program().kernel("set"), {}, &flag);
    CHECK(waiting->wait().result == CUDA_SUCCESS);
    CHECK(seen == 288);
}

TEST_CASE("a lost device ends what spins and what is stuck, and what comes later runs") {
    Device device;
    int flag = 0, seen = 0;
    auto spinning = device.launch(program().kernel("until"), {{4, 1, 1}, {64, 1, 1}}, &flag, &seen);
    auto stuck = device.launch(program().kernel("lonely"), {{1, 1, 1}, {2, 1, 1}});
    device.multiprocessors->stop_all(CUDA_ERROR_LAUNCH_FAILED);
    CHECK(spinning->wait().result == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(stuck->wait().result == CUDA_ERROR_LAUNCH_FAILED);
    device.run(program().kernel("set"), {}, &flag);
    CHECK(flag == 1);
}

TEST_CASE("closing a device ends what spins") {
    int flag = 0, seen = 0;
    std::shared_ptr<Pending> spinning;
    {
        Device device;
        spinning = device.launch(program().kernel("until"), {{40, 1, 1}, {64, 1, 1}}, &flag, &seen);
    }
    CHECK(spinning->wait().result == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

/// Loops that wait for the last thread of the block, hidden from the software GPU's compiler.
constexpr const char* kHidden = R"(
template <class T> __device__ void await_while(T *p, int *n) {
    while (*p == 0) { ++*n; }
}
template <class T> __device__ void await_for(T *p, int *n) {
    for (;;) { if (*p) break; ++*n; }
}
template <class T> __device__ void await_do(T *p, int *n) {
    do { ++*n; } while (*p == 0);
}
#define KERNEL(name, loop) extern "C" __global__ void name(volatile int *flag, int *n, int *done) { \
    if (threadIdx.x == blockDim.x - 1) *flag = 1; else loop(flag, n); \
    atomicAdd(done, 1); \
}
KERNEL(by_while, await_while)
KERNEL(by_for, await_for)
KERNEL(by_do, await_do)
extern "C" __global__ void long_loops(int *p, int *n, int *done) {
    for (int i = 0; i < 200000; ++i) if (p[i % 2]) ++*n;
    int x = 27, steps = 0;
    while (x != 1) { x = x % 2 ? 3 * x + 1 : x / 2; ++steps; }
    constexpr int squares = [] { int i = 0; while (i * i < 1000) { i = i + 1; } return i; }();
    if (steps == 111 && squares == 32) atomicAdd(done, 1);
}
)";

TEST_CASE("a loop that waits for a thread which can't run ends the launch with its place, not never") {
    const Program hidden(kHidden);
    Device device(2, false, 30'000'000);
    using Row = std::pair<std::string, std::string>;
    for (const Row& row : {Row{"by_while", "kernel.cu:3: "}, {"by_for", "kernel.cu:6: "}, {"by_do", "kernel.cu:9: "}}) {
        const auto& name = row.first;
        const auto& line = row.second;
        CAPTURE(name);
        int flag = 0, turns = 0, done = 0;
        const KernelOutcome outcome =
            device.launch(hidden.kernel(name), {{1, 1, 1}, {32, 1, 1}}, &flag, &turns, &done)->wait();
        CHECK(outcome.result == CUDA_ERROR_LAUNCH_TIMEOUT);
        CAPTURE(outcome.text);
        CHECK(std::string(outcome.text).find(line) == 0);
        CHECK(std::string(outcome.text).find("kernel " + name + ", block 0,0,0)") != std::string::npos);
        CHECK(std::string(outcome.text).find("GPUORCH_SOFT_FIBERS=1") != std::string::npos);
    }
    int numbers[2] = {1, 1}, turns = 0, done = 0;
    device.run(hidden.kernel("long_loops"), {{2, 1, 1}, {8, 1, 1}}, &numbers[0], &turns, &done);
    CHECK(done == 16);
}

TEST_CASE("a lone thread may wait for the host for as long as it likes, and a closed device ends it") {
    int flag = 0, turns = 0, done = 0;
    std::shared_ptr<Pending> alone;
    {
        Device device(2, false, 1);
        const Program waits("template <class T> __device__ void await(T *p, int *n) { while (*p == 0) { ++*n; } }\n"
                            "extern \"C\" __global__ void alone(volatile int *flag, int *n, int *done) {\n"
                            "    *done = 1; await(flag, n); *done = 2;\n}");
        const auto waiting = device.launch(waits.kernel("alone"), {}, &flag, &turns, &done);
        while (__atomic_load_n(&turns, __ATOMIC_RELAXED) < 100'000) {}
        CHECK_FALSE(waiting->done());
        __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
        CHECK(waiting->wait().result == CUDA_SUCCESS);
        CHECK(done == 2);
        flag = 0;
        alone = device.launch(waits.kernel("alone"), {}, &flag, &turns, &done);
        device.multiprocessors.reset();
        CHECK(alone->wait().result == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
}

TEST_CASE("with GPUORCH_SOFT_FIBERS all threads of a block run in turn, in every kernel") {
    setenv("GPUORCH_SOFT_FIBERS", "1", 1);
    const std::string with = gpo::softgpu::make_soft_compiler()->identity();
    const Program hidden(kHidden);
    unsetenv("GPUORCH_SOFT_FIBERS");
    CHECK(with != gpo::softgpu::make_soft_compiler()->identity());   // so the cache distinguishes them
    Device device(1, false, 30'000'000);
    for (const std::string name : {"by_while", "by_for", "by_do"}) {
        CAPTURE(name);
        CHECK((hidden.kernel(name).flags & GPO_SOFT_KERNEL_WAITS) != 0);
        int flag = 0, turns = 0, done = 0;
        device.run(hidden.kernel(name), {{1, 1, 1}, {32, 1, 1}}, &flag, &turns, &done);
        CHECK(done == 32);
        CHECK(turns > 0);
    }
}
