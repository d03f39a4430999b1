// Arithmetic on sizes and addresses whose result may not fit into 64 bits.
#pragma once

#include <cstdint>

namespace gpo {

/// Bytes from the first of `height` rows of `width` bytes, `pitch` apart, to behind the last one; 0 if there are none.
/// False if that doesn't fit; `span` isn't to be used then.
constexpr bool span_of_rows(uint64_t pitch, uint64_t width, uint64_t height, uint64_t* span) noexcept {
    *span = 0;
    if (width == 0 || height == 0) return true;
    uint64_t before_last = 0;
    return !__builtin_mul_overflow(pitch, height - 1, &before_last) &&
           !__builtin_add_overflow(before_last, width, span);
}

/// Whether so many bytes from `address` on go beyond what an address can say.
constexpr bool past_addresses(uint64_t address, uint64_t bytes) noexcept { return bytes > UINT64_MAX - address; }

}  // namespace gpo
