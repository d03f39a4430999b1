// What kernels ask of the graph that they are in: conditions, and launches of other graphs.
#pragma once

#include "softgpu/blocks/launch.h"

namespace gpo::softgpu {

struct Machine;

class KernelCalls final : public GraphCalls {
public:
    explicit KernelCalls(Machine& machine) noexcept : machine_(machine) {}
    void set_condition(Command& caller, uint64_t handle, uint32_t value) noexcept override;
    int launch(Command& caller, uint64_t graph, uint32_t how) noexcept override;
    uint64_t current(Command& caller) noexcept override;

private:
    Machine& machine_;
};

}  // namespace gpo::softgpu
