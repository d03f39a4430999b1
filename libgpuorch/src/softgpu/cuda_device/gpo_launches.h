// Launches of kernels by kernels: kernel<<<grid, block, shared, stream>>>(arguments). The token pass writes
// (__gpo_shape(grid, block, shared, stream), kernel(arguments)): the call finds the shape that its thread has put down.
#pragma once

#include "gpo_thread.h"

typedef struct CUstream_st* cudaStream_t;
typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorLaunchPendingCountExceeded = 69,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorContextIsDestroyed = 709,
    cudaErrorNotSupported = 801,
    cudaErrorInvalidClusterSize = 912
} cudaError_t;

#define cudaStreamTailLaunch (cudaStream_t)0x3
#define cudaStreamFireAndForget (cudaStream_t)0x4

/// The error of the thread's last failed launch; cudaGetLastError resets it.
__gpo_inline cudaError_t cudaPeekAtLastError() { return static_cast<cudaError_t>(__gpo_thread()->error); }
__gpo_inline cudaError_t cudaGetLastError() {
    const cudaError_t error = cudaPeekAtLastError();
    __gpo_thread()->error = 0;
    return error;
}
static inline const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "cudaSuccess";
        case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
        case cudaErrorLaunchPendingCountExceeded: return "cudaErrorLaunchPendingCountExceeded";
        case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
        case cudaErrorContextIsDestroyed: return "cudaErrorContextIsDestroyed";
        case cudaErrorNotSupported: return "cudaErrorNotSupported";
        case cudaErrorInvalidClusterSize: return "cudaErrorInvalidClusterSize";
    }
    return "unrecognized error code";
}

/// A launch whose arguments are being evaluated. Other threads of the block may run meanwhile, so the block has a list
/// of shapes. A shape lies on its thread's stack, and the call of the kernel's function takes it out of the list.
struct __gpo_shape {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    gpo_soft_thread* thread;
    __gpo_shape* next;

    __gpo_shape(dim3 of_grid, dim3 of_block, size_t dynamic_shared = 0, cudaStream_t in = nullptr)
        : grid(of_grid), block(of_block), shared(dynamic_shared), stream(in), thread(__gpo_thread()),
          next(static_cast<__gpo_shape*>(__gpo_block()->launching)) {
        __gpo_block()->launching = this;
    }
    /// The calling thread's shape, taken out of the list; NULL: the thread doesn't launch.
    static inline __gpo_shape* take(gpo_soft_block* from) {
        __gpo_shape* before = nullptr;
        for (__gpo_shape* one = static_cast<__gpo_shape*>(from->launching); one; before = one, one = one->next) {
            if (one->thread != __gpo_thread()) continue;
            if (before) before->next = one->next;
            else from->launching = one->next;
            return one;
        }
        return nullptr;
    }
};

__gpo_inline gpo_soft_dim3 __gpo_soft_dim3(const dim3& from) {
    const gpo_soft_dim3 to = {from.x, from.y, from.z};
    return to;
}

/// The symbol of a kernel with this tag, once the image's table is made; of a template that only kernels instantiate, its
/// name in the source.
template <class Tag>
struct __attribute__((visibility("hidden"))) __gpo_symbol_of {
    static const char* value;
};
template <class Tag>
const char* __gpo_symbol_of<Tag>::value = nullptr;

template <class Body>
struct __attribute__((visibility("hidden"))) __gpo_closure {
    static const gpo_soft_parameter parameter;
};
template <class Body>
const gpo_soft_parameter __gpo_closure<Body>::parameter = {0, static_cast<gpo_soft_u32>(sizeof(Body))};

/// For blocks launched by the host and by kernels. The copy is the block's own, so no store of a kernel's can change it.
template <unsigned Flags, class Body>
__attribute__((noinline)) void __gpo_run_copy(const Body& body) {
    const Body mine(body);
    __gpo_run_threads<Flags>(mine);
}
template <unsigned Flags, class Body>
void __gpo_run_child(gpo_soft_block* block) {
    __gpo_run_copy<Flags>(*static_cast<const Body*>(block->args[0]));
}

/// A child's only argument is the closure of the kernel's function with all its parameters.
template <class Tag, unsigned Flags, unsigned MaxThreads, class Body>
__attribute__((noinline, cold)) void __gpo_launch(gpo_soft_block* block, const __gpo_shape& shape, const Body& body) {
    const char* symbol = __gpo_symbol_of<Tag>::value;
    const gpo_soft_launch launch = {{symbol ? symbol : Tag::name(), &__gpo_closure<Body>::parameter, 1,
                                     __gpo_flags_of<Flags>(), __gpo_shared_of<Tag>(), MaxThreads,
                                     &__gpo_run_child<Flags, Body>, __gpo_cluster_of<Tag>()},
                                    __gpo_soft_dim3(shape.grid),
                                    __gpo_soft_dim3(shape.block),
                                    shape.shared,
                                    reinterpret_cast<gpo_soft_address>(shape.stream),
                                    &body};
    if (const int error = block->services->launch_kernel(block, &launch))
        shape.thread->error = static_cast<gpo_soft_u32>(error);
}

template <>
struct __gpo_call<true> {
    template <class Tag, unsigned Flags, unsigned MaxThreads, class Body>
    static inline __attribute__((always_inline)) void made(const Body& body) {
        gpo_soft_block* block = __gpo_block();
        if (const __gpo_shape* shape = block->launching ? __gpo_shape::take(block) : nullptr)
            __gpo_launch<Tag, Flags, MaxThreads>(block, *shape, body);
        else
            __gpo_run_copy<Flags>(body);
    }
    template <class Tag>
    static inline const char** symbol() {
        return &__gpo_symbol_of<Tag>::value;
    }
};
