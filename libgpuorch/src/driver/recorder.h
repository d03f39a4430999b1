// A driver that records its calls, for tests: which functions, in which order, on which threads, with which results.
// There is one record for all drivers that are wrapped here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "driver/driver.h"
#include "driver/functions.h"

namespace gpo::driver::recorder {

struct Call {
    uint64_t sequence = 0;   // from 0, in the order in which calls began
    Function function = Function::count;
    uint32_t thread = 0;     // the system's number of the thread
    CUresult result = CUDA_SUCCESS;
};

std::shared_ptr<Driver> wrap(std::shared_ptr<Driver> driver);

/// Forgets everything. Only while no call is on its way.
void clear() noexcept;

/// Calls of a function, and of all, since clear().
uint64_t count(Function function) noexcept;
uint64_t count() noexcept;

/// The calls since clear() that have returned, the oldest first; of more than 65536 the newest.
std::vector<Call> calls();

}  // namespace gpo::driver::recorder
