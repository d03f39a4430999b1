// The seal of a kernel image: bytes behind the shared object that detect changes since the compiler wrote the object.
// The seal holds a SHA-256 of the object, so damage is found before the dynamic loader follows an altered pointer. A
// seal is no signature: any program that can write an image can seal it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace gpo::softgpu {

/// The compiler's shared object followed by its seal. Bytes behind the object's last header, section or segment are
/// dropped. Bytes that are no shared object come back unchanged. Throws std::bad_alloc.
std::vector<std::byte> seal_image(std::string_view object);

/// NULL when the seal behind the `object_size` bytes holds, else what is wrong, as a whole sentence. `size`: of all
/// bytes.
const char* seal_fault(const char* data, size_t object_size, size_t size) noexcept;

/// Bytes of a seal.
inline constexpr size_t kSealBytes = 56;

}  // namespace gpo::softgpu
