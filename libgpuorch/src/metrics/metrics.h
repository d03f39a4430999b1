// Collects the numbers of metrics.h from the runtime, the streams of its contexts, and its objects.
#pragma once

#include <string>

#include "device/context.h"
#include "gpuorch/metrics.h"

namespace gpo::metrics {

gpo_metrics of_runtime(Runtime& runtime);
gpo_statistics statistics(const Runtime& runtime) noexcept;
/// Throws only std::bad_alloc: a number that can't be read is -1, and `reason` says why.
gpo_device_metrics of_device(Context& context);
/// Prometheus' text format 0.0.4. Throws std::bad_alloc.
std::string prometheus(Runtime& runtime);

}  // namespace gpo::metrics
