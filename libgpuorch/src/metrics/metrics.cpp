#include "metrics/metrics.h"

#include "completion/completion_queue.h"
#include "device/contexts.h"
#include "executor/executor.h"
#include "memory/arena.h"
#include "memory/pool.h"
#include "metrics/nvml.h"
#include "stream/streams.h"

namespace gpo::metrics {

gpo_metrics of_runtime(Runtime& runtime) {
    gpo_metrics out{};
    static_assert(std::tuple_size_v<decltype(Counters::latencies)> == GPO_METRICS_LATENCIES);
    static_assert(std::tuple_size_v<decltype(Counters::errors)> == GPO_METRICS_ERRORS);
    for (size_t i = 0; i < GPO_METRICS_LATENCIES; ++i)
        out.latency_count += out.latencies[i] = runtime.counters.latencies[i].load(std::memory_order_relaxed);
    out.latency_sum = runtime.counters.latency_sum.load(std::memory_order_relaxed);
    for (size_t i = 0; i < GPO_METRICS_ERRORS; ++i)
        out.errors[i] = runtime.counters.errors[i].load(std::memory_order_relaxed);
    out.callbacks = runtime.counters.callbacks.load(std::memory_order_relaxed);
    out.pipeline_pinned = runtime.counters.pipeline_pinned.load(std::memory_order_relaxed);
    for (const auto& context : Contexts::of(runtime).all()) {
        ++out.devices;
        for (const auto& stream : Streams::of(*context).all()) {
            ++out.streams;
            out.operations_pending += stream->load();
            out.operations_held += stream->held().users();
        }
    }
    runtime.for_each([&](Object& object) {
        switch (object.type()) {
            case Type::cq: {
                const gpo_cq_statistics queue = static_cast<CompletionQueue&>(object).statistics();
                out.completions_pending += queue.accepted - std::min(queue.drained, queue.accepted);
                out.notifies_refused += queue.refused;
                break;
            }
            case Type::executor: {
                const gpo_executor_statistics executor = static_cast<Executor&>(object).statistics();
                ++out.executors;
                out.executor_threads += executor.threads;
                out.callbacks_pending += executor.pending;
                break;
            }
            case Type::arena: {
                const gpo_memory_statistics arena = static_cast<Arena&>(object).statistics();
                out.arena_in_use += arena.in_use;
                out.arena_reserved += arena.reserved;
                out.arena_peak += arena.peak_in_use;
                break;
            }
            case Type::pool: {
                try {
                    const gpo_memory_statistics pool = static_cast<Pool&>(object).statistics();
                    out.pool_in_use += pool.in_use;
                    out.pool_reserved += pool.reserved;
                    out.pool_peak += pool.peak_in_use;
                } catch (const Failure&) {
                    // The pool can't be read after its device was lost.
                }
                break;
            }
            default: break;
        }
    });
    return out;
}

gpo_statistics statistics(const Runtime& runtime) noexcept {
    gpo_statistics out = runtime.own_statistics();
    if (const Contexts* contexts = runtime.find_annex<Contexts>()) contexts->add_stream_counters(out);
    return out;
}

gpo_device_metrics of_device(Context& context) {
    gpo_device_metrics out{};
    out.memory_total = out.memory_used = out.utilization = out.memory_utilization = out.power = out.energy = -1;
    out.temperature = out.sm_clock = out.memory_clock = out.pcie_sent = out.pcie_received = -1;
    std::string why;
    const driver::Table& table = context.table();
    if (!context.driver().has_libraries) {
        why = "the software GPU has no NVML";
    } else if (const Nvml* nvml = Nvml::open(&why)) {
        char address[32] = "";
        CUdevice device = 0;
        if (table.cuDeviceGet(&device, context.ordinal()) == CUDA_SUCCESS)
            table.cuDeviceGetPCIBusId(address, sizeof address, device);
        nvml->read(address, out, &why);
    }
    if (out.memory_total < 0) {
        DriverTry scope(context);
        size_t free_now = 0, total = 0;
        if (scope.entered() && table.cuMemGetInfo(&free_now, &total) == CUDA_SUCCESS) {
            out.memory_total = static_cast<int64_t>(total);
            out.memory_used = static_cast<int64_t>(total - free_now);
        }
    }
    copy_text(out.reason, why);
    return out;
}

}  // namespace gpo::metrics
