// Checks that bytes are a whole shared object of this machine with the getter of a kernel image. The check comes before
// the dynamic loader, which trusts its input.
#pragma once

#include <cstddef>

namespace gpo::softgpu {

inline constexpr const char* kImageGetter = "gpo_soft_image_get";

/// The size by the ELF headers at `data`; 0 without headers. Only the headers are read, and not checked: if bytes may
/// have been altered, the caller first checks that the headers' tables lie within them.
size_t image_size(const char* data) noexcept;

/// NULL when the image can be loaded, else the fault, as the end of a sentence.
const char* image_fault(const char* data, size_t size) noexcept;

}  // namespace gpo::softgpu
