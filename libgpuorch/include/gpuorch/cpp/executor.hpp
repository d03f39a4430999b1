// executor.hpp: executors (executor.h).
#ifndef GPUORCH_CPP_EXECUTOR_HPP
#define GPUORCH_CPP_EXECUTOR_HPP

#include <chrono>

#include "executor_calls.hpp"

namespace gpuorch {

class executor : public owner<executor_calls, gpo_executor_destroy> {
public:
    using owner::owner;

    /// False: callbacks are still pending.
    bool run_for(std::chrono::nanoseconds time) const {
        return detail::done(gpo_executor_run_for(get(), detail::timeout(time), nullptr), GPO_TIMEOUT);
    }
};

}  // namespace gpuorch

#endif
