// The headers of include/gpuorch/device as text, which is part of the library: kernel sources that the library compiles
// find them without a folder. Made by device_headers.cmake.
#pragma once

#include <span>

namespace gpo {

struct DeviceHeader {
    const char* name;  // as sources include it: gpuorch/device/…
    const char* text;
};

std::span<const DeviceHeader> device_headers() noexcept;

}  // namespace gpo
