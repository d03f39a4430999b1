// event_calls.hpp: the plain calls of class event, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_EVENT_CALLS_HPP
#define GPUORCH_CPP_EVENT_CALLS_HPP

#include <chrono>
#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct event_calls : ref<gpo_event_t> {
    using ref::ref;

    /// Records the event behind all work that was put on the stream before the call.
    void record(gpo_stream_t stream) const { check(gpo_event_record(get(), stream)); }

    /// Says whether the newest recording is complete.
    bool query() const { return detail::done(gpo_event_query(get()), GPO_NOT_READY); }

    /// Waits until the newest recording is complete.
    void wait() const { check(gpo_event_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_event_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }

    /// Puts an entry into `cq` (completion.h) when the newest recording is complete, at once if the event was never
    /// recorded.
    void notify(gpo_cq_t cq, std::uint64_t user_data) const { check(gpo_event_notify(get(), cq, user_data)); }

    /// Returns the CUevent behind the handle.
    void* native() const { return detail::got<void*>(gpo_event_get_native, get()); }
};

}  // namespace gpuorch

#endif
