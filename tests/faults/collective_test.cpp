// Small all-reduces, whose kernels wait for each other on the GPUs, when some of the kernels can't be launched.
#include <atomic>
#include <chrono>
#include <thread>

#include "conformance/peers/rig.h"
#include "driver/faults.h"

using namespace gpo::test;
namespace faults = gpo::driver::faults;

namespace {

constexpr uint64_t kCount = 1000;

constexpr char kBlocker[] = R"(
extern "C" __global__ void blocker(const volatile unsigned *open) { while (!*open) __nanosleep(1000); }
)";

gpo_collective sum() {
    return collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_UINT32, kCount, GPO_REDUCE_SUM);
}

void fill(PeersRig& rig, const std::vector<RankMemory>& data, uint32_t value) {
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        REQUIRE_OK(gpo_fill(rig.streams[rank], data[rank], value, 4, kCount));
}

void check(PeersRig& rig, const std::vector<RankMemory>& data, uint32_t value) {
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        CHECK(rig.read<uint32_t>(data, rank, kCount) == std::vector<uint32_t>(kCount, value));
}

/// A collective that failed halfway has failed its streams.
void renew_streams(PeersRig& rig) {
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        const gpo_status waited = gpo_device_wait(rig.devices[rank], kPatience);
        CHECK((waited == GPO_SUCCESS || waited == GPO_OUT_OF_MEMORY));
        rig.streams[rank] = rig.stream_on(rank);
    }
}

}  // namespace

TEST_CASE("ranks of a small all-reduce end where others can't be launched, and the one before it is right" * gated) {
    PeersRig rig;
    if (rig.ranks < 2) return skip("there is one device");
    if (!rig.software()) return skip("kernels on a GPU don't give up");
    const auto before = rig.buffers(kCount * 4), half = rig.buffers(kCount * 4);
    fill(rig, before, 3);
    fill(rig, half, 5);
    REQUIRE_OK(rig.submit(sum(), rig.parts(half, half)));   // so that nothing is left to load or allocate
    check(rig, half, 5 * rig.ranks);
    // The second all-reduce is launched on the ranks below `missing` only.
    for (uint32_t missing = 1; missing < rig.ranks; ++missing) {
        Gate gate(rig);
        fill(rig, before, 3);
        rig.wait_all();
        gate.put_on(rig.streams[0]);
        REQUIRE_OK(rig.submit(sum(), rig.parts(before, before)));
        faults::arm({.function = gpo::driver::Function::cuLaunchKernel, .kth = missing + 1,
                     .result = CUDA_ERROR_OUT_OF_MEMORY});
        const gpo_status status = rig.submit(sum(), rig.parts(half, half));
        faults::disarm();
        CHECK_STATUS(GPO_OUT_OF_MEMORY, status);
        std::this_thread::sleep_for(std::chrono::milliseconds(30));   // a waiting kernel reads the word meanwhile
        gate.open();
        renew_streams(rig);
        check(rig, before, 3 * rig.ranks);
        fill(rig, half, 7);
        REQUIRE_OK(rig.submit(sum(), rig.parts(half, half)));
        check(rig, half, 7 * rig.ranks);
    }
}

TEST_CASE("a small all-reduce whose last event can't be recorded is done, and the next one comes behind it") {
    PeersRig rig;
    if (rig.ranks < 2) return skip("there is one device");
    const auto data = rig.buffers(kCount * 4);
    fill(rig, data, 3);
    REQUIRE_OK(rig.submit(sum(), rig.parts(data, data)));
    for (uint32_t kth = 1; kth <= rig.ranks; ++kth) {
        fill(rig, data, 3);
        rig.wait_all();
        faults::arm({.function = gpo::driver::Function::cuEventRecord, .kth = kth, .result = CUDA_ERROR_OUT_OF_MEMORY});
        const gpo_status status = rig.submit(sum(), rig.parts(data, data));
        faults::disarm();
        CHECK_STATUS(GPO_OUT_OF_MEMORY, status);
        renew_streams(rig);
        fill(rig, data, 7);
        REQUIRE_OK(rig.submit(sum(), rig.parts(data, data)));
        check(rig, data, 7 * rig.ranks);
    }
}

TEST_CASE("a rank whose kernel never begins, because its device is lost, doesn't keep the others from ending" * gated) {
    static std::atomic<uint32_t> ending, open;   // the runtime ends before the kernel that reads `open`
    ending = open = 0;
    PeersRig rig(2);
    if (rig.ranks < 2) return skip("there is one device");
    if (!rig.software()) return skip("kernels on a GPU don't give up");
    const auto data = rig.buffers(kCount * 4);
    fill(rig, data, 3);
    REQUIRE_OK(rig.submit(sum(), rig.parts(data, data)));   // so that nothing is left to load or allocate
    rig.wait_all();
    const Kernel blocker = rig.kernel(kBlocker, "blocker");
    REQUIRE_OK(launch(rig.streams[0], blocker.get(), 1, 1, static_cast<void*>(&open)));
    REQUIRE_OK(rig.submit(sum(), rig.parts(data, data)));
    faults::arm({.function = gpo::driver::Function::cuStreamQuery, .result = CUDA_ERROR_ILLEGAL_ADDRESS,
                 .for_ever = true});
    for (const Stream& stream : rig.streams) CHECK_STATUS(GPO_DEVICE_LOST, gpo_stream_query(stream));
    faults::arm({.function = gpo::driver::Function::cuDevicePrimaryCtxRelease, .kth = UINT64_MAX,
                 .watch = [](gpo::driver::Function, uint64_t) noexcept {
                     ending = 1;
                     ending.notify_one();
                 }});
    // The first rank's context is ending before its kernel can begin, and drops the kernel.
    const auto driver = gpo::driver::open_soft(nullptr);
    std::thread opens([&] {
        ending.wait(0);
        unsigned flags = 0;
        for (int active = 1; active; std::this_thread::yield())
            driver->table.cuDevicePrimaryCtxGetState(0, &flags, &active);
        open = 1;
    });
    CHECK_OK(gpo_runtime_shutdown(rig.runtime, kPatience));
    faults::disarm();
    opens.join();
}
