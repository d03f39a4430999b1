// The kernels that combine the data of several ranks for collectives. base/combine.h defines the arithmetic.
// make_builtin.py compiles this file to combine.ptx; softgpu/image/combine.cpp has the same kernels for the software
// GPU.
//
// destination[i] = sources[0][i] op sources[1][i] op ... for i < n. `destination` may be one of the sources; addresses
// are aligned to the type. `source_count`: 1 to 16. `type`, `reduction`: see gpo::combine::Type and Reduction.
// `divisor`: of an average. Grid and block may have any shape: threads are numbered through it.
#include "../base/combine.h"
#include "../base/exchange.h"

typedef unsigned int u32;
typedef unsigned long long u64;

namespace {

using gpo::combine::Sources;

__device__ inline u32 threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

__device__ inline u64 first() {
    const u64 block = blockIdx.x + u64(gridDim.x) * (blockIdx.y + u64(gridDim.y) * blockIdx.z);
    return block * threads_of_block() + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

__device__ inline u64 stride() { return u64(gridDim.x) * gridDim.y * gridDim.z * threads_of_block(); }

struct Combine {
    u64 destination;
    const Sources& sources;
    u32 source_count, reduction, divisor;
    u64 n;
    bool aligned;  // to 16 bytes, all of them

    /// Elements that are loaded and stored at once.
    template <class Stored, u32 count>
    struct alignas(sizeof(Stored) * count) Pack {
        Stored element[count];
    };

    template <class Element, u32 count>
    __device__ void packs(u64 from, u64 to) const {
        using Packed = Pack<typename Element::Stored, count>;
        for (u64 i = from + first(); i < to; i += stride()) {
            Packed pack = reinterpret_cast<const Packed*>(sources.address[0])[i];
            gpo::combine::Run<Element, count> run(pack.element);
#pragma unroll 1  // all types together are many instructions
            for (u32 source = 1; source < source_count; ++source) {
                pack = reinterpret_cast<const Packed*>(sources.address[source])[i];
                u32 same = reduction;
                asm volatile("" : "+r"(same));  // keeps the compiler from making a loop for each reduction
                run.combine(same, pack.element);
            }
            run.store(reduction, divisor, pack.element);
            reinterpret_cast<Packed*>(destination)[i] = pack;
        }
    }

    template <class Element>
    __device__ void operator()(Element) const {
        constexpr u32 kCount = 16 / sizeof(typename Element::Stored);
        const u64 whole = aligned ? n / kCount : 0;
        packs<Element, kCount>(0, whole);
        packs<Element, 1>(whole * kCount, n);
    }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(1024)
    gpo_combine(u64 destination, const __grid_constant__ Sources sources, u32 source_count, u32 type, u32 reduction,
                u32 divisor, u64 n) {
    u64 addresses = destination;
    for (u32 source = 0; source < source_count; ++source) addresses |= sources.address[source];
    const bool aligned = addresses % 16 == 0;
    gpo::combine::with_type(type, Combine{destination, sources, source_count, reduction, divisor, n, aligned});
}

// --- a small all-reduce, in one kernel for each rank: base/exchange.h ---

namespace {

using gpo::exchange::kThreads;
using gpo::exchange::load;
using gpo::exchange::Mailboxes;
using gpo::exchange::Packet;
using gpo::exchange::store;

__device__ inline void put(u64 address, u64 data, u32 number) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(address), "r"(u32(data)), "r"(number),
                 "r"(u32(data >> 32))
                 : "memory");
}

__device__ inline u64 take(u64 address, u32 number) {
    Packet p;
    do {
        asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(p.low), "=r"(p.number_low), "=r"(p.high), "=r"(p.number_high)
                     : "l"(address)
                     : "memory");
    } while (p.number_low != number || p.number_high != number);
    return p.low | u64(p.high) << 32;
}

struct Exchange {
    const Mailboxes& boxes;
    u64 own, destination, bytes, slot;   // this thread's data, where the result goes, its size, and the slot
    u32 reduction, number;

    template <class Element>
    __device__ void operator()(Element) const {
        constexpr u32 kCount = 8 / sizeof(typename Element::Stored);
        union Unit {
            u64 bits;
            typename Element::Stored element[kCount];
        };
        const u64 half = (number & 1) * boxes.ranks * boxes.slots;
        for (u32 i = 1; i < boxes.ranks; ++i) {
            const u32 to = boxes.rank + i < boxes.ranks ? boxes.rank + i : boxes.rank + i - boxes.ranks;
            put(boxes.inbox[to] + 16 * (half + boxes.rank * boxes.slots + slot), own, number);
        }
        const auto of = [&](u32 rank) {
            return rank == boxes.rank ? own
                                      : take(boxes.inbox[boxes.rank] + 16 * (half + rank * boxes.slots + slot), number);
        };
        Unit unit{of(0)};
        gpo::combine::Run<Element, kCount> run(unit.element);
        for (u32 rank = 1; rank < boxes.ranks; ++rank) {
            unit.bits = of(rank);
            u32 same = reduction;
            asm volatile("" : "+r"(same));
            run.combine(same, unit.element);
        }
        run.store(reduction, boxes.ranks, unit.element);
        store(destination, bytes, unit.bits);
    }
};

template <class Element>
__device__ inline void all_reduce_small(const Mailboxes& boxes, u64 source, u64 destination, u64 bytes, u32 reduction) {
    const u64 slot = blockIdx.x * u64(kThreads) + threadIdx.x, at = slot * 8;
    const u64 own = at < bytes ? load(source + at, bytes - at) : 0;
    auto* const last = reinterpret_cast<volatile u32*>(boxes.numbers) + blockIdx.x;
    const u32 number = *last + 1;
    if (at < bytes) Exchange{boxes, own, destination + at, bytes - at, slot, reduction, number}(Element());
    __syncthreads();   // all threads have read the number
    if (threadIdx.x == 0) *last = number;
}

}  // namespace

// A kernel for each type: in a small all-reduce, a fraction of a microsecond counts.
#define GPO_ALL_REDUCE_SMALL(name, ...)                                                                              \
    extern "C" __global__ void __launch_bounds__(kThreads)                                                           \
        gpo_all_reduce_small_##name(const __grid_constant__ Mailboxes boxes, u64 source, u64 destination, u64 bytes, \
                                    u32 reduction) {                                                                 \
        all_reduce_small<gpo::combine::__VA_ARGS__>(boxes, source, destination, bytes, reduction);                   \
    }
GPO_EACH_SMALL_ALL_REDUCE(GPO_ALL_REDUCE_SMALL)
