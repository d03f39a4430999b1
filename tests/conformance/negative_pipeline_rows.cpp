// The rows of pipelines in the table of refused calls.
#include "negative.h"

namespace gpo::test {

namespace {

using Arguments = std::vector<gpo_stage_argument>;

/// A pipeline of one kernel, with something changed.
gpo_status create(World& w, const std::function<void(gpo_pipeline_options&, gpo_stage&, Arguments&)>& change) {
    gpo_pipeline_options options = w.complement.options;
    gpo_stage stage = w.complement.stage;
    Arguments arguments = w.complement.arguments;
    options.stages = &stage;
    stage.arguments = arguments.data();
    change(options, stage, arguments);
    Pipeline pipeline;
    return gpo_pipeline_create(w.gpu.device, &options, pipeline.out());
}

gpo_status start(World& w, const std::function<void(gpo_source&, gpo_sink&)>& change) {
    gpo_source source = from_memory(w.pinned.data(), 4096);
    gpo_sink sink = to_nothing();
    change(source, sink);
    return gpo_pipeline_start(w.pipeline, &source, &sink);
}

// clang-format off
std::vector<Row> option_rows() {
    const auto options = [](std::string wrong, void (*change)(gpo_pipeline_options&)) {
        return Row{"gpo_pipeline_create", std::move(wrong), GPO_INVALID_ARGUMENT,
                   [=](World& w) { return create(w, [=](auto& o, auto&, auto&) { change(o); }); }};
    };
    return {
        options("no stage", [](auto& o) { o.stage_count = 0; }),
        options("stages at NULL", [](auto& o) { o.stages = nullptr; }),
        options("a stride of 0", [](auto& o) { o.stage_stride = 0; }),
        options("a stride that is less than a stage", [](auto& o) { o.stage_stride = sizeof(gpo_stage) - 8; }),
        options("a stride that isn't aligned", [](auto& o) { o.stage_stride = sizeof(gpo_stage) + 4; }),
        options("a stride past the end of addresses", [](auto& o) { o.stage_stride = uint64_t{0} - 8; }),
        options("65 stages", [](auto& o) { o.stage_count = 65; }),
        options("an unknown flag", [](auto& o) { o.flags = 2; }),
        options("a chunk that is no multiple of the granule", [](auto& o) { o.chunk_bytes = 4097; }),
        options("a chunk as large as the address space", [](auto& o) { o.chunk_bytes = uint64_t{0} - 4096; }),
        options("too many slots", [](auto& o) { o.slots = UINT32_MAX; }),
        options("output divided by 0", [](auto& o) { o.output_numerator = 1; }),
        options("output 2^32 times the input", [](auto& o) { o.output_numerator = UINT32_MAX, o.output_denominator = 1; }),
        options("a result above 1 MiB", [](auto& o) { o.result_bytes = (1 << 20) + 1; }),
        options("scratch of 2^63", [](auto& o) { o.scratch_bytes = uint64_t{1} << 63; }),
        options("a granule of 2^63", [](auto& o) { o.granule = uint64_t{1} << 63; }),
        options("devices without their number", [](auto& o) { o.device_count = 2; }),
        options("65 devices", [](auto& o) {
            static const gpo_device_t none[65] = {};
            o.devices = none, o.device_count = 65; }),
        options("something in a reserved field", [](auto& o) { o.reserved = 1; }),
    };
}

std::vector<Row> stage_rows() {
    const auto stage = [](std::string wrong, void (*change)(gpo_stage&), Needs needs = Needs::nothing,
                          gpo_status expected = GPO_INVALID_ARGUMENT) {
        return Row{"gpo_pipeline_create", std::move(wrong), expected,
                   [=](World& w) { return create(w, [=](auto&, auto& s, auto&) { change(s); }); }, needs};
    };
    return {
        stage("a kernel and a list of kernels", [](auto& s) { s.kernels = &s.kernel; }),
        stage("a stage of kind 0", [](auto& s) { s.kind = 0; }),
        stage("a stage of an unknown kind", [](auto& s) { s.kind = 3; }),
        stage("a kernel stage without its kernel", [](auto& s) { s.kernel = nullptr; }, Needs::nothing, GPO_INVALID_HANDLE),
        stage("a callback stage without its callback", [](auto& s) { s.kind = GPO_STAGE_CALLBACK; }),
        stage("a struct that ends inside a pointer",
              [](auto& s) { s.struct_size = offsetof(gpo_stage, enqueue) + 4; }),
        stage("arguments at NULL", [](auto& s) { s.arguments = nullptr; }),
        stage("arguments that aren't aligned", [](auto& s) {
            s.arguments = reinterpret_cast<const gpo_stage_argument*>(reinterpret_cast<uintptr_t>(s.arguments) + 4); }),
        stage("a stride of 0", [](auto& s) { s.argument_stride = 0; }),
        stage("a stride that is less than an argument",
              [](auto& s) { s.argument_stride = sizeof(gpo_stage_argument) - 8; }),
        stage("a stride that isn't aligned", [](auto& s) { s.argument_stride = sizeof(gpo_stage_argument) + 4; }),
        stage("strides that add up past the end of addresses", [](auto& s) { s.argument_stride = uint64_t{1} << 62; }),
        stage("a block of 2^20 threads", [](auto& s) { s.block[0] = 1 << 20; }),
        stage("too few arguments", [](auto& s) { --s.argument_count; }, Needs::kernel_parameters),
    };
}

std::vector<Row> argument_rows() {
    const auto arguments = [](std::string wrong, void (*change)(Arguments&), Needs needs = Needs::nothing) {
        return Row{"gpo_pipeline_create", std::move(wrong), GPO_INVALID_ARGUMENT,
                   [=](World& w) { return create(w, [=](auto&, auto&, auto& a) { change(a); }); }, needs};
    };
    return {
        arguments("a value of another size than the parameter", [](auto& a) {
            a[0].kind = GPO_ARGUMENT_VALUE, a[0].value = "1234567", a[0].bytes = 4; }, Needs::kernel_parameters),
        arguments("an argument of an unknown kind", [](auto& a) { a[0].kind = 9; }),
        arguments("a value at NULL", [](auto& a) { a[0].kind = GPO_ARGUMENT_VALUE, a[0].bytes = 8; }),
        arguments("an argument that ends inside a pointer", [](auto& a) { a[1].struct_size = 12; }),
    };
}

std::vector<Row> never_started_rows() {
    return {
        {"gpo_pipeline_wait", "never started", GPO_INVALID_STATE,
            [](World& w) { return gpo_pipeline_wait(w.pipeline, 0, nullptr); }},
        {"gpo_pipeline_notify", "never started", GPO_INVALID_STATE,
            [](World& w) { return gpo_pipeline_notify(w.pipeline, w.queue, 1); }},
    };
}

std::vector<Row> source_rows() {
    const auto source = [](std::string wrong, void (*change)(gpo_source&), gpo_status expected = GPO_INVALID_ARGUMENT) {
        return Row{"gpo_pipeline_start", std::move(wrong), expected,
                   [=](World& w) { return start(w, [=](auto& s, auto&) { change(s); }); }};
    };
    return {
        {"gpo_pipeline_start", "no source and no sink", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_pipeline_start(w.pipeline, nullptr, nullptr); }},
        source("a source of no kind", [](auto& s) { s.kind = 0; }),
        source("memory at NULL", [](auto& s) { s.memory = nullptr; }),
        source("memory past the end of numbers", [](auto& s) { s.bytes = UINT64_MAX; }),
        source("a source callback that is NULL", [](auto& s) { s.kind = GPO_SOURCE_CALLBACK; }),
        source("unknown flags of the source", [](auto& s) { s.flags = 4; }),
        source("memory with the flag of descriptors", [](auto& s) { s.flags = GPO_SOURCE_USE_DESCRIPTOR; }),
        source("a file with no path", [](auto& s) { s.kind = GPO_SOURCE_FILE; }),
        source("unknown flags of a file", [](auto& s) { s.kind = GPO_SOURCE_FILE, s.path = "/dev/null", s.flags = 0x80000001; }),
        source("memory that has to stay unchanged", [](auto& s) { s.flags = GPO_SOURCE_UNCHANGED; }),
        source("a callback that has to stay unchanged", [](auto& s) {
            s.kind = GPO_SOURCE_CALLBACK, s.flags = GPO_SOURCE_UNCHANGED;
            s.fill = [](void*, void*, uint64_t, uint64_t*) -> gpo_status { return GPO_END; }; }),
        source("a file that isn't there", [](auto& s) { s.kind = GPO_SOURCE_FILE, s.path = "/nonexistent/file"; }, GPO_NOT_FOUND),
        {"gpo_pipeline_start", "device memory as the source", GPO_INVALID_ARGUMENT, [](World& w) {
             return start(w, [&](auto& s, auto&) { s.memory = reinterpret_cast<const void*>(uint64_t{w.memory}); }); }},
    };
}

std::vector<Row> sink_rows() {
    const auto sink = [](std::string wrong, void (*change)(gpo_sink&)) {
        return Row{"gpo_pipeline_start", std::move(wrong), GPO_INVALID_ARGUMENT,
                   [=](World& w) { return start(w, [=](auto&, auto& s) { change(s); }); }};
    };
    return {
        sink("a sink of no kind", [](auto& s) { s.kind = 9; }),
        sink("a kind of sink after the last", [](auto& s) { s.kind = 4; }),
        sink("a sink in memory at NULL", [](auto& s) { s.kind = GPO_SINK_MEMORY, s.bytes = 1; }),
        sink("a sink callback that is NULL", [](auto& s) { s.kind = GPO_SINK_CALLBACK; }),
        sink("unknown flags of the sink", [](auto& s) { s.kind = GPO_SINK_FILE, s.path = "/dev/null", s.flags = 2; }),
        sink("no sink with the flag of descriptors", [](auto& s) { s.flags = GPO_SINK_USE_DESCRIPTOR; }),
        sink("a file with no path", [](auto& s) { s.kind = GPO_SINK_FILE; }),
    };
}
// clang-format on

}  // namespace

std::vector<Row> pipeline_rows() {
    std::vector<Row> rows;
    for (const auto part : {option_rows, stage_rows, argument_rows, never_started_rows, source_rows, sink_rows})
        for (Row& row : part()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace gpo::test
