// The functions of the driver table as numbers, so that wrappers and tests can name them: Function::cuLaunchKernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/table.h"

namespace gpo::driver {

enum class Function : uint16_t {
#define X(name, version, need) name,
    GPO_DRIVER_FUNCTIONS(X, X)
#undef X
    count
};

inline constexpr size_t kFunctions = static_cast<size_t>(Function::count);

/// As cuda.h spells it: "cuMemAlloc".
const char* function_name(Function function) noexcept;

/// The CUDA version from which an entry is in the driver, as far as this library asks for it.
int function_version(Function function) noexcept;
bool function_required(Function function) noexcept;

/// True where the table has an entry for it.
bool has(const Table& table, Function function) noexcept;

/// Takes the optional entries later than `version` out of the table.
void hide_later(Table& table, int version) noexcept;

/// The oldest driver that is supported: CUDA 12.2.
inline constexpr int kOldestVersion = 12020;

/// The version beyond which optional functions are hidden: GPUORCH_CUDA_VERSION, but no older one than is supported;
/// else INT_MAX.
int version_cap() noexcept;

}  // namespace gpo::driver
