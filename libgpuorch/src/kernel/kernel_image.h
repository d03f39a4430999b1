// Kernel images as bytes: is an image whole, and which kernels does it contain?
//
// cuModuleLoadDataEx takes no size, and trusts the sizes inside the image. An image whose headers claim more bytes than
// it has must never be passed to the driver.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpo::kernel {

/// A copy of an image with zeros behind it, as the driver takes it. Throws Failure(GPO_INVALID_IMAGE) for bytes that
/// are no ELF file, fatbin, PTX or built-in image, or are fewer than their headers say.
class ImageBytes {
public:
    ImageBytes(const void* bytes, size_t size);
    const void* data() const noexcept { return bytes_.data(); }
    size_t size() const noexcept { return size_; }
    std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), size_}; }

private:
    std::vector<std::byte> bytes_;
    size_t size_;
};

/// Names that may be kernels', for drivers that can't list kernels: the .entry names of PTX; all identifiers of an ELF
/// file that end with a NUL, with the kernels' symbols among them. Sorted, but for PTX. Empty for other images.
std::vector<std::string> names_in_image(std::span<const std::byte> image);

/// The image of the software GPU's built-in kernels begins with this.
inline constexpr std::string_view kBuiltinMagic = "GPOBUILTIN";

}  // namespace gpo::kernel
