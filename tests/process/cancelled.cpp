// A thread is cancelled (pthread_cancel) inside a call of the library. The call ends as usual, and the thread ends at
// its next cancellation point. The process goes on, and no lock stays held.
// TIMEOUT: 60
#include <pthread.h>

#include <atomic>
#include <iterator>

#include "process/process.h"
#include "support/pipeline_ends.h"

using namespace gpo::test;

namespace {

Opened* opened = nullptr;
gpo_timeline_t timeline = nullptr;
gpo_executor_t caller = nullptr;
gpo_event_t event = nullptr;
gpo_pipeline_t pipeline = nullptr;
std::atomic<bool> inside{false}, go_on{false};
std::atomic<int> answer{-1};

gpo_status wait_until_let_go(void*, const gpo_host_call*) {
    while (!go_on) usleep(100);
    return GPO_SUCCESS;
}
gpo_status end_when_let_go(void*, void*, uint64_t, uint64_t* bytes) {
    while (!go_on) usleep(100);
    *bytes = 0;
    return GPO_END;
}

/// A call that blocks until main ends the wait.
struct Blocking {
    const char* name;
    void (*prepare)();
    gpo_status (*call)();
    void (*let_go)();
    gpo_status expected;
};

const Blocking kBlocking[] = {
    {"gpo_cq_wait", nullptr, [] { return gpo_cq_wait(opened->queue, kPatience); },
     [] { EXPECT_OK(gpo_cq_wake(opened->queue)); }, GPO_SUCCESS},
    {"gpo_timeline_wait", nullptr, [] { return gpo_timeline_wait(timeline, 1, kPatience); },
     [] { EXPECT_OK(gpo_timeline_signal(timeline, 1)); }, GPO_SUCCESS},
    {"gpo_stream_wait", [] { EXPECT_OK(gpo_stream_wait_timeline(opened->stream, timeline, 2)); },
     [] { return gpo_stream_wait(opened->stream, kPatience); }, [] { EXPECT_OK(gpo_timeline_signal(timeline, 2)); },
     GPO_SUCCESS},
    {"gpo_device_wait", [] { EXPECT_OK(gpo_stream_wait_timeline(opened->stream, timeline, 3)); },
     [] { return gpo_device_wait(opened->device, kPatience); }, [] { EXPECT_OK(gpo_timeline_signal(timeline, 3)); },
     GPO_SUCCESS},
    {"gpo_event_wait",
     [] {
         EXPECT_OK(gpo_stream_wait_timeline(opened->stream, timeline, 4));
         EXPECT_OK(gpo_event_record(event, opened->stream));
     },
     [] { return gpo_event_wait(event, kPatience); }, [] { EXPECT_OK(gpo_timeline_signal(timeline, 4)); }, GPO_SUCCESS},
    {"gpo_executor_run",
     [] {
         EXPECT_OK(gpo_timeline_then(
             timeline, 5, caller, [](void*, const gpo_completion*, const gpo_error*) {}, nullptr));
     },
     [] { return gpo_executor_run(caller, nullptr); }, [] { EXPECT_OK(gpo_timeline_signal(timeline, 5)); },
     GPO_SUCCESS},
    {"gpo_executor_run_for, inside a callback",
     [] { EXPECT_OK(gpo_stream_host_call(opened->stream, caller, wait_until_let_go, nullptr)); },
     [] { return gpo_executor_run_for(caller, kPatience, nullptr); }, [] { go_on = true; }, GPO_SUCCESS},
    {"gpo_pipeline_wait",
     [] {
         static uint8_t out[4096];
         auto source = sized<gpo_source>();
         source.kind = GPO_SOURCE_CALLBACK;
         source.fill = end_when_let_go;
         const gpo_sink sink = to_memory(out, sizeof out);
         EXPECT_OK(gpo_pipeline_start(pipeline, &source, &sink));
     },
     [] { return gpo_pipeline_wait(pipeline, kPatience, nullptr); }, [] { go_on = true; }, GPO_SUCCESS},
    // Last, because it ends the runtime: a shutdown that waits for a host call on an executor's thread.
    {"gpo_runtime_shutdown",
     [] {
         gpo_executor_t threads = nullptr;
         EXPECT_OK(gpo_executor_create(opened->runtime, nullptr, &threads));
         EXPECT_OK(gpo_stream_host_call(opened->stream, threads, wait_until_let_go, nullptr));
         usleep(20'000);
     },
     [] { return gpo_runtime_shutdown(opened->runtime, kPatience); }, [] { go_on = true; }, GPO_SUCCESS},
};
const Blocking* blocking = nullptr;

void* block(void*) {
    inside = true;
    answer = blocking->call();
    pthread_testcancel();
    return nullptr;
}
void* work_all_the_time(void*) {
    inside = true;
    for (uint64_t i = 0;; ++i) {
        gpo_event_t event = nullptr;
        EXPECT_OK(gpo_event_create(opened->device, nullptr, &event));
        EXPECT_OK(gpo_event_record(event, opened->stream));
        EXPECT_OK(gpo_event_destroy(event));
        pthread_testcancel();
    }
}

void cancel(void* (*body)(void*), void (*let_go)()) {
    inside = false;
    pthread_t thread{};
    EXPECT(pthread_create(&thread, nullptr, body, nullptr) == 0);
    while (!inside) usleep(100);
    usleep(2000);  // for most runs to be inside the call; either case passes
    EXPECT(pthread_cancel(thread) == 0);
    usleep(1000);
    if (let_go) let_go();
    void* result = nullptr;
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(result == PTHREAD_CANCELED);
}

}  // namespace

int main() {
    Opened a;
    opened = &a;
    EXPECT_OK(gpo_timeline_create(a.runtime, nullptr, &timeline));
    EXPECT_OK(gpo_event_create(a.device, nullptr, &event));
    auto caller_options = sized<gpo_executor_options>();
    caller_options.flags = GPO_EXECUTOR_CALLER;
    EXPECT_OK(gpo_executor_create(a.runtime, &caller_options, &caller));
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) -> gpo_status { return GPO_SUCCESS; };
    auto options = sized<gpo_pipeline_options>();
    options.chunk_bytes = 4096;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.stages = &stage;
    EXPECT_OK(gpo_pipeline_create(a.device, &options, &pipeline));
    for (int i = 0; i < (full() ? 500 : 20); ++i) cancel(work_all_the_time, nullptr);
    a.check_works();
    // After a call, the thread's cancellation state is the same as before.
    int state = -1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    EXPECT(state == PTHREAD_CANCEL_ENABLE);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    EXPECT_OK(gpo_stream_query(a.stream));
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    EXPECT(state == PTHREAD_CANCEL_DISABLE);
    for (const Blocking& call : kBlocking) {
        std::printf("%s\n", call.name);
        blocking = &call;
        go_on = false;
        answer = -1;
        if (call.prepare) call.prepare();
        cancel(block, call.let_go);
        if (answer != call.expected)
            end_failed(__FILE__, __LINE__, std::string(call.name) + " gave " + gpo_status_name(answer));
        if (&call != std::end(kBlocking) - 1) a.check_works();
    }
    return 0;
}
