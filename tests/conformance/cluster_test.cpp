// Clusters of blocks: where a block is in its cluster, the barrier they share, and each other's shared memory.
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

const char kKernels[] = R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void places(unsigned* out) {
    cg::cluster_group cluster = cg::this_cluster();
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    unsigned index = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned* mine = out + 16 * index;
    if (block.thread_rank() == block.num_threads() - 1) {
        mine[0] = cluster.block_rank();
        mine[1] = cluster.num_blocks();
        mine[2] = cluster.block_index().x, mine[3] = cluster.block_index().y, mine[4] = cluster.block_index().z;
        mine[5] = cluster.dim_blocks().x, mine[6] = cluster.dim_blocks().y, mine[7] = cluster.dim_blocks().z;
        mine[8] = cluster.thread_rank();
        mine[9] = cluster.num_threads();
        mine[10] = (unsigned)grid.num_clusters();
        mine[11] = (unsigned)grid.cluster_rank();
    }
    // Everybody tells the first block that it was here.
    __shared__ unsigned present;
    if (block.thread_rank() == 0) present = 0;
    cluster.sync();
    atomicAdd(cluster.map_shared_rank(&present, 0), 1u);
    cluster.sync();
    if (block.thread_rank() == 0) mine[12] = cluster.block_rank() == 0 ? present : 0;
    mine[13] = cluster.query_shared_rank(cluster.map_shared_rank(&present, cluster.num_blocks() - 1));
}

// A histogram whose bins lie in the shared memory of all the cluster's blocks, each block having some.
extern "C" __global__ void histogram(unsigned* bins, unsigned count, const unsigned char* data, unsigned n) {
    extern __shared__ unsigned local[];
    auto cluster = cg::this_cluster();
    const unsigned each = count / cluster.num_blocks();
    for (unsigned i = threadIdx.x; i < each; i += blockDim.x) local[i] = 0;
    cluster.sync();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned bin = data[i] % count;
        unsigned* there = cluster.map_shared_rank(local, bin / each);
        atomicAdd(there + bin % each, 1u);
    }
    cluster.sync();
    unsigned* out = bins + cluster.block_rank() * each;
    for (unsigned i = threadIdx.x; i < each; i += blockDim.x) atomicAdd(&out[i], local[i]);
}

// Sums by tree within a block, then the first block adds up what it reads from the others.
extern "C" __global__ void __cluster_dims__(4, 1, 1) reduce_of_four(unsigned long long* sums, const unsigned* x) {
    __shared__ unsigned long long part[128];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = x[i];
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        unsigned long long sum = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) sum += *cluster.map_shared_rank(&part[0], rank);
        sums[blockIdx.x / cluster.num_blocks()] = sum;
    }
    cluster.sync();   // nobody leaves while its memory is read
}

// A token goes round the cluster: whoever writes, writes into the next block's memory.
extern "C" __global__ void ring(unsigned* out, unsigned rounds) {
    __shared__ unsigned box[2];
    auto cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
    if (threadIdx.x == 0) box[0] = rank, box[1] = 0;
    cluster.sync();
    for (unsigned round = 0; round < rounds; ++round) {
        if (threadIdx.x == blockDim.x - 1) cluster.map_shared_rank(box, (rank + 1) % size)[(round + 1) & 1] = box[round & 1] + 1;
        auto token = cluster.barrier_arrive();
        cluster.barrier_wait(static_cast<decltype(token)&&>(token));
    }
    if (threadIdx.x == 0) out[blockIdx.x] = box[rounds & 1];
    cluster.sync();
}

// Threads that have ended are not waited for.
extern "C" __global__ void leavers(unsigned* out) {
    __shared__ unsigned here;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == blockDim.x - 1) here = 100 + cluster.block_rank();
    if (threadIdx.x % 2 == 0) return;
    cluster.sync();
    if (threadIdx.x == 1) out[blockIdx.x] = *cluster.map_shared_rank(&here, cluster.num_blocks() - 1 - cluster.block_rank());
    cluster.sync();
}
)";

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

gpo_launch shape_of(uint32_t blocks, uint32_t threads, uint32_t cluster) {
    auto launch = sized<gpo_launch>();
    launch.grid[0] = blocks;
    launch.block[0] = threads;
    launch.cluster[0] = cluster;
    return launch;
}

/// A GPU, if it has clusters and its kernels can include cooperative_groups.h.
struct Clusters {
    Clusters() {
        auto properties = sized<gpo_device_properties>();
        REQUIRE_OK(gpo_device_get_properties(gpu.device, &properties));
        if (!properties.cluster_launch) skip("this device has no clusters");
        else if (!gpu.has_header("cooperative_groups.h")) skip("cooperative_groups.h is not where NVRTC is");
        else present = true;
        stream = gpu.stream();
    }
    template <class... Arguments>
    gpo_status put(const char* name, const gpo_launch& shape, const Arguments&... arguments) {
        const void* pointers[] = {&arguments...};
        const uint32_t sizes[] = {sizeof arguments...};
        return gpo_stream_launch_kernel(stream, gpu.kernel(kKernels, name), &shape, pointers, sizes,
                                        sizeof...(Arguments));
    }
    void wait() { REQUIRE_OK(gpo_stream_wait(stream, kPatience)); }

    Gpu gpu;
    Stream stream;
    bool present = false;
};

}  // namespace

TEST_CASE("a block knows its place in its cluster, and the cluster's in the grid") {
    Clusters clusters;
    if (!clusters.present) return;
    auto shape = shape_of(6, 32, 3);
    shape.grid[1] = 4, shape.grid[2] = 2, shape.block[1] = 2;
    shape.cluster[1] = 1, shape.cluster[2] = 2;
    auto out = clusters.gpu.pinned<uint32_t>(16 * 48);
    REQUIRE_OK(clusters.put("places", shape, out.data()));
    clusters.wait();
    for (uint32_t z = 0; z < 2; ++z)
        for (uint32_t y = 0; y < 4; ++y)
            for (uint32_t x = 0; x < 6; ++x) {
                const uint32_t* mine = &out[16 * ((z * 4 + y) * 6 + x)];
                const uint32_t rank = z * 3 + x % 3;
                CAPTURE(x);
                CAPTURE(y);
                CAPTURE(z);
                const std::vector<uint32_t> expected = {
                    rank, 6, x % 3, 0, z, 3, 1, 2, rank * 64 + 63, 6 * 64, 8, y * 2 + x / 3, rank == 0 ? 6u * 64 : 0u,
                    5};
                CHECK(std::vector<uint32_t>(mine, mine + 14) == expected);
            }
}

TEST_CASE("without a cluster a block is one by itself") {
    Clusters clusters;
    if (!clusters.present) return;
    auto out = clusters.gpu.pinned<uint32_t>(16 * 3);
    REQUIRE_OK(clusters.put("places", shape_of(3, 48, 0), out.data()));
    clusters.wait();
    for (uint32_t x = 0; x < 3; ++x) {
        const std::vector<uint32_t> expected = {0, 1, 0, 0, 0, 1, 1, 1, 47, 48, 3, x, 48, 0};
        CHECK(std::vector<uint32_t>(&out[16 * x], &out[16 * x] + 14) == expected);
    }
}

TEST_CASE("a histogram is spread over the shared memory of a cluster's blocks") {
    Clusters clusters;
    if (!clusters.present) return;
    constexpr uint32_t n = 200'000, bins = 240;
    auto data = clusters.gpu.pinned<uint8_t>(n);
    for (uint32_t i = 0; i < n; ++i) data[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
    std::vector<uint32_t> expected(bins, 0);
    for (const uint8_t byte : data) ++expected[byte % bins];
    for (const uint32_t size : {1u, 2u, 4u, 8u}) {
        CAPTURE(size);
        auto counts = clusters.gpu.pinned<uint32_t>(bins);
        auto shape = shape_of(16, 128, size);
        shape.dynamic_shared_bytes = bins / size * 4;
        REQUIRE_OK(clusters.put("histogram", shape, counts.data(), bins, data.data(), n));
        clusters.wait();
        CHECK(std::vector<uint32_t>(counts.begin(), counts.end()) == expected);
    }
}

TEST_CASE("a kernel that says how large its clusters are gets them, and no others") {
    Clusters clusters;
    if (!clusters.present) return;
    auto x = clusters.gpu.pinned<uint32_t>(16 * 128);
    std::iota(x.begin(), x.end(), 1u);
    auto sums = clusters.gpu.pinned<uint64_t>(4);
    REQUIRE_OK(clusters.put("reduce_of_four", shape_of(16, 128, 0), sums.data(), x.data()));
    clusters.wait();
    for (uint64_t c = 0; c < 4; ++c) CHECK(sums[c] == 512 * (c * 512) + 512 * 513 / 2);
    std::memset(sums.data(), 0, sums.bytes());
    REQUIRE_OK(clusters.put("reduce_of_four", shape_of(8, 128, 4), sums.data(), x.data()));
    clusters.wait();
    CHECK(sums[1] == 512 * 512 + 512 * 513 / 2);
    CHECK(sums[2] == 0);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, clusters.put("reduce_of_four", shape_of(8, 128, 2), sums.data(), x.data()));
    CHECK(contains(last_error().message, "reduce_of_four"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, clusters.put("reduce_of_four", shape_of(6, 128, 0), sums.data(), x.data()));
    CHECK(contains(last_error().message, "reduce_of_four"));
    CHECK_OK(gpo_stream_query(clusters.stream));
}

TEST_CASE("blocks of a cluster pass a token round, and never run ahead of its barrier") {
    Clusters clusters;
    if (!clusters.present) return;
    auto out = clusters.gpu.pinned<uint32_t>(48);
    constexpr uint32_t rounds = 100;
    for (const uint32_t size : {2u, 3u, 8u}) {
        CAPTURE(size);
        REQUIRE_OK(clusters.put("ring", shape_of(48, 65, size), out.data(), rounds));
        clusters.wait();
        for (uint32_t block = 0; block < 48; ++block)
            CHECK(out[block] == (block % size + size * rounds - rounds) % size + rounds);
    }
}

TEST_CASE("a cluster's barrier doesn't wait for threads that have ended") {
    Clusters clusters;
    if (!clusters.present) return;
    auto out = clusters.gpu.pinned<uint32_t>(8);
    REQUIRE_OK(clusters.put("leavers", shape_of(8, 64, 4), out.data()));
    clusters.wait();
    for (uint32_t block = 0; block < 8; ++block) CHECK(out[block] == 100 + 3 - block % 4);
}
