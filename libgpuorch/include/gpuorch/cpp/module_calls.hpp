// module_calls.hpp: the plain calls of class module, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_MODULE_CALLS_HPP
#define GPUORCH_CPP_MODULE_CALLS_HPP

#include "kernel.hpp"
#include "object.hpp"

namespace gpuorch {

struct module_calls : ref<gpo_module_t> {
    using ref::ref;

    /// Makes a handle for a kernel of the module.
    [[nodiscard]] gpuorch::kernel kernel(const char* name) const {
        return detail::made<gpuorch::kernel>(gpo_module_get_kernel, get(), name);
    }
};

}  // namespace gpuorch

#endif
