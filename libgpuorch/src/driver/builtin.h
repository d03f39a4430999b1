// The built-in kernels (module.h lists them), which need no compiler: PTX for CUDA, C++ functions for the software GPU.
// Both do the same. Their sources are builtin.cu and softgpu/image/builtin.cpp.
#pragma once

#include <string_view>

namespace gpo::driver {

/// builtin.ptx, terminated by a NUL that is not counted. Made at build time from the committed file (embed.cmake).
std::string_view builtin_ptx() noexcept;
/// condition.ptx in the same form: the kernel that decides conditional nodes. For drivers of CUDA 12.3 and newer.
std::string_view condition_ptx() noexcept;
/// push.ptx in the same form: the kernel that pushes the host's tasks into a ring.
std::string_view push_ptx() noexcept;
/// combine.ptx in the same form: the kernel that combines several ranks' data for collectives.
std::string_view combine_ptx() noexcept;

}  // namespace gpo::driver
