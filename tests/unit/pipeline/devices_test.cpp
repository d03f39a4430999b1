// A pipeline's speed-up on several devices, in virtual time: the software GPU's engines have an H200's rates, and the
// clock is the deterministic scheduler's, so the answer is the same on every machine.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "gpuorch/gpuorch.h"
#include "softgpu/machine/rates.h"
#include "support/owned.h"
#include "support/pipeline_ends.h"
#include "support/setting.h"
#include "support/soft.h"

namespace {

using namespace gpo::test;

constexpr uint64_t kChunk = uint64_t{128} << 10, kChunks = 512, kKernel = 300'000;  // ns

struct Stage {
    std::vector<gpo_kernel_t> kernels;
    std::vector<uint32_t> times;   // kernel runs per chunk, for each device
};

/// Launches the kernel as often as its device's entry in `times` says.
gpo_status enqueue(void* user, gpo_stream_t stream, const gpo_chunk* chunk) {
    const auto& stage = *static_cast<const Stage*>(user);
    const uint64_t words = 1024;   // the model's time is what counts
    const void* arguments[] = {&chunk->output_address, &chunk->input_address, &words};
    const uint32_t sizes[] = {8, 8, 8};
    auto shape = sized<gpo_launch>();
    shape.grid[0] = 1;
    shape.block[0] = 64;
    for (uint32_t i = 0; i < stage.times[chunk->device]; ++i)
        if (const gpo_status status =
                gpo_stream_launch_kernel(stream, stage.kernels[chunk->device], &shape, arguments, sizes, 3))
            return status;
    return GPO_SUCCESS;
}

/// Nanoseconds of a run over as many devices as `times` has elements.
uint64_t run(const std::vector<uint32_t>& times, bool pinned) {
    const auto count = static_cast<uint32_t>(times.size());
    const Setting devices_there("GPUORCH_SOFT_DEVICES", std::to_string(count));
    const gpo_runtime_t runtime = make_soft_runtime(1);
    std::vector<Device> devices(count);
    std::vector<Module> modules(count);
    std::vector<Kernel> kernels(count);
    Stage staged{{}, times};
    for (uint32_t i = 0; i < count; ++i) {
        auto options = sized<gpo_device_options>();
        options.ordinal = i;
        REQUIRE(gpo_device_open(runtime, &options, devices[i].out()) == GPO_SUCCESS);
        REQUIRE(gpo_module_load_builtin(devices[i], modules[i].out()) == GPO_SUCCESS);
        REQUIRE(gpo_module_get_kernel(modules[i], "gpo_copy_u32", kernels[i].out()) == GPO_SUCCESS);
        staged.kernels.push_back(kernels[i]);
    }
    gpo::softgpu::Rates rates;
    rates.h2d_bytes_per_s = rates.d2h_bytes_per_s = 50.8e9;  // LIMITS.md
    rates.copy_launch_ns = 1500;
    rates.kernel_ns = kKernel;
    gpo::softgpu::set_rates(rates);
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = enqueue;
    stage.user = &staged;
    const std::vector<gpo_device_t> handles(devices.begin(), devices.end());
    auto options = sized<gpo_pipeline_options>();
    options.stages = &stage;
    options.stage_stride = sizeof stage;
    options.stage_count = 1;
    options.chunk_bytes = kChunk;
    options.devices = handles.data();
    options.device_count = count;
    Pipeline pipeline;
    REQUIRE(gpo_pipeline_create(devices[0], &options, pipeline.out()) == GPO_SUCCESS);
    std::vector<char> data(kChunk * kChunks);
    if (pinned) REQUIRE(gpo_host_register(devices[0], data.data(), data.size(), 0) == GPO_SUCCESS);
    const gpo_source source = from_memory(data.data(), data.size());
    const gpo_sink sink = to_nothing();
    auto result = sized<gpo_pipeline_result>();
    for (int again = 0; again < 2; ++again) {
        REQUIRE(gpo_pipeline_start(pipeline, &source, &sink) == GPO_SUCCESS);
        REQUIRE(gpo_pipeline_wait(pipeline, -1, &result) == GPO_SUCCESS);
    }
    if (pinned) CHECK(gpo_host_unregister(devices[0], data.data()) == GPO_SUCCESS);
    gpo::softgpu::set_rates({});
    pipeline.reset();
    kernels.clear();
    modules.clear();
    devices.clear();
    CHECK(gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS);
    return result.elapsed_ns;
}

}  // namespace

TEST_CASE("N devices are 0.97 N times as fast as one where the kernels take the time") {
    for (const bool pinned : {true, false}) {
        const auto one = static_cast<double>(run({1}, pinned));
        for (const uint32_t count : {2u, 4u, 8u}) {
            CAPTURE(pinned);
            CAPTURE(count);
            const auto all = static_cast<double>(run(std::vector<uint32_t>(count, 1), pinned));
            MESSAGE("as fast as ", one / all, " devices");
            CHECK(one >= 0.97 * count * all);
        }
    }
}

TEST_CASE("devices of unlike speeds share the chunks so that none waits for long") {
    const std::vector<uint32_t> unlike[] = {{1, 2}, {2, 1}, {3, 1, 1}, {1, 2, 3, 4}};
    for (const auto& times : unlike) {
        double speeds = 0;
        for (const uint32_t time : times) speeds += 1.0 / time;
        const auto all = static_cast<double>(run(times, true));
        const double share = static_cast<double>(kChunks * kKernel) / (all * speeds);
        MESSAGE(times.size(), " devices reach ", share, " of their speeds' sum");
        CHECK(share >= 0.97);
    }
}
