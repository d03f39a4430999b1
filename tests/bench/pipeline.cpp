// A gibibyte through copy in, kernel, copy out, by a pipeline that chooses its chunks itself (GPO_AUTO).
#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"
#include "support/pipeline_ends.h"

using namespace gpo::bench;

namespace {

/// Plain memory of the caller's, touched.
class Plain {
public:
    explicit Plain(uint64_t size) : bytes(size) {
        void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) throw std::runtime_error("no memory for " + std::to_string(bytes) + " bytes");
        memory = static_cast<float*>(mapped);
        std::memset(memory, 0x5a, bytes);
    }
    ~Plain() { munmap(memory, bytes); }
    Plain(const Plain&) = delete;
    Plain& operator=(const Plain&) = delete;
    /// Small whole numbers, so that the kernel's answer is exact.
    void draw(uint64_t seed) {
        std::mt19937_64 random(seed);
        for (uint64_t i = 0; i < bytes / 4; i += 2) {
            const uint64_t bits = random();
            memory[i] = static_cast<float>(bits & 0xffff);
            memory[i + 1] = static_cast<float>(bits >> 16 & 0xffff);
        }
    }
    float* memory = nullptr;
    const uint64_t bytes;
};

class Registered {
public:
    Registered(const Gpu& gpu, const Plain& plain) : device_(gpu.device), memory_(plain.memory) {
        CHECK_GPO(gpo_host_register(device_, memory_, plain.bytes, 0));
    }
    ~Registered() { gpo_host_unregister(device_, memory_); }

private:
    gpo_device_t device_;
    void* memory_;
};

Pipeline make_pipeline(const Gpu& gpu, gpo_kernel_t kernel, uint32_t flags = 0) {
    gpo_stage_argument arguments[3] = {sized<gpo_stage_argument>(), sized<gpo_stage_argument>(),
                                       sized<gpo_stage_argument>()};
    arguments[0].kind = GPO_ARGUMENT_OUTPUT;
    arguments[1].kind = GPO_ARGUMENT_INPUT;
    arguments[2].kind = GPO_ARGUMENT_INPUT_BYTES;
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_KERNEL;
    stage.kernel = kernel;
    stage.block[0] = 256;
    stage.bytes_per_block = 256 * 64;
    stage.max_blocks = 2 * static_cast<uint32_t>(gpu.properties.multiprocessors);
    stage.arguments = arguments;
    stage.argument_stride = sizeof(gpo_stage_argument);
    stage.argument_count = 3;
    auto options = sized<gpo_pipeline_options>();
    options.stages = &stage;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.flags = flags;
    Pipeline pipeline;
    CHECK_GPO(gpo_pipeline_create(gpu.device, &options, pipeline.out()));
    return pipeline;
}

gpo_pipeline_result run(gpo_pipeline_t pipeline, const Plain& in, const Plain& out) {
    const gpo_source source = gpo::test::from_memory(in.memory, in.bytes);
    const gpo_sink sink = gpo::test::to_memory(out.memory, out.bytes);
    auto result = sized<gpo_pipeline_result>();
    CHECK_GPO(gpo_pipeline_start(pipeline, &source, &sink));
    CHECK_GPO(gpo_pipeline_wait(pipeline, -1, &result));
    return result;
}

void check_answer(const Plain& in, const Plain& out) {
    for (uint64_t i = 0; i < in.bytes / sizeof(float); ++i)
        if (out.memory[i] != 2 * in.memory[i])
            throw std::runtime_error("the output is wrong at float " + std::to_string(i));
}

void describe(Row& row, const gpo_pipeline_result& result) {
    char text[96];
    std::snprintf(text, sizeof text, "%g MiB chunks, %u slots", static_cast<double>(result.chunk_bytes) / (1 << 20),
                  result.slots);
    row.note(text);
}

double gigabytes_per_s(uint64_t bytes, double begin) { return static_cast<double>(bytes) / (now_ns() - begin); }

/// Both ways at once, at the copy engines' speed; `first`: each block is the first run of a new pipeline.
void registered(Row& row, bool first, uint32_t flags = 0) {
    const uint64_t bytes = row.size(uint64_t{1} << 30, uint64_t{32} << 20);
    Gpu gpu;
    Raw raw(gpu);
    Plain in(bytes), out(bytes);
    in.draw(row.options.seed);
    const Registered pinned_in(gpu, in), pinned_out(gpu, out);
    const Kernel kernel = gpu.kernel("scale");
    const CUstream to_device = raw.stream(), to_host = raw.stream();
    const CUdeviceptr raw_in = raw.memory(bytes), raw_out = raw.memory(bytes);
    void* const host_in = raw.pinned(bytes);
    void* const host_out = raw.pinned(bytes);
    std::memcpy(host_in, in.memory, bytes);
    // All pipelines live to the end of the row: freeing the memory of one would disturb the next.
    std::vector<Pipeline> pipelines;
    pipelines.push_back(make_pipeline(gpu, kernel, flags));
    gpo_pipeline_result result = run(pipelines.back(), in, out);
    check_answer(in, out);
    row.pairs(
        [&] {
            const double begin = now_ns();
            CHECK_CU(raw.cu.cuMemcpyHtoDAsync(raw_in, host_in, bytes, to_device));
            CHECK_CU(raw.cu.cuMemcpyDtoHAsync(host_out, raw_out, bytes, to_host));
            raw.finish(to_device);
            raw.finish(to_host);
            return gigabytes_per_s(2 * bytes, begin);
        },
        [&] {
            if (first) pipelines.push_back(make_pipeline(gpu, kernel, flags));
            const double begin = now_ns();
            result = run(pipelines.back(), in, out);
            return gigabytes_per_s(2 * bytes, begin);
        });
    describe(row, result);
    std::memset(out.memory, 0, bytes);
    run(pipelines.back(), in, out);
    check_answer(in, out);
}

void pageable(Row& row) {
    const uint64_t bytes = row.size(uint64_t{1} << 30, uint64_t{32} << 20);
    Gpu gpu;
    Raw raw(gpu);
    Plain in(bytes), out(bytes);
    in.draw(row.options.seed);
    const Kernel kernel = gpu.kernel("scale");
    const CUfunction raw_kernel = raw.function(gpu, "scale");
    const CUstream stream = raw.stream();
    CUdeviceptr raw_in = raw.memory(bytes), raw_out = raw.memory(bytes);
    Pipeline pipeline = make_pipeline(gpu, kernel);
    gpo_pipeline_result result = run(pipeline, in, out);
    check_answer(in, out);
    const unsigned blocks = 2 * static_cast<unsigned>(gpu.properties.multiprocessors);
    row.pairs(
        [&] {
            const double begin = now_ns();
            unsigned long long n = bytes;
            void* arguments[] = {&raw_out, &raw_in, &n};
            CHECK_CU(raw.cu.cuMemcpyHtoDAsync(raw_in, in.memory, bytes, stream));
            CHECK_CU(raw.cu.cuLaunchKernel(raw_kernel, blocks, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr));
            CHECK_CU(raw.cu.cuMemcpyDtoHAsync(out.memory, raw_out, bytes, stream));
            raw.finish(stream);
            return gigabytes_per_s(2 * bytes, begin);
        },
        [&] {
            const double begin = now_ns();
            result = run(pipeline, in, out);
            return gigabytes_per_s(2 * bytes, begin);
        });
    describe(row, result);
    std::memset(out.memory, 0, bytes);
    run(pipeline, in, out);
    check_answer(in, out);
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("pipeline", argc, argv);
    bench.row({.name = "pipeline",
               .what = "1 GiB in, kernel, 1 GiB out, registered memory, GPO_AUTO, later runs",
               .unit = "GB/s",
               .base = "1 GiB each way at once, nothing else",
               .target = ratio_at_least(0.97)},
              [](Row& row) { registered(row, false); });
    bench.row({.name = "pipeline_first", .what = "the same, first run of a pipeline, tuning included", .unit = "GB/s",
               .base = "1 GiB each way at once, nothing else", .target = ratio_at_least(0.9)},
              [](Row& row) { registered(row, true); });
    bench.row({.name = "pipeline_times",
               .what = "the first of these with GPU times taken (GPO_PIPELINE_TIMES)",
               .unit = "GB/s",
               .base = "1 GiB each way at once, nothing else"},
              [](Row& row) { registered(row, false, GPO_PIPELINE_TIMES); });
    bench.row({.name = "pipeline_pageable", .what = "the same from pageable memory to pageable memory", .unit = "GB/s",
               .base = "copy in, kernel, copy out, pageable", .target = ratio_at_least(2)},
              pageable);
    return bench.finish();
}
