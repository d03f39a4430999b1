// The plan of a pipeline: its options, checked, with a copy of everything that they point to.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "device/device.h"
#include "gpuorch/pipeline.h"
#include "kernel/kernel.h"
#include "stream/arguments.h"
#include "stream/stream.h"

namespace gpo::pipeline {

/// The part of a chunk that stages see.
struct ChunkView {
    uint64_t index, offset, bytes, output_bytes;
    uint64_t input, output, scratch, result;  // device addresses
};

/// A kernel with its shape and its arguments. The arguments are assembled for each chunk.
class KernelStage {
public:
    /// The stage on the pipeline's device number `device`. Throws Failure(GPO_INVALID_ARGUMENT), handle failures.
    KernelStage(const gpo_stage& stage, gpo_kernel_t kernel, uint32_t device, Context& context, Runtime& runtime);

    /// Submits the kernel to a stream for a chunk. Throws. A single caller at a time.
    void enqueue(Stream& stream, const ChunkView& chunk);

private:
    void read_arguments(const gpo_stage& stage, uint32_t device);
    void check();

    Ref<Kernel> kernel_;
    gpo_launch launch_{};
    bool computed_grid_ = false;
    uint64_t bytes_per_block_ = 0, max_blocks_ = 0;
    std::vector<uint32_t> kinds_;                  // GPO_ARGUMENT_VALUE …, for each argument
    std::optional<Arguments> arguments_;           // values are copied; the chunk's fields are referred to
};

struct Stage {
    std::vector<std::unique_ptr<KernelStage>> kernels;  // one for each device; none: the callback
    gpo_stage_fn enqueue = nullptr;
    void* user = nullptr;
};

struct Plan {
    /// `contexts`: a context for each device.
    Plan(const gpo_pipeline_options& options, const std::vector<Ref<Context>>& contexts, Runtime& runtime);

    uint64_t output_bytes(uint64_t input) const noexcept {
        const auto all = static_cast<unsigned __int128>(input) * numerator;
        return static_cast<uint64_t>((all + denominator - 1) / denominator);
    }
    bool has_output() const noexcept { return numerator != 0; }

    /// Bound on the pinned memory of a device's slots, in bytes.
    uint64_t pinned_share() const noexcept { return max_pinned_bytes / devices; }

    uint32_t devices;
    bool timing;
    uint64_t chunk_bytes, granule;  // chunk_bytes GPO_AUTO: found by trials
    uint32_t slots;                 // GPO_AUTO: the library chooses
    uint32_t numerator, denominator;
    uint64_t scratch_bytes, result_bytes, max_pinned_bytes;
    gpo_progress_fn progress;
    void* progress_user;
    uint64_t progress_ns;
    std::vector<Stage> stages;
    bool has_stage_callbacks = false;
};

}  // namespace gpo::pipeline
