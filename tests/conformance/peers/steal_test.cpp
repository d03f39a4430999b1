// Ranges of numbers that the kernels of a group share (gpuorch/device/steal.cuh). In each launch, every number is
// handed out exactly once, to any rank.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/peers/symmetric_rig.h"

using namespace gpo::test;

namespace {

const char kKernels[] = R"(
#include <gpuorch/device/steal.cuh>

__device__ void work(unsigned long long turns) {
    const unsigned long long begin = gpo::atomic::now();
    while (gpo::atomic::now() - begin < turns) gpo::atomic::pause(100);
}

// Counts in seen[i] how often this rank gets number i. `slow`: nanoseconds that a number takes.
extern "C" __global__ void by_threads(gpo::symmetric memory, unsigned long long count, unsigned long long batch,
                                      unsigned *seen, unsigned long long slow, unsigned *wrong) {
    gpo::thread_steal mine(gpo::shared_numbers(memory, 128, count, batch));
    unsigned long long first, last;
    int status;
    while ((status = mine.next(first, last)) == gpo::peer_success) {
        if (first >= last || last - first > batch || last > count || first % batch) atomicAdd(wrong, 1u);
        for (unsigned long long i = first; i < last; ++i) atomicAdd(&seen[i], 1u);
        if (slow) work(slow);
    }
    if (status != gpo::peer_end || mine.next(first, last) != gpo::peer_end) atomicAdd(wrong, 1u);
}

extern "C" __global__ void by_warps(gpo::symmetric memory, unsigned long long count, unsigned long long batch,
                                    unsigned *seen, unsigned long long slow, unsigned *wrong) {
    gpo::warp_steal mine(gpo::shared_numbers(memory, 128, count, batch));
    unsigned long long first, last;
    int status;
    while ((status = mine.next(first, last)) == gpo::peer_success) {
        if (first >= last || last - first > batch || last > count || first % batch) atomicAdd(wrong, 1u);
        if (threadIdx.x % 32 == 0)
            for (unsigned long long i = first; i < last; ++i) atomicAdd(&seen[i], 1u);
        if (slow) work(slow);
    }
    if (status != gpo::peer_end || mine.next(first, last) != gpo::peer_end) atomicAdd(wrong, 1u);
}

extern "C" __global__ void by_blocks(gpo::symmetric memory, unsigned long long count, unsigned long long batch,
                                     unsigned *seen, unsigned long long slow, unsigned *wrong) {
    __shared__ gpo::block_steal_memory shared;
    gpo::block_steal mine(gpo::shared_numbers(memory, 128, count, batch), shared);
    unsigned long long first, last;
    int status;
    while ((status = mine.next(first, last)) == gpo::peer_success) {
        if (first >= last || last - first > batch || last > count || first % batch) atomicAdd(wrong, 1u);
        for (unsigned long long i = first + threadIdx.x; i < last; i += blockDim.x) atomicAdd(&seen[i], 1u);
        if (slow) work(slow);
    }
    if (status != gpo::peer_end || mine.next(first, last) != gpo::peer_end) atomicAdd(wrong, 1u);
}

// Only warp 1 of each block takes part.
extern "C" __global__ void by_some(gpo::symmetric memory, unsigned long long count, unsigned long long batch,
                                   unsigned *seen, unsigned long long slow, unsigned *wrong) {
    if (threadIdx.x / 32 != 1) return;
    gpo::shared_numbers numbers(memory, 128, count, batch);
    numbers.workers = gridDim.x;
    gpo::warp_steal mine(numbers);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::peer_success)
        if (threadIdx.x % 32 == 0)
            for (unsigned long long i = first; i < last; ++i) atomicAdd(&seen[i], 1u);
}

// The worker that gets number `stop_at` ends the range for all workers.
extern "C" __global__ void until(gpo::symmetric memory, unsigned long long count, unsigned long long batch,
                                 unsigned *seen, unsigned long long stop_at, unsigned *wrong) {
    gpo::warp_steal mine(gpo::shared_numbers(memory, 128, count, batch));
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::peer_success) {
        if (threadIdx.x % 32 == 0)
            for (unsigned long long i = first; i < last; ++i) atomicAdd(&seen[i], 1u);
        if (first <= stop_at && stop_at < last) {
            mine.stop();
            if (mine.next(first, last) != gpo::peer_end) atomicAdd(wrong, 1u);
            return;
        }
    }
}

// Like `until`, with blocks as workers.
extern "C" __global__ void until_by_blocks(gpo::symmetric memory, unsigned long long count, unsigned long long batch,
                                           unsigned *seen, unsigned long long stop_at, unsigned *wrong) {
    __shared__ gpo::block_steal_memory shared;
    gpo::block_steal mine(gpo::shared_numbers(memory, 128, count, batch), shared);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::peer_success) {
        for (unsigned long long i = first + threadIdx.x; i < last; i += blockDim.x) atomicAdd(&seen[i], 1u);
        if (first <= stop_at && stop_at < last) {
            mine.stop();
            if (mine.next(first, last) != gpo::peer_end) atomicAdd(wrong, 1u);
            return;
        }
    }
}

// The first thread ends the range before any other has begun, if `stops`.
extern "C" __global__ void stopped(gpo::symmetric memory, unsigned long long count, unsigned long long batch,
                                   unsigned *seen, unsigned long long stops, unsigned *wrong) {
    gpo::thread_steal mine(gpo::shared_numbers(memory, 128, count, batch));
    if (stops && threadIdx.x == 0) mine.stop();
    __syncthreads();
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::peer_success)
        for (unsigned long long i = first; i < last; ++i) atomicAdd(&seen[i], 1u);
    if (mine.next(first, last) != gpo::peer_end) atomicAdd(wrong, 1u);
    mine.stop();
}

extern "C" __global__ void misuse(gpo::symmetric memory, int *statuses) {
    unsigned long long first, last;
    gpo::symmetric none = memory;
    none.version = 1;
    gpo::thread_steal odd(gpo::shared_numbers(memory, 64, 10, 1)), behind(gpo::shared_numbers(memory, 256, 10, 1)),
        no_batch(gpo::shared_numbers(memory, 0, 10, 0)), huge(gpo::shared_numbers(memory, 0, 1ull << 63, 1)),
        nothing(gpo::shared_numbers(none, 0, 10, 1));
    statuses[0] = odd.next(first, last);
    statuses[1] = behind.next(first, last);
    statuses[2] = no_batch.next(first, last);
    statuses[3] = huge.next(first, last);
    statuses[4] = nothing.next(first, last);
    odd.stop();
    nothing.stop();
}
)";

class StealRig : public SymmetricRig {
public:
    static constexpr uint64_t kBytes = 128 + GPO_STEAL_BYTES;
    Symmetric memory = symmetric(kBytes, "range");
    std::vector<RankMemory> wrong = buffers(4);

    StealRig() {
        for (uint32_t rank = 0; rank < ranks; ++rank) REQUIRE_OK(gpo_fill(streams[rank], wrong[rank], 0, 4, 1));
    }

    /// Checks that each number was handed out `times` times, and that the range's memory is zero again. Returns the
    /// number of numbers that each rank got.
    std::vector<uint64_t> check_all(const std::vector<RankMemory>& seen, uint64_t count, uint32_t times) {
        wait_all();   // other ranks may still run when one rank is done
        std::vector<uint64_t> shares;
        std::vector<uint32_t> sum(count);
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            const auto own = read<uint32_t>(seen, rank, count);
            shares.push_back(std::accumulate(own.begin(), own.end(), uint64_t{0}));
            for (uint64_t i = 0; i < count; ++i) sum[i] += own[i];
            CHECK(read<uint32_t>(wrong, rank, 1)[0] == 0);
            CHECK(values<uint8_t>(memory, rank, kBytes) == std::vector<uint8_t>(kBytes));
        }
        CHECK(std::count(sum.begin(), sum.end(), times) == static_cast<std::ptrdiff_t>(count));
        return shares;
    }
    std::vector<RankMemory> counters(uint64_t count) {
        auto out = buffers(4 * count);
        for (uint32_t rank = 0; rank < ranks; ++rank)
            if (count) REQUIRE_OK(gpo_fill(streams[rank], out[rank], 0, 4, count));
        return out;
    }
    template <class SlowOf>
    void run(const std::vector<Kernel>& kernel, uint32_t blocks, uint32_t threads, uint64_t count, uint64_t batch,
             const std::vector<RankMemory>& seen, SlowOf slow_of) {
        REQUIRE_OK(launch(kernel, blocks, threads, [&](uint32_t rank) {
            return std::tuple(row(memory, rank), count, batch, uint64_t{seen[rank]},
                              static_cast<uint64_t>(slow_of(rank)), uint64_t{wrong[rank]});
        }));
    }
    bool can() {
        if (info().native_atomics) return true;
        skip("the links have no native atomics");
        return false;
    }
};

const auto kNoneSlow = [](uint32_t) { return 0; };

}  // namespace

TEST_CASE("ranks share a range: every number is handed out exactly once, launch after launch, in each form") {
    StealRig rig;
    if (!rig.can()) return;
    for (const char* form : {"by_threads", "by_warps", "by_blocks", "by_some"}) {
        CAPTURE(std::string(form));
        const auto kernel = rig.kernels(kKernels, form);
        for (const auto& [count, batch] : std::vector<std::pair<uint64_t, uint64_t>>{
                 {1, 1}, {7, 1}, {1000, 3}, {20000, 16}, {5, 100}, {30011, 1}, {0, 1}}) {
            CAPTURE(count);
            CAPTURE(batch);
            const auto seen = rig.counters(count);
            const uint32_t launches = 3;
            for (uint32_t i = 0; i < launches; ++i) rig.run(kernel, 3, 96, count, batch, seen, kNoneSlow);
            rig.check_all(seen, count, launches);
        }
    }
}

TEST_CASE("devices that are done early take over most of what a slow one has") {
    StealRig rig;
    if (!rig.can()) return;
    if (rig.ranks < 2) return skip("there is one device");
    const auto kernel = rig.kernels(kKernels, "by_warps");
    const uint64_t count = 4000, batch = 4;
    for (const uint32_t slow : {0u, rig.ranks - 1}) {
        CAPTURE(slow);
        for (uint32_t turn = 0; turn < 3; ++turn) {
            const auto seen = rig.counters(count);
            rig.run(kernel, 2, 64, count, batch, seen,
                    [&](uint32_t rank) { return rank == slow ? 50'000'000 : 0; });
            const auto shares = rig.check_all(seen, count, 1);
            // Each of the slow rank's four workers gets one or two batches. Meanwhile the other ranks take the rest.
            CHECK(shares[slow] < count / rig.ranks / 2);
            CHECK(std::accumulate(shares.begin(), shares.end(), uint64_t{0}) == count);
        }
    }
}

TEST_CASE("one rank may do all of the work of a range alone, if the others come late") {
    StealRig rig;
    if (!rig.can()) return;
    const auto kernel = rig.kernels(kKernels, "by_blocks");
    const uint64_t count = 3000;
    const auto seen = rig.counters(count);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        REQUIRE_OK(launch(rig.streams[rank], kernel[rank], 2, 64, rig.row(rig.memory, rank), count, uint64_t{7},
                          uint64_t{seen[rank]}, uint64_t{0}, uint64_t{rig.wrong[rank]}));
        REQUIRE_OK(gpo_stream_wait(rig.streams[rank], kPatience));
    }
    const auto shares = rig.check_all(seen, count, 1);
    CHECK(shares[0] == count);
}

TEST_CASE("a worker that stops a range stops it for all ranks, and the next launch begins anew") {
    StealRig rig;
    if (!rig.can()) return;
    const auto kernel = rig.kernels(kKernels, "by_warps");
    const uint64_t count = 100000;
    auto seen = rig.counters(count);
    for (const char* form : {"until", "until_by_blocks"}) {
        CAPTURE(std::string(form));
        const auto until = rig.kernels(kKernels, form);
        for (const uint64_t stop_at : {uint64_t{0}, count - 1, count / 2}) {
            rig.run(until, 2, 64, count, 2, seen, [&](uint32_t) { return stop_at; });
            uint64_t most = 0;
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
                const auto own = rig.read<uint32_t>(seen, rank, count);
                most = std::max<uint64_t>(most, *std::max_element(own.begin(), own.end()));
            }
            CHECK(most == 1);
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) CHECK(rig.read<uint32_t>(rig.wrong, rank, 1)[0] == 0);
            seen = rig.counters(count);
        }
    }
    rig.run(kernel, 2, 64, count, 2, seen, kNoneSlow);
    rig.check_all(seen, count, 1);
}

TEST_CASE("nobody gets a number of a range that was stopped, of no rank's part") {
    StealRig rig;
    if (!rig.can()) return;
    const auto stopped = rig.kernels(kKernels, "stopped");
    const uint64_t batch = 3, count = batch * (4 * rig.ranks - 1);   // each part has 4 batches, but the last part has 3
    for (const uint32_t stopper : {0u, rig.ranks - 1}) {
        CAPTURE(stopper);
        const auto seen = rig.counters(count);
        for (uint32_t i = 0; i < rig.ranks; ++i) {   // the rank that stops the range runs first
            const uint32_t rank = (stopper + i) % rig.ranks;
            REQUIRE_OK(launch(rig.streams[rank], stopped[rank], 1, 64, rig.row(rig.memory, rank), count, batch,
                              uint64_t{seen[rank]}, uint64_t{rank == stopper}, uint64_t{rig.wrong[rank]}));
            REQUIRE_OK(gpo_stream_wait(rig.streams[rank], kPatience));
        }
        rig.check_all(seen, count, 0);
    }
}

TEST_CASE("a shared range is recorded with its launch, and begins anew each time") {
    StealRig rig;
    if (!rig.can()) return;
    const auto kernel = rig.kernels(kKernels, "by_warps");
    const uint64_t count = 5000;
    const auto seen = rig.counters(count);
    rig.wait_all();
    Graph graph = rig.recorded([&] { rig.run(kernel, 2, 64, count, 8, seen, kNoneSlow); });
    for (int turn = 0; turn < 5; ++turn) REQUIRE_OK(gpo_graph_launch(graph, rig.streams[0]));
    REQUIRE_OK(gpo_stream_wait(rig.streams[0], kPatience));
    rig.check_all(seen, count, 5);
}

TEST_CASE("a shared range at a bad place, or of bad numbers, says so") {
    StealRig rig;
    const auto misuse = rig.kernels(kKernels, "misuse");
    const auto statuses = rig.buffers(20);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        REQUIRE_OK(launch(rig.streams[rank], misuse[rank], 1, 1, rig.row(rig.memory, rank), uint64_t{statuses[rank]}));
        CHECK(rig.read<int32_t>(statuses, rank, 5) == std::vector<int32_t>(5, 10));
        CHECK(rig.values<uint8_t>(rig.memory, rank, StealRig::kBytes) == std::vector<uint8_t>(StealRig::kBytes));
    }
}
