// Tracing an operation takes extra driver calls: if they fail, only the trace loses information.
#include <doctest/doctest.h>

#include "driver/driver.h"
#include "driver/faults.h"
#include "gpuorch/gpuorch.h"
#include "support/soft.h"

TEST_CASE(
    "an operation is put on, without times, where the driver can't tell the trace whether its stream is captured") {
    namespace faults = gpo::driver::faults;
    gpo::driver::set_interposer([](auto driver) { return faults::wrap(std::move(driver)); });
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    uint64_t memory = 0;
    void* native = nullptr;
    const gpo_runtime_t runtime = gpo::test::make_soft_runtime();
    REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
    REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
    REQUIRE(gpo_memory_allocate(device, 64, nullptr, &memory) == GPO_SUCCESS);
    REQUIRE(gpo_stream_get_native(stream, &native) == GPO_SUCCESS);   // others may capture it from now on
    REQUIRE(gpo_trace_start(runtime, nullptr) == GPO_SUCCESS);
    REQUIRE(gpo_fill(stream, memory, 1, 4, 16) == GPO_SUCCESS);
    faults::arm({.function = gpo::driver::Function::cuStreamIsCapturing, .kth = 1, .result = CUDA_ERROR_UNKNOWN});
    CHECK(gpo_fill(stream, memory, 2, 4, 16) == GPO_SUCCESS);
    CHECK(faults::failed() == 1);
    faults::disarm();
    uint32_t value = 0;
    CHECK(gpo_copy_to_host(stream, &value, memory, sizeof value) == GPO_SUCCESS);
    CHECK(gpo_stream_wait(stream, -1) == GPO_SUCCESS);
    CHECK(value == 2);
    CHECK(gpo_trace_stop(runtime) == GPO_SUCCESS);
    CHECK(gpo_memory_free(device, memory) == GPO_SUCCESS);
    CHECK(gpo_stream_destroy(stream) == GPO_SUCCESS);
    CHECK(gpo_device_close(device) == GPO_SUCCESS);
    CHECK(gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS);
    gpo::driver::set_interposer({});
}
