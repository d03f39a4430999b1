// timeline.hpp: timelines (timeline.h).
#ifndef GPUORCH_CPP_TIMELINE_HPP
#define GPUORCH_CPP_TIMELINE_HPP

#include <chrono>
#include <cstdint>
#include <utility>

#include "callable.hpp"
#include "object.hpp"

namespace gpuorch {

class timeline : public owner<ref<gpo_timeline_t>, gpo_timeline_destroy> {
public:
    using owner::owner;

    void signal(std::uint64_t value) const { check(gpo_timeline_signal(get(), value)); }
    void fail(gpo_status status, const char* message = nullptr) const {
        check(gpo_timeline_fail(get(), status, message));
    }
    std::uint64_t value() const {
        std::uint64_t value = 0;
        check(gpo_timeline_get_value(get(), &value));
        return value;
    }
    void wait(std::uint64_t value) const { check(gpo_timeline_wait(get(), value, -1)); }
    /// False: the time has passed first.
    bool wait(std::uint64_t value, std::chrono::nanoseconds time) const {
        return detail::done(gpo_timeline_wait(get(), value, detail::timeout(time)), GPO_TIMEOUT);
    }

    void notify(std::uint64_t value, gpo_cq_t queue, std::uint64_t user_data) const {
        check(gpo_timeline_notify(get(), value, queue, user_data));
    }
    /// See stream_ref::then.
    template <class Callable>
    void then(std::uint64_t value, gpo_executor_t executor, Callable&& callable) const {
        check(detail::hand_over(std::forward<Callable>(callable), gpo_timeline_then, get(), value, executor));
    }
};

}  // namespace gpuorch

#endif
