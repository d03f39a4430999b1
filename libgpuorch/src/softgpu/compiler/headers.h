// The device header's files, held in the library; made from cuda_device/ by embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace gpo::softgpu {

struct EmbeddedHeader {
    std::string_view name, text;
};

std::span<const EmbeddedHeader> embedded_headers();

/// Tells versions of the library apart whose compilers may make different images of one source: a digest of the
/// compiler's and the token pass's own text.
std::string_view compiler_digest();

}  // namespace gpo::softgpu
