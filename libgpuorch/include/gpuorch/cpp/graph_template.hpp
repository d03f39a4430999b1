// graph_template.hpp: graph templates and their recording (template.h).
#ifndef GPUORCH_CPP_GRAPH_TEMPLATE_HPP
#define GPUORCH_CPP_GRAPH_TEMPLATE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "graph.hpp"
#include "graph_template_calls.hpp"

namespace gpuorch {

/// Argument of graph_template::record's callable: names parameters of the recorded nodes.
class recording {
public:
    recording(gpo_template_t recorded, gpo_stream_t stream) noexcept : template_(recorded), stream_(stream) {}

    /// The node that was recorded last on the stream that the recording began on, or on another.
    std::uint32_t last_node() const { return last_node(stream_); }
    std::uint32_t last_node(gpo_stream_t stream) const {
        std::uint32_t node = 0;
        check(gpo_template_get_last_node(template_, stream, &node));
        return node;
    }
    /// Later work on the stream comes after this node.
    void set_last_node(std::uint32_t node) const { set_last_node(stream_, node); }
    void set_last_node(gpo_stream_t stream, std::uint32_t node) const {
        check(gpo_template_set_last_node(template_, stream, node));
    }
    /// Names something of the last node (GPO_PARAMETER_*).
    void parameter(const char* name, std::uint32_t what, std::uint32_t index = 0) const {
        check(gpo_template_add_parameter(template_, name, last_node(), what, index));
    }
    /// An argument of the last node, a kernel.
    void argument(const char* name, std::uint32_t index) const { parameter(name, GPO_PARAMETER_ARGUMENT, index); }

private:
    gpo_template_t template_;
    gpo_stream_t stream_;
};

/// A node that allocates, from graph_template::add_allocation.
template <class T>
struct allocation {
    std::uint32_t node = 0;
    device_ptr<T> memory;
};

class graph_template : public owner<graph_template_calls, gpo_template_destroy> {
public:
    using owner::owner;

    /// Records what `callable()` or `callable(recording)` puts on the stream. The recording ends when the callable
    /// returns. If an exception leaves the callable, the recording is discarded, and the template stays what it was.
    template <class Callable>
    void record(gpo_stream_t stream, Callable&& callable) const {
        using Own = std::decay_t<Callable>;
        static_assert(std::is_invocable_v<Own&, recording> || std::is_invocable_v<Own&>,
                      "record takes a callable with (), or with (gpuorch::recording)");
        check(gpo_template_begin(get(), stream));
        try {
            if constexpr (std::is_invocable_v<Own&, recording>)
                callable(recording(get(), stream));
            else
                callable();
        } catch (...) {
            static_cast<void>(gpo_template_cancel(get()));
            throw;
        }
        check(gpo_template_end(get()));
    }

    /// Number by which a setting finds the parameter faster than by its name.
    std::uint32_t parameter_number(const char* name) const {
        std::uint32_t number = 0;
        check(gpo_template_get_parameter(get(), name, &number, nullptr));
        return number;
    }

    /// Device memory for `count` elements: it lives as long as the template, its graphs and their launches.
    template <class T>
    [[nodiscard]] device_ptr<T> allocate(std::uint64_t count) const {
        std::uint64_t address = 0;
        check(gpo_template_allocate(get(), detail::bytes_of<T>(count), &address));
        return device_ptr<T>(address);
    }
    /// Pinned host memory with the same lifetime, which isn't cleared.
    template <class T>
    [[nodiscard]] host_memory<T> allocate_host(std::size_t count) const {
        static_assert(std::is_trivially_copyable_v<T>, "the GPU copies bytes");
        void* memory = nullptr;
        check(gpo_template_allocate_host(get(), detail::bytes_of<T>(count), &memory));
        return host_memory<T>(static_cast<T*>(memory), count);
    }
    /// Device memory that exists while a graph runs, from this node to the node of add_free.
    template <class T>
    [[nodiscard]] allocation<T> add_allocation(std::uint64_t count,
                                               const std::vector<std::uint32_t>& after = {}) const {
        std::uint64_t address = 0;
        allocation<T> made;
        check(gpo_template_add_allocation(get(), after.data(), static_cast<std::uint32_t>(after.size()),
                                          detail::bytes_of<T>(count), &address, &made.node));
        made.memory = device_ptr<T>(address);
        return made;
    }
    /// `after`: all nodes that use the memory are before these.
    template <class T>
    std::uint32_t add_free(device_ptr<T> memory, const std::vector<std::uint32_t>& after) const {
        std::uint32_t node = 0;
        check(gpo_template_add_free(get(), after.data(), static_cast<std::uint32_t>(after.size()), memory.address(),
                                    &node));
        return node;
    }

    /// Launches a graph of the template's own, one for each stream, with these values and those recorded for all other
    /// parameters.
    template <class... T>
    void launch(gpo_stream_t stream, const setting<T>&... settings) const {
        const std::array<gpo_setting, sizeof...(T)> all{settings.raw()...};
        check(gpo_template_launch(get(), stream, all.data(), sizeof(gpo_setting), all.size()));
    }
};

}  // namespace gpuorch

#endif
