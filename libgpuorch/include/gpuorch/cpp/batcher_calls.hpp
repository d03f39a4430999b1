// batcher_calls.hpp: the plain calls of class batcher, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_BATCHER_CALLS_HPP
#define GPUORCH_CPP_BATCHER_CALLS_HPP

#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct batcher_calls : ref<gpo_batcher_t> {
    using ref::ref;

    /// Adds a key, and writes its number.
    template <class Options = batcher_key_options>
    std::uint32_t add_key(const Options& options) const {
        return detail::got<std::uint32_t>(gpo_batcher_add_key, get(),
                                          detail::with_size<gpo_batcher_key_options>(options));
    }

    /// Takes a waiting request out of the line.
    void cancel(std::uint64_t ticket) const { check(gpo_batcher_cancel(get(), ticket)); }

    /// Sets the weight of a flow, 1 to 2^16, in all keys, from its next turn on.
    void set_flow(std::uint64_t flow, std::uint32_t weight) const { check(gpo_batcher_set_flow(get(), flow, weight)); }

    /// Describes a batcher, all of its keys together.
    gpo_batcher_info info() const { return detail::got<gpo_batcher_info>(gpo_batcher_get_info, get()); }

    /// Describes a key.
    gpo_batcher_info key_info(std::uint32_t key) const {
        return detail::got<gpo_batcher_info>(gpo_batcher_get_key_info, get(), key);
    }

    /// Describes a flow.
    gpo_batcher_flow_info flow_info(std::uint64_t flow) const {
        return detail::got<gpo_batcher_flow_info>(gpo_batcher_get_flow_info, get(), flow);
    }
};

}  // namespace gpuorch

#endif
