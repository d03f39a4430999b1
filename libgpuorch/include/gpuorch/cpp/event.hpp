// event.hpp: events (event.h).
#ifndef GPUORCH_CPP_EVENT_HPP
#define GPUORCH_CPP_EVENT_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "callable.hpp"
#include "event_calls.hpp"

namespace gpuorch {

class event : public owner<event_calls, gpo_event_destroy> {
public:
    using owner::owner;

    /// GPU time from this event's recording to the recording of `end`; empty while either is pending.
    std::optional<std::chrono::nanoseconds> elapsed(gpo_event_t end) const {
        std::int64_t time = 0;
        if (!detail::done(gpo_event_get_elapsed(get(), end, &time), GPO_NOT_READY)) return std::nullopt;
        return std::chrono::nanoseconds(time);
    }

    /// For another process to import (device::import_event); the event needs GPO_EVENT_INTERPROCESS.
    exported_bytes exported() const {
        exported_bytes bytes{};
        check(gpo_event_export(get(), bytes.data(), bytes.size(), nullptr));
        return bytes;
    }

    /// See stream_ref::then.
    template <class Callable>
    void then(gpo_executor_t executor, Callable&& callable) const {
        check(detail::hand_over(std::forward<Callable>(callable), gpo_event_then, get(), executor));
    }
};

}  // namespace gpuorch

#endif
