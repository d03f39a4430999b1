// Cooperative groups: tiles of tiles, tiles of several warps, groups of coalesced threads and their parts, what one
// thread does for its group, barriers in two steps.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kKernels[] = R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

template <class Group> __device__ unsigned *note(unsigned *at, const Group &group) {
    at[0] = group.meta_group_rank();
    at[1] = group.meta_group_size();
    at[2] = group.thread_rank();
    at[3] = group.size();
    return at + 4;
}
extern "C" __global__ void nested(unsigned *out) {
    const cg::thread_block block = cg::this_thread_block();
    out += block.thread_rank() * 44;
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(warp);
    auto two = cg::tiled_partition<2>(eight);
    out = note(out, warp);
    out = note(out, eight);
    out = note(out, two);
    out = note(out, cg::tiled_partition<4>(block));
    cg::thread_block_tile<8> plain = eight;
    out = note(out, plain);
    out = note(out, cg::tiled_partition<4>(plain));
    out = note(out, cg::this_thread());
    out = note(out, cg::labeled_partition(warp, block.thread_rank() / 3 % 4));
    out = note(out, cg::binary_partition(eight, block.thread_rank() % 3 == 0));
    out = note(out, cg::binary_partition(eight, block.thread_rank() < 32));
    using Two = decltype(two);
    out[0] = Two::meta_group_rank(); out[1] = Two::meta_group_size(); out[2] = Two::thread_rank(); out[3] = Two::size();
}
extern "C" __global__ void coalesced(unsigned *out) {
    const unsigned lane = threadIdx.x % 32;
    out += threadIdx.x * 20;
    if (lane % 3 == 0) return;
    const cg::coalesced_group all = cg::coalesced_threads();      // 21 of 32
    const cg::coalesced_group fours = cg::tiled_partition(all, 4);
    out = note(out, all);
    out = note(out, fours);
    out = note(out, cg::tiled_partition(fours, 2));
    out = note(out, cg::tiled_partition(fours, 16));              // as large as it is already
    out = note(out, cg::labeled_partition(fours, (int)(lane % 2)));
}

struct Big { double a; int b[4]; };
extern "C" __global__ void large(double *out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int lane = (int)warp.thread_rank();
    const Big mine = {lane + 0.5, {lane, lane * 2, lane * 3, lane * 4}};
    Big got = warp.shfl(mine, 7);
    out[lane * 6] = got.a + got.b[3];
    got = warp.shfl_up(mine, 1);
    out[lane * 6 + 1] = got.a + got.b[0];
    got = warp.shfl_down(mine, 2);
    out[lane * 6 + 2] = got.a + got.b[1];
    got = warp.shfl_xor(mine, 4);
    out[lane * 6 + 3] = got.a + got.b[2];
    out[lane * 6 + 4] = out[lane * 6 + 5] = -1;
    if (lane % 2 == 0) return;
    const cg::coalesced_group odd = cg::coalesced_threads();
    got = odd.shfl(mine, 3);
    out[lane * 6 + 4] = got.a + got.b[3];
    got = odd.shfl_down(mine, 1);
    out[lane * 6 + 5] = got.a + got.b[3];
}

template <unsigned Size> __device__ void many(const cg::thread_block &block, int *out) {
    __shared__ int slots[1024];
    auto tile = cg::tiled_partition<Size>(block);
    const int rank = (int)tile.thread_rank(), number = (int)block.thread_rank();
    // Tiles meet at their own barriers a different number of times, and see what was written before each.
    int sum = 0;
    for (unsigned turn = 0; turn < 3 + tile.meta_group_rank(); ++turn) {
        slots[number] = number + (int)turn;
        tile.sync();
        sum += slots[number - rank + (rank + 33) % (int)Size];
        tile.sync();
    }
    out += number * 16;
    out[0] = sum;
    out[1] = (int)tile.meta_group_rank();
    out[2] = (int)tile.meta_group_size();
    out[3] = tile.shfl(number, Size - 3);
    out[4] = tile.any(rank == (int)Size - 1) + 2 * tile.any(rank < 0) + 4 * tile.all(rank >= 0) + 8 * tile.all(rank != 40);
    out[5] = cg::reduce(tile, number, cg::plus<int>());
    out[6] = cg::reduce(tile, (rank * 7) % 61, cg::greater<int>());
    out[7] = cg::inclusive_scan(tile, rank);
    out[8] = cg::exclusive_scan(tile, rank % 5, cg::plus<int>());
    auto warp = cg::tiled_partition<32>(tile);
    out[9] = (int)warp.meta_group_rank();
    out[10] = (int)warp.meta_group_size();
    cg::thread_block_tile<Size> plain = tile;
    plain.sync();
    out[11] = (int)(plain.meta_group_rank() + plain.meta_group_size() * 100 + plain.num_threads() * 10000);
    out[12] = cg::invoke_one_broadcast(tile, [&](int x) { return x + number - rank; }, 5);
}
template <unsigned Size> __global__ void of_warps(int *out) {
    __shared__ cg::block_tile_memory<1024> memory;
    many<Size>(cg::this_thread_block(memory), out);
}
extern "C" __global__ void nested_warps(int *out) {
    __shared__ cg::block_tile_memory<256> memory;
    auto outer = cg::tiled_partition<128>(cg::this_thread_block(memory));
    auto inner = cg::tiled_partition<64>(outer);
    out += threadIdx.x * 3;
    out[0] = (int)inner.meta_group_rank();
    out[1] = (int)inner.meta_group_size();
    out[2] = cg::reduce(inner, (int)threadIdx.x, cg::less<int>());
}

extern "C" __global__ void one_for_all(int *counts, int *out) {
    auto block = cg::this_thread_block();
    auto eight = cg::tiled_partition<8>(block);
    cg::invoke_one(block, [&] { atomicAdd(&counts[0], 1); });
    cg::invoke_one(eight, [&](int n) { atomicAdd(&counts[1], n); }, 10);
    const int ticket = cg::invoke_one_broadcast(eight, [&](int *counter, int n) { return atomicAdd(counter, n); }, counts + 2, 8);
    out[ticket + eight.thread_rank()] = (int)block.thread_rank();
    if (threadIdx.x % 4 == 0) {
        auto some = cg::coalesced_threads();
        cg::invoke_one(some, [&] { atomicAdd(&counts[3], (int)some.size()); });
        const int got = cg::invoke_one_broadcast(some, [&] { return atomicAdd(&counts[4], 1); });
        if (some.thread_rank() != 0 && got >= 0) atomicAdd(&counts[5], 1);
    }
}

// Between its arrival and its wait, the first block needs what another block does behind the barrier: only arriving may not wait.
extern "C" __global__ void in_two_steps(int *slots, volatile int *flag, int *out) {
    auto grid = cg::this_grid();
    auto block = cg::this_thread_block();
    for (int turn = 1; turn <= 3; ++turn) {
        slots[grid.thread_rank()] = turn * 1000 + (int)grid.thread_rank();
        auto token = grid.barrier_arrive();
        if (blockIdx.x == 0 && threadIdx.x == 0)
            while (*flag != turn) ;
        if (blockIdx.x == 0) grid.barrier_wait(static_cast<decltype(token) &&>(token));
        else {
            grid.barrier_wait(static_cast<decltype(token) &&>(token));
            if (blockIdx.x == 1 && threadIdx.x == 0) *flag = turn;
        }
        out[grid.thread_rank()] += slots[(grid.thread_rank() + blockDim.x) % grid.num_threads()];
        auto own = block.barrier_arrive();
        block.barrier_wait(static_cast<decltype(own) &&>(own));
        grid.sync();
    }
}
)";

using Note = std::array<unsigned, 4>;   // meta_group_rank, meta_group_size, thread_rank, size

void check_nested_tiles(Program& program) {
    constexpr unsigned kThreads = 96;
    std::vector<unsigned> out(kThreads * 44);
    program.run("nested", shape_of(1, {48, 2}), out);
    for (unsigned t = 0; t < kThreads; ++t) {
        CAPTURE(t);
        const unsigned lane = t % 32, label = t / 3 % 4;
        std::array<unsigned, 4> first{32, 32, 32, 32}, count{};   // of the labels in this warp
        unsigned before = 0, thirds = 0, thirds_before = 0;
        for (unsigned other = t - lane; other < t - lane + 32; ++other) {
            const unsigned its = other / 3 % 4;
            if (count[its]++ == 0) first[its] = other % 32;
            before += its == label && other < t;
        }
        for (unsigned other = t / 8 * 8; other < t / 8 * 8 + 8; ++other) {
            thirds += other % 3 == 0;
            thirds_before += (other % 3 == 0) == (t % 3 == 0) && other < t;
        }
        unsigned labels_before = 0;
        for (const unsigned lead : first) labels_before += lead < first[label];
        const bool third = t % 3 == 0;
        const std::array<Note, 11> expected = {{{t / 32, 3, lane, 32},
                                                {lane / 8, 4, t % 8, 8},
                                                {t % 8 / 2, 4, t % 2, 2},
                                                {t / 4, 24, t % 4, 4},
                                                {lane / 8, 4, t % 8, 8},
                                                {t % 8 / 4, 2, t % 4, 4},
                                                {0, 1, 0, 1},
                                                {labels_before, 4, before, count[label]},
                                                {third, 2, thirds_before, third ? thirds : 8 - thirds},
                                                {0, 1, t % 8, 8},
                                                {t % 8 / 2, 4, t % 2, 2}}};
        for (size_t i = 0; i < expected.size(); ++i) {
            CAPTURE(i);
            Note got;
            std::copy_n(out.begin() + static_cast<long>(t * 44 + i * 4), 4, got.begin());
            CHECK(got == expected[i]);
        }
    }
}

void check_coalesced_groups(Program& program) {
    std::vector<unsigned> some(64 * 20);
    program.run("coalesced", shape_of(1, 64), some);
    for (unsigned t = 0; t < 64; ++t) {
        const unsigned lane = t % 32;
        if (lane % 3 == 0) continue;
        CAPTURE(t);
        unsigned rank = 0;
        for (unsigned other = 0; other < lane; ++other) rank += other % 3 != 0;
        const unsigned tile = rank / 4, size = tile == 5 ? 1 : 4, within = rank % 4;   // 21 = 5 * 4 + 1
        // The lanes are 1 2 4 5, 7 8 10 11, …: in each tile two are odd and two even, and the first lane may be either.
        const auto lane_of = [](unsigned number) { return number / 2 * 3 + number % 2 + 1; };
        const unsigned parity = lane % 2, lead = lane_of(tile * 4) % 2;
        unsigned same = 0, before = 0;
        for (unsigned other = tile * 4; other < tile * 4 + size; ++other) {
            same += lane_of(other) % 2 == parity;
            before += lane_of(other) % 2 == parity && other < rank;
        }
        const std::array<Note, 5> expected = {{{0, 1, rank, 21},
                                               {tile, 6, within, size},
                                               size == 1 ? Note{tile, 6, 0, 1} : Note{within / 2, 2, within % 2, 2},
                                               {tile, 6, within, size},
                                               {parity == lead ? 0u : 1u, size == 1 ? 1u : 2u, before, same}}};
        for (size_t i = 0; i < expected.size(); ++i) {
            CAPTURE(i);
            Note got;
            std::copy_n(some.begin() + static_cast<long>(t * 20 + i * 4), 4, got.begin());
            CHECK(got == expected[i]);
        }
    }
}

/// Shuffles of 24 bytes.
void check_large_shuffles(Program& program) {
    std::vector<double> moved(32 * 6);
    program.run("large", shape_of(1, 32), moved);
    for (int lane = 0; lane < 32; ++lane) {
        CAPTURE(lane);
        const double* got = moved.data() + lane * 6;
        const int up = lane == 0 ? 0 : lane - 1, down = lane + 2 < 32 ? lane + 2 : lane, crossed = lane ^ 4;
        CHECK(got[0] == 7.5 + 28);
        CHECK(got[1] == up + 0.5 + up);
        CHECK(got[2] == down + 0.5 + down * 2);
        CHECK(got[3] == crossed + 0.5 + crossed * 3);
        const int next = lane == 31 ? 31 : lane + 2;
        CHECK(got[4] == (lane % 2 == 0 ? -1 : 7.5 + 28));
        CHECK(got[5] == (lane % 2 == 0 ? -1 : next + 0.5 + next * 4));
    }
}

void check_one_for_all(Program& program) {
    std::vector<int> counts(6, 0), served(64 * 2, -1);
    program.run("one_for_all", shape_of(2, 64), counts, served);
    CHECK(counts[0] == 2);
    CHECK(counts[1] == 160);
    CHECK(counts[2] == 128);
    CHECK(counts[3] == 32);
    CHECK(counts[4] == 4);
    CHECK(counts[5] == 28);
    for (size_t i = 0; i < served.size(); i += 8)
        for (int j = 0; j < 8; ++j) CHECK(served[i + static_cast<size_t>(j)] == served[i] + j);
}

}  // namespace

TEST_CASE("a tile of a tile is counted within its parent, whatever its parent is") {
    Program program(kKernels, {"of_warps<64>"});
    if (!program.present) return;
    check_nested_tiles(program);
    check_coalesced_groups(program);
    check_large_shuffles(program);
    check_one_for_all(program);
}

template <unsigned Size>
static void check_tiles(Program& program, const char* name, unsigned threads) {
    std::vector<int> out(threads * 16);
    program.run(name, shape_of(1, threads), out);
    constexpr int kSize = Size;
    for (int t = 0; t < static_cast<int>(threads); ++t) {
        CAPTURE(t);
        const int* got = out.data() + t * 16;
        const int tile = t / kSize, rank = t % kSize, base = t - rank, tiles = static_cast<int>(threads) / kSize;
        int sum = 0, most = 0, before = 0;
        for (int turn = 0; turn < 3 + tile; ++turn) sum += base + (rank + 33) % kSize + turn;
        for (int r = 0; r < kSize; ++r) most = std::max(most, r * 7 % 61);
        for (int r = 0; r < rank; ++r) before += r % 5;
        CHECK(got[0] == sum);
        CHECK(got[1] == tile);
        CHECK(got[2] == tiles);
        CHECK(got[3] == base + kSize - 3);
        CHECK(got[4] == 1 + 4);
        CHECK(got[5] == base * kSize + kSize * (kSize - 1) / 2);
        CHECK(got[6] == most);
        CHECK(got[7] == rank * (rank + 1) / 2);
        CHECK(got[8] == before);
        CHECK(got[9] == rank / 32);
        CHECK(got[10] == kSize / 32);
        CHECK(got[11] == tile + tiles * 100 + kSize * 10000);
        CHECK(got[12] == 5 + base);
    }
}

TEST_CASE("tiles of several warps meet, shuffle, vote, reduce and scan") {
    Program program(kKernels, {"of_warps<64>", "of_warps<256>", "of_warps<512>"});
    if (!program.present) return;
    check_tiles<64>(program, "of_warps<64>", 256);
    check_tiles<256>(program, "of_warps<256>", 1024);
    check_tiles<512>(program, "of_warps<512>", 512);
    std::vector<int> out(256 * 3);
    program.run("nested_warps", shape_of(1, 256), out);
    for (int t = 0; t < 256; ++t) {
        CAPTURE(t);
        const int* got = out.data() + t * 3;
        CHECK(got[0] == t % 128 / 64);
        CHECK(got[1] == 2);
        CHECK(got[2] == t / 64 * 64);
    }
    std::vector<int> slots(2 * 64), flag(1), sums(2 * 64);
    gpo_launch cooperative = shape_of(2, 64);
    cooperative.flags = GPO_LAUNCH_COOPERATIVE;
    program.run("in_two_steps", cooperative, slots, flag, sums);
    for (int t = 0; t < 128; ++t) CHECK(sums[static_cast<size_t>(t)] == 6000 + 3 * ((t + 64) % 128));
}
