// runtime.hpp: the runtime (runtime.h).
#ifndef GPUORCH_CPP_RUNTIME_HPP
#define GPUORCH_CPP_RUNTIME_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "completion_queue.hpp"
#include "device.hpp"
#include "executor.hpp"
#include "timeline.hpp"

namespace gpuorch {

namespace detail {

/// Destroys a runtime when all of its work is done, however long the work takes.
inline gpo_status shut_down(gpo_runtime_t runtime) noexcept { return gpo_runtime_shutdown(runtime, -1); }

}  // namespace detail

/// The destructor waits for the GPU and for callbacks, without a bound: call `shutdown` first for a bound. In a
/// callback of this runtime the destructor does nothing (GPO_WOULD_DEADLOCK), and the runtime stays.
class runtime : public owner<ref<gpo_runtime_t>, detail::shut_down> {
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

    gpo_driver_info driver() const { return detail::got(gpo_runtime_get_driver, get()); }
    std::uint32_t device_count() const {
        std::uint32_t count = 0;
        check(gpo_runtime_get_device_count(get(), &count));
        return count;
    }
    gpo_statistics statistics() const { return detail::got(gpo_runtime_get_statistics, get()); }
    std::string metrics_text() const {
        return detail::text([&](char* buffer, std::size_t room, std::size_t* needed) {
            return gpo_runtime_get_metrics_text(get(), buffer, room, needed);
        });
    }

    template <class Options = device_options>
    [[nodiscard]] device open_device(const Options& options = {}) const {
        return detail::made<device>(gpo_device_open, get(), detail::with_size<gpo_device_options>(options));
    }
    template <class Options = timeline_options>
    [[nodiscard]] timeline create_timeline(const Options& options = {}) const {
        return detail::made<timeline>(gpo_timeline_create, get(), detail::with_size<gpo_timeline_options>(options));
    }
    template <class Options = cq_options>
    [[nodiscard]] completion_queue create_completion_queue(const Options& options = {}) const {
        return detail::made<completion_queue>(gpo_cq_create, get(), detail::with_size<gpo_cq_options>(options));
    }
    template <class Options = executor_options>
    [[nodiscard]] executor create_executor(const Options& options = {}) const {
        return detail::made<executor>(gpo_executor_create, get(), detail::with_size<gpo_executor_options>(options));
    }

    template <class Options = trace_options>
    void start_trace(const Options& options = {}) const {
        check(gpo_trace_start(get(), detail::with_size<gpo_trace_options>(options)));
    }
    /// A trace's file and its picture; an empty path: none.
    void start_trace(const std::string& path, const std::string& picture) const {
        trace_options options;
        options.path = path.empty() ? nullptr : path.c_str();
        options.picture = picture.empty() ? nullptr : picture.c_str();
        start_trace(options);
    }
    void stop_trace() const { check(gpo_trace_stop(get())); }
    std::string trace_summary() const {
        return detail::text([&](char* buffer, std::size_t room, std::size_t* needed) {
            return gpo_trace_get_summary(get(), buffer, room, needed);
        });
    }
};

}  // namespace gpuorch

#endif
