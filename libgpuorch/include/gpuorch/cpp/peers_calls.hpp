// peers_calls.hpp: the plain calls of class peers, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_PEERS_CALLS_HPP
#define GPUORCH_CPP_PEERS_CALLS_HPP

#include <cstdint>

#include "object.hpp"
#include "symmetric.hpp"

namespace gpuorch {

struct peers_calls : ref<gpo_peers_t> {
    using ref::ref;

    /// Describes a group.
    gpo_peers_info info() const { return detail::got<gpo_peers_info>(gpo_peers_get_info, get()); }

    /// Says how rank `from` reaches the memory of rank `to`.
    gpo_peer_properties link(std::uint32_t from, std::uint32_t to) const {
        return detail::got<gpo_peer_properties>(gpo_peers_get_link, get(), from, to);
    }

    /// Allocates `bytes` (1 to 2^48) of memory, zeroed, on each device of the group.
    template <class Options = symmetric_options>
    [[nodiscard]] symmetric allocate_symmetric(std::uint64_t bytes, const Options& options = {}) const {
        return detail::made<symmetric>(gpo_symmetric_allocate, get(), bytes,
                                       detail::with_size<gpo_symmetric_options>(options));
    }

    /// Breaks a group of several processes.
    void abort() const { check(gpo_peers_abort(get())); }
};

}  // namespace gpuorch

#endif
