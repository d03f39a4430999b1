// graph_template_calls.hpp: the plain calls of class graph_template, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_GRAPH_TEMPLATE_CALLS_HPP
#define GPUORCH_CPP_GRAPH_TEMPLATE_CALLS_HPP

#include <cstdint>
#include <string>

#include "graph.hpp"
#include "object.hpp"

namespace gpuorch {

struct graph_template_calls : ref<gpo_template_t> {
    using ref::ref;

    /// During a recording: writes the node that was recorded last on `stream`; 0 if there is none, or if the stream
    /// waits for several nodes.
    std::uint32_t last_node(gpo_stream_t stream) const {
        return detail::got<std::uint32_t>(gpo_template_get_last_node, get(), stream);
    }

    /// During a recording: later work on `stream` comes after `node` instead of the stream's last nodes.
    void set_last_node(gpo_stream_t stream, std::uint32_t node) const {
        check(gpo_template_set_last_node(get(), stream, node));
    }

    /// Names a field of a node as a parameter.
    void parameter(const char* name, std::uint32_t node, std::uint32_t what, std::uint32_t index = 0) const {
        check(gpo_template_add_parameter(get(), name, node, what, index));
    }

    /// Finds a node by its label: that of gpo_launch, or the kernel's.
    std::uint32_t find_node(const char* label) const {
        return detail::got<std::uint32_t>(gpo_template_find_node, get(), label);
    }

    /// Returns the CUgraph behind the template.
    void* native() const { return detail::got<void*>(gpo_template_get_native, get()); }

    /// Removes all nodes and parameters, so that the template can be built anew.
    void clear() const { check(gpo_template_clear(get())); }

    /// Reads the size of a template, and the counters of its graphs.
    gpo_template_statistics statistics() const {
        return detail::got<gpo_template_statistics>(gpo_template_get_statistics, get());
    }

    /// Makes a graph of the template as it is now.
    template <class Options = graph_options>
    [[nodiscard]] graph create_graph(const Options& options = {}) const {
        return detail::made<graph>(gpo_graph_create, get(), detail::with_size<gpo_graph_options>(options));
    }

    /// Makes graphs for gpo_template_launch in advance, until there are `count`, and uploads them on `stream`.
    void prepare(std::uint32_t count, gpo_stream_t stream) const { check(gpo_template_prepare(get(), count, stream)); }

    /// Gives a kernel node the condition of a node that was made with GPO_COMPARE_KERNEL: argument `index` becomes the
    /// handle that gpo::set_condition takes (gpuorch/device/graph.cuh; 8 bytes, of type gpo::condition).
    void bind_condition(std::uint32_t kernel_node, std::uint32_t index, gpo_template_t conditional_in,
                        std::uint32_t conditional) const {
        check(gpo_template_bind_condition(get(), kernel_node, index, conditional_in, conditional));
    }

    /// Draws the template: its nodes with their labels, operations and parameters, the order between them, and bodies
    /// inside of their conditional nodes.
    std::string picture(std::uint32_t format = GPO_PICTURE_SVG) const {
        return detail::text(gpo_template_get_picture, get(), format);
    }
};

}  // namespace gpuorch

#endif
