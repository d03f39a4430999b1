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

/// What of a chunk the stages see.
struct ChunkView {
    uint64_t index, offset, bytes, output_bytes;
    uint64_t input, output, scratch, result;  // device addresses
};

/// A kernel with its shape, and its arguments as they are put together for each chunk.
class KernelStage {
public:
    /// The stage on one device: the pipeline's number `device`. Throws Failure(GPO_INVALID_ARGUMENT), handle failures.
    KernelStage(const gpo_stage& stage, gpo_kernel_t kernel, uint32_t device, Context& context, Runtime& runtime);

    /// Puts the kernel on a stream for one chunk. Throws. One caller at a time.
    void enqueue(Stream& stream, const ChunkView& chunk);

private:
    void read_arguments(const gpo_stage& stage, uint32_t device);
    void check();

    Ref<Kernel> kernel_;
    gpo_launch launch_{};
    bool computed_grid_ = false;
    uint64_t bytes_per_block_ = 0, max_blocks_ = 0;
    std::vector<uint32_t> kinds_;                  // GPO_STAGE_VALUE …, of each argument
    std::optional<Arguments> arguments_;           // with what is the chunk's referred to
};

struct Stage {
    std::vector<std::unique_ptr<KernelStage>> kernels;  // one for each device; none: the callback
    gpo_stage_fn enqueue = nullptr;
    void* user = nullptr;
};

struct Plan {
    /// One context for each device.
    Plan(const gpo_pipeline_options& options, const std::vector<Ref<Context>>& contexts, Runtime& runtime);

    uint64_t output_bytes(uint64_t input) const noexcept {
        const auto all = static_cast<unsigned __int128>(input) * numerator;
        return static_cast<uint64_t>((all + denominator - 1) / denominator);
    }
    bool has_output() const noexcept { return numerator != 0; }

    /// Pinned memory that one device's slots may have.
    uint64_t pinned_share() const noexcept { return max_pinned_bytes / devices; }

    uint32_t devices;
    bool timing;
    uint64_t chunk_bytes, granule;  // chunk_bytes GPO_AUTO: to be found
    uint32_t slots;                 // GPO_AUTO: ours to choose
    uint32_t numerator, denominator;
    uint64_t scratch_bytes, result_bytes, max_pinned_bytes;
    gpo_progress_fn progress;
    void* progress_user;
    uint64_t progress_ns;
    std::vector<Stage> stages;
    bool has_stage_callbacks = false;
};

}  // namespace gpo::pipeline
