// Costs of launches, copies and queues: figures of one machine, to be replaced by the actual device's figures.
#pragma once

#include "gpuorch/advice.h"

namespace gpo::advice {

/// An H200's costs.
gpo_costs default_costs() noexcept;
/// default_costs(), adapted to the device's properties.
gpo_costs costs_of(const gpo_device_properties& device) noexcept;
/// `given`, with `otherwise`'s figures in place of zeros.
gpo_costs completed(const gpo_costs& given, const gpo_costs& otherwise) noexcept;

/// Nanoseconds that `amount` takes at `per_second`.
inline double time_at(double amount, uint64_t per_second) noexcept {
    return amount * 1e9 / static_cast<double>(per_second ? per_second : 1);
}

}  // namespace gpo::advice
