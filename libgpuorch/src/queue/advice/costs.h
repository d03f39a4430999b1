// What launches, copies and queues cost: figures of one machine, to be replaced by those of the device at hand.
#pragma once

#include "gpuorch/advice.h"

namespace gpo::advice {

/// Of an H200.
gpo_costs default_costs() noexcept;
/// The same with what a device's properties tell.
gpo_costs costs_of(const gpo_device_properties& device) noexcept;
/// `given`, and of `otherwise` what is 0 there.
gpo_costs completed(const gpo_costs& given, const gpo_costs& otherwise) noexcept;

/// Nanoseconds that `amount` takes at so many a second.
inline double time_at(double amount, uint64_t per_second) noexcept {
    return amount * 1e9 / static_cast<double>(per_second ? per_second : 1);
}

}  // namespace gpo::advice
