// queue_calls.hpp: the plain calls of class queue, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_QUEUE_CALLS_HPP
#define GPUORCH_CPP_QUEUE_CALLS_HPP

#include <chrono>
#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct queue_calls : ref<gpo_queue_t> {
    using ref::ref;

    /// Makes a ring empty and open, or has a range begin anew although workers of the previous launch left it early; as
    /// work of the stream.
    void restart(gpo_stream_t stream) const { check(gpo_queue_reset(get(), stream)); }

    /// Closes a ring or host ring: see "The end of a ring" and "Host rings".
    void close() const { check(gpo_queue_close(get())); }

    /// Aborts a ring or host ring, also a closed one.
    void abort() const { check(gpo_queue_abort(get())); }

    /// Describes a queue.
    gpo_queue_info info() const { return detail::got<gpo_queue_info>(gpo_queue_get_info, get()); }

    /// Sets up a tenant.
    template <class Options = tenant_options>
    void set_tenant(std::uint32_t tenant, const Options& options) const {
        check(gpo_queue_set_tenant(get(), tenant, detail::with_size<gpo_tenant_options>(options)));
    }

    /// Waits until an answer of the tenant can be taken. Throws GPO_END if none is left and none will come.
    void wait(std::uint32_t tenant) const { check(gpo_queue_wait(get(), tenant, -1)); }
    /// False: the time has passed first.
    bool wait(std::uint32_t tenant, std::chrono::nanoseconds time) const {
        return detail::done(gpo_queue_wait(get(), tenant, detail::timeout(time)), GPO_TIMEOUT);
    }
};

}  // namespace gpuorch

#endif
