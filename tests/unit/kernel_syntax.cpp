// Sources that try the token pass: each compiles, and says what it should of its kernels.
#include "kernel_device.h"

#include <algorithm>
#include <cstdlib>

#include "support/report.h"

using namespace kernel_test;

TEST_CASE("declarations of every shape are walked over, and kernels among them found") {
    const Program program(R"(
namespace a::b { enum class Kind : int { one = 1, two }; struct Empty {}; }
namespace ab = a::b;
using Number = int; typedef float (*Function)(float); typedef struct { int x; } Anonymous;
template <typename T, typename U = T> struct Pair {
    T first; U second;
    static constexpr int size = 2;
    __host__ __device__ Pair() : first{1}, second(2) {}
    __host__ __device__ explicit Pair(T f, U s = U(3)) noexcept : first(f), second{s} {}
    __device__ T operator()(T x) const { return x * first + second; }
    __device__ T &operator[](int i) { return i ? second : first; }
    __device__ operator int() const { return (int)first; }
    template <int N> __device__ int times() const { return N * (int)first; }
    __device__ ~Pair() {}
private:
    __device__ void hidden();
};
inline __host__ __device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
inline __device__ float3 &operator*=(float3 &a, float s) { a.x *= s; a.y *= s; a.z *= s; return a; }
inline __device__ bool operator<(float3 a, float3 b) { return a.x < b.x; }
inline __device__ float dot(const float3 &a, const float3 &b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ float square(float x) { return x * x; }
__device__ float cube(float x) { return x * x * x; }
__device__ Function functions[] = {square, cube};
__device__ float (*one_function)(float) = &square;
__device__ struct Point { int x, y; } corner = {3, 4}, *none = nullptr;
static const __device__ float third = 1.0f / 3; constexpr __device__ int answer = 42;
__constant__ unsigned char map[] = {1, 2, 3}, more[2][3];
template <class... T> __device__ int count(T... x) { return sizeof...(x); }
template <class T> __device__ T largest(T x) { return x; }
template <class T, class... R> __device__ T largest(T x, R... rest) { T y = largest(rest...); return x < y ? y : x; }
#define LOOP(i, n) for (int i = 0; i < (n); ++i)
#define GUARD(c) do { if (!(c)) return; } while (0)
struct Config { int n; };
template <int N, bool Odd> __global__ void variants(int *out) { if constexpr (Odd) *out = N; else *out = -N; }
template <class... A> __global__ void variadic(int *out, A... a) { *out = count(a...) + (0 + ... + a); }
extern "C" __global__ auto kernel(int *__restrict__ out, const Config config = Config{4}, const float (*rows)[2] = nullptr) -> void {
    GUARD(threadIdx.x == 0);
    Pair<int> p(5, 6); const Pair<float, int> q;
    auto twice = [=] __device__ (int x) { return 2 * x + (int)threadIdx.x; };
    auto generic = [&](auto x) mutable { return x + p(1); };
    struct Local { int v; __device__ int get() const { return v + (int)blockDim.x; } } local{7};
    float3 v = make_float3(1, 2, 3) + make_float3(1, 1, 1); v *= 2.f;
    int sum = 0;
    LOOP(i, config.n) sum += i;
    int list[] = {1, 2, 3};
    for (int x : list) sum += x;
    switch (sum) { case 12: sum += 100; break; default: sum = -1; }
    out[0] = p(2) + p[1] + twice(3) + generic(1) + local.get() + (int)dot(v, v) + (int)functions[1](2.f) + (int)one_function(3.f);
    out[1] = sum + corner.x + corner.y + map[2] + answer + largest(1, 9, 4) + q.times<3>() + (int)ab::Kind::two + Pair<int>::size;
    out[2] = (int)(third * 3.0f) + (v < v) + (int)rows[1][1] + 1'000'000 + 0x1p3 + sizeof(R"raw(" { __global__ )raw");
    out[3] = (threadIdx.x < blockDim.x) ? (gridDim.x, 1) : 0;
    const dim3 place = threadIdx; uint3 block = blockIdx; out[4] = place.x + block.x + warpSize;
}
)",
                          {"variants<3, true>", "variants<(2 > 1), false>", "variadic<int, short>"});
    Device device;
    std::vector<int> out(5);
    struct {
        int n;
    } config{4};
    const float rows[2][2] = {{1, 2}, {3, 4}};
    device.run(program.kernel("kernel"), {{1, 1, 1}, {32, 1, 1}}, out.data(), config, &rows[0]);
    CHECK(out[0] == 16 + 6 + 6 + 12 + 39 + (16 + 36 + 64) + 8 + 9);
    CHECK(out[1] == (6 + 6 + 100) + 7 + 3 + 42 + 9 + 3 + 2 + 2);
    CHECK(out[2] == 1 + 0 + 4 + 1000000 + 8 + 16);
    CHECK(out[3] == 1);
    CHECK(out[4] == 32);
    device.run(program.kernel("variants<3, true>"), {}, out.data());
    CHECK(out[0] == 3);
    device.run(program.kernel("variants<(2 > 1), false>"), {}, out.data());
    CHECK(out[0] == -1);
    device.run(program.kernel("variadic<int, short>"), {}, out.data(), 5, short{6});
    CHECK(out[0] == 13);
    CHECK(program.variable<void*>("one_function") != nullptr);
    CHECK(program.variable<int>("corner")[1] == 4);
    CHECK(program.variable<unsigned char>("map")[1] == 2);
}

TEST_CASE("a source compiles by Clang as by GCC") {
    if (system("command -v clang++-14 >/dev/null || command -v clang++ >/dev/null") != 0)
        return gpo::test::skip("there is no Clang");
    const char* const before = getenv("GPUORCH_CXX");
    setenv("GPUORCH_CXX", system("command -v clang++-14 >/dev/null") == 0 ? "clang++-14" : "clang++", 1);
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
    // An operator that waits may be called without being named, so that everything here waits once there is one.
    for (const char* name : {"reaches", "member_volatile", "typedef_volatile", "swaps", "jumps", "forever",
                             "with_fence", "if_else", "do_while"})
        CHECK_MESSAGE(waits(name), name);
    Device device(1);
    // Each ends when another kernel writes, on a single worker.
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
