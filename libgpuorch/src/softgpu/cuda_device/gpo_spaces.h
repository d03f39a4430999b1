// The kind of memory behind a pointer. Shared memory and all threads' own memory are in the block's region.
// Constants are the variables that have registered themselves as constants. Parameters are found in a list that the
// token pass makes.
#pragma once

#include "gpo_cluster.h"

/// A parameter with __grid_constant__, kept while the block runs. The block's list begins in the last word of its `scratch`.
struct __gpo_grid_constant {
    const char* at;
    size_t size;
    __gpo_grid_constant* next;
    __gpo_grid_constant(const void* address, size_t bytes) : at(static_cast<const char*>(address)), size(bytes), next(nullptr) {
        if (__gpo_describing) return;
        gpo_soft_block* block = __gpo_block();
        next = reinterpret_cast<__gpo_grid_constant*>(static_cast<gpo_soft_address>(block->scratch[3]));
        block->scratch[3] = reinterpret_cast<gpo_soft_address>(this);
    }
};

__gpo_inline bool __gpo_in_region(const void* address) {
    return ((reinterpret_cast<gpo_soft_address>(address) ^ __gpo_stack()) >> GPO_SOFT_REGION_BITS) == 0;
}
/// Static shared memory lies below the dynamic.
__gpo_inline unsigned __isShared(const void* address) {
    const gpo_soft_block* block = __gpo_block();
    return address >= block->static_shared && address < static_cast<char*>(block->dynamic_shared) + block->dynamic_shared_bytes;
}
__gpo_inline unsigned __isGridConstant(const void* address) {
    const gpo_soft_block* block = __gpo_block();
    for (const __gpo_grid_constant* one = reinterpret_cast<__gpo_grid_constant*>(static_cast<gpo_soft_address>(block->scratch[3])); one; one = one->next)
        if (address >= one->at && address < one->at + one->size) return 1;
    return 0;
}
__gpo_inline unsigned __isLocal(const void* address) {
    return __gpo_in_region(address) && !__isShared(address) && !__isGridConstant(address);
}
static inline unsigned __isConstant(const void* address) {
    for (const __gpo_variable_entry* one = __gpo_variables; one; one = one->next) {
        const char* at = static_cast<const char*>(one->variable.address);
        if (one->variable.constant == GPO_SOFT_CONSTANT && address >= at && address < at + one->variable.size) return 1;
    }
    return 0;
}
__gpo_inline unsigned __isGlobal(const void* address) {
    const bool elsewhere = __gpo_block()->cluster_blocks && __isClusterShared(address);   // only kernels that wait have those
    return !__gpo_in_region(address) && !elsewhere && !__isConstant(address);
}

__gpo_inline size_t __cvta_generic_to_shared(const void* address) {
    return static_cast<size_t>(reinterpret_cast<gpo_soft_address>(address) - reinterpret_cast<gpo_soft_address>(__gpo_block()));
}
__gpo_inline void* __cvta_shared_to_generic(size_t offset) { return reinterpret_cast<char*>(__gpo_block()) + offset; }
// Addresses in the other spaces equal generic addresses.
#define __GPO_SPACE(name)                                                                                                    \
    __gpo_inline size_t __cvta_generic_to_##name(const void* address) { return reinterpret_cast<gpo_soft_address>(address); } \
    __gpo_inline void* __cvta_##name##_to_generic(size_t address) { return reinterpret_cast<void*>(address); }
__GPO_SPACE(global) __GPO_SPACE(constant) __GPO_SPACE(local) __GPO_SPACE(grid_constant)
#undef __GPO_SPACE
