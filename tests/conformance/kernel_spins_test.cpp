// Forward progress: blocks spin on other blocks, threads spin for a lock, kernels spin for the host and for a later
// kernel, grids and clusters meet.
#include <vector>

#include "program.h"
#include "support/spin_kernels.h"

using namespace gpo::test;

namespace {

/// The source includes cooperative_groups.h: `present` is false where the header is missing.
struct Spins : Program {
    Spins() : Program(kSpinKernels) {
        REQUIRE_OK(gpo_device_get_properties(gpu.device, &properties));
        others = gpu.stream();
    }
    gpo_device_properties properties = sized<gpo_device_properties>();
    Stream others;
};

}  // namespace

TEST_CASE("a barrier of the whole grid that spins in device memory passes") {
    Spins program;
    if (!program.present) return;
    for (const uint32_t blocks : {2u, 7u, 64u}) {
        std::vector<int> cells(blocks + 1);
        program.run("grid_spin", shape_of(blocks, 1), cells, 20);
        for (uint32_t i = 0; i < blocks; ++i) CHECK(cells[i] == 20);
        CHECK(cells[blocks] == 0);
    }
}

TEST_CASE("a cooperative grid meets at grid.sync()") {
    Spins program;
    if (!program.present) return;
    if (!program.properties.cooperative_launch) return skip("this device has no cooperative launches");
    std::vector<int> cells(33);
    gpo_launch shape = shape_of(32, 64);
    shape.flags = GPO_LAUNCH_COOPERATIVE;
    program.run("grid_sync", shape, cells, 10);
    for (int i = 0; i < 32; ++i) CHECK(cells[i] == 10);
    CHECK(cells[32] == 0);
}

TEST_CASE("blocks of a cluster run together, also where the whole grid does") {
    Spins program;
    if (!program.present) return;
    if (!program.properties.cluster_launch) return skip("this device has no clusters");
    for (const uint32_t flags : {0u, uint32_t{GPO_LAUNCH_COOPERATIVE}}) {
        CAPTURE(flags);
        gpo_launch shape = shape_of({12, 4}, 40);
        shape.flags = flags;
        shape.cluster[0] = 2, shape.cluster[1] = 4, shape.cluster[2] = 1;
        std::vector<int> out(12);
        program.run("cluster_ring", shape, out, 50, -1);
        CHECK(out == std::vector<int>(12, 50));
    }
}

TEST_CASE("atomics of several blocks on the shared memory of one lose nothing") {
    Spins program;
    if (!program.present) return;
    if (!program.properties.cluster_launch) return skip("this device has no clusters");
    gpo_launch shape = shape_of(32, 64);
    shape.cluster[0] = 8, shape.cluster[1] = shape.cluster[2] = 1;
    std::vector<uint32_t> out(4);
    program.run("cluster_add", shape, out, 200);
    CHECK(out == std::vector<uint32_t>(4, 8 * 64 * 200));
}

TEST_CASE("a consumer block gets what a producer block writes, whichever starts first") {
    Spins program;
    if (!program.present) return;
    std::vector<int> slot(1), full(1), out(100);
    program.run("pipe", shape_of(5, 1), slot, full, out, 100);
    for (int i = 0; i < 100; ++i) CHECK(out[i] == i * i);
}

TEST_CASE("threads that spin for a lock get it one after the other") {
    Spins program;
    if (!program.present) return;
    std::vector<int> counter(1);
    program.run("locked", shape_of(4, 64), counter);
    CHECK(counter[0] == 256);
    program.run("spinlock", shape_of(4, 64), counter);
    CHECK(counter[0] == 512);
}

TEST_CASE("a kernel that waits for the host ends when the host writes" * gated) {
    Spins program;
    if (!program.present) return;
    auto flag = program.gpu.pinned<int>(1), seen = program.gpu.pinned<int>(1);
    // A first launch with the flag up, to load everything.
    flag[0] = 1;
    program.run("until", shape_of(4, 64), flag.data(), seen.data());
    CHECK(seen[0] == 256);
    flag[0] = seen[0] = 0;
    program.put("until", shape_of(4, 64), flag.data(), seen.data());
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(program.stream));
    __atomic_store_n(&flag[0], 1, __ATOMIC_SEQ_CST);
    program.wait();
    CHECK(seen[0] == 256);
}

TEST_CASE("a kernel that waits for a later one ends" * gated) {
    Spins program;
    if (!program.present) return;
    auto flag = program.gpu.pinned<int>(1), seen = program.gpu.pinned<int>(1);
    const Kernel set = program.kernel("set");
    REQUIRE_OK(launch(program.others, set.get(), 1, 1, flag.data()));
    REQUIRE_OK(gpo_stream_wait(program.others, kPatience));
    program.run("until", shape_of(3, 96), flag.data(), seen.data());
    flag[0] = seen[0] = 0;
    program.put("until", shape_of(3, 96), flag.data(), seen.data());
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(program.stream));
    REQUIRE_OK(launch(program.others, set.get(), 1, 1, flag.data()));
    program.wait();
    CHECK(seen[0] == 288);
}

TEST_CASE("a thread that looks at memory through templates and operators sees what another one writes") {
    for (const char* source : {R"(
template <class T> __device__ T peek(T *p) { return atomicAdd(p, T(0)); }
extern "C" __global__ void k(int *f, unsigned *n) { if (threadIdx.x == 1) atomicExch(f, 1); else while (peek<int>(f) == 0) ++*n; })",
                               R"(
__device__ int peek(int *p) { return atomicAdd(p, 0); }
template <int (*F)(int *)> __device__ int apply(int *p) { return F(p); }
extern "C" __global__ void k(int *f, unsigned *n) { if (threadIdx.x == 1) atomicExch(f, 1); else while (apply<peek>(f) == 0) ++*n; })",
                               R"(
struct Flag { volatile int *at; __device__ operator bool() const { return *at != 0; } };
__device__ bool raised(Flag flag) { return flag; }
extern "C" __global__ void k(int *f, unsigned *n) { Flag flag{f}; if (threadIdx.x == 1) atomicExch(f, 1); else while (!raised(flag)) ++*n; })",
                               R"(
struct Cells { volatile int *at; __device__ int operator[](int i) const { return at[i]; } };
extern "C" __global__ void k(int *f, unsigned *n) { Cells cells{f}; if (threadIdx.x == 1) atomicExch(f, 1); else while (cells[0] == 0) ++*n; })"}) {
        CAPTURE(source);
        Program program(source);
        std::vector<int> flag(1);
        std::vector<unsigned> turns(1);
        program.run("k", shape_of(1, 2), flag, turns);
        CHECK(flag[0] == 1);
    }
}
