// The built-in kernels (module.h lists them), which need no compiler: PTX for CUDA, C++ functions for the software GPU.
// Both do the same. Their sources are builtin.cu and softgpu/image/builtin.cpp.
#pragma once

#include <string_view>

namespace gpo::driver {

/// builtin.ptx, terminated by a NUL that is not counted. Made at build time from the committed file (embed.cmake).
std::string_view builtin_ptx() noexcept;
/// condition.ptx, likewise: the kernel that decides conditional nodes of graphs. For drivers of CUDA 12.3 and newer.
std::string_view condition_ptx() noexcept;
/// push.ptx, likewise: the kernel by which the host pushes tasks into a ring.
std::string_view push_ptx() noexcept;
/// combine.ptx, likewise: the kernel by which collectives combine the data of several ranks.
std::string_view combine_ptx() noexcept;

}  // namespace gpo::driver
