// Shuts a runtime down: ends its objects, contexts, trace and memory registry, in the only order that works.
#pragma once

#include "core/runtime.h"

namespace gpo {

/// Returns GPO_SUCCESS, GPO_TIMEOUT (the caller may try again), or GPO_INVALID_HANDLE if another caller has already
/// shut the runtime down.
/// Throws Failure(GPO_WOULD_DEADLOCK, GPO_INVALID_STATE).
gpo_status shut_down(Runtime& runtime, uint64_t deadline);

}  // namespace gpo
