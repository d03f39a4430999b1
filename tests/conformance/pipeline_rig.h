// Shared by the pipeline tests: a kernel that complements bytes and adds them up, and the structs around it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/gpu.h"
#include "support/pipeline_ends.h"

namespace gpo::test {

/// out = ~in; result: sum of the input bytes, index of the chunk, offset of the chunk.
inline const char* const kComplement = R"(
extern "C" __global__ void complement(const unsigned char *in, unsigned char *out, unsigned long long *result,
                                      unsigned long long bytes, unsigned long long index, unsigned long long offset) {
    const unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    const unsigned long long piece = (bytes + threads - 1) / threads;
    const unsigned long long begin = (blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x) * piece;
    unsigned long long sum = 0;
    for (unsigned long long i = begin; i < begin + piece && i < bytes; ++i) {
        out[i] = ~in[i];
        sum += in[i];
    }
    atomicAdd(&result[0], sum);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        result[1] += index;
        result[2] += offset;
    }
}
)";

inline gpo_stage_argument argument(uint32_t kind) {
    auto value = sized<gpo_stage_argument>();
    value.kind = kind;
    return value;
}

template <class T>
gpo_stage_argument constant(const T& what) {
    auto value = sized<gpo_stage_argument>();
    value.kind = GPO_ARGUMENT_VALUE;
    value.value = &what;
    value.bytes = sizeof(T);
    return value;
}

/// Options of a pipeline with one stage, the kernel above.
struct ComplementOptions {
    explicit ComplementOptions(Gpu& gpu) : kernel(gpu.kernel(kComplement, "complement")) {
        arguments = {argument(GPO_ARGUMENT_INPUT),       argument(GPO_ARGUMENT_OUTPUT), argument(GPO_ARGUMENT_RESULT),
                     argument(GPO_ARGUMENT_INPUT_BYTES), argument(GPO_ARGUMENT_INDEX),  argument(GPO_ARGUMENT_OFFSET)};
        stage.kind = GPO_STAGE_KERNEL;
        stage.kernel = kernel;
        stage.block[0] = 64;
        stage.bytes_per_block = 4096;
        stage.max_blocks = 64;
        stage.arguments = arguments.data();
        stage.argument_stride = sizeof(gpo_stage_argument);
        stage.argument_count = static_cast<uint32_t>(arguments.size());
        options.stages = &stage;
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = 1;
        options.result_bytes = 24;
    }
    ComplementOptions(const ComplementOptions&) = delete;

    Pipeline create(Gpu& gpu) const {
        Pipeline pipeline;
        REQUIRE_OK(gpo_pipeline_create(gpu.device, &options, pipeline.out()));
        return pipeline;
    }

    Kernel kernel;
    std::vector<gpo_stage_argument> arguments;
    gpo_stage stage = sized<gpo_stage>();
    gpo_pipeline_options options = sized<gpo_pipeline_options>();
};

inline std::vector<uint8_t> noise(size_t bytes, uint32_t seed = 1) {
    std::vector<uint8_t> data(bytes);
    for (uint8_t& byte : data) byte = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
    return data;
}

inline std::vector<uint8_t> complement(std::vector<uint8_t> data) {
    for (uint8_t& byte : data) byte = static_cast<uint8_t>(~byte);
    return data;
}

/// Starts a run and waits for its end.
inline gpo_status run(gpo_pipeline_t pipeline, const gpo_source& source, const gpo_sink& sink,
                      gpo_pipeline_result* result = nullptr) {
    if (const gpo_status status = gpo_pipeline_start(pipeline, &source, &sink)) return status;
    return gpo_pipeline_wait(pipeline, kPatience, result);
}

inline void write_file(const std::string& path, const std::vector<uint8_t>& data) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
    REQUIRE(file.good());
}

inline std::vector<uint8_t> read_file(const std::string& path) {
    REQUIRE(access(path.c_str(), R_OK) == 0);
    const std::string whole = read_whole(path);
    return {whole.begin(), whole.end()};
}

}  // namespace gpo::test
