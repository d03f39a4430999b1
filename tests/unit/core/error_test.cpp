// Driver results as statuses for the library's callers.
#include <doctest/doctest.h>

#include <string>

#include "driver/driver.h"
#include "driver/faults.h"
#include "gpuorch/gpuorch.h"
#include "support/soft.h"

TEST_CASE("a limit that the device lacks is not supported") {
    namespace faults = gpo::driver::faults;
    gpo::driver::set_interposer(
        [](std::shared_ptr<gpo::driver::Driver> driver) { return faults::wrap(std::move(driver)); });
    gpo_device_t device = nullptr;
    const gpo_runtime_t runtime = gpo::test::make_soft_runtime();
    REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
    for (const auto function : {gpo::driver::Function::cuCtxGetLimit, gpo::driver::Function::cuCtxSetLimit}) {
        faults::arm({.function = function, .kth = 1, .result = CUDA_ERROR_UNSUPPORTED_LIMIT, .for_ever = true});
        uint64_t value = 0;
        const bool asks = function == gpo::driver::Function::cuCtxGetLimit;
        CHECK((asks ? gpo_device_get_limit(device, GPO_LIMIT_L2_FETCH_BYTES, &value)
                    : gpo_device_set_limit(device, GPO_LIMIT_L2_FETCH_BYTES, 32)) == GPO_NOT_SUPPORTED);
        CHECK(faults::failed() == 1);
        faults::disarm();
    }
    CHECK(gpo_runtime_shutdown(runtime, 10'000'000'000) == GPO_SUCCESS);
    gpo::driver::set_interposer({});
}
