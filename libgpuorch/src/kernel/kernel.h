// Kernels: handles to functions of modules. A kernel keeps its module loaded.
#pragma once

#include "kernel/module.h"

namespace gpo {

class Kernel final : public Object {
public:
    /// `label`: the name by which the caller asked for the kernel.
    Kernel(Ref<Module> module, Function& function, const char* label)
        : Object(module->runtime(), Type::kernel, label), module_(std::move(module)), function_(function) {}

    Context& context() const noexcept { return module_->context(); }
    Module& module() const noexcept { return *module_; }
    Function& function() const noexcept { return function_; }
    CUfunction native() const noexcept { return function_.native; }
    const LaunchLimits& limits() const noexcept { return module_->limits(); }

    gpo_kernel_attributes attributes();
    /// Throws if there is no such parameter, or if the driver can't report parameters.
    const Function::Parameter& parameter(uint32_t index) const;
    void set_max_dynamic_shared(uint64_t bytes);
    /// The driver's present limit, which the host may have changed through the native function.
    uint32_t refresh_max_dynamic_shared();
    uint32_t blocks_per_multiprocessor(uint32_t threads, uint64_t dynamic_shared);
    /// Block size and number of blocks.
    std::pair<uint32_t, uint32_t> suggest(uint64_t dynamic_shared, uint32_t max_threads);

private:
    ~Kernel() override = default;
    int attribute(CUfunction_attribute which);
    const Ref<Module> module_;
    Function& function_;
};

template <>
struct TypeOf<Kernel> { static constexpr Type value = Type::kernel; };

}  // namespace gpo
