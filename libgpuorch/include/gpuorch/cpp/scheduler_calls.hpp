// scheduler_calls.hpp: the plain calls of class scheduler, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_SCHEDULER_CALLS_HPP
#define GPUORCH_CPP_SCHEDULER_CALLS_HPP

#include <chrono>
#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct scheduler_calls : ref<gpo_scheduler_t> {
    using ref::ref;

    /// Begins a run.
    void start() const { check(gpo_scheduler_start(get())); }

    /// Asks the run to end when all earlier posted or pushed tasks are done, with the tasks that they push, and waits
    /// for the end. Throws GPO_CANCELLED if the run has ended with tasks left. If the time passes first, the run still
    /// drains.
    void drain() const { check(gpo_scheduler_drain(get(), -1)); }
    /// False: the time has passed first.
    bool drain(std::chrono::nanoseconds time) const {
        return detail::done(gpo_scheduler_drain(get(), detail::timeout(time)), GPO_TIMEOUT);
    }

    /// Asks the run to end, and waits for the end: handlers that have begun return, and no other begins.
    void stop() const { check(gpo_scheduler_stop(get(), -1)); }
    /// False: the time has passed first.
    bool stop(std::chrono::nanoseconds time) const {
        return detail::done(gpo_scheduler_stop(get(), detail::timeout(time)), GPO_TIMEOUT);
    }

    /// Waits until the run has ended, without asking it to.
    void wait() const { check(gpo_scheduler_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_scheduler_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }

    /// Describes a scheduler.
    gpo_scheduler_info info() const { return detail::got<gpo_scheduler_info>(gpo_scheduler_get_info, get()); }

    /// Returns what was done by the handler of a number.
    gpo_handler_info handler(std::uint32_t handler) const {
        return detail::got<gpo_handler_info>(gpo_scheduler_get_handler, get(), handler);
    }
};

}  // namespace gpuorch

#endif
