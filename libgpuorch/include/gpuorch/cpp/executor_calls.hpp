// executor_calls.hpp: the plain calls of class executor, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_EXECUTOR_CALLS_HPP
#define GPUORCH_CPP_EXECUTOR_CALLS_HPP

#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct executor_calls : ref<gpo_executor_t> {
    using ref::ref;

    /// Runs callbacks on the calling thread until no accepted callback is pending, and returns how many it has run.
    std::uint64_t run() const { return detail::got<std::uint64_t>(gpo_executor_run, get()); }

    /// Runs the callbacks that are due, and returns how many it has run.
    std::uint64_t poll() const { return detail::got<std::uint64_t>(gpo_executor_poll, get()); }

    /// Reads the counts since the executor was created.
    gpo_executor_statistics statistics() const {
        return detail::got<gpo_executor_statistics>(gpo_executor_get_statistics, get());
    }

    /// Finishes a host call, from any thread, also before its function has returned.
    void finish_host_call(std::uint64_t call, gpo_status status, const char* message = nullptr) const {
        check(gpo_host_call_finish(get(), call, status, message));
    }

    /// Lets a callback that still waits for its time be called at once, with GPO_CANCELLED, as if it had been posted
    /// now.
    void cancel(std::uint64_t ticket) const { check(gpo_executor_cancel(get(), ticket)); }

    /// The time now, by the clock of gpo_executor_post_at: CLOCK_MONOTONIC, and in deterministic mode
    /// (gpo_runtime_options.schedule_seed) the virtual clock.
    std::uint64_t time() const { return detail::got<std::uint64_t>(gpo_executor_get_time, get()); }
};

}  // namespace gpuorch

#endif
