// A pipeline's time compared with its busiest engine, in virtual time: the software GPU's engines have an H200's rates,
// and the clock is the deterministic scheduler's, so the answer is the same on every machine.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "gpuorch/gpuorch.h"
#include "softgpu/machine/rates.h"
#include "support/pipeline_ends.h"
#include "support/soft.h"

namespace {

using namespace gpo::test;

constexpr uint64_t kBytes = uint64_t{128} << 20;
constexpr double kCopyRate = 50.8e9;  // bytes/s each way, both at once: LIMITS.md

/// Runs once over kBytes; times in nanoseconds. Copies run at an H200's rates; the kernel takes `kernel_ns` per chunk.
struct Outcome {
    gpo_pipeline_result first, second;
};

Outcome run(uint64_t seed, uint64_t chunk, bool pinned, uint64_t kernel_ns) {
    const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed);
    gpo_device_t device = nullptr;
    REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
    gpo::softgpu::Rates rates;
    rates.h2d_bytes_per_s = rates.d2h_bytes_per_s = kCopyRate;
    rates.copy_launch_ns = 1500;
    rates.kernel_ns = kernel_ns;
    gpo::softgpu::set_rates(rates);

    gpo_module_t module = nullptr;
    gpo_kernel_t kernel = nullptr;
    REQUIRE(gpo_module_load_builtin(device, &module) == GPO_SUCCESS);
    REQUIRE(gpo_module_get_kernel(module, "gpo_copy_u32", &kernel) == GPO_SUCCESS);
    const uint64_t words = 1024;  // of each chunk: the model's time is what counts
    gpo_stage_argument arguments[3] = {sized<gpo_stage_argument>(), sized<gpo_stage_argument>(),
                                       sized<gpo_stage_argument>()};
    arguments[0].kind = GPO_ARGUMENT_OUTPUT;
    arguments[1].kind = GPO_ARGUMENT_INPUT;
    arguments[2].kind = GPO_ARGUMENT_VALUE;
    arguments[2].value = &words;
    arguments[2].bytes = sizeof words;
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_KERNEL;
    stage.kernel = kernel;
    stage.block[0] = 64;
    stage.grid[0] = 1;
    stage.arguments = arguments;
    stage.argument_stride = sizeof(gpo_stage_argument);
    stage.argument_count = 3;
    auto options = sized<gpo_pipeline_options>();
    options.stages = &stage;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.chunk_bytes = chunk;
    options.flags = GPO_PIPELINE_TIMES;
    gpo_pipeline_t pipeline = nullptr;
    REQUIRE(gpo_pipeline_create(device, &options, &pipeline) == GPO_SUCCESS);

    std::vector<char> in(kBytes), out(kBytes);
    if (pinned) {
        REQUIRE(gpo_host_register(device, in.data(), in.size(), 0) == GPO_SUCCESS);
        REQUIRE(gpo_host_register(device, out.data(), out.size(), 0) == GPO_SUCCESS);
    }
    const gpo_source source = from_memory(in.data(), in.size());
    const gpo_sink sink = to_memory(out.data(), out.size());
    Outcome outcome{sized<gpo_pipeline_result>(), sized<gpo_pipeline_result>()};
    for (gpo_pipeline_result* result : {&outcome.first, &outcome.second}) {
        REQUIRE(gpo_pipeline_start(pipeline, &source, &sink) == GPO_SUCCESS);
        REQUIRE(gpo_pipeline_wait(pipeline, -1, result) == GPO_SUCCESS);
    }
    if (pinned) {
        CHECK(gpo_host_unregister(device, in.data()) == GPO_SUCCESS);
        CHECK(gpo_host_unregister(device, out.data()) == GPO_SUCCESS);
    }
    CHECK(gpo_pipeline_destroy(pipeline) == GPO_SUCCESS);
    CHECK(gpo_kernel_destroy(kernel) == GPO_SUCCESS);
    CHECK(gpo_module_destroy(module) == GPO_SUCCESS);
    gpo::softgpu::set_rates({});
    CHECK(gpo_device_close(device) == GPO_SUCCESS);
    CHECK(gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS);
    return outcome;
}

/// Nanoseconds that the busiest engine needs for the whole input.
double busiest(const gpo_pipeline_result& result, uint64_t kernel_ns) {
    const double chunks = static_cast<double>(result.chunks);
    const double copies = static_cast<double>(kBytes) / kCopyRate * 1e9 + chunks * 1500;
    return std::max(copies, chunks * static_cast<double>(kernel_ns));
}

}  // namespace

TEST_CASE("a pipeline takes at most a tenth longer than its busiest engine") {
    for (const bool pinned : {true, false})
        for (const uint64_t kernel_ns : {20'000ull, 300'000ull}) {  // first the copies are busiest, then the kernel
            CAPTURE(pinned);
            CAPTURE(kernel_ns);
            const Outcome outcome = run(1, uint64_t{4} << 20, pinned, kernel_ns);
            CHECK(static_cast<double>(outcome.second.elapsed_ns) <= 1.1 * busiest(outcome.second, kernel_ns));
            CHECK(outcome.second.copy_hidden_ns * 10 >= (outcome.second.copy_in_ns + outcome.second.copy_out_ns) * 9);
        }
}

TEST_CASE("a chunk size that was found by measuring is as good, and finding it is cheap") {
    const Outcome outcome = run(1, GPO_AUTO, true, 10'000);
    CHECK(outcome.first.tuned == 1);
    CHECK(outcome.second.tuned == 0);
    const double least = static_cast<double>(kBytes) / kCopyRate * 1e9;
    CHECK(static_cast<double>(outcome.first.elapsed_ns) <= least / 0.9);
    CHECK(static_cast<double>(outcome.second.elapsed_ns) <= least / 0.93);
}

TEST_CASE("the same seed gives the same run") {
    const Outcome one = run(5, uint64_t{4} << 20, false, 20'000), two = run(5, uint64_t{4} << 20, false, 20'000);
    CHECK(one.second.elapsed_ns == two.second.elapsed_ns);
    CHECK(one.second.copy_hidden_ns == two.second.copy_hidden_ns);
}
