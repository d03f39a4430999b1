// Handles that are destroyed on the way out.
#pragma once

#include <utility>

#include "gpuorch/gpuorch.h"

namespace gpo::test {

/// A handle with its destroy function.
template <class Handle, gpo_status (*destroy)(Handle)>
class Owned {
public:
    Owned() = default;
    explicit Owned(Handle handle) noexcept : handle_(handle) {}
    Owned(Owned&& other) noexcept : handle_(other.release()) {}
    Owned& operator=(Owned&& other) noexcept {
        if (this != &other) {
            reset();
            handle_ = other.release();
        }
        return *this;
    }
    ~Owned() { reset(); }
    operator Handle() const noexcept { return handle_; }
    Handle get() const noexcept { return handle_; }
    /// For create functions.
    Handle* out() noexcept { return &handle_; }
    /// The handle, now the caller's.
    Handle release() noexcept { return std::exchange(handle_, nullptr); }
    void reset() noexcept {
        if (handle_) destroy(std::exchange(handle_, nullptr));
    }

private:
    Handle handle_ = nullptr;
};

using Device = Owned<gpo_device_t, gpo_device_close>;
using Stream = Owned<gpo_stream_t, gpo_stream_destroy>;
using StreamPool = Owned<gpo_stream_pool_t, gpo_stream_pool_destroy>;
using Event = Owned<gpo_event_t, gpo_event_destroy>;
using Timeline = Owned<gpo_timeline_t, gpo_timeline_destroy>;
using Queue = Owned<gpo_cq_t, gpo_cq_destroy>;
using Arena = Owned<gpo_arena_t, gpo_arena_destroy>;
using Pool = Owned<gpo_pool_t, gpo_pool_destroy>;
using Module = Owned<gpo_module_t, gpo_module_destroy>;
using Kernel = Owned<gpo_kernel_t, gpo_kernel_destroy>;
using Pipeline = Owned<gpo_pipeline_t, gpo_pipeline_destroy>;
using Executor = Owned<gpo_executor_t, gpo_executor_destroy>;
using Template = Owned<gpo_template_t, gpo_template_destroy>;
using Graph = Owned<gpo_graph_t, gpo_graph_destroy>;
using Buckets = Owned<gpo_buckets_t, gpo_buckets_destroy>;
using DeviceQueue = Owned<gpo_queue_t, gpo_queue_destroy>;
using Admission = Owned<gpo_admission_t, gpo_admission_destroy>;
using Batcher = Owned<gpo_batcher_t, gpo_batcher_destroy>;

}  // namespace gpo::test
