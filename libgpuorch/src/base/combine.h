// How gpo_combine combines the elements of several ranks. Both kernels of that name include this file:
// driver/combine.cu, compiled by nvcc, and softgpu/image/combine.cpp. Their results are the same, bit for bit.
//
// An element type is a class that names two types: elements are Stored in memory, and combined as Wide. The class has
// conversions between the two, widen() and narrow(), and the operations on Wide. Ranks are combined in ascending order.
// Each operation on floating-point numbers rounds its result, and narrow() rounds once more. Integers wrap.
//
// A result that isn't a number is the canonical NaN: positive, with all other bits set. Minimum and maximum don't
// depend on the order of the ranks: -0 is less than +0, and the result is a NaN if any element is a NaN. (NCCL uses
// fminf() and fmaxf() or the like, which ignore a NaN as long as the other element is a number.)
#pragma once

#include "narrow_floats.h"

namespace gpo::combine {

/// The kernel's `type`.
enum Type : unsigned {
    kInt8 = 1,
    kUint8 = 2,
    kInt32 = 3,
    kUint32 = 4,
    kInt64 = 5,
    kUint64 = 6,
    kFloat16 = 7,
    kBfloat16 = 8,
    kFloat32 = 9,
    kFloat64 = 10,
    kFloat8E4m3 = 11,
    kFloat8E5m2 = 12,
};
/// The kernel's `reduction`. An average is the sum divided by the kernel's divisor, which must not be 0. Averages of
/// integers are rounded towards zero.
enum Reduction : unsigned { kSum = 1, kProduct = 2, kMinimum = 3, kMaximum = 4, kAverage = 5 };

/// A parameter of the kernel.
struct Sources {
    unsigned long long address[16];
};

GPO_HOST_DEVICE constexpr unsigned long long bits_of(double x) { return __builtin_bit_cast(unsigned long long, x); }
GPO_HOST_DEVICE constexpr double double_of(unsigned long long bits) { return __builtin_bit_cast(double, bits); }

// -- element types ----------------------------------------------------------------------------------------------------

/// `Arithmetic`: an unsigned type at least as wide as int, so that nothing overflows.
template <class T, class Arithmetic>
struct Integer {
    using Stored = T;
    using Wide = T;
    GPO_HOST_DEVICE static Wide widen(Stored x) { return x; }
    GPO_HOST_DEVICE static Stored narrow(Wide x) { return x; }
    GPO_HOST_DEVICE static Wide sum(Wide a, Wide b) { return static_cast<T>(Arithmetic(a) + Arithmetic(b)); }
    GPO_HOST_DEVICE static Wide product(Wide a, Wide b) { return static_cast<T>(Arithmetic(a) * Arithmetic(b)); }
    GPO_HOST_DEVICE static Wide minimum(Wide a, Wide b) { return b < a ? b : a; }
    GPO_HOST_DEVICE static Wide maximum(Wide a, Wide b) { return a < b ? b : a; }
    GPO_HOST_DEVICE static Wide quotient(Wide a, unsigned divisor) {
        if constexpr (T(-1) < T(0))
            if (a < 0) return static_cast<T>(0 - (0 - Arithmetic(a)) / divisor);
        return static_cast<T>(Arithmetic(a) / divisor);
    }
};

GPO_HOST_DEVICE inline float both_bits(float a, float b) { return float_of(gpo::bits_of(a) & gpo::bits_of(b)); }
GPO_HOST_DEVICE inline double both_bits(double a, double b) { return double_of(bits_of(a) & bits_of(b)); }
GPO_HOST_DEVICE inline float any_bits(float a, float b) { return float_of(gpo::bits_of(a) | gpo::bits_of(b)); }
GPO_HOST_DEVICE inline double any_bits(double a, double b) { return double_of(bits_of(a) | bits_of(b)); }

template <class T>
struct Floating {
    using Wide = T;
    GPO_HOST_DEVICE static T sum(T a, T b) { return a + b; }
    GPO_HOST_DEVICE static T product(T a, T b) { return a * b; }
    // Equal numbers have the same bits, except for +0 and -0. If `a` is a NaN, the result is `a`: comparisons with a
    // NaN are false.
    GPO_HOST_DEVICE static T minimum(T a, T b) { return a == b ? any_bits(a, b) : b < a || b != b ? b : a; }
    GPO_HOST_DEVICE static T maximum(T a, T b) { return a == b ? both_bits(a, b) : a < b || b != b ? b : a; }
    GPO_HOST_DEVICE static T quotient(T a, unsigned divisor) { return a / static_cast<T>(divisor); }
};

template <class Format>
struct Narrow : Floating<float> {
    using Stored = typename Format::Stored;
    GPO_HOST_DEVICE static float widen(Stored x) { return gpo::widen<Format>(x); }
    GPO_HOST_DEVICE static Stored narrow(float x) { return gpo::narrow<Format>(x); }
};

struct Float32 : Floating<float> {
    using Stored = unsigned;
    GPO_HOST_DEVICE static float widen(Stored x) { return float_of(x); }
    GPO_HOST_DEVICE static Stored narrow(float x) { return x != x ? 0x7fffffff : gpo::bits_of(x); }
};

struct Float64 : Floating<double> {
    using Stored = unsigned long long;
    GPO_HOST_DEVICE static double widen(Stored x) { return double_of(x); }
    GPO_HOST_DEVICE static Stored narrow(double x) { return x != x ? 0x7fffffffffffffff : bits_of(x); }
};

// -- several elements at a time ---------------------------------------------------------------------------------------

/// `count` consecutive elements, combined rank by rank. CUDA kernels hold them in registers.
template <class Element, unsigned count>
class Run {
public:
    using Stored = typename Element::Stored;
    using Wide = typename Element::Wide;

    /// `source`: the first rank's elements.
    GPO_HOST_DEVICE explicit Run(const Stored* source) {
        for (unsigned i = 0; i < count; ++i) wide_[i] = Element::widen(source[i]);
    }
    /// `source`: the next rank's elements.
    GPO_HOST_DEVICE void combine(unsigned reduction, const Stored* source) {
        Wide next[count];
        for (unsigned i = 0; i < count; ++i) next[i] = Element::widen(source[i]);
        switch (reduction) {
            case kProduct: return combine_by<Element::product>(next);
            case kMinimum: return combine_by<Element::minimum>(next);
            case kMaximum: return combine_by<Element::maximum>(next);
            default: return combine_by<Element::sum>(next);
        }
    }
    GPO_HOST_DEVICE void store(unsigned reduction, unsigned divisor, Stored* destination) {
        if (reduction == kAverage)
            for (unsigned i = 0; i < count; ++i) wide_[i] = Element::quotient(wide_[i], divisor);
        for (unsigned i = 0; i < count; ++i) destination[i] = Element::narrow(wide_[i]);
    }

private:
    template <Wide (&operation)(Wide, Wide)>
    GPO_HOST_DEVICE void combine_by(const Wide* next) {
        for (unsigned i = 0; i < count; ++i) wide_[i] = operation(wide_[i], next[i]);
    }

    Wide wide_[count];
};

/// Calls `work` with the element type that `type` (enum Type) names. No effect if there is no such type.
template <class Work>
GPO_HOST_DEVICE void with_type(unsigned type, Work work) {
    using u64 = unsigned long long;
    switch (type) {
        case kInt8: return work(Integer<signed char, unsigned>());
        case kUint8: return work(Integer<unsigned char, unsigned>());
        case kInt32: return work(Integer<int, unsigned>());
        case kUint32: return work(Integer<unsigned, unsigned>());
        case kInt64: return work(Integer<long long, u64>());
        case kUint64: return work(Integer<u64, u64>());
        case kFloat16: return work(Narrow<Float16>());
        case kBfloat16: return work(Narrow<Bfloat16>());
        case kFloat32: return work(Float32());
        case kFloat64: return work(Float64());
        case kFloat8E4m3: return work(Narrow<Float8E4m3>());
        case kFloat8E5m2: return work(Narrow<Float8E5m2>());
        default: return;
    }
}

}  // namespace gpo::combine
