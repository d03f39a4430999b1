// Numbers of 16 bits in kernels, __half and __nv_bfloat16: every operation rounds as exact arithmetic says it must.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

/// A 16-bit floating-point type: names in the kernels below, and its form by IEEE 754.
struct Format {
    const char* header;
    const char* type;      // and with a 2 behind it that of a pair
    const char* name;      // in the names of conversions
    int digits;            // of the significand, the hidden one with them
    int least;             // exponent of the least normal number
    uint32_t infinity;     // its bits
    uint32_t one;
};
constexpr Format kHalf{"cuda_fp16.h", "__half", "half", 11, -14, 0x7c00, 0x3c00};
constexpr Format kBfloat16{"cuda_bf16.h", "__nv_bfloat16", "bfloat16", 8, -126, 0x7f80, 0x3f80};

// N is the name, T the type, T2 the type of a pair.
const char kKernels[] = R"(
#define JOIN(a, b, c) a##b##c
#define NAME(a, b, c) JOIN(a, b, c)
#define AS NAME(__ushort_as_, N, )
#define BITS NAME(__, N, _as_ushort)
typedef unsigned short bits_t;

extern "C" __global__ void widen(float* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 65536) out[i] = NAME(__, N, 2float)(AS((bits_t)i));
}
extern "C" __global__ void round_floats(bits_t* out, const float* in, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = BITS(NAME(__float2, N, _rn)(in[i]));
    out[4 * i + 1] = BITS(NAME(__float2, N, _rz)(in[i]));
    out[4 * i + 2] = BITS(NAME(__float2, N, _ru)(in[i]));
    out[4 * i + 3] = BITS(NAME(__float2, N, _rd)(in[i]));
}
extern "C" __global__ void round_doubles(bits_t* out, const double* in, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = BITS(NAME(__double2, N, )(in[i]));
}
extern "C" __global__ void round_integers(bits_t* out, const long long* in, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[2 * i] = BITS(NAME(__ll2, N, _rn)(in[i]));
    out[2 * i + 1] = BITS(NAME(__ull2, N, _rn)((unsigned long long)in[i]));
}
extern "C" __global__ void calculate(bits_t* out, const bits_t* in, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T a = AS(in[3 * i]), b = AS(in[3 * i + 1]), c = AS(in[3 * i + 2]);
    out[5 * i] = BITS(__hadd(a, b));
    out[5 * i + 1] = BITS(a - b);
    out[5 * i + 2] = BITS(__hmul(a, b));
    out[5 * i + 3] = BITS(a / b);
    out[5 * i + 4] = BITS(__hfma(a, b, c));
}
// One bit for each relation, ordered and then not.
extern "C" __global__ void compare(unsigned* out, const bits_t* in, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T a = AS(in[2 * i]), b = AS(in[2 * i + 1]);
    out[i] = (a == b) | (a < b) << 1 | (a <= b) << 2 | (a > b) << 3 | (a >= b) << 4 | (a != b) << 5 |
             __hequ(a, b) << 6 | __hltu(a, b) << 7 | __hne(a, b) << 8 | (unsigned)__hisnan(a) << 9;
    out[i] |= (unsigned)BITS(__hmin(a, b)) << 16;
}
)";

std::string kernels_of(const Format& format) {
    const std::string type = format.type, name = format.name;
    return "#include <" + std::string(format.header) + ">\n#define T " + type + "\n#define T2 " + type +
           "2\n#define N " + name + "\n" + kKernels;
}

// -- exact arithmetic ------------------------------------------------------------------------------------------------

using Wide = unsigned __int128;

/// negative ? -whole * 2^exponent : whole * 2^exponent; `more` says that a little is left over behind the last bit.
struct Exact {
    bool negative = false;
    Wide whole = 0;
    int exponent = 0;
    bool more = false;
};

Exact exact(const Format& format, uint32_t bits) {
    const uint32_t fraction_bits = static_cast<uint32_t>(format.digits - 1);
    const uint32_t fraction = bits & ((1u << fraction_bits) - 1), biased = (bits & 0x7fff) >> fraction_bits;
    const int exponent = format.least - static_cast<int>(fraction_bits) + (biased ? static_cast<int>(biased) - 1 : 0);
    return {(bits & 0x8000) != 0, biased ? fraction | 1u << fraction_bits : fraction, exponent};
}

Exact exact(double value) {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    return {std::signbit(value), static_cast<Wide>(std::ldexp(fraction, 53)), exponent - 53};
}

int compare_wide(Wide a, Wide b) { return a < b ? -1 : a > b; }

Exact sum(Exact a, Exact b) {
    const int exponent = std::min(a.exponent, b.exponent);
    a.whole <<= a.exponent - exponent;
    b.whole <<= b.exponent - exponent;
    if (a.negative == b.negative) return {a.negative, a.whole + b.whole, exponent};
    const int order = compare_wide(a.whole, b.whole);
    if (order == 0) return {false, 0, exponent};
    return order > 0 ? Exact{a.negative, a.whole - b.whole, exponent} : Exact{b.negative, b.whole - a.whole, exponent};
}

Exact product(const Exact& a, const Exact& b) {
    return {a.negative != b.negative, a.whole * b.whole, a.exponent + b.exponent};
}

Exact quotient(const Exact& a, const Exact& b) {
    const Wide shifted = a.whole << 64;
    return {a.negative != b.negative, shifted / b.whole, a.exponent - b.exponent - 64, shifted % b.whole != 0};
}

/// The bits of the nearest number; mode is n (ties to even), z, u or d, as CUDA's names have it.
uint32_t rounded(const Format& format, const Exact& value, char mode = 'n') {
    const uint32_t sign = value.negative ? 0x8000 : 0;
    if (value.whole == 0 && !value.more) return sign;
    int top = -1;
    for (Wide left = value.whole; left; left >>= 1) ++top;
    const int exponent = std::max(top + value.exponent, format.least);
    const int shift = exponent - (format.digits - 1) - value.exponent;   // bits to be dropped
    Wide kept = shift <= 0 ? value.whole << -shift : shift < 128 ? value.whole >> shift : 0;
    const Wide unit = Wide{1} << (shift > 0 && shift < 128 ? shift : 0);
    const Wide dropped = shift <= 0 ? 0 : shift < 128 ? value.whole & (unit - 1) : value.whole;
    const bool inexact = dropped != 0 || value.more;
    if (mode == 'n') {
        const bool half = shift > 0 && shift < 128 && dropped >= unit / 2;
        const bool beyond = half && (dropped > unit / 2 || value.more);
        if (beyond || (half && (kept & 1))) ++kept;
    } else if (inexact && ((mode == 'u' && !value.negative) || (mode == 'd' && value.negative))) {
        ++kept;
    }
    const uint64_t bits =
        (static_cast<uint64_t>(exponent - format.least) << (format.digits - 1)) + static_cast<uint64_t>(kept);
    if (bits < format.infinity) return sign | static_cast<uint32_t>(bits);
    const bool to_infinity = mode == 'n' || (mode == 'u' && !value.negative) || (mode == 'd' && value.negative);
    return sign | (to_infinity ? format.infinity : format.infinity - 1);
}

bool is_nan(const Format& format, uint32_t bits) { return (bits & 0x7fff) > format.infinity; }

/// A linear congruential generator: the same numbers everywhere.
struct Numbers {
    uint64_t state = 88172645463325252u;
    uint64_t operator()() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return state >> 16;
    }
};

/// A finite number with an exponent near 1's: sums of products fit 128 bits.
uint32_t finite(const Format& format, Numbers& numbers) {
    for (;;) {
        const uint32_t bits = static_cast<uint32_t>(numbers()) & 0xffff;
        const Exact value = exact(format, bits);
        if ((bits & 0x7fff) < format.infinity && (value.exponent > -32 && value.exponent < 16)) return bits;
    }
}

float as_float(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// A GPU and the kernels of a format. The tests skip where NVRTC doesn't find the toolkit's header of the format.
struct Calculator {
    explicit Calculator(const Format& of) : format(of), source(kernels_of(of)), present(gpu.has_header(of.header)) {
        if (present) stream = gpu.stream();
        else skip(std::string(of.header) + " is not where NVRTC is");
    }
    template <class... Arguments>
    void run(const char* name, uint32_t threads, const Arguments&... arguments) {
        Kernel kernel = gpu.kernel(source, name);
        REQUIRE_OK(launch(stream, kernel.get(), (threads + 127) / 128, 128, arguments...));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    }
    Gpu gpu;
    const Format& format;
    const std::string source;
    Stream stream;
    const bool present;
};

/// Counts the differences, and reports the first few.
struct Differences {
    uint64_t count = 0;
    void note(uint32_t got, uint32_t wanted, const std::string& of) {
        if (got == wanted || ++count > 5) return;
        FAIL_CHECK(of << " gives " << got << ", and exactly it is " << wanted);
    }
};

void every_value_converts(const Format& format) {
    Calculator calculator(format);
    if (!calculator.present) return;
    auto wide = calculator.gpu.pinned<float>(65536);
    calculator.run("widen", 65536, wide.data());
    Differences differences;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        if (is_nan(format, bits)) {
            differences.note(std::isnan(wide[bits]), 1,
                             "the number of bits " + std::to_string(bits) + ", asked if it is none,");
        } else if ((bits & 0x7fff) == format.infinity) {
            CHECK(std::isinf(wide[bits]));
        } else {
            const Exact value = exact(format, bits);
            const double wanted = std::ldexp(static_cast<double>(static_cast<uint64_t>(value.whole)), value.exponent);
            const bool same =
                wide[bits] == (value.negative ? -wanted : wanted) && std::signbit(wide[bits]) == value.negative;
            differences.note(same, 1, "the value of bits " + std::to_string(bits) + ", asked if it is right,");
        }
    }
    CHECK(differences.count == 0);

    // The conversion to the format: each number, values beside it, and values half-way to the next number.
    std::vector<float> all(wide.begin(), wide.end());
    for (uint32_t bits = 0; bits < format.infinity; ++bits) {
        const float here = wide[bits];
        const double next = bits + 1 < format.infinity ? wide[bits + 1] : 2.0 * here - wide[bits - 1];
        const auto middle = static_cast<float>((here + next) / 2);
        for (const float between : {middle, std::nextafterf(middle, 0.0f), std::nextafterf(middle, INFINITY)}) {
            all.push_back(between);
            all.push_back(-between);
        }
    }
    all.push_back(as_float(0x7f7fffff));
    all.push_back(as_float(0x00000001));
    auto in = calculator.gpu.pinned<float>(all.size());
    auto out = calculator.gpu.pinned<uint16_t>(4 * all.size());
    std::copy(all.begin(), all.end(), in.begin());
    const auto n = static_cast<uint32_t>(all.size());
    calculator.run("round_floats", n, out.data(), in.data(), n);
    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t mode = 0; mode < 4; ++mode) {
            const uint32_t got = out[4 * i + mode];
            const std::string what = "rounding " + std::to_string(all[i]) + " in mode " + "nzud"[mode];
            if (std::isnan(all[i])) differences.note(is_nan(format, got), 1, what + ", asked if it is none,");
            else if (std::isinf(all[i])) differences.note(got, format.infinity | (all[i] < 0 ? 0x8000u : 0u), what);
            else differences.note(got, rounded(format, exact(all[i]), "nzud"[mode]), what);
        }
    CHECK(differences.count == 0);
}

void doubles_and_integers_round_once(const Format& format) {
    Calculator calculator(format);
    if (!calculator.present) return;
    Numbers numbers;
    constexpr uint32_t n = 40'000;
    auto in = calculator.gpu.pinned<double>(n);
    auto integers = calculator.gpu.pinned<int64_t>(n);
    auto out = calculator.gpu.pinned<uint16_t>(2 * n);
    for (uint32_t i = 0; i < n; ++i) {
        // Half-way, or closer to the middle than a float can show.
        const uint64_t unit = uint64_t{1} << format.digits;
        const double middle =
            std::ldexp(static_cast<double>(unit | (numbers() & (unit - 1)) | 1), static_cast<int>(numbers() % 30) - 30);
        const double little = static_cast<double>(i % 3) - 1.0;
        in[i] = (i % 2 ? -1.0 : 1.0) * middle * (1.0 + little * 0x1p-50);
        integers[i] = static_cast<int64_t>(numbers() << (i % 16)) >> (numbers() % 63);
        if (i % 2 == 0) integers[i] = static_cast<int64_t>(((unit | 1) << (numbers() % 50)) + i % 3 - 1);
    }
    calculator.run("round_doubles", n, out.data(), in.data(), n);
    Differences differences;
    for (uint32_t i = 0; i < n; ++i)
        differences.note(out[i], rounded(format, exact(in[i])), "rounding the double " + std::to_string(in[i]));
    calculator.run("round_integers", n, out.data(), integers.data(), n);
    for (uint32_t i = 0; i < n; ++i) {
        const bool negative = integers[i] < 0;
        const auto bits = static_cast<uint64_t>(integers[i]);
        differences.note(out[2 * i], rounded(format, {negative, negative ? 0 - bits : bits, 0}),
                         "rounding " + std::to_string(integers[i]));
        differences.note(out[2 * i + 1], rounded(format, {false, bits, 0}),
                         "rounding unsigned " + std::to_string(bits));
    }
    CHECK(differences.count == 0);
}

void arithmetic_is_rounded_once(const Format& format) {
    Calculator calculator(format);
    if (!calculator.present) return;
    Numbers numbers;
    constexpr uint32_t n = 100'000;
    auto in = calculator.gpu.pinned<uint16_t>(3 * n);
    auto out = calculator.gpu.pinned<uint16_t>(5 * n);
    for (uint32_t i = 0; i < 3 * n; ++i) in[i] = static_cast<uint16_t>(finite(format, numbers));
    for (uint32_t i = 0; i < n; ++i)
        if ((in[3 * i + 1] & 0x7fff) == 0) in[3 * i + 1] = static_cast<uint16_t>(format.one);
    calculator.run("calculate", n, out.data(), in.data(), n);
    Differences differences;
    for (uint32_t i = 0; i < n; ++i) {
        const Exact a = exact(format, in[3 * i]), b = exact(format, in[3 * i + 1]), c = exact(format, in[3 * i + 2]);
        const Exact minus_b{!b.negative, b.whole, b.exponent};
        const std::string operands = " of bits " + std::to_string(in[3 * i]) + ", " + std::to_string(in[3 * i + 1]) +
                                     ", " + std::to_string(in[3 * i + 2]);
        // The sign of an exact zero is another matter.
        const auto note = [&](uint32_t got, const Exact& value, const char* what) {
            if (value.whole == 0 && !value.more) differences.note(got & 0x7fff, 0, what + operands);
            else differences.note(got, rounded(format, value), what + operands);
        };
        note(out[5 * i], sum(a, b), "the sum");
        note(out[5 * i + 1], sum(a, minus_b), "the difference");
        note(out[5 * i + 2], product(a, b), "the product");
        note(out[5 * i + 3], quotient(a, b), "the quotient");
        note(out[5 * i + 4], sum(product(a, b), c), "the fused product and sum");
    }
    CHECK(differences.count == 0);
}

/// If the product lies half-way between two numbers, the summand decides, however small.
void a_little_decides(const Format& format, uint16_t just_above_one, uint16_t little) {
    Calculator calculator(format);
    if (!calculator.present) return;
    const auto one_and_a_half = static_cast<uint16_t>(format.one | 1u << (format.digits - 2));
    const auto below = static_cast<uint16_t>(one_and_a_half + 1);   // the product is this and a half
    auto in = calculator.gpu.pinned<uint16_t>(6);
    auto out = calculator.gpu.pinned<uint16_t>(10);
    const uint16_t operands[] = {just_above_one, one_and_a_half, little,
                                 just_above_one, one_and_a_half, static_cast<uint16_t>(little | 0x8000)};
    std::copy(std::begin(operands), std::end(operands), in.begin());
    calculator.run("calculate", 2, out.data(), in.data(), 2u);
    CHECK(out[4] == below + 1);
    CHECK(out[9] == below);
}

void comparisons_know_what_is_no_number(const Format& format) {
    Calculator calculator(format);
    if (!calculator.present) return;
    const uint16_t nan = 0x7fff, one = static_cast<uint16_t>(format.one), two = 0x4000;
    struct Case {
        uint16_t a, b;
        uint32_t relations;   // of bits ==, <, <=, >, >=, !=, equ, ltu, ne, isnan
        uint16_t least;
    };
    const std::vector<Case> cases = {
        {one, one, 0b00'0101'0101, one},
        {one, two, 0b01'1010'0110, one},
        {two, one, 0b01'0011'1000, one},
        {0x8000, 0x0000, 0b00'0101'0101, 0x8000},
        {nan, one, 0b10'1110'0000, one},
        {one, nan, 0b00'1110'0000, one},
        {nan, nan, 0b10'1110'0000, nan},
        {static_cast<uint16_t>(format.infinity), one, 0b01'0011'1000, one},
    };
    auto in = calculator.gpu.pinned<uint16_t>(2 * cases.size());
    auto out = calculator.gpu.pinned<uint32_t>(cases.size());
    for (size_t i = 0; i < cases.size(); ++i) in[2 * i] = cases[i].a, in[2 * i + 1] = cases[i].b;
    const auto n = static_cast<uint32_t>(cases.size());
    calculator.run("compare", n, out.data(), in.data(), n);
    for (size_t i = 0; i < cases.size(); ++i) {
        CAPTURE(i);
        CHECK((out[i] & 0x3ff) == cases[i].relations);
        CHECK((out[i] >> 16) == cases[i].least);
    }
}

}  // namespace

TEST_CASE("every __half converts to float and back, and what lies between rounds as it should") {
    every_value_converts(kHalf);
}
TEST_CASE("every __nv_bfloat16 converts to float and back, and what lies between rounds as it should") {
    every_value_converts(kBfloat16);
}
TEST_CASE("doubles and integers become a __half by one rounding") { doubles_and_integers_round_once(kHalf); }
TEST_CASE("doubles and integers become a __nv_bfloat16 by one rounding") { doubles_and_integers_round_once(kBfloat16); }
TEST_CASE("sums, products, quotients and fused products of __half are exact but for one rounding") {
    arithmetic_is_rounded_once(kHalf);
}
TEST_CASE("sums, products, quotients and fused products of __nv_bfloat16 are exact but for one rounding") {
    arithmetic_is_rounded_once(kBfloat16);
}
TEST_CASE("a fused product and sum of __half is decided by the least addend") {
    a_little_decides(kHalf, 0x3c01, 0x0001);
}
TEST_CASE("a fused product and sum of __nv_bfloat16 is decided by the least addend") {
    a_little_decides(kBfloat16, 0x3f81, 0x0d80);   // 2^-100
}
TEST_CASE("comparisons of __half know what is no number") { comparisons_know_what_is_no_number(kHalf); }
TEST_CASE("comparisons of __nv_bfloat16 know what is no number") { comparisons_know_what_is_no_number(kBfloat16); }
