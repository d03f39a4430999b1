// runtime_calls.hpp: the plain calls of class runtime, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_RUNTIME_CALLS_HPP
#define GPUORCH_CPP_RUNTIME_CALLS_HPP

#include <cstdint>
#include <string>

#include "admission.hpp"
#include "completion_queue.hpp"
#include "device.hpp"
#include "executor.hpp"
#include "object.hpp"
#include "timeline.hpp"

namespace gpuorch {

struct runtime_calls : ref<gpo_runtime_t> {
    using ref::ref;

    /// Says which driver the runtime uses, and loads the driver if that has not happened yet.
    gpo_driver_info driver() const { return detail::got<gpo_driver_info>(gpo_runtime_get_driver, get()); }

    /// Reads the counters.
    gpo_statistics statistics() const { return detail::got<gpo_statistics>(gpo_runtime_get_statistics, get()); }

    /// Says how many devices the runtime shows.
    std::uint32_t device_count() const { return detail::got<std::uint32_t>(gpo_runtime_get_device_count, get()); }

    /// Describes device `ordinal` (from 0), which need not be open.
    gpo_device_properties describe_device(std::uint32_t ordinal) const {
        return detail::got<gpo_device_properties>(gpo_runtime_describe_device, get(), ordinal);
    }

    /// Describes how device `from` reaches device `to`.
    gpo_peer_properties describe_peer(std::uint32_t from, std::uint32_t to) const {
        return detail::got<gpo_peer_properties>(gpo_runtime_describe_peer, get(), from, to);
    }

    /// Opens a device.
    template <class Options = device_options>
    [[nodiscard]] device open_device(const Options& options = {}) const {
        return detail::made<device>(gpo_device_open, get(), detail::with_size<gpo_device_options>(options));
    }

    /// Creates a timeline.
    template <class Options = timeline_options>
    [[nodiscard]] timeline create_timeline(const Options& options = {}) const {
        return detail::made<timeline>(gpo_timeline_create, get(), detail::with_size<gpo_timeline_options>(options));
    }

    /// Creates a queue of a runtime, for work of all its devices.
    template <class Options = cq_options>
    [[nodiscard]] completion_queue create_completion_queue(const Options& options = {}) const {
        return detail::made<completion_queue>(gpo_cq_create, get(), detail::with_size<gpo_cq_options>(options));
    }

    /// Reads the metrics of a runtime.
    gpo_metrics metrics() const { return detail::got<gpo_metrics>(gpo_runtime_get_metrics, get()); }

    /// Returns the statistics and metrics of the runtime, and the metrics of every device on which an object was
    /// opened, in Prometheus' text format 0.0.4.
    std::string metrics_text() const { return detail::text(gpo_runtime_get_metrics_text, get()); }

    /// Creates an executor and starts its threads.
    template <class Options = executor_options>
    [[nodiscard]] executor create_executor(const Options& options = {}) const {
        return detail::made<executor>(gpo_executor_create, get(), detail::with_size<gpo_executor_options>(options));
    }

    /// Lets the runtime's log function be called on `executor` from now on, in the order of the lines.
    void set_log_executor(gpo_executor_t executor) const { check(gpo_runtime_set_log_executor(get(), executor)); }

    /// Starts a trace of all devices of a runtime.
    template <class Options = trace_options>
    void start_trace(const Options& options = {}) const {
        check(gpo_trace_start(get(), detail::with_size<gpo_trace_options>(options)));
    }

    /// Stops the trace: writes what was recorded, and closes the files.
    void stop_trace() const { check(gpo_trace_stop(get())); }

    /// Describes the running trace, or the last one if none is running.
    gpo_trace_info trace_info() const { return detail::got<gpo_trace_info>(gpo_trace_get_info, get()); }

    /// Returns a few lines of text about the running trace, as far as it has come, or about the last one.
    std::string trace_summary() const { return detail::text(gpo_trace_get_summary, get()); }

    /// Creates an admission.
    template <class Options = admission_options>
    [[nodiscard]] admission create_admission(const Options& options = {}) const {
        return detail::made<admission>(gpo_admission_create, get(), detail::with_size<gpo_admission_options>(options));
    }
};

}  // namespace gpuorch

#endif
