// Scenarios of groups of devices.
#pragma once

#include "faults/attempt.h"

namespace gpo::test {

/// Symmetric memory of two devices, and kernels that are launched on both together, at once and when a stream is held.
void symmetric_memory(Attempt& a);
/// A group and a group of its ranks, and all-reduces of two devices, at once and when a stream is held.
void collectives(Attempt& a);

}  // namespace gpo::test
