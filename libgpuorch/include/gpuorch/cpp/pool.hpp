// pool.hpp: pools of device memory (memory.h).
#ifndef GPUORCH_CPP_POOL_HPP
#define GPUORCH_CPP_POOL_HPP

#include <cstdint>

#include "memory.hpp"
#include "pool_calls.hpp"

namespace gpuorch {

/// A pool of device memory in stream order. Its allocations have no owner: `free` frees them.
class pool : public owner<pool_calls, gpo_pool_destroy> {
public:
    using owner::owner;

    template <class T>
    [[nodiscard]] device_ptr<T> allocate(gpo_stream_t stream, std::uint64_t count) const {
        std::uint64_t address = 0;
        check(gpo_pool_allocate(get(), stream, detail::bytes_of<T>(count), &address));
        return device_ptr<T>(address);
    }
    template <class T>
    void free(gpo_stream_t stream, device_ptr<T> piece) const {
        check(gpo_pool_free(get(), stream, piece.address()));
    }
};

}  // namespace gpuorch

#endif
