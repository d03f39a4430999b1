// Kernels in the manner of public sample collections: reductions, scans, sorts, products of matrices. Their results
// agree with the host's.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kReductions[] = R"cuda(#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
template <class T> struct SharedMemory {
  __device__ inline operator T *() { extern __shared__ int __smem[]; return (T *)__smem; }
  __device__ inline operator const T *() const { extern __shared__ int __smem[]; return (T *)__smem; }
};
template <> struct SharedMemory<double> {
  __device__ inline operator double *() { extern __shared__ double __smem_d[]; return (double *)__smem_d; }
  __device__ inline operator const double *() const { extern __shared__ double __smem_d[]; return (double *)__smem_d; }
};
template <class T> __device__ __forceinline__ T warpReduceSum(unsigned int mask, T mySum) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) { mySum += __shfl_down_sync(mask, mySum, offset); }
  return mySum;
}
template <> __device__ __forceinline__ int warpReduceSum<int>(unsigned int mask, int mySum) { mySum = __reduce_add_sync(mask, mySum); return mySum; }
template <class T> __global__ void reduce3(T *g_idata, T *g_odata, unsigned int n) {
  cg::thread_block cta = cg::this_thread_block();
  T *sdata = SharedMemory<T>();
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
  T mySum = (i < n) ? g_idata[i] : 0;
  if (i + blockDim.x < n) mySum += g_idata[i + blockDim.x];
  sdata[tid] = mySum;
  cg::sync(cta);
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) { sdata[tid] = mySum = mySum + sdata[tid + s]; }
    cg::sync(cta);
  }
  if (tid == 0) g_odata[blockIdx.x] = mySum;
}
template <class T, unsigned int blockSize> __global__ void reduce5(T *g_idata, T *g_odata, unsigned int n) {
  cg::thread_block cta = cg::this_thread_block();
  T *sdata = SharedMemory<T>();
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * (blockSize * 2) + threadIdx.x;
  T mySum = (i < n) ? g_idata[i] : 0;
  if (i + blockSize < n) mySum += g_idata[i + blockSize];
  sdata[tid] = mySum;
  cg::sync(cta);
  if ((blockSize >= 512) && (tid < 256)) { sdata[tid] = mySum = mySum + sdata[tid + 256]; }
  cg::sync(cta);
  if ((blockSize >= 256) && (tid < 128)) { sdata[tid] = mySum = mySum + sdata[tid + 128]; }
  cg::sync(cta);
  if ((blockSize >= 128) && (tid < 64)) { sdata[tid] = mySum = mySum + sdata[tid + 64]; }
  cg::sync(cta);
  cg::thread_block_tile<32> tile32 = cg::tiled_partition<32>(cta);
  if (cta.thread_rank() < 32) {
    if (blockSize >= 64) mySum += sdata[tid + 32];
    for (int offset = tile32.size() / 2; offset > 0; offset /= 2) { mySum += tile32.shfl_down(mySum, offset); }
  }
  if (cta.thread_rank() == 0) g_odata[blockIdx.x] = mySum;
}
template <typename T, unsigned int blockSize, bool nIsPow2> __global__ void reduce7(const T *__restrict__ g_idata, T *__restrict__ g_odata, unsigned int n) {
  T *sdata = SharedMemory<T>();
  unsigned int tid = threadIdx.x;
  unsigned int gridSize = blockSize * gridDim.x;
  unsigned int maskLength = (blockSize & 31);
  maskLength = (maskLength > 0) ? (32 - maskLength) : maskLength;
  const unsigned int mask = (0xffffffff) >> maskLength;
  T mySum = 0;
  if (nIsPow2) {
    unsigned int i = blockIdx.x * blockSize * 2 + threadIdx.x;
    gridSize = gridSize << 1;
    while (i < n) {
      mySum += g_idata[i];
      if ((i + blockSize) < n) { mySum += g_idata[i + blockSize]; }
      i += gridSize;
    }
  } else {
    unsigned int i = blockIdx.x * blockSize + threadIdx.x;
    while (i < n) { mySum += g_idata[i]; i += gridSize; }
  }
  mySum = warpReduceSum<T>(mask, mySum);
  if ((tid % warpSize) == 0) { sdata[tid / warpSize] = mySum; }
  __syncthreads();
  const unsigned int shmem_extent = (blockSize / warpSize) > 0 ? (blockSize / warpSize) : 1;
  const unsigned int ballot_result = __ballot_sync(mask, tid < shmem_extent);
  if (tid < shmem_extent) { mySum = sdata[tid]; mySum = warpReduceSum<T>(ballot_result, mySum); }
  if (tid == 0) { g_odata[blockIdx.x] = mySum; }
}
template <class T> __global__ void reduce_cg(T *g_idata, T *g_odata, unsigned int n) {
  T *sdata = SharedMemory<T>();
  cg::thread_block cta = cg::this_thread_block();
  auto grid = cg::this_grid();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cta);
  sdata[cta.thread_rank()] = 0;
  for (unsigned int i = grid.thread_rank(); i < n; i += grid.size()) sdata[cta.thread_rank()] += g_idata[i];
  cg::sync(cta);
  sdata[cta.thread_rank()] = cg::reduce(tile, sdata[cta.thread_rank()], cg::plus<T>());
  cg::sync(cta);
  if (cta.thread_rank() == 0) {
    T beta = 0.0;
    for (int i = 0; i < blockDim.x; i += tile.size()) beta += sdata[i];
    atomicAdd(g_odata, beta);
  }
}
)cuda";

const char kScansAndSorts[] = R"cuda(#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
// Work-efficient scan with padding against bank conflicts.
#define NUM_BANKS 32
#define LOG_NUM_BANKS 5
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)
__global__ void prescan(float *g_odata, float *g_idata, int n) {
    extern __shared__ float temp[];
    int thid = threadIdx.x;
    int offset = 1;
    int ai = thid, bi = thid + (n / 2);
    int bankOffsetA = CONFLICT_FREE_OFFSET(ai), bankOffsetB = CONFLICT_FREE_OFFSET(bi);
    temp[ai + bankOffsetA] = g_idata[ai];
    temp[bi + bankOffsetB] = g_idata[bi];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            ai += CONFLICT_FREE_OFFSET(ai);
            bi += CONFLICT_FREE_OFFSET(bi);
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (thid == 0) { temp[n - 1 + CONFLICT_FREE_OFFSET(n - 1)] = 0; }
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            ai += CONFLICT_FREE_OFFSET(ai);
            bi += CONFLICT_FREE_OFFSET(bi);
            float t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    g_odata[ai] = temp[ai + bankOffsetA];
    g_odata[bi] = temp[bi + bankOffsetB];
}
__global__ void shfl_scan(int *data, int width, int *partial_sums = NULL) {
    extern __shared__ int sums[];
    int id = ((blockIdx.x * blockDim.x) + threadIdx.x);
    int lane_id = id % warpSize;
    int warp_id = threadIdx.x / warpSize;
    int value = data[id];
#pragma unroll
    for (int i = 1; i <= width; i *= 2) {
        unsigned int mask = 0xffffffff;
        int n = __shfl_up_sync(mask, value, i, width);
        if (lane_id >= i) value += n;
    }
    if (threadIdx.x % warpSize == warpSize - 1) { sums[warp_id] = value; }
    __syncthreads();
    if (warp_id == 0 && lane_id < (blockDim.x / warpSize)) {
        int warp_sum = sums[lane_id];
        int mask = (1 << (blockDim.x / warpSize)) - 1;
        for (int i = 1; i <= (blockDim.x / warpSize); i *= 2) {
            int n = __shfl_up_sync(mask, warp_sum, i, (blockDim.x / warpSize));
            if (lane_id >= i) warp_sum += n;
        }
        sums[lane_id] = warp_sum;
    }
    __syncthreads();
    int blockSum = 0;
    if (warp_id > 0) { blockSum = sums[warp_id - 1]; }
    value += blockSum;
    data[id] = value;
    if (partial_sums != NULL && threadIdx.x == blockDim.x - 1) { partial_sums[blockIdx.x] = value; }
}
typedef unsigned int uint;
#define SHARED_SIZE_LIMIT 512U
__device__ inline void Comparator(uint &keyA, uint &valA, uint &keyB, uint &valB, uint dir) {
  uint t;
  if ((keyA > keyB) == dir) { t = keyA; keyA = keyB; keyB = t; t = valA; valA = valB; valB = t; }
}
__global__ void bitonicSortShared(uint *d_DstKey, uint *d_DstVal, uint *d_SrcKey, uint *d_SrcVal, uint arrayLength, uint dir) {
  __shared__ uint s_key[SHARED_SIZE_LIMIT];
  __shared__ uint s_val[SHARED_SIZE_LIMIT];
  d_SrcKey += blockIdx.x * SHARED_SIZE_LIMIT + threadIdx.x;
  d_SrcVal += blockIdx.x * SHARED_SIZE_LIMIT + threadIdx.x;
  d_DstKey += blockIdx.x * SHARED_SIZE_LIMIT + threadIdx.x;
  d_DstVal += blockIdx.x * SHARED_SIZE_LIMIT + threadIdx.x;
  s_key[threadIdx.x + 0] = d_SrcKey[0];
  s_val[threadIdx.x + 0] = d_SrcVal[0];
  s_key[threadIdx.x + (SHARED_SIZE_LIMIT / 2)] = d_SrcKey[(SHARED_SIZE_LIMIT / 2)];
  s_val[threadIdx.x + (SHARED_SIZE_LIMIT / 2)] = d_SrcVal[(SHARED_SIZE_LIMIT / 2)];
  for (uint size = 2; size < arrayLength; size <<= 1) {
    uint ddd = dir ^ ((threadIdx.x & (size / 2)) != 0);
    for (uint stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      uint pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      Comparator(s_key[pos + 0], s_val[pos + 0], s_key[pos + stride], s_val[pos + stride], ddd);
    }
  }
  { for (uint stride = arrayLength / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      uint pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      Comparator(s_key[pos + 0], s_val[pos + 0], s_key[pos + stride], s_val[pos + stride], dir);
  } }
  __syncthreads();
  d_DstKey[0] = s_key[threadIdx.x + 0];
  d_DstVal[0] = s_val[threadIdx.x + 0];
  d_DstKey[(SHARED_SIZE_LIMIT / 2)] = s_key[threadIdx.x + (SHARED_SIZE_LIMIT / 2)];
  d_DstVal[(SHARED_SIZE_LIMIT / 2)] = s_val[threadIdx.x + (SHARED_SIZE_LIMIT / 2)];
}
// One digit of a radix sort: counted by matching lanes.
template <int BITS> __global__ void radixCount(const unsigned *keys, unsigned *counts, int n, int shift) {
    constexpr int kBins = 1 << BITS;
    __shared__ unsigned bins[kBins];
    if (threadIdx.x < kBins) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned digit = (keys[i] >> shift) & (kBins - 1);
        const unsigned peers = __match_any_sync(__activemask(), digit);
        const unsigned lane = threadIdx.x & 31;
        if (lane == __ffs(peers) - 1) atomicAdd(&bins[digit], __popc(peers));
    }
    __syncthreads();
    if (threadIdx.x < kBins) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}
// Keys go to their digit's place in the order they came: an 1-bit split at a time within a block.
template <int BITS> __global__ void radixScatter(const unsigned *in, unsigned *out, const unsigned *offsets, int n, int shift) {
    __shared__ unsigned key[256];
    __shared__ unsigned sum[256];
    __shared__ unsigned first[1 << BITS];
    const int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    key[t] = i < n ? in[i] : ~0u;
    __syncthreads();
    for (int bit = 0; bit < BITS; ++bit) {
        const unsigned mine = key[t], one = (mine >> (shift + bit)) & 1;
        const int zeros = 256 - __syncthreads_count(one);
        sum[t] = one;
        for (int offset = 1; offset < 256; offset *= 2) {
            __syncthreads();
            const unsigned add = t >= offset ? sum[t - offset] : 0;
            __syncthreads();
            sum[t] += add;
        }
        const unsigned place = one ? zeros + sum[t] - 1 : t - sum[t];
        __syncthreads();
        key[place] = mine;
        __syncthreads();
    }
    const unsigned digit = (key[t] >> shift) & ((1 << BITS) - 1);
    if (t == 0 || ((key[t - 1] >> shift) & ((1 << BITS) - 1)) != digit) first[digit] = t;
    __syncthreads();
    // What lies behind the end has the highest digits and comes last of them.
    const unsigned where = offsets[digit * gridDim.x + blockIdx.x] + t - first[digit];
    if (where < n) out[where] = key[t];
}
__device__ int atomicAggInc(int *counter) {
    cg::coalesced_group active = cg::coalesced_threads();
    int leader = 0, prev;
    if (active.thread_rank() == 0) prev = atomicAdd(counter, active.size());
    prev = active.thread_rank() + active.shfl(prev, leader);
    return prev;
}
__global__ void filter_arr(int *dst, int *nres, const int *src, int n) {
    int id = threadIdx.x + blockIdx.x * blockDim.x;
    for (int i = id; i < n; i += gridDim.x * blockDim.x) {
        if (src[i] > 0) dst[atomicAggInc(nres)] = src[i];
    }
}
)cuda";

const char kProducts[] =
    R"cuda(// A product of matrices: tiles of 64 by 64, 4 by 4 to a thread, the next tile loaded while this one is worked on.
#define BM 64
#define BN 64
#define BK 8
__global__ void __launch_bounds__(256, 2) sgemm(int M, int N, int K, float alpha, const float *__restrict__ A, const float *__restrict__ B, float beta, float *__restrict__ C) {
    __shared__ float As[2][BK][BM];
    __shared__ __align__(16) float Bs[2][BK][BN];
    const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    const float *Ab = A + blockIdx.y * BM * K, *Bb = B + blockIdx.x * BN;
    const int arow = tid / 4, acol = tid % 4 * 2, brow = tid / 32, bcol = tid % 32 * 2;
    float acc[4][4] = {};
    float2 ra = *reinterpret_cast<const float2 *>(&Ab[arow * K + acol]), rb = reinterpret_cast<const float2 *>(&Bb[brow * N + bcol])[0];
    As[0][acol][arow] = ra.x; As[0][acol + 1][arow] = ra.y;
    *(float2 *)&Bs[0][brow][bcol] = rb;
    __syncthreads();
    int write = 1;
    for (int k = BK; k <= K; k += BK) {
        if (k < K) {
            ra = *reinterpret_cast<const float2 *>(&Ab[arow * K + k + acol]);
            rb = *reinterpret_cast<const float2 *>(&Bb[(k + brow) * N + bcol]);
        }
        const int read = write ^ 1;
#pragma unroll
        for (int kk = 0; kk < BK; kk++) {
            float fa[4], fb[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) fa[i] = As[read][kk][ty * 4 + i];
            float4 f = *reinterpret_cast<float4 *>(&Bs[read][kk][tx * 4]);
            fb[0] = f.x, fb[1] = f.y, fb[2] = f.z, fb[3] = f.w;
            for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) acc[i][j] = fmaf(fa[i], fb[j], acc[i][j]);
        }
        if (k < K) {
            As[write][acol][arow] = ra.x; As[write][acol + 1][arow] = ra.y;
            *(float2 *)&Bs[write][brow][bcol] = rb;
            __syncthreads();
            write ^= 1;
        }
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            float *c = &C[(blockIdx.y * BM + ty * 4 + i) * N + blockIdx.x * BN + tx * 4 + j];
            *c = alpha * acc[i][j] + beta * *c;
        }
}
#include <cuda_pipeline.h>
// Tiles are copied into shared memory by the threads that will use them, one ahead.
__global__ void staged(float *out, const float *in, int tiles) {
    __shared__ __align__(16) float buffer[2][128];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&buffer[0][t * 4], &in[t * 4], sizeof(float4));
    __pipeline_commit();
    for (int i = 0; i < tiles; ++i) {
        if (i + 1 < tiles) { __pipeline_memcpy_async(&buffer[(i + 1) & 1][t * 4], &in[(i + 1) * 128 + t * 4], sizeof(float4)); }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float sum = 0;
        for (int k = 0; k < 4; ++k) sum += buffer[i & 1][t * 4 + k];
        out[i * blockDim.x + t] = sum;
        __syncthreads();
    }
}
)cuda";

std::vector<int> numbers(size_t n) {
    std::vector<int> out(n);
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<int>(i * 2654435761u >> 16) % 100 - 50;
    return out;
}

}  // namespace

TEST_CASE("reductions by tree, by unrolled tree, by shuffles and by groups agree with the host") {
    Program corpus(kReductions, {"reduce3<int>", "reduce3<double>", "reduce5<float, 256>", "reduce7<int, 128, false>",
                                "reduce7<int, 128, true>", "reduce_cg<int>"});
    if (!corpus.present) return;
    constexpr uint32_t n = 50'000;
    const std::vector<int> in = numbers(n);
    const int expected = std::accumulate(in.begin(), in.end(), 0);
    const auto check = [&](const char* name, auto zero, const gpo_launch& shape) {
        using T = decltype(zero);
        CAPTURE(name);
        auto data = corpus.gpu.pinned<T>(n);
        auto sums = corpus.gpu.pinned<T>(shape.grid[0]);
        std::copy(in.begin(), in.end(), data.begin());
        corpus.run(name, shape, data.data(), sums.data(), n);
        CHECK(std::accumulate(sums.begin(), sums.end(), zero) == static_cast<T>(expected));
    };
    check("reduce3<int>", 0, shape_of((n + 511) / 512, 256, 256 * 4));
    check("reduce3<double>", 0.0, shape_of((n + 255) / 256, 128, 128 * 8));
    check("reduce5<float, 256>", 0.0f, shape_of((n + 511) / 512, 256, 256 * 4));
    check("reduce7<int, 128, false>", 0, shape_of(33, 128, 32 * 4));
    check("reduce7<int, 128, true>", 0, shape_of(16, 128, 32 * 4));
    check("reduce_cg<int>", 0, shape_of(20, 192, 192 * 4));
}

TEST_CASE("scans by sweeps up and down a tree and by shuffles agree with the host") {
    Program corpus(kScansAndSorts, {"prescan", "shfl_scan"});
    if (!corpus.present) return;
    const std::vector<int> in = numbers(1024);
    auto from = corpus.gpu.pinned<float>(1024);
    auto to = corpus.gpu.pinned<float>(1024);
    std::copy(in.begin(), in.end(), from.begin());
    corpus.run("prescan", shape_of(1, 512, (1024 + 32) * 4), to.data(), from.data(), 1024);
    std::vector<int> expected(1024);
    std::exclusive_scan(in.begin(), in.end(), expected.begin(), 0);
    CHECK(std::equal(expected.begin(), expected.end(), to.begin()));

    auto data = corpus.gpu.pinned<int>(1024);
    auto sums = corpus.gpu.pinned<int>(4);
    int* partial = sums.data();
    std::copy(in.begin(), in.end(), data.begin());
    corpus.run("shfl_scan", shape_of(4, 256, 8 * 4), data.data(), 32, partial);
    for (int block = 0; block < 4; ++block) {
        std::inclusive_scan(&in[256 * block], &in[256 * block] + 256, expected.begin());
        CHECK(std::equal(expected.begin(), expected.begin() + 256, &data[256 * block]));
        CHECK(sums[block] == expected[255]);
    }
}

TEST_CASE("a bitonic sorting network sorts keys with their values, up and down") {
    Program corpus(kScansAndSorts, {"bitonicSortShared"});
    if (!corpus.present) return;
    auto keys = corpus.gpu.pinned<uint32_t>(2048), values = corpus.gpu.pinned<uint32_t>(2048);
    auto sorted = corpus.gpu.pinned<uint32_t>(2048), moved = corpus.gpu.pinned<uint32_t>(2048);
    for (uint32_t i = 0; i < 2048; ++i) keys[i] = i * 2654435761u, values[i] = i;
    for (const uint32_t up : {1u, 0u}) {
        CAPTURE(up);
        corpus.run("bitonicSortShared", shape_of(4, 256), sorted.data(), moved.data(), keys.data(), values.data(), 512u,
                   up);
        for (uint32_t block = 0; block < 4; ++block) {
            std::vector<uint32_t> expected(&keys[512 * block], &keys[512 * block] + 512);
            if (up) std::sort(expected.begin(), expected.end());
            else std::sort(expected.begin(), expected.end(), std::greater<>());
            CHECK(std::equal(expected.begin(), expected.end(), &sorted[512 * block]));
        }
        bool together = true;
        for (uint32_t i = 0; i < 2048; ++i) together &= sorted[i] == keys[moved[i]];
        CHECK(together);
    }
}

TEST_CASE("passes of a radix sort, a digit of four bits each, sort") {
    Program corpus(kScansAndSorts, {"radixCount<4>", "radixScatter<4>"});
    if (!corpus.present) return;
    constexpr int n = 5'000, blocks = (n + 255) / 256;
    auto keys = corpus.gpu.pinned<uint32_t>(n), other = corpus.gpu.pinned<uint32_t>(n);
    auto counts = corpus.gpu.pinned<uint32_t>(16 * blocks);
    for (uint32_t i = 0; i < n; ++i) keys[i] = i * 2654435761u >> 12;
    std::vector<uint32_t> expected(keys.begin(), keys.end());
    std::sort(expected.begin(), expected.end());
    uint32_t *from = keys.data(), *to = other.data();
    for (int shift = 0; shift < 20; shift += 4) {
        // A block counts what it will scatter.
        corpus.run("radixCount<4>", shape_of(blocks, 256), static_cast<const uint32_t*>(from), counts.data(), n, shift);
        std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), 0u);
        corpus.run("radixScatter<4>", shape_of(blocks, 256), static_cast<const uint32_t*>(from), to,
                   static_cast<const uint32_t*>(counts.data()), n, shift);
        std::swap(from, to);
    }
    CHECK(std::equal(expected.begin(), expected.end(), from));
}

TEST_CASE("lanes that keep a value take their places together") {
    Program corpus(kScansAndSorts, {"filter_arr"});
    if (!corpus.present) return;
    constexpr int n = 20'000;
    const std::vector<int> in = numbers(n);
    auto from = corpus.gpu.pinned<int>(n), to = corpus.gpu.pinned<int>(n), count = corpus.gpu.pinned<int>(1);
    std::copy(in.begin(), in.end(), from.begin());
    corpus.run("filter_arr", shape_of(40, 160), to.data(), count.data(), static_cast<const int*>(from.data()), n);
    std::vector<int> expected, kept(to.begin(), to.begin() + count[0]);
    std::copy_if(in.begin(), in.end(), std::back_inserter(expected), [](int value) { return value > 0; });
    std::sort(expected.begin(), expected.end());
    std::sort(kept.begin(), kept.end());
    CHECK(kept == expected);
}

TEST_CASE("a product of matrices with two buffers agrees with the host") {
    Program corpus(kProducts, {"sgemm", "staged"});
    if (!corpus.present) return;
    constexpr int M = 128, N = 192, K = 40;
    auto a = corpus.gpu.pinned<float>(M * K), b = corpus.gpu.pinned<float>(K * N), c = corpus.gpu.pinned<float>(M * N);
    for (int i = 0; i < M * K; ++i) a[i] = static_cast<float>(i % 7 - 3);
    for (int i = 0; i < K * N; ++i) b[i] = static_cast<float>(i % 5 - 2);
    for (float& value : c) value = 1;
    auto shape = shape_of(N / 64, 256);
    shape.grid[1] = M / 64;
    corpus.run("sgemm", shape, M, N, K, 2.0f, static_cast<const float*>(a.data()), static_cast<const float*>(b.data()),
               0.5f, c.data());
    bool same = true;
    for (int y = 0; y < M; ++y)
        for (int x = 0; x < N; ++x) {
            float sum = 0;
            for (int k = 0; k < K; ++k) sum += a[y * K + k] * b[k * N + x];
            same &= c[y * N + x] == 2 * sum + 0.5f;
        }
    CHECK(same);

    constexpr int tiles = 9;
    auto in = corpus.gpu.pinned<float>(tiles * 128), out = corpus.gpu.pinned<float>(tiles * 32);
    std::iota(in.begin(), in.end(), 0.0f);
    corpus.run("staged", shape_of(1, 32), out.data(), static_cast<const float*>(in.data()), tiles);
    for (int i = 0; i < tiles * 32; ++i) CHECK(out[i] == 16.0f * static_cast<float>(i) + 6.0f);
}
