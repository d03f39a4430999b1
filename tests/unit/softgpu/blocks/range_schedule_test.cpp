// The range of gpuorch/device/queue.cuh; another block may run between any two of its memory operations (see
// ring_schedule_test.cpp).
#include <atomic>

#include "host/host.h"
#include "host/schedule.h"
#include "support/device_queue.h"
#include "support/explore.h"
#include "unit/softgpu/kernel_device.h"

using namespace kernel_test;
using gpo::test::DeviceRange;

namespace {

const char kRangeSource[] = R"(
#define GPO_DEVICE_CROSSING() __nanosleep(0)
#include <gpuorch/device/queue.cuh>

template <class Range>
__device__ void work(Range &mine, unsigned *seen, unsigned long long at) {
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success) {
        bool found = false;
        for (unsigned long long i = first; i < last; ++i) {
            atomicAdd(&seen[i], 1u);
            found = found || i == at;
        }
        if (found) {
            mine.stop();
            return;
        }
    }
}

// Whoever gets the number `at` stops.
extern "C" __global__ void each_thread(gpo::range rows, unsigned *seen, unsigned long long at) {
    gpo::thread_range mine(rows);
    work(mine, seen, at);
}
extern "C" __global__ void each_warp(gpo::range rows, unsigned *seen, unsigned long long at) {
    gpo::warp_range mine(rows);
    work(mine, seen, at);
}
extern "C" __global__ void each_block(gpo::range rows, unsigned *seen, unsigned long long at) {
    __shared__ gpo::block_range_memory memory;
    gpo::block_range mine(rows, memory);
    work(mine, seen, at);
}
extern "C" __global__ void each_shared(gpo::range rows, unsigned *seen, unsigned long long at) {
    __shared__ gpo::shared_range_memory memory;
    gpo::shared_range mine(rows, memory, 1);
    work(mine, seen, at);
}
)";

/// Two launches on one range, one after the other; true if no number came twice, and without a stop every number came.
bool hands_out(const Program& program, const char* kernel, uint32_t blocks, uint32_t flags, uint64_t count,
               uint32_t batch, uint64_t at) {
    alignas(128) uint64_t words[48] = {};
    DeviceRange range;
    range.words = reinterpret_cast<uint64_t>(words);
    range.count = count;
    range.batch = batch;
    range.flags = flags;
    Multiprocessors::Options options;
    options.workers = blocks;
    const auto multiprocessors = Multiprocessors::create(options);
    bool good = true;
    for (int turn = 0; turn < 2; ++turn) {
        std::vector<uint32_t> seen(count);
        const void* const data = seen.data();
        std::atomic<bool> ended{false};
        KernelLaunch launch;
        launch.kernel = &program.kernel(kernel);
        launch.grid = {blocks, 1, 1};
        launch.block = {1, 1, 1};
        launch.arguments.resize(80);
        std::memcpy(launch.arguments.data(), &range, 64);
        std::memcpy(launch.arguments.data() + 64, &data, 8);
        std::memcpy(launch.arguments.data() + 72, &at, 8);
        launch.done = [&](const KernelOutcome& outcome, gpo::softgpu::Launches&) {
            good = good && outcome.result == CUDA_SUCCESS;
            ended.store(true);
        };
        multiprocessors->submit(multiprocessors->prepare(std::move(launch)));
        for (unsigned spins = 0; !ended.load(); ++spins) gpo::host::step(spins);
        for (const uint32_t times : seen) good = good && (times == 1 || (times == 0 && at < count));
        good = good && words[0] == 0 && (at >= count || seen[at] == 1);
    }
    return good;
}

}  // namespace

TEST_CASE("whatever the order of a range's claims, each number comes once, and the last claim makes the range new") {
    const Program program(kRangeSource);
    uint32_t flags = 0;
    SUBCASE("claimed early") {}
    SUBCASE("claimed late") { flags = gpo::test::kRangeLateClaims; }
    for (const char* kernel : {"each_thread", "each_warp", "each_block", "each_shared"})
        for (const uint64_t count : {2, 3, 4, 7, 12})
            for (const uint32_t batch : {1u, 2u})
                for (const uint64_t at : {uint64_t{99}, uint64_t{0}, uint64_t{1}, count - 1}) {
                    CAPTURE(std::string(kernel));
                    CAPTURE(count);
                    CAPTURE(batch);
                    CAPTURE(at);
                    gpo::test::explore(
                        12, [&](uint64_t) { CHECK(hands_out(program, kernel, 3, flags, count, batch, at)); });
                }
}
