// The API as a whole: the table for programs that use dlopen, and whether every exported function was seen to succeed.
// This file's name sorts last, and doctest runs files in that order.
#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "support/coverage.h"
#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

// Two software GPUs, so that peers can meet, unless the caller has chosen a number.
[[maybe_unused]] const int two_devices = setenv("GPUORCH_SOFT_DEVICES", "2", 0);

/// Whether the options of this run leave tests out.
bool filtered() {
    std::ifstream file("/proc/self/cmdline");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    for (size_t at = line.find('\0'); at != std::string::npos && at + 1 < line.size(); at = line.find('\0', at + 1)) {
        std::string_view argument = std::string_view(line).substr(at + 1);
        argument.remove_prefix(std::min(argument.find_first_not_of('-'), argument.size()));
        if (argument.starts_with("dt-")) argument.remove_prefix(3);
        if (argument.starts_with("first=1") && argument.size() > 7 && argument[7] == '\0') continue;  // from the first
        for (const char* filter : {"tc=", "tce=", "sf=", "sfe=", "ts=", "tse=", "sc=", "sce=", "f=", "l=", "test-case",
                                   "source-file", "test-suite", "subcase", "first=", "last="})
            if (argument.starts_with(filter)) return true;
    }
    return false;
}

/// Why a function can't succeed on this machine; NULL if it must.
const char* excuse(std::string_view function, uint32_t devices, bool parameters_told) {
    if (devices < 2 && (function == "gpo_device_enable_peer" || function == "gpo_device_disable_peer"))
        return "needs two devices";
    if (function == "gpo_memory_import" || function == "gpo_event_import")
        return "needs two processes: process/interprocess sees it succeed";
    if (!parameters_told && function == "gpo_kernel_get_parameter")
        return "this driver can't tell the parameters of a kernel";
    return nullptr;
}

}  // namespace

TEST_CASE("the table holds the functions that the library exports, and only serves the versions it can") {
    const gpo_api* api = gpo_get_api(GPO_VERSION);
    REQUIRE(api != nullptr);
    CHECK(api->struct_size == sizeof(gpo_api));
    CHECK(api->library_version == GPO_VERSION);
    CHECK(api->version() == GPO_VERSION);
    CHECK(reinterpret_cast<void*>(api->stream_launch_kernel) == dlsym(RTLD_DEFAULT, "gpo_stream_launch_kernel"));
    const auto* entries = reinterpret_cast<void* const*>(&api->status_name);
    const auto* end = reinterpret_cast<void* const*>(api + 1);
    CHECK(static_cast<size_t>(end - entries) == coverage().size() - 1);  // all but gpo_get_api
    for (const auto* entry = entries; entry != end; ++entry) CHECK(*entry != nullptr);

    gpo_runtime_t runtime = nullptr;
    CHECK(api->runtime_create(nullptr, &runtime) == GPO_SUCCESS);
    CHECK(api->runtime_shutdown(runtime, kPatience) == GPO_SUCCESS);

    CHECK(gpo_get_api(0) == nullptr);
    CHECK(gpo_get_api(GPO_VERSION + 100) == nullptr);
    CHECK(gpo_get_api(UINT32_MAX) == nullptr);
}

TEST_CASE("every exported function was seen to succeed on this device") {
    if (filtered()) {
        skip("tests were left out of this run");
        return;
    }
    uint32_t devices = 0;
    bool parameters_told = false;
    {
        Gpu gpu;
        REQUIRE_OK(gpo_runtime_get_device_count(gpu.runtime, &devices));
        parameters_told = tells_parameters(gpu.kernel("extern \"C\" __global__ void k(int *p) { *p = 1; }", "k"));
    }
    for (const auto& function : coverage()) {
        if (function.successes.load() > 0) continue;
        if (const char* reason = excuse(function.name, devices, parameters_told)) {
            skip(reason, function.name);
        } else {
            FAIL_CHECK(std::string(function.name)
                       << " was called " << function.calls.load() << " times and never succeeded");
        }
    }
}
