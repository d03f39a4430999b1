// Features of the software GPU's compiler alone: a choice of C++ compilers below it, the host's own headers, and marks
// on kernels that wait. conformance/kernel_syntax_test.cpp tests the syntax that any device takes.
#include "unit/softgpu/kernel_device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "support/files.h"
#include "support/report.h"

using namespace kernel_test;

TEST_CASE("a source compiles by Clang as by GCC") {
    char clang[200] = "";
    FILE* const found =
        popen("for clang in clang++ $(seq -f clang++-%g 40 -1 14); do command -v $clang && break; done", "r");
    REQUIRE(found);
    if (!fgets(clang, sizeof clang, found)) clang[0] = 0;
    pclose(found);
    clang[strcspn(clang, "\n")] = 0;
    if (!clang[0]) return gpo::test::skip("there is no Clang");
    const char* const before = getenv("GPUORCH_CXX");
    setenv("GPUORCH_CXX", clang, 1);
    const Program program(R"(
#define KERNEL extern "C" __global__
struct __builtin_align__(8) Pair { int a, b; };
template <int N> __global__ __launch_bounds__(32 * N) void turned(int *out) {
    __shared__ int s[N][32];
    s[threadIdx.x / 32][threadIdx.x % 32] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[N - 1 - threadIdx.x / 32][threadIdx.x % 32];
}
[[maybe_unused]] __global__ void attributed([[maybe_unused]] int *p, int) { *p = alignof(Pair); }
KERNEL void lambdas(int *p) {
    __shared__ struct { int a; } local;
    if (threadIdx.x == 0) local.a = 4;
    __syncthreads();
    const auto add = [&, k = 3](auto q) -> int { return q + k + local.a; };
    p[threadIdx.x] = add(threadIdx.x);
}
KERNEL void own_arrays(int *out, const int *in, const int *a, const int *b, const int *c, const int *d) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t[4] = {a[i], b[i], c[i], d[i]};
    out[i] = t[in[i] & 3];
}
__device__ unsigned place() { return threadIdx.x; }
__device__ unsigned none() { return 0; }
__device__ unsigned (*functions[])() = {none, place};
KERNEL void through_table(int *out) { out[functions[1]()] = functions[1](); }
)",
                          {"turned<2>", "attributed", "lambdas"});
    if (before) setenv("GPUORCH_CXX", before, 1);
    else unsetenv("GPUORCH_CXX");
    Device device;
    std::vector<int> out(64);
    device.run(program.kernel("turned<2>"), {{1, 1, 1}, {64, 1, 1}}, out.data());
    for (int i = 0; i < 64; ++i) CHECK(out[i] == (i + 32) % 64);
    device.run(program.kernel("attributed"), {}, out.data(), 0);
    CHECK(out[0] == 8);
    device.run(program.kernel("lambdas"), {{1, 1, 1}, {8, 1, 1}}, out.data());
    for (int i = 0; i < 8; ++i) CHECK(out[i] == i + 7);
    std::vector<int> in(64), a(64), b(64, 1000), c(64, 2000), d(64, 3000);
    for (int i = 0; i < 64; ++i) in[i] = a[i] = i;
    device.run(program.kernel("own_arrays"), {{1, 1, 1}, {64, 1, 1}}, out.data(), in.data(), a.data(), b.data(),
               c.data(), d.data());
    for (int i = 0; i < 64; ++i) CHECK(out[i] == (i % 4 == 0 ? i : i % 4 * 1000));
    device.run(program.kernel("through_table"), {{1, 1, 1}, {64, 1, 1}}, out.data());
    CHECK(out == a);
}

TEST_CASE("powers and the like of two integers are doubles, as nvcc makes them") {
    const Program program(R"(
extern "C" __global__ void integers(double *out, float x, double y, int n, unsigned u, long l) {
    out[0] = pow(n, n) + pow(y, u); out[1] = pow(x, u) + pow(x, l); out[2] = fmod(n, 2); out[3] = hypot(n, u); out[4] = atan2(0, n); out[5] = pow(x, 2.0);
    static_assert(sizeof pow(n, n) == 8 && sizeof pow(x, u) == 8 && sizeof pow(x, l) == 8 && sizeof fmod(n, n) == 8, "");
}
)");
    Device device;
    std::vector<double> out(6);
    device.run(program.kernel("integers"), {}, out.data(), 2.0f, 1.0, 3, 4u, 5l);
    CHECK(out == std::vector<double>{28, 48, 1, 5, 0, 4});
}

TEST_CASE("which kernels wait is decided by what they reach") {
    const Program program(R"(
struct Flag { volatile int ready; int plain; };
typedef volatile unsigned vuint;
__device__ unsigned counter;
__device__ void deep() { __syncwarp(); }
__device__ void middle() { deep(); }
struct Syncs { __device__ void operator()() const { __syncthreads(); } };
template <class T> __device__ void call(T x) { x(); }
extern "C" {
__global__ void reaches(int *) { middle(); }
__global__ void member_volatile(Flag *f) { while (!f->ready) {} }
__global__ void typedef_volatile(int *p) { vuint *v = (vuint *)p; while (*v == 0); }
__global__ void swaps(unsigned *p) { while (atomicCAS(p, 0u, 1u)) ; }
__global__ void jumps(int *p) { again: if (*(volatile int *)p == 0) goto again; }
__global__ void forever(int *p) { for (;;) { if (atomicAdd(p, 0) != 0) break; } }
__global__ void with_fence(int *p) { while (*p == 0) __threadfence(); }
__global__ void if_else(int *p) { if (*p == 0) while (atomicOr(p, 0) == 0) ; else *p = 3; }
__global__ void do_while(int *p) { int v; do v = atomicAdd(p, 0); while (v == 0); }
__global__ void bounded(int *p) { for (int i = 0; i < 10; ++i) { int old = atomicAdd(p, 1); p[1] = old; } }
__global__ void stride(unsigned *p, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(p, 1u); }
__global__ void modify(float *p) {
    int *bits = (int *)p, old = *bits, assumed;
    do { assumed = old; old = atomicCAS(bits, assumed, __float_as_int(1.0f + __int_as_float(assumed))); } while (assumed != old);
}
__global__ void quiet(int *p) { if (p[0]) p[1] = p[0]; while (p[2] > 0) p[2] -= 2; }
}
)");
    const auto waits = [&](const char* name) { return (program.kernel(name).flags & GPO_SOFT_KERNEL_WAITS) != 0; };
    // An operator that waits may be called without its name, so every kernel waits in a source with such an operator.
    for (const char* name : {"reaches", "member_volatile", "typedef_volatile", "swaps", "jumps", "forever",
                             "with_fence", "if_else", "do_while"})
        CHECK_MESSAGE(waits(name), name);
    Device device(1);
    // Each kernel ends when another kernel writes, on a single worker.
    const Program setter("extern \"C\" __global__ void set(int *p) { atomicExch(p, 1); }");
    for (const char* name : {"typedef_volatile", "jumps", "forever", "if_else", "do_while"}) {
        int word = 0;
        auto waiting = device.launch(program.kernel(name), {{2, 1, 1}, {40, 1, 1}}, &word);
        device.run(setter.kernel("set"), {}, &word);
        CHECK(waiting->wait().result == CUDA_SUCCESS);
    }
    const Program calm(R"(
extern "C" {
__global__ void bounded(int *p) { for (int i = 0; i < 10; ++i) { int old = atomicAdd(p, 1); p[1] = old; } }
__global__ void stride(unsigned *p, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(p, 1u); }
__global__ void modify(float *p) {
    int *bits = (int *)p, old = *bits, assumed;
    do { assumed = old; old = atomicCAS(bits, assumed, __float_as_int(1.0f + __int_as_float(assumed))); } while (assumed != old);
}
__global__ void quiet(int *p) { if (p[0]) p[1] = p[0]; while (p[2] > 0) p[2] -= 2; }
}
)");
    for (const gpo_soft_kernel& kernel : calm.image->kernels())
        CHECK_MESSAGE((kernel.flags & GPO_SOFT_KERNEL_WAITS) == 0, kernel.name);
    float sum = 0;
    device.run(calm.kernel("modify"), {{4, 1, 1}, {64, 1, 1}}, &sum);
    CHECK(sum == 256.0f);
}

TEST_CASE("a lambda outside of functions is what those do that mention it") {
    const Program program(R"(
constexpr auto meet = [](int x) __device__ { __shared__ int s[32]; s[threadIdx.x] = x; __syncthreads(); return s[31 - threadIdx.x]; };
constexpr auto peek = [](int *p) { while (atomicAdd(p, 0) == 0) ; return atomicAdd(p, 0); };
extern "C" __global__ void meets(int *out) { __shared__ int own[32]; own[threadIdx.x] = 100; out[threadIdx.x] = meet(threadIdx.x) + own[31 - threadIdx.x]; }
extern "C" __global__ void peeks(int *p) { if (threadIdx.x == 1) atomicExch(p, 1); else peek(p); }
extern "C" __global__ void quiet(int *out) { out[threadIdx.x] = 1; }
)");
    CHECK((program.kernel("quiet").flags & GPO_SOFT_KERNEL_WAITS) == 0);
    Device device(1);
    std::vector<int> out(32);
    device.run(program.kernel("meets"), {{1, 1, 1}, {32, 1, 1}}, out.data());
    for (int i = 0; i < 32; ++i) CHECK(out[i] == 131 - i);
    int word = 0;
    device.run(program.kernel("peeks"), {{1, 1, 1}, {2, 1, 1}}, &word);
    CHECK(word == 1);
}

TEST_CASE("who only names a function that waits doesn't wait") {
    const Program program(R"(
namespace deep { __device__ int sum(int x); struct Meeting; template <class T> struct Meets; }
namespace deep {
__device__ int sum(int x) { __syncthreads(); return x; }
struct Meeting { int x; __device__ Meeting() : x(sum(1)) {} };
template <class T> struct Meets : T { __device__ void operator=(const T &) volatile {} };
}
using deep::sum;
__device__ int sum(int x, int y);
class Other { friend int deep::sum(int); friend struct deep::Meeting; };
struct Args { const int *sum; int Meeting, *max; float (*scan)(float *sum); };
enum Kind { Meeting, last };
struct Look { volatile int *at; __device__ explicit operator bool() const { return *at != 0; } };
__device__ int looks(Look l) { return l ? 1 : 0; }
extern "C" __global__ void reduces(int *out, Args args) { out[0] = deep::sum(1); }
extern "C" __global__ void meets(int *out) { out[0] = deep::Meeting().x; }
extern "C" __global__ void plain(int *out, int n, Args args) { for (int i = 0; i < n; ++i) out[i] += args.max[i]; }
template <class T> __global__ void generic(T *out, T x) { *out = x; }
)",
                          {"generic<int>"});
    const auto waits = [&](const char* name) { return (program.kernel(name).flags & GPO_SOFT_KERNEL_WAITS) != 0; };
    CHECK(waits("reduces"));
    CHECK(waits("meets"));
    CHECK_FALSE(waits("plain"));
    CHECK_FALSE(waits("generic<int>"));
}

TEST_CASE("the host's own C++ headers may be included, and what needs no run-time library used") {
    const Program program(R"(
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>
template <class T> __device__ T most() { return std::is_integral<T>::value ? std::numeric_limits<T>::max() : T(1); }
extern "C" __global__ void library(double *out, int x) {
    std::pair<int, double> both(std::abs(x), std::abs(-2.5));
    std::swap(both.second, out[1]);
    out[0] = std::max(both.first, 3) + std::abs(-1.5f) + abs(-7ll);
    out[2] = most<int>() + most<float>();
    out[3] = std::sqrt(16.0f) + std::fabs(-0.5);
}
)");
    std::vector<double> out = {0, 9, 0, 0};
    Device device;
    device.run(program.kernel("library"), {}, out.data(), -5);
    CHECK(out == std::vector<double>{5 + 1.5 + 7, 2.5, 2147483648.0, 4.5});
}

TEST_CASE("a source's macros and folders don't reach into the device's headers") {
    const gpo::test::Folder made;
    const std::vector<std::string> names = {"cuda_fp16.h", "cuda_runtime.h", "vector_types.h", "cooperative_groups.h"};
    for (const std::string& name : names) std::ofstream(made / name) << "#error the toolkit's\n";
    std::ofstream(made / "math.h") << "#define OWN_MATH 1\n";
    const Program program(R"(
#include "cuda_runtime.h"
#include <vector_types.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuComplex.h>
#include <math_constants.h>
#include <math.h>
#if Size != 4 || T != 5 || mask != 6 || !OWN_MATH
#error
#endif
#if defined(__CUDA_NO_HALF_OPERATORS__)
struct No {};
No operator+(__half, __half) { return No(); }
#endif
extern "C" __global__ void use(int *out) {
    const auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
    static_assert(CUDART_PIO2_F > 1.5f && CUDART_MAX_NORMAL_F > 3e38f && CUDART_SQRT_TWO_F > 1.41f && CUDART_PIO2_LO < 1e-16, "");
    *out = cooperative_groups::reduce(tile, 1, cooperative_groups::plus<int>());
}
)",
                          {},
                          {"-I" + made.path, "-DSize=4", "-DT=5", "-DGroup=1", "-DParent=1", "-Dmask=6", "-Dvalue=7",
                           "-Dtype=8", "-Dgroup=9", "-Da=1", "-Dresult=2", "-Drank=3", "-Dmin(a,b)=0", "-Dmax(a,b)=0",
                           "-D__CUDA_NO_HALF_OPERATORS__"});
    int out = 0;
    Device().run(program.kernel("use"), {{1, 1, 1}, {32, 1, 1}}, &out);
    CHECK(out == 32);
}

TEST_CASE("the device's headers are read under every standard") {
    for (const char* standard : {"c++11", "c++14", "c++17", "c++20"}) {
        const auto result = compile(R"(
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuComplex.h>
#include <math_constants.h>
extern "C" __global__ void use(float *out) { *out = std::sqrt(*out) + norm3df(*out, CUDART_PIO2_F, M_1_PI); }
)", {}, {std::string("--std=") + standard});
        INFO(standard << result.log);
        CHECK(result.ok);
        CHECK(result.log == "");
    }
}
