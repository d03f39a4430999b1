// executor.hpp: executors (executor.h).
#ifndef GPUORCH_CPP_EXECUTOR_HPP
#define GPUORCH_CPP_EXECUTOR_HPP

#include <chrono>
#include <cstdint>

#include "object.hpp"

namespace gpuorch {

class executor : public owner<ref<gpo_executor_t>, gpo_executor_destroy> {
public:
    using owner::owner;

    /// Runs callbacks on this thread until none is pending, and returns how many it has run.
    std::uint64_t run() const {
        std::uint64_t count = 0;
        check(gpo_executor_run(get(), &count));
        return count;
    }
    /// False: callbacks are still pending.
    bool run_for(std::chrono::nanoseconds time) const {
        return detail::done(gpo_executor_run_for(get(), detail::timeout(time), nullptr), GPO_TIMEOUT);
    }
    std::uint64_t poll() const {
        std::uint64_t count = 0;
        check(gpo_executor_poll(get(), &count));
        return count;
    }
    gpo_executor_statistics statistics() const { return detail::got(gpo_executor_get_statistics, get()); }
};

}  // namespace gpuorch

#endif
