// symmetric_calls.hpp: the plain calls of class symmetric, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_SYMMETRIC_CALLS_HPP
#define GPUORCH_CPP_SYMMETRIC_CALLS_HPP

#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct symmetric_calls : ref<gpo_symmetric_t> {
    using ref::ref;

    /// Returns the address of a rank's memory, for copies, fills and kernels' arguments.
    std::uint64_t address(std::uint32_t rank) const {
        return detail::got<std::uint64_t>(gpo_symmetric_get_address, get(), rank);
    }

    /// Puts a rank's barriers back to their begin, as work of the stream.
    void reset_barriers(std::uint32_t rank, gpo_stream_t stream) const {
        check(gpo_symmetric_reset(get(), rank, stream));
    }

    /// Describes the memory.
    gpo_symmetric_info info() const { return detail::got<gpo_symmetric_info>(gpo_symmetric_get_info, get()); }
};

}  // namespace gpuorch

#endif
