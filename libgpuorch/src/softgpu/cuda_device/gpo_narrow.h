// A 16-bit floating-point type, pairs of it, their conversions and their arithmetic: every operation is done in float or
// double and rounded once, to nearest even. Included by cuda_fp16.h and cuda_bf16.h, which define before
//
//   __GPO_N        the type's name in functions' names (half, bfloat16)      __GPO_T, __GPO_T2   the type, a pair of it
//   __GPO_DIGITS   bits of its significand, the hidden one with them         __GPO_LEAST         exponent of its least
//   __GPO_INF      its infinity's bits                                                           normal number
//   __GPO_CONVERSIONS, __GPO_OPERATORS, __GPO_OPERATORS2    1 where the source has not forbidden them
//
// and after the include __gpo_to_float, __float2half_rn and __gpo_fused, by their names for the type.

#ifndef GPO_ROUNDING
#define GPO_ROUNDING

template <class T, class Wanted> struct __gpo_only {};
template <class T> struct __gpo_only<T, T> { typedef T type; };

/// `x` rounded to nearest even at `digits` digits, or at the last digit of a number with the exponent `least`.
__gpo_inline double __gpo_on_grid(double x, int digits, int least) {
    const int exponent = static_cast<int>(__gpo_bits<unsigned long long>(x) >> 52 & 0x7ff) - 1023;
    if (exponent > 200) return x;   // too large for any of the types, or no number
    // The sum with a number whose last digit is the digit to round at is rounded there; the number is subtracted again.
    const int last = (exponent > least ? exponent : least) - (digits - 1);
    const double grid = __gpo_bits<double>(static_cast<unsigned long long>(last + 52 + 1023) << 52 | 1ull << 51);
    return __builtin_copysign((x + grid) - grid, x);
}

/// An integer as a double. If a double can't hold it, the odd neighbour, which rounds like the integer.
__gpo_inline double __gpo_odd_double(unsigned long long x) {
    if (x >> 53 == 0) return static_cast<double>(x);
    return static_cast<double>(x >> 11 | static_cast<unsigned long long>((x & 0x7ff) != 0)) * 2048.0;
}
__gpo_inline double __gpo_odd_double(long long x) {
    return x < 0 ? -__gpo_odd_double(0ull - static_cast<unsigned long long>(x))
                 : __gpo_odd_double(static_cast<unsigned long long>(x));
}
__gpo_inline double __gpo_odd_double(int x) { return x; }
__gpo_inline double __gpo_odd_double(unsigned x) { return x; }

#endif

#define __GPO_PASTE(a, b, c) a##b##c
#define __GPO_NAME(a, b, c) __GPO_PASTE(a, b, c)
#define __GPO_ROUND __GPO_NAME(__float2, __GPO_N, _rn)
#define __GPO_EACH_INTEGER(X) \
    X(short, short) X(unsigned short, ushort) X(int, int) X(unsigned int, uint) X(long long, ll) X(unsigned long long, ull)

// -- the types -------------------------------------------------------------------------------------------------------

typedef struct { unsigned short x; } __GPO_NAME(, __GPO_T, _raw);
typedef struct { unsigned short x, y; } __GPO_NAME(, __GPO_T2, _raw);
struct __GPO_T;
__gpo_inline float __gpo_to_float(const __GPO_T& x);
__gpo_inline __GPO_T __GPO_ROUND(float x);
__gpo_inline __GPO_T __gpo_fused(const __GPO_T& a, const __GPO_T& b, const __GPO_T& c);   // a * b + c
__gpo_inline __GPO_T __GPO_NAME(__double2, __GPO_N, )(double x);
__gpo_inline signed char __GPO_NAME(__, __GPO_N, 2char_rz)(__GPO_T x);
__gpo_inline unsigned char __GPO_NAME(__, __GPO_N, 2uchar_rz)(__GPO_T x);
#define __GPO_DECLARE(type, name)                                     \
    __gpo_inline __GPO_T __GPO_NAME(__##name##2, __GPO_N, _rn)(type); \
    __gpo_inline type __GPO_NAME(__, __GPO_N, 2##name##_rz)(__GPO_T);
__GPO_EACH_INTEGER(__GPO_DECLARE)
#undef __GPO_DECLARE

struct __attribute__((aligned(2))) __GPO_T {
    typedef __GPO_NAME(, __GPO_T, _raw) raw;
    unsigned short __x;

    __GPO_T() = default;
    constexpr __GPO_T(const raw& from) : __x(from.x) {}
    __GPO_T& operator=(const raw& from) { __x = from.x; return *this; }
    volatile __GPO_T& operator=(const raw& from) volatile { __x = from.x; return *this; }
    volatile __GPO_T& operator=(const volatile raw& from) volatile { __x = from.x; return *this; }
    operator raw() const { const raw to = {__x}; return to; }
    operator raw() const volatile { const raw to = {__x}; return to; }
#if __GPO_CONVERSIONS
    __GPO_T(float x) { *this = __GPO_ROUND(x); }
    __GPO_T(double x) { *this = __GPO_NAME(__double2, __GPO_N, )(x); }
    __GPO_T& operator=(float x) { return *this = __GPO_ROUND(x); }
    __GPO_T& operator=(double x) { return *this = __GPO_NAME(__double2, __GPO_N, )(x); }
    operator float() const { return __gpo_to_float(*this); }
#define __GPO_MEMBERS(type, name)                                                              \
    __GPO_T(type x) { *this = __GPO_NAME(__##name##2, __GPO_N, _rn)(x); }                      \
    __GPO_T& operator=(type x) { return *this = __GPO_NAME(__##name##2, __GPO_N, _rn)(x); }    \
    operator type() const { return __GPO_NAME(__, __GPO_N, 2##name##_rz)(*this); }
    __GPO_EACH_INTEGER(__GPO_MEMBERS)
#undef __GPO_MEMBERS
    __GPO_T(long x) { *this = __GPO_NAME(__ll2, __GPO_N, _rn)(x); }
    __GPO_T(unsigned long x) { *this = __GPO_NAME(__ull2, __GPO_N, _rn)(x); }
    operator long() const { return static_cast<long>(__GPO_NAME(__, __GPO_N, 2ll_rz)(*this)); }
    operator unsigned long() const { return static_cast<unsigned long>(__GPO_NAME(__, __GPO_N, 2ull_rz)(*this)); }
    operator char() const { return static_cast<char>(__GPO_NAME(__, __GPO_N, 2char_rz)(*this)); }
    operator signed char() const { return __GPO_NAME(__, __GPO_N, 2char_rz)(*this); }
    operator unsigned char() const { return __GPO_NAME(__, __GPO_N, 2uchar_rz)(*this); }
    operator bool() const { return (__x & 0x7fff) != 0; }
#endif
};

struct __attribute__((aligned(4))) __GPO_T2 {
    typedef __GPO_NAME(, __GPO_T2, _raw) raw;
    __GPO_T x, y;

    __GPO_T2() = default;
    constexpr __GPO_T2(const __GPO_T& a, const __GPO_T& b) : x(a), y(b) {}
    __GPO_T2(const raw& from) { *this = from; }
    template <class Raw, class = typename __gpo_only<Raw, raw>::type>   // so that z = {} is a pair
    __GPO_T2& operator=(const Raw& from) { x.__x = from.x, y.__x = from.y; return *this; }
    operator raw() const { const raw to = {x.__x, y.__x}; return to; }
};

__gpo_inline __GPO_T __GPO_NAME(__ushort_as_, __GPO_N, )(unsigned short bits) { return __gpo_bits<__GPO_T>(bits); }
__gpo_inline __GPO_T __GPO_NAME(__short_as_, __GPO_N, )(short bits) { return __gpo_bits<__GPO_T>(bits); }
__gpo_inline unsigned short __GPO_NAME(__, __GPO_N, _as_ushort)(__GPO_T x) { return __gpo_bits<unsigned short>(x); }
__gpo_inline short __GPO_NAME(__, __GPO_N, _as_short)(__GPO_T x) { return __gpo_bits<short>(x); }

// -- to and from numbers ---------------------------------------------------------------------------------------------

/// The neighbour of a finite `x` above (up) or below it.
__gpo_inline __GPO_T __gpo_next(__GPO_T x, bool up) {
    const unsigned short bits = __gpo_bits<unsigned short>(x);
    if ((bits & 0x7fff) == 0) return __gpo_bits<__GPO_T>(static_cast<unsigned short>(up ? 0x0001 : 0x8001));
    return __gpo_bits<__GPO_T>(static_cast<unsigned short>(((bits & 0x8000) == 0) == up ? bits + 1 : bits - 1));
}

/// mode is n (nearest even), z (to zero), u (up) or d (down), as in the names of the functions.
__gpo_inline __GPO_T __gpo_directed(double x, char mode, __GPO_T nearest) {
    if (x != x) return nearest;
    const double made = static_cast<double>(__gpo_to_float(nearest));
    if (made < x && (mode == 'u' || (mode == 'z' && x < 0.0))) return __gpo_next(nearest, true);
    if (made > x && (mode == 'd' || (mode == 'z' && x > 0.0))) return __gpo_next(nearest, false);
    return nearest;
}

__gpo_inline __GPO_T __GPO_NAME(__double2, __GPO_N, )(double x) {
    return __GPO_ROUND(static_cast<float>(__gpo_on_grid(x, __GPO_DIGITS, __GPO_LEAST)));
}
__gpo_inline float __GPO_NAME(__, __GPO_N, 2float)(__GPO_T x) { return __gpo_to_float(x); }
__gpo_inline __GPO_T __GPO_NAME(__float2, __GPO_N, )(float x) { return __GPO_ROUND(x); }
#define __GPO_FROM_FLOAT(mode, letter) \
    __gpo_inline __GPO_T __GPO_NAME(__float2, __GPO_N, mode)(float x) { return __gpo_directed(x, letter, __GPO_ROUND(x)); }
__GPO_FROM_FLOAT(_rz, 'z') __GPO_FROM_FLOAT(_ru, 'u') __GPO_FROM_FLOAT(_rd, 'd')
#undef __GPO_FROM_FLOAT

// If a double can't hold an integer, the odd neighbour stays on the integer's side of all rounding limits.
#define __GPO_FROM_INTEGER(type, name)                                                                             \
    __gpo_inline __GPO_T __GPO_NAME(__##name##2, __GPO_N, _rn)(type x) {                                           \
        return __GPO_NAME(__double2, __GPO_N, )(__gpo_odd_double(x));                                              \
    }                                                                                                              \
    __gpo_inline __GPO_T __GPO_NAME(__##name##2, __GPO_N, _rz)(type x) {                                           \
        return __gpo_directed(__gpo_odd_double(x), 'z', __GPO_NAME(__##name##2, __GPO_N, _rn)(x));                 \
    }                                                                                                              \
    __gpo_inline __GPO_T __GPO_NAME(__##name##2, __GPO_N, _ru)(type x) {                                           \
        return __gpo_directed(__gpo_odd_double(x), 'u', __GPO_NAME(__##name##2, __GPO_N, _rn)(x));                 \
    }                                                                                                              \
    __gpo_inline __GPO_T __GPO_NAME(__##name##2, __GPO_N, _rd)(type x) {                                           \
        return __gpo_directed(__gpo_odd_double(x), 'd', __GPO_NAME(__##name##2, __GPO_N, _rn)(x));                 \
    }
__GPO_EACH_INTEGER(__GPO_FROM_INTEGER)
#undef __GPO_FROM_INTEGER

#define __GPO_TO_INTEGER(mode)                                                                                     \
    __gpo_inline int __GPO_NAME(__, __GPO_N, 2int_##mode)(__GPO_T x) {                                             \
        return __float2int_##mode(__gpo_to_float(x));                                                              \
    }                                                                                                              \
    __gpo_inline unsigned __GPO_NAME(__, __GPO_N, 2uint_##mode)(__GPO_T x) {                                       \
        return __float2uint_##mode(__gpo_to_float(x));                                                             \
    }                                                                                                              \
    __gpo_inline long long __GPO_NAME(__, __GPO_N, 2ll_##mode)(__GPO_T x) {                                        \
        return __float2ll_##mode(__gpo_to_float(x));                                                               \
    }                                                                                                              \
    __gpo_inline unsigned long long __GPO_NAME(__, __GPO_N, 2ull_##mode)(__GPO_T x) {                              \
        return __float2ull_##mode(__gpo_to_float(x));                                                              \
    }                                                                                                              \
    __gpo_inline short __GPO_NAME(__, __GPO_N, 2short_##mode)(__GPO_T x) {                                         \
        return static_cast<short>(max(-32768, min(32767, __float2int_##mode(__gpo_to_float(x)))));                 \
    }                                                                                                              \
    __gpo_inline unsigned short __GPO_NAME(__, __GPO_N, 2ushort_##mode)(__GPO_T x) {                               \
        return static_cast<unsigned short>(max(0, min(65535, __float2int_##mode(__gpo_to_float(x)))));             \
    }
__GPO_TO_INTEGER(rn) __GPO_TO_INTEGER(rz) __GPO_TO_INTEGER(ru) __GPO_TO_INTEGER(rd)
#undef __GPO_TO_INTEGER
__gpo_inline signed char __GPO_NAME(__, __GPO_N, 2char_rz)(__GPO_T x) {
    return static_cast<signed char>(max(-128, min(127, __float2int_rz(__gpo_to_float(x)))));
}
__gpo_inline unsigned char __GPO_NAME(__, __GPO_N, 2uchar_rz)(__GPO_T x) {
    return static_cast<unsigned char>(max(0, min(255, __float2int_rz(__gpo_to_float(x)))));
}

// -- pairs -----------------------------------------------------------------------------------------------------------

__gpo_inline __GPO_T2 __GPO_NAME(make_, __GPO_N, 2)(__GPO_T x, __GPO_T y) { return __GPO_T2(x, y); }
__gpo_inline __GPO_T2 __GPO_NAME(__GPO_NAME(__, __GPO_N, 2), __GPO_N, 2)(__GPO_T x) { return __GPO_T2(x, x); }
__gpo_inline __GPO_T2 __GPO_NAME(__halves2, __GPO_N, 2)(__GPO_T x, __GPO_T y) { return __GPO_T2(x, y); }
__gpo_inline __GPO_T2 __GPO_NAME(__floats2, __GPO_N, 2_rn)(float x, float y) {
    return __GPO_T2(__GPO_ROUND(x), __GPO_ROUND(y));
}
__gpo_inline __GPO_T2 __GPO_NAME(__float22, __GPO_N, 2_rn)(float2 v) {
    return __GPO_T2(__GPO_ROUND(v.x), __GPO_ROUND(v.y));
}
__gpo_inline __GPO_T2 __GPO_NAME(__float2, __GPO_N, 2_rn)(float x) { return __GPO_T2(__GPO_ROUND(x), __GPO_ROUND(x)); }
__gpo_inline float2 __GPO_NAME(__, __GPO_N, 22float2)(__GPO_T2 v) {
    return make_float2(__gpo_to_float(v.x), __gpo_to_float(v.y));
}
__gpo_inline float __low2float(__GPO_T2 v) { return __gpo_to_float(v.x); }
__gpo_inline float __high2float(__GPO_T2 v) { return __gpo_to_float(v.y); }
__gpo_inline __GPO_T __GPO_NAME(__low2, __GPO_N, )(__GPO_T2 v) { return v.x; }
__gpo_inline __GPO_T __GPO_NAME(__high2, __GPO_N, )(__GPO_T2 v) { return v.y; }
__gpo_inline __GPO_T2 __GPO_NAME(__low2, __GPO_N, 2)(__GPO_T2 v) { return __GPO_T2(v.x, v.x); }
__gpo_inline __GPO_T2 __GPO_NAME(__high2, __GPO_N, 2)(__GPO_T2 v) { return __GPO_T2(v.y, v.y); }
__gpo_inline __GPO_T2 __GPO_NAME(__lows2, __GPO_N, 2)(__GPO_T2 a, __GPO_T2 b) { return __GPO_T2(a.x, b.x); }
__gpo_inline __GPO_T2 __GPO_NAME(__highs2, __GPO_N, 2)(__GPO_T2 a, __GPO_T2 b) { return __GPO_T2(a.y, b.y); }
__gpo_inline __GPO_T2 __lowhigh2highlow(__GPO_T2 v) { return __GPO_T2(v.y, v.x); }

// -- arithmetic ------------------------------------------------------------------------------------------------------

__gpo_inline bool __hisnan(__GPO_T x) { return (__gpo_bits<unsigned short>(x) & 0x7fff) > __GPO_INF; }
__gpo_inline int __hisinf(__GPO_T x) {
    const unsigned short bits = __gpo_bits<unsigned short>(x);
    return bits == __GPO_INF ? 1 : bits == (__GPO_INF | 0x8000) ? -1 : 0;
}
__gpo_inline __GPO_T2 __hisnan2(__GPO_T2 v) {
    return __GPO_T2(__GPO_ROUND(__hisnan(v.x) ? 1.0f : 0.0f), __GPO_ROUND(__hisnan(v.y) ? 1.0f : 0.0f));
}
__gpo_inline __GPO_T __habs(__GPO_T x) {
    return __gpo_bits<__GPO_T>(static_cast<unsigned short>(__gpo_bits<unsigned short>(x) & 0x7fff));
}
__gpo_inline __GPO_T __hneg(__GPO_T x) {
    return __gpo_bits<__GPO_T>(static_cast<unsigned short>(__gpo_bits<unsigned short>(x) ^ 0x8000));
}
/// Between 0 and 1; a NaN is 0.
__gpo_inline __GPO_T __gpo_saturate(__GPO_T x) { return __GPO_ROUND(__saturatef(__gpo_to_float(x))); }
/// Not below 0; a NaN stays one.
__gpo_inline __GPO_T __gpo_rectify(__GPO_T x) { return __gpo_to_float(x) < 0.0f ? __GPO_ROUND(0.0f) : x; }

#define __GPO_OPERATION(name, operation)                                                                              \
    __gpo_inline __GPO_T name(__GPO_T a, __GPO_T b) {                                                                 \
        return __GPO_ROUND(__gpo_to_float(a) operation __gpo_to_float(b));                                            \
    }                                                                                                                 \
    __gpo_inline __GPO_T name##_rn(__GPO_T a, __GPO_T b) { return name(a, b); }                                       \
    __gpo_inline __GPO_T name##_sat(__GPO_T a, __GPO_T b) { return __gpo_saturate(name(a, b)); }                      \
    __gpo_inline __GPO_T2 name##2(__GPO_T2 a, __GPO_T2 b) { return __GPO_T2(name(a.x, b.x), name(a.y, b.y)); }        \
    __gpo_inline __GPO_T2 name##2_rn(__GPO_T2 a, __GPO_T2 b) { return name##2(a, b); }                                \
    __gpo_inline __GPO_T2 name##2_sat(__GPO_T2 a, __GPO_T2 b) { return __GPO_T2(name##_sat(a.x, b.x), name##_sat(a.y, b.y)); }
__GPO_OPERATION(__hadd, +) __GPO_OPERATION(__hsub, -) __GPO_OPERATION(__hmul, *)
#undef __GPO_OPERATION
__gpo_inline __GPO_T __hdiv(__GPO_T a, __GPO_T b) { return __GPO_ROUND(__gpo_to_float(a) / __gpo_to_float(b)); }
__gpo_inline __GPO_T2 __h2div(__GPO_T2 a, __GPO_T2 b) { return __GPO_T2(__hdiv(a.x, b.x), __hdiv(a.y, b.y)); }
__gpo_inline __GPO_T __hfma(__GPO_T a, __GPO_T b, __GPO_T c) { return __gpo_fused(a, b, c); }
__gpo_inline __GPO_T __hfma_sat(__GPO_T a, __GPO_T b, __GPO_T c) { return __gpo_saturate(__hfma(a, b, c)); }
__gpo_inline __GPO_T __hfma_relu(__GPO_T a, __GPO_T b, __GPO_T c) { return __gpo_rectify(__hfma(a, b, c)); }
#define __GPO_FMA2(name, each)                                        \
    __gpo_inline __GPO_T2 name(__GPO_T2 a, __GPO_T2 b, __GPO_T2 c) {  \
        return __GPO_T2(each(a.x, b.x, c.x), each(a.y, b.y, c.y));    \
    }
__GPO_FMA2(__hfma2, __hfma) __GPO_FMA2(__hfma2_sat, __hfma_sat) __GPO_FMA2(__hfma2_relu, __hfma_relu)
#undef __GPO_FMA2
/// a * b + c of complex numbers.
__gpo_inline __GPO_T2 __hcmadd(__GPO_T2 a, __GPO_T2 b, __GPO_T2 c) {
    return __GPO_T2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}
__gpo_inline __GPO_T2 __habs2(__GPO_T2 v) { return __GPO_T2(__habs(v.x), __habs(v.y)); }
__gpo_inline __GPO_T2 __hneg2(__GPO_T2 v) { return __GPO_T2(__hneg(v.x), __hneg(v.y)); }

// A NaN gives way to a number, or in the _nan forms wins; -0 is below +0.
__gpo_inline bool __gpo_below(__GPO_T a, __GPO_T b) {
    const float x = __gpo_to_float(a), y = __gpo_to_float(b);
    return x < y || (x == y && (__gpo_bits<unsigned short>(a) & 0x8000) != 0);
}
__gpo_inline __GPO_T __gpo_not_a_number(__GPO_T) {
    return __gpo_bits<__GPO_T>(static_cast<unsigned short>(0x7fff));
}
#define __GPO_EXTREME(name, take_first)                                                                             \
    __gpo_inline __GPO_T name(__GPO_T a, __GPO_T b) {                                                               \
        if (__hisnan(a)) return __hisnan(b) ? __gpo_not_a_number(b) : b;                                            \
        return __hisnan(b) || (take_first) ? a : b;                                                                 \
    }                                                                                                               \
    __gpo_inline __GPO_T name##_nan(__GPO_T a, __GPO_T b) {                                                         \
        return __hisnan(a) || __hisnan(b) ? __gpo_not_a_number(a) : name(a, b);                                     \
    }                                                                                                               \
    __gpo_inline __GPO_T2 name##2(__GPO_T2 a, __GPO_T2 b) { return __GPO_T2(name(a.x, b.x), name(a.y, b.y)); }      \
    __gpo_inline __GPO_T2 name##2_nan(__GPO_T2 a, __GPO_T2 b) { return __GPO_T2(name##_nan(a.x, b.x), name##_nan(a.y, b.y)); }
__GPO_EXTREME(__hmin, __gpo_below(a, b)) __GPO_EXTREME(__hmax, __gpo_below(b, a))
#undef __GPO_EXTREME

// -- comparisons: ordered, and with a u at the end also true of a NaN ------------------------------------------------

#define __GPO_COMPARE_ONE(name, expression)                                                                       \
    __gpo_inline bool name(__GPO_T a, __GPO_T b) {                                                                \
        const float x = __gpo_to_float(a), y = __gpo_to_float(b);                                                 \
        return expression;                                                                                        \
    }
#define __GPO_COMPARE_TWO(relation, one)                                                                          \
    __gpo_inline __GPO_T2 __h##relation##2(__GPO_T2 a, __GPO_T2 b) {                                              \
        return __GPO_T2(__GPO_ROUND(one(a.x, b.x) ? 1.0f : 0.0f), __GPO_ROUND(one(a.y, b.y) ? 1.0f : 0.0f));      \
    }                                                                                                             \
    __gpo_inline unsigned __h##relation##2_mask(__GPO_T2 a, __GPO_T2 b) {                                         \
        return (one(a.x, b.x) ? 0xffffu : 0u) | (one(a.y, b.y) ? 0xffff0000u : 0u);                               \
    }                                                                                                             \
    __gpo_inline bool __hb##relation##2(__GPO_T2 a, __GPO_T2 b) { return one(a.x, b.x) && one(a.y, b.y); }
#define __GPO_COMPARE(relation, expression)                                    \
    __GPO_COMPARE_ONE(__h##relation, expression)                               \
    __GPO_COMPARE_ONE(__h##relation##u, (expression) || x != x || y != y)      \
    __GPO_COMPARE_TWO(relation, __h##relation) __GPO_COMPARE_TWO(relation##u, __h##relation##u)
__GPO_COMPARE(eq, x == y) __GPO_COMPARE(ne, x < y || x > y) __GPO_COMPARE(lt, x < y)
__GPO_COMPARE(le, x <= y) __GPO_COMPARE(gt, x > y) __GPO_COMPARE(ge, x >= y)
#undef __GPO_COMPARE
#undef __GPO_COMPARE_TWO
#undef __GPO_COMPARE_ONE

// -- functions -------------------------------------------------------------------------------------------------------

#define __GPO_FUNCTION(name, expression)                                                                          \
    __gpo_inline __GPO_T h##name(__GPO_T a) {                                                                     \
        const float x = __gpo_to_float(a);                                                                        \
        return __GPO_ROUND(expression);                                                                           \
    }                                                                                                             \
    __gpo_inline __GPO_T2 h2##name(__GPO_T2 v) { return __GPO_T2(h##name(v.x), h##name(v.y)); }
__GPO_FUNCTION(ceil, __builtin_ceilf(x)) __GPO_FUNCTION(floor, __builtin_floorf(x))
__GPO_FUNCTION(trunc, __builtin_truncf(x)) __GPO_FUNCTION(rint, __builtin_rintf(x))
__GPO_FUNCTION(sqrt, __builtin_sqrtf(x)) __GPO_FUNCTION(rsqrt, 1.0f / __builtin_sqrtf(x)) __GPO_FUNCTION(rcp, 1.0f / x)
__GPO_FUNCTION(exp, __builtin_expf(x)) __GPO_FUNCTION(exp2, __builtin_exp2f(x)) __GPO_FUNCTION(exp10, exp10f(x))
__GPO_FUNCTION(log, __builtin_logf(x)) __GPO_FUNCTION(log2, __builtin_log2f(x)) __GPO_FUNCTION(log10, __builtin_log10f(x))
__GPO_FUNCTION(sin, __builtin_sinf(x)) __GPO_FUNCTION(cos, __builtin_cosf(x))
__GPO_FUNCTION(tanh, __builtin_tanhf(x)) __GPO_FUNCTION(tanh_approx, __builtin_tanhf(x))
#undef __GPO_FUNCTION

// -- atomics; a pair's two are added one by one on a GPU, together here ----------------------------------------------

__gpo_inline __GPO_T atomicAdd(__GPO_T* address, __GPO_T val) {
    return __gpo_bits<__GPO_T>(__gpo_update(reinterpret_cast<unsigned short*>(address), [val](unsigned short old) {
        return __gpo_bits<unsigned short>(__hadd(__gpo_bits<__GPO_T>(old), val));
    }));
}
__gpo_inline __GPO_T2 atomicAdd(__GPO_T2* address, __GPO_T2 val) {
    return __gpo_bits<__GPO_T2>(__gpo_update(reinterpret_cast<unsigned*>(address), [val](unsigned old) {
        return __gpo_bits<unsigned>(__hadd2(__gpo_bits<__GPO_T2>(old), val));
    }));
}

// -- operators -------------------------------------------------------------------------------------------------------

#if __GPO_OPERATORS
#define __GPO_OPERATOR(op, function)                                                                  \
    __gpo_inline __GPO_T operator op(const __GPO_T& a, const __GPO_T& b) { return function(a, b); }   \
    __gpo_inline __GPO_T& operator op##=(__GPO_T& a, const __GPO_T& b) { return a = function(a, b); }
__GPO_OPERATOR(+, __hadd) __GPO_OPERATOR(-, __hsub) __GPO_OPERATOR(*, __hmul) __GPO_OPERATOR(/, __hdiv)
#undef __GPO_OPERATOR
__gpo_inline __GPO_T operator+(const __GPO_T& a) { return a; }
__gpo_inline __GPO_T operator-(const __GPO_T& a) { return __hneg(a); }
__gpo_inline __GPO_T& operator++(__GPO_T& a) { return a = __hadd(a, __GPO_ROUND(1.0f)); }
__gpo_inline __GPO_T& operator--(__GPO_T& a) { return a = __hsub(a, __GPO_ROUND(1.0f)); }
__gpo_inline __GPO_T operator++(__GPO_T& a, int) { const __GPO_T was = a; ++a; return was; }
__gpo_inline __GPO_T operator--(__GPO_T& a, int) { const __GPO_T was = a; --a; return was; }
#define __GPO_OPERATOR(op, function) \
    __gpo_inline bool operator op(const __GPO_T& a, const __GPO_T& b) { return function(a, b); }
__GPO_OPERATOR(==, __heq) __GPO_OPERATOR(!=, __hneu) __GPO_OPERATOR(<, __hlt)
__GPO_OPERATOR(<=, __hle) __GPO_OPERATOR(>, __hgt) __GPO_OPERATOR(>=, __hge)
#undef __GPO_OPERATOR
#endif
#if __GPO_OPERATORS2
#define __GPO_OPERATOR(op, function)                                                                    \
    __gpo_inline __GPO_T2 operator op(const __GPO_T2& a, const __GPO_T2& b) { return function(a, b); }  \
    __gpo_inline __GPO_T2& operator op##=(__GPO_T2& a, const __GPO_T2& b) { return a = function(a, b); }
__GPO_OPERATOR(+, __hadd2) __GPO_OPERATOR(-, __hsub2) __GPO_OPERATOR(*, __hmul2) __GPO_OPERATOR(/, __h2div)
#undef __GPO_OPERATOR
__gpo_inline __GPO_T2 operator+(const __GPO_T2& a) { return a; }
__gpo_inline __GPO_T2 operator-(const __GPO_T2& a) { return __hneg2(a); }
__gpo_inline __GPO_T2& operator++(__GPO_T2& a) {
    a.x = __hadd(a.x, __GPO_ROUND(1.0f)), a.y = __hadd(a.y, __GPO_ROUND(1.0f));
    return a;
}
__gpo_inline __GPO_T2& operator--(__GPO_T2& a) {
    a.x = __hsub(a.x, __GPO_ROUND(1.0f)), a.y = __hsub(a.y, __GPO_ROUND(1.0f));
    return a;
}
__gpo_inline __GPO_T2 operator++(__GPO_T2& a, int) { const __GPO_T2 was = a; ++a; return was; }
__gpo_inline __GPO_T2 operator--(__GPO_T2& a, int) { const __GPO_T2 was = a; --a; return was; }
#define __GPO_OPERATOR(op, function) \
    __gpo_inline bool operator op(const __GPO_T2& a, const __GPO_T2& b) { return function(a, b); }
__GPO_OPERATOR(==, __hbeq2) __GPO_OPERATOR(!=, __hbneu2) __GPO_OPERATOR(<, __hblt2)
__GPO_OPERATOR(<=, __hble2) __GPO_OPERATOR(>, __hbgt2) __GPO_OPERATOR(>=, __hbge2)
#undef __GPO_OPERATOR
#endif

#undef __GPO_EACH_INTEGER
#undef __GPO_ROUND
#undef __GPO_NAME
#undef __GPO_PASTE
#undef __GPO_N
#undef __GPO_T
#undef __GPO_T2
#undef __GPO_DIGITS
#undef __GPO_LEAST
#undef __GPO_INF
#undef __GPO_CONVERSIONS
#undef __GPO_OPERATORS
#undef __GPO_OPERATORS2
