// However the process ends while streams run, it ends with its own exit code.
// RUN: return
// RUN: exit
// RUN: _exit
// RUN: quick_exit
// RUN: static_owner
// RUN: thread_local_owner
// RUN: atexit
// RUN: log
// RUN: completion
// RUN: host_call
// RUN: source
// RUN: stage
// RUN: sink
// RUN: progress
// RUN: other_thread
// EXIT: 7
// TIMEOUT: 20
// REPEAT: 3 1000
#include <thread>

#include "process/process.h"

using namespace gpo::test;

namespace {

struct Owner {
    gpo_runtime_t runtime = nullptr;
    uint32_t* gate = nullptr;
    ~Owner() {
        if (!runtime) return;
        __atomic_store_n(gate, 1u, __ATOMIC_SEQ_CST);
        const gpo_status status = gpo_runtime_shutdown(runtime, kPatience);
        if (status != GPO_SUCCESS) end_failed(__FILE__, __LINE__, gpo_status_name(status));
    }
};
Owner static_owner;
thread_local Owner thread_owner;

/// Exits from a callback of the kind that is named.
void leave_from_pipeline(gpo_device_t device, const std::string& kind) {
    static std::string from;
    from = kind;
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) -> gpo_status {
        if (from == "stage") std::exit(7);
        return GPO_SUCCESS;
    };
    auto options = sized<gpo_pipeline_options>();
    options.chunk_bytes = 4096;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.stages = &stage;
    options.progress = [](void*, const gpo_pipeline_progress*) {
        if (from == "progress") std::exit(7);
    };
    options.progress_ns = 1;
    gpo_pipeline_t pipeline = nullptr;
    EXPECT_OK(gpo_pipeline_create(device, &options, &pipeline));
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_CALLBACK;
    source.fill = [](void*, void*, uint64_t capacity, uint64_t* bytes) -> gpo_status {
        static int chunks = 0;
        if (from == "source" && ++chunks == 3) std::exit(7);
        *bytes = capacity;   // without end
        return GPO_SUCCESS;
    };
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_CALLBACK;
    sink.take = [](void*, const gpo_chunk*) -> gpo_status {
        if (from == "sink") std::exit(7);
        return GPO_SUCCESS;
    };
    EXPECT_OK(gpo_pipeline_start(pipeline, &source, &sink));
    gpo_pipeline_wait(pipeline, kPatience, nullptr);
    std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    static Opened a;
    static uint32_t* words = pinned(a.device, 16);
    gpo_kernel_t gate = compile(a.device, kGateSource, "gate");
    EXPECT_OK(launch(a.stream, gate, words));
    EXPECT_OK(gpo_stream_notify(a.stream, a.queue, 1));
    if (kind == "return") return 7;
    if (kind == "exit") std::exit(7);
    if (kind == "_exit") _exit(7);
    if (kind == "quick_exit") std::quick_exit(7);
    if (kind == "static_owner") {
        static_owner.runtime = a.runtime;
        static_owner.gate = words;
        return 7;
    }
    if (kind == "thread_local_owner") {
        std::thread([&] {
            thread_owner.runtime = a.runtime;
            thread_owner.gate = words;
        }).join();
        return 7;
    }
    if (kind == "atexit") {
        std::atexit([] {
            __atomic_store_n(words, 1u, __ATOMIC_SEQ_CST);
            EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
            a.shut_down();
        });
        return 7;
    }
    if (kind == "log") {
        // On whichever thread it is called.
        auto options = sized<gpo_runtime_options>();
        options.log = [](void*, int32_t, const char*) { std::exit(7); };
        options.log_level = GPO_LOG_DEBUG;
        Opened second(options);
        second.shut_down();
        return 1;
    }
    if (kind == "completion" || kind == "host_call") {
        gpo_executor_t executor = nullptr;
        gpo_stream_t other = nullptr;
        EXPECT_OK(gpo_executor_create(a.runtime, nullptr, &executor));
        EXPECT_OK(gpo_stream_create(a.device, nullptr, &other));
        const auto call = [](void*, const gpo_host_call*) -> gpo_status { std::exit(7); };
        if (kind == "host_call")
            EXPECT_OK(gpo_stream_host_call(other, executor, call, nullptr));
        else
            EXPECT_OK(gpo_stream_then(
                other, executor, [](void*, const gpo_completion*, const gpo_error*) { std::exit(7); }, nullptr));
        gpo_stream_wait(a.stream, kPatience);
        return 1;
    }
    if (kind == "source" || kind == "stage" || kind == "sink" || kind == "progress")
        leave_from_pipeline(a.device, kind);
    if (kind == "other_thread") {
        std::thread waiter([&] { gpo_stream_wait(a.stream, -1); });
        std::thread leaver([] { std::exit(7); });
        leaver.join();
        waiter.join();
    }
    return 1;
}
