// A memory barrier that is nearly free for the thread that runs often and expensive for the thread that runs seldom
// (membarrier(2)).
//
// Use: two threads each write one variable and then read the other's, and at least one of them must see the other's
// write. The frequent side puts light_fence() between its write and its read. The seldom side puts heavy_fence() there,
// which makes every running thread of the process pass a full barrier (a few microseconds). Where the system has no
// membarrier, both are full fences.
#pragma once

#include <atomic>

#include "host/host.h"

namespace gpo::host {

/// Looks for membarrier. Call this before the first light_fence() that is paired with a heavy_fence(). Later calls are
/// cheap.
void look_at_fences() noexcept;

/// Whether light_fence() is free, because membarrier was found. Once true, always true.
inline bool light_fences() noexcept { return !detail::unusual(detail::kNoMembarrier); }

inline void light_fence() noexcept {
    if (!light_fences()) [[unlikely]]
        std::atomic_thread_fence(std::memory_order_seq_cst);
    else
        std::atomic_signal_fence(
            std::memory_order_seq_cst);  // the compiler may not reorder; the heavy side does the rest
}

void heavy_fence() noexcept;

}  // namespace gpo::host
