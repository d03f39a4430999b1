#include "core/host_node.h"

namespace gpo {

namespace {
constinit thread_local unsigned t_host_nodes = 0;
}  // namespace

HostNodeScope::HostNodeScope() noexcept {
    ++t_host_nodes;
    host::detail::process_flags.unusual.fetch_add(host::detail::kHostNode, std::memory_order_relaxed);
}

HostNodeScope::~HostNodeScope() {
    host::detail::process_flags.unusual.fetch_sub(host::detail::kHostNode, std::memory_order_relaxed);
    --t_host_nodes;
}

bool detail::inside_host_node() noexcept { return t_host_nodes != 0; }

}  // namespace gpo
