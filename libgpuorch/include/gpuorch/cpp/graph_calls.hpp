// graph_calls.hpp: the plain calls of class graph, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_GRAPH_CALLS_HPP
#define GPUORCH_CPP_GRAPH_CALLS_HPP

#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct graph_calls : ref<gpo_graph_t> {
    using ref::ref;

    /// Uploads the graph in stream order, so that the next launch needn't.
    void upload(gpo_stream_t stream) const { check(gpo_graph_upload(get(), stream)); }

    /// Brings the graph to the template's newest recording: in place if its shape is the same, else by instantiating it
    /// anew.
    gpo_graph_update_report update() const { return detail::got<gpo_graph_update_report>(gpo_graph_update, get()); }

    /// Returns the CUgraphExec behind the graph, with all values that were set in it.
    void* native() const { return detail::got<void*>(gpo_graph_get_native, get()); }

    struct loop_values {
        std::uint64_t iterations;
        std::uint32_t limited;
    };
    /// How often the body of a while ran in the newest launch that is done, and whether `max_iterations` ended it.
    loop_values loop(gpo_template_t conditional_in, std::uint32_t node) const {
        loop_values values{};
        check(gpo_graph_get_loop(get(), conditional_in, node, &values.iterations, &values.limited));
        return values;
    }

    struct device_handle_values {
        std::uint64_t native;
        std::uint64_t status;
    };
    /// Returns the handle by which kernels launch the graph: `native` names the graph, and `status` is the address of a
    /// word that gets the last failure of such a launch.
    device_handle_values device_handle() const {
        device_handle_values values{};
        check(gpo_graph_get_device_handle(get(), &values.native, &values.status));
        return values;
    }

    /// Reads that word: the last failure of a device launch by this handle since the last call; GPO_SUCCESS if there
    /// was none.
    gpo_status device_status() const { return detail::got<gpo_status>(gpo_graph_get_device_status, get()); }
};

}  // namespace gpuorch

#endif
