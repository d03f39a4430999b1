// Host nodes: user functions that a graph calls on a thread of the driver. Such a function must not call the driver,
// nor wait for the library's locks. Another thread that launches the graph again may hold a lock while the driver
// makes this thread wait for the function.
#pragma once

#include "host/host.h"

namespace gpo {

/// Marks the calling thread as running the function of a host node, until the scope ends.
class HostNodeScope {
public:
    HostNodeScope() noexcept;
    ~HostNodeScope();
    HostNodeScope(const HostNodeScope&) = delete;
    HostNodeScope& operator=(const HostNodeScope&) = delete;
};

namespace detail {
bool inside_host_node() noexcept;
}  // namespace detail

/// Whether the calling thread runs such a function: one relaxed load if no thread of the process does.
inline bool in_host_node() noexcept {
    return host::detail::unusual(host::detail::kWatcher - host::detail::kHostNode) && detail::inside_host_node();
}

/// Messages for refused calls: in a host node of this library, and in another function that the driver calls.
inline constexpr const char
    *kCalledInHostNode = "called in a host node: that is a thread of the driver's, which permits no call from there",
    *kCalledInHostFunction =
        "called in a host node or another function that the driver calls, "
        "from where the driver permits no call";

}  // namespace gpo
