// pool_calls.hpp: the plain calls of class pool, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_POOL_CALLS_HPP
#define GPUORCH_CPP_POOL_CALLS_HPP

#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct pool_calls : ref<gpo_pool_t> {
    using ref::ref;

    /// Gives unused memory back to the system until at most `keep_bytes` are reserved.
    void trim(std::uint64_t keep_bytes) const { check(gpo_pool_trim(get(), keep_bytes)); }

    /// Reads the pool's figures.
    gpo_memory_statistics statistics() const {
        return detail::got<gpo_memory_statistics>(gpo_pool_get_statistics, get());
    }
};

}  // namespace gpuorch

#endif
