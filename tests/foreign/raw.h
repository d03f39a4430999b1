// Direct access to the driver, as for the host or another library in the process. The table is that of the runtime's
// driver, so that the calls meet libgpuorch's own on a GPU and on the software GPU.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "driver/driver.h"
#include "support/gpu.h"

namespace gpo::test {

/// Checks the answer of a raw driver call.
#define RAW_OK(...) REQUIRE((__VA_ARGS__) == CUDA_SUCCESS)

/// Holds the primary context of the first device; nothing of it is current.
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

/// Makes a context current on the calling thread during its life.
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
