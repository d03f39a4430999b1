// Two 16-bit or four 8-bit numbers in one word (lanes): arithmetic, comparisons and sums of differences of each lane.
// Operations of dynamic programming, on lanes and on whole words: the larger or smaller of sums and of three
// numbers, also clamped at zero.
#pragma once

#include "gpo_math.h"

/// `each` of the lanes of a and b, of Bits bits, as unsigned numbers.
template <unsigned Bits, class Each>
__gpo_inline unsigned __gpo_each(unsigned a, unsigned b, Each each) {
    const unsigned all = (1u << Bits) - 1;
    unsigned result = 0;
    for (unsigned at = 0; at < 32; at += Bits)
        result |= (static_cast<unsigned>(each(static_cast<int>(a >> at & all), static_cast<int>(b >> at & all))) & all) << at;
    return result;
}
/// The same, as signed numbers.
template <unsigned Bits, class Each>
__gpo_inline unsigned __gpo_each_signed(unsigned a, unsigned b, Each each) {
    return __gpo_each<Bits>(a, b, [each](int x, int y) {
        const int sign = 1 << (Bits - 1);
        return each((x ^ sign) - sign, (y ^ sign) - sign);
    });
}
template <unsigned Bits> __gpo_inline int __gpo_most(bool is_signed) { return is_signed ? (1 << (Bits - 1)) - 1 : (1 << Bits) - 1; }
template <unsigned Bits> __gpo_inline int __gpo_least(bool is_signed) { return is_signed ? -(1 << (Bits - 1)) : 0; }
template <unsigned Bits>
__gpo_inline int __gpo_within(int x, bool is_signed) {
    return max(__gpo_least<Bits>(is_signed), min(__gpo_most<Bits>(is_signed), x));
}

template <unsigned Bits>
__gpo_inline unsigned __gpo_sum_of_lanes(unsigned a) {
    unsigned sum = 0;
    for (unsigned at = 0; at < 32; at += Bits) sum += a >> at & ((1u << Bits) - 1);
    return sum;
}

#define __GPO_LANES(name, Bits, each, expression)                              \
    __gpo_inline unsigned name(unsigned a, unsigned b) {                       \
        return each<Bits>(a, b, [](int x, int y) { return expression; });      \
    }
#define __GPO_COMPARED(relation, op, N, Bits)                                                      \
    __GPO_LANES(__vcmp##relation##s##N, Bits, __gpo_each_signed, x op y ? -1 : 0)                  \
    __GPO_LANES(__vcmp##relation##u##N, Bits, __gpo_each, x op y ? -1 : 0)                         \
    __GPO_LANES(__vset##relation##s##N, Bits, __gpo_each_signed, x op y ? 1 : 0)                   \
    __GPO_LANES(__vset##relation##u##N, Bits, __gpo_each, x op y ? 1 : 0)
#define __GPO_WORD(N, Bits)                                                                                 \
    __GPO_LANES(__vadd##N, Bits, __gpo_each, x + y)                                                         \
    __GPO_LANES(__vsub##N, Bits, __gpo_each, x - y)                                                         \
    __GPO_LANES(__vaddss##N, Bits, __gpo_each_signed, __gpo_within<Bits>(x + y, true))                      \
    __GPO_LANES(__vaddus##N, Bits, __gpo_each, __gpo_within<Bits>(x + y, false))                            \
    __GPO_LANES(__vsubss##N, Bits, __gpo_each_signed, __gpo_within<Bits>(x - y, true))                      \
    __GPO_LANES(__vsubus##N, Bits, __gpo_each, __gpo_within<Bits>(x - y, false))                            \
    __GPO_LANES(__vavgs##N, Bits, __gpo_each_signed, (x + y + (x + y >= 0 ? 1 : 0)) >> 1)                   \
    __GPO_LANES(__vavgu##N, Bits, __gpo_each, (x + y + 1) >> 1)                                             \
    __GPO_LANES(__vhaddu##N, Bits, __gpo_each, (x + y) >> 1)                                                \
    __GPO_LANES(__vmaxs##N, Bits, __gpo_each_signed, x > y ? x : y)                                         \
    __GPO_LANES(__vmaxu##N, Bits, __gpo_each, x > y ? x : y)                                                \
    __GPO_LANES(__vmins##N, Bits, __gpo_each_signed, x < y ? x : y)                                         \
    __GPO_LANES(__vminu##N, Bits, __gpo_each, x < y ? x : y)                                                \
    __GPO_LANES(__vabsdiffs##N, Bits, __gpo_each_signed, x > y ? x - y : y - x)                             \
    __GPO_LANES(__vabsdiffu##N, Bits, __gpo_each, x > y ? x - y : y - x)                                    \
    __GPO_LANES(__vcmpeq##N, Bits, __gpo_each, x == y ? -1 : 0)                                             \
    __GPO_LANES(__vcmpne##N, Bits, __gpo_each, x != y ? -1 : 0)                                             \
    __GPO_LANES(__vseteq##N, Bits, __gpo_each, x == y ? 1 : 0)                                              \
    __GPO_LANES(__vsetne##N, Bits, __gpo_each, x != y ? 1 : 0)                                              \
    __GPO_COMPARED(gt, >, N, Bits) __GPO_COMPARED(ge, >=, N, Bits)                                          \
    __GPO_COMPARED(lt, <, N, Bits) __GPO_COMPARED(le, <=, N, Bits)                                          \
    __gpo_inline unsigned __vneg##N(unsigned a) { return __vsub##N(0u, a); }                                \
    __gpo_inline unsigned __vnegss##N(unsigned a) { return __vsubss##N(0u, a); }                            \
    __gpo_inline unsigned __vabs##N(unsigned a) {                                                           \
        return __gpo_each_signed<Bits>(a, 0u, [](int x, int) { return x < 0 ? -x : x; });                   \
    }                                                                                                       \
    __gpo_inline unsigned __vabsss##N(unsigned a) {                                                         \
        return __gpo_each_signed<Bits>(a, 0u, [](int x, int) { return __gpo_within<Bits>(x < 0 ? -x : x, true); }); \
    }                                                                                                       \
    __gpo_inline unsigned __vsads##N(unsigned a, unsigned b) { return __gpo_sum_of_lanes<Bits>(__vabsdiffs##N(a, b)); } \
    __gpo_inline unsigned __vsadu##N(unsigned a, unsigned b) { return __gpo_sum_of_lanes<Bits>(__vabsdiffu##N(a, b)); }
__GPO_WORD(2, 16) __GPO_WORD(4, 8)
#undef __GPO_WORD
#undef __GPO_COMPARED
#undef __GPO_LANES

#define __GPO_EXTREME(name, T, lanes, one, sum)                                                                               \
    __gpo_inline T __vi##name##3_##lanes(T a, T b, T c) { return one(one(a, b), c); }                                         \
    __gpo_inline T __viadd##name##_##lanes(T a, T b, T c) { return one(sum(a, b), c); }
#define __GPO_NOT_NEGATIVE(name, T, lanes, one, most)                                                                         \
    __gpo_inline T __vi##name##_##lanes##_relu(T a, T b) { return most(one(a, b), T(0)); }                                    \
    __gpo_inline T __vi##name##3_##lanes##_relu(T a, T b, T c) { return most(__vi##name##3_##lanes(a, b, c), T(0)); }         \
    __gpo_inline T __viadd##name##_##lanes##_relu(T a, T b, T c) { return most(__viadd##name##_##lanes(a, b, c), T(0)); }
/// The first number is the answer, wherever both are equal too.
#define __GPO_WHICH(name, T, lanes, one)                                                                                      \
    __gpo_inline T __vib##name##_##lanes(T a, T b, bool* first) {                                                             \
        const T answer = one(a, b);                                                                                           \
        *first = answer == a;                                                                                                 \
        return answer;                                                                                                        \
    }
#define __GPO_WHICH_OF_TWO(name, lanes, one)                                                                                  \
    __gpo_inline unsigned __vib##name##_##lanes(unsigned a, unsigned b, bool* first_high, bool* first_low) {                  \
        const unsigned answer = one(a, b);                                                                                    \
        *first_high = (answer ^ a) >> 16 == 0;                                                                                \
        *first_low = ((answer ^ a) & 0xffffu) == 0;                                                                           \
        return answer;                                                                                                        \
    }
__gpo_inline int __gpo_sum(int a, int b) { return a + b; }
__gpo_inline unsigned __gpo_sum(unsigned a, unsigned b) { return a + b; }
#define __GPO_EXTREMES(name)                                                                                                  \
    __GPO_EXTREME(name, int, s32, name, __gpo_sum) __GPO_EXTREME(name, unsigned, u32, name, __gpo_sum)                        \
    __GPO_EXTREME(name, unsigned, s16x2, __v##name##s2, __vadd2) __GPO_EXTREME(name, unsigned, u16x2, __v##name##u2, __vadd2) \
    __GPO_NOT_NEGATIVE(name, int, s32, name, max) __GPO_NOT_NEGATIVE(name, unsigned, s16x2, __v##name##s2, __vmaxs2)          \
    __GPO_WHICH(name, int, s32, name) __GPO_WHICH(name, unsigned, u32, name)                                                  \
    __GPO_WHICH_OF_TWO(name, s16x2, __v##name##s2) __GPO_WHICH_OF_TWO(name, u16x2, __v##name##u2)
__GPO_EXTREMES(max) __GPO_EXTREMES(min)
#undef __GPO_EXTREMES
#undef __GPO_WHICH_OF_TWO
#undef __GPO_WHICH
#undef __GPO_NOT_NEGATIVE
#undef __GPO_EXTREME
