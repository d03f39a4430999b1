// CUDA's mathematical functions: the C library's, in float and double, with CUDA's overloads and intrinsics. The fast
// intrinsics (__expf, …) are at least as exact as CUDA's.
#pragma once

#include "gpo_atomics.h"

template <class T> struct __gpo_integral {};
#define __GPO_INTEGRAL(T) template <> struct __gpo_integral<T> { typedef double real; };
__GPO_INTEGRAL(bool) __GPO_INTEGRAL(char) __GPO_INTEGRAL(signed char) __GPO_INTEGRAL(unsigned char)
__GPO_INTEGRAL(short) __GPO_INTEGRAL(unsigned short) __GPO_INTEGRAL(int) __GPO_INTEGRAL(unsigned int)
__GPO_INTEGRAL(long) __GPO_INTEGRAL(unsigned long) __GPO_INTEGRAL(long long) __GPO_INTEGRAL(unsigned long long)
#undef __GPO_INTEGRAL

// name(double) and namef(float) are the C library's; name(float) and name(integer) are the overloads.
#define __GPO_UNARY(name)                                                                  \
    extern "C" double name(double) noexcept;                                               \
    extern "C" float name##f(float) noexcept;                                              \
    __gpo_inline float name(float x) { return __builtin_##name##f(x); }                    \
    template <class T>                                                                     \
    __gpo_inline typename __gpo_integral<T>::real name(T x) { return __builtin_##name(static_cast<double>(x)); }
__GPO_UNARY(acos) __GPO_UNARY(acosh) __GPO_UNARY(asin) __GPO_UNARY(asinh) __GPO_UNARY(atan) __GPO_UNARY(atanh)
__GPO_UNARY(cbrt) __GPO_UNARY(ceil) __GPO_UNARY(cos) __GPO_UNARY(cosh) __GPO_UNARY(erf) __GPO_UNARY(erfc)
__GPO_UNARY(exp) __GPO_UNARY(exp2) __GPO_UNARY(expm1) __GPO_UNARY(fabs) __GPO_UNARY(floor) __GPO_UNARY(lgamma)
__GPO_UNARY(log) __GPO_UNARY(log10) __GPO_UNARY(log1p) __GPO_UNARY(log2) __GPO_UNARY(logb) __GPO_UNARY(nearbyint)
__GPO_UNARY(rint) __GPO_UNARY(round) __GPO_UNARY(sin) __GPO_UNARY(sinh) __GPO_UNARY(sqrt) __GPO_UNARY(tan)
__GPO_UNARY(tanh) __GPO_UNARY(tgamma) __GPO_UNARY(trunc)
#undef __GPO_UNARY

template <class T> struct __gpo_arithmetic : __gpo_integral<T> {};
template <> struct __gpo_arithmetic<float> { typedef float real; };
template <> struct __gpo_arithmetic<double> { typedef double real; };

// Two types that are not both float or both double: float with an integer is float, all else double, as in NVRTC. If
// NVRTC finds the call ambiguous (two integers, a float to the power of anything but an int), the result is nvcc's.
#define __GPO_BINARY(name)                                                                                             \
    extern "C" double name(double, double) noexcept;                                                                   \
    extern "C" float name##f(float, float) noexcept;                                                                   \
    __gpo_inline float name(float x, float y) { return __builtin_##name##f(x, y); }                                    \
    template <class T, class U, class = typename __gpo_arithmetic<T>::real, class = typename __gpo_arithmetic<U>::real> \
    __gpo_inline typename __gpo_arithmetic<decltype(T() + U())>::real name(T x, U y) {                                 \
        typedef typename __gpo_arithmetic<decltype(T() + U())>::real real;                                             \
        return name(static_cast<real>(x), static_cast<real>(y));                                                       \
    }
__GPO_BINARY(atan2) __GPO_BINARY(copysign) __GPO_BINARY(fdim) __GPO_BINARY(fmod) __GPO_BINARY(hypot)
__GPO_BINARY(nextafter) __GPO_BINARY(remainder)
__GPO_BINARY(pow)
#undef __GPO_BINARY
#define __GPO_POWER(T) \
    __gpo_inline double pow(float x, T y) { return __builtin_pow(static_cast<double>(x), static_cast<double>(y)); }
__GPO_POWER(unsigned int) __GPO_POWER(long) __GPO_POWER(unsigned long) __GPO_POWER(long long) __GPO_POWER(unsigned long long)
#undef __GPO_POWER

extern "C" {
double fmax(double, double) noexcept;
double fmin(double, double) noexcept;
float fmaxf(float, float) noexcept;
float fminf(float, float) noexcept;
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double scalbn(double, int) noexcept;
double scalbln(double, long) noexcept;
float scalblnf(float, long) noexcept;
float scalbnf(float, int) noexcept;
double frexp(double, int*) noexcept;
float frexpf(float, int*) noexcept;
double modf(double, double*) noexcept;
float modff(float, float*) noexcept;
int ilogb(double) noexcept;
int ilogbf(float) noexcept;
long lrint(double) noexcept;
long lrintf(float) noexcept;
long long llrint(double) noexcept;
long long llrintf(float) noexcept;
long lround(double) noexcept;
long lroundf(float) noexcept;
long long llround(double) noexcept;
long long llroundf(float) noexcept;
double exp10(double) noexcept;
float exp10f(float) noexcept;
double j0(double) noexcept;
double j1(double) noexcept;
double y0(double) noexcept;
double y1(double) noexcept;
void sincos(double, double*, double*) noexcept;
void sincosf(float, float*, float*) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
}
__gpo_inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__gpo_inline float ldexp(float x, int e) { return __builtin_ldexpf(x, e); }
__gpo_inline float scalbn(float x, int e) { return __builtin_scalbnf(x, e); }
__gpo_inline float scalbln(float x, long e) { return __builtin_scalblnf(x, e); }
#define __GPO_SCALED(name, E)                                                  \
    template <class T>                                                         \
    __gpo_inline typename __gpo_integral<T>::real name(T x, E e) {             \
        return __builtin_##name(static_cast<double>(x), e);                    \
    }
__GPO_SCALED(ldexp, int) __GPO_SCALED(scalbn, int) __GPO_SCALED(scalbln, long) __GPO_SCALED(frexp, int*)
#undef __GPO_SCALED
__gpo_inline float frexp(float x, int* e) { return __builtin_frexpf(x, e); }
__gpo_inline float modf(float x, float* whole) { return __builtin_modff(x, whole); }
__gpo_inline float abs(float x) { return __builtin_fabsf(x); }
__gpo_inline double abs(double x) { return __builtin_fabs(x); }
__gpo_inline long abs(long x) { return x < 0 ? -x : x; }
__gpo_inline long long abs(long long x) { return x < 0 ? -x : x; }
__gpo_inline void sincos(float x, float* s, float* c) { sincosf(x, s, c); }

__gpo_inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
__gpo_inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
__gpo_inline float rsqrt(float x) { return rsqrtf(x); }
__gpo_inline float rcbrtf(float x) { return 1.0f / __builtin_cbrtf(x); }
__gpo_inline double rcbrt(double x) { return 1.0 / __builtin_cbrt(x); }
__gpo_inline float rhypotf(float x, float y) { return 1.0f / __builtin_hypotf(x, y); }
__gpo_inline double rhypot(double x, double y) { return 1.0 / __builtin_hypot(x, y); }
/// Without undue overflow: where the sum of squares leaves the range, that of scaled numbers doesn't.
__gpo_inline double __gpo_norm(int count, const double* of) {
    double sum = 0.0, most = 0.0;
    for (int i = 0; i < count; ++i) sum += of[i] * of[i];
    if (sum >= 1e-289 && sum <= 1e307) return __builtin_sqrt(sum);
    for (int i = 0; i < count; ++i)
        if (__builtin_fabs(of[i]) > most) most = __builtin_fabs(of[i]);
    if (most == 0.0) return sum;   // zeros and NaNs
    if (__builtin_isinf(most)) return most;
    const double scale = most > 1.0 ? 2.409919865102884e-181 : 4.149515568880993e+180;   // 2^-600, 2^600
    sum = 0.0;
    for (int i = 0; i < count; ++i) sum += (of[i] * scale) * (of[i] * scale);
    return __builtin_sqrt(sum) / scale;
}
__gpo_inline double norm3d(double a, double b, double c) {
    const double of[] = {a, b, c};
    return __gpo_norm(3, of);
}
__gpo_inline float norm3df(float a, float b, float c) {
    return static_cast<float>(norm3d(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)));
}

/// x half turns as quarters of a turn (only the number's last two bits count) and at most an eighth of a turn in
/// radians. The subtraction is exact.
__gpo_inline double __gpo_quarters(double x, int* quarters) {
    const double turned = x - 2.0 * __builtin_rint(x * 0.5), quarter = __builtin_rint(turned * 2.0);
    *quarters = static_cast<int>(quarter) & 3;
    return (turned - quarter * 0.5) * 3.14159265358979323846;
}
__gpo_inline double sinpi(double x) {
    int quarters;
    const double rest = __gpo_quarters(x, &quarters);
    const double result = quarters & 1 ? __builtin_cos(rest) : __builtin_sin(rest);
    return result == 0.0 ? __builtin_copysign(0.0, x) : quarters & 2 ? -result : result;
}
__gpo_inline double cospi(double x) {
    int quarters;
    const double rest = __gpo_quarters(x, &quarters);
    const double result = quarters & 1 ? __builtin_sin(rest) : __builtin_cos(rest);
    return result == 0.0 ? 0.0 : quarters == 1 || quarters == 2 ? -result : result;
}
__gpo_inline void sincospi(double x, double* s, double* c) {
    *s = sinpi(x);
    *c = cospi(x);
}
__gpo_inline float sinpif(float x) { return static_cast<float>(sinpi(static_cast<double>(x))); }
__gpo_inline float cospif(float x) { return static_cast<float>(cospi(static_cast<double>(x))); }
__gpo_inline void sincospif(float x, float* s, float* c) {
    *s = sinpif(x);
    *c = cospif(x);
}
__gpo_inline double normcdf(double x) { return 0.5 * __builtin_erfc(-x * 0.70710678118654752440); }
__gpo_inline float normcdff(float x) { return static_cast<float>(normcdf(static_cast<double>(x))); }
__gpo_inline float fdividef(float x, float y) { return x / y; }

#define __GPO_CLASSIFY(name, builtin)                                   \
    __gpo_inline bool name(float x) { return builtin(x) != 0; }         \
    __gpo_inline bool name(double x) { return builtin(x) != 0; }
__GPO_CLASSIFY(isnan, __builtin_isnan) __GPO_CLASSIFY(isinf, __builtin_isinf)
__GPO_CLASSIFY(isfinite, __builtin_isfinite) __GPO_CLASSIFY(signbit, __builtin_signbit)
#undef __GPO_CLASSIFY

// -- min and max: a NaN gives way to a number ------------------------------------------------------------------------

#define __GPO_MINMAX(T, A, B)                                                                                          \
    __gpo_inline T min(A x, B y) { T a = static_cast<T>(x), b = static_cast<T>(y); return a < b ? a : b; }             \
    __gpo_inline T max(A x, B y) { T a = static_cast<T>(x), b = static_cast<T>(y); return a < b ? b : a; }
#define __GPO_MINMAX_REAL(T, A, B)                                                                                     \
    __gpo_inline T min(A x, B y) { T a = static_cast<T>(x), b = static_cast<T>(y); return a < b || b != b ? a : b; }   \
    __gpo_inline T max(A x, B y) { T a = static_cast<T>(x), b = static_cast<T>(y); return b < a || b != b ? a : b; }
__GPO_MINMAX(int, int, int)
__GPO_MINMAX(unsigned int, unsigned int, unsigned int)
__GPO_MINMAX(unsigned int, int, unsigned int)
__GPO_MINMAX(unsigned int, unsigned int, int)
__GPO_MINMAX(long, long, long)
__GPO_MINMAX(unsigned long, unsigned long, unsigned long)
__GPO_MINMAX(unsigned long, long, unsigned long)
__GPO_MINMAX(unsigned long, unsigned long, long)
__GPO_MINMAX(long long, long long, long long)
__GPO_MINMAX(unsigned long long, unsigned long long, unsigned long long)
__GPO_MINMAX(unsigned long long, long long, unsigned long long)
__GPO_MINMAX(unsigned long long, unsigned long long, long long)
__GPO_MINMAX_REAL(float, float, float)
__GPO_MINMAX_REAL(double, double, double)
__GPO_MINMAX_REAL(double, float, double)
__GPO_MINMAX_REAL(double, double, float)
#undef __GPO_MINMAX
#undef __GPO_MINMAX_REAL
__gpo_inline float fmin(float x, float y) { return min(x, y); }
__gpo_inline float fmax(float x, float y) { return max(x, y); }
__gpo_inline unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
__gpo_inline unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
__gpo_inline long long llmin(long long a, long long b) { return min(a, b); }
__gpo_inline long long llmax(long long a, long long b) { return max(a, b); }
__gpo_inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
__gpo_inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

// -- floating-point intrinsics ---------------------------------------------------------------------------------------

__gpo_inline float __expf(float x) { return __builtin_expf(x); }
__gpo_inline float __exp10f(float x) { return exp10f(x); }
__gpo_inline float __logf(float x) { return __builtin_logf(x); }
__gpo_inline float __log2f(float x) { return __builtin_log2f(x); }
__gpo_inline float __log10f(float x) { return __builtin_log10f(x); }
__gpo_inline float __sinf(float x) { return __builtin_sinf(x); }
__gpo_inline float __cosf(float x) { return __builtin_cosf(x); }
__gpo_inline float __tanf(float x) { return __builtin_tanf(x); }
__gpo_inline float __tanhf(float x) { return __builtin_tanhf(x); }
__gpo_inline float __powf(float x, float y) { return __builtin_powf(x, y); }
__gpo_inline void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
__gpo_inline float __fdividef(float x, float y) { return x / y; }
__gpo_inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

/// x, through which the compiler may not look: a product isn't contracted with the sum it goes into.
template <class T>
__gpo_inline T __gpo_as_is(T x) {
#if defined(__x86_64__)
    __asm__("" : "+x"(x));
#else
    __asm__("" : "+w"(x));
#endif
    return x;
}
#define __GPO_ROUNDED(T, name, parameters, expression) \
    __gpo_inline T name parameters { return __gpo_as_is<T>(expression); }
__GPO_ROUNDED(float, __fadd_rn, (float a, float b), __gpo_as_is(a) + __gpo_as_is(b))
__GPO_ROUNDED(float, __fsub_rn, (float a, float b), __gpo_as_is(a) - __gpo_as_is(b))
__GPO_ROUNDED(float, __fmul_rn, (float a, float b), a * b)
__GPO_ROUNDED(float, __fdiv_rn, (float a, float b), a / b)
__GPO_ROUNDED(float, __frcp_rn, (float a), 1.0f / a)
__GPO_ROUNDED(float, __fsqrt_rn, (float a), __builtin_sqrtf(a))
__GPO_ROUNDED(float, __frsqrt_rn, (float a), static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a))))
__GPO_ROUNDED(float, __fmaf_rn, (float a, float b, float c), __builtin_fmaf(a, b, c))
__GPO_ROUNDED(double, __dadd_rn, (double a, double b), __gpo_as_is(a) + __gpo_as_is(b))
__GPO_ROUNDED(double, __dsub_rn, (double a, double b), __gpo_as_is(a) - __gpo_as_is(b))
__GPO_ROUNDED(double, __dmul_rn, (double a, double b), a * b)
__GPO_ROUNDED(double, __ddiv_rn, (double a, double b), a / b)
__GPO_ROUNDED(double, __drcp_rn, (double a), 1.0 / a)
__GPO_ROUNDED(double, __dsqrt_rn, (double a), __builtin_sqrt(a))
__GPO_ROUNDED(double, __fma_rn, (double a, double b, double c), __builtin_fma(a, b, c))
#undef __GPO_ROUNDED

// -- conversions: out of range saturates, a NaN is 0 (from float) or the least number (from double) ------------------

template <class To, class From>
__gpo_inline To __gpo_saturated(From x, To least, To most) {
    if (x != x) return sizeof(From) == 8 ? To(To(1) << (sizeof(To) * 8 - 1)) : To(0);
    if (x <= static_cast<From>(least)) return least;
    if (x >= static_cast<From>(most)) return most;
    return static_cast<To>(x);
}
__gpo_inline int __gpo_int(double x) { return __gpo_saturated<int, double>(x, -2147483647 - 1, 2147483647); }
__gpo_inline unsigned __gpo_uint(double x) { return __gpo_saturated<unsigned, double>(x, 0u, 4294967295u); }
__gpo_inline long long __gpo_ll(double x) {
    return __gpo_saturated<long long, double>(x, -9223372036854775807ll - 1, 9223372036854775807ll);
}
__gpo_inline unsigned long long __gpo_ull(double x) {
    return __gpo_saturated<unsigned long long, double>(x, 0ull, 18446744073709551615ull);
}
#define __GPO_TO_INTEGER(suffix, round) \
    __gpo_inline int __float2int_##suffix(float x) { \
        return x != x ? 0 : __gpo_int(round(static_cast<double>(x))); \
    } \
    __gpo_inline unsigned __float2uint_##suffix(float x) { \
        return x != x ? 0u : __gpo_uint(round(static_cast<double>(x))); \
    } \
    __gpo_inline long long __float2ll_##suffix(float x) { \
        return __gpo_ll(round(static_cast<double>(x))); \
    } \
    __gpo_inline unsigned long long __float2ull_##suffix(float x) { \
        return __gpo_ull(round(static_cast<double>(x))); \
    } \
    __gpo_inline int __double2int_##suffix(double x) { \
        return __gpo_int(round(x)); \
    } \
    __gpo_inline unsigned __double2uint_##suffix(double x) { \
        return __gpo_uint(round(x)); \
    } \
    __gpo_inline long long __double2ll_##suffix(double x) { \
        return __gpo_ll(round(x)); \
    } \
    __gpo_inline unsigned long long __double2ull_##suffix(double x) { return __gpo_ull(round(x)); }
__GPO_TO_INTEGER(rn, __builtin_rint) __GPO_TO_INTEGER(rz, __builtin_trunc)
__GPO_TO_INTEGER(ru, __builtin_ceil) __GPO_TO_INTEGER(rd, __builtin_floor)
#undef __GPO_TO_INTEGER
__gpo_inline float __int2float_rn(int x) { return static_cast<float>(x); }
__gpo_inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
__gpo_inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
__gpo_inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
__gpo_inline double __int2double_rn(int x) { return x; }
__gpo_inline double __uint2double_rn(unsigned x) { return x; }
__gpo_inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
__gpo_inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
__gpo_inline float __double2float_rn(double x) { return static_cast<float>(x); }
__gpo_inline int __float_as_int(float x) { return __gpo_bits<int>(x); }
__gpo_inline unsigned __float_as_uint(float x) { return __gpo_bits<unsigned>(x); }
__gpo_inline float __int_as_float(int x) { return __gpo_bits<float>(x); }
__gpo_inline float __uint_as_float(unsigned x) { return __gpo_bits<float>(x); }
__gpo_inline long long __double_as_longlong(double x) { return __gpo_bits<long long>(x); }
__gpo_inline double __longlong_as_double(long long x) { return __gpo_bits<double>(x); }
__gpo_inline int __double2hiint(double x) { return static_cast<int>(__gpo_bits<long long>(x) >> 32); }
__gpo_inline int __double2loint(double x) { return static_cast<int>(__gpo_bits<long long>(x)); }
__gpo_inline double __hiloint2double(int hi, int lo) {
    return __gpo_bits<double>((static_cast<unsigned long long>(static_cast<unsigned>(hi)) << 32) |
           static_cast<unsigned>(lo));
}

// -- integer intrinsics ----------------------------------------------------------------------------------------------

__gpo_inline int __popc(unsigned x) { return __builtin_popcount(x); }
__gpo_inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__gpo_inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
__gpo_inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
__gpo_inline int __ffs(int x) { return __builtin_ffs(x); }
__gpo_inline int __ffsll(long long x) { return __builtin_ffsll(x); }
__gpo_inline unsigned __brev(unsigned x) {
    x = __builtin_bswap32(x);
    x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    return ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
}
__gpo_inline unsigned long long __brevll(unsigned long long x) {
    return (static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32) |
           __brev(static_cast<unsigned>(x >> 32));
}
__gpo_inline int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
__gpo_inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
__gpo_inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
__gpo_inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
__gpo_inline long long __mul64hi(long long a, long long b) {
    return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
__gpo_inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
__gpo_inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
    const unsigned long long both = (static_cast<unsigned long long>(y) << 32) | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i)
        result |= static_cast<unsigned>((both >> (((s >> (4 * i)) & 7u) * 8)) & 0xff) << (8 * i);
    return result;
}
__gpo_inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
    return static_cast<unsigned>((((static_cast<unsigned long long>(hi) << 32) | lo) << (s & 31)) >> 32);
}
__gpo_inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned s) {
    return s >= 32 ? lo : __funnelshift_l(lo, hi, s);
}
__gpo_inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
    return static_cast<unsigned>(((static_cast<unsigned long long>(hi) << 32) | lo) >> (s & 31));
}
__gpo_inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned s) {
    return s >= 32 ? hi : __funnelshift_r(lo, hi, s);
}
__gpo_inline unsigned __sad(int a, int b, unsigned c) { return c + static_cast<unsigned>(a < b ? b - a : a - b); }
__gpo_inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
__gpo_inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
__gpo_inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
__gpo_inline unsigned __uhadd(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
__gpo_inline unsigned __urhadd(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}

// -- products of what lies in words, summed; 2a takes the lower or upper two bytes of b -------------------------------

template <class Byte, class Word>
__gpo_inline Word __gpo_dp4a(Word a, Word b, Word c) {
    for (int i = 0; i < 32; i += 8) c += static_cast<Word>(static_cast<Byte>(a >> i)) * static_cast<Word>(static_cast<Byte>(b >> i));
    return c;
}
template <class Byte, class Half, class Word>
__gpo_inline Word __gpo_dp2a(Word a, Word b, Word c) {
    for (int i = 0; i < 2; ++i) c += static_cast<Word>(static_cast<Half>(a >> (16 * i))) * static_cast<Word>(static_cast<Byte>(b >> (8 * i)));
    return c;
}
__gpo_inline int __dp4a(int a, int b, int c) { return __gpo_dp4a<signed char>(a, b, c); }
__gpo_inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return __gpo_dp4a<unsigned char>(a, b, c); }
__gpo_inline int __dp4a(char4 a, char4 b, int c) { return __dp4a(__gpo_bits<int>(a), __gpo_bits<int>(b), c); }
__gpo_inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) { return __dp4a(__gpo_bits<unsigned>(a), __gpo_bits<unsigned>(b), c); }
#define __GPO_DP2A(name, shift)                                                                                              \
    __gpo_inline int name(int a, int b, int c) { return __gpo_dp2a<signed char, short>(a, b >> shift, c); }                  \
    __gpo_inline unsigned name(unsigned a, unsigned b, unsigned c) {                                                         \
        return __gpo_dp2a<unsigned char, unsigned short>(a, b >> shift, c);                                                  \
    }                                                                                                                        \
    __gpo_inline int name(short2 a, char4 b, int c) { return name(__gpo_bits<int>(a), __gpo_bits<int>(b), c); }              \
    __gpo_inline unsigned name(ushort2 a, uchar4 b, unsigned c) { return name(__gpo_bits<unsigned>(a), __gpo_bits<unsigned>(b), c); }
__GPO_DP2A(__dp2a_lo, 0) __GPO_DP2A(__dp2a_hi, 16)
#undef __GPO_DP2A

/// The position of the `offset`-th set bit of `mask` from `base` on: 1 the first, -1 the first downwards; 0: at `base`.
__gpo_inline unsigned __fns(unsigned mask, unsigned base, int offset) {
    if (offset == 0) return base < 32 && (mask >> base & 1u) ? base : ~0u;
    int left = offset > 0 ? offset : -offset;
    for (unsigned at = base; at < 32; at += offset > 0 ? 1u : ~0u)
        if ((mask >> at & 1u) && --left == 0) return at;
    return ~0u;
}

// -- loads and stores with a hint, which is not taken ----------------------------------------------------------------

#define __GPO_LOAD(name) template <class T> __gpo_inline T name(const T* at) { return *at; }
__GPO_LOAD(__ldg) __GPO_LOAD(__ldca) __GPO_LOAD(__ldcs) __GPO_LOAD(__ldlu)
#undef __GPO_LOAD
template <class T> __gpo_inline T __ldcg(const T* at) { __atomic_signal_fence(__ATOMIC_SEQ_CST); return *at; }
template <class T> __gpo_inline T __ldcv(const T* at) { __atomic_signal_fence(__ATOMIC_SEQ_CST); return *at; }
#define __GPO_STORE(name) template <class T> __gpo_inline void name(T* at, typename __gpo_bare<T>::type value) { *at = value; }
__GPO_STORE(__stwb) __GPO_STORE(__stcg) __GPO_STORE(__stcs) __GPO_STORE(__stwt)
#undef __GPO_STORE
