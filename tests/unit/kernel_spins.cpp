// Forward progress on workers as many as a test wants, and ends that are asked for: of the executor itself, since a device of the
// public API has a worker for each core, and a context in which a kernel has failed is lost. What blocks and threads may
// wait for on any device is in conformance/kernel_spins_test.cpp.
#include "kernel_device.h"

#include <memory>
#include <vector>

#include "support/spin_kernels.h"

using namespace kernel_test;

namespace {

const Program& program() {
    static const Program compiled(gpo::test::kSpinKernels);
    return compiled;
}

}  // namespace

TEST_CASE("blocks of a cluster run together, on one worker and on more, and with a whole grid that does") {
    for (const unsigned workers : {1u, 2u, 5u})
        for (const bool cooperative : {false, true}) {
            Device device(workers);
            std::vector<int> out(48);
            device.run(program().kernel("cluster_ring"), {{12, 4, 1}, {40, 1, 1}, 0, cooperative, {2, 4, 1}}, out.data(), 50, -1);
            for (unsigned i = 0; i < 12; ++i) CHECK(out[i] == 50);
        }
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

TEST_CASE("a kernel that waits for a later kernel ends, even on one worker") {
    Device device(1);
    int flag = 0, seen = 0;
    auto waiting = device.launch(program().kernel("until"), {{3, 1, 1}, {96, 1, 1}}, &flag, &seen);
    device.run(program().kernel("set"), {}, &flag);
    CHECK(waiting->wait().result == CUDA_SUCCESS);
    CHECK(seen == 288);
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
