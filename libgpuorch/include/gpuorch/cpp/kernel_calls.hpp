// kernel_calls.hpp: the plain calls of class kernel, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_KERNEL_CALLS_HPP
#define GPUORCH_CPP_KERNEL_CALLS_HPP

#include <cstdint>
#include <string>

#include "object.hpp"

namespace gpuorch {

struct kernel_calls : ref<gpo_kernel_t> {
    using ref::ref;

    /// Returns what the driver says of a kernel.
    gpo_kernel_attributes attributes() const {
        return detail::got<gpo_kernel_attributes>(gpo_kernel_get_attributes, get());
    }

    /// Returns the function's name in the image.
    std::string name() const { return detail::text(gpo_kernel_get_name, get()); }

    /// Returns the CUfunction behind the handle.
    void* native() const { return detail::got<void*>(gpo_kernel_get_native, get()); }

    /// Allows launches of this kernel to use up to `bytes` of dynamic shared memory.
    void set_max_dynamic_shared(std::uint64_t bytes) const { check(gpo_kernel_set_max_dynamic_shared(get(), bytes)); }

    /// Returns how many blocks of `threads` threads, each with `dynamic_shared_bytes`, fit on a multiprocessor at once.
    std::uint32_t occupancy(std::uint32_t threads, std::uint64_t dynamic_shared_bytes) const {
        return detail::got<std::uint32_t>(gpo_kernel_get_occupancy, get(), threads, dynamic_shared_bytes);
    }

    struct suggest_shape_values {
        std::uint32_t threads;
        std::uint32_t blocks;
    };
    /// Suggests a launch shape: `threads` gets the block size with the best occupancy, at most `max_threads` (0: no
    /// bound), and `blocks` the fewest blocks that fill the device.
    suggest_shape_values suggest_shape(std::uint64_t dynamic_shared_bytes, std::uint32_t max_threads) const {
        suggest_shape_values values{};
        check(gpo_kernel_suggest_shape(get(), dynamic_shared_bytes, max_threads, &values.threads, &values.blocks));
        return values;
    }

    struct parameter_values {
        std::uint64_t offset;
        std::uint64_t bytes;
    };
    /// Returns the offset and the size, both in bytes, of parameter `index` (from 0) in the kernel's parameters.
    parameter_values parameter(std::uint32_t index) const {
        parameter_values values{};
        check(gpo_kernel_get_parameter(get(), index, &values.offset, &values.bytes));
        return values;
    }
};

}  // namespace gpuorch

#endif
