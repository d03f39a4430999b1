#include "advice/costs.h"

namespace gpo::advice {

namespace {

struct Figure {
    uint64_t gpo_costs::*field;
    uint64_t value;
    // Measured with raw driver calls on an H200 (132 multiprocessors, driver 580.159, CUDA 13.0, PCIe 5 x16).
};

constexpr Figure kFigures[] = {
    {&gpo_costs::launch_ns, 3'300},                   // cuLaunchKernel with 3 arguments: 2.9 to 4.0 us
    {&gpo_costs::wait_ns, 8'500},                     // kernel launch and stream synchronize
    {&gpo_costs::decision_ns, 10'800},                // kernel, copy of 4 bytes, synchronize: a turn of such a loop
    {&gpo_costs::graph_launch_ns, 1'200},             // 1 node 1.2 us, 100 nodes 1.9 us
    {&gpo_costs::graph_node_ns, 1'100},               // a chain of 100 nodes takes 109 us
    {&gpo_costs::while_turn_ns, 4'200},               // a body of one kernel
    {&gpo_costs::device_launch_ns, 12'200},           // a parent and 2 children 32.9 us, a kernel alone 8.5 us
    {&gpo_costs::doorbell_ns, 2'840},                 // a word in pinned memory, there and back; p99 3.4 us
    {&gpo_costs::host_tasks_per_second, 15'500'000},  // a producing thread, a warp that reads 32 slots at a time
    {&gpo_costs::claims_per_second, 1'360'000'000},   // atomicAdd of one counter, one for each warp
    {&gpo_costs::ring_tasks_per_second, 10'500'000'000},  // 16-byte tasks, non-blocking, 32 tasks an atomic
    {&gpo_costs::copy_ns, 2'700},                         // copies of 64 KiB: 17.0 GB/s; in batches 40.6 GB/s
    {&gpo_costs::copy_in_rate, 55'400'000'000},           // pinned, 1 GiB
    {&gpo_costs::copy_out_rate, 55'400'000'000},
    {&gpo_costs::copy_both_rate, 101'600'000'000},
    {&gpo_costs::pageable_in_rate, 8'700'000'000},
    {&gpo_costs::pageable_out_rate, 15'600'000'000},
    {&gpo_costs::memory_rate, 4'200'000'000'000},      // device-to-device copy, read and write
    {&gpo_costs::operation_rate, 66'900'000'000'000},  // 132 x 128 lanes, 2 operations a cycle, 1.98 GHz
};

/// Rate of a copy on the device over the rate by the memory's clock and width, on an H200.
constexpr double kReachedMemory = 0.86;

/// Lanes for single precision that a multiprocessor has.
uint64_t lanes(const gpo_device_properties& device) noexcept {
    const int32_t version = device.compute_capability_major * 10 + device.compute_capability_minor;
    return version == 70 || version == 72 || version == 75 || version == 80 ? 64 : 128;
}

void replace(uint64_t& figure, double by) noexcept {
    if (by >= 1) figure = static_cast<uint64_t>(by);
}

}  // namespace

gpo_costs default_costs() noexcept {
    gpo_costs costs{};
    costs.struct_size = sizeof costs;
    for (const Figure& figure : kFigures) costs.*figure.field = figure.value;
    costs.multiprocessors = 132;
    return costs;
}

gpo_costs costs_of(const gpo_device_properties& device) noexcept {
    gpo_costs costs = default_costs();
    if (device.multiprocessors > 0) costs.multiprocessors = static_cast<uint32_t>(device.multiprocessors);
    // Two transfers a clock.
    replace(costs.memory_rate, kReachedMemory * 2e3 * device.memory_clock_khz * device.memory_bus_bits / 8);
    replace(costs.operation_rate, 2e3 * device.clock_khz * static_cast<double>(lanes(device)) * device.multiprocessors);
    return costs;
}

gpo_costs completed(const gpo_costs& given, const gpo_costs& otherwise) noexcept {
    gpo_costs costs = given;
    for (const Figure& figure : kFigures)
        if (!(costs.*figure.field)) costs.*figure.field = otherwise.*figure.field;
    if (!costs.multiprocessors) costs.multiprocessors = otherwise.multiprocessors;
    return costs;
}

}  // namespace gpo::advice
