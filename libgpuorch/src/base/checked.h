// Arithmetic on sizes and addresses whose result may not fit into 64 bits.
#pragma once

#include <cstdint>

namespace gpo {

/// Computes how many bytes `height` rows span, from the start of the first row to the end of the last. Rows have
/// `width` bytes and begin `pitch` bytes apart. Empty rows and no rows span 0 bytes. False on overflow: `span` is then
/// undefined.
constexpr bool span_of_rows(uint64_t pitch, uint64_t width, uint64_t height, uint64_t* span) noexcept {
    *span = 0;
    if (width == 0 || height == 0) return true;
    uint64_t before_last = 0;
    return !__builtin_mul_overflow(pitch, height - 1, &before_last) &&
           !__builtin_add_overflow(before_last, width, span);
}

/// True if `bytes` bytes from `address` run past the last address.
constexpr bool past_addresses(uint64_t address, uint64_t bytes) noexcept { return bytes > UINT64_MAX - address; }

}  // namespace gpo
