// Are these bytes a whole shared object of this machine that exports the getter of a kernel image? Checked before the
// dynamic loader, which trusts its input, sees the bytes.
#pragma once

#include <cstddef>

namespace gpo::softgpu {

inline constexpr const char* kImageGetter = "gpo_soft_image_get";

/// The size that the ELF headers at `data` tell; 0 when there are none. Only the headers are read, and they are
/// believed: whoever may have altered bytes asks first whether the headers' tables lie within them.
size_t image_size(const char* data) noexcept;

/// NULL when it can be loaded, else what is wrong, as the end of a sentence.
const char* image_fault(const char* data, size_t size) noexcept;

}  // namespace gpo::softgpu
