// bfloat16: the upper half of a float: 1 sign, 8 exponent and 7 significand bits.
#pragma once
#pragma GCC system_header

#include "gpo_device.h"

#define __GPO_N bfloat16
#define __GPO_T __nv_bfloat16
#define __GPO_T2 __nv_bfloat162
#define __GPO_DIGITS 8
#define __GPO_LEAST (-126)
#define __GPO_INF 0x7f80
#if !defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
#define __GPO_CONVERSIONS 1
#endif
#if !defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define __GPO_OPERATORS 1
#endif
#if !defined(__CUDA_NO_BFLOAT162_OPERATORS__)
#define __GPO_OPERATORS2 1
#endif
#include "gpo_narrow.h"

__gpo_inline float __gpo_to_float(const __nv_bfloat16& h) { return __gpo_bits<float>(static_cast<unsigned>(h.__x) << 16); }
__gpo_inline __nv_bfloat16 __float2bfloat16_rn(float x) {
    const unsigned bits = __gpo_bits<unsigned>(x);
    // Half of the last digit is added, one less before an even digit, and the carry goes where it must.
    __nv_bfloat16 h;
    h.__x = x != x ? 0x7fff : static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    return h;
}
/// The product is exact. If the sum is inexact its last bit is made odd, so that rounding goes to the right side.
__gpo_inline __nv_bfloat16 __gpo_fused(const __nv_bfloat16& a, const __nv_bfloat16& b, const __nv_bfloat16& c) {
    const double product = static_cast<double>(__gpo_to_float(a)) * static_cast<double>(__gpo_to_float(b));
    const double addend = static_cast<double>(__gpo_to_float(c));
    double sum = product + addend;
    const double part = sum - product;
    const double lost = (product - (sum - part)) + (addend - part);
    const long long bits = __gpo_bits<long long>(sum);
    if ((lost > 0.0 || lost < 0.0) && (bits & 1) == 0) sum = __gpo_bits<double>(bits + ((lost > 0.0) == (sum > 0.0) ? 1 : -1));
    return __double2bfloat16(sum);
}

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
