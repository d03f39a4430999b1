// The kernel of gpo_queue_push: loaded once for all rings of a device.
#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "driver/faults.h"
#include "driver/call_recorder.h"
#include "gpuorch/gpuorch.h"
#include "support/soft.h"

namespace {

namespace driver_faults = gpo::driver::faults;
namespace driver_calls = gpo::driver::recorder;
using gpo::driver::Function;

struct Rings {
    Rings() {
        gpo::driver::set_interposer([](std::shared_ptr<gpo::driver::Driver> driver) {
            return driver_calls::wrap(driver_faults::wrap(std::move(driver)));
        });
        runtime = gpo::test::make_soft_runtime();
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        driver_calls::clear();
    }
    ~Rings() {
        driver_faults::disarm();
        if (runtime) CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000) == GPO_SUCCESS);
        gpo::driver::set_interposer(nullptr);
    }
    Rings(const Rings&) = delete;
    Rings& operator=(const Rings&) = delete;

    gpo_status create(gpo_queue_t* ring, gpo_device_t on) const {
        auto options = gpo::test::sized<gpo_queue_options>();
        options.kind = GPO_QUEUE_RING;
        options.capacity = 64;
        options.task_size = 16;
        return gpo_queue_create(on, &options, ring);
    }
    gpo_queue_t create() const {
        gpo_queue_t ring = nullptr;
        REQUIRE(create(&ring, device) == GPO_SUCCESS);
        return ring;
    }
    /// The number of tasks in the ring after one push.
    uint64_t depth_after_push(gpo_queue_t ring) const {
        gpo_stream_t stream = nullptr;
        REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
        const uint64_t task[2] = {1, 2};
        CHECK(gpo_queue_push(ring, stream, task, 1, 0) == GPO_SUCCESS);
        CHECK(gpo_stream_wait(stream, 30'000'000'000) == GPO_SUCCESS);
        CHECK(gpo_stream_destroy(stream) == GPO_SUCCESS);
        auto info = gpo::test::sized<gpo_queue_info>();
        REQUIRE(gpo_queue_get_info(ring, &info) == GPO_SUCCESS);
        return info.depth;
    }
    static uint64_t loads() { return driver_calls::count(Function::cuModuleLoadDataEx); }
    static uint64_t unloads() { return driver_calls::count(Function::cuModuleUnload); }

    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
};

}  // namespace

TEST_CASE("rings: a device's first loads the kernel that pushes, and later ones load nothing") {
    Rings world;
    const gpo_queue_t first = world.create();
    CHECK(Rings::loads() == 1);
    driver_calls::clear();
    const gpo_queue_t second = world.create();
    for (const Function function : {Function::cuModuleLoadDataEx, Function::cuModuleGetFunction, Function::cuFuncLoad})
        CHECK(driver_calls::count(function) == 0);
    CHECK(world.depth_after_push(first) == 1);
    CHECK(world.depth_after_push(second) == 1);

    SUBCASE("also when all rings before it were destroyed, and by another handle on the device") {
        CHECK(gpo_queue_destroy(first) == GPO_SUCCESS);
        CHECK(gpo_queue_destroy(second) == GPO_SUCCESS);
        gpo_device_t again = nullptr;
        REQUIRE(gpo_device_open(world.runtime, nullptr, &again) == GPO_SUCCESS);
        CHECK(gpo_device_close(world.device) == GPO_SUCCESS);
        world.device = again;
        const gpo_queue_t third = world.create();
        CHECK(Rings::loads() == 0);
        CHECK(Rings::unloads() == 0);
        CHECK(world.depth_after_push(third) == 1);
    }
    SUBCASE("and the kernel is unloaded with the device's context") {
        CHECK(gpo_queue_destroy(first) == GPO_SUCCESS);
        CHECK(gpo_device_wait(world.device, 30'000'000'000) == GPO_SUCCESS);
        CHECK(Rings::unloads() == 0);
        CHECK(gpo_runtime_shutdown(world.runtime, 30'000'000'000) == GPO_SUCCESS);
        world.runtime = nullptr;
        CHECK(Rings::unloads() == 1);
    }
}

TEST_CASE("rings: each device has a kernel of its own that pushes") {
    setenv("GPUORCH_SOFT_DEVICES", "2", 1);
    Rings world;
    unsetenv("GPUORCH_SOFT_DEVICES");
    auto options = gpo::test::sized<gpo_device_options>();
    options.ordinal = 1;
    gpo_device_t other = nullptr;
    REQUIRE(gpo_device_open(world.runtime, &options, &other) == GPO_SUCCESS);
    gpo_queue_t ring = nullptr;
    world.create();
    CHECK(world.create(&ring, other) == GPO_SUCCESS);
    CHECK(Rings::loads() == 2);
}

TEST_CASE("rings: threads that create a device's first ones at once load one kernel") {
    Rings world;
    std::vector<gpo_queue_t> rings(4);
    std::vector<std::thread> threads;
    for (gpo_queue_t& ring : rings)
        threads.emplace_back([&] { CHECK(world.create(&ring, world.device) == GPO_SUCCESS); });
    for (std::thread& thread : threads) thread.join();
    CHECK(Rings::loads() == 1);
    for (const gpo_queue_t ring : rings) CHECK(world.depth_after_push(ring) == 1);
}

TEST_CASE("rings: after a load that failed, the next ring tries again") {
    Rings world;
    driver_faults::arm({Function::cuModuleLoadDataEx, 1, CUDA_ERROR_OUT_OF_MEMORY});
    gpo_queue_t ring = nullptr;
    CHECK(world.create(&ring, world.device) == GPO_OUT_OF_MEMORY);
    CHECK(ring == nullptr);
    driver_faults::disarm();
    CHECK(world.depth_after_push(world.create()) == 1);
}
