// buckets_calls.hpp: the plain calls of class buckets, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_BUCKETS_CALLS_HPP
#define GPUORCH_CPP_BUCKETS_CALLS_HPP

#include "object.hpp"

namespace gpuorch {

struct buckets_calls : ref<gpo_buckets_t> {
    using ref::ref;

    /// Reads the counters of the buckets and their requests.
    gpo_buckets_statistics statistics() const {
        return detail::got<gpo_buckets_statistics>(gpo_buckets_get_statistics, get());
    }
};

}  // namespace gpuorch

#endif
