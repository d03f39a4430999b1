// event.hpp: events (event.h).
#ifndef GPUORCH_CPP_EVENT_HPP
#define GPUORCH_CPP_EVENT_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "callable.hpp"
#include "object.hpp"

namespace gpuorch {

class event : public owner<ref<gpo_event_t>, gpo_event_destroy> {
public:
    using owner::owner;

    void record(gpo_stream_t stream) const { check(gpo_event_record(get(), stream)); }
    /// Whether the last recording has been reached.
    bool query() const { return detail::done(gpo_event_query(get()), GPO_NOT_READY); }
    void wait() const { check(gpo_event_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_event_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }
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

    void notify(gpo_cq_t queue, std::uint64_t user_data) const { check(gpo_event_notify(get(), queue, user_data)); }
    /// See stream_ref::then.
    template <class Callable>
    void then(gpo_executor_t executor, Callable&& callable) const {
        check(detail::hand_over(std::forward<Callable>(callable), gpo_event_then, get(), executor));
    }
};

}  // namespace gpuorch

#endif
