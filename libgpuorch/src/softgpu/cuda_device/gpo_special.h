// Mathematical functions that the C library has in another form or not at all: norms, inverses of error functions, Bessel
// functions, and the operations that round in a direction.
#pragma once

#include "gpo_math.h"

// -- the C library's, in float -----------------------------------------------------------------------------------------

extern "C" {
float j0f(float) noexcept;
float j1f(float) noexcept;
float y0f(float) noexcept;
float y1f(float) noexcept;
double jn(int, double) noexcept;
float jnf(int, float) noexcept;
double yn(int, double) noexcept;
float ynf(int, float) noexcept;
double remquo(double, double, int*) noexcept;
float remquof(float, float, int*) noexcept;
double nan(const char*) noexcept;
float nanf(const char*) noexcept;
}

/// The sum of its terms (x / 2)^(2k + order) / (k! (k + order)!), all positive.
__gpo_inline double __gpo_bessel_i(double x, int order) {
    double term = order == 0 ? 1.0 : x / 2, sum = term;
    for (int k = 1; k < 2000 && term != 0.0; ++k) {
        term *= (x / 2) * (x / 2) / (static_cast<double>(k) * (k + order));
        const double more = sum + term;
        if (more == sum) break;
        sum = more;
    }
    return sum;
}
__gpo_inline double cyl_bessel_i0(double x) { return __gpo_bessel_i(x, 0); }
__gpo_inline double cyl_bessel_i1(double x) { return __gpo_bessel_i(x, 1); }
__gpo_inline float cyl_bessel_i0f(float x) { return static_cast<float>(__gpo_bessel_i(static_cast<double>(x), 0)); }
__gpo_inline float cyl_bessel_i1f(float x) { return static_cast<float>(__gpo_bessel_i(static_cast<double>(x), 1)); }

// -- norms -----------------------------------------------------------------------------------------------------------

__gpo_inline double norm4d(double a, double b, double c, double d) {
    const double of[] = {a, b, c, d};
    return __gpo_norm(4, of);
}
__gpo_inline float norm4df(float a, float b, float c, float d) {
    return static_cast<float>(norm4d(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c), static_cast<double>(d)));
}
__gpo_inline double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
__gpo_inline float rnorm3df(float a, float b, float c) {
    return static_cast<float>(rnorm3d(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)));
}
__gpo_inline double rnorm4d(double a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
__gpo_inline float rnorm4df(float a, float b, float c, float d) {
    return static_cast<float>(rnorm4d(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c), static_cast<double>(d)));
}
__gpo_inline double norm(int dim, const double* p) { return __gpo_norm(dim, p); }
__gpo_inline double __gpo_normf(int dim, const float* p) {
    double sum = 0.0;
    bool infinite = false;
    for (int i = 0; i < dim; ++i) {
        sum += static_cast<double>(p[i]) * static_cast<double>(p[i]);
        infinite |= __builtin_isinf(p[i]) != 0;
    }
    return infinite ? __builtin_inf() : __builtin_sqrt(sum);
}
__gpo_inline float normf(int dim, const float* p) { return static_cast<float>(__gpo_normf(dim, p)); }
__gpo_inline double rnorm(int dim, const double* p) { return 1.0 / norm(dim, p); }
__gpo_inline float rnormf(int dim, const float* p) { return static_cast<float>(1.0 / __gpo_normf(dim, p)); }

// -- the error function's relatives ----------------------------------------------------------------------------------

/// exp(x^2) erfc(x): by itself where neither is extreme, else by its continued fraction.
__gpo_inline double erfcx(double x) {
    if (x < 10.0) return __builtin_exp(x * x) * __builtin_erfc(x);
    double tail = x;
    for (int k = 40; k > 0; --k) tail = x + 0.5 * k / tail;
    return 0.56418958354775628695 / tail;
}
__gpo_inline float erfcxf(float x) { return static_cast<float>(erfcx(static_cast<double>(x))); }

/// Newton's method on log(erfc), which is nearly a parabola, from an asymptotic beginning. 0 < y < 1.
__gpo_inline double __gpo_erfcinv_below_one(double y) {
    double x = __builtin_sqrt(-__builtin_log(y));
    if (y > 0.5) x = (1.0 - y) * 0.88622692545275801365;
    for (int i = 0; i < 60; ++i) {
        // d log(erfc(x)) / dx = -2 / (sqrt(pi) erfcx(x))
        const double step = (__builtin_log(__builtin_erfc(x)) - __builtin_log(y)) * 0.88622692545275801365 * erfcx(x);
        x += step;
        if (__builtin_fabs(step) <= 1e-16 * __builtin_fabs(x)) break;
    }
    return x;
}
__gpo_inline double erfcinv(double y) {
    if (!(y >= 0.0 && y <= 2.0)) return __builtin_nan("");
    if (y == 0.0) return __builtin_inf();
    if (y == 2.0) return -__builtin_inf();
    if (y == 1.0) return 0.0;
    return y < 1.0 ? __gpo_erfcinv_below_one(y) : -__gpo_erfcinv_below_one(2.0 - y);
}
__gpo_inline double erfinv(double y) {
    if (!(y >= -1.0 && y <= 1.0)) return __builtin_nan("");
    if (y == 1.0 || y == -1.0) return y * __builtin_inf();
    if (__builtin_fabs(y) > 0.5) return y > 0.0 ? erfcinv(1.0 - y) : -erfcinv(1.0 + y);
    double x = y * 0.88622692545275801365;
    for (int i = 0; i < 20; ++i) {
        const double step = (__builtin_erf(x) - y) * 0.88622692545275801365 * __builtin_exp(x * x);
        x -= step;
        if (__builtin_fabs(step) <= 1e-16 * __builtin_fabs(x)) break;
    }
    return x;
}
__gpo_inline double normcdfinv(double y) { return -1.41421356237309504880 * erfcinv(2.0 * y); }
__gpo_inline float erfinvf(float y) { return static_cast<float>(erfinv(static_cast<double>(y))); }
__gpo_inline float erfcinvf(float y) { return static_cast<float>(erfcinv(static_cast<double>(y))); }
__gpo_inline float normcdfinvf(float y) { return static_cast<float>(normcdfinv(static_cast<double>(y))); }

// -- rounding in a direction: z to zero, u up, d down ----------------------------------------------------------------

__gpo_inline float __gpo_neighbour(float x, bool up) { return __builtin_nextafterf(x, up ? __builtin_inff() : -__builtin_inff()); }
__gpo_inline double __gpo_neighbour(double x, bool up) { return __builtin_nextafter(x, up ? __builtin_inf() : -__builtin_inf()); }

/// Rounds the exact value `nearest` + `little`; only the sign of `little` matters.
template <class T>
__gpo_inline T __gpo_round_towards(T nearest, double little, char mode) {
    if (little > 0.0 && (mode == 'u' || (mode == 'z' && nearest < 0))) return __gpo_neighbour(nearest, true);
    if (little < 0.0 && (mode == 'd' || (mode == 'z' && nearest > 0))) return __gpo_neighbour(nearest, false);
    return nearest;
}
__gpo_inline double __gpo_sum_error(double a, double b, double sum) {
    const double part = sum - a;
    return (a - (sum - part)) + (b - part);
}
/// Rounds to float in the direction `mode`. The exact number is x plus an error with the sign of `little`.
__gpo_inline float __gpo_float_towards(double x, double little, char mode) {
    const float nearest = static_cast<float>(x);
    const double error = x - static_cast<double>(nearest);
    if (nearest - nearest != 0.0f && x - x == 0.0)   // too large for float: infinity or the largest number, by `mode`
        return (mode == 'u') == (x > 0.0) && mode != 'z' ? nearest : nearest > 0 ? 3.402823466e+38f : -3.402823466e+38f;
    return __gpo_round_towards(nearest, error > 0.0 || error < 0.0 ? error : little, mode);
}
__gpo_inline double __gpo_double_towards(double nearest, double little, double direction, char mode) {
    if (nearest - nearest != 0.0 && direction - direction == 0.0)
        return (mode == 'u') == (nearest > 0.0) && mode != 'z' ? nearest : nearest > 0 ? 1.7976931348623157e+308 : -1.7976931348623157e+308;
    return __gpo_round_towards(nearest, little, mode);
}
/// a * b + c - sum, or what of it matters. (Boldo and Muller's ErrFma.)
__gpo_inline double __gpo_fma_error(double a, double b, double c, double sum) {
    const double product = a * b, low = __builtin_fma(a, b, -product);
    const double first = c + low, first_low = __gpo_sum_error(c, low, first);
    const double second = product + first, second_low = __gpo_sum_error(product, first, second);
    const double rest = (second - sum) + second_low;
    return rest + first_low;
}

// The difference of an integer and its nearest double.
template <class T>
__gpo_inline double __gpo_lost(T x) {
    return static_cast<double>(static_cast<__int128>(x) - static_cast<__int128>(static_cast<double>(x)));
}
#define __GPO_DIRECTED(suffix, mode)                                                                                    \
    __gpo_inline float __fadd_##suffix(float x, float y) {                                                              \
        const double a = static_cast<double>(x), b = static_cast<double>(y), sum = a + b;                               \
        return __gpo_float_towards(sum, __gpo_sum_error(a, b, sum), mode);                                              \
    }                                                                                                                   \
    __gpo_inline float __fsub_##suffix(float x, float y) { return __fadd_##suffix(x, -y); }                             \
    __gpo_inline float __fmul_##suffix(float x, float y) {                                                              \
        return __gpo_float_towards(static_cast<double>(x) * static_cast<double>(y), 0.0, mode);                         \
    }                                                                                                                   \
    __gpo_inline float __fmaf_##suffix(float x, float y, float z) {                                                     \
        const double a = static_cast<double>(x) * static_cast<double>(y), b = static_cast<double>(z), sum = a + b;      \
        return __gpo_float_towards(sum, __gpo_sum_error(a, b, sum), mode);                                              \
    }                                                                                                                   \
    __gpo_inline float __fdiv_##suffix(float x, float y) {                                                              \
        const double a = static_cast<double>(x), b = static_cast<double>(y), ratio = a / b;                             \
        return __gpo_float_towards(ratio, __builtin_fma(-ratio, b, a) * (b > 0 ? 1.0 : -1.0), mode);                    \
    }                                                                                                                   \
    __gpo_inline float __frcp_##suffix(float x) { return __fdiv_##suffix(1.0f, x); }                                    \
    __gpo_inline float __fsqrt_##suffix(float x) {                                                                      \
        const double a = static_cast<double>(x), root = __builtin_sqrt(a);                                              \
        return __gpo_float_towards(root, __builtin_fma(-root, root, a), mode);                                          \
    }                                                                                                                   \
    __gpo_inline double __dadd_##suffix(double x, double y) {                                                           \
        const double a = __gpo_as_is(x), b = __gpo_as_is(y), sum = a + b;                                               \
        return __gpo_double_towards(sum, __gpo_sum_error(a, b, sum), a - a + (b - b), mode);                            \
    }                                                                                                                   \
    __gpo_inline double __dsub_##suffix(double a, double b) { return __dadd_##suffix(a, -b); }                          \
    __gpo_inline double __dmul_##suffix(double a, double b) {                                                           \
        const double product = a * b;                                                                                   \
        return __gpo_double_towards(product, __builtin_fma(a, b, -product), a - a + (b - b), mode);                     \
    }                                                                                                                   \
    __gpo_inline double __fma_##suffix(double a, double b, double c) {                                                  \
        const double sum = __builtin_fma(a, b, c);                                                                      \
        return __gpo_double_towards(sum, __gpo_fma_error(a, b, c, sum), a - a + (b - b) + (c - c), mode);               \
    }                                                                                                                   \
    __gpo_inline double __ddiv_##suffix(double a, double b) {                                                           \
        const double ratio = a / b;                                                                                     \
        return __gpo_double_towards(ratio, __builtin_fma(-ratio, b, a) * (b > 0 ? 1.0 : -1.0),                          \
                                    b == 0 ? ratio : a - a + (b - b), mode);                                            \
    }                                                                                                                   \
    __gpo_inline double __drcp_##suffix(double a) { return __ddiv_##suffix(1.0, a); }                                   \
    __gpo_inline double __dsqrt_##suffix(double a) {                                                                    \
        const double root = __builtin_sqrt(a);                                                                          \
        return __gpo_round_towards(root, __builtin_fma(-root, root, a), mode);                                          \
    }                                                                                                                   \
    __gpo_inline float __double2float_##suffix(double x) { return __gpo_float_towards(x, 0.0, mode); }                  \
    __gpo_inline float __int2float_##suffix(int x) { return __gpo_float_towards(x, 0.0, mode); }                        \
    __gpo_inline float __uint2float_##suffix(unsigned x) { return __gpo_float_towards(x, 0.0, mode); }                  \
    __gpo_inline float __ll2float_##suffix(long long x) { return __gpo_float_towards(double(x), __gpo_lost(x), mode); }   \
    __gpo_inline float __ull2float_##suffix(unsigned long long x) {                                                     \
        return __gpo_float_towards(double(x), __gpo_lost(x), mode);                                                     \
    }                                                                                                                   \
    __gpo_inline double __ll2double_##suffix(long long x) { return __gpo_round_towards(double(x), __gpo_lost(x), mode); } \
    __gpo_inline double __ull2double_##suffix(unsigned long long x) {                                                   \
        return __gpo_round_towards(double(x), __gpo_lost(x), mode);                                                     \
    }
__GPO_DIRECTED(rz, 'z') __GPO_DIRECTED(ru, 'u') __GPO_DIRECTED(rd, 'd')
#undef __GPO_DIRECTED
