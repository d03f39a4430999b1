// The built-in kernels of the software GPU: an image that is part of the library, so it needs no compiler and no file.
// Where an image is loaded, the bytes of builtin_image() stand for it.
#pragma once

#include <span>
#include <string_view>

#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

/// The bytes to give to cuModuleLoadDataEx, for Driver::builtin_image. Static, with a NUL behind them.
std::string_view builtin_image() noexcept;

/// Whether an image begins with those bytes. Reads no further than the first that differs.
bool is_builtin_image(const void* data) noexcept;

std::span<const gpo_soft_kernel> builtin_kernels() noexcept;

}  // namespace gpo::softgpu
