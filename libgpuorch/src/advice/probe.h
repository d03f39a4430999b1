// Measures the costs of launches, graphs and copies on a device.
#pragma once

#include "device/device.h"
#include "gpuorch/advice.h"

namespace gpo::advice {

/// Replaces the measured figures in `costs`. Each figure is the least of a few measurements. Waits for the GPU. Throws
/// Failure, std::bad_alloc.
void probe(Device& device, gpo_costs& costs);

}  // namespace gpo::advice
