// Collects the metrics that gpuorch/metrics.h declares from a runtime, its objects, and the streams of its contexts.
#pragma once

#include <string>

#include "device/context.h"
#include "gpuorch/metrics.h"

namespace gpo::metrics {

gpo_metrics of_runtime(Runtime& runtime);
gpo_statistics statistics(const Runtime& runtime) noexcept;
/// Numbers that can't be read are -1, and `reason` says why NVML failed. Throws only std::bad_alloc.
gpo_device_metrics of_device(Context& context);
/// Prometheus' text format 0.0.4. Throws std::bad_alloc.
std::string prometheus(Runtime& runtime);

}  // namespace gpo::metrics
