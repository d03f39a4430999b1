#include "softgpu/image/seal.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/digest.h"
#include "softgpu/image/check.h"
#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

namespace {

struct Seal {
    std::array<char, 8> magic;
    uint32_t layout;                 // of this struct
    uint32_t abi;                    // GPO_SOFT_KERNEL_ABI of the library that compiled the image
    uint64_t object_bytes;
    std::array<uint8_t, 32> digest;  // SHA-256 of the object and of what stands before the digest here
};
static_assert(sizeof(Seal) == kSealBytes && offsetof(Seal, digest) == 24);

constexpr std::array<char, 8> kSealMagic = {'G', 'P', 'O', '-', 'S', 'E', 'A', 'L'};
constexpr uint32_t kSealLayout = 1;

std::array<uint8_t, 32> digest_with(const char* object, size_t size, const Seal& seal) noexcept {
    Digest digest;
    digest.add(object, size);
    digest.add(&seal, offsetof(Seal, digest));
    return digest.finish();
}

}  // namespace

std::vector<std::byte> seal_image(std::string_view object) {
    const auto* begin = reinterpret_cast<const std::byte*>(object.data());
    std::vector<std::byte> out(begin, begin + object.size());
    if (image_fault(object.data(), object.size())) return out;
    out.resize(image_size(object.data()));
    Seal seal{kSealMagic, kSealLayout, GPO_SOFT_KERNEL_ABI, out.size(), {}};
    seal.digest = digest_with(object.data(), out.size(), seal);
    const auto* bytes = reinterpret_cast<const std::byte*>(&seal);
    out.insert(out.end(), bytes, bytes + sizeof seal);
    return out;
}

const char* seal_fault(const char* data, size_t object_size, size_t size) noexcept {
    Seal seal{};
    if (size < object_size || size - object_size < sizeof seal ||
        (std::memcpy(&seal, data + object_size, sizeof seal), seal.magic != kSealMagic))
        return "the image carries no digest: it was made for another version of the software GPU, or is damaged";
    if (seal.object_bytes != object_size || seal.digest != digest_with(data, object_size, seal))
        return "the image is damaged: its bytes don't match the digest that they carry";
    if (seal.layout != kSealLayout || seal.abi != GPO_SOFT_KERNEL_ABI)
        return "the image was made for another version of the software GPU";
    return nullptr;
}

}  // namespace gpo::softgpu
