// device_calls.hpp: the plain calls of class device, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_DEVICE_CALLS_HPP
#define GPUORCH_CPP_DEVICE_CALLS_HPP

#include <chrono>
#include <cstdint>

#include "arena.hpp"
#include "event.hpp"
#include "graph_template.hpp"
#include "module.hpp"
#include "object.hpp"
#include "pool.hpp"
#include "queue.hpp"
#include "stream.hpp"
#include "stream_pool.hpp"

namespace gpuorch {

struct device_calls : ref<gpo_device_t> {
    using ref::ref;

    /// Describes an open device, as gpo_runtime_describe_device does.
    gpo_device_properties properties() const {
        return detail::got<gpo_device_properties>(gpo_device_get_properties, get());
    }

    /// Waits until all work that was put on the device's streams before the call is done, and until memory that was
    /// freed behind this work is free.
    void wait() const { check(gpo_device_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_device_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }

    struct native_values {
        void* context;
        std::int32_t ordinal;
    };
    /// Returns the CUcontext and the CUdevice behind a handle, for use with other libraries.
    native_values native() const {
        native_values values{};
        check(gpo_device_get_native(get(), &values.context, &values.ordinal));
        return values;
    }

    struct memory_values {
        std::uint64_t free_bytes;
        std::uint64_t total_bytes;
    };
    /// Returns the free and the total bytes of device memory, as the driver sees them now.
    memory_values memory() const {
        memory_values values{};
        check(gpo_device_get_memory(get(), &values.free_bytes, &values.total_bytes));
        return values;
    }

    /// Lets kernels and copies on `device` access the memory of `peer`.
    void enable_peer(gpo_device_t peer) const { check(gpo_device_enable_peer(get(), peer)); }

    /// Ends the access of kernels and copies on `device` to the memory of `peer`.
    void disable_peer(gpo_device_t peer) const { check(gpo_device_disable_peer(get(), peer)); }

    /// Reads the value of `limit` (GPO_LIMIT_*) that is in force now.
    std::uint64_t limit(std::uint32_t limit) const {
        return detail::got<std::uint64_t>(gpo_device_get_limit, get(), limit);
    }

    /// Sets a limit.
    void set_limit(std::uint32_t limit, std::uint64_t value) const { check(gpo_device_set_limit(get(), limit, value)); }

    /// Creates an event, which is not recorded yet.
    template <class Options = event_options>
    [[nodiscard]] event create_event(const Options& options = {}) const {
        return detail::made<event>(gpo_event_create, get(), detail::with_size<gpo_event_options>(options));
    }

    /// Creates a stream.
    template <class Options = stream_options>
    [[nodiscard]] stream create_stream(const Options& options = {}) const {
        return detail::made<stream>(gpo_stream_create, get(), detail::with_size<gpo_stream_options>(options));
    }

    /// Makes a handle for a CUstream of the caller or of another library.
    template <class Options = stream_options>
    [[nodiscard]] stream wrap_stream(void* native, const Options& options = {}) const {
        return detail::made<stream>(gpo_stream_wrap, get(), native, detail::with_size<gpo_stream_options>(options));
    }

    struct priority_range_values {
        std::int32_t least;
        std::int32_t greatest;
    };
    /// Returns the least and the greatest priority that streams of the device can have.
    priority_range_values priority_range() const {
        priority_range_values values{};
        check(gpo_device_get_priority_range(get(), &values.least, &values.greatest));
        return values;
    }

    /// Creates a pool and all of its streams: `streams` for each of `priorities`.
    template <class Options = stream_pool_options>
    [[nodiscard]] stream_pool create_stream_pool(const Options& options = {}) const {
        return detail::made<stream_pool>(gpo_stream_pool_create, get(),
                                         detail::with_size<gpo_stream_pool_options>(options));
    }

    /// Creates an arena.
    template <class Options = arena_options>
    [[nodiscard]] arena create_arena(const Options& options = {}) const {
        return detail::made<arena>(gpo_arena_create, get(), detail::with_size<gpo_arena_options>(options));
    }

    /// Pins memory of the caller, to make copies from and to it asynchronous.
    void register_host(void* memory, std::uint64_t bytes, std::uint32_t flags = 0) const {
        check(gpo_host_register(get(), memory, bytes, flags));
    }

    /// Ends a registration.
    void unregister_host(void* memory) const { check(gpo_host_unregister(get(), memory)); }

    /// Says what kind of memory `address` (not 0) points to.
    gpo_memory_info describe_memory(std::uint64_t address) const {
        return detail::got<gpo_memory_info>(gpo_memory_describe, get(), address);
    }

    /// Creates a pool of device memory.
    template <class Options = pool_options>
    [[nodiscard]] pool create_pool(const Options& options = {}) const {
        return detail::made<pool>(gpo_pool_create, get(), detail::with_size<gpo_pool_options>(options));
    }

    /// Loads the module of built-in kernels, which need no compiler.
    [[nodiscard]] module builtin() const { return detail::made<module>(gpo_module_load_builtin, get()); }

    /// Reads the metrics of a device.
    gpo_device_metrics metrics() const { return detail::got<gpo_device_metrics>(gpo_device_get_metrics, get()); }

    /// Creates an empty template for graphs on `device`.
    template <class Options = template_options>
    [[nodiscard]] graph_template create_graph_template(const Options& options = {}) const {
        return detail::made<graph_template>(gpo_template_create, get(),
                                            detail::with_size<gpo_template_options>(options));
    }

    /// Makes a template of a CUgraph of the caller or of another library. The CUgraph is copied, and stays the
    /// caller's.
    template <class Options = template_options>
    [[nodiscard]] graph_template import_graph(void* native, const Options& options = {}) const {
        return detail::made<graph_template>(gpo_template_import, get(), native,
                                            detail::with_size<gpo_template_options>(options));
    }

    /// Creates a queue.
    template <class Options = queue_options>
    [[nodiscard]] queue create_queue(const Options& options) const {
        return detail::made<queue>(gpo_queue_create, get(), detail::with_size<gpo_queue_options>(options));
    }

    /// Returns what things cost on a device: an H200's costs, with the multiprocessors and the rates of memory and
    /// arithmetic of this device. With GPO_COSTS_PROBE launches, graphs and copies are measured, which serialises the
    /// device and blocks on the GPU.
    gpo_costs costs(std::uint32_t flags = 0) const {
        return detail::got<gpo_costs>(gpo_device_get_costs, get(), flags);
    }
};

}  // namespace gpuorch

#endif
