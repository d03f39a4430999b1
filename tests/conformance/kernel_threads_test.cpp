// Threads that wait for each other: barriers, warp operations, early returns, odd shapes, partial masks.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kKernels[] = R"(
// The classic sum of a block in shared memory, with the last warp by shuffles.
__device__ __forceinline__ float warp_sum(float v) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}
extern "C" __global__ void reduce(const float *in, float *out, unsigned n) {
    extern __shared__ float sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    float mine = i < n ? in[i] : 0;
    if (i + blockDim.x < n) mine += in[i + blockDim.x];
    sdata[tid] = mine;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s >= 32; s >>= 1) {
        if (tid < s) sdata[tid] = mine = mine + sdata[tid + s];
        __syncthreads();
    }
    if (tid < 32) mine = warp_sum(mine);
    if (tid == 0) atomicAdd(out, mine);
}

// An inclusive scan of one block, by Hillis and Steele, two buffers in static shared memory.
extern "C" __global__ void scan(int *data, int n) {
    __shared__ int buffer[2][1024];
    int tid = threadIdx.x, from = 0;
    buffer[0][tid] = tid < n ? data[tid] : 0;
    __syncthreads();
    for (int offset = 1; offset < (int)blockDim.x; offset *= 2) {
        buffer[1 - from][tid] = buffer[from][tid] + (tid >= offset ? buffer[from][tid - offset] : 0);
        from = 1 - from;
        __syncthreads();
    }
    if (tid < n) data[tid] = buffer[from][tid];
}

// Threads beyond the end return before the barrier.
extern "C" __global__ void early(const int *in, int *out, int n) {
    __shared__ int tile[1024];
    int i = threadIdx.x;
    if (i >= n) return;
    tile[i] = in[i];
    __syncthreads();
    out[i] = tile[n - 1 - i];
}

// Barriers in a called function and in an expression.
__device__ int meet_and_count(bool odd) { return __syncthreads_count(odd); }
extern "C" __global__ void votes(int *out) {
    int tid = threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.x * blockDim.y;
    int count = meet_and_count(tid & 1), total = blockDim.x * blockDim.y * blockDim.z;
    int every = __syncthreads_and(tid < total) + 2 * __syncthreads_and(tid < total - 1);
    int some = __syncthreads_or(tid == total - 1) + 2 * __syncthreads_or(tid == total);
    if (tid == 0) { out[0] = count; out[1] = every; out[2] = some; }
    if (__syncthreads_count(1) == total) out[3 + tid] = tid;
}

// Half warps with masks of their own, at the same time.
extern "C" __global__ void halves(const int *in, int *out) {
    int lane = threadIdx.x % 32;
    int value = in[threadIdx.x];
    if (lane < 16) {
        for (int offset = 8; offset; offset /= 2) value += __shfl_xor_sync(0x0000ffffu, value, offset, 16);
    } else {
        for (int offset = 8; offset; offset /= 2) value = max(value, __shfl_xor_sync(0xffff0000u, value, offset, 16));
    }
    __syncwarp();
    out[threadIdx.x] = value;
}

extern "C" __global__ void lanes(unsigned *out, double *doubles, unsigned long long *longs) {
    unsigned lane = threadIdx.x % 32, *mine = out + threadIdx.x * 8;
    mine[0] = __ballot_sync(0xffffffffu, lane % 3 == 0);
    mine[1] = __any_sync(0xffffffffu, lane == 31) | __all_sync(0xffffffffu, lane < 32) << 1 | __all_sync(0xffffffffu, lane < 31) << 2;
    mine[2] = __match_any_sync(0xffffffffu, lane / 8);
    int same; mine[3] = __match_all_sync(0xffffffffu, 7, &same); mine[4] = same;
    mine[5] = __reduce_add_sync(0xffffffffu, lane);
    mine[6] = (unsigned)__reduce_min_sync(0xffffffffu, 5 - (int)lane);
    mine[7] = __shfl_up_sync(0xffffffffu, lane, 3);
    doubles[threadIdx.x] = __shfl_sync(0xffffffffu, lane * 0.5, 5);
    longs[threadIdx.x] = __shfl_down_sync(0xffffffffu, (unsigned long long)lane << 40, 4, 8);
}

// Lanes that have left don't count, whatever the mask says.
extern "C" __global__ void leavers(int *out) {
    int lane = threadIdx.x % 32;
    if (lane >= 20) return;
    out[threadIdx.x] = __popc(__ballot_sync(0xffffffffu, 1));
}

extern "C" __global__ void active(unsigned *out) {
    unsigned lane = threadIdx.x % 32;
    if (lane & 1) {
        out[threadIdx.x] = __activemask();
    } else {
        out[threadIdx.x] = 0;
        __threadfence_block();
        out[threadIdx.x] |= __activemask();
    }
}

// Warp-aggregated increments: whoever is here together elects one.
extern "C" __global__ void aggregated(const int *in, int n, unsigned *counter, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) {
        unsigned mask = __activemask(), lane = threadIdx.x % 32;
        int leader = __ffs(mask) - 1;
        unsigned base = 0;
        if ((int)lane == leader) base = atomicAdd(counter, (unsigned)__popc(mask));
        base = __shfl_sync(mask, base, leader);
        out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
    }
}

// A sorting network of one block.
extern "C" __global__ void bitonic(unsigned *data) {
    extern __shared__ unsigned keys[];
    unsigned tid = threadIdx.x;
    keys[tid] = data[blockIdx.x * blockDim.x + tid];
    __syncthreads();
    for (unsigned k = 2; k <= blockDim.x; k <<= 1)
        for (unsigned j = k >> 1; j > 0; j >>= 1) {
            unsigned other = tid ^ j;
            if (other > tid && ((tid & k) == 0) == (keys[tid] > keys[other])) {
                unsigned t = keys[tid]; keys[tid] = keys[other]; keys[other] = t;
            }
            __syncthreads();
        }
    data[blockIdx.x * blockDim.x + tid] = keys[tid];
}
)";

}  // namespace

TEST_CASE("a block's sum through shared memory and shuffles agrees with the host") {
    Program program(kKernels);
    for (const unsigned threads : {32u, 64u, 256u, 1024u}) {
        std::vector<float> in(10000);
        for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 7);
        std::vector<float> sum(1);
        const auto blocks = static_cast<unsigned>((in.size() + 2 * threads - 1) / (2 * threads));
        program.run("reduce", shape_of(blocks, threads, threads * sizeof(float)), in, sum, 10000u);
        CHECK(sum[0] == std::accumulate(in.begin(), in.end(), 0.0f));
    }
}

TEST_CASE("a scan is right in blocks of any size") {
    Program program(kKernels);
    for (const unsigned threads : {1u, 31u, 32u, 33u, 1000u, 1024u}) {
        std::vector<int> data(threads), expected(threads);
        for (unsigned i = 0; i < threads; ++i) data[i] = static_cast<int>(i * 7 % 11);
        std::partial_sum(data.begin(), data.end(), expected.begin());
        program.run("scan", shape_of(1, threads), data, static_cast<int>(threads));
        CHECK(data == expected);
    }
}

TEST_CASE("threads that returned don't count at a barrier") {
    Program program(kKernels);
    for (const int n : {1, 40, 100, 128}) {
        std::vector<int> in(128), out(128, -1);
        std::iota(in.begin(), in.end(), 0);
        program.run("early", shape_of(1, 128), in, out, n);
        for (int i = 0; i < 128; ++i) CHECK(out[i] == (i < n ? n - 1 - i : -1));
    }
}

TEST_CASE("barriers that count, in functions and expressions, in blocks of three dimensions") {
    Program program(kKernels);
    for (const Extent& block : {Extent(1), Extent(33), Extent(8, 8, 8), Extent(5, 7, 3)}) {
        const int total = static_cast<int>(block.size[0] * block.size[1] * block.size[2]);
        std::vector<int> out(3 + total, -1);
        program.run("votes", shape_of(1, block), out);
        CHECK(out[0] == total / 2);
        CHECK(out[1] == 1);
        CHECK(out[2] == 1);
        for (int i = 0; i < total; ++i) CHECK(out[3 + i] == i);
    }
}

TEST_CASE("groups of lanes with masks of their own shuffle at the same time") {
    Program program(kKernels);
    std::vector<int> in(64), out(64);
    for (int i = 0; i < 64; ++i) in[i] = i * 5 % 23;
    program.run("halves", shape_of(1, 64), in, out);
    for (int group = 0; group < 4; ++group) {
        const auto begin = in.begin() + group * 16, end = begin + 16;
        const int expected = group % 2 == 0 ? std::accumulate(begin, end, 0) : *std::max_element(begin, end);
        for (int i = 0; i < 16; ++i) CHECK(out[group * 16 + i] == expected);
    }
}

TEST_CASE("votes, matches, reductions and shuffles of a warp") {
    Program program(kKernels);
    std::vector<unsigned> out(64 * 8);
    std::vector<double> doubles(64);
    std::vector<unsigned long long> longs(64);
    program.run("lanes", shape_of(1, 64), out, doubles, longs);
    for (unsigned i = 0; i < 64; ++i) {
        const unsigned lane = i % 32, *mine = &out[i * 8];
        CHECK(mine[0] == 0x49249249u);
        CHECK(mine[1] == 3u);
        CHECK(mine[2] == 0xffu << (lane / 8 * 8));
        CHECK(mine[3] == 0xffffffffu);
        CHECK(mine[4] == 1u);
        CHECK(mine[5] == 496u);
        CHECK(static_cast<int>(mine[6]) == -26);
        CHECK(mine[7] == (lane < 3 ? lane : lane - 3));
        CHECK(doubles[i] == 2.5);
        CHECK(longs[i] == static_cast<unsigned long long>(lane % 8 < 4 ? lane + 4 : lane) << 40);
    }
}

TEST_CASE("lanes that have left don't count in a vote, and activemask tells who is here") {
    Program program(kKernels);
    std::vector<int> out(64, -1);
    program.run("leavers", shape_of(1, 64), out);
    for (int i = 0; i < 64; ++i) CHECK(out[i] == (i % 32 < 20 ? 20 : -1));
    std::vector<unsigned> active(32);
    program.run("active", shape_of(1, 32), active);
    for (unsigned i = 0; i < 32; ++i) CHECK(active[i] == (i & 1 ? 0xaaaaaaaau : 0x55555555u));
}

TEST_CASE("a warp-aggregated filter keeps every element once") {
    Program program(kKernels);
    std::vector<int> in(5000), out(5000, 0), expected;
    for (int i = 0; i < 5000; ++i) in[i] = i % 3 == 0 ? -i : i;
    for (const int value : in)
        if (value > 0) expected.push_back(value);
    std::vector<unsigned> count(1);
    program.run("aggregated", shape_of(20, 256), in, 5000, count, out);
    REQUIRE(count[0] == expected.size());
    out.resize(count[0]);
    std::sort(out.begin(), out.end());
    CHECK(out == expected);
}

TEST_CASE("a sorting network sorts each block") {
    Program program(kKernels);
    std::vector<unsigned> data(8 * 512);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned>(i * 2654435761u);
    std::vector<unsigned> expected = data;
    for (int b = 0; b < 8; ++b) std::sort(expected.begin() + b * 512, expected.begin() + (b + 1) * 512);
    program.run("bitonic", shape_of(8, 512, 512 * sizeof(unsigned)), data);
    CHECK(data == expected);
}

/// A kernel whose source has the tested construct at an unusual place.
struct Written {
    std::string where;
    const char* source;
    std::vector<const char*> names = {};
    const char* kernel = "k";
};

TEST_CASE("threadIdx is each thread's own wherever it is read") {
    const Written cases[] = {
        {"a constructor's initialisers", R"(
struct Place { unsigned i; __device__ Place() : i(threadIdx.x) {} };
extern "C" __global__ void k(unsigned *out) { Place p; out[p.i] = p.i; })"},
        {"a default member initialiser", R"(
struct Place { unsigned i = threadIdx.x; };
extern "C" __global__ void k(unsigned *out) { Place p; out[p.i] = p.i; })"},
        {"a base class's and a member's constructor", R"(
struct Place { unsigned i; __device__ Place() : i(threadIdx.x) {} };
struct Holder { Place place; };
struct Derived : Holder {};
__device__ Derived make() { return {}; }
extern "C" __global__ void k(unsigned *out) { const auto d = make(); out[d.place.i] = d.place.i; })"},
        {"a default argument", R"(
__device__ unsigned place(unsigned i = threadIdx.x);
extern "C" __global__ void k(unsigned *out) { out[place()] = place(); }
__device__ unsigned place(unsigned i) { return i; })"},
        {"a function in a table", R"(
typedef unsigned (*Function)();
__device__ unsigned none() { return 0; }
__device__ unsigned place() { return threadIdx.x; }
__device__ Function table[] = {none, place};
extern "C" __global__ void k(unsigned *out) { out[table[1]()] = table[1](); })"},
        {"a function in a table within a class", R"(
__device__ unsigned place() { return threadIdx.x; }
template <unsigned (*F)()> struct Call { __device__ unsigned operator()() const { return F(); } };
struct Table { Call<place> call; };
extern "C" __global__ void k(unsigned *out) { Table t; out[t.call()] = t.call(); })"},
        {"a function as an argument of a name expression", R"(
__device__ unsigned place() { return threadIdx.x; }
template <unsigned (*F)()> __global__ void k(unsigned *out) { out[F()] = F(); })", {"k<place>"}, "k<place>"},
        {"a function as an argument of an instantiation", R"(
__device__ unsigned place() { return threadIdx.x; }
template <unsigned (*F)()> __global__ void k(unsigned *out) { out[F()] = F(); }
template __global__ void k<place>(unsigned *);)", {"k<place>"}, "k<place>"},
    };
    for (const auto& one : cases) {
        CAPTURE(one.where);
        Program program(one.source, one.names);
        std::vector<unsigned> out(64, 99), expected(64);
        std::iota(expected.begin(), expected.end(), 0);
        program.run(one.kernel, shape_of(1, 64), out);
        CHECK(out == expected);
    }
}

TEST_CASE("threads may meet wherever a function can be called") {
    const std::string sum = R"(
__device__ int block_sum(int x) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x);
    __syncthreads();
    return total;
}
__device__ int same(int x) { return x; }
)";
    const Written cases[] = {
        {"a constructor's initialisers", R"(
struct Stats { int sum; __device__ Stats(int x) : sum(block_sum(x)) {} };
extern "C" __global__ void k(int *out) { __shared__ int own[64]; own[threadIdx.x] = threadIdx.x; Stats s(own[threadIdx.x]); out[threadIdx.x] = s.sum + own[threadIdx.x]; })"},
        {"a default member initialiser", R"(
struct Stats { int sum = block_sum(threadIdx.x); };
extern "C" __global__ void k(int *out) { __shared__ int own[64]; own[threadIdx.x] = threadIdx.x; Stats s; out[threadIdx.x] = s.sum + own[threadIdx.x]; })"},
        {"a default argument", R"(
__device__ int twice(int x, int sum = block_sum(threadIdx.x)) { return x + sum; }
extern "C" __global__ void k(int *out) { __shared__ int own[64]; own[threadIdx.x] = threadIdx.x; out[threadIdx.x] = twice(own[threadIdx.x]); })"},
        {"a function in a table", R"(
typedef int (*Function)(int);
__device__ Function table[] = {same, block_sum};
extern "C" __global__ void k(int *out) { __shared__ int own[64]; own[threadIdx.x] = threadIdx.x; out[threadIdx.x] = table[1](threadIdx.x) + own[threadIdx.x]; })"},
        {"a function as an argument of a name expression",
         R"(
template <int (*F)(int)> __global__ void k(int *out) { __shared__ int own[64]; own[threadIdx.x] = threadIdx.x; out[threadIdx.x] = F(threadIdx.x) + own[threadIdx.x]; })",
         {"k<block_sum>"},
         "k<block_sum>"},
    };
    for (const auto& one : cases) {
        CAPTURE(one.where);
        Program program(sum + one.source, one.names);
        std::vector<int> out(64), expected(64);
        std::iota(expected.begin(), expected.end(), 64 * 63 / 2);
        program.run(one.kernel, shape_of(1, 64), out);
        CHECK(out == expected);
    }
}

TEST_CASE("threads that don't wait have arrays of their own") {
    Program program(R"(
struct Counts { int of[8]; __device__ void add(int i, int n) { of[i] += n; } };
typedef struct { int at, values[4]; } Slots;
template <class T> __device__ T picked(const T *from, int i, int j) { T t[2]; t[i & 1] = from[i]; t[j & 1] = from[j]; return t[i & 1]; }
extern "C" {
__global__ void looks_up(int *out, const int *index, const int *a, const int *b, const int *c, const int *d) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t[4] = {a[i], b[i], c[i], d[i]};
    out[i] = t[index[i] & 3];
}
__global__ void stores(int *out, const int *index, const int *a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int first = 5, second[4];
    int __align__(16) t[4];
    t[index[i] & 3] = a[i];
    t[(index[i] + 1) & 3] = second[index[i] & 3] = first;
    out[i] = t[index[i] & 3];
}
__global__ void calls(int *out, const int *index, const int *a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = picked(a, i, i ^ 1);
}
__global__ void counts(int *out, const int *index, const int *a, Counts counts) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    counts.add(index[i] & 7, a[i]);
    out[i] = counts.of[index[i] & 7];
}
__global__ void slots(int *out, const int *index, const int *a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Slots s;
    s.values[index[i] & 3] = a[i];
    s.values[~index[i] & 3] = 5;
    out[i] = s.values[index[i] & 3];
}
__global__ void parts(int *out, const int *index, const int *a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int4 v;
    int *part = &v.x;
    part[index[i] & 3] = a[i];
    part[~index[i] & 3] = 5;
    out[i] = part[index[i] & 3];
}
}
)");
    const int count = 512;
    std::vector<int> out(count), index(count), a(count), b(count), c(count), d(count);
    for (int i = 0; i < count; ++i) {
        index[i] = i * 7 / 3;
        a[i] = 10000 + i;
        b[i] = a[i] + 1000;
        c[i] = a[i] + 2000;
        d[i] = a[i] + 3000;
    }
    program.run("looks_up", shape_of(2, 256), out, index, a, b, c, d);
    for (int i = 0; i < count; ++i) CHECK(out[i] == a[i] + (index[i] & 3) * 1000);
    for (const char* kernel : {"stores", "calls", "slots", "parts"}) {
        CAPTURE(std::string(kernel));
        program.run(kernel, shape_of(2, 256), out, index, a);
        CHECK(out == a);
    }
    struct Counts {
        int of[8];
    } zero{};
    program.run("counts", shape_of(2, 256), out, index, a, zero);
    CHECK(out == a);
}
