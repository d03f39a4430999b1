// A driver that records its calls, for tests: function, order, thread and result. All drivers wrapped here share the
// record.
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

/// Forgets all calls. Call it only while no call is in progress.
void clear() noexcept;

/// Calls of a function, and of all, since clear().
uint64_t count(Function function) noexcept;
uint64_t count() noexcept;

/// The calls since clear() that have returned, the oldest first; of more than 65536 the newest.
std::vector<Call> calls();

}  // namespace gpo::driver::recorder
