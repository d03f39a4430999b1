// The seal of a kernel image: bytes behind the shared object that tell whether the object is as the compiler left it.
// The seal holds a SHA-256 of the object, so damage is found before the dynamic loader follows an altered pointer. It
// is no signature: whoever can write an image can seal it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace gpo::softgpu {

/// A shared object as the compiler made it, with its seal behind it. What lies behind the object's last header, section
/// or segment is dropped. Bytes that are no shared object come back as they are. Throws std::bad_alloc.
std::vector<std::byte> seal_image(std::string_view object);

/// NULL when the seal behind the `object_size` bytes holds, else what is wrong, as a whole sentence. `size`: of all
/// bytes.
const char* seal_fault(const char* data, size_t object_size, size_t size) noexcept;

/// Bytes of a seal.
inline constexpr size_t kSealBytes = 56;

}  // namespace gpo::softgpu
