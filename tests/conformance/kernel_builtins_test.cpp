// Functions and types that sources find without including anything: products in words, dynamic programming, the n-th
// bit, what kind of memory a pointer leads to, placement new, and types of the runtime's interface.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kKernels[] = R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>

#define EACH(lanes, T) \
    out[n++] = __vimax3_##lanes(a, b, c); out[n++] = __vimin3_##lanes(a, b, c); \
    out[n++] = __viaddmax_##lanes(a, b, c); out[n++] = __viaddmin_##lanes(a, b, c);
#define RELU(lanes) \
    out[n++] = __vimax_##lanes##_relu(a, b); out[n++] = __vimin_##lanes##_relu(a, b); \
    out[n++] = __vimax3_##lanes##_relu(a, b, c); out[n++] = __vimin3_##lanes##_relu(a, b, c); \
    out[n++] = __viaddmax_##lanes##_relu(a, b, c); out[n++] = __viaddmin_##lanes##_relu(a, b, c);
#define WHICH(lanes) \
    out[n++] = __vibmax_##lanes(a, b, &first); out[n++] = first; out[n++] = __vibmin_##lanes(a, b, &first); out[n++] = first;
#define WHICH2(lanes) \
    out[n++] = __vibmax_##lanes(a, b, &high, &low); out[n++] = high * 2 + low; \
    out[n++] = __vibmin_##lanes(a, b, &high, &low); out[n++] = high * 2 + low;
extern "C" __global__ void extremes(unsigned *out, const unsigned *in) {
    const unsigned a = in[threadIdx.x * 3], b = in[threadIdx.x * 3 + 1], c = in[threadIdx.x * 3 + 2];
    bool first, high, low;
    int n = 0;
    out += threadIdx.x * 44;
    EACH(s32, int) EACH(u32, unsigned) EACH(s16x2, unsigned) EACH(u16x2, unsigned)
    RELU(s32) RELU(s16x2)
    WHICH(s32) WHICH(u32) WHICH2(s16x2) WHICH2(u16x2)
}
extern "C" __global__ void products(unsigned *out, const unsigned *in) {
    const unsigned a = in[threadIdx.x * 3], b = in[threadIdx.x * 3 + 1], c = in[threadIdx.x * 3 + 2];
    out += threadIdx.x * 12;
    out[0] = __dp2a_lo((int)a, (int)b, (int)c);
    out[1] = __dp2a_hi((int)a, (int)b, (int)c);
    out[2] = __dp2a_lo(a, b, c);
    out[3] = __dp2a_hi(a, b, c);
    out[4] = __dp4a((int)a, (int)b, (int)c);
    out[5] = __dp4a(a, b, c);
    const short2 pair = *(const short2 *)&a;
    const char4 four = *(const char4 *)&b;
    const ushort2 upair = *(const ushort2 *)&a;
    const uchar4 ufour = *(const uchar4 *)&b;
    out[6] = __dp2a_lo(pair, four, (int)c);
    out[7] = __dp2a_hi(pair, four, (int)c);
    out[8] = __dp2a_lo(upair, ufour, c);
    out[9] = __dp2a_hi(upair, ufour, c);
    out[10] = __dp4a(*(const char4 *)&a, four, (int)c);
    out[11] = __dp4a(*(const uchar4 *)&a, ufour, c);
}
extern "C" __global__ void nth_bit(unsigned *out, unsigned mask) {
    for (int offset = -33; offset <= 33; ++offset) out[(offset + 33) * 32 + threadIdx.x] = __fns(mask, threadIdx.x, offset);
}

struct Box { cudaExtent size; cudaPos at; cudaPitchedPtr rows; };
__constant__ int constants[4];
__device__ int global[4];
__device__ const int read_only[4] = {1, 2, 3, 4};
extern "C" __global__ void spaces(int *out, const __grid_constant__ Box box, int *more) {
    __shared__ int shared[32];
    int own[4] = {(int)threadIdx.x, 1, 2, 3};
    const auto which = [](const void *p) {
        return (int)(__isGlobal(p) != 0) | (int)(__isShared(p) != 0) << 1 | (int)(__isLocal(p) != 0) << 2;
    };
    out[0] = which(out);
    out[1] = which(more + 1);
    out[2] = which(&global[2]);
    out[3] = which(&shared[threadIdx.x]);
    out[4] = which(&own[out[0]]);
    out[5] = (__isConstant(&constants[3]) != 0) + 2 * (__isConstant(&global[3]) != 0) + 4 * (__isConstant(own) != 0) + 8 * (__isGlobal(&constants[1]) != 0);
    out[6] = (__isGridConstant(&box) != 0) + 2 * (__isGridConstant(out) != 0) + 4 * (__isGridConstant(own) != 0) + 8 * (__isGridConstant(&box.rows.ysize) != 0);
    out[7] = *(int *)__cvta_global_to_generic(__cvta_generic_to_global(&read_only[1])) + *(int *)__cvta_local_to_generic(__cvta_generic_to_local(&own[3]));
    shared[3] = 40;
    out[8] = *(int *)__cvta_shared_to_generic(__cvta_generic_to_shared(&shared[3]));
    out[9] = (int)(box.size.depth + box.at.z + box.rows.xsize + box.rows.ysize) + *(const int *)box.rows.ptr;
    out[10] = sizeof(cudaExtent) + sizeof(cudaPos) * 100 + sizeof(cudaPitchedPtr) * 10000;
}
extern "C" __global__ void spaces_of_a_block_that_waits(int *out) {
    __shared__ int shared[32];
    int own[4] = {(int)threadIdx.x, 1, 2, 3};
    __syncthreads();
    out[threadIdx.x] = (__isLocal(own) != 0) + 2 * (__isShared(shared + 31) != 0) + 4 * (__isGlobal(out) != 0) + 8 * (__isLocal(shared) || __isGlobal(own));
}

struct Counted {
    int value;
    __device__ Counted(int x) : value(x) { atomicAdd(&global[0], 1); }
    __device__ ~Counted() { atomicSub(&global[0], x_of_end); }
    static constexpr int x_of_end = 100;
};
extern "C" __global__ void in_place(int *out, void *memory) {
    Counted *made = new (memory) Counted(5);
    out[0] = made->value + global[0];
    made->~Counted();
    out[1] = global[0];
    int *numbers = new (memory) int[3]{7, 8, 9};
    out[2] = numbers[2];
    const clock_t begin = clock();
    clock_t end = clock();
    __prof_trigger(3);
    out[3] = sizeof(clock_t) + (end - begin < 0);
    half2 pair = __floats2half2_rn(1.f, 2.f);
    out[4] = (int)__low2float(pair) + (int)__high2float(pair);
    pair = {};
    out[5] = (int)__low2float(pair) + (int)__high2float(pair);
    __nv_bfloat162 other = __floats2bfloat162_rn(3.f, 4.f);
    out[6] = (int)__low2float(other);
    other = {};
    out[7] = (int)__low2float(other);
    const __half2_raw raw = {0x3c00, 0x4000};
    pair = raw;
    out[8] = (int)__high2float(pair);
}
)";

uint32_t both(uint32_t high, uint32_t low) { return high << 16 | (low & 0xffff); }
template <class Each>
uint32_t halves(uint32_t a, uint32_t b, uint32_t c, Each each) {
    return both(static_cast<uint32_t>(each(a >> 16, b >> 16, c >> 16)),
                static_cast<uint32_t>(each(a & 0xffff, b & 0xffff, c & 0xffff)));
}
int32_t in_short(uint32_t x) { return static_cast<int16_t>(x); }
uint32_t word(int32_t x) { return static_cast<uint32_t>(x); }

/// Results according to CUDA's documentation, in the kernel's order: of EACH, RELU and WHICH.
std::vector<uint32_t> plain_extremes(uint32_t a, uint32_t b, uint32_t c) {
    const auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b), sc = static_cast<int32_t>(c);
    const auto sum = static_cast<int32_t>(a + b);
    const auto in = [](uint32_t x) { return in_short(x); };
    return {
        word(std::max({sa, sb, sc})),
        word(std::min({sa, sb, sc})),
        word(std::max(sum, sc)),
        word(std::min(sum, sc)),
        std::max({a, b, c}),
        std::min({a, b, c}),
        std::max(a + b, c),
        std::min(a + b, c),
        halves(a, b, c,
               [&](uint32_t x, uint32_t y, uint32_t z) {
                   return std::max({in(x), in(y), in(z)});
               }),
        halves(a, b, c,
               [&](uint32_t x, uint32_t y, uint32_t z) {
                   return std::min({in(x), in(y), in(z)});
               }),
        halves(a, b, c, [&](uint32_t x, uint32_t y, uint32_t z) { return std::max(in(x + y), in(z)); }),
        halves(a, b, c, [&](uint32_t x, uint32_t y, uint32_t z) { return std::min(in(x + y), in(z)); }),
        halves(a, b, c,
               [&](uint32_t x, uint32_t y, uint32_t z) {
                   return std::max({x, y, z});
               }),
        halves(a, b, c,
               [&](uint32_t x, uint32_t y, uint32_t z) {
                   return std::min({x, y, z});
               }),
        halves(a, b, c, [&](uint32_t x, uint32_t y, uint32_t z) { return std::max((x + y) & 0xffff, z); }),
        halves(a, b, c, [&](uint32_t x, uint32_t y, uint32_t z) { return std::min((x + y) & 0xffff, z); }),
    };
}
std::vector<uint32_t> relu_extremes(uint32_t a, uint32_t b, uint32_t c) {
    const auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b), sc = static_cast<int32_t>(c);
    const auto sum = static_cast<int32_t>(a + b);
    const auto in = [](uint32_t x) { return in_short(x); };
    return {
        word(std::max({sa, sb, 0})),
        word(std::max(std::min(sa, sb), 0)),
        word(std::max({sa, sb, sc, 0})),
        word(std::max(std::min({sa, sb, sc}), 0)),
        word(std::max({sum, sc, 0})),
        word(std::max(std::min(sum, sc), 0)),
        halves(a, b, c,
               [&](uint32_t x, uint32_t y, uint32_t) {
                   return std::max({in(x), in(y), 0});
               }),
        halves(a, b, c, [&](uint32_t x, uint32_t y, uint32_t) { return std::max(std::min(in(x), in(y)), 0); }),
        halves(a, b, c,
               [&](uint32_t x, uint32_t y, uint32_t z) {
                   return std::max({in(x), in(y), in(z), 0});
               }),
        halves(a, b, c,
               [&](uint32_t x, uint32_t y, uint32_t z) {
                   return std::max(std::min({in(x), in(y), in(z)}), 0);
               }),
        halves(a, b, c,
               [&](uint32_t x, uint32_t y, uint32_t z) {
                   return std::max({in(x + y), in(z), 0});
               }),
        halves(a, b, c, [&](uint32_t x, uint32_t y, uint32_t z) { return std::max(std::min(in(x + y), in(z)), 0); }),
    };
}
std::vector<uint32_t> which_extremes(uint32_t a, uint32_t b) {
    const auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b);
    std::vector<uint32_t> out = {
        word(std::max(sa, sb)),
        sa >= sb,
        word(std::min(sa, sb)),
        sa <= sb,
        std::max(a, b),
        a >= b,
        std::min(a, b),
        a <= b,
    };
    const auto which = [&](auto of) {
        const auto ah = of(a >> 16), al = of(a & 0xffff), bh = of(b >> 16), bl = of(b & 0xffff);
        out.push_back(both(static_cast<uint32_t>(std::max(ah, bh)), static_cast<uint32_t>(std::max(al, bl))));
        out.push_back((ah >= bh) * 2u + (al >= bl));
        out.push_back(both(static_cast<uint32_t>(std::min(ah, bh)), static_cast<uint32_t>(std::min(al, bl))));
        out.push_back((ah <= bh) * 2u + (al <= bl));
    };
    which(in_short);
    which([](uint32_t x) { return x; });
    return out;
}
std::vector<uint32_t> expected_extremes(uint32_t a, uint32_t b, uint32_t c) {
    std::vector<uint32_t> out = plain_extremes(a, b, c);
    for (const auto& more : {relu_extremes(a, b, c), which_extremes(a, b)})
        out.insert(out.end(), more.begin(), more.end());
    return out;
}

uint32_t dot(uint32_t a, uint32_t b, uint32_t c, int half_of_b, bool is_signed) {
    for (int i = 0; i < 2; ++i) {
        const uint32_t x = a >> (16 * i) & 0xffff, y = b >> (16 * half_of_b + 8 * i) & 0xff;
        c += is_signed ? static_cast<uint32_t>(static_cast<int16_t>(x)) * static_cast<uint32_t>(static_cast<int8_t>(y))
                       : x * y;
    }
    return c;
}
uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, bool is_signed) {
    for (int i = 0; i < 32; i += 8) {
        const uint32_t x = a >> i & 0xff, y = b >> i & 0xff;
        c += is_signed ? static_cast<uint32_t>(static_cast<int8_t>(x)) * static_cast<uint32_t>(static_cast<int8_t>(y))
                       : x * y;
    }
    return c;
}

}  // namespace

TEST_CASE(
    "what a source uses without declaring it: DPX, dot products, the n-th bit, address spaces, placement new, types") {
    Program program(kKernels, {"constants"});
    if (!program.present) return;
    std::vector<uint32_t> in;
    const uint32_t special[] = {0,          1,          0xffffffff, 0x7fffffff, 0x80000000,
                                0x7fff8000, 0x80007fff, 0xffff0001, 0x0001ffff};
    uint32_t random = 12345;
    for (int i = 0; i < 256 * 3; ++i) {
        random = random * 1664525 + 1013904223;
        in.push_back((random >> 28) < 6 ? special[(random >> 8) % 9] : random ^ random >> 15);
    }
    std::vector<uint32_t> out(256 * 44), dots(256 * 12);
    program.put("extremes", shape_of(1, 256), out, in);
    program.put("products", shape_of(1, 256), dots, in);
    program.wait();
    for (size_t i = 0; i < 256; ++i) {
        CAPTURE(i);
        const uint32_t a = in[i * 3], b = in[i * 3 + 1], c = in[i * 3 + 2];
        const auto from = out.begin() + static_cast<long>(i * 44);
        CHECK(std::vector<uint32_t>(from, from + 44) == expected_extremes(a, b, c));
        const std::vector<uint32_t> products = {dot(a, b, c, 0, true),  dot(a, b, c, 1, true), dot(a, b, c, 0, false),
                                                dot(a, b, c, 1, false), dot4(a, b, c, true),   dot4(a, b, c, false),
                                                dot(a, b, c, 0, true),  dot(a, b, c, 1, true), dot(a, b, c, 0, false),
                                                dot(a, b, c, 1, false), dot4(a, b, c, true),   dot4(a, b, c, false)};
        const auto got = dots.begin() + static_cast<long>(i * 12);
        CHECK(std::vector<uint32_t>(got, got + 12) == products);
    }

    // PTX's own description of fns.
    for (const uint32_t mask : {0u, 0xffffffffu, 0x80000001u, 0x00ff0f0au}) {
        CAPTURE(mask);
        std::vector<uint32_t> found(67 * 32);
        program.run("nth_bit", shape_of(1, 32), found, mask);
        for (int offset = -33; offset <= 33; ++offset) {
            for (int base = 0; base < 32; ++base) {
                uint32_t expected = 0xffffffff;
                if (offset == 0) {
                    if (mask >> base & 1) expected = static_cast<uint32_t>(base);
                } else {
                    int count = std::abs(offset) - 1;
                    for (int at = base; at >= 0 && at < 32; at += offset > 0 ? 1 : -1) {
                        if (!(mask >> at & 1)) continue;
                        if (count-- != 0) continue;
                        expected = static_cast<uint32_t>(at);
                        break;
                    }
                }
                CHECK(found[static_cast<size_t>((offset + 33) * 32 + base)] == expected);
            }
        }
    }

    struct {
        uint64_t width, height, depth, x, y, z, rows, pitch, xsize, ysize;
    } box{1, 2, 3, 4, 5, 6, 0, 8, 9, 10};
    const Memory rows = program.gpu.memory(4);
    const int thirty = 30;
    REQUIRE_OK(gpo_copy_to_device(program.stream, rows, &thirty, sizeof thirty));
    box.rows = rows;
    std::vector<int> told(11), more(4), of_many(64);
    program.run("spaces", single(), told, box, more);
    CHECK(told == std::vector<int>{1, 1, 1, 2, 4, 1, 9, 5, 40, 58, 24 + 2400 + 320000});
    program.run("spaces_of_a_block_that_waits", shape_of(1, 64), of_many);
    CHECK(of_many == std::vector<int>(64, 7));

    std::vector<int> made(9), memory(4);
    program.run("in_place", single(), made, memory);
    CHECK(made == std::vector<int>{6, -99, 9, 8, 3, 0, 3, 0, 2});
}
