// The device header's files, held in the library; made from cuda_device/ by embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace gpo::softgpu {

struct EmbeddedHeader {
    std::string_view name, text;
};

std::span<const EmbeddedHeader> embedded_headers();

/// A digest of the compiler's and the token pass's own text. Library versions whose compilers may make different images
/// of a source have different digests.
std::string_view compiler_digest();

}  // namespace gpo::softgpu
