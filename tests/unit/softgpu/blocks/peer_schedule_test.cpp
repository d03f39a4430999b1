// Shared ranges and barriers of several ranks (gpuorch/device/steal.cuh, peer.cuh). Another rank may run between any
// two memory operations (see ring_schedule_test.cpp). The ranks are launches on one device, each with its own memory.
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "host/host.h"
#include "host/schedule.h"
#include "peers/symmetric.h"
#include "support/explore.h"
#include "unit/softgpu/kernel_device.h"

using namespace kernel_test;
using gpo::SymmetricHandle;

namespace {

const char kPeerSource[] = R"(
#define GPO_DEVICE_CROSSING() __nanosleep(0)
#include <gpuorch/device/steal.cuh>

// Whoever gets the number `at` stops.
extern "C" __global__ void steal(gpo::symmetric memory, unsigned *seen, unsigned long long count,
                                 unsigned long long at) {
    gpo::thread_steal mine(gpo::shared_numbers(memory, 0, count, 1));
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::peer_success) {
        atomicAdd(&seen[first], 1u);
        if (first != at) continue;
        mine.stop();
        return;
    }
}

// In each round a rank writes its place on all ranks, and then sees those of all. `looks`: of the first try.
extern "C" __global__ void meet(gpo::symmetric memory, unsigned *wrong, unsigned long long rounds,
                                unsigned long long looks) {
    for (unsigned round = 1; round <= rounds; ++round) {
        for (unsigned rank = 0; rank < memory.ranks; ++rank)
            gpo::pointer<volatile unsigned>(memory, rank, 0)[round % 2 * memory.ranks + memory.rank] = round;
        int status = gpo::barrier(memory, gpo::polls(looks));
        while (status == gpo::peer_timeout) status = gpo::barrier(memory, gpo::polls(looks));
        if (status != gpo::peer_success) atomicAdd(wrong, 1u);
        for (unsigned rank = 0; rank < memory.ranks; ++rank)
            if (gpo::pointer<volatile unsigned>(memory, memory.rank, 0)[round % 2 * memory.ranks + rank] != round)
                atomicAdd(wrong, 1u);
    }
}
)";

/// The memory of some ranks: 512 bytes, then the words of one block's barriers.
class Ranks {
public:
    explicit Ranks(uint32_t count) : memory_(count) {
        for (auto& one : memory_) one = std::make_unique<Memory>();
        for (uint32_t rank = 0; rank < count; ++rank) {
            SymmetricHandle handle;
            handle.bytes = sizeof Memory::bytes;
            handle.rank = rank;
            handle.ranks = count;
            handle.words = sizeof Memory::bytes;
            handle.blocks = 1;
            handle.block_words = 16;
            for (uint32_t of = 0; of < count; ++of)
                handle.addresses[of] = reinterpret_cast<uint64_t>(memory_[of].get());
            handles.push_back(handle);
        }
    }
    bool range_is_new() const {
        static const Memory zeros{};
        for (const auto& one : memory_)
            if (std::memcmp(one->bytes, zeros.bytes, sizeof one->bytes) != 0) return false;
        return true;
    }

    std::vector<SymmetricHandle> handles;

private:
    struct alignas(128) Memory {
        char bytes[512];
        uint32_t words[16];
    };
    std::vector<std::unique_ptr<Memory>> memory_;
};

/// Launches `blocks` blocks of one thread for each rank, all at once. False if a launch has failed.
bool run(const Program& program, const char* kernel, Ranks& ranks, uint32_t blocks, const void* data, uint64_t first,
         uint64_t second) {
    Multiprocessors::Options options;
    options.workers = static_cast<unsigned>(ranks.handles.size()) * blocks;
    const auto multiprocessors = Multiprocessors::create(options);
    std::atomic<size_t> ended{0};
    std::atomic<bool> good{true};
    for (const SymmetricHandle& handle : ranks.handles) {
        KernelLaunch launch;
        launch.kernel = &program.kernel(kernel);
        launch.grid = {blocks, 1, 1};
        launch.block = {1, 1, 1};
        launch.arguments.resize(sizeof handle + 24);
        std::memcpy(launch.arguments.data(), &handle, sizeof handle);
        std::memcpy(launch.arguments.data() + sizeof handle, &data, 8);
        std::memcpy(launch.arguments.data() + sizeof handle + 8, &first, 8);
        std::memcpy(launch.arguments.data() + sizeof handle + 16, &second, 8);
        launch.done = [&](const KernelOutcome& outcome, gpo::softgpu::Launches&) {
            if (outcome.result != CUDA_SUCCESS) good.store(false);
            ended.fetch_add(1);
        };
        multiprocessors->submit(multiprocessors->prepare(std::move(launch)));
    }
    for (unsigned spins = 0; ended.load() < ranks.handles.size(); ++spins) gpo::host::step(spins);
    return good.load();
}

}  // namespace

TEST_CASE("whatever the order of claims and steals, each number comes once, and the last worker makes the range new") {
    const Program program(kPeerSource);
    for (const uint32_t count : {1u, 2u, 3u})
        for (const uint64_t numbers : {0, 1, 5, 13})
            for (const uint64_t at : {uint64_t{99}, uint64_t{0}, uint64_t{4}}) {
                CAPTURE(count);
                CAPTURE(numbers);
                CAPTURE(at);
                gpo::test::explore(12, [&](uint64_t) {
                    Ranks ranks(count);
                    for (int turn = 0; turn < 2; ++turn) {
                        std::vector<uint32_t> seen(numbers + 1);
                        CHECK(run(program, "steal", ranks, 2, seen.data(), numbers, at));
                        for (uint64_t i = 0; i < numbers; ++i)
                            CHECK((seen[i] == 1 || (seen[i] == 0 && at < numbers)));
                        CHECK(ranks.range_is_new());
                    }
                });
            }
}

TEST_CASE("whatever the order in which ranks come to barriers and give up, they meet, and see what all have written") {
    const Program program(kPeerSource);
    for (const uint32_t count : {1u, 2u, 3u})
        for (const uint64_t looks : {1, 3, 1000000}) {
            CAPTURE(count);
            CAPTURE(looks);
            gpo::test::explore(20, [&](uint64_t) {
                Ranks ranks(count);
                uint32_t wrong = 0;
                for (int turn = 0; turn < 2; ++turn) CHECK(run(program, "meet", ranks, 1, &wrong, 5, looks));
                CHECK(wrong == 0);
            });
        }
}
