// Kernels in the manner of libraries for learning machines: rows normalised, attention, half precision, operations
// passed as types. Their results agree with the host's.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kLayers[] = R"cuda(#include <cuda_fp16.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define FULL_MASK 0xffffffff
#define CUDA_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
#define WARP_SIZE 32
template <typename T> __inline__ __device__ T warpReduceMax(T val) {
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask > 0; mask >>= 1) val = max(val, __shfl_xor_sync(FULL_MASK, val, mask, 32));
  return val;
}
template <typename T> __inline__ __device__ T warpReduceSum(T val) {
  for (int mask = 16; mask > 0; mask >>= 1) val += __shfl_xor_sync(FULL_MASK, val, mask, 32);
  return val;
}
template <typename T> __inline__ __device__ T blockReduceSum(T val) {
  static __shared__ T shared[32];
  int lane = threadIdx.x & 0x1f;
  int wid = threadIdx.x >> 5;
  val = warpReduceSum<T>(val);
  if (lane == 0) shared[wid] = val;
  __syncthreads();
  val = (threadIdx.x < (blockDim.x / 32.f)) ? shared[lane] : (T)(0.0f);
  val = warpReduceSum<T>(val);
  return val;
}
template <typename scalar_t> __global__ void softmax_forward(scalar_t *__restrict__ out, const scalar_t *__restrict__ inp, int N, int C) {
  extern __shared__ __align__(sizeof(float)) unsigned char my_smem[];
  scalar_t *shared = reinterpret_cast<scalar_t *>(my_smem);
  int idx = blockIdx.x, tid = threadIdx.x, warpId = threadIdx.x / 32, laneId = threadIdx.x % 32;
  int warpsPerBlock = blockDim.x / 32;
  volatile scalar_t *maxvals = shared;
  volatile scalar_t *sumvals = &shared[warpsPerBlock];
  const scalar_t *x = inp + idx * C;
  float maxval = -INFINITY;
  for (int i = tid; i < C; i += blockDim.x) { maxval = fmaxf(maxval, x[i]); }
  maxval = warpReduceMax(maxval);
  if (laneId == 0) maxvals[warpId] = maxval;
  __syncthreads();
  if (tid == 0) {
    float val = maxvals[tid];
    for (int i = 1; i < warpsPerBlock; i++) { val = fmaxf(val, maxvals[i]); }
    maxvals[0] = val;
  }
  __syncthreads();
  float offset = maxvals[0];
  for (int i = tid; i < C; i += blockDim.x) { __stcs(out + idx * C + i, expf(x[i] - offset)); }
  x = out + idx * C;
  float sumval = 0.0f;
  for (int i = tid; i < C; i += blockDim.x) { sumval += x[i]; }
  sumval = warpReduceSum(sumval);
  if (laneId == 0) sumvals[warpId] = sumval;
  __syncthreads();
  if (tid == 0) { float val = sumvals[tid]; for (int i = 1; i < warpsPerBlock; ++i) val += sumvals[i]; sumvals[0] = val; }
  __syncthreads();
  float sum = sumvals[0];
  for (int i = tid; i < C; i += blockDim.x) { out[idx * C + i] = x[i] / sum; }
}
template <typename T, int kThreads> __global__ void __launch_bounds__(kThreads) layernorm(T *out, const T *in, const T *gamma, int cols, float eps) {
  __shared__ float s_mean, s_rstd;
  float sum = 0.f, sq = 0.f;
  for (int i = threadIdx.x; i < cols; i += kThreads) { float v = static_cast<float>(in[blockIdx.x * cols + i]); sum += v; sq += v * v; }
  sum = blockReduceSum(sum);
  __syncthreads();
  sq = blockReduceSum<float>(sq);
  if (threadIdx.x == 0) { s_mean = sum / cols; s_rstd = rsqrtf(sq / cols - s_mean * s_mean + eps); }
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += kThreads) out[blockIdx.x * cols + i] = (T)(((float)in[blockIdx.x * cols + i] - s_mean) * s_rstd * (float)gamma[i]);
}
template <int Br, int D> struct SmemLayout { float q[Br][D + 4]; float k[Br][D + 4]; float s[Br][Br + 1]; };
template <int Br, int D> __global__ void attention(const float *Q, const float *K, const float *V, float *O, const int N, const float scale) {
  extern __shared__ char smem_raw[];
  auto &smem = *reinterpret_cast<SmemLayout<Br, D> *>(smem_raw);
  const int t = threadIdx.x;
  float m = -FLT_MAX, l = 0.f, acc[D] = {};
  const int row = blockIdx.x * Br + t;
  for (int d = 0; d < D; ++d) smem.q[t][d] = Q[row * D + d];
  for (int j = 0; j < CEIL_DIV(N, Br); ++j) {
    __syncthreads();
    for (int d = 0; d < D; ++d) smem.k[t][d] = K[(j * Br + t) * D + d];
    __syncthreads();
    float mj = m;
    for (int c = 0; c < Br; ++c) {
      float s = 0;
#pragma unroll 4
      for (int d = 0; d < D; ++d) s = __fmaf_rn(smem.q[t][d], smem.k[c][d], s);
      smem.s[t][c] = s * scale;
      mj = fmaxf(mj, smem.s[t][c]);
    }
    const float correction = __expf(m - mj);
    l *= correction;
    for (int d = 0; d < D; ++d) acc[d] *= correction;
    for (int c = 0; c < Br; ++c) { float p = __expf(smem.s[t][c] - mj); l += p; for (int d = 0; d < D; ++d) acc[d] += p * V[(j * Br + c) * D + d]; }
    m = mj;
  }
  for (int d = 0; d < D; ++d) O[row * D + d] = acc[d] / l;
}
struct Square { template <typename T> __device__ T operator()(T x) const { return x * x; } };
struct Negate { template <typename T> __device__ T operator()(T x) const { return -x; } };
template <typename T, typename... Ops> __device__ T apply_all(T x, Ops... ops) { ((x = ops(x)), ...); return x; }
template <typename T, typename... Ops> __global__ void visit(T *x, int n, Ops... ops) {
  CUDA_KERNEL_LOOP(i, n) { x[i] = apply_all(x[i], ops...); }
}
__global__ void rope_half(half2 *x, const float *freqs, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) {
    float2 v = __half22float2(x[i]);
    float s, c;
    sincosf(freqs[i], &s, &c);
    x[i] = __floats2half2_rn(v.x * c - v.y * s, v.x * s + v.y * c);
    half h = __low2half(x[i]);
    if (__hgt(h, __float2half(100.f))) printf("%d is large: %f\n", i, __half2float(h));
  }
}
template <int T> __global__ void hgemm(const half *A, const half *B, half *C, int n) {
  __shared__ half a[T][T], b[T][T + 2];
  int r = blockIdx.y * T + threadIdx.y, c = blockIdx.x * T + threadIdx.x;
  half2 acc = __float2half2_rn(0.f);
  for (int t = 0; t < n / T; t++) {
    a[threadIdx.y][threadIdx.x] = A[r * n + t * T + threadIdx.x];
    b[threadIdx.x][threadIdx.y] = B[(t * T + threadIdx.y) * n + c];
    __syncthreads();
    for (int k = 0; k < T; k += 2) acc = __hfma2(*reinterpret_cast<const half2 *>(&a[threadIdx.y][k]), *reinterpret_cast<const half2 *>(&b[threadIdx.x][k]), acc);
    __syncthreads();
  }
  C[r * n + c] = __hadd(acc.x, acc.y);
  C[r * n + c] += half(0.5);
  if (C[r * n + c] > (half)1000.0f) C[r * n + c] = hsqrt(C[r * n + c]);
}
)cuda";

/// The bits of a number that a half has exactly: a whole number below 2048, or some of its fractions.
uint16_t half(float value) {
    int exponent = 0;
    const float fraction = std::frexp(std::fabs(value), &exponent);
    if (value == 0) return 0;
    const auto digits = static_cast<uint32_t>(fraction * 2048) & 0x3ff;
    return static_cast<uint16_t>((value < 0 ? 0x8000u : 0u) | static_cast<uint32_t>(exponent + 14) << 10 | digits);
}
float number(uint16_t bits) {
    const float digits = static_cast<float>((bits & 0x3ff) | (bits & 0x7c00 ? 0x400 : 0));
    return std::ldexp(bits & 0x8000 ? -digits : digits, std::max((bits >> 10 & 31) - 25, -24));
}

}  // namespace

TEST_CASE("rows are normalised to sums of one, and to mean and deviation in half precision") {
    Program corpus(kLayers, {"softmax_forward<float>", "layernorm<__half, 256>"});
    if (!corpus.present) return;
    constexpr int N = 7, C = 300;
    auto in = corpus.gpu.pinned<float>(N * C), out = corpus.gpu.pinned<float>(N * C);
    for (int i = 0; i < N * C; ++i) in[i] = static_cast<float>(i * 31 % 97) / 10;
    corpus.run("softmax_forward<float>", shape_of(N, 128, 2 * 4 * 4), out.data(), static_cast<const float*>(in.data()),
               N, C);
    for (int row = 0; row < N; ++row) {
        double sum = 0;
        for (int i = 0; i < C; ++i) sum += std::exp(double(in[row * C + i]));
        for (int i = 0; i < C; ++i)
            CHECK(out[row * C + i] == doctest::Approx(std::exp(double(in[row * C + i])) / sum).epsilon(1e-4));
    }
    auto x = corpus.gpu.pinned<uint16_t>(N * C), gamma = corpus.gpu.pinned<uint16_t>(C),
         y = corpus.gpu.pinned<uint16_t>(N * C);
    for (int i = 0; i < N * C; ++i) x[i] = half(static_cast<float>(i * 31 % 97 - 48) / 8);
    for (int i = 0; i < C; ++i) gamma[i] = half(static_cast<float>(i % 4 + 1) / 2);
    corpus.run("layernorm<__half, 256>", shape_of(N, 256), y.data(), static_cast<const uint16_t*>(x.data()),
               static_cast<const uint16_t*>(gamma.data()), C, 1e-5f);
    for (int row = 0; row < N; ++row) {
        double sum = 0, square = 0;
        for (int i = 0; i < C; ++i)
            sum += number(x[row * C + i]), square += double(number(x[row * C + i])) * number(x[row * C + i]);
        const double mean = sum / C, deviation = std::sqrt(square / C - mean * mean + 1e-5);
        for (int i = 0; i < C; ++i) {
            const double expected = (number(x[row * C + i]) - mean) / deviation * number(gamma[i]);
            CHECK(std::fabs(number(y[row * C + i]) - expected) <= 2e-3 * std::max(1.0, std::fabs(expected)));
        }
    }
}

TEST_CASE("attention goes over its keys once and rescales what it has") {
    Program corpus(kLayers, {"attention<32, 64>"});
    if (!corpus.present) return;
    constexpr int N = 96, D = 64;
    auto q = corpus.gpu.pinned<float>(N * D), k = corpus.gpu.pinned<float>(N * D), v = corpus.gpu.pinned<float>(N * D),
         o = corpus.gpu.pinned<float>(N * D);
    for (int i = 0; i < N * D; ++i) {
        q[i] = static_cast<float>(std::sin(0.1 * i));
        k[i] = static_cast<float>(std::cos(0.17 * i));
        v[i] = static_cast<float>(i % 11);
    }
    constexpr uint64_t shared = 4 * (2 * 32 * (D + 4) + 32 * 33);
    corpus.run("attention<32, 64>", shape_of(N / 32, 32, shared), static_cast<const float*>(q.data()),
               static_cast<const float*>(k.data()), static_cast<const float*>(v.data()), o.data(), N, 0.125f);
    for (int row = 0; row < N; row += 5) {
        std::vector<double> weight(N);
        double sum = 0;
        for (int j = 0; j < N; ++j) {
            double s = 0;
            for (int d = 0; d < D; ++d) s += double(q[row * D + d]) * k[j * D + d];
            sum += weight[j] = std::exp(s * 0.125);
        }
        for (int d = 0; d < D; ++d) {
            double expected = 0;
            for (int j = 0; j < N; ++j) expected += weight[j] / sum * v[j * D + d];
            CHECK(o[row * D + d] == doctest::Approx(expected).epsilon(1e-3));
        }
    }
}

TEST_CASE("a product of matrices in half precision by pairs, and pairs turned in the plane") {
    Program corpus(kLayers, {"hgemm<16>", "rope_half"});
    if (!corpus.present) return;
    constexpr int n = 48;
    auto a = corpus.gpu.pinned<uint16_t>(n * n), b = corpus.gpu.pinned<uint16_t>(n * n),
         c = corpus.gpu.pinned<uint16_t>(n * n);
    for (int i = 0; i < n * n; ++i)
        a[i] = half(static_cast<float>(i % 5 - 2)), b[i] = half(static_cast<float>(i % 7 - 3));
    auto shape = shape_of(n / 16, 16);
    shape.grid[1] = n / 16, shape.block[1] = 16;
    corpus.run("hgemm<16>", shape, static_cast<const uint16_t*>(a.data()), static_cast<const uint16_t*>(b.data()),
               c.data(), n);
    bool same = true;
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
            float sum = 0.5f;   // whole numbers this small are exact in half precision too
            for (int k = 0; k < n; ++k) sum += number(a[y * n + k]) * number(b[k * n + x]);
            same &= number(c[y * n + x]) == sum;
        }
    CHECK(same);
    auto pairs = corpus.gpu.pinned<uint16_t>(2 * 64);
    auto angles = corpus.gpu.pinned<float>(64);
    for (int i = 0; i < 64; ++i)
        pairs[2 * i] = half(static_cast<float>(i)), pairs[2 * i + 1] = half(1),
                  angles[i] = 0.1f * static_cast<float>(i);
    corpus.run("rope_half", shape_of(2, 32), pairs.data(), static_cast<const float*>(angles.data()), 64);
    for (int i = 0; i < 64; ++i) {
        const double x = i * std::cos(double(angles[i])) - std::sin(double(angles[i])),
                     y = i * std::sin(double(angles[i])) + std::cos(double(angles[i]));
        CHECK(std::fabs(number(pairs[2 * i]) - x) <= 1e-3 * 64);
        CHECK(std::fabs(number(pairs[2 * i + 1]) - y) <= 1e-3 * 64);
    }
}

TEST_CASE("operations are passed to a kernel as a list of types") {
    Program corpus(kLayers, {"visit<int, Square, Negate, Square>"});
    if (!corpus.present) return;
    struct Empty {};
    auto x = corpus.gpu.pinned<int>(100);
    for (int i = 0; i < 100; ++i) x[i] = i;
    corpus.run("visit<int, Square, Negate, Square>", shape_of(2, 32), x.data(), 100, Empty(), Empty(), Empty());
    for (int i = 0; i < 100; ++i) CHECK(x[i] == i * i * i * i);
}
