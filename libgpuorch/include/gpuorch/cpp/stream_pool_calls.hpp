// stream_pool_calls.hpp: the plain calls of class stream_pool, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_STREAM_POOL_CALLS_HPP
#define GPUORCH_CPP_STREAM_POOL_CALLS_HPP

#include "object.hpp"

namespace gpuorch {

struct stream_pool_calls : ref<gpo_stream_pool_t> {
    using ref::ref;
};

}  // namespace gpuorch

#endif
