// Kernel source as it is written in the wild: where words stand, what they are called, what they are made of.
#include "kernel_device.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

using namespace kernel_test;

TEST_CASE("qualifiers in any order, macros, conditions and defaults in signatures, and names that others have") {
    const Program program(R"(
#include <cuda_runtime.h>
#include <stdio.h>
#define KERNEL extern "C" __global__ void
#define PARAMS(type) type * __restrict__ out, const type *in, int n
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
/* a comment with __global__ void nothing() { */
// __global__ void neither() {
const char *text_with_brackets = "__global__ void nor() { ";
KERNEL copy(PARAMS(int)) { if (ID < n) out[ID] = in[ID]; }
extern "C" void __global__ merge(int *a, const int *b
#ifdef TRIPLE
    , const int *c
#endif
    , int n = 4) {
    int i = ID;
    if (i < n) a[i] += b[i]
#ifdef TRIPLE
        + c[i]
#endif
        ;
}
extern "C" __launch_bounds__(64, 2) __global__ void read(int *a) { a[threadIdx.x] = 1; }
extern "C" __global__ void __launch_bounds__(128) write(int *a);
__global__ void static_one(int *a);
extern "C" __global__ void __launch_bounds__(128) write(int *a) { a[threadIdx.x] = 2; }
static __global__ void hidden(int *a) { *a = 3; }
namespace outer { namespace inner { __global__ void kernel(unsigned char *a) { *a = 4; } } }
__global__ void overloaded(int *a) { *a = 5; }
__global__ void overloaded(float *a, int, ...);
__global__ void overloaded(float *a) { *a = 6; }
extern "C" { __global__ void in_braces(int *a) { *a = 7; } int plain_function(int); }
template <typename T> __device__ __host__ inline T twice(T x) { return x + x; }
[[maybe_unused]] static __device__ __noinline__ int plus_one(int x) { return x + 1; }
extern "C" __global__ void __attribute__((used)) calls(int *a) { *a = plus_one(twice(10)); }
)", {}, {"-DTRIPLE", "--std=c++17", "-lineinfo", "--gpu-architecture=compute_90", "-default-device"});
    Device device;
    std::vector<int> a(8, 0), b(8, 10), c(8, 100);
    device.run(program.kernel("copy"), {{2, 1, 1}, {4, 1, 1}}, a.data(), static_cast<const int*>(b.data()), 8);
    CHECK(a == b);
    device.run(program.kernel("merge"), {{2, 1, 1}, {4, 1, 1}}, a.data(), static_cast<const int*>(b.data()),
               static_cast<const int*>(c.data()), 7);
    CHECK(a == std::vector<int>{120, 120, 120, 120, 120, 120, 120, 10});
    CHECK(program.kernel("read").max_threads == 64);
    CHECK(program.kernel("write").max_threads == 128);
    int value = 0;
    device.run(program.kernel("read"), {}, &value);
    CHECK(value == 1);
    device.run(program.kernel("write"), {}, &value);
    CHECK(value == 2);
    device.run(program.kernel("_ZL6hiddenPi"), {}, &value);
    CHECK(value == 3);
    unsigned char byte = 0;
    device.run(program.kernel("_ZN5outer5inner6kernelEPh"), {}, &byte);
    CHECK(byte == 4);
    float real = 0;
    device.run(program.kernel("_Z10overloadedPi"), {}, &value);
    device.run(program.kernel("_Z10overloadedPf"), {}, &real);
    CHECK(value == 5);
    CHECK(real == 6);
    device.run(program.kernel("in_braces"), {}, &value);
    CHECK(value == 7);
    device.run(program.kernel("calls"), {}, &value);
    CHECK(value == 21);
}

TEST_CASE("templates are made by name expressions, and variables found by theirs") {
    const Program program(R"(
template <typename T, int N> struct Filter { T taps[N]; };
template <typename T, int N> __global__ void blur(T *out, const T *in, Filter<T, N> filter, int n) {
    __shared__ T tile[64 + N];
    __shared__ int count;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) count = 0;
    tile[threadIdx.x] = i < n ? in[i] : T(0);
    if (threadIdx.x < N) tile[blockDim.x + threadIdx.x] = i + (int)blockDim.x < n ? in[i + blockDim.x] : T(0);
    __syncthreads();
    atomicAdd(&count, 1);
    T sum = 0;
    for (int k = 0; k < N; ++k) sum += filter.taps[k] * tile[threadIdx.x + k];
    __syncthreads();
    if (i < n && count == blockDim.x) out[i] = sum;
}
template <class Op> __global__ void map(int *a, Op op) { a[threadIdx.x] = op(a[threadIdx.x]); }
struct Add { int value; __device__ int operator()(int x) const { return x + value; } };
template <int N> __global__ __launch_bounds__(N * 32) void bounded(int *a) { *a = N; }
template __global__ void bounded<3>(int *);
template <> __global__ void bounded<7>(int *a) { *a = 70; }
namespace space { __device__ int counter = 5; __constant__ float table[4] = {1, 2, 3, 4}; }
__device__ unsigned long long total;
static __device__ int internal_one[3];
__constant__ const int fixed = 9;
__managed__ double shared_with_host;
extern "C" __global__ void use(float *out) {
    out[0] = space::table[2] + space::counter++ + fixed; total += 11; internal_one[1] = 6; shared_with_host = 2.5;
}
)", {"blur<float, 3>", "blur<double, 5>", "map<Add>", "&space::counter", "bounded<2>"});
    Device device;
    std::vector<float> in(200), out(200);
    std::iota(in.begin(), in.end(), 0.0f);
    const std::array<float, 3> taps = {1, 2, 3};
    CHECK(program.kernel("blur<float, 3>").static_shared_bytes == 67 * 4 + 4);
    CHECK(program.kernel("blur<double, 5>").static_shared_bytes == 69 * 8 + 4);
    CHECK(program.lowered[0].second.starts_with("_Z4blurIfLi3EEvPT_"));
    device.run(program.kernel("blur<float, 3>"), {{4, 1, 1}, {64, 1, 1}}, out.data(),
               static_cast<const float*>(in.data()), taps, 200);
    for (int i = 0; i < 198; ++i) CHECK(out[i] == in[i] + 2 * in[i + 1] + 3 * in[i + 2]);
    std::vector<int> a(32, 1);
    device.run(program.kernel("map<Add>"), {{1, 1, 1}, {32, 1, 1}}, a.data(), 41);
    CHECK(a == std::vector<int>(32, 42));
    int value = 0;
    CHECK(program.kernel("bounded<2>").max_threads == 64);
    device.run(program.kernel("_Z7boundedILi3EEvPi"), {}, &value);
    CHECK(value == 3);
    device.run(program.kernel("_Z7boundedILi7EEvPi"), {}, &value);
    CHECK(value == 70);
    float result = 0;
    *program.variable<float>("_ZN5space5tableE") = 1;
    program.variable<float>("_ZN5space5tableE")[2] = 30;
    *program.variable<int>("_ZL5fixed") = 9;
    device.run(program.kernel("use"), {}, &result);
    CHECK(result == 30 + 5 + 9);
    CHECK(program.lowered[3].second == "_ZN5space7counterE");
    CHECK(*program.variable<int>("_ZN5space7counterE") == 6);
    CHECK(*program.variable<unsigned long long>("total") == 11);
    CHECK(program.variable<int>("_ZL12internal_one")[1] == 6);
    CHECK(*program.variable<double>("shared_with_host") == 2.5);
}

TEST_CASE("several types of extern __shared__ in one file, in functions and outside, and shared variables everywhere") {
    const Program program(R"(
extern __shared__ unsigned char everywhere[];
extern "C" __global__ void floats(float *a) { extern __shared__ float buffer[]; buffer[threadIdx.x] = threadIdx.x; __syncthreads(); a[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x]; }
extern "C" __global__ void doubles(double *a) { extern __shared__ __align__(16) double buffer[]; double *second = &buffer[blockDim.x]; second[threadIdx.x] = 2 * threadIdx.x; __syncthreads(); a[threadIdx.x] = second[blockDim.x - 1 - threadIdx.x]; }
template <typename T> struct Pair { T a, b; __device__ void set(T x) { a = x; b = x + 1; } };
extern "C" __global__ void pairs(int *a) { extern __shared__ Pair<int> buffer[]; buffer[threadIdx.x].set(threadIdx.x); __syncthreads(); a[threadIdx.x] = buffer[(threadIdx.x + 1) % blockDim.x].b; }
__device__ unsigned from_everywhere(int i) { return everywhere[i]; }
extern "C" __global__ void bytes(unsigned *a) { unsigned *words = (unsigned *)everywhere; words[threadIdx.x] = threadIdx.x * 0x01010101u; __syncthreads(); a[threadIdx.x] = from_everywhere(4 * (blockDim.x - 1 - threadIdx.x) + 2); }

struct __align__(16) Cell { int value; float weight; };
template <typename T, int N> __device__ T rotate(T x) {
    static __shared__ T exchange[N];
    __syncthreads();
    exchange[threadIdx.x] = x;
    __syncthreads();
    return exchange[(threadIdx.x + 1) % blockDim.x];
}
extern "C" __global__ void everything(int *a, double *b) {
    constexpr int width = 32;
    const int height = 2;
    volatile __shared__ int first[width], last, grid[height][width + 1];
    __shared__ alignas(64) Cell cells[width];
    __shared__ struct { int x; int y[3]; } nameless;
    int t = threadIdx.x;
    if (t == 0) { last = 0; nameless.x = 100; nameless.y[2] = 1000; }
    first[t] = t; grid[1][t] = t * t; cells[t].value = 3 * t;
    __syncthreads();
    { __shared__ int inner[width]; inner[t] = 7 * t; __syncthreads(); if (t == 0) last = inner[31] + (int)(sizeof(inner) / sizeof(inner[0])); }
    __syncthreads();
    auto sum = [=](int i) { return first[i] + grid[1][i] + cells[i].value; };
    auto plain = [](int i) { return first[i] + (int)threadIdx.x; };
    a[t] = sum(31 - t) + plain(t) - 2 * t + nameless.x + nameless.y[2] + last;
    b[t] = rotate<double, 32>(t * 0.5) + rotate<int, 64>(t);
}
)");
    Device device;
    std::vector<float> f(64);
    device.run(program.kernel("floats"), {{1, 1, 1}, {64, 1, 1}, 64 * 4}, f.data());
    std::vector<double> d(64);
    device.run(program.kernel("doubles"), {{1, 1, 1}, {64, 1, 1}, 128 * 8}, d.data());
    std::vector<int> p(64);
    device.run(program.kernel("pairs"), {{1, 1, 1}, {64, 1, 1}, 64 * 8}, p.data());
    std::vector<unsigned> w(64);
    device.run(program.kernel("bytes"), {{1, 1, 1}, {64, 1, 1}, 64 * 4}, w.data());
    for (unsigned i = 0; i < 64; ++i) {
        CHECK(f[i] == 63.0f - static_cast<float>(i));
        CHECK(d[i] == 2.0 * (63 - i));
        CHECK(p[i] == static_cast<int>((i + 1) % 64 + 1));
        CHECK(w[i] == 63 - i);
    }
    std::vector<int> a(32);
    std::vector<double> b(32);
    const gpo_soft_kernel& everything = program.kernel("everything");
    device.run(everything, {{3, 1, 1}, {32, 1, 1}}, a.data(), b.data());
    for (int t = 0; t < 32; ++t) {
        const int i = 31 - t;
        CHECK(a[t] == i + i * i + 3 * i + 100 + 1000 + 7 * 31 + 32);
        CHECK(b[t] == (t + 1) % 32 * 0.5 + (t + 1) % 32);
    }
}

TEST_CASE("parameters are laid out and passed by value as CUDA's") {
    struct Large {
        int values[900];
        double last;
    };
    const Program program(R"(
struct Large { int values[900]; double last; };
struct Small { char tag; };
extern "C" __global__ void take(int *out, Small small, float3 three, Large large, short s, const __grid_constant__ Large constant, bool yes, float4 *v, double2 two) {
    large.values[threadIdx.x] += threadIdx.x;                 // each thread has a copy of its own
    int sum = 0;
    for (int i = 0; i < 32; ++i) sum += large.values[i];
    s += 1;
    out[threadIdx.x] = sum + small.tag + (int)(three.x + three.y + three.z) + (int)large.last + s + constant.values[899] + yes + (int)v->w + (int)two.y;
}
)");
    const gpo_soft_kernel& take = program.kernel("take");
    const uint32_t offsets[] = {0, 8, 12, 24, 3632, 3640, 7248, 7256, 7264};
    REQUIRE(take.parameter_count == 9);
    for (int i = 0; i < 9; ++i) CHECK(take.parameters[i].offset == offsets[i]);
    Large large{};
    std::iota(std::begin(large.values), std::end(large.values), 0);
    large.last = 5;
    struct Float4 {
        float x, y, z, w;
    } four{0, 0, 0, 8};
    const std::array<double, 2> two = {1, 16};
    std::vector<int> out(32);
    Device device;
    device.run(take, {{1, 1, 1}, {32, 1, 1}}, out.data(), 'a', std::array<float, 3>{1, 2, 3}, large, short{7}, large,
               true, &four, two);
    for (int t = 0; t < 32; ++t) CHECK(out[t] == 496 + t + 'a' + 6 + 5 + 8 + 899 + 1 + 8 + 16);
}

TEST_CASE("arithmetic is CUDA's: fused multiply-add unless refused, IEEE division, wrapping integers") {
    const std::string source = R"(
extern "C" __global__ void fused(float *out, float a, float b, float c) { out[0] = a * b + c; out[2] = fmaf(a, b, c); }
extern "C" __global__ void apart(float *out, float a, float b, float c) { out[1] = __fmul_rn(a, b) + c; out[3] = __fadd_rn(a * b, c); }
extern "C" __global__ void integers(int *out, int big, float huge, float nan) {
    out[0] = big + 1; out[1] = __mulhi(big, 4); out[2] = __clz(0) * 100 + __clz(1); out[3] = __ffs(0x80); out[4] = __brev(1u) >> 31;
    out[5] = __popc(0xff00ffu); out[6] = __byte_perm(0x33221100, 0x77665544, 0x6420); out[7] = __funnelshift_l(0x80000000u, 1u, 1);
    out[8] = __float2int_rz(huge); out[9] = __float2int_rn(2.5f); out[10] = __float2int_rn(nan); out[11] = min(-1, 1u) == 1u;
    out[12] = __float_as_int(1.0f); out[13] = (int)__umulhi(0xffffffffu, 2u); out[14] = __sad(3, 10, 5); out[15] = abs(-7) + max(3, 4);
}
extern "C" __global__ void reals(double *out, float x, double y) {
    out[0] = rsqrtf(x); out[1] = sqrt(x); out[2] = pow(y, 2); out[3] = fmin(x, (float)y); out[4] = __expf(0.0f) + exp(0.0);
    out[5] = fabs(-x) + floor(2.7f) + sin(0.0f); float s, c; sincosf(0.0f, &s, &c); out[6] = s + c; out[7] = __saturatef(3.0f);
    out[8] = isnan(x / 0.0f - x / 0.0f); out[9] = x / 3.0f; out[10] = fmaxf(x, __int_as_float(0x7fc00000)); out[11] = __longlong_as_double(0x4000000000000000ll);
}
)";
    const Program program(source), exact(source, {}, {"--fmad=false"});
    Device device;
    const float a = 1.0f + 0x1p-12f, c = -1.0f;
    float out[4], unfused[4];
    device.run(program.kernel("fused"), {}, &out[0], a, a, c);
    device.run(program.kernel("apart"), {}, &out[0], a, a, c);
    device.run(exact.kernel("fused"), {}, &unfused[0], a, a, c);
    const float rounded = a * a;
    CHECK(out[0] == std::fmaf(a, a, c));
    CHECK(out[1] == rounded + c);
    CHECK(out[2] == std::fmaf(a, a, c));
    CHECK(out[3] == rounded + c);
    CHECK(unfused[0] == rounded + c);
    int whole[16];
    device.run(program.kernel("integers"), {}, &whole[0], 2147483647, 1e20f, std::nanf(""));
    const int expected[] = {-2147483647 - 1, 1, 3231, 8, 1,          16, 0x66442200, 3,
                            2147483647,      2, 0,    1, 0x3f800000, 1,  12,         11};
    for (int i = 0; i < 16; ++i) CHECK_MESSAGE(whole[i] == expected[i], i);
    double real[12];
    device.run(program.kernel("reals"), {}, &real[0], 4.0f, 3.0);
    const double wanted[] = {0.5, 2, 9, 3, 2, 6, 1, 1, 1, static_cast<double>(4.0f / 3.0f), 4, 2};
    for (int i = 0; i < 12; ++i) CHECK_MESSAGE(real[i] == wanted[i], i);
}

TEST_CASE("atomics of every kind, on global and shared memory, agree") {
    const Program program(R"(
template <class T> __device__ void all(T *at, int i) {
    atomicAdd(at + 0, (T)i); atomicSub(at + 1, (T)i); atomicMin(at + 2, (T)(i + 5)); atomicMax(at + 3, (T)i);
    atomicAnd(at + 4, (T)~(1 << i % 8)); atomicOr(at + 5, (T)(1 << i % 8)); atomicXor(at + 6, (T)i);
    T old = at[7], seen; do { seen = old; old = atomicCAS(at + 7, seen, (T)(seen + 2)); } while (seen != old);
}
extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d, unsigned *wrap) {
    __shared__ unsigned shared[8]; __shared__ float sf;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 8) shared[threadIdx.x] = threadIdx.x == 2 || threadIdx.x == 4 ? 255 : 0;
    if (threadIdx.x == 0) sf = 0;
    __syncthreads();
    all(i, t); all(u, t); all(l, t); all(shared, (int)threadIdx.x);
    atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicAdd(&sf, 1.0f); atomicInc(wrap, 99); atomicDec(wrap + 1, 9);
    atomicAdd_system(i + 8, 1); atomicExch(i + 9, 77);
    __syncthreads();
    if (threadIdx.x == 0) { for (int k = 0; k < 8; ++k) u[10 + k] = shared[k]; f[1] = sf; }
}
)");
    Device device;
    int i[10] = {0, 0, 255, 0, 255};
    unsigned u[18] = {0, 0, 255, 0, 255}, wrap[2] = {};
    unsigned long long l[8] = {0, 0, 255, 0, 255};
    float f[2] = {};
    double d = 0;
    device.run(program.kernel("atomics"), {{4, 1, 1}, {64, 1, 1}}, &i[0], &u[0], &l[0], &f[0], &d, &wrap[0]);
    const int sum = 255 * 256 / 2;
    CHECK(i[0] == sum);
    CHECK(i[1] == -sum);
    for (const unsigned long long* at : {l}) CHECK(at[0] == static_cast<unsigned long long>(sum));
    CHECK(u[0] == static_cast<unsigned>(sum));
    const int rest[] = {5, 255, 0, 255, 0, 512};
    for (int k = 0; k < 6; ++k) {
        CHECK(i[k + 2] == rest[k]);
        CHECK(u[k + 2] == static_cast<unsigned>(rest[k]));
        CHECK(l[k + 2] == static_cast<unsigned long long>(rest[k]));
    }
    const unsigned in_block[] = {2016, static_cast<unsigned>(-2016), 5, 63, 0, 255, 0, 128};
    for (int k = 0; k < 8; ++k) CHECK(u[10 + k] == in_block[k]);
    CHECK(f[0] == 128.0f);
    CHECK(f[1] == 64.0f);
    CHECK(d == 64.0);
    CHECK(wrap[0] == 256 % 100);
    CHECK(wrap[1] == (10 - 256 % 10) % 10);
    CHECK(i[8] == 256);
    CHECK(i[9] == 77);
}

TEST_CASE("groups: tiles shuffle and reduce, coalesced threads elect one") {
    const Program program(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void tiles(int *out, int *elected) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int value = block.thread_rank();
    for (int offset = tile.size() / 2; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
    value = tile.shfl(value, 0);
    out[block.thread_rank()] = value + 1000 * tile.meta_group_rank() + 100000 * tile.any(tile.thread_rank() == 7);
    if (block.thread_rank() % 3 == 0) {
        auto here = cg::coalesced_threads();
        if (here.thread_rank() == 0) atomicAdd(elected, (int)here.size());
    }
    block.sync();
}
)");
    Device device;
    std::vector<int> out(64);
    int elected = 0;
    device.run(program.kernel("tiles"), {{1, 1, 1}, {64, 1, 1}}, out.data(), &elected);
    for (int i = 0; i < 64; ++i) CHECK(out[i] == i / 8 * 64 + 28 + 1000 * (i / 8) + 100000);
    CHECK(elected == 22);
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
    Device device;
    std::vector<double> out = {0, 9, 0, 0};
    device.run(program.kernel("library"), {}, out.data(), -5);
    CHECK(out == std::vector<double>{5 + 1.5 + 7, 2.5, 2147483648.0, 4.5});
}
