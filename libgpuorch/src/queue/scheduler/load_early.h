// Loads kernels of the library before their first use. While a resident kernel runs it is too late: loading waits for
// all kernels (stream/blocking_calls.h).
#pragma once

#include "device/context.h"

namespace gpo::scheduler {

/// Called before a resident stream is made, with no lock held. Kernels that fail to load are tried again when needed.
void load_early(Context& context) noexcept;

}  // namespace gpo::scheduler
