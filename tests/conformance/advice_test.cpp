// Advice, through the public API: costs of a device, forms of a workload.
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/gpu.h"

using namespace gpo::test;

namespace {

std::vector<gpo_advice> rooms(size_t count) { return std::vector<gpo_advice>(count, sized<gpo_advice>()); }

gpo_workload short_kernels() {
    auto workload = sized<gpo_workload>();
    workload.flags = GPO_WORKLOAD_REPEATS;
    workload.launches = 100;
    workload.kernel_ns = 109'000;
    return workload;
}

}  // namespace

TEST_CASE("a device's costs are there without being measured, with its own multiprocessors") {
    Gpu gpu;
    auto properties = sized<gpo_device_properties>();
    REQUIRE_OK(gpo_device_get_properties(gpu.device, &properties));
    auto costs = sized<gpo_costs>();
    const uint64_t allocations = gpu.statistics().device_allocations;
    REQUIRE_OK(gpo_device_get_costs(gpu.device, 0, &costs));
    CHECK(costs.measured == 0);
    CHECK(costs.multiprocessors == static_cast<uint32_t>(properties.multiprocessors));
    CHECK(costs.launch_ns == 3'300);
    CHECK(costs.memory_rate > 0);
    CHECK(costs.operation_rate > 0);
    CHECK(gpu.statistics().device_allocations == allocations);
}

TEST_CASE("a probe measures launches, graphs and copies, and leaves nothing behind") {
    Gpu gpu;
    auto known = sized<gpo_costs>(), costs = sized<gpo_costs>();
    REQUIRE_OK(gpo_device_get_costs(gpu.device, 0, &known));
    REQUIRE_OK(gpo_device_get_costs(gpu.device, GPO_COSTS_PROBE, &costs));
    CHECK(costs.measured == 1);
    for (const uint64_t time : {costs.launch_ns, costs.wait_ns, costs.decision_ns, costs.graph_launch_ns,
                                costs.graph_node_ns, costs.copy_ns}) {
        CHECK(time >= 1);
        CHECK(time < 1'000'000'000);
    }
    CHECK(costs.wait_ns >= costs.launch_ns);
    for (const uint64_t rate : {costs.copy_in_rate, costs.copy_out_rate, costs.copy_both_rate}) CHECK(rate > 1'000'000);
    CHECK(costs.claims_per_second == known.claims_per_second);
    CHECK(costs.multiprocessors == known.multiprocessors);
    // The probe's allocations are freed: none of them counts as the program's memory.
    REQUIRE_OK(gpo_device_wait(gpu.device, kPatience));
    REQUIRE_OK(gpo_device_get_costs(gpu.device, GPO_COSTS_PROBE, &costs));
    auto workload = short_kernels();
    workload.costs = &costs;
    auto advice = rooms(1);
    uint64_t count = 0;
    REQUIRE_OK(gpo_advise(gpu.device, &workload, nullptr, advice.data(), sizeof advice[0], 1, &count));
    CHECK(count == 1);
}

TEST_CASE("short kernels that repeat are advised to become a graph, with the gain and the reason") {
    Gpu gpu;
    const auto workload = short_kernels();
    auto diagnosis = sized<gpo_diagnosis>();
    auto advice = rooms(16);
    uint64_t count = 0;
    for (const gpo_device_t device : {gpu.device, gpo_device_t{nullptr}}) {
        REQUIRE_OK(gpo_advise(device, &workload, &diagnosis, advice.data(), sizeof advice[0], advice.size(), &count));
        REQUIRE(count >= 2);
        CHECK(advice[0].form == GPO_FORM_GRAPH);
        CHECK(advice[0].gain_low > 1'500);
        CHECK(advice[0].gain_high >= advice[0].gain_low);
        CHECK(advice[0].host_calls == 1);
        CHECK(std::string(advice[0].reason).find("100 calls") != std::string::npos);
        CHECK(diagnosis.bound == GPO_BOUND_LAUNCH);
        CHECK(diagnosis.round_ns == 330'000);
        bool leave = false;
        for (uint64_t i = 0; i < count; ++i) leave |= advice[i].form == GPO_FORM_LEAVE;
        CHECK(leave);
    }
}

TEST_CASE("costs of the program's own replace the device's") {
    auto costs = sized<gpo_costs>();
    costs.launch_ns = 500;
    auto workload = short_kernels();
    workload.costs = &costs;
    auto advice = rooms(16);
    uint64_t count = 0;
    auto diagnosis = sized<gpo_diagnosis>();
    REQUIRE_OK(gpo_advise(nullptr, &workload, &diagnosis, advice.data(), sizeof advice[0], advice.size(), &count));
    CHECK(diagnosis.launch_ns == 50'000);
    CHECK(diagnosis.bound == GPO_BOUND_KERNEL);
    costs.reserved = 1;
    CHECK_STATUS(GPO_INVALID_ARGUMENT,
                 gpo_advise(nullptr, &workload, nullptr, advice.data(), sizeof advice[0], advice.size(), &count));
    costs.reserved = 0;
    costs.struct_size = 3;
    CHECK_STATUS(GPO_INVALID_ARGUMENT,
                 gpo_advise(nullptr, &workload, nullptr, advice.data(), sizeof advice[0], advice.size(), &count));
}

TEST_CASE("an array of advice may have any stride and any room, and is written as a whole or not at all") {
    const auto workload = short_kernels();
    struct Wide {
        gpo_advice advice;
        uint64_t own;
    };
    std::vector<Wide> wide(3, {sized<gpo_advice>(), 4711});
    uint64_t count = 99;
    REQUIRE_OK(gpo_advise(nullptr, &workload, nullptr, &wide[0].advice, sizeof(Wide), 2, &count));
    CHECK(count == 2);
    for (const Wide& one : wide) CHECK(one.own == 4711);
    CHECK(wide[1].advice.form != 0);
    CHECK(wide[2].advice.form == 0);

    // An older caller's struct, which ends behind `batch`.
    constexpr uint32_t kOld = offsetof(gpo_advice, gain_low);
    auto old = rooms(2);
    for (gpo_advice& one : old) one.struct_size = kOld, one.gain_low = 4711;
    REQUIRE_OK(gpo_advise(nullptr, &workload, nullptr, old.data(), sizeof old[0], 2, &count));
    CHECK(old[0].form == GPO_FORM_GRAPH);
    CHECK(old[0].gain_low == 4711);
    CHECK(old[0].struct_size == kOld);

    REQUIRE_OK(gpo_advise(nullptr, &workload, nullptr, nullptr, 0, 0, &count));
    CHECK(count == 0);

    auto bad = rooms(2);
    bad[1].struct_size = 7;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_advise(nullptr, &workload, nullptr, bad.data(), sizeof bad[0], 2, &count));
    bad[1].struct_size = sizeof bad[1] + 8;  // larger than the stride
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_advise(nullptr, &workload, nullptr, bad.data(), sizeof bad[0], 2, &count));
    CHECK(bad[0].form == 0);
    for (const uint64_t stride : {uint64_t{0}, uint64_t{3}, sizeof(gpo_advice) - 1, UINT64_MAX})
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_advise(nullptr, &workload, nullptr, old.data(), stride, 2, &count));
}

TEST_CASE("an error of advice names the figure") {
    auto workload = short_kernels();
    workload.order = 17;
    uint64_t count = 0;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_advise(nullptr, &workload, nullptr, nullptr, 0, 0, &count));
    auto error = sized<gpo_error>();
    gpo_last_error(&error);
    CHECK(std::string(error.message).find("workload.order is 17") != std::string::npos);
}

TEST_CASE("a trace of the library is read back: what ran, and what would change it") {
    Gpu gpu;
    const Folder folder;
    for (const char* name : {"trace.json", "trace.json.gz"}) {
        INFO(name);
        const std::string path = folder / name;
        auto options = sized<gpo_trace_options>();
        options.path = path.c_str();
        Kernel kernel = gpu.kernel("extern \"C\" __global__ void nothing() {}", "nothing");
        Stream stream = gpu.stream("work");
        Memory memory(gpu, 1 << 16);
        Pinned<char> host = gpu.pinned<char>(1 << 16);
        REQUIRE_OK(gpo_trace_start(gpu.runtime, &options));
        for (int i = 0; i < 50; ++i) {
            REQUIRE_OK(gpo_copy_to_device(stream, memory, host.data(), 1 << 16));
            REQUIRE_OK(launch(stream, kernel, 1, 1));
            REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        }
        REQUIRE_OK(gpo_trace_stop(gpu.runtime));
        size_t needed = 0;
        REQUIRE_OK(gpo_advise_trace(path.c_str(), nullptr, nullptr, 0, &needed));
        std::string text(needed, '\0');
        auto workload = sized<gpo_workload>();
        REQUIRE_OK(gpo_advise_trace(path.c_str(), &workload, text.data(), text.size(), &needed));
        text.resize(needed - 1);
        INFO(text);
        CHECK(text.find("from the first operation to the last, most of it ") != std::string::npos);
        CHECK(text.find("the sequence of 2 operations repeats, 50 times") != std::string::npos);
        CHECK(text.find("what would change it:\n    1. ") != std::string::npos);
        CHECK(text.find("ends early") == std::string::npos);
        CHECK(workload.launches == 1);
        CHECK(workload.copies == 1);
        CHECK(workload.copy_in_bytes == 1 << 16);
        CHECK((workload.flags & GPO_WORKLOAD_REPEATS) != 0);
        // Advice about the workload is available at once.
        auto advice = rooms(1);
        uint64_t count = 0;
        REQUIRE_OK(gpo_advise(gpu.device, &workload, nullptr, advice.data(), sizeof advice[0], 1, &count));
        CHECK(count == 1);

        char small[8];
        workload.launches = 4711;
        CHECK_STATUS(GPO_BUFFER_TOO_SMALL, gpo_advise_trace(path.c_str(), &workload, small, sizeof small, &needed));
        CHECK(workload.launches == 4711);
    }
    size_t needed = 0;
    CHECK_STATUS(GPO_NOT_FOUND, gpo_advise_trace((folder / "none.json").c_str(), nullptr, nullptr, 0, &needed));
    CHECK_STATUS(GPO_IO_ERROR, gpo_advise_trace(folder.path.c_str(), nullptr, nullptr, 0, &needed));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_advise_trace("/proc/self/cmdline", nullptr, nullptr, 0, &needed));
}
