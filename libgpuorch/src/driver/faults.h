// A driver that fails on request, for tests: at the k-th call of a given function, or of any function, once or at every
// call from then on.
//
// A call that fails on request does not reach the driver beneath. All drivers wrapped here share the plan in force.
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
    bool for_ever = false;              // the k-th call and all later ones fail
    void (*watch)(Function, uint64_t number) noexcept = nullptr;   // called before each matching call, on its thread
};

std::shared_ptr<Driver> wrap(std::shared_ptr<Driver> driver);

/// Puts a plan in force and sets both counts to 0. Any thread; calls in progress may still follow the old plan.
void arm(const Plan& plan) noexcept;
void disarm() noexcept;

/// Number of calls that matched the plan's function, and of calls that failed. To count calls, set kth = UINT64_MAX.
uint64_t seen() noexcept;
uint64_t failed() noexcept;

}  // namespace gpo::driver::faults
