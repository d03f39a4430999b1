// The functions of host nodes that were added by gpo_template_add_host_call. The driver calls run(), so that the calls
// which the function makes are known to come from a host node, and no exception reaches the driver.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "gpuorch/template.h"

namespace gpo {

class Runtime;

/// A function and its argument, for as long as the process runs: nobody can tell when the driver has called a function
/// for the last time. Where a stream has failed, that may be after the end of the runtime, and a graph of the driver's
/// can be copied by others. There is one for each pair, however many nodes have it.
class HostFunction {
public:
    /// Of a node that calls it. Throws std::bad_alloc.
    static CUDA_HOST_NODE_PARAMS params(const Runtime& runtime, gpo_host_node_fn function, void* user);
    /// What a node with these parameters calls in the end.
    static gpo_host_node_fn called_by(const CUDA_HOST_NODE_PARAMS& params) noexcept;

private:
    HostFunction(gpo_host_node_fn function, void* user, HostFunction* next) noexcept
        : function_(function), user_(user), next_(next) {}
    static HostFunction* find(HostFunction* first, gpo_host_node_fn function, void* user) noexcept;
    static void CUDA_CB run(void* self);
    void log_exception(const char* what) const noexcept;

    const gpo_host_node_fn function_;
    void* const user_;
    HostFunction* const next_;                // in its list
    std::atomic<uint64_t> runtime_{0};        // handle of the newest that has such a node: its log is told of exceptions
};

}  // namespace gpo
