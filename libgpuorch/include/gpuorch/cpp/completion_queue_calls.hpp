// completion_queue_calls.hpp: the plain calls of class completion_queue, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_COMPLETION_QUEUE_CALLS_HPP
#define GPUORCH_CPP_COMPLETION_QUEUE_CALLS_HPP

#include <chrono>
#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct completion_queue_calls : ref<gpo_cq_t> {
    using ref::ref;

    /// Waits until the queue has an entry or gpo_cq_wake is called.
    void wait() const { check(gpo_cq_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_cq_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }

    /// Makes one gpo_cq_wait, in progress or the next, return GPO_SUCCESS, and makes the descriptor readable.
    void wake() const { check(gpo_cq_wake(get())); }

    /// Reads the counts since the queue was created.
    gpo_cq_statistics statistics() const { return detail::got<gpo_cq_statistics>(gpo_cq_get_statistics, get()); }

    /// Returns a file descriptor that is readable when there may be something to drain, for epoll and other loops. Each
    /// call makes a duplicate, which the caller closes.
    std::int32_t descriptor() const { return detail::got<std::int32_t>(gpo_cq_get_fd, get()); }
};

}  // namespace gpuorch

#endif
