// How a kernel runs on the software GPU: where a thread finds itself, how a block's threads are run, where shared
// memory lies, and the table that the image exports. The token pass (../compiler/token_pass.h) writes calls to what is defined
// here.
#pragma once

#include "kernel_abi.h"

#define __gpo_inline static inline __attribute__((always_inline))

// The stack pointer is read anew wherever the compiler likes: with the low bits cleared it is the same all through.
__gpo_inline gpo_soft_address __gpo_stack() {
    gpo_soft_address here;
#if defined(__x86_64__)
    __asm__("movq %%rsp, %0" : "=r"(here));
#else
    __asm__("mov %0, sp" : "=r"(here));
#endif
    return here;
}

__gpo_inline gpo_soft_block* __gpo_block() {
    return reinterpret_cast<gpo_soft_block*>(__gpo_stack() & ~((gpo_soft_address(1) << GPO_SOFT_REGION_BITS) - 1));
}

__gpo_inline gpo_soft_thread* __gpo_thread() {
    gpo_soft_block* block = __gpo_block();
    return block->threads + ((__gpo_stack() - block->stacks) >> block->stack_shift);
}

/// Is it memory of this block: shared, or on a thread's stack? No other core touches it while the block runs, unless
/// that runs another block of the cluster. (The token pass says whether the source has such kernels.)
__gpo_inline bool __gpo_own(const volatile void* address) {
    return ((reinterpret_cast<gpo_soft_address>(address) ^ __gpo_stack()) >> GPO_SOFT_REGION_BITS) == 0 &&
           (!__gpo_reaches_other_blocks || __gpo_block()->cluster_size <= 1);
}

#if !defined(__clang__)
__gpo_inline void __builtin_assume(bool holds) {
    if (!holds) __builtin_unreachable();
}
#endif

// -- threadIdx and its like ------------------------------------------------------------------------------------------

/// The indices that a kernel's body reads: a copy in registers, out of reach of stores through the kernel's pointers.
struct __gpo_view {
    uint3 threadIdx, blockIdx;
    dim3 blockDim, gridDim;
};

__gpo_inline uint3 __gpo_uint3(const gpo_soft_dim3& from) {
    uint3 to = {from.x, from.y, from.z};
    return to;
}
__gpo_inline uint3 __gpo_thread_index() { return __gpo_uint3(__gpo_thread()->index); }
__gpo_inline uint3 __gpo_block_index() { return __gpo_uint3(__gpo_block()->block_index); }
__gpo_inline dim3 __gpo_block_dim() { return dim3(__gpo_uint3(__gpo_block()->block)); }
__gpo_inline dim3 __gpo_grid_dim() { return dim3(__gpo_uint3(__gpo_block()->grid)); }

// -- loops that can spin ---------------------------------------------------------------------------------------------

__attribute__((noinline, cold)) static gpo_soft_u64 __gpo_spin(gpo_soft_u64 since, const char* file, unsigned line) {
    gpo_soft_block* block = __gpo_block();
    return block->services->spin(block, since, file, line);
}

/// Counts a loop's turns; after the first few each one lets others run.
struct __gpo_spinner {
    unsigned turns;
    bool first;
    gpo_soft_u64 since;
    __attribute__((always_inline)) __gpo_spinner() : turns(0), first(true), since(0) {}
    __attribute__((always_inline)) bool once() {
        bool was = first;
        first = false;
        return was;
    }
    __attribute__((always_inline)) bool turn(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
        if (__builtin_expect(++turns > 8, 0)) {
            gpo_soft_block* block = __gpo_block();
            since = block->services->spin(block, since, file, line);
        }
        return true;
    }
};

#if __cplusplus >= 201402L
#define __gpo_constexpr constexpr
#else
#define __gpo_constexpr
#endif
/// Counter of a watched loop, usable in constexpr functions. Calls the library so rarely that the cost is negligible.
struct __gpo_watch {
    unsigned turns;
    bool first;
    gpo_soft_u64 since;
    __attribute__((always_inline)) __gpo_constexpr __gpo_watch() : turns(0), first(true), since(0) {}
    __attribute__((always_inline)) __gpo_constexpr bool once() {
        bool was = first;
        first = false;
        return was;
    }
    __attribute__((always_inline)) __gpo_constexpr bool turn(const char* file = __builtin_FILE(),
                                                             unsigned line = __builtin_LINE()) {
        if (__builtin_is_constant_evaluated()) return true;
        if (__builtin_expect((++turns & 0x3fff) == 0, 0)) since = __gpo_spin(since, file, line);
        return true;
    }
};
#undef __gpo_constexpr
__gpo_inline void __gpo_jump() {
    gpo_soft_block* block = __gpo_block();
    block->services->yield(block);
}

// -- running a block -------------------------------------------------------------------------------------------------

enum {
    __gpo_waits = 1,
    __gpo_index_in_memory = 2,
    __gpo_own_memory = 4,
    __gpo_launched = 8,     // the source has launches by kernels: the kernel may be launched so
    __gpo_launches = 16,    // the kernel may launch kernels
    __gpo_launches_graphs = 32,   // the kernel launches graphs
    __gpo_abi = GPO_SOFT_KERNEL_ABI
};

/// Set while the image's table is made: kernels then tell what they need instead of running.
struct __gpo_description {
    unsigned static_shared, flags, max_threads;
    gpo_soft_dim3 cluster;
    const char** symbol;    // where the kernel wants to find its symbol, if it does
};
static __gpo_description* __gpo_describing = nullptr;

template <class Tag>
struct __gpo_shared_layout {
    static unsigned total;
};
template <class Tag>
unsigned __gpo_shared_layout<Tag>::total = 0;

/// Shared variables of device functions; they come before the kernel's own, in kernels that can reach them.
struct __gpo_device_tag {
    enum { device_shared = 0 };
};

template <class Tag>
static inline unsigned __gpo_take_shared(size_t size, size_t alignment) {
    unsigned at = static_cast<unsigned>((__gpo_shared_layout<Tag>::total + alignment - 1) / alignment * alignment);
    __gpo_shared_layout<Tag>::total = at + static_cast<unsigned>(size);
    return at;
}
template <class Variables, class Tag>
struct __attribute__((visibility("hidden"))) __gpo_shared_slot {
    static unsigned offset;
    __attribute__((constructor)) static void __gpo_enter() {
        offset = __gpo_take_shared<Tag>(sizeof(Variables), alignof(Variables));
    }
};
template <class Variables, class Tag>
unsigned __gpo_shared_slot<Variables, Tag>::offset = 0;

template <class Tag>
__gpo_inline unsigned __gpo_device_shared() {
    return Tag::device_shared ? (__gpo_shared_layout<__gpo_device_tag>::total + 1023u) / 1024u * 1024u : 0u;
}
template <class Variables, class Tag>
__gpo_inline Variables& __gpo_shared() {
    (void)&__gpo_shared_slot<Variables, Tag>::__gpo_enter;   // which is a constructor where it is named
    char* base = static_cast<char*>(__gpo_block()->static_shared) + __gpo_device_shared<Tag>();
    return *reinterpret_cast<Variables*>(base + __gpo_shared_slot<Variables, Tag>::offset);
}
template <class Variables>
__gpo_inline Variables* __gpo_dynamic() {
    return static_cast<Variables*>(__gpo_block()->dynamic_shared);
}

template <class Body>
static void __gpo_one_thread(void* closure) {
    gpo_soft_block* block = __gpo_block();
    const gpo_soft_thread* self = __gpo_thread();
    const __gpo_view view = {__gpo_uint3(self->index), __gpo_uint3(block->block_index), dim3(__gpo_uint3(block->block)),
                             dim3(__gpo_uint3(block->grid))};
    Body body(*static_cast<const Body*>(closure));   // each thread has parameters of its own
    body(view);
}

/// The threads of a block one after the other, in the order of their numbers. Where a thread has memory of its own, or its
/// index in memory, which all have in the same place, the compiler may not take them for independent.
template <unsigned Flags, class Body>
__gpo_inline void __gpo_run_loop(gpo_soft_block* block, __gpo_view view, const Body& body) {
    const dim3 size = view.blockDim;
    if (size.x > 1024) __builtin_unreachable();
    if (Flags & (__gpo_own_memory | __gpo_index_in_memory)) {
        gpo_soft_thread* self = block->threads;
        unsigned linear = 0;
        for (unsigned z = 0; z < size.z; ++z)
            for (unsigned y = 0; y < size.y; ++y)
                for (unsigned x = 0; x < size.x; ++x) {
                    view.threadIdx.x = x;
                    view.threadIdx.y = y;
                    view.threadIdx.z = z;
                    if (Flags & __gpo_index_in_memory) {
                        self->index.x = x;
                        self->index.y = y;
                        self->index.z = z;
                        self->linear = linear++;
                        self->error = 0;
                    }
                    Body one(body);
                    one(view);
                }
        return;
    }
    for (unsigned z = 0; z < size.z; ++z)
        for (unsigned y = 0; y < size.y; ++y)
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
            for (unsigned x = 0; x < size.x; ++x) {   // not in a function of its own, where Clang's pragma wouldn't reach
                view.threadIdx.x = x;
                view.threadIdx.y = y;
                view.threadIdx.z = z;
                Body one(body);
                one(view);
            }
}
template <unsigned Flags, class Body>
__attribute__((noinline, cold)) void __gpo_run_far_loop(gpo_soft_block* block, const __gpo_view& view,
                                                        const Body& body) {
    __gpo_run_loop<Flags>(block, view, body);
}

template <class Tag>
__gpo_inline gpo_soft_dim3 __gpo_cluster_of() {
    const gpo_soft_dim3 cluster = {Tag::cluster_x, Tag::cluster_y, Tag::cluster_z};
    return cluster;
}
template <class Tag>
__gpo_inline unsigned __gpo_shared_of() {
    return __gpo_device_shared<Tag>() + __gpo_shared_layout<Tag>::total;
}
template <unsigned Flags>
__gpo_inline unsigned __gpo_flags_of() {
    return (Flags & __gpo_waits ? GPO_SOFT_KERNEL_WAITS : 0u) |
           (Flags & __gpo_launches ? GPO_SOFT_KERNEL_LAUNCHES : 0u) |
           (Flags & __gpo_launches_graphs ? GPO_SOFT_KERNEL_LAUNCHES_GRAPHS : 0u);
}

/// The threads of this block, by fibers or in a loop.
template <unsigned Flags, class Body>
__gpo_inline void __gpo_run_threads(const Body& body) {
    gpo_soft_block* block = __gpo_block();
    if (Flags & __gpo_waits) {
        block->services->run_threads(block, &__gpo_one_thread<Body>, const_cast<Body*>(&body));
        return;
    }
    const __gpo_view view = {__gpo_uint3(block->block), __gpo_uint3(block->block_index),
                             dim3(__gpo_uint3(block->block)), dim3(__gpo_uint3(block->grid))};
    // Below 2^31 the compiler knows that blockIdx.x * blockDim.x + threadIdx.x doesn't wrap in an int either, and makes
    // vectors of neighbouring threads.
    if (view.blockIdx.x * view.blockDim.x <= 0x7fffffffu - 1024u)
        __gpo_run_loop<Flags>(block, view, body);
    else
        __gpo_run_far_loop<Flags>(block, view, body);
}

/// A call of a kernel's function runs a block. In sources with launches by kernels the call may also be a launch
/// (gpo_launches.h).
template <bool Launched>
struct __gpo_call {
    template <class Tag, unsigned Flags, unsigned MaxThreads, class Body>
    static inline __attribute__((always_inline)) void made(const Body& body) {
        __gpo_run_threads<Flags>(body);
    }
    template <class Tag>
    static inline const char** symbol() {
        return nullptr;
    }
};

/// The body of every kernel.
template <class Tag, unsigned Flags, unsigned MaxThreads, class Body>
__gpo_inline void __gpo_run_block(const Body& body) {
    if (__builtin_expect(__gpo_describing != nullptr, 0)) {
        __gpo_describing->static_shared = __gpo_shared_of<Tag>();
        __gpo_describing->flags = __gpo_flags_of<Flags>();
        __gpo_describing->max_threads = MaxThreads;
        __gpo_describing->cluster = __gpo_cluster_of<Tag>();
        __gpo_describing->symbol = __gpo_call<(Flags & __gpo_launched) != 0>::template symbol<Tag>();
        return;
    }
    __gpo_call<(Flags & __gpo_launched) != 0>::template made<Tag, Flags, MaxThreads>(body);
}

// -- the table -------------------------------------------------------------------------------------------------------

struct __gpo_entry {
    __gpo_entry* next;
    void (*run)(gpo_soft_block*);
    const void* symbol;
    const gpo_soft_parameter* parameters;
    unsigned parameter_count;
    const char* plain;         // the name without its scopes
    const char* fallback;      // the name to use when the symbol isn't exported
    bool internal;             // static in the source: exported all the same, but named as CUDA names it
    const char* expression;    // the name expression it was made for
    char* made_name;           // freed with the image
};
struct __gpo_variable_entry {
    __gpo_variable_entry* next;
    gpo_soft_variable variable;
    const char* expression;
};
// The token pass adds a function behind each kernel and variable that enters it here. An image runs only constructors
// with __gpo_enter in their names (../image/init.h).
static __gpo_entry* __gpo_entries = nullptr;
static __gpo_variable_entry* __gpo_variables = nullptr;

template <unsigned... I>
struct __gpo_numbers {};
template <unsigned __n, unsigned... I>
struct __gpo_count : __gpo_count<__n - 1, __n - 1, I...> {};
template <unsigned... I>
struct __gpo_count<0, I...> {
    typedef __gpo_numbers<I...> type;
};
template <class T>
struct __gpo_bare {
    typedef T type;
};
template <class T>
struct __gpo_bare<const T> {
    typedef T type;
};

template <class Signature, Signature* Function>
struct __gpo_kernel_of;
template <class... P, void (*Function)(P...)>
struct __gpo_kernel_of<void(P...), Function> {
    __gpo_entry entry;
    gpo_soft_parameter parameters[sizeof...(P) + 1];

    template <unsigned... I>
    static inline void call(void* const* args, __gpo_numbers<I...>) {
        (void)args;
        Function(*static_cast<typename __gpo_bare<P>::type*>(args[I])...);
    }
    static void run(gpo_soft_block* block) { call(block->args, typename __gpo_count<sizeof...(P)>::type()); }

    void enter(const char* plain, const char* fallback, bool internal, const char* expression) {
        const unsigned sizes[] = {static_cast<unsigned>(sizeof(P))..., 0u};
        const unsigned alignments[] = {static_cast<unsigned>(alignof(P))..., 1u};
        unsigned offset = 0;
        for (unsigned i = 0; i < sizeof...(P); ++i) {
            offset = (offset + alignments[i] - 1) / alignments[i] * alignments[i];
            parameters[i].offset = offset;
            parameters[i].size = sizes[i];
            offset += sizes[i];
        }
        entry.next = __gpo_entries;
        entry.run = &run;
        entry.symbol = reinterpret_cast<const void*>(Function);
        entry.parameters = parameters;
        entry.parameter_count = sizeof...(P);
        entry.plain = plain;
        entry.fallback = fallback;
        entry.internal = internal;
        entry.expression = expression;
        entry.made_name = nullptr;
        __gpo_entries = &entry;
    }
};

struct __gpo_variable_of {
    __gpo_variable_entry entry;
    void enter(const char* name, const volatile void* address, size_t size, unsigned constant, const char* expression) {
        entry.next = __gpo_variables;
        entry.variable.name = name;
        entry.variable.address = const_cast<void*>(address);
        entry.variable.size = size;
        entry.variable.constant = constant;
        entry.expression = expression;
        __gpo_variables = &entry;
    }
};

/// A name expression that names a kernel or a variable.
template <class T, T* Named>
struct __gpo_named : __gpo_variable_of {
    void enter(const char* expression) {
        __gpo_variable_of::enter(nullptr, reinterpret_cast<const volatile void*>(Named), sizeof(T), 0, expression);
    }
};
template <class... P, void (*Named)(P...)>
struct __gpo_named<void(P...), Named> : __gpo_kernel_of<void(P...), Named> {
    void enter(const char* expression) {
        __gpo_kernel_of<void(P...), Named>::enter(nullptr, expression, false, expression);
    }
};
