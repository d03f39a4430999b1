// executor.hpp: executors (executor.h).
#ifndef GPUORCH_CPP_EXECUTOR_HPP
#define GPUORCH_CPP_EXECUTOR_HPP

#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "callable.hpp"
#include "executor_calls.hpp"

namespace gpuorch {

namespace detail {

/// The forms of hand_over, and one without parameters, which is called after success only.
template <class Callable>
auto posted(Callable&& callable) {
    using Own = std::decay_t<Callable>;
    if constexpr (std::is_invocable_v<Own>) {
        return [own = Own(std::forward<Callable>(callable))](gpo_status status) mutable {
            if (status == GPO_SUCCESS) std::move(own)();
        };
    } else {
        return Own(std::forward<Callable>(callable));
    }
}

}  // namespace detail

class executor : public owner<executor_calls, gpo_executor_destroy> {
public:
    using owner::owner;

    /// False: callbacks are still pending.
    bool run_for(std::chrono::nanoseconds time) const {
        return detail::done(gpo_executor_run_for(get(), detail::timeout(time), nullptr), GPO_TIMEOUT);
    }

    /// Calls the callable as soon as a thread is free: `callable()`, or the forms of stream_ref::then, whose rules hold
    /// here, too.
    template <class Callable>
    void post(Callable&& callable) const {
        check(detail::hand_over(detail::posted(std::forward<Callable>(callable)), gpo_executor_post, get()));
    }
    /// False: the executor has no room, and the callable isn't called. A callable that was moved in is lost.
    template <class Callable>
    [[nodiscard]] bool try_post(Callable&& callable) const {
        return detail::done(
            detail::hand_over(detail::posted(std::forward<Callable>(callable)), gpo_executor_post, get()),
            GPO_WOULD_BLOCK);
    }
    /// Calls the callable when it is `time`, and returns the ticket for cancel(). `callable()` isn't called if the
    /// callback was cancelled; the other forms get GPO_CANCELLED.
    template <class Callable>
    std::uint64_t post_at(std::chrono::steady_clock::time_point time, Callable&& callable) const {
        const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
        std::uint64_t ticket = 0;
        const auto then = [&](gpo_executor_t on, gpo_completion_fn callback, void* user) {
            const std::uint64_t time_ns = since < 0 ? 0 : static_cast<std::uint64_t>(since);
            return gpo_executor_post_at(on, time_ns, callback, user, &ticket);
        };
        check(detail::hand_over(detail::posted(std::forward<Callable>(callable)), then, get()));
        return ticket;
    }
};

}  // namespace gpuorch

#endif
