// Kernels in the manner of public sample collections: shared memory cut up by hand, lists without locks, groups that
// part and copy. Their results agree with the host's.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kMemory[] = R"cuda(#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
typedef unsigned int uint;
struct __align__(8) Ray { float angle, dist; };
struct __builtin_align__(16) Big { int a[4]; };
__global__ void lineOfSight(const Ray *__restrict__ rays, Big *out, const int n) {
  const uint i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  Big b = {{(int)rays[i].dist, 0, 0, (int)sizeof(Ray)}};
  out[i] = b;
}
__global__ void walsh(float *d_Output, float *d_Input, int log2N) {
  cg::thread_block cta = cg::this_thread_block();
  const int N = 1 << log2N, base = blockIdx.x << log2N;
  extern __shared__ float s_data[];
  float *d_Src = d_Input + base, *d_Dst = d_Output + base;
  for (int pos = threadIdx.x; pos < N; pos += blockDim.x) s_data[pos] = d_Src[pos];
  const int pos = threadIdx.x;
  for (int stride = N >> 2; stride > 0; stride >>= 2) {
    int lo = pos & (stride - 1);
    int i0 = ((pos - lo) << 2) + lo, i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
    cg::sync(cta);
    float D0 = s_data[i0], D1 = s_data[i1], D2 = s_data[i2], D3 = s_data[i3];
    float T;
    T = D0; D0 = D0 + D2; D2 = T - D2;
    T = D1; D1 = D1 + D3; D3 = T - D3;
    T = D0; s_data[i0] = D0 + D1; s_data[i1] = T - D1;
    T = D2; s_data[i2] = D2 + D3; s_data[i3] = T - D3;
  }
  if (log2N & 1) {
    cg::sync(cta);
    for (int pos = threadIdx.x; pos < N / 2; pos += blockDim.x) {
      int i0 = pos << 1, i1 = i0 + 1;
      float D0 = s_data[i0], D1 = s_data[i1];
      s_data[i0] = D0 + D1; s_data[i1] = D0 - D1;
    }
  }
  cg::sync(cta);
  for (int pos = threadIdx.x; pos < N; pos += blockDim.x) d_Dst[pos] = s_data[pos];
}
#define LOG2_WARP_SIZE 5U
#define UINT_BITS 32
#define TAG_MASK ((1U << (UINT_BITS - LOG2_WARP_SIZE)) - 1U)
inline __device__ void addByte(uint *s_WarpHist, uint data, uint threadTag) { atomicAdd(s_WarpHist + data, 1); }
inline __device__ void addWord(uint *s_WarpHist, uint data, uint tag) { addByte(s_WarpHist, (data >> 0) & 0xFFU, tag); addByte(s_WarpHist, (data >> 8) & 0xFFU, tag); addByte(s_WarpHist, (data >> 16) & 0xFFU, tag); addByte(s_WarpHist, (data >> 24) & 0xFFU, tag); }
__global__ void histogram64(uint *d_PartialHistograms, uint *d_Data, uint dataCount) {
  __shared__ uint s_Hist[6 * 256];
  uint *s_WarpHist = s_Hist + (threadIdx.x >> LOG2_WARP_SIZE) * 256;
#pragma unroll
  for (uint i = 0; i < (6 * 256 / 192); i++) { s_Hist[threadIdx.x + i * 192] = 0; }
  __syncthreads();
  const uint tag = threadIdx.x << (UINT_BITS - LOG2_WARP_SIZE);
  for (uint pos = blockIdx.x * blockDim.x + threadIdx.x; pos < dataCount; pos += blockDim.x * gridDim.x) { uint data = d_Data[pos]; addWord(s_WarpHist, data, tag); }
  __syncthreads();
  for (uint bin = threadIdx.x; bin < 256; bin += 192) { uint sum = 0; for (uint i = 0; i < 6; i++) sum += s_Hist[bin + i * 256] & TAG_MASK; d_PartialHistograms[blockIdx.x * 256 + bin] = sum; }
}
struct Node { int value; Node *next; };
__device__ Node *head;
__global__ void lock_free_list(Node *nodes, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  Node *mine = nodes + i, *old = head, *assumed;
  do { assumed = old; mine->next = assumed; old = (Node *)atomicCAS((unsigned long long *)&head, (unsigned long long)assumed, (unsigned long long)mine); } while (assumed != old);
}
__global__ void dyn2d(float *out, int w, int h) {
  extern __shared__ double smem[];
  float (*tile)[33] = (float (*)[33])smem;
  int *counts = (int *)(tile + 32);
  for (int j = threadIdx.y; j < 32; j += blockDim.y) tile[j][threadIdx.x] = j;
  if (threadIdx.x < 32 && threadIdx.y == 0) counts[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd_block(&counts[threadIdx.x], (int)tile[threadIdx.x][0]);
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + (threadIdx.y == 0 ? counts[threadIdx.x] : 0);
}
__global__ void binaryPart(int *inputArr, unsigned int *numOfOdds, int *sumOfOddEven, unsigned int size) {
  cg::thread_block cta = cg::this_thread_block();
  cg::grid_group grid = cg::this_grid();
  cg::thread_block_tile<32> tile32 = cg::tiled_partition<32>(cta);
  for (int i = grid.thread_rank(); i < size; i += grid.size()) {
    int elem = inputArr[i];
    auto subTile = cg::binary_partition(tile32, elem & 1);
    if (elem & 1) {
      int oddGroupSum = 0;
      for (int k = 0; k < subTile.size(); ++k) oddGroupSum += subTile.shfl(elem, k);
      if (subTile.thread_rank() == 0) { atomicAdd(numOfOdds, subTile.size()); atomicAdd(&sumOfOddEven[0], oddGroupSum); }
    } else {
      int s = 0;
      for (int k = 0; k < subTile.size(); ++k) s += subTile.shfl(elem, k);
      if (subTile.thread_rank() == 0) { atomicAdd(&sumOfOddEven[1], s); }
    }
    tile32.sync();
  }
}
__global__ void producer_consumer(float *out, const float *in, int batches) {
  __shared__ float buffer[2][64];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, buffer[0], in, sizeof(float) * 64);
  for (int b = 0; b < batches; ++b) {
    if (b + 1 < batches) { cg::memcpy_async(block, buffer[(b + 1) & 1], in + (b + 1) * 64, sizeof(float) * 64); cg::wait_prior<1>(block); } else cg::wait(block);
    out[b * 64 + block.thread_rank()] = buffer[b & 1][63 - block.thread_rank()];
    block.sync();
  }
}
)cuda";

struct Node { int value; Node* next; };

}  // namespace

TEST_CASE("structs keep the alignment that they ask for") {
    Program corpus(kMemory, {"lineOfSight"});
    if (!corpus.present) return;
    struct Ray { float angle, dist; };
    struct Big { int a[4]; };
    auto rays = corpus.gpu.pinned<Ray>(40);
    auto out = corpus.gpu.pinned<Big>(40);
    for (int i = 0; i < 40; ++i) rays[i] = {0, static_cast<float>(i)};
    corpus.run("lineOfSight", shape_of(2, 32), static_cast<const Ray*>(rays.data()), out.data(), 40);
    for (int i = 0; i < 40; ++i) {
        CHECK(out[i].a[0] == i);
        CHECK(out[i].a[3] == 8);
    }
}

TEST_CASE("a fast Walsh transform in shared memory, of an even and an odd number of steps") {
    Program corpus(kMemory, {"walsh"});
    if (!corpus.present) return;
    for (const int steps : {8, 9}) {
        CAPTURE(steps);
        const int n = 1 << steps;
        auto in = corpus.gpu.pinned<float>(2 * n), out = corpus.gpu.pinned<float>(2 * n);
        for (int i = 0; i < 2 * n; ++i) in[i] = static_cast<float>(i * 7 % 16);
        corpus.run("walsh", shape_of(2, n / 4, n * 4), out.data(), in.data(), steps);
        for (int block = 0; block < 2; ++block) {
            std::vector<float> expected(in.data() + block * n, in.data() + (block + 1) * n);
            for (int stride = n / 2; stride > 0; stride /= 2)
                for (int i = 0; i < n; ++i)
                    if ((i & stride) == 0) {
                        const float a = expected[i], b = expected[i + stride];
                        expected[i] = a + b;
                        expected[i + stride] = a - b;
                    }
            CHECK(std::equal(expected.begin(), expected.end(), out.data() + block * n));
        }
    }
}

TEST_CASE("a histogram of its own for each warp, added up at the end") {
    Program corpus(kMemory, {"histogram64"});
    if (!corpus.present) return;
    constexpr uint32_t words = 5'000, blocks = 7;
    auto data = corpus.gpu.pinned<uint32_t>(words), partial = corpus.gpu.pinned<uint32_t>(blocks * 256);
    std::vector<uint32_t> expected(256, 0), counted(256, 0);
    for (uint32_t i = 0; i < words; ++i) {
        data[i] = i * 2654435761u;
        for (int shift = 0; shift < 32; shift += 8) ++expected[data[i] >> shift & 255];
    }
    corpus.run("histogram64", shape_of(blocks, 192), partial.data(), data.data(), words);
    for (uint32_t i = 0; i < blocks * 256; ++i) counted[i % 256] += partial[i];
    CHECK(counted == expected);
}

TEST_CASE("threads put nodes on a list without a lock") {
    Program corpus(kMemory, {"lock_free_list", "&head"});
    if (!corpus.present) return;
    constexpr int n = 1'000;
    auto nodes = corpus.gpu.pinned<Node>(n);
    for (int i = 0; i < n; ++i) nodes[i].value = i;
    corpus.run("lock_free_list", shape_of((n + 127) / 128, 128), nodes.data(), n);
    uint64_t address = 0, bytes = 0;
    REQUIRE_OK(gpo_module_get_symbol(corpus.module, "&head", &address, &bytes));
    REQUIRE(bytes == sizeof(Node*));
    auto first = corpus.gpu.pinned<Node*>(1);
    REQUIRE_OK(gpo_copy_to_host(corpus.stream, first.data(), address, bytes));
    REQUIRE_OK(gpo_stream_wait(corpus.stream, kPatience));
    std::vector<int> seen;
    for (const Node* node = first[0]; node && seen.size() <= n; node = node->next) seen.push_back(node->value);
    std::sort(seen.begin(), seen.end());
    std::vector<int> expected(n);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(seen == expected);
}

TEST_CASE("dynamic shared memory is cut into arrays of several types and dimensions") {
    Program corpus(kMemory, {"dyn2d"});
    if (!corpus.present) return;
    auto out = corpus.gpu.pinned<float>(8 * 32);
    auto shape = shape_of(1, 32, 32 * 33 * 4 + 32 * 4);
    shape.block[1] = 8;
    corpus.run("dyn2d", shape, out.data(), 32, 8);
    for (int y = 0; y < 8; ++y)
        for (int x = 0; x < 32; ++x) CHECK(out[y * 32 + x] == static_cast<float>(x + (y == 0 ? 8 * x : 0)));
}

TEST_CASE("a tile parts in two by what its lanes hold, and each part sums") {
    Program corpus(kMemory, {"binaryPart"});
    if (!corpus.present) return;
    constexpr uint32_t n = 4'096;
    auto in = corpus.gpu.pinned<int>(n), sums = corpus.gpu.pinned<int>(2);
    auto odd = corpus.gpu.pinned<uint32_t>(1);
    uint32_t expected_odd = 0;
    int expected[2] = {};
    for (uint32_t i = 0; i < n; ++i) {
        in[i] = static_cast<int>(i * 2654435761u >> 20) % 50;
        expected_odd += in[i] & 1;
        expected[in[i] & 1 ? 0 : 1] += in[i];
    }
    corpus.run("binaryPart", shape_of(4, 256), in.data(), odd.data(), sums.data(), n);
    CHECK(odd[0] == expected_odd);
    CHECK(sums[0] == expected[0]);
    CHECK(sums[1] == expected[1]);
}

TEST_CASE("a block copies the next batch into shared memory while it works on one") {
    Program corpus(kMemory, {"producer_consumer"});
    if (!corpus.present) return;
    constexpr int batches = 9;
    auto in = corpus.gpu.pinned<float>(batches * 64), out = corpus.gpu.pinned<float>(batches * 64);
    std::iota(in.begin(), in.end(), 0.0f);
    corpus.run("producer_consumer", shape_of(1, 64), out.data(), static_cast<const float*>(in.data()), batches);
    for (int i = 0; i < batches * 64; ++i) CHECK(out[i] == static_cast<float>(i / 64 * 64 + 63 - i % 64));
}
