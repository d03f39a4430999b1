// A scheduler's plan: the checked options, and the source of the kernel.
#pragma once

#include <string>
#include <vector>

#include "core/struct_array.h"
#include "gpuorch/scheduler.h"
#include "graph/instance.h"
#include "queue/device_queue.h"

namespace gpo::scheduler {

/// From gpo_handler.
struct Handler {
    std::string name;
    std::vector<Ref<Graph>> graphs;
    uint64_t task_memory = 0;
};

struct Plan {
    uint32_t form = 0, workers = 0, threads = 0, blocks_per_multiprocessor = 0, multiprocessors = 0, leave_free = 0;
    uint32_t batch = 0, max_errors = 0;
    uint64_t argument = 0, dynamic_shared = 0, idle_ns = 0, sample_ns = 0;
    bool of_graphs() const noexcept { return form == GPO_SCHEDULER_GRAPHS; }
    bool host_ring = false;  // the first block hands out the host's tasks
    uint32_t task_size = 0;
    std::vector<Handler> handlers;

    uint32_t workers_of_block() const noexcept {
        return workers == GPO_WORKER_THREAD ? threads : workers == GPO_WORKER_WARP ? threads / 32 : 1;
    }
};

/// Throws Failure(GPO_INVALID_ARGUMENT, GPO_NOT_SUPPORTED).
Plan plan_of(const gpo_scheduler_options& options, const StructArray<gpo_handler>& handlers, uint32_t count,
             DeviceQueue& queue);

/// The CUDA C++ of the kernel kKernel, with the handlers' source in it. Throws std::bad_alloc.
std::string source_of(const Plan& plan, const gpo_scheduler_options& options);
inline constexpr const char* kKernel = "gpo_scheduler_run";

}  // namespace gpo::scheduler
