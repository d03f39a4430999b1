// Conversions between float and narrower formats (base/narrow_floats.h).
#include "base/narrow_floats.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "unit/base/narrow_reference.h"

using narrow_reference::Format;

namespace {

/// Counts wrong conversions of the format's codes, and of floats.
template <class Narrow>
struct Conversions {
    const Format& format;
    uint32_t wrong = 0, compared = 0;

    void compare_narrow(float x) {
        ++compared;
        if (gpo::narrow<Narrow>(x) == format.nearest(static_cast<double>(x))) return;
        if (wrong++ < 5) MESSAGE("wrongly rounded: " << x << ", bits " << std::bit_cast<uint32_t>(x));
    }
    void compare_widen(uint32_t code) {
        ++compared;
        const double expected = format.value(code);
        const auto found = static_cast<double>(gpo::widen<Narrow>(static_cast<typename Narrow::Stored>(code)));
        if (std::isnan(expected) ? std::isnan(found)
                                 : std::bit_cast<uint64_t>(found) == std::bit_cast<uint64_t>(expected))
            return;
        if (wrong++ < 5) MESSAGE("wrongly widened: " << code);
    }
    void compare_around(double x) {
        const auto middle = static_cast<float>(x);
        for (const float magnitude : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, 1e38f)}) {
            compare_narrow(magnitude);
            compare_narrow(-magnitude);
        }
    }
};

template <class Narrow>
void check_all(const Format& format) {
    Conversions<Narrow> conversions{format};
    for (uint32_t code = 0; code < format.codes(); ++code) {
        conversions.compare_widen(code);
        conversions.compare_narrow(static_cast<float>(format.value(code)));
    }
    // Midpoints of neighbours; the last neighbour is the first number that is too large.
    double before = 0;
    for (uint32_t code = 1; code <= format.largest; ++code) {
        const double at = format.value(code);
        conversions.compare_around((before + at) / 2);
        if (code == format.largest) conversions.compare_around(at + (at - before) / 2);
        before = at;
    }
    for (const float x : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
                          std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::signaling_NaN()}) {
        conversions.compare_narrow(x);
        conversions.compare_narrow(-x);
    }
    constexpr uint64_t kStep = 10007;  // 2^32 / 10007 floats of all magnitudes
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += kStep)
        conversions.compare_narrow(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    CHECK(conversions.wrong == 0);
    CHECK(conversions.compared > 400'000);
}

/// All codes but those of NaNs and infinities come back.
template <class Narrow>
uint32_t changed_codes(uint32_t count) {
    uint32_t changed = 0;
    for (uint32_t code = 0; code < count; ++code) {
        const auto stored = static_cast<typename Narrow::Stored>(code);
        changed += gpo::narrow<Narrow>(gpo::widen<Narrow>(stored)) != stored;
    }
    return changed;
}

}  // namespace

TEST_CASE("float16: each code is widened exactly, and each float rounded to the nearest code") {
    check_all<gpo::Float16>(narrow_reference::float16());
}

TEST_CASE("bfloat16: each code is widened exactly, and each float rounded to the nearest code") {
    check_all<gpo::Bfloat16>(narrow_reference::bfloat16());
}

TEST_CASE("float8 e4m3: each code is widened exactly, and each float rounded to the nearest code, at most 448") {
    check_all<gpo::Float8E4m3>(narrow_reference::float8_e4m3());
}

TEST_CASE("float8 e5m2: each code is widened exactly, and each float rounded to the nearest code, at most 57344") {
    check_all<gpo::Float8E5m2>(narrow_reference::float8_e5m2());
}

TEST_CASE("narrow formats: widened and narrowed again, only NaNs and infinities of 8 bits change") {
    CHECK(changed_codes<gpo::Float16>(1 << 16) == 2 * 1023 - 1);  // NaNs, but for the canonical one
    CHECK(changed_codes<gpo::Bfloat16>(1 << 16) == 2 * 127 - 1);
    CHECK(changed_codes<gpo::Float8E4m3>(1 << 8) == 2 * 1 - 1);
    CHECK(changed_codes<gpo::Float8E5m2>(1 << 8) == 2 * 3 - 1 + 2);  // and two infinities
}

TEST_CASE("narrow formats: ties go to the even code, and what is too large saturates or becomes an infinity") {
    CHECK(gpo::narrow<gpo::Float16>(65519.996f) == 0x7bff);
    CHECK(gpo::narrow<gpo::Float16>(65520.0f) == 0x7c00);
    CHECK(gpo::narrow<gpo::Float16>(1.0f + 0x1p-11f) == 0x3c00);
    CHECK(gpo::narrow<gpo::Float16>(1.0f + 0x3p-11f) == 0x3c02);
    CHECK(gpo::narrow<gpo::Float16>(0x1p-25f) == 0);
    CHECK(gpo::narrow<gpo::Float16>(0x3p-25f) == 2);
    CHECK(gpo::narrow<gpo::Float16>(-0x1p-26f) == 0x8000);
    CHECK(gpo::narrow<gpo::Bfloat16>(std::numeric_limits<float>::max()) == 0x7f80);
    CHECK(gpo::narrow<gpo::Bfloat16>(1.0f + 0x1p-8f) == 0x3f80);
    CHECK(gpo::narrow<gpo::Bfloat16>(1.0f + 0x3p-8f) == 0x3f82);
    CHECK(gpo::narrow<gpo::Float8E4m3>(464.0f) == 0x7e);
    CHECK(gpo::narrow<gpo::Float8E4m3>(1e30f) == 0x7e);
    CHECK(gpo::narrow<gpo::Float8E4m3>(-std::numeric_limits<float>::infinity()) == 0xfe);
    CHECK(gpo::narrow<gpo::Float8E4m3>(17.0f) == gpo::narrow<gpo::Float8E4m3>(16.0f));
    CHECK(gpo::narrow<gpo::Float8E4m3>(19.0f) == gpo::narrow<gpo::Float8E4m3>(20.0f));
    CHECK(gpo::narrow<gpo::Float8E5m2>(1e30f) == 0x7b);
    CHECK(gpo::narrow<gpo::Float8E5m2>(std::numeric_limits<float>::infinity()) == 0x7b);
    CHECK(gpo::widen<gpo::Float8E5m2>(0x7c) == std::numeric_limits<float>::infinity());
    for (const float nan : {std::nanf(""), -std::nanf("")}) {
        CHECK(gpo::narrow<gpo::Float16>(nan) == 0x7fff);
        CHECK(gpo::narrow<gpo::Bfloat16>(nan) == 0x7fff);
        CHECK(gpo::narrow<gpo::Float8E4m3>(nan) == 0x7f);
        CHECK(gpo::narrow<gpo::Float8E5m2>(nan) == 0x7f);
    }
}
