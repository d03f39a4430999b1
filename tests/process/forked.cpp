// fork() while work is pending. In the child every call fails and reports the fork, even destroys. The child exits
// cleanly, and the parent's work continues. A child of a process that has opened nothing may use the library.
// RUN: before
// RUN: after
// RUN: exec
// REPEAT: 2 100
#include "process/process.h"

using namespace gpo::test;

namespace {

/// An object of each kind, with work in flight: a running kernel, held work, pending callbacks, a running pipeline.
struct Busy : Opened {
    Busy() {
        words = pinned(device, 16);
        EXPECT_OK(gpo_stream_create(device, nullptr, &held));
        EXPECT_OK(gpo_timeline_create(runtime, nullptr, &timeline));
        EXPECT_OK(gpo_executor_create(runtime, nullptr, &executor));
        EXPECT_OK(gpo_event_create(device, nullptr, &event));
        EXPECT_OK(gpo_arena_create(device, nullptr, &arena));
        EXPECT_OK(gpo_arena_allocate(arena, 4096, 0, &piece));
        EXPECT_OK(gpo_pool_create(device, nullptr, &pool));
        EXPECT_OK(gpo_pool_allocate(pool, stream, 4096, &block));
        EXPECT_OK(gpo_memory_allocate(device, 4096, nullptr, &memory));
        EXPECT_OK(gpo_stream_pool_create(device, nullptr, &streams));
        EXPECT_OK(gpo_module_load_builtin(device, &module));
        EXPECT_OK(gpo_module_get_kernel(module, "gpo_fill_u32", &fill));
        gate = compile(device, kGateSource, "gate");
        auto stage = sized<gpo_stage>();
        stage.kind = GPO_STAGE_CALLBACK;
        stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) -> gpo_status { return GPO_SUCCESS; };
        auto options = sized<gpo_pipeline_options>();
        options.chunk_bytes = 4096;
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = 1;
        options.stages = &stage;
        EXPECT_OK(gpo_pipeline_create(device, &options, &pipeline));
        source.kind = GPO_SOURCE_CALLBACK;
        source.user = words + 2;
        source.fill = [](void* end, void*, uint64_t capacity, uint64_t* bytes) -> gpo_status {
            *bytes = capacity;
            return __atomic_load_n(static_cast<uint32_t*>(end), __ATOMIC_SEQ_CST) ? GPO_END : GPO_SUCCESS;
        };
    }

    void begin() {
        EXPECT_OK(launch(stream, gate, words));
        EXPECT_OK(gpo_stream_notify(stream, queue, 1));
        EXPECT_OK(gpo_stream_then(stream, executor, count, &called));
        EXPECT_OK(gpo_stream_wait_timeline(held, timeline, 1));
        EXPECT_OK(launch(held, fill, memory, uint32_t{7}, uint64_t{16}));
        EXPECT_OK(gpo_stream_notify(held, queue, 2));
        EXPECT_OK(gpo_pipeline_start(pipeline, &source, &sink));
        EXPECT_OK(gpo_pipeline_notify(pipeline, queue, 3));
    }

    /// Checks that all this work completes, and ends it.
    void end() {
        EXPECT_STATUS(GPO_NOT_READY, gpo_stream_query(stream));
        EXPECT_STATUS(GPO_NOT_READY, gpo_stream_query(held));
        EXPECT(called == 0);
        __atomic_store_n(&words[0], 1u, __ATOMIC_SEQ_CST);
        __atomic_store_n(&words[2], 1u, __ATOMIC_SEQ_CST);
        EXPECT_OK(gpo_timeline_signal(timeline, 1));
        uint64_t sum = 0;
        for (int drained = 0; drained < 3;) {
            gpo_completion entry{};
            uint64_t count = 0;
            EXPECT_OK(gpo_cq_wait(queue, kPatience));
            EXPECT_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
            if (count == 0) continue;
            ++drained;
            EXPECT(entry.status == GPO_SUCCESS);
            sum += entry.user_data;
        }
        EXPECT(sum == 6);
        uint32_t back[16] = {};
        EXPECT_OK(gpo_copy_to_host(held, back, memory, sizeof back));
        EXPECT_OK(gpo_stream_wait(held, kPatience));
        for (uint32_t word : back) EXPECT(word == 7);
        EXPECT_OK(gpo_executor_run_for(executor, kPatience, nullptr));
        EXPECT(called == 1);
        EXPECT_OK(gpo_pipeline_wait(pipeline, kPatience, nullptr));
    }
    static void count(void* user, const gpo_completion*, const gpo_error*) { ++*static_cast<int*>(user); }

    gpo_stream_t held = nullptr;
    gpo_timeline_t timeline = nullptr;
    gpo_executor_t executor = nullptr;
    gpo_event_t event = nullptr;
    gpo_arena_t arena = nullptr;
    gpo_pool_t pool = nullptr;
    gpo_stream_pool_t streams = nullptr;
    gpo_module_t module = nullptr;
    gpo_kernel_t fill = nullptr, gate = nullptr;
    gpo_pipeline_t pipeline = nullptr;
    gpo_source source = sized<gpo_source>();
    gpo_sink sink = sized<gpo_sink>();
    void* piece = nullptr;
    uint32_t* words = nullptr;
    uint64_t memory = 0, block = 0;
    int called = 0;
};

#define EXPECT_FORKED(...) EXPECT_STATUS(GPO_FORKED, __VA_ARGS__)

void check_queries(const Busy& a) {
    uint32_t number = 0, blocks = 0;
    uint64_t large = 0, count = 0;
    int32_t least = 0, descriptor = -1;
    void* pointer = nullptr;
    auto properties = sized<gpo_device_properties>();
    auto statistics = sized<gpo_statistics>();
    auto driver = sized<gpo_driver_info>();
    auto info = sized<gpo_stream_info>();
    auto memory = sized<gpo_memory_statistics>();
    auto attributes = sized<gpo_kernel_attributes>();
    auto progress = sized<gpo_pipeline_progress>();
    auto error = sized<gpo_error>();
    EXPECT_FORKED(gpo_runtime_get_device_count(a.runtime, &number));
    EXPECT_FORKED(gpo_device_get_properties(a.device, &properties));
    EXPECT_FORKED(gpo_device_get_memory(a.device, &large, &count));
    EXPECT_FORKED(gpo_device_get_native(a.device, &pointer, nullptr));
    EXPECT_FORKED(gpo_runtime_get_statistics(a.runtime, &statistics));
    EXPECT_FORKED(gpo_runtime_get_driver(a.runtime, &driver));
    EXPECT_FORKED(gpo_stream_get_info(a.stream, &info));
    EXPECT_FORKED(gpo_stream_get_native(a.stream, &pointer));
    EXPECT_FORKED(gpo_device_get_priority_range(a.device, &least, &least));
    EXPECT_FORKED(gpo_object_get_error(a.stream, &error));
    EXPECT_FORKED(gpo_object_set_label(a.stream, "child"));
    EXPECT_FORKED(gpo_kernel_get_attributes(a.fill, &attributes));
    EXPECT_FORKED(gpo_kernel_get_occupancy(a.fill, 64, 0, &blocks));
    EXPECT_FORKED(gpo_cq_get_fd(a.queue, &descriptor));
    EXPECT_FORKED(gpo_arena_get_statistics(a.arena, &memory));
    EXPECT_FORKED(gpo_pool_get_statistics(a.pool, &memory));
    EXPECT_FORKED(gpo_pipeline_get_progress(a.pipeline, &progress));
    EXPECT_FORKED(gpo_timeline_get_value(a.timeline, &large));
}

/// Work, allocations and creations.
void check_submissions(const Busy& a) {
    uint64_t large = 0, count = 0;
    void* pointer = nullptr;
    gpo_stream_t stream = nullptr;
    EXPECT_FORKED(launch(a.stream, a.fill, a.memory, uint32_t{1}, uint64_t{1}));
    EXPECT_FORKED(gpo_fill(a.stream, a.memory, 1, 4, 1));
    EXPECT_FORKED(gpo_copy_to_device(a.stream, a.memory, a.piece, 64));
    EXPECT_FORKED(gpo_copy_to_host(a.stream, a.piece, a.memory, 64));
    EXPECT_FORKED(gpo_event_record(a.event, a.stream));
    EXPECT_FORKED(gpo_stream_wait_event(a.stream, a.event));
    EXPECT_FORKED(gpo_stream_wait_timeline(a.stream, a.timeline, 9));
    EXPECT_FORKED(gpo_stream_signal_timeline(a.stream, a.timeline, 9));
    EXPECT_FORKED(gpo_timeline_signal(a.timeline, 1));
    EXPECT_FORKED(gpo_timeline_fail(a.timeline, GPO_CANCELLED, nullptr));
    EXPECT_FORKED(gpo_stream_notify(a.stream, a.queue, 1));
    EXPECT_FORKED(gpo_event_notify(a.event, a.queue, 1));
    EXPECT_FORKED(gpo_stream_then(a.stream, a.executor, Busy::count, nullptr));
    EXPECT_FORKED(gpo_stream_cancel_held(a.held, &count));
    EXPECT_FORKED(gpo_pipeline_cancel(a.pipeline));
    EXPECT_FORKED(gpo_pipeline_start(a.pipeline, &a.source, &a.sink));
    EXPECT_FORKED(gpo_arena_allocate(a.arena, 64, 0, &pointer));
    EXPECT_FORKED(gpo_arena_free(a.arena, a.piece));
    EXPECT_FORKED(gpo_arena_free_after(a.arena, a.piece, a.stream));
    EXPECT_FORKED(gpo_pool_free(a.pool, a.stream, a.block));
    EXPECT_FORKED(gpo_memory_free(a.device, a.memory));
    EXPECT_FORKED(gpo_memory_allocate(a.device, 64, nullptr, &large));
    EXPECT_FORKED(gpo_stream_pool_acquire(a.streams, 0, &stream));
    EXPECT_FORKED(gpo_stream_create(a.device, nullptr, &stream));
    EXPECT(stream == nullptr);
}

void check_waits(const Busy& a) {
    gpo_completion entry{};
    uint64_t count = 0;
    EXPECT_FORKED(gpo_stream_query(a.stream));
    EXPECT_FORKED(gpo_stream_wait(a.stream, kPatience));
    EXPECT_FORKED(gpo_event_wait(a.event, kPatience));
    EXPECT_FORKED(gpo_timeline_wait(a.timeline, 1, kPatience));
    EXPECT_FORKED(gpo_device_wait(a.device, kPatience));
    EXPECT_FORKED(gpo_cq_wait(a.queue, kPatience));
    EXPECT_FORKED(gpo_cq_drain(a.queue, &entry, sizeof entry, 1, &count));
    EXPECT_FORKED(gpo_cq_wake(a.queue));
    EXPECT_FORKED(gpo_executor_run_for(a.executor, kPatience, nullptr));
    EXPECT_FORKED(gpo_executor_poll(a.executor, nullptr));
    EXPECT_FORKED(gpo_pipeline_wait(a.pipeline, kPatience, nullptr));
}

void check_destructions(const Busy& a) {
    EXPECT_FORKED(gpo_pipeline_destroy(a.pipeline));
    EXPECT_FORKED(gpo_kernel_destroy(a.fill));
    EXPECT_FORKED(gpo_module_destroy(a.module));
    EXPECT_FORKED(gpo_stream_pool_destroy(a.streams));
    EXPECT_FORKED(gpo_pool_destroy(a.pool));
    EXPECT_FORKED(gpo_arena_destroy(a.arena));
    EXPECT_FORKED(gpo_event_destroy(a.event));
    EXPECT_FORKED(gpo_executor_destroy(a.executor));
    EXPECT_FORKED(gpo_timeline_destroy(a.timeline));
    EXPECT_FORKED(gpo_stream_destroy(a.stream));
    EXPECT_FORKED(gpo_cq_destroy(a.queue));
    EXPECT_FORKED(gpo_device_close(a.device));
    EXPECT_FORKED(gpo_runtime_shutdown(a.runtime, kPatience));
}

int forked_child(const Busy& a) {
    check_queries(a);
    check_submissions(a);
    check_waits(a);
    check_destructions(a);
    gpo_runtime_t runtime = nullptr;
    EXPECT_FORKED(gpo_runtime_create(nullptr, &runtime));
    EXPECT(runtime == nullptr);
    EXPECT(std::string(gpo_status_name(GPO_FORKED)) == "GPO_FORKED");
    return 5;
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    if (kind == "before") {
        EXPECT(in_child([] {
                   Opened a;
                   a.check_works();
                   a.shut_down();
                   return 5;
               }) == 5);
        Opened a;
        a.check_works();
        a.shut_down();
        return 0;
    }
    Busy a;
    a.check_works();
    a.begin();
    if (kind == "after") {
        EXPECT(in_child([&] { return forked_child(a); }) == 5);
        // The ways out with handlers and destructors.
        EXPECT(in_child([&]() -> int { std::exit(6); }) == 6);
    } else {
        EXPECT(in_child([]() -> int {
                   execl("/bin/sh", "sh", "-c", "exit 4", nullptr);
                   return 1;
               }) == 4);
    }
    a.end();
    a.check_works();
    a.shut_down();
    return 0;
}
