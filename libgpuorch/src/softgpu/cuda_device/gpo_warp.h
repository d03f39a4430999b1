// Operations of the threads of a block or a warp: barriers, shuffles, votes, matches, reductions.
#pragma once

#include "gpo_atomics.h"

constexpr int warpSize = 32;

__gpo_inline unsigned __gpo_barrier(unsigned operation, unsigned value) {
    gpo_soft_block* block = __gpo_block();
    return block->services->barrier(block, operation, value);
}
__gpo_inline gpo_soft_u64 __gpo_warp(unsigned operation, unsigned mask, gpo_soft_u64 value, gpo_soft_u64 argument) {
    gpo_soft_block* block = __gpo_block();
    return block->services->warp(block, operation, mask, value, argument);
}
__gpo_inline unsigned __gpo_lane() { return __gpo_thread()->linear & 31u; }

__gpo_inline void __syncthreads() { __gpo_barrier(GPO_SOFT_BARRIER_PLAIN, 0); }
__gpo_inline int __syncthreads_count(int predicate) {
    return static_cast<int>(__gpo_barrier(GPO_SOFT_BARRIER_COUNT, predicate != 0));
}
__gpo_inline int __syncthreads_and(int predicate) {
    return static_cast<int>(__gpo_barrier(GPO_SOFT_BARRIER_AND, predicate != 0));
}
__gpo_inline int __syncthreads_or(int predicate) {
    return static_cast<int>(__gpo_barrier(GPO_SOFT_BARRIER_OR, predicate != 0));
}
__gpo_inline void __syncwarp(unsigned mask = 0xffffffffu) { __gpo_warp(GPO_SOFT_WARP_SYNC, mask, 0, 0); }

template <class T>
__gpo_inline T __gpo_shuffle(unsigned mask, T value, unsigned source) {
    char* bytes = reinterpret_cast<char*>(&value);
    for (size_t at = 0; at < sizeof value; at += 8) {
        const size_t size = sizeof value - at < 8 ? sizeof value - at : 8;
        gpo_soft_u64 bits = 0;
        __builtin_memcpy(&bits, bytes + at, size);
        bits = __gpo_warp(GPO_SOFT_WARP_SHUFFLE, mask, bits, source);
        __builtin_memcpy(bytes + at, &bits, size);
    }
    return value;
}
template <class T>
__gpo_inline T __shfl_sync(unsigned mask, T var, int lane, int width = 32) {
    static_assert(sizeof(T) <= 8, "what a shuffle hands over has 8 bytes at most; those of cooperative groups take 32");
    const unsigned own = __gpo_lane(), in = static_cast<unsigned>(width) - 1u;
    return __gpo_shuffle(mask, var, (own & ~in) | (static_cast<unsigned>(lane) & in));
}
template <class T>
__gpo_inline T __shfl_up_sync(unsigned mask, T var, unsigned delta, int width = 32) {
    static_assert(sizeof(T) <= 8, "what a shuffle hands over has 8 bytes at most; those of cooperative groups take 32");
    const unsigned own = __gpo_lane(), in = static_cast<unsigned>(width) - 1u;
    return __gpo_shuffle(mask, var, (own & in) < delta ? own : own - delta);
}
template <class T>
__gpo_inline T __shfl_down_sync(unsigned mask, T var, unsigned delta, int width = 32) {
    static_assert(sizeof(T) <= 8, "what a shuffle hands over has 8 bytes at most; those of cooperative groups take 32");
    const unsigned own = __gpo_lane(), in = static_cast<unsigned>(width) - 1u;
    return __gpo_shuffle(mask, var, delta > in - (own & in) ? own : own + delta);
}
template <class T>
__gpo_inline T __shfl_xor_sync(unsigned mask, T var, int lanes, int width = 32) {
    static_assert(sizeof(T) <= 8, "what a shuffle hands over has 8 bytes at most; those of cooperative groups take 32");
    const unsigned own = __gpo_lane(), in = static_cast<unsigned>(width) - 1u;
    const unsigned other = own ^ static_cast<unsigned>(lanes);
    return __gpo_shuffle(mask, var, other > (own | in) ? own : other);
}

__gpo_inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return static_cast<unsigned>(__gpo_warp(GPO_SOFT_WARP_BALLOT, mask, predicate != 0, 0));
}
__gpo_inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
__gpo_inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

/// The lanes that come to this call while no lane of the warp can do anything else. The return address identifies the
/// call site.
static __attribute__((noinline)) unsigned __activemask() {
    const unsigned lanes = static_cast<unsigned>(__gpo_warp(
        GPO_SOFT_WARP_ACTIVE, 0, 0, reinterpret_cast<gpo_soft_address>(__builtin_return_address(0))));
    __asm__ __volatile__("");
    return lanes;
}

template <class T>
__gpo_inline unsigned __match_any_sync(unsigned mask, T value) {
    gpo_soft_u64 bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return static_cast<unsigned>(__gpo_warp(GPO_SOFT_WARP_MATCH_ANY, mask, bits, 0));
}
template <class T>
__gpo_inline unsigned __match_all_sync(unsigned mask, T value, int* predicate) {
    gpo_soft_u64 bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    const unsigned all = static_cast<unsigned>(__gpo_warp(GPO_SOFT_WARP_MATCH_ALL, mask, bits, 0));
    *predicate = all != 0;
    return all;
}

__gpo_inline unsigned __gpo_reduce(unsigned mask, unsigned value, unsigned kind) {
    return static_cast<unsigned>(__gpo_warp(GPO_SOFT_WARP_REDUCE, mask, value, kind));
}
__gpo_inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
    return __gpo_reduce(mask, value, GPO_SOFT_REDUCE_ADD);
}
__gpo_inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
    return __gpo_reduce(mask, value, GPO_SOFT_REDUCE_MIN);
}
__gpo_inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
    return __gpo_reduce(mask, value, GPO_SOFT_REDUCE_MAX);
}
__gpo_inline int __reduce_add_sync(unsigned mask, int value) {
    return static_cast<int>(__gpo_reduce(mask, static_cast<unsigned>(value), GPO_SOFT_REDUCE_ADD));
}
__gpo_inline int __reduce_min_sync(unsigned mask, int value) {
    return static_cast<int>(__gpo_reduce(mask, static_cast<unsigned>(value), GPO_SOFT_REDUCE_MIN_SIGNED));
}
__gpo_inline int __reduce_max_sync(unsigned mask, int value) {
    return static_cast<int>(__gpo_reduce(mask, static_cast<unsigned>(value), GPO_SOFT_REDUCE_MAX_SIGNED));
}
__gpo_inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
    return __gpo_reduce(mask, value, GPO_SOFT_REDUCE_AND);
}
__gpo_inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
    return __gpo_reduce(mask, value, GPO_SOFT_REDUCE_OR);
}
__gpo_inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
    return __gpo_reduce(mask, value, GPO_SOFT_REDUCE_XOR);
}
