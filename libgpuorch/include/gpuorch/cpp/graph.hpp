// graph.hpp: graphs (template.h).
#ifndef GPUORCH_CPP_GRAPH_HPP
#define GPUORCH_CPP_GRAPH_HPP

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "graph_calls.hpp"
#include "setting.hpp"

namespace gpuorch {

/// A graph, from graph_template::create_graph. Each has its own values.
class graph : public owner<graph_calls, gpo_graph_destroy> {
public:
    using owner::owner;

    /// Sets values for later launches, all or none: graph.set(setting("factor", 2.0f), setting("data", x)).
    template <class... T>
    void set(const setting<T>&... settings) const {
        static_assert(sizeof...(T) > 0, "set takes settings");
        const std::array<gpo_setting, sizeof...(T)> all{settings.raw()...};
        check(gpo_graph_set_all(get(), all.data(), sizeof all[0], all.size()));
    }
    template <class T>
    void set(const char* name, const T& value) const {
        const auto given = detail::kernel_argument(value);
        check(gpo_graph_set(get(), name, std::addressof(given), sizeof given));
    }
    /// For a parameter of kind GPO_PARAMETER_ENABLED.
    void enable(const char* name, bool enabled = true) const { set(name, std::uint32_t{enabled}); }
    /// The value that the next launch uses. GPO_INVALID_ARGUMENT if the parameter is of another size.
    template <class T>
    T value(const char* name) const {
        static_assert(std::is_trivially_copyable_v<T>, "values are copied as bytes");
        T value{};
        check(gpo_graph_get(get(), name, std::addressof(value), sizeof value));
        return value;
    }

    /// Sets the values, for this launch and later ones, and launches.
    template <class... T>
    void launch(gpo_stream_t stream, const setting<T>&... settings) const {
        if constexpr (sizeof...(T) > 0) set(settings...);
        check(gpo_graph_launch(get(), stream));
    }
};

}  // namespace gpuorch

#endif
