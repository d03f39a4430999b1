// symmetric.hpp: memory of the same size on each device of a group (symmetric.h).
#ifndef GPUORCH_CPP_SYMMETRIC_HPP
#define GPUORCH_CPP_SYMMETRIC_HPP

#include <cstdint>

#include "symmetric_calls.hpp"

namespace gpuorch {

/// Symmetric memory as a kernel's argument: gpo::symmetric of gpuorch/device/peer.cuh.
struct symmetric_argument {
    std::uint64_t words[GPO_SYMMETRIC_HANDLE_BYTES / sizeof(std::uint64_t)];
};

/// From peers::allocate_symmetric.
class symmetric : public owner<symmetric_calls, gpo_symmetric_destroy> {
public:
    using owner::owner;

    /// For kernels of this rank.
    symmetric_argument argument(std::uint32_t rank) const {
        symmetric_argument out{};
        check(gpo_symmetric_get_device_handle(get(), rank, out.words, sizeof out.words, nullptr));
        return out;
    }
};

}  // namespace gpuorch

#endif
