// arena_calls.hpp: the plain calls of class arena, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_ARENA_CALLS_HPP
#define GPUORCH_CPP_ARENA_CALLS_HPP

#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct arena_calls : ref<gpo_arena_t> {
    using ref::ref;

    /// Gives empty slabs back to the driver until at most `keep_bytes` are reserved.
    void trim(std::uint64_t keep_bytes) const { check(gpo_arena_trim(get(), keep_bytes)); }

    /// Reads the arena's figures.
    gpo_memory_statistics statistics() const {
        return detail::got<gpo_memory_statistics>(gpo_arena_get_statistics, get());
    }
};

}  // namespace gpuorch

#endif
