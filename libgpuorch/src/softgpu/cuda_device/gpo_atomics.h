// Atomic functions and fences. Atomics are relaxed, as CUDA's are. On memory of the block itself, which one core at a
// time uses, plain volatile reads and writes are enough: volatile keeps the compiler from merging the atomics of
// several threads into one vector operation.
#pragma once

#include "gpo_thread.h"

template <class T>
__gpo_inline T __gpo_load(T* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }

template <class T>
__gpo_inline T __gpo_cas(T* at, T expected, T desired) {
    if (__gpo_own(at)) {
        volatile T* own = at;
        T old = *own;
        if (old == expected) *own = desired;
        return old;
    }
    __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

#define __GPO_FETCH(function, builtin, operation)                               \
    template <class T>                                                          \
    __gpo_inline T function(T* at, T value) {                                   \
        if (__gpo_own(at)) {                                                    \
            volatile T* own = at;                                               \
            T old = *own;                                                       \
            *own = static_cast<T>(operation);                                   \
            return old;                                                         \
        }                                                                       \
        return builtin(at, value, __ATOMIC_RELAXED);                            \
    }
__GPO_FETCH(__gpo_add, __atomic_fetch_add, old + value)
__GPO_FETCH(__gpo_and, __atomic_fetch_and, old & value)
__GPO_FETCH(__gpo_or, __atomic_fetch_or, old | value)
__GPO_FETCH(__gpo_xor, __atomic_fetch_xor, old ^ value)
__GPO_FETCH(__gpo_exchange, __atomic_exchange_n, value)
#undef __GPO_FETCH

/// Replaces the value by `change(value)`; for what no instruction does.
template <class T, class Change>
__gpo_inline T __gpo_update(T* at, Change change) {
    if (__gpo_own(at)) {
        volatile T* own = at;
        T old = *own;
        *own = change(old);
        return old;
    }
    T old = __gpo_load(at);
    for (;;) {
        T next = change(old);
        if (next == old) return old;
        if (__atomic_compare_exchange_n(at, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
    }
}

template <class To, class From>
__gpo_inline To __gpo_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

template <class T, class Bits>
__gpo_inline T __gpo_add_real(T* at, T value) {
    return __gpo_bits<T>(__gpo_update(reinterpret_cast<Bits*>(at),
                                      [value](Bits old) { return __gpo_bits<Bits>(__gpo_bits<T>(old) + value); }));
}

// Each in three scopes, which are one here.
#define __GPO_SCOPES(T, function, expression)                                           \
    __gpo_inline T function(T* address, T val) { return expression; }                   \
    __gpo_inline T function##_block(T* address, T val) { return expression; }           \
    __gpo_inline T function##_system(T* address, T val) { return expression; }

#define __GPO_INTEGERS(T)                                                                                             \
    __GPO_SCOPES(T, atomicAdd, __gpo_add(address, val))                                                               \
    __GPO_SCOPES(T, atomicSub, __gpo_add(address, static_cast<T>(0 - val)))                                           \
    __GPO_SCOPES(T, atomicExch, __gpo_exchange(address, val))                                                         \
    __GPO_SCOPES(T, atomicAnd, __gpo_and(address, val))                                                               \
    __GPO_SCOPES(T, atomicOr, __gpo_or(address, val))                                                                 \
    __GPO_SCOPES(T, atomicXor, __gpo_xor(address, val))                                                               \
    __GPO_SCOPES(T, atomicMin, __gpo_update(address, [val](T old) { return val < old ? val : old; }))                 \
    __GPO_SCOPES(T, atomicMax, __gpo_update(address, [val](T old) { return old < val ? val : old; }))

__GPO_INTEGERS(int)
__GPO_INTEGERS(unsigned int)
__GPO_INTEGERS(long)
__GPO_INTEGERS(unsigned long)
__GPO_INTEGERS(long long)
__GPO_INTEGERS(unsigned long long)
__GPO_SCOPES(unsigned int, atomicInc,
             __gpo_update(address, [val](unsigned int old) { return old >= val ? 0u : old + 1u; }))
__GPO_SCOPES(unsigned int, atomicDec,
             __gpo_update(address, [val](unsigned int old) { return old == 0 || old > val ? val : old - 1u; }))
__GPO_SCOPES(float, atomicAdd, (__gpo_add_real<float, unsigned int>(address, val)))
__GPO_SCOPES(double, atomicAdd, (__gpo_add_real<double, unsigned long long>(address, val)))
__GPO_SCOPES(float, atomicExch,
             __gpo_bits<float>(__gpo_exchange(reinterpret_cast<unsigned int*>(address), __gpo_bits<unsigned int>(val))))

#define __GPO_CAS(T)                                                                                                  \
    __gpo_inline T atomicCAS(T* address, T compare, T val) { return __gpo_cas(address, compare, val); }               \
    __gpo_inline T atomicCAS_block(T* address, T compare, T val) { return __gpo_cas(address, compare, val); }         \
    __gpo_inline T atomicCAS_system(T* address, T compare, T val) { return __gpo_cas(address, compare, val); }
__GPO_CAS(int)
__GPO_CAS(unsigned int)
__GPO_CAS(unsigned short)
__GPO_CAS(long)
__GPO_CAS(unsigned long)
__GPO_CAS(long long)
__GPO_CAS(unsigned long long)
#undef __GPO_CAS
#undef __GPO_INTEGERS
#undef __GPO_SCOPES

__gpo_inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__gpo_inline void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
__gpo_inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
