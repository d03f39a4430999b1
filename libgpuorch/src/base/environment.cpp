#include "base/environment.h"

#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace gpo::environment {

bool ignored() noexcept { return getauxval(AT_SECURE) != 0; }

const char* get(const char* name) noexcept {
    return secure_getenv(name);
}

namespace {

bool is_one_of(const char* value, std::initializer_list<const char*> values) noexcept {
    return std::any_of(values.begin(), values.end(), [=](const char* one) { return std::strcmp(value, one) == 0; });
}

}  // namespace

bool flag(const char* name) noexcept {
    const char* value = get(name);
    return value && is_one_of(value, {"1", "on", "yes", "true"});
}

bool is_a_switch(const char* value) noexcept {
    return std::strspn(value, "0123456789") == std::strlen(value) ||
           is_one_of(value, {"on", "off", "yes", "no", "true", "false"});
}

std::vector<std::string> mistakes() {
    std::vector<std::string> out;
    const auto warn = [&](const char* name, const char* value, const char* expected) {
        out.push_back(std::string(name) + " is `" + std::string(value).substr(0, 60) + "`, and none of " + expected);
    };
    const char* value = get("GPUORCH_LOG");
    if (value && *value && !is_one_of(value, {"error", "warning", "info", "debug"}))
        warn("GPUORCH_LOG", value, "error, warning, info and debug: it is taken for warning");
    for (const char* name : {"GPUORCH_ATTRIBUTE", "GPUORCH_SOFT_GUARD", "GPUORCH_SOFT_FIBERS", "GPUORCH_MPI_DEVICE",
                             "GPUORCH_QUIET_FALLBACK"}) {
        value = get(name);
        if (value && *value && !is_one_of(value, {"1", "on", "yes", "true", "0", "off", "no", "false"}))
            warn(name, value, "1, on, yes, true, 0, off, no and false: it is ignored");
    }
    value = get("GPUORCH_TRACE");
    if (value && *value && is_a_switch(value))
        out.push_back("GPUORCH_TRACE is `" + std::string(value).substr(0, 60) +
                      "`, which is taken for no name: nothing is traced (a file of that name is ./" +
                      std::string(value).substr(0, 60) + ")");
    value = get("GPUORCH_CUDA_VERSION");
    if (value && *value && std::strspn(value, "0123456789") != std::strlen(value))
        warn("GPUORCH_CUDA_VERSION", value, "12020, 13000 and the like: it is ignored");
    return out;
}

}  // namespace gpo::environment
