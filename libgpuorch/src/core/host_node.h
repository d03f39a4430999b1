// Host nodes: user functions that a graph calls, on a thread of the driver. The driver permits no call from there. The
// graph's next launch may wait for the function, inside the driver and under locks of the library.
#pragma once

#include "host/host.h"

namespace gpo {

/// The calling thread runs the function of a host node, until the scope ends.
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

/// Messages of a refused call: in a host node, and in a function that only the driver recognises.
inline constexpr const char *kCalledInHostNode =
                                "called in a host node: that is a thread of the driver's, which permits no call from there",
                            *kCalledInHostFunction = "called in a host node or another function that the driver calls, "
                                                     "from where the driver permits no call";

}  // namespace gpo
