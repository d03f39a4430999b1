// runtime.hpp: the runtime (runtime.h).
#ifndef GPUORCH_CPP_RUNTIME_HPP
#define GPUORCH_CPP_RUNTIME_HPP

#include <chrono>
#include <string>

#include "completion_queue.hpp"
#include "device.hpp"
#include "executor.hpp"
#include "runtime_calls.hpp"
#include "timeline.hpp"

namespace gpuorch {

namespace detail {

/// Destroys a runtime when all of its work is done, however long the work takes.
inline gpo_status shut_down(gpo_runtime_t runtime) noexcept { return gpo_runtime_shutdown(runtime, -1); }

}  // namespace detail

/// The destructor waits for the GPU and for callbacks, without a bound: call `shutdown` first for a bound. In a
/// callback of this runtime the destructor does nothing (GPO_WOULD_DEADLOCK), and the runtime stays.
class runtime : public owner<runtime_calls, detail::shut_down> {
public:
    using owner::owner;

    template <class Options = runtime_options>
    [[nodiscard]] static runtime create(const Options& options = {}) {
        return detail::made<runtime>(gpo_runtime_create, detail::with_size<gpo_runtime_options>(options));
    }
    /// False: something still runs after that time. The runtime takes no new work, and this can be called again.
    bool shutdown(std::chrono::nanoseconds time) {
        if (!detail::done(gpo_runtime_shutdown(get(), detail::timeout(time)), GPO_TIMEOUT)) return false;
        static_cast<void>(release());
        return true;
    }

    using owner::start_trace;
    /// A trace's file and its picture; an empty path: none.
    void start_trace(const std::string& path, const std::string& picture) const {
        trace_options options;
        options.path = path.empty() ? nullptr : path.c_str();
        options.picture = picture.empty() ? nullptr : picture.c_str();
        start_trace(options);
    }
};

}  // namespace gpuorch

#endif
