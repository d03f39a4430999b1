// CUDA's vector types, with CUDA's sizes and alignments, dim3, and other types that sources find declared.
#pragma once

#include <stddef.h>

#define __GPO_VECTOR(name, T, A2, A4)                                                                     \
    struct name##1 { T x; };                                                                              \
    struct __attribute__((aligned(A2))) name##2 { T x, y; };                                              \
    struct name##3 { T x, y, z; };                                                                        \
    struct __attribute__((aligned(A4))) name##4 { T x, y, z, w; };                                        \
    static inline name##1 make_##name##1(T x) { name##1 v = {x}; return v; }                              \
    static inline name##2 make_##name##2(T x, T y) { name##2 v = {x, y}; return v; }                      \
    static inline name##3 make_##name##3(T x, T y, T z) { name##3 v = {x, y, z}; return v; }              \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { name##4 v = {x, y, z, w}; return v; }

__GPO_VECTOR(char, signed char, 2, 4)
__GPO_VECTOR(uchar, unsigned char, 2, 4)
__GPO_VECTOR(short, short, 4, 8)
__GPO_VECTOR(ushort, unsigned short, 4, 8)
__GPO_VECTOR(int, int, 8, 16)
__GPO_VECTOR(uint, unsigned int, 8, 16)
__GPO_VECTOR(long, long, 16, 16)
__GPO_VECTOR(ulong, unsigned long, 16, 16)
__GPO_VECTOR(longlong, long long, 16, 16)
__GPO_VECTOR(ulonglong, unsigned long long, 16, 16)
__GPO_VECTOR(float, float, 8, 16)
__GPO_VECTOR(double, double, 16, 16)
#undef __GPO_VECTOR

// CUDA 13's names for four of 8 bytes: aligned to 16, as ever, or to 32.
#define __GPO_ALIGNED_FOUR(name, T, A)                                                  \
    struct __attribute__((aligned(A))) name##_##A##a { T x, y, z, w; };                 \
    static inline name##_##A##a make_##name##_##A##a(T x, T y, T z, T w) {              \
        name##_##A##a v = {x, y, z, w};                                                 \
        return v;                                                                       \
    }
__GPO_ALIGNED_FOUR(long4, long, 16) __GPO_ALIGNED_FOUR(long4, long, 32)
__GPO_ALIGNED_FOUR(ulong4, unsigned long, 16) __GPO_ALIGNED_FOUR(ulong4, unsigned long, 32)
__GPO_ALIGNED_FOUR(longlong4, long long, 16) __GPO_ALIGNED_FOUR(longlong4, long long, 32)
__GPO_ALIGNED_FOUR(ulonglong4, unsigned long long, 16) __GPO_ALIGNED_FOUR(ulonglong4, unsigned long long, 32)
__GPO_ALIGNED_FOUR(double4, double, 16) __GPO_ALIGNED_FOUR(double4, double, 32)
#undef __GPO_ALIGNED_FOUR

#define __builtin_align__(bytes) __attribute__((aligned(bytes)))

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

typedef unsigned int uint;
typedef unsigned short ushort;
typedef long clock_t;

// Descriptions of rows with a pitch, and of boxes of rows.
struct cudaPitchedPtr {
    void* ptr;
    size_t pitch, xsize, ysize;
};
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
