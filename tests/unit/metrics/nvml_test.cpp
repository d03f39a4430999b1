// NVML, from a library made for the test: present figures, missing figures, and reasons.
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>

#include "metrics/nvml.h"

using gpo::metrics::Nvml;

namespace {

gpo_device_metrics unknown() {
    gpo_device_metrics out{};
    out.memory_total = out.memory_used = out.utilization = out.memory_utilization = out.power = out.energy = -1;
    out.temperature = out.sm_clock = out.memory_clock = out.pcie_sent = out.pcie_received = -1;
    return out;
}

}  // namespace

TEST_CASE("what NVML knows is filled in, in the units of the struct, and the rest stays unknown") {
    std::string why;
    const std::unique_ptr<Nvml> nvml(Nvml::open_at(GPUORCH_FAKE_NVML, &why));
    REQUIRE_MESSAGE(nvml, why);
    gpo_device_metrics out = unknown();
    REQUIRE(nvml->read("0000:1b:00.0", out, &why));
    CHECK(out.utilization == 37);
    CHECK(out.memory_utilization == 12);
    CHECK(out.memory_total == 1000);
    CHECK(out.memory_used == 400);
    CHECK(out.power == 123'456);
    CHECK(out.sm_clock == 1'980'000'000);
    CHECK(out.memory_clock == 2'619'000'000);
    CHECK(out.pcie_sent == 77'000'000'000);
    CHECK(out.energy == -1);         // the call returns "not supported"
    CHECK(out.pcie_received == -1);  // the field's status says so
    CHECK(out.temperature == -1);    // there is no such function
}

TEST_CASE("a device that NVML doesn't know, a library that fails and one that isn't there have their reasons") {
    std::string why;
    const std::unique_ptr<Nvml> nvml(Nvml::open_at(GPUORCH_FAKE_NVML, &why));
    REQUIRE(nvml);
    gpo_device_metrics out = unknown();
    CHECK_FALSE(nvml->read("0000:2c:00.0", out, &why));
    CHECK(why == "NVML doesn't know device 0000:2c:00.0: made up for a test (6)");
    CHECK(out.power == -1);
    setenv("FAKE_NVML_INIT", "9", 1);
    const bool refused = Nvml::open_at(GPUORCH_FAKE_NVML, &why) == nullptr;
    unsetenv("FAKE_NVML_INIT");
    CHECK(refused);
    CHECK(why == "nvmlInit failed: made up for a test (9)");
    CHECK(Nvml::open_at("/nowhere/libnvidia-ml.so.1", &why) == nullptr);
    CHECK(why.find("/nowhere/libnvidia-ml.so.1") != std::string::npos);
}
