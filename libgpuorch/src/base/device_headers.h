// The texts of the headers in include/gpuorch/device, embedded in the library by device_headers.cmake. Kernel sources
// that the library compiles can include these headers although no folder with them is installed.
#pragma once

#include <span>

namespace gpo {

struct DeviceHeader {
    const char* name;  // as sources include it: gpuorch/device/…
    const char* text;
};

std::span<const DeviceHeader> device_headers() noexcept;

}  // namespace gpo
