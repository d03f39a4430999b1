// Forward progress: blocks that spin on other blocks, other kernels and the host; cooperative grids; ends that are
// asked for.
#include "kernel_device.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace kernel_test;

namespace {

const Program& program() {
    static const Program compiled(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// A barrier of the whole grid, as it is written by hand.
__device__ unsigned arrived;
__device__ volatile unsigned generation;
extern "C" __global__ void grid_spin(int *cells, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        cells[blockIdx.x] += 1;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned seen = generation;
            if (atomicAdd(&arrived, 1) == gridDim.x - 1) { arrived = 0; __threadfence(); generation = seen + 1; }
            else while (generation == seen);
        }
        __syncthreads();
        if (cells[(blockIdx.x + 1) % gridDim.x] < (int)(round + 1) * (int)blockDim.x) atomicExch(&cells[gridDim.x], 1);
    }
}

extern "C" __global__ void grid_sync(int *cells, int rounds) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    for (int round = 1; round <= rounds; ++round) {
        if (block.thread_rank() == 0) cells[blockIdx.x] = round;
        grid.sync();
        if (cells[(blockIdx.x + 1) % gridDim.x] != round) cells[gridDim.x] = 1;
        cg::sync(grid);
    }
}

// Block 0 produces, the others consume, in any order of start.
extern "C" __global__ void pipe(volatile int *slot, volatile int *full, int *out, int items) {
    if (blockIdx.x == gridDim.x - 1) {
        for (int i = 0; i < items; ++i) {
            while (*full != 0) {}
            *slot = i * i;
            __threadfence();
            *full = 1;
        }
    } else if (blockIdx.x == 0) {
        for (int i = 0; i < items; ++i) {
            while (*full == 0);
            __threadfence();
            out[i] = *slot;
            *full = 0;
        }
    }
}

extern "C" __global__ void until(volatile int *flag, int *seen) {
    while (!*flag) { }
    atomicAdd(seen, 1);
}
extern "C" __global__ void set(int *flag) { *(volatile int *)flag = 1; }

// Threads of one warp that take turns with a lock.
__device__ int lock_word;
extern "C" __global__ void locked(int *counter) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock_word, 0, 1) == 0) {
            *(volatile int *)counter = *(volatile int *)counter + 1;
            __threadfence();
            atomicExch(&lock_word, 0);
            done = true;
        }
    }
}
extern "C" __global__ void spinlock(int *counter) {
    while (atomicCAS(&lock_word, 0, 1) != 0);
    *counter += 1;
    __threadfence();
    atomicExch(&lock_word, 0);
}
// Blocks of a cluster pass numbers on through each other's shared memory; one of them may fail.
extern "C" __global__ void cluster_ring(int *out, int rounds, int failing) {
    __shared__ int box[2];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    if (threadIdx.x == 0) box[0] = 0;
    cluster.sync();
    for (int round = 0; round < rounds; ++round) {
        if ((int)blockIdx.x == failing && round == rounds / 2 && threadIdx.x == 1) __trap();
        if (threadIdx.x == 0) cluster.map_shared_rank(box, next)[(round + 1) & 1] = box[round & 1] + 1;
        cluster.sync();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = box[rounds & 1];
}
// Everybody adds to one number in the first block's shared memory, that block too.
extern "C" __global__ void cluster_add(unsigned *out, int times) {
    __shared__ unsigned sum;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    cluster.sync();
    unsigned *there = cluster.map_shared_rank(&sum, 0);
    for (int i = 0; i < times; ++i) atomicAdd(there, 1);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) out[blockIdx.x / cluster.num_blocks()] = sum;
}
extern "C" __global__ void lonely() { if (threadIdx.x == 0) { __syncwarp(3u); } else { __syncthreads(); } }
)");
    return compiled;
}

}  // namespace

TEST_CASE("a barrier of the whole grid that spins in device memory passes") {
    Device device;
    for (const unsigned blocks : {2u, 7u, 64u}) {
        std::vector<int> cells(blocks + 1);
        device.run(program().kernel("grid_spin"), {{blocks, 1, 1}, {1, 1, 1}}, cells.data(), 20);
        for (unsigned i = 0; i < blocks; ++i) CHECK(cells[i] == 20);
        CHECK(cells[blocks] == 0);
    }
}

TEST_CASE("a cooperative grid meets at grid.sync()") {
    Device device;
    std::vector<int> cells(33);
    device.run(program().kernel("grid_sync"), {{32, 1, 1}, {64, 1, 1}, 0, true}, cells.data(), 10);
    for (unsigned i = 0; i < 32; ++i) CHECK(cells[i] == 10);
    CHECK(cells[32] == 0);
}

TEST_CASE("blocks of a cluster run together, on one worker and on more, and with a whole grid that does") {
    for (const unsigned workers : {1u, 2u, 5u})
        for (const bool cooperative : {false, true}) {
            Device device(workers);
            std::vector<int> out(48);
            device.run(program().kernel("cluster_ring"), {{12, 4, 1}, {40, 1, 1}, 0, cooperative, {2, 4, 1}}, out.data(), 50, -1);
            for (unsigned i = 0; i < 12; ++i) CHECK(out[i] == 50);
        }
}

TEST_CASE("atomics of several blocks on the shared memory of one lose nothing") {
    Device device(4);
    std::vector<unsigned> out(4);
    device.run(program().kernel("cluster_add"), {{32, 1, 1}, {64, 1, 1}, 0, false, {8, 1, 1}}, out.data(), 200);
    for (const unsigned sum : out) CHECK(sum == 8 * 64 * 200);
}

TEST_CASE("a block that fails ends its cluster, and the regions serve the next one") {
    for (const unsigned workers : {1u, 3u}) {
        Device device(workers);
        std::vector<int> out(16);
        for (int failing = 0; failing < 8; ++failing) {
            const KernelOutcome outcome =
                device.launch(program().kernel("cluster_ring"), {{16, 1, 1}, {64, 1, 1}, 0, false, {8, 1, 1}}, out.data(), 9, failing)->wait();
            CHECK(outcome.result == CUDA_ERROR_LAUNCH_FAILED);
        }
        device.run(program().kernel("cluster_ring"), {{16, 1, 1}, {64, 1, 1}, 0, false, {8, 1, 1}}, out.data(), 7, -1);
        for (const int value : out) CHECK(value == 7);
    }
}

TEST_CASE("a consumer block gets what a producer block writes, on one worker and on more") {
    for (const unsigned workers : {1u, 3u}) {
        Device device(workers);
        int slot = 0, full = 0;
        std::vector<int> out(100);
        device.run(program().kernel("pipe"), {{5, 1, 1}, {1, 1, 1}}, &slot, &full, out.data(), 100);
        for (int i = 0; i < 100; ++i) CHECK(out[i] == i * i);
    }
}

TEST_CASE("a kernel that waits for the host ends when the host writes") {
    Device device;
    int flag = 0, seen = 0;
    auto pending = device.launch(program().kernel("until"), {{4, 1, 1}, {64, 1, 1}}, &flag, &seen);
    CHECK_FALSE(pending->done());
    std::atomic_ref<int>(flag).store(1);
    CHECK(pending->wait().result == CUDA_SUCCESS);
    CHECK(seen == 256);
}

TEST_CASE("a kernel that waits for a later kernel ends, even on one worker") {
    Device device(1);
    int flag = 0, seen = 0;
    auto waiting = device.launch(program().kernel("until"), {{3, 1, 1}, {96, 1, 1}}, &flag, &seen);
    device.run(program().kernel("set"), {}, &flag);
    CHECK(waiting->wait().result == CUDA_SUCCESS);
    CHECK(seen == 288);
}

TEST_CASE("threads that spin for a lock get it one after the other") {
    Device device;
    int counter = 0;
    device.run(program().kernel("locked"), {{4, 1, 1}, {64, 1, 1}}, &counter);
    CHECK(counter == 256);
    device.run(program().kernel("spinlock"), {{4, 1, 1}, {64, 1, 1}}, &counter);
    CHECK(counter == 512);
}

TEST_CASE("a lost device ends what spins and what is stuck, and what comes later runs") {
    Device device;
    int flag = 0, seen = 0;
    auto spinning = device.launch(program().kernel("until"), {{4, 1, 1}, {64, 1, 1}}, &flag, &seen);
    auto stuck = device.launch(program().kernel("lonely"), {{1, 1, 1}, {2, 1, 1}});
    device.executor->stop_all(CUDA_ERROR_LAUNCH_FAILED);
    CHECK(spinning->wait().result == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(stuck->wait().result == CUDA_ERROR_LAUNCH_FAILED);
    device.run(program().kernel("set"), {}, &flag);
    CHECK(flag == 1);
}

TEST_CASE("closing a device ends what spins") {
    int flag = 0, seen = 0;
    std::shared_ptr<Pending> spinning;
    {
        Device device;
        spinning = device.launch(program().kernel("until"), {{40, 1, 1}, {64, 1, 1}}, &flag, &seen);
    }
    CHECK(spinning->wait().result == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}
