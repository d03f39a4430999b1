// A copy of the software GPU for the raw arm, in a separate library: one function returns its driver table.
#include <memory>
#include <string>

#include "driver/driver.h"

extern "C" __attribute__((visibility("default"))) const gpo::driver::Table* gpuorch_bench_soft_table() {
    // Never destroyed, like libcuda.
    static const auto& driver = *new std::shared_ptr<gpo::driver::Driver>(gpo::driver::open_soft(nullptr));
    return driver ? &driver->table : nullptr;
}
