// How collectives combine the data of several ranks; base/combine.h says what is computed. combine.ptx is made of this
// by make_builtin.py; softgpu/image/combine.cpp has the same for the software GPU.
//
// destination[i] = sources[0][i] op sources[1][i] op ... for i < n. `destination` may be one of the sources; addresses
// are aligned to the type. `source_count`: 1 to 16. `type`, `reduction`: see gpo::combine::Type and Reduction.
// `divisor`: of an average. Grid and block may have any shape: threads are numbered through it.
#include "../base/combine.h"

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
                asm volatile("" : "+r"(same));  // or there would be a loop for each reduction
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
