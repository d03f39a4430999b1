// Half precision: 1 sign, 5 exponent and 10 significand bits.
#pragma once
#pragma GCC system_header

#include "gpo_device.h"

#define __GPO_N half
#define __GPO_T __half
#define __GPO_T2 __half2
#define __GPO_DIGITS 11
#define __GPO_LEAST (-14)
#define __GPO_INF 0x7c00
#if !defined(__CUDA_NO_HALF_CONVERSIONS__)
#define __GPO_CONVERSIONS 1
#endif
#if !defined(__CUDA_NO_HALF_OPERATORS__)
#define __GPO_OPERATORS 1
#endif
#if !defined(__CUDA_NO_HALF2_OPERATORS__)
#define __GPO_OPERATORS2 1
#endif
#include "gpo_narrow.h"

#if defined(__GNUC__) && !defined(__clang__) && defined(__F16C__)
__gpo_inline float __gpo_to_float(const __half& h) { return static_cast<float>(__gpo_bits<_Float16>(h.__x)); }
__gpo_inline __half __float2half_rn(float x) {
    __half h;
    h.__x = x != x ? 0x7fff : __gpo_bits<unsigned short>(static_cast<_Float16>(x));
    return h;
}
#else
__gpo_inline float __gpo_to_float(const __half& h) {
    const unsigned magnitude = h.__x & 0x7fffu, sign = (h.__x & 0x8000u) << 16;
    // The exponent of the float is 112 too small, even below 2^-14. (No hexadecimal literal: C++ has them from 17 on.)
    const float number = __gpo_bits<float>(magnitude << 13) * 5192296858534827628530496329220096.0f;
    const unsigned bits = magnitude >= 0x7c00u ? magnitude << 13 | 0x7f800000u : __gpo_bits<unsigned>(number);
    return __gpo_bits<float>(bits | sign);
}
__gpo_inline __half __float2half_rn(float x) {
    const unsigned all = __gpo_bits<unsigned>(x), magnitude = all & 0x7fffffffu;
    // Half of the last digit is added, one less before an even digit, and the carry goes where it must.
    const unsigned normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    // Below 2^-14 the digits of a float at 0.5 are those of a half.
    const unsigned small = __gpo_bits<unsigned>(__gpo_bits<float>(magnitude) + 0.5f) - 0x3f000000u;
    const unsigned bits = magnitude > 0x7f800000u ? 0x7fffu
                          : magnitude >= 0x477ff000u ? 0x7c00u | (all >> 16 & 0x8000u)
                          : (magnitude < 0x38800000u ? small : normal) | (all >> 16 & 0x8000u);
    __half h;
    h.__x = static_cast<unsigned short>(bits);
    return h;
}
#endif
/// Exact as a double wherever it is in doubt: neither the product nor what is lost of the sum reaches a half's last digit.
__gpo_inline __half __gpo_fused(const __half& a, const __half& b, const __half& c) {
    const double sum = static_cast<double>(__gpo_to_float(a)) * static_cast<double>(__gpo_to_float(b)) +
                       static_cast<double>(__gpo_to_float(c));
    return __double2half(sum);
}

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)

typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;
#if !defined(CUDA_NO_HALF)
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
#endif
