// Calls that must be refused: one table, one status a row, the same on every device. tests/abi makes the tests of bad
// handles, NULL pointers and struct sizes from the headers.
#include <functional>
#include <string>
#include <vector>

#include "negative.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

const uint64_t kHuge = UINT64_MAX;

gpo_status copy_batch(World& w, uint64_t stride, uint64_t count, uint64_t bytes, uint32_t struct_size, uint32_t flags) {
    gpo_copy copy{struct_size, flags, w.memory, w.pinned.address(), bytes};
    return gpo_copy_batch(w.stream, &copy, stride, count);
}

gpo_status copy_rows(World& w, uint64_t width, uint64_t height, uint64_t destination_pitch, uint64_t source_pitch) {
    auto copy = sized<gpo_copy_2d>();
    copy.destination = w.memory;
    copy.source = w.pinned.address();
    copy.width = width;
    copy.height = height;
    copy.destination_pitch = destination_pitch;
    copy.source_pitch = source_pitch;
    return gpo_copy_rows(w.stream, &copy);
}

/// A good setting and a changed one, given to either of the functions that take settings.
gpo_status set(World& w, bool launch, const std::function<void(gpo_setting&)>& change,
               uint64_t stride = sizeof(gpo_setting), uint64_t count = 2) {
    gpo_setting settings[2];
    for (gpo_setting& setting : settings) {
        setting = sized<gpo_setting>();
        setting.name = "value";
        setting.value = &w.word;
        setting.bytes = sizeof w.word;
    }
    change(settings[1]);
    return launch ? gpo_template_launch(w.graph_template, w.stream, settings, stride, count)
                  : gpo_graph_set_all(w.graph, settings, stride, count);
}

gpo_status compile(World& w, const std::function<void(gpo_compile_options&)>& change) {
    auto options = sized<gpo_compile_options>();
    options.source = kTwoParameters;
    change(options);
    Module module;
    return gpo_module_compile(w.gpu.device, &options, module.out());
}

// clang-format off
/// Runtimes and devices.
std::vector<Row> device_rows() {
    return {
        {"gpo_runtime_create", "a completion mode that isn't one", GPO_INVALID_ARGUMENT, [](World&) {
             auto options = sized<gpo_runtime_options>(); options.completion_mode = 7; gpo_runtime_t runtime;
             return gpo_runtime_create(&options, &runtime); }},
        {"gpo_runtime_create", "a log level that isn't one", GPO_INVALID_ARGUMENT, [](World&) {
             auto options = sized<gpo_runtime_options>(); options.log_level = 99; gpo_runtime_t runtime;
             return gpo_runtime_create(&options, &runtime); }},
        {"gpo_runtime_create", "deterministic beside another runtime", GPO_INVALID_STATE, [](World&) {
             auto options = sized<gpo_runtime_options>(); options.device = "soft"; options.schedule_seed = 1;
             gpo_runtime_t runtime; return gpo_runtime_create(&options, &runtime); }},
        {"gpo_device_open", "an ordinal that isn't there", GPO_NO_DEVICE, [](World& w) {
             auto options = sized<gpo_device_options>(); options.ordinal = 64; Device device;
             return gpo_device_open(w.gpu.runtime, &options, device.out()); }},
        {"gpo_device_open", "reserved field set", GPO_INVALID_ARGUMENT, [](World& w) {
             auto options = sized<gpo_device_options>(); options.reserved = 1; Device device;
             return gpo_device_open(w.gpu.runtime, &options, device.out()); }},
        {"gpo_runtime_describe_device", "an ordinal that isn't there", GPO_NO_DEVICE, [](World& w) {
             auto p = sized<gpo_device_properties>(); return gpo_runtime_describe_device(w.gpu.runtime, UINT32_MAX, &p); }},
        {"gpo_device_get_limit", "a limit that isn't one", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_device_get_limit(w.gpu.device, 7, &w.number); }},

        {"gpo_device_set_limit", "a limit that isn't one", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_device_set_limit(w.gpu.device, 7, 4096); }},
        {"gpo_device_set_limit", "limit 0", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_device_set_limit(w.gpu.device, 0, 4096); }},
        {"gpo_runtime_describe_peer", "an ordinal that isn't there", GPO_NO_DEVICE, [](World& w) {
             auto p = sized<gpo_peer_properties>(); return gpo_runtime_describe_peer(w.gpu.runtime, 0, 64, &p); }},
    };
}

/// Events, timelines and streams.
std::vector<Row> order_rows() {
    return {
        {"gpo_event_get_elapsed", "an event without times", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_event_get_elapsed(w.event, w.timing, &w.time); }},
        {"gpo_event_record", "on a stream of another device", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_event_record(w.event, w.stream_there); }, Needs::second_device},
        {"gpo_event_get_elapsed", "never recorded", GPO_INVALID_STATE,
            [](World& w) { return gpo_event_get_elapsed(w.timing, w.timing, &w.time); }},
        {"gpo_stream_notify_timed", "since an event without times", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_stream_notify_timed(w.stream, w.queue, 1, w.event); }},
        {"gpo_stream_notify_timed", "since an event that was never recorded", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_stream_notify_timed(w.stream, w.queue, 1, w.timing); }},
        {"gpo_timeline_signal", "the value it has", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_timeline_signal(w.timeline, 5); }},
        {"gpo_stream_signal_timeline", "a value behind the one it has", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_stream_signal_timeline(w.stream, w.timeline, 4); }},
        {"gpo_stream_wait_timeline", "a wrapped stream, for a value that isn't there yet", GPO_NOT_SUPPORTED,
            [](World& w) { return gpo_stream_wait_timeline(w.wrapped, w.timeline, 6); }, Needs::nothing, "is wrapped"},
        {"gpo_timeline_fail", "with a success", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_timeline_fail(w.timeline, GPO_SUCCESS, nullptr); }},
        {"gpo_timeline_fail", "with a status below 50", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_timeline_fail(w.timeline, GPO_NO_DEVICE, nullptr); }},
        {"gpo_stream_pool_release", "a stream that isn't the pool's", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_stream_pool_release(w.streams, w.stream); }},
    };
}

/// Completion queues.
std::vector<Row> queue_rows() {
    return {
        {"gpo_cq_create", "more than 2^24 entries", GPO_INVALID_ARGUMENT, [](World& w) {
             auto options = sized<gpo_cq_options>(); options.capacity = (1 << 24) + 1; Queue queue;
             return gpo_cq_create(w.gpu.runtime, &options, queue.out()); }},
        {"gpo_cq_create", "reserved field set", GPO_INVALID_ARGUMENT, [](World& w) {
             auto options = sized<gpo_cq_options>(); options.reserved = 1; Queue queue;
             return gpo_cq_create(w.gpu.runtime, &options, queue.out()); }},
        {"gpo_cq_drain", "a stride too small", GPO_INVALID_ARGUMENT, [](World& w) {
             gpo_completion entry; return gpo_cq_drain(w.queue, &entry, 16, 1, &w.number); }},
        {"gpo_cq_drain", "a stride that ends inside a field", GPO_INVALID_ARGUMENT, [](World& w) {
             gpo_completion entry; return gpo_cq_drain(w.queue, &entry, offsetof(gpo_completion, gpu_ns) + 4, 1, &w.number); }},
        {"gpo_cq_drain", "stride times capacity overflows", GPO_INVALID_ARGUMENT, [](World& w) {
             gpo_completion entry; return gpo_cq_drain(w.queue, &entry, kHuge / 4, 8, &w.number); }},
        {"gpo_cq_get_error", "an id that isn't known", GPO_NOT_FOUND, [](World& w) {
             auto error = sized<gpo_error>(); return gpo_cq_get_error(w.queue, 77, &error); }},
    };
}

std::vector<Row> arena_rows() {
    return {
        {"gpo_arena_create", "reserved field set", GPO_INVALID_ARGUMENT, [](World& w) {
             auto options = sized<gpo_arena_options>(); options.reserved = 1; Arena arena;
             return gpo_arena_create(w.gpu.device, &options, arena.out()); }},
        {"gpo_arena_allocate", "nothing", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_arena_allocate(w.arena, 0, 0, &w.pointer); }},
        {"gpo_arena_allocate", "an alignment that is no power of two", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_arena_allocate(w.arena, 64, 48, &w.pointer); }},
        {"gpo_arena_allocate", "an alignment above 1 MiB", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_arena_allocate(w.arena, 64, 2 << 20, &w.pointer); }},
        {"gpo_arena_allocate", "more than the cap", GPO_LIMIT_EXCEEDED,
            [](World& w) { return gpo_arena_allocate(w.arena, 2 << 20, 0, &w.pointer); }},
        {"gpo_arena_allocate", "all there is of numbers", GPO_LIMIT_EXCEEDED,
            [](World& w) { return gpo_arena_allocate(w.arena, kHuge, 0, &w.pointer); }},
        {"gpo_arena_allocate", "almost all there is of numbers", GPO_LIMIT_EXCEEDED,
            [](World& w) { return gpo_arena_allocate(w.arena, kHuge - 100, 1 << 20, &w.pointer); }},
        {"gpo_arena_free", "a pointer that isn't the arena's", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_arena_free(w.arena, w.pageable.data()); }},
        {"gpo_arena_free", "a piece of another arena", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_arena_free(w.arena, w.pinned.data()); }},
        {"gpo_arena_free_after", "a pointer that isn't the arena's", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_arena_free_after(w.arena, w.pageable.data(), w.stream); }},
    };
}

/// Host memory, device memory and pools.
std::vector<Row> memory_rows() {
    return {
        {"gpo_host_register", "nothing", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_host_register(w.gpu.device, w.pageable.data(), 0, 0); }},
        {"gpo_host_register", "unknown flags", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_host_register(w.gpu.device, w.pageable.data(), 4096, 0x80000000u); }},
        {"gpo_host_register", "past the end of numbers", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_host_register(w.gpu.device, w.pageable.data(), kHuge - 10, 0); }},
        {"gpo_host_unregister", "not registered", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_host_unregister(w.gpu.device, w.pageable.data()); }},
        {"gpo_memory_allocate", "nothing", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_memory_allocate(w.gpu.device, 0, nullptr, &w.number); }},
        {"gpo_memory_allocate", "all there is of numbers", GPO_OUT_OF_MEMORY,
            [](World& w) { return gpo_memory_allocate(w.gpu.device, kHuge, nullptr, &w.number); }},
        {"gpo_memory_allocate", "2^50 bytes", GPO_OUT_OF_MEMORY,
            [](World& w) { return gpo_memory_allocate(w.gpu.device, 1ull << 50, nullptr, &w.number); }},
        {"gpo_memory_free", "inside an allocation", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_memory_free(w.gpu.device, w.memory + 256); }},
        {"gpo_memory_free", "host memory", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_memory_free(w.gpu.device, reinterpret_cast<uint64_t>(w.pageable.data())); }},
        {"gpo_pool_allocate", "nothing", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_pool_allocate(w.pool, w.stream, 0, &w.piece); }},
        {"gpo_pool_allocate", "more than the cap", GPO_LIMIT_EXCEEDED,
            [](World& w) { return gpo_pool_allocate(w.pool, w.stream, 2 << 20, &w.piece); }},
        {"gpo_pool_free", "not of the pool", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_pool_free(w.pool, w.stream, w.memory); }},
    };
}

std::vector<Row> copying_rows() {
    return {
        {"gpo_copy_to_device", "past the end of the allocation", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_copy_to_device(w.stream, w.memory + 4000, w.pinned.data(), 200); }},
        {"gpo_copy_to_device", "past the end of numbers", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_copy_to_device(w.stream, w.memory, w.pinned.data(), kHuge); }},
        {"gpo_copy_to_device", "to nowhere", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_copy_to_device(w.stream, 64, w.pinned.data(), 64); }},
        {"gpo_copy_to_host", "past the end of the allocation", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_copy_to_host(w.stream, w.pageable.data(), w.memory + 4000, 97); }},
        {"gpo_copy_on_device", "from nowhere", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_copy_on_device(w.stream, w.memory, 64, 64); }},
        {"gpo_copy_batch", "a stride too small", GPO_INVALID_ARGUMENT,
            [](World& w) { return copy_batch(w, 8, 1, 64, sizeof(gpo_copy), 0); }},
        {"gpo_copy_batch", "stride times count overflows", GPO_INVALID_ARGUMENT,
            [](World& w) { return copy_batch(w, kHuge / 2, 4, 64, sizeof(gpo_copy), 0); }},
        {"gpo_copy_batch", "a struct size of 0 in it", GPO_INVALID_ARGUMENT,
            [](World& w) { return copy_batch(w, sizeof(gpo_copy), 1, 64, 0, 0); }},
        {"gpo_copy_batch", "unknown flags in it", GPO_INVALID_ARGUMENT,
            [](World& w) { return copy_batch(w, sizeof(gpo_copy), 1, 64, sizeof(gpo_copy), 8); }},
        {"gpo_copy_batch", "past the end of the allocation", GPO_INVALID_ARGUMENT,
            [](World& w) { return copy_batch(w, sizeof(gpo_copy), 1, 5000, sizeof(gpo_copy), 0); }},
        {"gpo_copy_peer", "past the end of the destination", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_copy_peer(w.stream, w.gpu.device, w.memory + 4000, w.gpu.device, w.memory, 200); }},
        {"gpo_copy_peer", "past the end of the source", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_copy_peer(w.stream, w.gpu.device, w.memory, w.gpu.device, w.memory + 4000, 200); }},
        {"gpo_copy_peer", "past the end of numbers", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_copy_peer(w.stream, w.gpu.device, w.memory, w.gpu.device, w.memory, kHuge); }},
        {"gpo_copy_peer", "memory that isn't the device's", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_copy_peer(w.stream, w.second, w.memory, w.gpu.device, w.memory, 64); }, Needs::second_device},
        {"gpo_copy_rows", "a pitch below the width", GPO_INVALID_ARGUMENT,
            [](World& w) { return copy_rows(w, 64, 4, 32, 64); }},
        {"gpo_copy_rows", "rows past the end", GPO_INVALID_ARGUMENT,
            [](World& w) { return copy_rows(w, 64, 65, 64, 64); }},
        {"gpo_copy_rows", "pitch times height overflows", GPO_INVALID_ARGUMENT,
            [](World& w) { return copy_rows(w, 64, 1ull << 60, 1ull << 60, 64); }},
    };
}

std::vector<Row> filling_rows() {
    return {
        {"gpo_fill", "elements of three bytes", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_fill(w.stream, w.memory, 0, 3, 4); }},
        {"gpo_fill", "elements of no bytes", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_fill(w.stream, w.memory, 0, 0, 4); }},
        {"gpo_fill", "an address not aligned to its elements", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_fill(w.stream, w.memory + 2, 0, 4, 4); }},
        {"gpo_fill", "count times size overflows", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_fill(w.stream, w.memory, 0, 4, (1ull << 62) + 1); }},
        {"gpo_fill", "past the end of the allocation", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_fill(w.stream, w.memory, 0, 4, 1025); }},
        {"gpo_fill_rows", "a pitch below the width", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_fill_rows(w.stream, w.memory, 32, 0, 64, 4); }},
        {"gpo_fill_rows", "pitch times height overflows", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_fill_rows(w.stream, w.memory, 1ull << 60, 0, 64, 1ull << 60); }},
    };
}

/// Modules and kernels.
std::vector<Row> module_rows() {
    return {
        {"gpo_module_compile", "no source", GPO_INVALID_ARGUMENT,
            [](World& w) { return compile(w, [](auto& o) { o.source = nullptr; }); }},
        {"gpo_module_compile", "options counted and not given", GPO_INVALID_ARGUMENT,
            [](World& w) { return compile(w, [](auto& o) { o.option_count = 2; }); }},
        {"gpo_module_compile", "names counted and not given", GPO_INVALID_ARGUMENT,
            [](World& w) { return compile(w, [](auto& o) { o.name_expression_count = 1; }); }},
        {"gpo_module_compile", "headers counted and not given", GPO_INVALID_ARGUMENT,
            [](World& w) { return compile(w, [](auto& o) { o.header_count = 1; }); }},
        {"gpo_module_compile", "reserved field set", GPO_INVALID_ARGUMENT,
            [](World& w) { return compile(w, [](auto& o) { o.reserved = 1; }); }},
        {"gpo_module_compile", "a source that doesn't compile", GPO_COMPILE_FAILED,
            [](World& w) { return compile(w, [](auto& o) { o.source = "__global__ void k() { nonsense; }"; }); }},
        {"gpo_module_load", "nothing", GPO_INVALID_ARGUMENT,
            [](World& w) { Module m; return gpo_module_load(w.gpu.device, w.pageable.data(), 0, nullptr, m.out()); }},
        {"gpo_module_load", "zeros", GPO_INVALID_IMAGE,
            [](World& w) { Module m; return gpo_module_load(w.gpu.device, w.pageable.data(), 4096, nullptr, m.out()); }},
        {"gpo_module_get_kernel", "a kernel that isn't in it", GPO_NOT_FOUND,
            [](World& w) { Kernel k; return gpo_module_get_kernel(w.module, "no_such_kernel", k.out()); }},
        {"gpo_module_get_symbol", "a symbol that isn't in it", GPO_NOT_FOUND,
            [](World& w) { return gpo_module_get_symbol(w.module, "no_such_symbol", &w.number, &w.number); }},
        {"gpo_kernel_set_max_dynamic_shared", "more than there is", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_kernel_set_max_dynamic_shared(w.kernel, 1ull << 40); }},
        {"gpo_kernel_get_occupancy", "blocks of no threads", GPO_INVALID_ARGUMENT,
            [](World& w) { return gpo_kernel_get_occupancy(w.kernel, 0, 0, &w.word); }},
    };
}

std::vector<Row> launch_rows() {
    return {
        {"gpo_stream_launch_kernel", "a grid of 0", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto& l) { l.grid[0] = 0; }); }},
        {"gpo_stream_launch_kernel", "a block of 2048", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto& l) { l.block[0] = 2048; }); }},
        {"gpo_stream_launch_kernel", "a block whose threads multiply to too many", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto& l) { l.block[0] = l.block[1] = 1024; }); }},
        {"gpo_stream_launch_kernel", "a block whose threads overflow", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto& l) { l.block[0] = l.block[1] = 65536; }); }},
        {"gpo_stream_launch_kernel", "more shared memory than there is", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto& l) { l.dynamic_shared_bytes = 1ull << 33; }); }},
        {"gpo_stream_launch_kernel", "unknown flags", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto& l) { l.flags = 0x40000000; }); }},
        {"gpo_stream_launch_kernel", "an argument too few", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto&) {}, 1); }, Needs::kernel_parameters},
        {"gpo_stream_launch_kernel", "an argument too many", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto&) {}, 3); }, Needs::kernel_parameters},
        {"gpo_stream_launch_kernel", "an argument of another size", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto&) {}, 2, 8); }, Needs::kernel_parameters},
        {"gpo_stream_launch_kernel", "a cooperative grid that can't run at once", GPO_LIMIT_EXCEEDED,
            [](World& w) { return w.launch([](auto& l) { l.flags = GPO_LAUNCH_COOPERATIVE; l.grid[0] = 1 << 24; }); },
            Needs::cooperative_launches, "kernel `two`"},
        {"gpo_stream_launch_kernel", "a grid that is no multiple of its clusters", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto& l) { l.grid[0] = 4; l.cluster[0] = 3; }); },
            Needs::clusters, "no multiple of launch.cluster[0]"},
        {"gpo_stream_launch_kernel", "clusters of 64 blocks", GPO_INVALID_ARGUMENT,
            [](World& w) { return w.launch([](auto& l) { l.grid[0] = l.cluster[0] = 64; }); }, Needs::clusters},
        {"gpo_stream_launch_kernel", "a kernel of another device than the stream's", GPO_INVALID_ARGUMENT, [](World& w) {
             auto shape = sized<gpo_launch>(); shape.grid[0] = shape.block[0] = 1; uint64_t address = w.memory;
             const void* pointers[] = {&address, &w.word};
             return gpo_stream_launch_kernel(w.stream_there, w.kernel, &shape, pointers, nullptr, 2); },
            Needs::second_device, "not of one device"},
    };
}
// clang-format on

}  // namespace

const std::vector<Row>& gpo::test::negative_rows() {
    static const std::vector<Row> all = [] {
        std::vector<Row> rows;
        for (const auto part : {device_rows, order_rows, queue_rows, arena_rows, memory_rows, copying_rows,
                                filling_rows, module_rows, launch_rows})
            for (Row& row : part()) rows.push_back(std::move(row));
        return rows;
    }();
    return all;
}

namespace {

std::vector<Row> setting_rows() {
    std::vector<Row> rows;
    for (const bool launch : {false, true}) {
        const std::string function = launch ? "gpo_template_launch" : "gpo_graph_set_all";
        const auto changed = [&](const char* wrong, gpo_status expected, void (*change)(gpo_setting&),
                                 const char* says) {
            const auto call = [launch, change](World& w) { return set(w, launch, change); };
            rows.push_back({function, wrong, expected, call, Needs::nothing, says});
        };
        const auto strided = [&](const char* wrong, uint64_t stride, uint64_t count) {
            const auto call = [=](World& w) {
                return set(
                    w, launch, [](gpo_setting&) {}, stride, count);
            };
            rows.push_back({function, wrong, GPO_INVALID_ARGUMENT, call, Needs::nothing, "stride"});
        };
        changed(
            "a parameter that isn't there", GPO_NOT_FOUND, [](auto& s) { s.name = "values"; }, "`value`");
        changed(
            "a number that isn't there", GPO_NOT_FOUND, [](auto& s) { s.name = nullptr, s.parameter = 9; }, "9");
        changed(
            "a name and a number", GPO_INVALID_ARGUMENT, [](auto& s) { s.parameter = 1; }, "settings[1]");
        changed(
            "a value of another size", GPO_INVALID_ARGUMENT, [](auto& s) { s.bytes = 8; }, "`value` has 4 bytes");
        changed(
            "a value that is NULL", GPO_INVALID_ARGUMENT, [](auto& s) { s.value = nullptr; }, "`value` is NULL");
        changed(
            "a struct size of 0", GPO_INVALID_ARGUMENT, [](auto& s) { s.struct_size = 0; }, "struct_size");
        changed(
            "a struct larger than the stride", GPO_INVALID_ARGUMENT, [](auto& s) { s.struct_size += 8; },
            "settings[1].struct_size");
        strided("a stride of 0", 0, 2);
        strided("a stride that is less than a setting", sizeof(gpo_setting) - 8, 2);
        strided("a stride that isn't aligned", sizeof(gpo_setting) + 4, 2);
        strided("a stride past the end of addresses", kHuge - 7, 2);
    }
    return rows;
}

}  // namespace

std::vector<Row> gpo::test::rows_for(World& world) {
    const struct {
        Needs needs;
        bool present;
        const char* reason;
    } means[] = {
        {Needs::kernel_parameters, tells_parameters(world.kernel), "the driver doesn't tell a kernel's parameters"},
        {Needs::cooperative_launches, world.properties.cooperative_launch != 0,
         "this device has no cooperative launches"},
        {Needs::clusters, world.properties.cluster_launch != 0, "this device has no clusters"},
        {Needs::second_device, world.second != nullptr, "there is one device"}};
    std::vector<Row> table = negative_rows();
    for (Row& row : pipeline_rows()) table.push_back(std::move(row));
    for (Row& row : setting_rows()) table.push_back(std::move(row));
    for (const auto& mean : means) {
        if (mean.present) continue;
        const size_t left_out = std::erase_if(table, [&](const Row& row) { return row.needs == mean.needs; });
        skip(mean.reason, std::to_string(left_out) + " rows");
    }
    return table;
}
