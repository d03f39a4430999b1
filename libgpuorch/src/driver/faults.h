// A driver that fails on request, for tests: at the k-th call of a given function, or of any function, once or from
// then on for ever.
//
// A call that is made to fail does not reach the driver beneath. One plan is in force at a time, for every driver that
// is wrapped here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "driver/driver.h"
#include "driver/functions.h"

namespace gpo::driver::faults {

struct Plan {
    std::optional<Function> function;   // none: any
    uint64_t kth = 1;                   // from 1, counted from arm()
    CUresult result = CUDA_ERROR_UNKNOWN;
    bool for_ever = false;              // the k-th and all after it
};

std::shared_ptr<Driver> wrap(std::shared_ptr<Driver> driver);

/// Puts a plan in force and sets both counts to 0. Any thread; calls that are on their way may still follow the old
/// one.
void arm(const Plan& plan) noexcept;
void disarm() noexcept;

/// Calls that the plan looked at (to learn how many there are: arm one with kth = UINT64_MAX), and those it failed.
uint64_t seen() noexcept;
uint64_t failed() noexcept;

}  // namespace gpo::driver::faults
