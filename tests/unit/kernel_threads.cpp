// Threads that wait for each other: barriers, warp operations, early returns, odd shapes, partial masks.
#include "kernel_device.h"

#include <algorithm>
#include <numeric>

using namespace kernel_test;

namespace {

const Program& program() {
    static const Program compiled(R"(
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
)");
    return compiled;
}

}  // namespace

TEST_CASE("a block's sum through shared memory and shuffles agrees with the host") {
    Device device;
    for (const unsigned threads : {32u, 64u, 256u, 1024u}) {
        std::vector<float> in(10000);
        for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 7);
        float sum = 0;
        const auto blocks = static_cast<unsigned>((in.size() + 2 * threads - 1) / (2 * threads));
        device.run(program().kernel("reduce"), {{blocks, 1, 1}, {threads, 1, 1}, threads * sizeof(float)},
                   static_cast<const float*>(in.data()), &sum, 10000u);
        CHECK(sum == std::accumulate(in.begin(), in.end(), 0.0f));
    }
}

TEST_CASE("a scan is right in blocks of any size") {
    Device device;
    for (const unsigned threads : {1u, 31u, 32u, 33u, 1000u, 1024u}) {
        std::vector<int> data(threads), expected(threads);
        for (unsigned i = 0; i < threads; ++i) data[i] = static_cast<int>(i * 7 % 11);
        std::partial_sum(data.begin(), data.end(), expected.begin());
        device.run(program().kernel("scan"), {{1, 1, 1}, {threads, 1, 1}}, data.data(), static_cast<int>(threads));
        CHECK(data == expected);
    }
}

TEST_CASE("threads that returned don't count at a barrier") {
    Device device;
    for (const int n : {1, 40, 100, 128}) {
        std::vector<int> in(128), out(128, -1);
        std::iota(in.begin(), in.end(), 0);
        device.run(program().kernel("early"), {{1, 1, 1}, {128, 1, 1}}, static_cast<const int*>(in.data()), out.data(),
                   n);
        for (int i = 0; i < 128; ++i) CHECK(out[i] == (i < n ? n - 1 - i : -1));
    }
}

TEST_CASE("barriers that count, in functions and expressions, in blocks of three dimensions") {
    Device device;
    for (const gpo_soft_dim3 block : {gpo_soft_dim3{1, 1, 1}, {33, 1, 1}, {8, 8, 8}, {5, 7, 3}}) {
        const int total = static_cast<int>(block.x * block.y * block.z);
        std::vector<int> out(3 + total, -1);
        device.run(program().kernel("votes"), {{1, 1, 1}, block}, out.data());
        CHECK(out[0] == total / 2);
        CHECK(out[1] == 1);
        CHECK(out[2] == 1);
        for (int i = 0; i < total; ++i) CHECK(out[3 + i] == i);
    }
}

TEST_CASE("groups of lanes with masks of their own shuffle at the same time") {
    Device device;
    std::vector<int> in(64), out(64);
    for (int i = 0; i < 64; ++i) in[i] = i * 5 % 23;
    device.run(program().kernel("halves"), {{1, 1, 1}, {64, 1, 1}}, static_cast<const int*>(in.data()), out.data());
    for (int group = 0; group < 4; ++group) {
        const auto begin = in.begin() + group * 16, end = begin + 16;
        const int expected = group % 2 == 0 ? std::accumulate(begin, end, 0) : *std::max_element(begin, end);
        for (int i = 0; i < 16; ++i) CHECK(out[group * 16 + i] == expected);
    }
}

TEST_CASE("votes, matches, reductions and shuffles of a warp") {
    Device device;
    std::vector<unsigned> out(64 * 8);
    std::vector<double> doubles(64);
    std::vector<unsigned long long> longs(64);
    device.run(program().kernel("lanes"), {{1, 1, 1}, {64, 1, 1}}, out.data(), doubles.data(), longs.data());
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
    Device device;
    std::vector<int> out(64, -1);
    device.run(program().kernel("leavers"), {{1, 1, 1}, {64, 1, 1}}, out.data());
    for (int i = 0; i < 64; ++i) CHECK(out[i] == (i % 32 < 20 ? 20 : -1));
    std::vector<unsigned> active(32);
    device.run(program().kernel("active"), {{1, 1, 1}, {32, 1, 1}}, active.data());
    for (unsigned i = 0; i < 32; ++i) CHECK(active[i] == (i & 1 ? 0xaaaaaaaau : 0x55555555u));
}

TEST_CASE("a warp-aggregated filter keeps every element once") {
    Device device;
    std::vector<int> in(5000), out(5000, 0), expected;
    for (int i = 0; i < 5000; ++i) in[i] = i % 3 == 0 ? -i : i;
    for (const int value : in)
        if (value > 0) expected.push_back(value);
    unsigned count = 0;
    device.run(program().kernel("aggregated"), {{20, 1, 1}, {256, 1, 1}}, static_cast<const int*>(in.data()), 5000,
               &count, out.data());
    REQUIRE(count == expected.size());
    out.resize(count);
    std::sort(out.begin(), out.end());
    CHECK(out == expected);
}

TEST_CASE("a sorting network sorts each block") {
    Device device;
    std::vector<unsigned> data(8 * 512);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned>(i * 2654435761u);
    std::vector<unsigned> expected = data;
    for (int b = 0; b < 8; ++b) std::sort(expected.begin() + b * 512, expected.begin() + (b + 1) * 512);
    device.run(program().kernel("bitonic"), {{8, 1, 1}, {512, 1, 1}, 512 * sizeof(unsigned)}, data.data());
    CHECK(data == expected);
}
