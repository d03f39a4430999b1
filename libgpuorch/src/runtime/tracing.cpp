#include "runtime/tracing.h"

#include "device/contexts.h"
#include "metrics/metrics.h"

namespace gpo {

namespace {

class WholeRuntime final : public trace::Source {
public:
    std::vector<Ref<trace::Gpu>> gpus(Runtime& runtime) const override {
        const auto contexts = Contexts::of(runtime).all();
        return {contexts.begin(), contexts.end()};
    }
    trace::Levels levels(Runtime& runtime) const override {
        const gpo_metrics metrics = metrics::of_runtime(runtime);
        return {.operations_pending = metrics.operations_pending,
                .operations_held = metrics.operations_held,
                .completions_pending = metrics.completions_pending,
                .arena_in_use = metrics.arena_in_use,
                .pool_in_use = metrics.pool_in_use,
                .pipeline_pinned = metrics.pipeline_pinned};
    }
};

constinit const WholeRuntime g_whole_runtime;

}  // namespace

const trace::Source& trace_source() noexcept { return g_whole_runtime; }

}  // namespace gpo
