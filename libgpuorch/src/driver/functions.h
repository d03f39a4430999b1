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

/// The name in cuda.h: "cuMemAlloc".
const char* function_name(Function function) noexcept;

/// The CUDA version that the library asks for: the table's `version`.
int function_version(Function function) noexcept;
bool function_required(Function function) noexcept;

/// True if the table's entry is not NULL.
bool has(const Table& table, Function function) noexcept;

/// Sets optional entries newer than `version` to NULL.
void hide_later(Table& table, int version) noexcept;

/// The oldest driver that is supported: CUDA 12.2.
inline constexpr int kOldestVersion = 12020;

/// The newest version whose optional functions are used: GPUORCH_CUDA_VERSION, but at least kOldestVersion; INT_MAX if
/// the variable isn't set.
int version_cap() noexcept;

}  // namespace gpo::driver
