// SHA-256 (FIPS 180-4), for keys and checksums of the kernel cache, and for the seals of the software GPU's images.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpo {

class Digest {
public:
    void add(const void* bytes, size_t count) noexcept;
    /// Adds a field as its length and its bytes: neighbouring fields can't be confused.
    void add_field(std::string_view field) noexcept;
    void add_field(uint64_t number) noexcept;
    /// Ends the digest: no more data may be added.
    std::array<uint8_t, 32> finish() noexcept;

private:
    void block(const uint8_t* bytes) noexcept;
    std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<uint8_t, 64> pending_{};
    size_t pending_count_ = 0;
    uint64_t total_ = 0;
};

std::string hex_of(const std::array<uint8_t, 32>& digest);

}  // namespace gpo
