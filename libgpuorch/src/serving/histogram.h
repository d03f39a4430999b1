// Histograms whose classes are powers of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gpo {

/// The place of a value in a histogram of powers of two: 0 for 0 and 1.
constexpr size_t histogram_place(uint64_t value, size_t places) noexcept {
    return std::min<size_t>(static_cast<size_t>(std::bit_width(value - (value != 0))), places - 1);
}

}  // namespace gpo
