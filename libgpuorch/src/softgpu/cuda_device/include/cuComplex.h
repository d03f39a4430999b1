// Complex numbers in two vector components.
#pragma once
#pragma GCC system_header

#include "gpo_device.h"

#define __GPO_COMPLEX(type, name, real, f)                                                                         \
    typedef type name;                                                                                             \
    __gpo_inline real cuCreal##f(name z) { return z.x; }                                                           \
    __gpo_inline real cuCimag##f(name z) { return z.y; }                                                           \
    __gpo_inline name make_##name(real x, real y) { name z = {x, y}; return z; }                                   \
    __gpo_inline name cuConj##f(name z) { return make_##name(z.x, -z.y); }                                         \
    __gpo_inline name cuCadd##f(name a, name b) { return make_##name(a.x + b.x, a.y + b.y); }                      \
    __gpo_inline name cuCsub##f(name a, name b) { return make_##name(a.x - b.x, a.y - b.y); }                      \
    __gpo_inline name cuCmul##f(name a, name b) {                                                                  \
        return make_##name(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                                          \
    }                                                                                                              \
    __gpo_inline name cuCfma##f(name a, name b, name c) {                                                          \
        return make_##name(a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x);                              \
    }                                                                                                              \
    __gpo_inline name cuCdiv##f(name a, name b) {                                                                  \
        /* Scaled, so that nothing in between overflows. */                                                        \
        const real scale = 1 / (fabs(b.x) + fabs(b.y));                                                            \
        const name s = make_##name(a.x * scale, a.y * scale), t = make_##name(b.x * scale, b.y * scale);           \
        const real over = 1 / (t.x * t.x + t.y * t.y);                                                             \
        return make_##name((s.x * t.x + s.y * t.y) * over, (s.y * t.x - s.x * t.y) * over);                        \
    }                                                                                                              \
    __gpo_inline real cuCabs##f(name z) { return hypot(z.x, z.y); }
__GPO_COMPLEX(float2, cuFloatComplex, float, f)
__GPO_COMPLEX(double2, cuDoubleComplex, double, )
#undef __GPO_COMPLEX

typedef cuFloatComplex cuComplex;
__gpo_inline cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
__gpo_inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return make_cuDoubleComplex(z.x, z.y); }
__gpo_inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
    return make_cuFloatComplex(static_cast<float>(z.x), static_cast<float>(z.y));
}
