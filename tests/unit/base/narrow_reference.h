// The reference for narrow floating-point formats: values by their definition, in double, and rounding by a search
// among all values of the format. The code shares nothing with base/narrow_floats.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace narrow_reference {

class Format {
public:
    /// `largest`: the bits of the largest finite number. `beyond`: the bits for larger numbers and infinities.
    Format(int exponent_bits, int fraction_bits, uint32_t largest, uint32_t beyond)
        : exponent_bits_(exponent_bits), fraction_bits_(fraction_bits), largest(largest), beyond(beyond) {
        for (uint32_t code = 0; code <= largest + 1; ++code) magnitudes_.push_back(magnitude(code));
    }
    uint32_t codes() const { return 2 * sign(); }
    uint32_t sign() const { return 1u << (exponent_bits_ + fraction_bits_); }
    uint32_t nan() const { return sign() - 1; }
    uint32_t least_normal() const { return 1u << fraction_bits_; }

    double value(uint32_t code) const {
        const uint32_t bits = code & (sign() - 1);
        if (bits <= largest) return code & sign() ? -magnitude(bits) : magnitude(bits);
        const bool infinite = bits == ((1u << exponent_bits_) - 1) << fraction_bits_;
        const double value = infinite ? std::numeric_limits<double>::infinity() : std::nan("");
        return code & sign() ? -value : value;
    }
    /// Rounds to nearest, ties to even. Numbers beyond the largest are rounded as if larger exponents existed.
    uint32_t nearest(double x) const {
        if (std::isnan(x)) return nan();
        const auto found = std::lower_bound(magnitudes_.begin(), magnitudes_.end(), std::fabs(x));
        uint32_t code = static_cast<uint32_t>(found - magnitudes_.begin());
        if (code > 0 && code <= largest + 1) {
            const double middle = (magnitudes_[code - 1] + magnitudes_[code]) / 2;
            if (std::fabs(x) < middle || (std::fabs(x) == middle && code % 2 == 1)) --code;
        }
        if (code > largest) code = beyond;
        return std::signbit(x) ? code | sign() : code;
    }

private:
    double magnitude(uint32_t code) const {
        const int exponent = static_cast<int>(code >> fraction_bits_);
        const auto fraction = static_cast<int>(code & ((1u << fraction_bits_) - 1));
        const int bias = (1 << (exponent_bits_ - 1)) - 1;
        if (exponent == 0) return std::ldexp(fraction, 1 - bias - fraction_bits_);
        return std::ldexp((1 << fraction_bits_) + fraction, exponent - bias - fraction_bits_);
    }

    int exponent_bits_, fraction_bits_;
    std::vector<double> magnitudes_;  // of the codes without sign, up to the first that is too large

public:
    const uint32_t largest, beyond;
};

inline const Format& float16() {
    static const Format format(5, 10, 0x7bff, 0x7c00);
    return format;
}
inline const Format& bfloat16() {
    static const Format format(8, 7, 0x7f7f, 0x7f80);
    return format;
}
inline const Format& float8_e4m3() {
    static const Format format(4, 3, 0x7e, 0x7e);
    return format;
}
inline const Format& float8_e5m2() {
    static const Format format(5, 2, 0x7b, 0x7b);
    return format;
}

}  // namespace narrow_reference
