#include "driver/functions.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/environment.h"

namespace gpo::driver {

namespace {

enum Need { required, optional };

struct Description {
    const char* name;
    int version;
    Need need;
};

constexpr Description kDescriptions[] = {
#define X(name, version, need) {#name, version, need},
    GPO_DRIVER_FUNCTIONS(X, X)
#undef X
};

}  // namespace

const char* function_name(Function function) noexcept { return kDescriptions[static_cast<size_t>(function)].name; }

int function_version(Function function) noexcept { return kDescriptions[static_cast<size_t>(function)].version; }

bool function_required(Function function) noexcept {
    return kDescriptions[static_cast<size_t>(function)].need == required;
}

bool has(const Table& table, Function function) noexcept {
    switch (function) {
#define X(name, version, need) \
    case Function::name: return table.name != nullptr;
        GPO_DRIVER_FUNCTIONS(X, X)
#undef X
        case Function::count: break;
    }
    return false;
}

void hide_later(Table& table, int version) noexcept {
#define X(name, added, need) \
    if (need == optional && added > version) table.name = nullptr;
    GPO_DRIVER_FUNCTIONS(X, X)
#undef X
}

int version_cap() noexcept {
    const char* value = environment::get("GPUORCH_CUDA_VERSION");
    if (!value || !*value) return INT_MAX;
    char* end = nullptr;
    const long version = std::strtol(value, &end, 10);
    if (*end || version <= 0 || version > INT_MAX) return INT_MAX;
    return std::max(static_cast<int>(version), kOldestVersion);
}

}  // namespace gpo::driver
