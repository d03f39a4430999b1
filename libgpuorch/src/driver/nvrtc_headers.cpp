// Headers that kernel sources may include although no folder has them: those of gpuorch/device, and common standard
// headers. NVRTC, which compiles only for the device, lacks standard headers, but declares most of their functions
// itself. The types are the same as libcu++'s, so that a source may include both.
#include "base/device_headers.h"
#include "driver/nvrtc.h"

namespace gpo::driver::nvrtc {

namespace {

constexpr const char kNothing[] = "#pragma once\n";

constexpr const char kStdint[] = R"(#pragma once
typedef signed char int8_t;
typedef signed short int16_t;
typedef signed int int32_t;
typedef signed long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int8_t int_least8_t;
typedef int16_t int_least16_t;
typedef int32_t int_least32_t;
typedef int64_t int_least64_t;
typedef uint8_t uint_least8_t;
typedef uint16_t uint_least16_t;
typedef uint32_t uint_least32_t;
typedef uint64_t uint_least64_t;
typedef int8_t int_fast8_t;
typedef int16_t int_fast16_t;
typedef int32_t int_fast32_t;
typedef int64_t int_fast64_t;
typedef uint8_t uint_fast8_t;
typedef uint16_t uint_fast16_t;
typedef uint32_t uint_fast32_t;
typedef uint64_t uint_fast64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
typedef int64_t intmax_t;
typedef uint64_t uintmax_t;
#ifndef INT32_MAX
#include <limits.h>
#define INT8_MIN SCHAR_MIN
#define INT16_MIN SHRT_MIN
#define INT32_MIN INT_MIN
#define INT64_MIN LLONG_MIN
#define INT8_MAX SCHAR_MAX
#define INT16_MAX SHRT_MAX
#define INT32_MAX INT_MAX
#define INT64_MAX LLONG_MAX
#define UINT8_MAX UCHAR_MAX
#define UINT16_MAX USHRT_MAX
#define UINT32_MAX UINT_MAX
#define UINT64_MAX ULLONG_MAX
#define SIZE_MAX ULLONG_MAX
#endif
)";

constexpr const char kCstdint[] = R"(#pragma once
#include <stdint.h>
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t; using ::intmax_t; using ::uintmax_t;
}
)";

constexpr const char kLimits[] = R"(#pragma once
#ifndef INT_MAX
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-SHRT_MAX - 1)
#define SHRT_MAX 0x7fff
#define USHRT_MAX 0xffff
#define INT_MIN (-INT_MAX - 1)
#define INT_MAX 0x7fffffff
#define UINT_MAX 0xffffffff
#define LONG_MIN (-LONG_MAX - 1)
#define LONG_MAX LLONG_MAX
#define ULONG_MAX ULLONG_MAX
#define LLONG_MIN (-LLONG_MAX - 1)
#define LLONG_MAX 0x7fffffffffffffffLL
#define ULLONG_MAX 0xffffffffffffffffUL
#endif
)";

constexpr const char kFloat[] = R"(#pragma once
#ifndef FLT_MAX
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_MIN 1.175494350822287507969e-38f
#define FLT_MAX 340282346638528859811704183484516925440.0f
#define FLT_EPSILON 1.1920928955078125e-7f
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_EPSILON 2.2204460492503131e-16
#endif
)";

constexpr const char kMath[] = R"(#pragma once
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#endif
)";

constexpr const char kCmath[] = R"(#pragma once
#include <math.h>
namespace std {
using ::abs; using ::fabs; using ::sqrt; using ::cbrt; using ::pow; using ::hypot;
using ::exp; using ::exp2; using ::expm1; using ::log; using ::log2; using ::log10; using ::log1p;
using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan; using ::atan2;
using ::sinh; using ::cosh; using ::tanh; using ::asinh; using ::acosh; using ::atanh;
using ::floor; using ::ceil; using ::round; using ::trunc; using ::rint; using ::nearbyint;
using ::fmod; using ::remainder; using ::fmin; using ::fmax; using ::fdim; using ::fma; using ::copysign;
using ::erf; using ::erfc; using ::tgamma; using ::lgamma; using ::ldexp; using ::frexp; using ::modf;
using ::isnan; using ::isinf; using ::isfinite; using ::signbit;
}
)";

// Read at every inclusion, as the standard wants: NDEBUG may have changed.
constexpr const char kAssert[] = R"(#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#define assert(condition) \
    ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __func__, sizeof(char)))
#endif
)";

constexpr const char kCstddef[] = "#pragma once\nnamespace std { using ::size_t; using ::ptrdiff_t; }\n";
constexpr const char kCstring[] = "#pragma once\nnamespace std { using ::memcpy; using ::memset; }\n";
constexpr const char kCstdio[] = "#pragma once\nnamespace std { using ::printf; }\n";
constexpr const char kCstdlib[] = "#pragma once\nnamespace std { using ::malloc; using ::free; using ::abs; }\n";

}  // namespace

const std::vector<std::pair<const char*, const char*>>& own_headers() {
    static const auto& headers = *[] {
        std::vector<std::pair<const char*, const char*>> all{
            {"stdint.h", kStdint},
            {"cstdint", kCstdint},
            {"inttypes.h", kStdint},
            {"limits.h", kLimits},
            {"climits", kLimits},
            {"float.h", kFloat},
            {"cfloat", kFloat},
            {"math.h", kMath},
            {"cmath", kCmath},
            {"assert.h", kAssert},
            {"cassert", kAssert},
            {"stddef.h", kNothing},
            {"cstddef", kCstddef},
            {"string.h", kNothing},
            {"cstring", kCstring},
            {"stdio.h", kNothing},
            {"cstdio", kCstdio},
            {"stdlib.h", kNothing},
            {"cstdlib", kCstdlib},
            {"stdbool.h", kNothing},
            {"time.h", kNothing},
            {"cuda_runtime.h", kNothing},
            {"cuda_runtime_api.h", kNothing},
            {"device_launch_parameters.h", kNothing},
            {"cuda.h", kNothing},
            {"new", kNothing},  // NVRTC knows placement new
        };
        for (const DeviceHeader& header : device_headers()) all.emplace_back(header.name, header.text);
        return new auto(std::move(all));
    }();
    return headers;
}

}  // namespace gpo::driver::nvrtc
