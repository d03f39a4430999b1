// Checks the options of a pipeline, and assembles a kernel's arguments for each chunk.
#include "pipeline/pipeline_plan.h"

#include <algorithm>
#include <cstring>

#include "core/struct_array.h"
#include "kernel/launch.h"

namespace gpo::pipeline {

namespace {

constexpr uint64_t kMostChunk = uint64_t{1} << 40, kMostScratch = uint64_t{1} << 40, kMostResult = uint64_t{1} << 20;
constexpr uint32_t kMostExpansion = 4096;
constexpr uint32_t kMostSlots = 1024, kMostStages = 64, kMostArguments = 4096;
constexpr uint64_t kPinnedEach = uint64_t{1} << 30;  // of staging, for each device
constexpr uint64_t kMostValue = 4096;  // bytes of one parameter: more than any device takes
constexpr uint64_t kMostGrid = (uint64_t{1} << 31) - 1;

bool all_zero(const uint32_t (&shape)[3]) noexcept { return !shape[0] && !shape[1] && !shape[2]; }

}  // namespace

KernelStage::KernelStage(const gpo_stage& stage, gpo_kernel_t given, uint32_t device, Context& context,
                         Runtime& runtime) {
    Pin<Kernel> kernel(given);
    if (&kernel->context() != &context)
        fail(GPO_INVALID_ARGUMENT, kernel->describe(), " is of another device than ",
             stage.kernels ? text("options.devices[", device, "]") : "the pipeline");
    kernel_ = kernel.ref();
    if (stage.enqueue) fail(GPO_INVALID_ARGUMENT, "a kernel stage has an enqueue callback");

    read_arguments(stage, device);
    launch_.struct_size = sizeof launch_;
    launch_.dynamic_shared_bytes = stage.dynamic_shared_bytes;
    launch_.label = stage.label ? runtime.intern(stage.label) : nullptr;
    std::copy_n(stage.block, 3, launch_.block);
    std::copy_n(stage.grid, 3, launch_.grid);
    if (all_zero(stage.block)) launch_.block[0] = kernel_->suggest(stage.dynamic_shared_bytes, 0).first;
    computed_grid_ = all_zero(stage.grid);
    if (!computed_grid_ && (stage.bytes_per_block != 0 || stage.max_blocks != 0))
        fail(GPO_INVALID_ARGUMENT, "bytes_per_block and max_blocks are for grids that are computed");
    bytes_per_block_ = stage.bytes_per_block;
    if (bytes_per_block_ == 0) {
        bytes_per_block_ = 1;
        for (const uint32_t threads : launch_.block) bytes_per_block_ *= std::max(threads, 1u);
    }
    max_blocks_ = stage.max_blocks != 0 ? stage.max_blocks : UINT64_MAX;
    check();
}

// Copies the values. enqueue() sets the addresses and sizes of the chunk.
void KernelStage::read_arguments(const gpo_stage& stage, uint32_t device) {
    if (stage.argument_count > kMostArguments)
        fail(GPO_INVALID_ARGUMENT, "stage.argument_count is ", stage.argument_count);
    const StructArray arguments(stage.arguments, stage.argument_stride, stage.argument_count, "stage.arguments",
                                "stage.argument_stride");
    std::vector<const void*> values;
    std::vector<uint32_t> bytes;
    for (uint32_t i = 0; i < stage.argument_count; ++i) {
        const gpo_stage_argument argument = arguments.read(i);
        const bool is_value = argument.kind == GPO_ARGUMENT_VALUE || argument.kind == GPO_ARGUMENT_DEVICE_VALUE;
        if (argument.kind > GPO_ARGUMENT_DEVICE_VALUE)
            fail(GPO_INVALID_ARGUMENT, "stage.arguments[", i, "].kind is ", argument.kind);
        if (is_value && (!argument.value || argument.bytes == 0 || argument.bytes > kMostValue))
            fail(GPO_INVALID_ARGUMENT, "stage.arguments[", i, "] is a value of ", argument.bytes, " bytes",
                 argument.value ? "" : " at NULL");
        const uint64_t at = argument.kind == GPO_ARGUMENT_DEVICE_VALUE ? device * argument.bytes : 0;
        kinds_.push_back(is_value ? uint32_t{GPO_ARGUMENT_VALUE} : argument.kind);
        values.push_back(is_value ? static_cast<const char*>(argument.value) + at : nullptr);
        bytes.push_back(is_value ? static_cast<uint32_t>(argument.bytes) : sizeof(uint64_t));
    }
    arguments_.emplace(std::move(bytes));
    for (size_t i = 0; i < kinds_.size(); ++i)
        if (kinds_[i] == GPO_ARGUMENT_VALUE) arguments_->copy(i, values[i]);
}

// Checks shape and arguments as for a launch.
void KernelStage::check() {
    gpo_launch launch = launch_;
    if (computed_grid_) launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
    const LaunchKernel operation(*kernel_, launch, arguments_->pointers(), arguments_->bytes(), arguments_->count());
}

void KernelStage::enqueue(Stream& stream, const ChunkView& chunk) {
    for (size_t i = 0; i < kinds_.size(); ++i) {
        switch (kinds_[i]) {
            case GPO_ARGUMENT_INPUT: arguments_->refer(i, &chunk.input); break;
            case GPO_ARGUMENT_OUTPUT: arguments_->refer(i, &chunk.output); break;
            case GPO_ARGUMENT_SCRATCH: arguments_->refer(i, &chunk.scratch); break;
            case GPO_ARGUMENT_RESULT: arguments_->refer(i, &chunk.result); break;
            case GPO_ARGUMENT_INPUT_BYTES: arguments_->refer(i, &chunk.bytes); break;
            case GPO_ARGUMENT_OUTPUT_BYTES: arguments_->refer(i, &chunk.output_bytes); break;
            case GPO_ARGUMENT_INDEX: arguments_->refer(i, &chunk.index); break;
            case GPO_ARGUMENT_OFFSET: arguments_->refer(i, &chunk.offset); break;
        }
    }
    gpo_launch launch = launch_;
    if (computed_grid_) {
        const uint64_t needed = chunk.bytes / bytes_per_block_ + (chunk.bytes % bytes_per_block_ != 0);
        const uint64_t blocks = std::min(needed, max_blocks_);
        if (blocks > kMostGrid)
            fail(GPO_INVALID_ARGUMENT, kernel_->describe(), " would need ", blocks, " blocks for a chunk of ",
                 chunk.bytes, " bytes: bytes_per_block or max_blocks bounds them");
        launch.grid[0] = static_cast<uint32_t>(blocks);
        launch.grid[1] = launch.grid[2] = 1;
    }
    LaunchKernel operation(*kernel_, launch, arguments_->pointers(), arguments_->bytes(), arguments_->count());
    if (stream.submit(operation) != GPO_SUCCESS) fail(GPO_LIMIT_EXCEEDED, "too much is held on ", stream.describe());
}

Plan::Plan(const gpo_pipeline_options& options, const std::vector<Ref<Context>>& contexts, Runtime& runtime)
    : devices(static_cast<uint32_t>(contexts.size())), timing(options.flags & GPO_PIPELINE_TIMES),
      chunk_bytes(options.chunk_bytes),
      granule(options.granule != 0 ? options.granule : 4096), slots(options.slots),
      numerator(options.output_numerator), denominator(options.output_denominator),
      scratch_bytes(options.scratch_bytes), result_bytes(options.result_bytes),
      max_pinned_bytes(options.max_pinned_bytes != GPO_AUTO ? options.max_pinned_bytes : devices * kPinnedEach),
      progress(options.progress), progress_user(options.progress_user),
      progress_ns(options.progress_ns != 0 ? options.progress_ns : 100'000'000) {
    refuse_unknown_flags(options.flags, GPO_PIPELINE_TIMES, "options.flags");
    if (granule > kMostChunk) fail(GPO_INVALID_ARGUMENT, "options.granule is ", granule);
    if (chunk_bytes > kMostChunk) fail(GPO_INVALID_ARGUMENT, "options.chunk_bytes is ", chunk_bytes);
    if (chunk_bytes % granule != 0)
        fail(GPO_INVALID_ARGUMENT, "options.chunk_bytes is ", chunk_bytes, ", no multiple of the granule, ", granule);
    if (slots > kMostSlots) fail(GPO_INVALID_ARGUMENT, "options.slots is ", slots, ", more than ", kMostSlots);
    if (numerator == 0 && denominator == 0) numerator = denominator = 1;
    if (denominator == 0) fail(GPO_INVALID_ARGUMENT, "options.output_denominator is 0");
    if (numerator / denominator > kMostExpansion)
        fail(GPO_INVALID_ARGUMENT, "the output would be ", numerator / denominator, " times the input");
    if (scratch_bytes > kMostScratch) fail(GPO_INVALID_ARGUMENT, "options.scratch_bytes is ", scratch_bytes);
    if (result_bytes > kMostResult)
        fail(GPO_INVALID_ARGUMENT, "options.result_bytes is ", result_bytes, ", more than ", kMostResult);
    if (options.stage_count == 0 || options.stage_count > kMostStages)
        fail(GPO_INVALID_ARGUMENT, "options.stage_count is ", options.stage_count, ", not 1 to ", kMostStages);
    const StructArray all(options.stages, options.stage_stride, options.stage_count, "options.stages",
                          "options.stage_stride");
    for (uint32_t i = 0; i < options.stage_count; ++i) {
        const gpo_stage asked = all.read(i);
        Stage stage;
        if (asked.kind == GPO_STAGE_KERNEL) {
            if (asked.kernel && asked.kernels)
                fail(GPO_INVALID_ARGUMENT, "options.stages[", i, "] has a kernel and a list of kernels");
            if (!asked.kernels && devices > 1)
                fail(GPO_INVALID_ARGUMENT, "options.stages[", i, "].kernels is NULL, and the pipeline has ", devices,
                     " devices");
            for (uint32_t device = 0; device < devices; ++device)
                stage.kernels.push_back(std::make_unique<KernelStage>(
                    asked, asked.kernels ? asked.kernels[device] : asked.kernel, device, *contexts[device], runtime));
        } else if (asked.kind == GPO_STAGE_CALLBACK) {
            if (!asked.enqueue) fail(GPO_INVALID_ARGUMENT, "options.stages[", i, "].enqueue is NULL");
            stage.enqueue = asked.enqueue;
            stage.user = asked.user;
            has_stage_callbacks = true;
        } else {
            fail(GPO_INVALID_ARGUMENT, "options.stages[", i, "].kind is ", asked.kind);
        }
        stages.push_back(std::move(stage));
    }
}

}  // namespace gpo::pipeline
