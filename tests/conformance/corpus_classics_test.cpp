// Kernels in the manner of public sample collections, compared with the host.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kKernels[] = R"(
#define TILE_DIM 32
#define BLOCK_ROWS 8
// Transpose through a tile that avoids bank conflicts.
extern "C" __global__ void transpose(float *odata, const float *idata, int width, int height) {
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < height && y + j < width) odata[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// A matrix product by tiles of a template's size.
template <int BLOCK_SIZE> __global__ void MatrixMulCUDA(float *C, float *A, float *B, int wA, int wB) {
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int aBegin = wA * BLOCK_SIZE * by, aEnd = aBegin + wA - 1, aStep = BLOCK_SIZE;
    int bBegin = BLOCK_SIZE * bx, bStep = BLOCK_SIZE * wB;
    float Csub = 0;
    for (int a = aBegin, b = bBegin; a <= aEnd; a += aStep, b += bStep) {
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
        As[ty][tx] = A[a + wA * ty + tx];
        Bs[ty][tx] = B[b + wB * ty + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK_SIZE; ++k) Csub += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[wB * BLOCK_SIZE * by + BLOCK_SIZE * bx + wB * ty + tx] = Csub;
}

extern "C" __global__ void histogram(unsigned int *bins, const unsigned char *data, size_t n) {
    __shared__ unsigned int local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) atomicAdd(&local[data[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}
extern "C" __global__ void histogram_global(unsigned int *bins, const unsigned char *data, size_t n) {
    size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x, stride = (size_t)blockDim.x * gridDim.x;
    while (i < n) { atomicAdd(&bins[data[i]], 1); i += stride; }
}

__device__ float3 bodyBodyInteraction(float3 ai, float4 bi, float4 bj) {
    float3 r = make_float3(bj.x - bi.x, bj.y - bi.y, bj.z - bi.z);
    float distSqr = r.x * r.x + r.y * r.y + r.z * r.z + 0.01f;
    float invDist = rsqrtf(distSqr), invDistCube = invDist * invDist * invDist, s = bj.w * invDistCube;
    ai.x += r.x * s; ai.y += r.y * s; ai.z += r.z * s;
    return ai;
}
extern "C" __global__ void __launch_bounds__(128) nbody(float4 *__restrict__ acceleration, const float4 *__restrict__ positions, int n) {
    extern __shared__ float4 sharedPos[];
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    float3 acc = {0, 0, 0};
    float4 mine = index < n ? positions[index] : make_float4(0, 0, 0, 0);
    for (int tile = 0; tile * (int)blockDim.x < n; ++tile) {
        int other = tile * blockDim.x + threadIdx.x;
        sharedPos[threadIdx.x] = other < n ? positions[other] : make_float4(0.f, 0.f, 0.f, 0.f);
        __syncthreads();
        for (unsigned int k = 0; k < blockDim.x; k++) acc = bodyBodyInteraction(acc, mine, sharedPos[k]);
        __syncthreads();
    }
    if (index < n) acceleration[index] = make_float4(acc.x, acc.y, acc.z, 0);
}

#define RADIUS 3
extern "C" __global__ void stencil_1d(const int *in, int *out, int n) {
    __shared__ int temp[256 + 2 * RADIUS];
    int gindex = threadIdx.x + blockIdx.x * blockDim.x, lindex = threadIdx.x + RADIUS;
    temp[lindex] = gindex < n ? in[gindex] : 0;
    if (threadIdx.x < RADIUS) {
        temp[lindex - RADIUS] = gindex >= RADIUS ? in[gindex - RADIUS] : 0;
        temp[lindex + blockDim.x] = gindex + (int)blockDim.x < n ? in[gindex + blockDim.x] : 0;
    }
    __syncthreads();
    int result = 0;
    for (int offset = -RADIUS; offset <= RADIUS; offset++) result += temp[lindex + offset];
    if (gindex < n) out[gindex] = result;
}

// A reduction in the old manner, by volatile shared memory and a template on the block's size.
template <unsigned int blockSize> __device__ void warpReduce(volatile int *sdata, unsigned int tid) {
    int v = sdata[tid];
    if (blockSize >= 64) { v += sdata[tid + 32]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    for (int s = 16; s > 0; s /= 2) { v += sdata[tid + s]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
}
template <unsigned int blockSize> __global__ void reduce6(int *g_idata, int *g_odata, unsigned int n) {
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + tid, gridSize = blockSize * 2 * gridDim.x;
    sdata[tid] = 0;
    while (i < n) { sdata[tid] += g_idata[i] + (i + blockSize < n ? g_idata[i + blockSize] : 0); i += gridSize; }
    __syncthreads();
    if (blockSize >= 256) { if (tid < 128) sdata[tid] += sdata[tid + 128]; __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) sdata[tid] += sdata[tid + 64]; __syncthreads(); }
    if (tid < 32) warpReduce<blockSize>(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

// The last block to finish sums what all have left (threadFenceReduction).
__device__ unsigned int retirementCount = 0;
__shared__ bool amLast;
extern "C" __global__ void reduceSinglePass(const float *in, float *partial, float *out, unsigned n) {
    __shared__ float sums[128];
    float sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    sums[threadIdx.x] = sum;
    for (unsigned s = blockDim.x >> 1; s; s >>= 1) { __syncthreads(); if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s]; }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sums[0];
        __threadfence();
        amLast = atomicInc(&retirementCount, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (amLast && threadIdx.x == 0) {
        float total = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
        *out = total;
        retirementCount = 0;
    }
}

// Merge by binary search: each thread finds the place of its element in the other half.
__device__ static inline int rank_of(int key, const int *sorted, int n, bool after) {
    int low = 0, high = n;
    while (low < high) { int middle = (low + high) / 2; if (sorted[middle] < key || (after && sorted[middle] == key)) low = middle + 1; else high = middle; }
    return low;
}
extern "C" __global__ void merge(const int *a, int na, const int *b, int nb, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < na) out[i + rank_of(a[i], b, nb, false)] = a[i];
    else if (i < na + nb) out[i - na + rank_of(b[i - na], a, na, true)] = b[i - na];
}

// A queue of work that blocks take from until it is empty.
__device__ int next_item;
extern "C" __global__ void take_work(int *done_by, int items) {
    __shared__ int item;
    while (true) {
        if (threadIdx.x == 0) item = atomicAdd(&next_item, 1);
        __syncthreads();
        if (item >= items) return;
        if (threadIdx.x == 0) done_by[item] += 1;
        __syncthreads();
    }
}

// Chained scan: each block waits for the sum of the one before it.
extern "C" __global__ void chained_scan(const int *in, int *out, volatile int *flags, volatile int *sums, int n) {
    __shared__ int values[256];
    __shared__ int before;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    values[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset <<= 1) {
        int v = threadIdx.x >= offset ? values[threadIdx.x - offset] : 0;
        __syncthreads();
        values[threadIdx.x] += v;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        int sum = 0;
        if (blockIdx.x > 0) { while (flags[blockIdx.x - 1] == 0) {} __threadfence(); sum = sums[blockIdx.x - 1]; }
        sums[blockIdx.x] = sum + values[blockDim.x - 1];
        __threadfence();
        flags[blockIdx.x] = 1;
        before = sum;
    }
    __syncthreads();
    if (i < n) out[i] = values[threadIdx.x] + before;
}
)";

const std::vector<const char*> kTemplates = {"MatrixMulCUDA<16>", "MatrixMulCUDA<32>", "reduce6<256>", "reduce6<64>"};

std::vector<int> numbers(size_t n, unsigned seed) {
    std::vector<int> out(n);
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<int>((i + seed) * 2654435761u >> 16) % 1000;
    return out;
}

}  // namespace

TEST_CASE("a tiled transpose of a matrix that isn't a multiple of the tile") {
    Program program(kKernels, kTemplates);
    const int width = 100, height = 70;
    std::vector<float> in(width * height), out(width * height);
    std::iota(in.begin(), in.end(), 0.0f);
    program.run("transpose", shape_of({4, 3}, {32, 8}), out, in, width, height);
    bool same = true;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) same = same && out[x * height + y] == in[y * width + x];
    CHECK(same);
}

TEST_CASE("a tiled matrix product in blocks of 16 and 32") {
    Program program(kKernels, kTemplates);
    const int inner = 96, wide = 64, high = 32;
    std::vector<float> a(high * inner), b(inner * wide), c(high * wide);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7);
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5);
    for (const unsigned tile : {16u, 32u}) {
        std::fill(c.begin(), c.end(), -1.0f);
        program.run("MatrixMulCUDA<" + std::to_string(tile) + ">", shape_of({wide / tile, high / tile}, {tile, tile}),
                    c, a, b, inner, wide);
        bool same = true;
        for (int y = 0; y < high; ++y)
            for (int x = 0; x < wide; ++x) {
                float sum = 0;
                for (int k = 0; k < inner; ++k) sum += a[y * inner + k] * b[k * wide + x];
                same = same && c[y * wide + x] == sum;
            }
        CHECK(same);
    }
}

TEST_CASE("histograms in shared and in global memory") {
    Program program(kKernels, kTemplates);
    std::vector<unsigned char> data(100003);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * i >> 5);
    std::vector<unsigned> expected(256), shared(256), global(256);
    for (const unsigned char byte : data) ++expected[byte];
    program.run("histogram", shape_of(13, 192), shared, data, data.size());
    program.run("histogram_global", shape_of(13, 192), global, data, data.size());
    CHECK(shared == expected);
    CHECK(global == expected);
}

TEST_CASE("n bodies pull at each other") {
    Program program(kKernels, kTemplates);
    const int n = 300;
    std::vector<std::array<float, 4>> positions(n), out(n);
    for (int i = 0; i < n; ++i)
        positions[i] = {std::sin(i * 1.0f), std::cos(i * 2.0f), std::sin(i * 3.0f), 1.0f + i % 3};
    program.run("nbody", shape_of(3, 128, 128 * 16), out, positions, n);
    for (int i = 0; i < n; i += 37) {
        double sum[3] = {};
        for (int j = 0; j < n; ++j) {
            double r[3], d = 0.01f;
            for (int k = 0; k < 3; ++k) r[k] = double(positions[j][k]) - positions[i][k], d += r[k] * r[k];
            for (int k = 0; k < 3; ++k) sum[k] += r[k] * positions[j][3] / (d * std::sqrt(d));
        }
        for (int k = 0; k < 3; ++k) CHECK(out[i][k] == doctest::Approx(sum[k]).epsilon(1e-3));
    }
}

TEST_CASE("a stencil with a halo in shared memory") {
    Program program(kKernels, kTemplates);
    const std::vector<int> in = numbers(1000, 3);
    std::vector<int> out(1000);
    program.run("stencil_1d", shape_of(4, 256), in, out, 1000);
    for (int i = 0; i < 1000; ++i) {
        int sum = 0;
        for (int k = std::max(0, i - 3); k <= std::min(999, i + 3); ++k) sum += in[k];
        CHECK(out[i] == sum);
    }
}

TEST_CASE("reductions by volatile shared memory and by the last block") {
    Program program(kKernels, kTemplates);
    std::vector<int> in = numbers(50000, 9), partial(10);
    const int sum = std::accumulate(in.begin(), in.end(), 0);
    for (const unsigned size : {64u, 256u}) {
        program.run("reduce6<" + std::to_string(size) + ">", shape_of(10, size, 2 * size * sizeof(int)), in, partial,
                    50000u);
        CHECK(std::accumulate(partial.begin(), partial.end(), 0) == sum);
    }
    const std::vector<float> ones(20000, 1.0f);
    std::vector<float> sums(17), total(1);
    for (int again = 0; again < 3; ++again) {
        program.run("reduceSinglePass", shape_of(17, 128), ones, sums, total, 20000u);
        CHECK(total[0] == 20000.0f);
    }
}

TEST_CASE("a merge of two sorted lists, and blocks that take work until there is none") {
    Program program(kKernels, kTemplates);
    std::vector<int> a = numbers(700, 1), b = numbers(500, 77), out(1200), expected;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
    program.run("merge", shape_of(5, 256), a, 700, b, 500, out);
    CHECK(out == expected);
    std::vector<int> done(1000);
    program.run("take_work", shape_of(9, 64), done, 1000);
    CHECK(done == std::vector<int>(1000, 1));
}

TEST_CASE("a chained scan waits from block to block") {
    Program program(kKernels, kTemplates);
    const std::vector<int> in = numbers(10000, 5);
    std::vector<int> out(10000), flags(40), sums(40), expected(10000);
    std::partial_sum(in.begin(), in.end(), expected.begin());
    program.run("chained_scan", shape_of(40, 256), in, out, flags, sums, 10000);
    CHECK(out == expected);
}
