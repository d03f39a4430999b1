// The functions of host nodes that were added by gpo_template_add_host_call. The driver calls run(), which marks the
// function's calls as a host node's, and lets no exception reach the driver.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "gpuorch/template.h"

namespace gpo {

class Runtime;

/// A function and its argument, kept until the process ends: the driver's last call can't be known. After a stream has
/// failed, the last call may come after the end of the runtime; and others can copy a graph of the driver's. All nodes
/// with the same function and argument share one object.
class HostFunction {
public:
    /// The parameters of a node that calls `function`. Throws std::bad_alloc.
    static CUDA_HOST_NODE_PARAMS params(const Runtime& runtime, gpo_host_node_fn function, void* user);
    /// The function that a node with these parameters calls in the end.
    static gpo_host_node_fn called_by(const CUDA_HOST_NODE_PARAMS& params) noexcept;

private:
    HostFunction(gpo_host_node_fn function, void* user, HostFunction* next) noexcept
        : function_(function), user_(user), next_(next) {}
    static HostFunction* find(HostFunction* first, gpo_host_node_fn function, void* user) noexcept;
    static void CUDA_CB run(void* self);
    void log_exception(const char* what) const noexcept;

    const gpo_host_node_fn function_;
    void* const user_;
    HostFunction* const next_;                // in the list
    std::atomic<uint64_t> runtime_{0};        // handle of the newest runtime with such a node; its log gets exceptions
};

}  // namespace gpo
