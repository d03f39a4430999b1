// Direct driver calls, as the host program or another library in the process would make them. The function table is the
// one of the runtime's driver: on the software GPU, too, these calls and libgpuorch's use the same driver.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "driver/driver.h"
#include "support/gpu.h"

namespace gpo::test {

/// Requires that a raw driver call succeeds.
#define RAW_OK(...) REQUIRE((__VA_ARGS__) == CUDA_SUCCESS)

/// Retains the primary context of the first device, without making it current.
class Raw {
public:
    Raw() {
        gpo_runtime_t runtime = nullptr;
        auto info = sized<gpo_driver_info>();
        auto properties = sized<gpo_device_properties>();
        REQUIRE_OK(gpo_runtime_create(nullptr, &runtime));
        REQUIRE_OK(gpo_runtime_get_driver(runtime, &info));
        REQUIRE_OK(gpo_runtime_describe_device(runtime, 0, &properties));
        software = info.software != 0;
        driver_ = software ? gpo::driver::open_soft(nullptr) : gpo::driver::open_cuda(nullptr);
        REQUIRE(driver_ != nullptr);
        REQUIRE_OK(gpo_runtime_shutdown(runtime, kPatience));
        RAW_OK(cu().cuDeviceGet(&device, properties.native_ordinal));
        RAW_OK(cu().cuDevicePrimaryCtxRetain(&primary, device));
    }
    ~Raw() { cu().cuDevicePrimaryCtxRelease(device); }
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;

    const driver::Table& cu() const noexcept { return driver_->table; }

    bool software = false;
    CUdevice device = 0;
    CUcontext primary = nullptr;

private:
    std::shared_ptr<driver::Driver> driver_;
};

/// Makes a context current on the calling thread until this object is destroyed.
class Current {
public:
    Current(const Raw& raw, CUcontext context) : raw_(raw) { RAW_OK(raw_.cu().cuCtxPushCurrent(context)); }
    ~Current() {
        CUcontext popped = nullptr;
        raw_.cu().cuCtxPopCurrent(&popped);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

private:
    const Raw& raw_;
};

}  // namespace gpo::test
