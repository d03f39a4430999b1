// Kernels of the library's own that would otherwise be loaded when they are first needed. Beside a kernel that stays on
// the GPU that is too late: loading waits for all kernels (stream/blocking_calls.h).
#pragma once

#include "device/context.h"

namespace gpo::scheduler {

/// Before a resident stream is made. What can't be loaded now is tried again when it is needed. With no lock held.
void load_early(Context& context) noexcept;

}  // namespace gpo::scheduler
