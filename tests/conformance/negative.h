// The table of refused calls: its rows, and the objects they use.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pipeline_rig.h"
#include "support/gpu.h"

namespace gpo::test {

inline constexpr const char* kTwoParameters = R"(
extern "C" __global__ void two(unsigned *target, unsigned value) { *target = value; }
)";

/// Objects for the rows: one of everything, usable.
struct World {
    Gpu gpu;
    Stream stream = gpu.stream("stream"), wrapped, stream_there;
    Event event = gpu.event(), timing = gpu.event(GPO_EVENT_TIMING);
    Timeline timeline = gpu.timeline(5);
    Queue queue = gpu.queue(64);
    Kernel kernel = gpu.kernel(kTwoParameters, "two");
    Module module;
    Memory memory = gpu.memory(4096);
    Pinned<uint8_t> pinned = gpu.pinned<uint8_t>(4096);
    Arena arena;
    Pool pool;
    StreamPool streams;
    Pipeline pipeline;
    Template graph_template;  // of one fill, whose value is the parameter "value"
    Graph graph;
    ComplementOptions complement{gpu};
    Device second = gpu.second_device();   // none where there is one only
    gpo_device_properties properties = sized<gpo_device_properties>();
    uint64_t piece = 0;
    uint64_t number = 0;
    uint32_t word = 0;
    int64_t time = 0;
    void* pointer = nullptr;
    std::vector<uint8_t> pageable = std::vector<uint8_t>(4096);

    World() {
        REQUIRE_OK(gpo_device_get_properties(gpu.device, &properties));
        void* native = nullptr;
        REQUIRE_OK(gpo_stream_get_native(stream, &native));
        REQUIRE_OK(gpo_stream_wrap(gpu.device, native, nullptr, wrapped.out()));
        if (second) REQUIRE_OK(gpo_stream_create(second, nullptr, stream_there.out()));
        auto arena_options = sized<gpo_arena_options>();
        arena_options.max_bytes = 1 << 20;
        REQUIRE_OK(gpo_arena_create(gpu.device, &arena_options, arena.out()));
        auto pool_options = sized<gpo_pool_options>();
        pool_options.max_bytes = 1 << 20;
        REQUIRE_OK(gpo_pool_create(gpu.device, &pool_options, pool.out()));
        REQUIRE_OK(gpo_stream_pool_create(gpu.device, nullptr, streams.out()));
        REQUIRE_OK(gpo_module_load_builtin(gpu.device, module.out()));
        auto stage = sized<gpo_stage>();
        stage.kind = GPO_STAGE_CALLBACK;
        stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) -> gpo_status { return GPO_SUCCESS; };
        auto options = sized<gpo_pipeline_options>();
        options.chunk_bytes = 4096;
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = 1;
        options.stages = &stage;
        REQUIRE_OK(gpo_pipeline_create(gpu.device, &options, pipeline.out()));
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_create(gpu.device, nullptr, graph_template.out()));
        REQUIRE_OK(gpo_template_add_fill(graph_template, nullptr, 0, memory, 1, 4, 4, &node));
        REQUIRE_OK(gpo_template_add_parameter(graph_template, "value", node, GPO_PARAMETER_VALUE, 0));
        REQUIRE_OK(gpo_graph_create(graph_template, nullptr, graph.out()));
    }

    gpo_status launch(const std::function<void(gpo_launch&)>& change, uint32_t arguments = 2,
                      uint32_t second_size = 4) {
        auto shape = sized<gpo_launch>();
        shape.grid[0] = 1;
        shape.block[0] = 32;
        change(shape);
        uint64_t address = memory;
        const void* pointers[] = {&address, &word, &word};
        const uint32_t sizes[] = {8, second_size, 4};
        return gpo_stream_launch_kernel(stream, kernel, &shape, pointers, sizes, arguments);
    }
};

/// A feature that a device or a driver may lack. Without the feature the row can't be tried.
enum class Needs { nothing, kernel_parameters, cooperative_launches, clusters, second_device };

struct Row {
    std::string function;
    std::string wrong;
    gpo_status expected;
    std::function<gpo_status(World&)> call;
    Needs needs = Needs::nothing;
    std::string says = {};   // text that the message must contain
};

const std::vector<Row>& negative_rows();
std::vector<Row> pipeline_rows();
/// All rows that can be tried on this device and driver. The others are counted as skipped.
std::vector<Row> rows_for(World& world);

}  // namespace gpo::test
