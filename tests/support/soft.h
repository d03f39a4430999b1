// A runtime on the software GPU, independent of GPUORCH_DEVICE: for tests that look inside the software GPU or choose
// its schedule.
#pragma once

#include <doctest/doctest.h>

#include "gpuorch/gpuorch.h"
#include "support/sized.h"

namespace gpo::test {

/// `schedule_seed` 0: real threads.
inline gpo_runtime_t make_soft_runtime(uint64_t schedule_seed = 0, uint32_t completion_mode = GPO_COMPLETION_BALANCED) {
    auto options = sized<gpo_runtime_options>();
    options.device = "soft";
    options.schedule_seed = schedule_seed;
    options.completion_mode = completion_mode;
    gpo_runtime_t runtime = nullptr;
    REQUIRE(gpo_runtime_create(&options, &runtime) == GPO_SUCCESS);
    return runtime;
}

/// A soft runtime with its device and a completion queue. The destructor shuts it down, unless the test did so and set
/// `runtime` to NULL; the queue is destroyed last, which queues allow.
struct SoftRuntime {
    explicit SoftRuntime(uint64_t schedule_seed = 0, uint32_t completion_mode = GPO_COMPLETION_BALANCED)
        : runtime(make_soft_runtime(schedule_seed, completion_mode)) {
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        REQUIRE(gpo_cq_create(runtime, nullptr, &queue) == GPO_SUCCESS);
    }
    ~SoftRuntime() {
        if (runtime) CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000) == GPO_SUCCESS);
        CHECK(gpo_cq_destroy(queue) == GPO_SUCCESS);
    }
    SoftRuntime(const SoftRuntime&) = delete;
    SoftRuntime& operator=(const SoftRuntime&) = delete;

    gpo_stream_t stream(uint32_t max_held = 0) {
        auto options = sized<gpo_stream_options>();
        options.max_held = max_held;
        gpo_stream_t made = nullptr;
        REQUIRE(gpo_stream_create(device, &options, &made) == GPO_SUCCESS);
        return made;
    }

    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_cq_t queue = nullptr;
};

}  // namespace gpo::test
