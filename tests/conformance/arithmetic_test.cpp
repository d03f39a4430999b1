// Arithmetic in kernels beyond the usual: rounding in a direction, functions that the C library lacks, several numbers
// in one word.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kDirected[] = R"(
#define EACH(M, at) \
    f[at] = __fadd_##M(x, y), f[at + 1] = __fsub_##M(x, y), f[at + 2] = __fmul_##M(x, y), f[at + 3] = __fdiv_##M(x, y); \
    f[at + 4] = __fmaf_##M(x, y, z), f[at + 5] = __fsqrt_##M(fabsf(x)), f[at + 6] = __double2float_##M(d[0]); \
    g[at] = __dadd_##M(d[0], d[1]), g[at + 1] = __dsub_##M(d[0], d[1]), g[at + 2] = __dmul_##M(d[0], d[1]); \
    g[at + 3] = __ddiv_##M(d[0], d[1]), g[at + 4] = __fma_##M(d[0], d[1], d[2]), g[at + 5] = __dsqrt_##M(fabs(d[0])), g[at + 6] = 0;
extern "C" __global__ void directed(float* f, double* g, const float* in, const double* d, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    f += 28 * i, g += 28 * i, in += 3 * i, d += 3 * i;
    const float x = in[0], y = in[1], z = in[2];
    EACH(rn, 0) EACH(rz, 7) EACH(ru, 14) EACH(rd, 21)
}
)";

const char kIntegers[] = R"(
#define EACH(M, at) \
    f[at] = __ll2float_##M(x), f[at + 1] = __ull2float_##M(u), g[at] = __ll2double_##M(x), g[at + 1] = __ull2double_##M(u);
extern "C" __global__ void integers(float* f, double* g, const long long* in, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    f += 8 * i, g += 8 * i;
    const long long x = in[i];
    const unsigned long long u = (unsigned long long)x;
    EACH(rn, 0) EACH(rz, 2) EACH(ru, 4) EACH(rd, 6)
}
)";

const char kFunctions[] = R"(
extern "C" __global__ void functions(float* f, double* g, const double* in, unsigned n) {
    unsigned i = threadIdx.x;
    if (i >= n) return;
    const double x = in[i];
    f += 12 * i, g += 12 * i;
    g[0] = erfinv(x), g[1] = erfcinv(x + 1), g[2] = normcdfinv((x + 1) / 2), g[3] = erfcx(4 * x), g[4] = cyl_bessel_i0(3 * x);
    g[5] = cyl_bessel_i1(3 * x), g[6] = rnorm3d(x, 1, 2), g[7] = norm4d(x, 1, 2, 3), g[8] = norm(2, in), g[9] = jn(2, x), g[10] = j1(x), g[11] = 0;
    const float y = (float)x;
    f[0] = erfinvf(y), f[1] = erfcinvf(y + 1), f[2] = normcdfinvf((y + 1) / 2), f[3] = erfcxf(4 * y), f[4] = cyl_bessel_i0f(3 * y);
    f[5] = cyl_bessel_i1f(3 * y), f[6] = rnorm3df(y, 1, 2), f[7] = norm4df(y, 1, 2, 3), f[8] = rnorm4df(y, 1, 2, 3), f[9] = jnf(2, y), f[10] = j1f(y);
    int quotient;
    f[11] = remquof(10 * y, 3, &quotient);
    f[11] += 1000 * (quotient & 7);
}
)";

const char kLanes[] = R"(
extern "C" __global__ void lanes(unsigned* out, const unsigned* in, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned a = in[2 * i], b = in[2 * i + 1];
    out += 24 * i;
    out[0] = __vadd4(a, b), out[1] = __vsub2(a, b), out[2] = __vaddss4(a, b), out[3] = __vaddus2(a, b), out[4] = __vsubss2(a, b);
    out[5] = __vsubus4(a, b), out[6] = __vavgs4(a, b), out[7] = __vavgu2(a, b), out[8] = __vmaxs2(a, b), out[9] = __vmaxu4(a, b);
    out[10] = __vmins4(a, b), out[11] = __vminu2(a, b), out[12] = __vabsdiffs2(a, b), out[13] = __vabsdiffu4(a, b);
    out[14] = __vcmpgts4(a, b), out[15] = __vcmpleu2(a, b), out[16] = __vcmpeq4(a, a ^ (b & 0xff00ff00u)), out[17] = __vsetgeu4(a, b);
    out[18] = __vsadu4(a, b), out[19] = __vsads2(a, b), out[20] = __vneg4(a), out[21] = __vabsss4(a), out[22] = __vhaddu4(a, b), out[23] = __vsetlts2(a, b);
}
)";

/// A linear congruential generator: the same numbers everywhere.
struct Numbers {
    uint64_t state = 88172645463325252u;
    uint64_t operator()() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return state >> 11;
    }
    /// Any sign, exponents within `spread` of one's.
    double real(int spread) {
        const double digits = 1.0 + std::ldexp(static_cast<double>((*this)() & 0xfffffffffffffu), -52);
        return std::ldexp((*this)() & 1 ? -digits : digits, static_cast<int>((*this)() % (2 * spread)) - spread);
    }
};

/// Sets the host's rounding mode. The compiler must neither move operations across this object nor fuse them.
class Direction {
public:
    explicit Direction(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
    ~Direction() { std::fesetround(before_); }

private:
    const int before_;
};
template <class T>
void exactly_rounded(T* out, int mode, T a, T b, T c) {
    const Direction direction(mode);
    volatile T x = a, y = b, z = c;
    volatile T result = x + y;
    out[0] = result;
    result = x - y;
    out[1] = result;
    result = x * y;
    out[2] = result;
    result = x / y;
    out[3] = result;
    result = std::fma(static_cast<T>(x), static_cast<T>(y), static_cast<T>(z));
    out[4] = result;
    volatile T positive = std::fabs(static_cast<T>(x));
    result = std::sqrt(static_cast<T>(positive));
    out[5] = result;
}

/// `each` of the lanes of two words.
template <class Each>
uint32_t of_lanes(uint32_t a, uint32_t b, unsigned bits, bool is_signed, Each each) {
    uint32_t out = 0;
    const auto lane = [&](uint32_t word, unsigned at) {
        const auto value = static_cast<int64_t>(word >> at & ((1u << bits) - 1));
        return is_signed && value >> (bits - 1) ? value - (int64_t{1} << bits) : value;
    };
    for (unsigned at = 0; at < 32; at += bits)
        out |= (static_cast<uint32_t>(each(lane(a, at), lane(b, at))) & ((1u << bits) - 1)) << at;
    return out;
}

}  // namespace

TEST_CASE("operations that round in a direction round as the host does in that direction") {
    Gpu gpu;
    Kernel directed = gpu.kernel(kDirected, "directed");
    Stream stream = gpu.stream();
    constexpr uint32_t n = 2'000;
    auto f = gpu.pinned<float>(28 * n), in = gpu.pinned<float>(3 * n);
    auto g = gpu.pinned<double>(28 * n), d = gpu.pinned<double>(3 * n);
    Numbers numbers;
    for (uint32_t i = 0; i < 3 * n; ++i) {
        in[i] = static_cast<float>(numbers.real(i % 5 == 0 ? 60 : 3));
        d[i] = numbers.real(i % 5 == 0 ? 90 : 3);
        if (i % 7 == 0) in[i] = std::nearbyint(in[i]) + 1.0f, d[i] = std::nearbyint(d[i]) + 1.0;   // often exact
    }
    // Two values too large for a float, and one just small enough.
    d[0] = 3.5e38, d[3] = -3.5e38, d[6] = 3.4028235677973362e38;
    REQUIRE_OK(launch(stream, directed.get(), (n + 63) / 64, 64, f.data(), g.data(), in.data(), d.data(), n));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    const char* const operations[] = {"sum",  "difference", "product", "quotient", "fused product and sum",
                                      "root", "conversion"};
    int wrong = 0;
    for (uint32_t i = 0; i < n; ++i)
        for (int m = 0; m < 4; ++m) {
            float expected_f[7];
            double expected_g[6];
            exactly_rounded(expected_f, modes[m], in[3 * i], in[3 * i + 1], in[3 * i + 2]);
            exactly_rounded(expected_g, modes[m], d[3 * i], d[3 * i + 1], d[3 * i + 2]);
            {
                const Direction direction(modes[m]);
                volatile double wide = d[3 * i];
                volatile float narrow = static_cast<float>(wide);
                expected_f[6] = narrow;
            }
            for (int k = 0; k < 7; ++k) {
                if (std::memcmp(&f[28 * i + 7 * m + k], &expected_f[k], 4) == 0 || ++wrong > 5) continue;
                FAIL_CHECK("the " << operations[k] << " in mode " << m << " of floats " << in[3 * i] << ", "
                                  << in[3 * i + 1] << ", " << in[3 * i + 2] << " is " << f[28 * i + 7 * m + k]
                                  << ", not " << expected_f[k]);
            }
            for (int k = 0; k < 6; ++k) {
                if (std::memcmp(&g[28 * i + 7 * m + k], &expected_g[k], 8) == 0 || ++wrong > 5) continue;
                FAIL_CHECK("the " << operations[k] << " in mode " << m << " of doubles " << d[3 * i] << ", "
                                  << d[3 * i + 1] << ", " << d[3 * i + 2] << " is " << g[28 * i + 7 * m + k] << ", not "
                                  << expected_g[k]);
            }
        }
    CHECK(wrong == 0);
}

TEST_CASE("integers become floating-point numbers in a direction as on the host") {
    Gpu gpu;
    Kernel integers = gpu.kernel(kIntegers, "integers");
    Stream stream = gpu.stream();
    constexpr uint32_t n = 2'000;
    auto in = gpu.pinned<int64_t>(n);
    auto f = gpu.pinned<float>(8 * n);
    auto g = gpu.pinned<double>(8 * n);
    Numbers numbers;
    for (uint32_t i = 0; i < n; ++i) in[i] = static_cast<int64_t>(numbers() << 32 ^ numbers()) >> (i % 64);
    in[0] = 0, in[1] = INT64_MAX, in[2] = INT64_MIN, in[3] = -1, in[4] = (int64_t{1} << 53) + 1,
    in[5] = -((int64_t{1} << 24) + 1);
    REQUIRE_OK(launch(stream, integers.get(), (n + 63) / 64, 64, f.data(), g.data(), in.data(), n));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    int wrong = 0;
    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t m = 0; m < 4; ++m) {
            const Direction direction(modes[m]);
            const volatile int64_t x = in[i];
            const volatile uint64_t u = static_cast<uint64_t>(in[i]);
            const volatile float fx = static_cast<float>(x), fu = static_cast<float>(u);
            const volatile double gx = static_cast<double>(x), gu = static_cast<double>(u);
            const uint32_t at = 8 * i + 2 * m;
            if (f[at] == fx && f[at + 1] == fu && g[at] == gx && g[at + 1] == gu) continue;
            if (++wrong <= 5)
                FAIL_CHECK("in mode " << m << " " << in[i] << " is " << f[at] << ", " << f[at + 1] << ", " << g[at]
                                      << ", " << g[at + 1]);
        }
    CHECK(wrong == 0);
}

TEST_CASE("inverse error functions, Bessel functions and norms are what they should be") {
    Gpu gpu;
    Kernel functions = gpu.kernel(kFunctions, "functions");
    Stream stream = gpu.stream();
    const std::vector<double> points = {-0.999, -0.97, -0.75, -0.5, -0.25, -1e-3,   1e-3,
                                        0.1,    0.3,   0.5,   0.6,  0.875, 0.96875, 0.998046875};
    const auto n = static_cast<uint32_t>(points.size());
    auto in = gpu.pinned<double>(n), g = gpu.pinned<double>(12 * n);
    auto f = gpu.pinned<float>(12 * n);
    std::copy(points.begin(), points.end(), in.begin());
    REQUIRE_OK(launch(stream, functions.get(), 1, 32, f.data(), g.data(), in.data(), n));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    for (uint32_t i = 0; i < n; ++i) {
        const double x = points[i];
        CAPTURE(x);
        const double* got = &g[12 * i];
        const float* got_f = &f[12 * i];
        const double bessel0 = std::cyl_bessel_i(0.0, std::fabs(3 * x)),
                     bessel1 = std::copysign(std::cyl_bessel_i(1.0, std::fabs(3 * x)), x);
        const double scaled = static_cast<double>(std::exp(16.0L * x * x) * std::erfc(4.0L * x));
        const auto near = [](double value, double epsilon) { return doctest::Approx(value).epsilon(epsilon); };
        CHECK(std::erf(got[0]) == near(x, 1e-13));
        CHECK(std::erfc(got[1]) == near(x + 1, 1e-13));
        CHECK(std::erfc(-got[2] / std::sqrt(2.0)) / 2 == near((x + 1) / 2, 1e-13));
        CHECK(got[3] == near(scaled, 1e-12));
        CHECK(got[4] == near(bessel0, 1e-13));
        CHECK(got[5] == near(bessel1, 1e-13));
        CHECK(got[6] == near(1 / std::sqrt(x * x + 5), 1e-14));
        CHECK(got[7] == near(std::sqrt(x * x + 14), 1e-14));
        CHECK(got[8] == near(std::sqrt(points[0] * points[0] + points[1] * points[1]), 1e-14));
        CHECK(got[9] == near(jn(2, x), 1e-12));
        CHECK(got[10] == near(j1(x), 1e-12));
        for (const int k : {0, 1, 2, 3, 4, 5, 6, 7, 9, 10}) CHECK(double(got_f[k]) == near(got[k], 2e-4));
        CHECK(got_f[8] == near(1 / got[7], 1e-5));
        int quotient = 0;
        const float rest = std::remquo(10 * static_cast<float>(x), 3.0f, &quotient);
        CHECK(got_f[11] == near(rest + 1000 * (quotient & 7), 1e-6));
    }
}

TEST_CASE("two or four numbers in a word are added, compared and averaged each by itself") {
    Gpu gpu;
    Kernel lanes = gpu.kernel(kLanes, "lanes");
    Stream stream = gpu.stream();
    constexpr uint32_t n = 1'000;
    auto in = gpu.pinned<uint32_t>(2 * n), out = gpu.pinned<uint32_t>(24 * n);
    Numbers numbers;
    for (uint32_t i = 0; i < 2 * n; ++i) in[i] = static_cast<uint32_t>(numbers());
    in[0] = 0x80808080, in[1] = 0x80ff7f00, in[2] = 0x80008000, in[3] = 0x7fff8000;
    REQUIRE_OK(launch(stream, lanes.get(), (n + 63) / 64, 64, out.data(), in.data(), n));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    const auto within = [](int64_t value, int64_t least, int64_t most) {
        return std::min(std::max(value, least), most);
    };
    for (uint32_t i = 0; i < n; ++i) {
        const uint32_t a = in[2 * i], b = in[2 * i + 1];
        using Lane = int64_t;
        const auto difference = [](Lane x, Lane y) { return x > y ? x - y : y - x; };
        const auto total = [](uint32_t word, unsigned bits) {
            uint32_t sum = 0;
            for (unsigned at = 0; at < 32; at += bits) sum += word >> at & ((1u << bits) - 1);
            return sum;
        };
        const std::vector<uint32_t> expected = {
            of_lanes(a, b, 8, false, [](Lane x, Lane y) { return x + y; }),
            of_lanes(a, b, 16, false, [](Lane x, Lane y) { return x - y; }),
            of_lanes(a, b, 8, true, [&](Lane x, Lane y) { return within(x + y, -128, 127); }),
            of_lanes(a, b, 16, false, [&](Lane x, Lane y) { return within(x + y, 0, 65535); }),
            of_lanes(a, b, 16, true, [&](Lane x, Lane y) { return within(x - y, -32768, 32767); }),
            of_lanes(a, b, 8, false, [&](Lane x, Lane y) { return within(x - y, 0, 255); }),
            of_lanes(a, b, 8, true, [](Lane x, Lane y) { return (x + y + (x + y >= 0)) >> 1; }),
            of_lanes(a, b, 16, false, [](Lane x, Lane y) { return (x + y + 1) >> 1; }),
            of_lanes(a, b, 16, true, [](Lane x, Lane y) { return std::max(x, y); }),
            of_lanes(a, b, 8, false, [](Lane x, Lane y) { return std::max(x, y); }),
            of_lanes(a, b, 8, true, [](Lane x, Lane y) { return std::min(x, y); }),
            of_lanes(a, b, 16, false, [](Lane x, Lane y) { return std::min(x, y); }),
            of_lanes(a, b, 16, true, difference),
            of_lanes(a, b, 8, false, difference),
            of_lanes(a, b, 8, true, [](Lane x, Lane y) { return x > y ? -1 : 0; }),
            of_lanes(a, b, 16, false, [](Lane x, Lane y) { return x <= y ? -1 : 0; }),
            of_lanes(a, a ^ (b & 0xff00ff00u), 8, false, [](Lane x, Lane y) { return x == y ? -1 : 0; }),
            of_lanes(a, b, 8, false, [](Lane x, Lane y) { return x >= y ? 1 : 0; }),
            total(of_lanes(a, b, 8, false, difference), 8),
            total(of_lanes(a, b, 16, true, difference), 16),
            of_lanes(a, b, 8, true, [](Lane x, Lane) { return -x; }),
            of_lanes(a, b, 8, true, [&](Lane x, Lane) { return within(x < 0 ? -x : x, -128, 127); }),
            of_lanes(a, b, 8, false, [](Lane x, Lane y) { return (x + y) >> 1; }),
            of_lanes(a, b, 16, true, [](Lane x, Lane y) { return x < y ? 1 : 0; }),
        };
        CAPTURE(a);
        CAPTURE(b);
        CHECK(std::vector<uint32_t>(&out[24 * i], &out[24 * i] + 24) == expected);
    }
}

TEST_CASE("half turns are exact where they can be, and norms overflow only where their result does") {
    Program program(R"(
extern "C" __global__ void turns(double* g, float* f, const double* in) {
    const double x = in[threadIdx.x];
    g += 2 * threadIdx.x, f += 2 * threadIdx.x;
    g[0] = sinpi(x), g[1] = cospi(x), f[0] = sinpif((float)x), f[1] = cospif((float)x);
}
extern "C" __global__ void norms(double* g, float* f, double large, float largef) {
    const double four[] = {large, large, large, large};
    const float fourf[] = {largef, largef, largef, largef};
    g[0] = norm3d(large, large, large), g[1] = norm4d(large, large, large, large), g[2] = norm(4, four);
    g[3] = rnorm3d(large, large, large), g[4] = norm3d(0, 3, 4);
    f[0] = norm3df(largef, largef, largef), f[1] = norm4df(largef, largef, largef, largef), f[2] = normf(4, fourf);
    f[3] = rnorm3df(largef, largef, largef), f[4] = norm3df(0, 3, 4);
}
extern "C" __global__ void inverse_roots(float* out, const float* in, unsigned n) {
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) out[i] = __frsqrt_rn(in[i]);
}
)");
    const std::vector<double> turns = {0, 0.5, 1, 1.5, 2, 2.5, 1e15 + 1, 4e300, -0.5, -1, -1.5, -2, 0.25, 0.75};
    const std::vector<double> sines = {0, 1, 0, -1, 0, 1, 0, 0, -1, 0, 1, 0, std::sqrt(0.5), std::sqrt(0.5)};
    const std::vector<double> cosines = {1, 0, -1, 0, 1, 0, -1, 1, 0, -1, 0, 1, std::sqrt(0.5), -std::sqrt(0.5)};
    std::vector<double> g(2 * turns.size());
    std::vector<float> f(2 * turns.size());
    program.run("turns", shape_of(1, static_cast<uint32_t>(turns.size())), g, f, turns);
    for (size_t i = 0; i < turns.size(); ++i) {
        INFO(turns[i]);
        const double allowed = sines[i] == std::trunc(sines[i]) ? 0.0 : 1e-15;
        CHECK(std::abs(g[2 * i] - sines[i]) <= allowed);
        CHECK(std::abs(g[2 * i + 1] - cosines[i]) <= allowed);
        if (std::abs(turns[i]) > 100) continue;   // not the same number in float
        CHECK(std::abs(f[2 * i] - static_cast<float>(sines[i])) <= static_cast<float>(allowed) * 1e8f);
        CHECK(std::abs(f[2 * i + 1] - static_cast<float>(cosines[i])) <= static_cast<float>(allowed) * 1e8f);
    }
    for (const double size : {1.0, -1.0}) {
        const double large = std::pow(10.0, 200 * size);
        const float largef = static_cast<float>(std::pow(10.0, 25 * size));
        program.run("norms", single(), g, f, large, largef);
        for (const int at : {0, 1, 2, 3, 4}) {
            INFO(size << " " << at);
            const double count = at % 3 == 0 ? std::sqrt(3.0) : 2.0;
            const double expected = at == 4 ? 5.0 : at == 3 ? 1 / (large * count) : large * count;
            const double expectedf = at == 4 ? 5.0 : at == 3 ? 1 / (largef * count) : largef * count;
            CHECK(std::abs(g[at] / expected - 1) < 1e-14);
            CHECK(std::abs(f[at] / expectedf - 1) < 1e-6);
        }
    }
    Numbers numbers;
    std::vector<float> in(4000), out(in.size());
    for (float& x : in) x = std::abs(static_cast<float>(numbers.real(40)));
    program.run("inverse_roots", shape_of(1, 128), out, in, static_cast<uint32_t>(in.size()));
    int wrong = 0;
    for (size_t i = 0; i < in.size(); ++i)
        wrong += out[i] != static_cast<float>(1 / std::sqrt(static_cast<long double>(in[i])));
    CHECK(wrong == 0);
}

TEST_CASE("the C library's functions are in std, and what CUDA has beside them is there") {
    Program program(R"(
#include <cmath>
#include <math.h>
extern "C" __global__ void use(double* g, float* f, double x, float y) {
    int e;
    double whole, s, c;
    g[0] = std::erf(x), g[1] = std::erfc(x), g[2] = std::expm1(x), g[3] = std::lgamma(x), g[4] = std::tgamma(x), g[5] = std::ldexp(x, 3);
    g[6] = std::frexp(x, &e) + e, g[7] = std::modf(x, &whole), g[8] = std::copysign(x, -1.0), g[9] = std::nearbyint(x), g[10] = std::remainder(x, 1.0);
    g[11] = std::fdim(x, 0.5), g[12] = std::asinh(x), g[13] = std::acosh(x + 1), g[14] = std::atanh(x / 4);
    g[15] = M_1_PI + M_2_PI + M_2_SQRTPI + M_LN10 + M_LOG10E;
    sincospi(x, &s, &c);
    g[16] = s, g[17] = c, g[18] = scalbln(x, 4L), g[19] = (double)ullmin(~0ull, 5ull) + (double)ullmax(3ull, 1ull << 63);
    float t, u;
    sincospif(y, &t, &u);
    f[0] = std::erf(y), f[1] = std::expm1(y), f[2] = std::copysign(y, -1.0f), f[3] = std::ldexp(y, 3), f[4] = t, f[5] = u, f[6] = scalblnf(y, 4L);
    __builtin_assume(e < 100);
    __shared__ int own;
    f[7] = __isShared(&own) + 2 * __isShared(g);
    f[8] = __cvta_generic_to_shared(&own) < (1u << 31);
}
)");
    const double x = 1.25;
    const float y = 1.25f;
    std::vector<double> g(20);
    std::vector<float> f(9);
    program.run("use", single(), g, f, x, y);
    const double expected[] = {std::erf(x),
                               std::erfc(x),
                               std::expm1(x),
                               std::lgamma(x),
                               std::tgamma(x),
                               10,
                               0.625 + 1,
                               0.25,
                               -x,
                               1,
                               0.25,
                               0.75,
                               std::asinh(x),
                               std::acosh(x + 1),
                               std::atanh(x / 4),
                               M_1_PI + M_2_PI + M_2_SQRTPI + M_LN10 + M_LOG10E,
                               -std::sqrt(0.5),
                               -std::sqrt(0.5),
                               20,
                               5 + 9223372036854775808.0};
    for (int i = 0; i < 20; ++i) {
        INFO(i);
        CHECK(std::abs(g[i] - expected[i]) <= 1e-14 * std::abs(expected[i]));
    }
    const double expectedf[] = {std::erf(x), std::expm1(x), -x, 10, -std::sqrt(0.5), -std::sqrt(0.5), 20, 1, 1};
    for (int i = 0; i < 9; ++i) {
        INFO(i);
        CHECK(std::abs(f[i] - expectedf[i]) <= 1e-6 * std::abs(expectedf[i]));
    }
}
