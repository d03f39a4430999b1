// Declarations and statements of every shape that C++ has, in one source.
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kDeclarations[] = R"(
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
    auto twice = [=](int x) { return 2 * x + (int)threadIdx.x; };
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
)";

}  // namespace

TEST_CASE("declarations of every shape are walked over, and kernels among them found") {
    Program program(kDeclarations, {"variants<3, true>", "variants<(2 > 1), false>", "variadic<int, short>"},
                    {"-default-device"});
    std::vector<int> out(5);
    struct {
        int n;
    } config{4};
    const std::vector<float> rows = {1, 2, 3, 4};   // two by two
    program.run("kernel", shape_of(1, 32), out, config, rows);
    CHECK(out[0] == 16 + 6 + 6 + 12 + 39 + (16 + 36 + 64) + 8 + 9);
    CHECK(out[1] == (6 + 6 + 100) + 7 + 3 + 42 + 9 + 3 + 2 + 2);
    CHECK(out[2] == 1 + 0 + 4 + 1000000 + 8 + 16);
    CHECK(out[3] == 1);
    CHECK(out[4] == 32);
    program.run("variants<3, true>", single(), out);
    CHECK(out[0] == 3);
    program.run("variants<(2 > 1), false>", single(), out);
    CHECK(out[0] == -1);
    program.run("variadic<int, short>", single(), out, 5, short{6});
    CHECK(out[0] == 13);
    CHECK(program.read<void*>("one_function")[0] != nullptr);
    CHECK(program.read<int>("corner", 2) == std::vector<int>{3, 4});
    CHECK(program.read<unsigned char>("map", 3) == std::vector<unsigned char>{1, 2, 3});
}

TEST_CASE("source that ends before its declarations do is refused, and the next one compiles") {
    Gpu gpu;
    auto options = sized<gpo_compile_options>();
    options.file_name = "cut.cu";
    for (const char* source : {"__global__ void k() { __shared__ }", "__global__ void k() {\n    __shared__ int a[4] }",
                               "__global__ void k() {", "__global__ void k(", "__global__ void k() { for }",
                               "__global__ void k() { while (x) for }"}) {
        CAPTURE(source);
        options.source = source;
        Module none;
        CHECK_STATUS(GPO_COMPILE_FAILED, gpo_module_compile(gpu.device, &options, none.out()));
    }
    options.source = "extern \"C\" __global__ void k() {}";
    Module module;
    CHECK_OK(gpo_module_compile(gpu.device, &options, module.out()));
}

TEST_CASE("members behind a friend's body are functions like any other") {
    Program program(R"(
struct Value {
    friend __device__ bool operator<(Value a, Value b) { return a.x < b.x; }
    static __device__ unsigned lane() { return threadIdx.x & 31; }
    friend class Other;
    friend __device__ float of(const Value &v);
    friend __device__ float twice(Value v) { return 2 * v.x; }
    static __device__ float opposite(float x) {
        __shared__ float exchange[32];
        exchange[lane()] = x;
        __syncthreads();
        return exchange[31 - lane()];
    }
    float x;
};
__device__ float of(const Value &v) { return v.x; }
extern "C" __global__ void lanes(unsigned *out) { out[threadIdx.x] = Value::lane() + 100 * (Value{1} < Value{2}); }
extern "C" __global__ void opposites(float *out) { out[threadIdx.x] = Value::opposite(threadIdx.x) + twice(Value{1}) + of(Value{3}); }
)");
    std::vector<unsigned> lanes(32);
    program.run("lanes", shape_of(1, 32), lanes);
    std::vector<float> opposites(32);
    program.run("opposites", shape_of(1, 32), opposites);
    for (unsigned i = 0; i < 32; ++i) {
        CHECK(lanes[i] == i + 100);
        CHECK(opposites[i] == 31 - static_cast<float>(i) + 5);
    }
}

TEST_CASE("template arguments may be shifted and compared") {
    Program program(R"(
template <class T, int N> struct Array { T at[N]; };
template <bool> struct Enable {};
template <> struct Enable<true> { typedef int type; };
constexpr int kWidth = 3;
__constant__ Array<float, 1 << 3> scale;
__device__ Array<int, (1 << 3)> counts;
template <int L, int N = 1 << L> __global__ void fft(int *out) { out[threadIdx.x] = N + threadIdx.x; }
template <int N, bool Small = N < 4> __global__ void small(int *out) { out[threadIdx.x] = 10 * Small + threadIdx.x; }
template <int N, class A = Array<int, N>, bool Small = N < kWidth, class B = Array<A, 2>> __global__ void sizes(int *out) { *out = sizeof(B) + Small; }
template <int N> __device__ typename Enable<N < 4>::type fewer(int x) { return x + N; }
template <int N, typename Enable<N < 4>::type = 0> __global__ void enabled(int *out) { out[threadIdx.x] = fewer<N>(threadIdx.x); }
extern "C" __global__ void reversed(float *out) {
    __shared__ Array<float, 1 << 5> tile;
    tile.at[threadIdx.x] = scale.at[threadIdx.x % 8] * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile.at[31 - threadIdx.x];
}
)",
                    {"fft<5>", "small<3>", "small<4>", "sizes<2>", "sizes<3>", "enabled<2>"});
    const auto made = [&](const char* kernel) {
        std::vector<int> out(32);
        program.run(kernel, shape_of(1, 32), out);
        return out;
    };
    const auto fft = made("fft<5>"), three = made("small<3>"), four = made("small<4>"), enabled = made("enabled<2>");
    program.write("scale", std::vector<float>(8, 2));
    std::vector<float> reversed(32);
    program.run("reversed", shape_of(1, 32), reversed);
    for (int i = 0; i < 32; ++i) {
        CHECK(fft[i] == 32 + i);
        CHECK(three[i] == 10 + i);
        CHECK(four[i] == i);
        CHECK(enabled[i] == i + 2);
        CHECK(reversed[i] == 2 * (31 - static_cast<float>(i)));
    }
    CHECK(made("sizes<2>")[0] == 17);
    CHECK(made("sizes<3>")[0] == 24);
}

TEST_CASE("structured bindings and subscripts of variable templates aren't lambdas") {
    Program program(R"(
struct Pair { int k, v; };
template <int N> __device__ constexpr int lut[4] = {N, 2 * N, 3 * N, 4 * N};
template <int A, int B> __device__ constexpr int table[2][2] = {{A, B}, {B, A}};
extern "C" __global__ void bindings(int *out) {
    __shared__ int s[4];
    Pair pairs[4] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
    if (threadIdx.x < 4) s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (auto& [k, v] : pairs) { s[k] += v; }
        for (auto [k, v] : pairs) { s[k] += 10 * v; }
        for (const auto &[k, v] : pairs) { s[k] += 100 * v; }
        for (auto&& [k, v] : pairs) { s[k] += 1000 * v; }
        auto& [first, second] = pairs[1]; { s[first] += second; }
        if (auto [first, second] = pairs[2]; first < second) { s[first] += threadIdx.x; }
    }
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x & 3];
}
template <int N> __global__ void looked_up(int *out) {
    __shared__ int s[4];
    if (threadIdx.x < 4) s[threadIdx.x] = 1;
    __syncthreads();
    int i = threadIdx.x & 3;
    if (lut<N>[i] > 0) { i += s[i]; }
    if (lut<3>[threadIdx.x & 3] == 6) { i += s[0] * 100; }
    for (int at = 0; at < table<N, 2>[1][0]; ++at) { i += s[0] * 1000; }
    out[threadIdx.x] = i + (threadIdx.x < 2 ? [&](int x) { return s[x] * 10000; }(0) : 0);
    if (threadIdx.x > 1) [&] { out[threadIdx.x] += s[0] * 100000; }();
}
)", {"looked_up<1>"});
    std::vector<int> out(4);
    program.run("bindings", shape_of(1, 4), out);
    for (int i = 0; i < 4; ++i) CHECK(out[i] == i + 1111 * (i + 1) + (i == 1 ? 2 : 0));
    program.run("looked_up<1>", shape_of(1, 4), out);
    for (int i = 0; i < 4; ++i) CHECK(out[i] == i + 1 + (i == 1 ? 100 : 0) + 2000 + (i < 2 ? 10000 : 100000));
}

TEST_CASE("functions may be called almost as those of textures and surfaces are") {
    Program program(R"(
__device__ float tex2DBilinear(const float *t, float x) { int i = (int)x; return t[i] + (x - i) * (t[i + 1] - t[i]); }
__device__ void surf2Dclear(float *s) { *s = 0; }
extern "C" __global__ void sample(float *out, const float *tex1Dtable) { surf2Dclear(out); *out += tex2DBilinear(tex1Dtable, 1.5f); }
)");
    std::vector<float> out(1);
    program.run("sample", single(), out, std::vector<float>{1, 2, 4});
    CHECK(out[0] == 3);
}
