// Floating-point formats that are narrower than float, and conversions between them and float. The host's compiler and
// nvcc both compile this code. It uses no GPU instructions for these formats: results on all GPUs, including the
// software GPU, are the same bit for bit.
//
// widen() is exact. narrow() rounds to nearest, ties to even, and makes denormals. Every NaN becomes the format's
// canonical NaN: positive, with all other bits set, as CUDA's instructions make it. Numbers too large for the format
// become infinities. In the 8-bit formats, they and infinities become the largest finite number, as with __NV_SATFINITE
// of cuda_fp8.h: widen() takes infinities of e5m2, but narrow() never makes one.
//
// The results are correct only if the compiler's options neither flush denormals to zero nor fuse multiplications with
// additions.
#pragma once

#ifdef __CUDACC__
#define GPO_HOST_DEVICE __host__ __device__
#else
#define GPO_HOST_DEVICE
#endif

namespace gpo {

GPO_HOST_DEVICE constexpr unsigned bits_of(float x) { return __builtin_bit_cast(unsigned, x); }
GPO_HOST_DEVICE constexpr float float_of(unsigned bits) { return __builtin_bit_cast(float, bits); }

/// `exponent`, `fraction`: how many bits these fields have. `largest`: the encoding of the largest finite number.
/// `beyond`: the encoding into which narrow() turns larger numbers.
template <class Bits, int exponent, int fraction, unsigned largest, unsigned beyond>
struct NarrowFormat {
    using Stored = Bits;
    static constexpr int kBias = (1 << (exponent - 1)) - 1;
    static constexpr int kDropped = 23 - fraction;  // bits of a float's fraction that the format lacks
    static constexpr unsigned kSign = 1u << (exponent + fraction);
    static constexpr unsigned kLargest = largest, kBeyond = beyond, kNan = kSign - 1;
};

using Float16 = NarrowFormat<unsigned short, 5, 10, 0x7bff, 0x7c00>;
using Bfloat16 = NarrowFormat<unsigned short, 8, 7, 0x7f7f, 0x7f80>;
using Float8E4m3 = NarrowFormat<unsigned char, 4, 3, 0x7e, 0x7e>;  // without infinities: OCP's "fn"
using Float8E5m2 = NarrowFormat<unsigned char, 5, 2, 0x7b, 0x7b>;

template <class Format>
GPO_HOST_DEVICE constexpr float widen(typename Format::Stored stored) {
    // A power of 2: the difference of the biases.
    constexpr unsigned kScale = static_cast<unsigned>(127 + 127 - Format::kBias) << 23;
    const unsigned magnitude = stored & (Format::kSign - 1), shifted = magnitude << Format::kDropped;
    // The multiplication normalizes denormals. Infinities and NaNs become large finite numbers, and their exponents are
    // set to all ones afterwards.
    const unsigned finite = bits_of(float_of(shifted) * float_of(kScale));
    const unsigned bits = finite | (magnitude > Format::kLargest ? 0x7f800000 : 0);
    return float_of(bits | (stored & Format::kSign ? 0x80000000 : 0));
}

template <class Format>
GPO_HOST_DEVICE constexpr typename Format::Stored narrow(float x) {
    constexpr int kDropped = Format::kDropped;
    constexpr unsigned kRebias = static_cast<unsigned>(127 - Format::kBias) << 23, kLeastNormal = kRebias + (1 << 23);
    // The last bit of kGrid, as a float, has the value of the format's least denormal. A float that is added to kGrid
    // is therefore rounded to a multiple of this denormal.
    constexpr unsigned kGrid = static_cast<unsigned>(128 - Format::kBias + kDropped) << 23;
    const unsigned bits = bits_of(x), magnitude = bits & 0x7fffffff;
    // Adding `half` before the shift rounds to nearest: half of the result's last bit, less 1 if a tie must go down.
    const unsigned half = (1u << (kDropped - 1)) - 1 + (magnitude >> kDropped & 1);
    const unsigned normal = (magnitude - kRebias + half) >> kDropped;
    const unsigned denormal = bits_of(float_of(magnitude) + float_of(kGrid)) - kGrid;
    unsigned rounded = magnitude < kLeastNormal ? denormal : normal;
    rounded = rounded > Format::kLargest ? Format::kBeyond : rounded;
    rounded |= bits >> 31 ? Format::kSign : 0;
    return static_cast<typename Format::Stored>(magnitude > 0x7f800000 ? Format::kNan : rounded);
}

}  // namespace gpo
