// The device header's files, held in the library; made from cuda_device/ by embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace gpo::softgpu {

struct EmbeddedHeader {
    std::string_view name, text;
};

std::span<const EmbeddedHeader> embedded_headers();

}  // namespace gpo::softgpu
