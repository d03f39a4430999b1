/* device/atomic.cuh: the memory operations that queues and the communication of several devices are made of
 * (gpuorch/device/queue.cuh, gpuorch/device/peer.cuh).
 *
 * All their PTX is in this file, each instruction beside the software GPU's code for it. For CUDA C++ by nvcc, NVRTC
 * or Clang, for compute capability 7.0 or newer.
 *
 * Addresses are of global memory: of this or another device, or of pinned host memory. Shared memory has CUDA's own
 * functions (atomicAdd and the like).
 *
 * Orders   relaxed: the operation is atomic, and orders nothing else. acquire: the thread's later reads are at least
 *          as new. release: a thread that sees the value sees all earlier writes of the storing thread. acq_rel: both.
 * Scopes   All operations are for the threads of one device. Operations that end in _system are also for the host and
 *          for other devices.
 */
#ifndef GPUORCH_DEVICE_ATOMIC_CUH
#define GPUORCH_DEVICE_ATOMIC_CUH

#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__) && !defined(__CUDA__)
#error "gpuorch/device/atomic.cuh is for CUDA C++"
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#error "gpuorch/device/atomic.cuh is for compute capability 7.0 or newer"
#endif

/* On the software GPU each operation first does this. A test that explores how blocks interleave lets another block
 * run here. */
#if !defined(GPO_DEVICE_CROSSING)
#define GPO_DEVICE_CROSSING()
#endif

namespace gpo {
namespace atomic {

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

/* For each operation: name, type, the letter of the type's registers, the instruction, and the order of the software
 * GPU's builtin. */
#if defined(__GPUORCH_SOFT__)

#define GPO_LOAD(name, T, letter, instruction, order) \
    __device__ inline T name(const T* at) {           \
        GPO_DEVICE_CROSSING();                        \
        return __atomic_load_n(at, order);            \
    }
#define GPO_STORE(name, T, letter, instruction, order) \
    __device__ inline void name(T* at, T value) {      \
        GPO_DEVICE_CROSSING();                         \
        __atomic_store_n(at, value, order);            \
    }
#define GPO_FETCH_ADD(name, T, letter, instruction, order) \
    __device__ inline T name(T* at, T value) {             \
        GPO_DEVICE_CROSSING();                             \
        return __atomic_fetch_add(at, value, order);       \
    }
#define GPO_ADD(name, T, letter, instruction, order) \
    __device__ inline void name(T* at, T value) {    \
        GPO_DEVICE_CROSSING();                       \
        __atomic_fetch_add(at, value, order);        \
    }

#else

#define GPO_LOAD(name, T, letter, instruction, order)                                    \
    __device__ inline T name(const T* at) {                                              \
        T value;                                                                         \
        asm volatile(instruction " %0, [%1];" : "=" letter(value) : "l"(at) : "memory"); \
        return value;                                                                    \
    }
#define GPO_STORE(name, T, letter, instruction, order)                                \
    __device__ inline void name(T* at, T value) {                                     \
        asm volatile(instruction " [%0], %1;" : : "l"(at), letter(value) : "memory"); \
    }
#define GPO_FETCH_ADD(name, T, letter, instruction, order)                                                   \
    __device__ inline T name(T* at, T value) {                                                               \
        T before;                                                                                            \
        asm volatile(instruction " %0, [%1], %2;" : "=" letter(before) : "l"(at), letter(value) : "memory"); \
        return before;                                                                                       \
    }
#define GPO_ADD(name, T, letter, instruction, order) GPO_STORE(name, T, letter, instruction, order)

#endif

GPO_LOAD(load_relaxed, u32, "r", "ld.relaxed.gpu.global.u32", __ATOMIC_RELAXED)
GPO_LOAD(load_relaxed, u64, "l", "ld.relaxed.gpu.global.u64", __ATOMIC_RELAXED)
GPO_LOAD(load_relaxed, i64, "l", "ld.relaxed.gpu.global.s64", __ATOMIC_RELAXED)
GPO_LOAD(load_acquire, u32, "r", "ld.acquire.gpu.global.u32", __ATOMIC_ACQUIRE)
GPO_LOAD(load_acquire, u64, "l", "ld.acquire.gpu.global.u64", __ATOMIC_ACQUIRE)
GPO_LOAD(load_relaxed_system, u32, "r", "ld.relaxed.sys.global.u32", __ATOMIC_RELAXED)
GPO_LOAD(load_relaxed_system, u64, "l", "ld.relaxed.sys.global.u64", __ATOMIC_RELAXED)
GPO_LOAD(load_acquire_system, u32, "r", "ld.acquire.sys.global.u32", __ATOMIC_ACQUIRE)
GPO_LOAD(load_acquire_system, u64, "l", "ld.acquire.sys.global.u64", __ATOMIC_ACQUIRE)

GPO_STORE(store_relaxed, u32, "r", "st.relaxed.gpu.global.u32", __ATOMIC_RELAXED)
GPO_STORE(store_relaxed, u64, "l", "st.relaxed.gpu.global.u64", __ATOMIC_RELAXED)
GPO_STORE(store_release, u32, "r", "st.release.gpu.global.u32", __ATOMIC_RELEASE)
GPO_STORE(store_release, u64, "l", "st.release.gpu.global.u64", __ATOMIC_RELEASE)
GPO_STORE(store_relaxed_system, u32, "r", "st.relaxed.sys.global.u32", __ATOMIC_RELAXED)
GPO_STORE(store_relaxed_system, u64, "l", "st.relaxed.sys.global.u64", __ATOMIC_RELAXED)
GPO_STORE(store_release_system, u32, "r", "st.release.sys.global.u32", __ATOMIC_RELEASE)
GPO_STORE(store_release_system, u64, "l", "st.release.sys.global.u64", __ATOMIC_RELEASE)

GPO_FETCH_ADD(fetch_add_relaxed, u32, "r", "atom.relaxed.gpu.global.add.u32", __ATOMIC_RELAXED)
GPO_FETCH_ADD(fetch_add_relaxed, u64, "l", "atom.relaxed.gpu.global.add.u64", __ATOMIC_RELAXED)
GPO_FETCH_ADD(fetch_add_relaxed, i64, "l", "atom.relaxed.gpu.global.add.u64", __ATOMIC_RELAXED)
GPO_FETCH_ADD(fetch_add_release, u32, "r", "atom.release.gpu.global.add.u32", __ATOMIC_RELEASE)
GPO_FETCH_ADD(fetch_add_release, u64, "l", "atom.release.gpu.global.add.u64", __ATOMIC_RELEASE)
GPO_FETCH_ADD(fetch_add_acq_rel, u32, "r", "atom.acq_rel.gpu.global.add.u32", __ATOMIC_ACQ_REL)
GPO_FETCH_ADD(fetch_add_acq_rel, u64, "l", "atom.acq_rel.gpu.global.add.u64", __ATOMIC_ACQ_REL)
GPO_FETCH_ADD(fetch_add_relaxed_system, u64, "l", "atom.relaxed.sys.global.add.u64", __ATOMIC_RELAXED)
GPO_FETCH_ADD(fetch_add_acq_rel_system, u64, "l", "atom.acq_rel.sys.global.add.u64", __ATOMIC_ACQ_REL)

/* Additions that return nothing. */
GPO_ADD(add_relaxed, u32, "r", "red.relaxed.gpu.global.add.u32", __ATOMIC_RELAXED)
GPO_ADD(add_relaxed, u64, "l", "red.relaxed.gpu.global.add.u64", __ATOMIC_RELAXED)
GPO_ADD(add_relaxed, i64, "l", "red.relaxed.gpu.global.add.u64", __ATOMIC_RELAXED)
GPO_ADD(add_release, u32, "r", "red.release.gpu.global.add.u32", __ATOMIC_RELEASE)
GPO_ADD(add_release, u64, "l", "red.release.gpu.global.add.u64", __ATOMIC_RELEASE)
GPO_ADD(add_release_system, u64, "l", "red.release.sys.global.add.u64", __ATOMIC_RELEASE)

#undef GPO_LOAD
#undef GPO_STORE
#undef GPO_FETCH_ADD
#undef GPO_ADD

/* Writes `value` if `expected` is there. Returns what was there. */
__device__ inline u32 compare_and_swap_release(u32* at, u32 expected, u32 value) {
#if defined(__GPUORCH_SOFT__)
    GPO_DEVICE_CROSSING();
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return expected;
#else
    u32 before;
    asm volatile("atom.release.gpu.global.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(before)
                 : "l"(at), "r"(expected), "r"(value)
                 : "memory");
    return before;
#endif
}

/* Makes the number at least `value`. */
__device__ inline void raise_relaxed(u64* at, u64 value) {
#if defined(__GPUORCH_SOFT__)
    GPO_DEVICE_CROSSING();
    atomicMax(at, value);
#else
    asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
#endif
}
__device__ inline void raise_relaxed_system(u64* at, u64 value) {
#if defined(__GPUORCH_SOFT__)
    GPO_DEVICE_CROSSING();
    atomicMax(at, value);
#else
    asm volatile("red.relaxed.sys.global.max.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
#endif
}

/* Orders all of the thread's reads and writes before the fence and all behind it. */
__device__ inline void fence() {
#if defined(__GPUORCH_SOFT__)
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#else
    asm volatile("fence.acq_rel.gpu;" : : : "memory");
#endif
}
__device__ inline void fence_system() {
#if defined(__GPUORCH_SOFT__)
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#else
    asm volatile("fence.acq_rel.sys;" : : : "memory");
#endif
}

/* Sixteen bytes at once: one memory transaction, and not atomic. The address is a multiple of 16. */
__device__ inline uint4 load16(const uint4* at) {
#if defined(__GPUORCH_SOFT__)
    GPO_DEVICE_CROSSING();
    return *at;
#else
    uint4 value;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(at)
                 : "memory");
    return value;
#endif
}
__device__ inline void store16(uint4* at, uint4 value) {
#if defined(__GPUORCH_SOFT__)
    GPO_DEVICE_CROSSING();
    *at = value;
#else
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(at), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
#endif
}

/* Two words at once: one memory transaction, in which each word is atomic and relaxed. The address is a multiple of
 * 16. */
__device__ inline void store_pair_relaxed_system(u64* at, u64 first, u64 second) {
#if defined(__GPUORCH_SOFT__)
    store_relaxed_system(at, first);
    store_relaxed_system(at + 1, second);
#else
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" : : "l"(at), "l"(first), "l"(second) : "memory");
#endif
}
__device__ inline void load_pair_relaxed_system(const u64* at, u64& first, u64& second) {
#if defined(__GPUORCH_SOFT__)
    first = load_relaxed_system(at);
    second = load_relaxed_system(at + 1);
#else
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
#endif
}

/* Pauses for about this time; on the software GPU, lets other blocks and threads run at once. */
__device__ inline void pause(u32 nanoseconds) {
#if defined(__GPUORCH_SOFT__)
    (void)nanoseconds;
    __nanosleep(0);
#else
    asm volatile("nanosleep.u32 %0;" : : "r"(nanoseconds) : "memory");
#endif
}

/* The device-wide clock, in nanoseconds. Advances in steps of up to a microsecond. */
__device__ inline u64 now() {
#if defined(__GPUORCH_SOFT__)
    return __gpo_globaltimer();
#else
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time) : : "memory");
    return time;
#endif
}

/* The multiprocessor that the thread runs on now; on the software GPU the block's number. */
__device__ inline u32 multiprocessor() {
#if defined(__GPUORCH_SOFT__)
    return blockIdx.x;
#else
    u32 number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    return number;
#endif
}

/* The thread's number in its block, and the threads of a block; the same for blocks. */
__device__ inline u32 thread_in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ inline u32 threads_in_block() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ inline u64 block_in_grid() {
    return blockIdx.x + (u64)gridDim.x * (blockIdx.y + (u64)gridDim.y * blockIdx.z);
}
__device__ inline u64 blocks_in_grid() { return (u64)gridDim.x * gridDim.y * gridDim.z; }

/* The thread's number in its warp. */
__device__ inline u32 lane() {
#if defined(__GPUORCH_SOFT__)
    return thread_in_block() % 32;
#else
    u32 number;
    asm("mov.u32 %0, %%laneid;" : "=r"(number));
    return number;
#endif
}

/* How many lanes of `mask` come before this one. */
__device__ inline u32 rank_in(u32 mask) { return (u32)__popc(mask & ((1u << lane()) - 1u)); }

/* Whether this lane is the first of `mask`, which acts for all of them. */
__device__ inline bool elected(u32 mask) { return rank_in(mask) == 0; }

/* The first lane's `value`. All lanes of `mask` call together. */
__device__ inline u64 from_first(u32 mask, u64 value) { return __shfl_sync(mask, value, __ffs((int)mask) - 1); }
__device__ inline u32 from_first(u32 mask, u32 value) { return __shfl_sync(mask, value, __ffs((int)mask) - 1); }
__device__ inline int from_first(u32 mask, int value) { return __shfl_sync(mask, value, __ffs((int)mask) - 1); }

}  // namespace atomic
}  // namespace gpo

#endif
