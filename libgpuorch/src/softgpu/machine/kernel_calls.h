// Kernels' calls of the device runtime: conditions of their own graph, and launches of graphs and kernels.
#pragma once

#include "softgpu/blocks/launch.h"

namespace gpo::softgpu {

struct Machine;

class KernelCalls final : public RuntimeCalls {
public:
    explicit KernelCalls(Machine& machine) noexcept : machine_(machine) {}
    void set_condition(Command& caller, uint64_t handle, uint32_t value) noexcept override;
    int launch_graph(Command& caller, uint64_t graph, uint32_t how) noexcept override;
    uint64_t current_graph(Command& caller) noexcept override;
    int launch_kernel(const KernelLaunch& caller, uint64_t block, const gpo_soft_launch&) noexcept override;

private:
    Machine& machine_;
};

}  // namespace gpo::softgpu
