// A function that the library calls never returns: a callback, a host call, a log function, a pipeline's callback.
// Other streams, pipelines and callbacks go on. Shutdown returns at its deadline, even after the executor was
// destroyed, and the process can exit.
// RUN: kept sleep
// RUN: kept spin
// RUN: destroyed sleep
// RUN: destroyed spin
// RUN: kept caller
// RUN: destroyed caller
// RUN: pipeline
// RUN: pipeline sleep
// RUN: log
// RUN: log sleep
// EXIT: 3
// TIMEOUT: 30
#include <atomic>
#include <stdexcept>
#include <thread>

#include "process/process.h"
#include "support/pipeline_ends.h"

using namespace gpo::test;

namespace {

std::atomic<int> stuck{0}, came{0};

[[noreturn]] void stay() {
    ++stuck;
    for (;;) pause();
}

void never_returns(void*, const gpo_completion*, const gpo_error*) { stay(); }
gpo_status never_finishes(void*, const gpo_host_call*) { stay(); }
gpo_status never_takes(void*, const gpo_chunk*) { stay(); }
void never_logs(void*, int32_t, const char*) { stay(); }
void counts(void*, const gpo_completion* completion, const gpo_error*) { came += completion->status == GPO_SUCCESS; }
void throws(void*, const gpo_completion*, const gpo_error*) {
    throw std::runtime_error("so that there is a line to log");
}

template <class Done>
bool soon(Done done) {
    for (int i = 0; i < 10'000; ++i) {
        if (done()) return true;
        usleep(1000);
    }
    return false;
}

gpo_executor_t executor(const Opened& a, std::string_view kind, uint32_t threads) {
    auto options = sized<gpo_executor_options>();
    if (kind == "spin") options.flags = GPO_EXECUTOR_SPIN;
    if (kind == "caller") options.flags = GPO_EXECUTOR_CALLER;
    options.threads = kind == "caller" ? 0 : threads;
    gpo_executor_t made = nullptr;
    EXPECT_OK(gpo_executor_create(a.runtime, &options, &made));
    return made;
}

gpo_stream_t stream(const Opened& a) {
    gpo_stream_t made = nullptr;
    EXPECT_OK(gpo_stream_create(a.device, nullptr, &made));
    return made;
}

void hundred_callbacks(const Opened& a, gpo_executor_t executor) {
    const gpo_stream_t on = stream(a);
    for (int i = 0; i < 100; ++i) EXPECT_OK(gpo_stream_then(on, executor, counts, nullptr));
    EXPECT(soon([] { return came == 100; }));
}

void callback_and_host_call(const Opened& a, bool destroyed, std::string_view kind) {
    const gpo_stream_t other = stream(a), third = stream(a);
    const gpo_executor_t on = executor(a, kind, 3);
    EXPECT_OK(gpo_stream_then(a.stream, on, never_returns, nullptr));
    EXPECT_OK(gpo_stream_host_call(other, on, never_finishes, nullptr));
    EXPECT_OK(gpo_stream_notify(other, a.queue, 1));
    if (kind == "caller")  // they return when no callback is pending
        for (int i = 0; i < 3; ++i) std::thread([on] { gpo_executor_run_for(on, kPatience, nullptr); }).detach();
    EXPECT(soon([] { return stuck == 2; }));
    hundred_callbacks(a, on);
    EXPECT_OK(gpo_stream_wait(third, kPatience));
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_stream_wait(other, 20'000'000));
    if (!destroyed) return;
    EXPECT_OK(gpo_executor_destroy(on));
    // The stream no longer waits for the host call; later work on it has been cancelled with it.
    EXPECT_OK(gpo_cq_wait(a.queue, kPatience));
    gpo_completion entry;
    uint64_t count = 0;
    EXPECT_OK(gpo_cq_drain(a.queue, &entry, sizeof entry, 1, &count));
    EXPECT(count == 1 && entry.status == GPO_CANCELLED);
}

gpo_pipeline_t pipeline(const Opened& a, gpo_executor_t executor) {
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) -> gpo_status { return GPO_SUCCESS; };
    auto options = sized<gpo_pipeline_options>();
    options.stages = &stage;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.chunk_bytes = 4096;
    options.executor = executor;
    gpo_pipeline_t made = nullptr;
    EXPECT_OK(gpo_pipeline_create(a.device, &options, &made));
    return made;
}

void start(gpo_pipeline_t pipeline, gpo_sink_fn take) {
    static char input[65536];
    const gpo_source source = from_memory(input, sizeof input);
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_CALLBACK;
    sink.take = take;
    EXPECT_OK(gpo_pipeline_start(pipeline, &source, &sink));
}

void sink(const Opened& a, std::string_view kind) {
    const gpo_executor_t on = kind.empty() ? nullptr : executor(a, kind, 2);
    const gpo_pipeline_t blocked = pipeline(a, on), other = pipeline(a, on);
    start(blocked, never_takes);
    EXPECT(soon([] { return stuck == 1; }));
    start(other, [](void*, const gpo_chunk*) -> gpo_status { return GPO_SUCCESS; });
    EXPECT_OK(gpo_pipeline_wait(other, kPatience, nullptr));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_pipeline_wait(blocked, 20'000'000, nullptr));
    hundred_callbacks(a, on ? on : executor(a, "sleep", 1));
    EXPECT_OK(gpo_pipeline_cancel(blocked));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_pipeline_wait(blocked, 20'000'000, nullptr));  // the callback hasn't returned
}

void log(const Opened& a, std::string_view kind) {
    if (!kind.empty()) EXPECT_OK(gpo_runtime_set_log_executor(a.runtime, executor(a, kind, 1)));
    const gpo_executor_t on = executor(a, "sleep", 2);
    EXPECT_OK(gpo_stream_then(a.stream, on, throws, nullptr));
    EXPECT(soon([] { return stuck == 1; }));
    hundred_callbacks(a, on);
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
}

}  // namespace

int main(int, char** argv) {
    const std::string what = argv[1], kind = argv[2] ? argv[2] : "";
    auto options = sized<gpo_runtime_options>();
    if (what == "log") options.log = never_logs;
    const Opened a(options);
    if (what == "pipeline")
        sink(a, kind);
    else if (what == "log")
        log(a, kind);
    else
        callback_and_host_call(a, what == "destroyed", kind);
    EXPECT_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(a.runtime, 50'000'000));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(a.runtime, 0));
    std::exit(3);
}
