// A thread's own asynchronous copies to shared memory: done at once here, and so there whenever they are waited for.
#pragma once
#pragma GCC system_header

#include "gpo_device.h"

__gpo_inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
    __builtin_memcpy(to, from, bytes - zeros);
    __builtin_memset(static_cast<char*>(to) + (bytes - zeros), 0, zeros);
}
__gpo_inline void __pipeline_commit() {}
__gpo_inline void __pipeline_wait_prior(size_t) {}
