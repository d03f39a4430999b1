// The end of a runtime: the steps of the core, the contexts, the trace and the memory registry, in the only order that
// works.
#pragma once

#include "core/runtime.h"

namespace gpo {

/// GPO_SUCCESS; GPO_TIMEOUT: can be tried again; GPO_INVALID_HANDLE: another caller has shut the runtime down.
/// Throws Failure(GPO_WOULD_DEADLOCK, GPO_INVALID_STATE).
gpo_status shut_down(Runtime& runtime, uint64_t deadline);

}  // namespace gpo
