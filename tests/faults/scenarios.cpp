// The scenarios: sequences of calls, each to a part of the API.
#include "faults/attempt.h"
#include "faults/exporter.h"
#include "faults/graph_scenarios.h"
#include "faults/job_scenarios.h"
#include "faults/peer_scenarios.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "support/device_queue.h"
#include "support/pipeline_ends.h"

namespace gpo::test {

namespace {

constexpr const char* kSource = R"(
__device__ unsigned bias;
extern "C" __global__ void shift(unsigned *words, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] += bias + 1;
}
)";

gpo_status enqueue_nothing(void*, gpo_stream_t, const gpo_chunk*) { return GPO_SUCCESS; }

// Checks the out parameter of a failed call: no handle may have been written.
template <class T>
void untouched(const T& handle, bool made) {
    if (!made) CHECK(handle == nullptr);
}

void runtimes(Attempt& a) {
    auto options = sized<gpo_runtime_options>();
    options.label = "scenario";
    options.log = [](void*, int32_t, const char*) {};
    options.log_level = GPO_LOG_DEBUG;
    if (!a.open(options)) return;
    auto driver = sized<gpo_driver_info>();
    STEP(a, gpo_runtime_get_driver(a.runtime, &driver));
    auto statistics = sized<gpo_statistics>();
    STEP(a, gpo_runtime_get_statistics(a.runtime, &statistics));
    auto metrics = sized<gpo_metrics>();
    STEP(a, gpo_runtime_get_metrics(a.runtime, &metrics));
    auto of_device = sized<gpo_device_metrics>();
    STEP(a, gpo_device_get_metrics(a.device, &of_device));
    std::vector<char> page(1 << 16);
    STEP(a, gpo_runtime_get_metrics_text(a.runtime, page.data(), page.size(), nullptr));
    CHECK(gpo_version() == GPO_VERSION);
    CHECK(gpo_get_api(GPO_VERSION) != nullptr);
    CHECK(std::strlen(gpo_status_name(GPO_TIMEOUT)) > 0);
    CHECK(std::strlen(gpo_status_text(GPO_TIMEOUT)) > 0);
    STEP(a, gpo_object_set_label(a.device, "another label"));
    char label[64];
    size_t needed = 0;
    STEP(a, gpo_object_get_label(a.device, label, sizeof label, &needed));
    auto error = sized<gpo_error>();
    STEP(a, gpo_object_get_error(a.device, &error));
    STEP(a, gpo_last_error(&error));
    gpo_runtime_t second = nullptr;
    untouched(second, STEP(a, gpo_runtime_create(nullptr, &second)));
    if (second && !STEP(a, gpo_runtime_shutdown(second, kPatience))) gpo_runtime_shutdown(second, kPatience);
}

void devices(Attempt& a) {
    if (!a.open()) return;
    uint32_t count = 0;
    STEP(a, gpo_runtime_get_device_count(a.runtime, &count));
    auto properties = sized<gpo_device_properties>();
    STEP(a, gpo_runtime_describe_device(a.runtime, 0, &properties));
    STEP(a, gpo_device_get_properties(a.device, &properties));
    auto peer = sized<gpo_peer_properties>();
    STEP(a, gpo_runtime_describe_peer(a.runtime, 0, count > 1 ? 1 : 0, &peer));
    void* context = nullptr;
    STEP(a, gpo_device_get_native(a.device, &context, nullptr));
    uint64_t free_bytes = 0, total_bytes = 0, value = 0;
    STEP(a, gpo_device_get_memory(a.device, &free_bytes, &total_bytes));
    STEP(a, gpo_device_get_limit(a.device, GPO_LIMIT_L2_FETCH_BYTES, &value));
    if (value) STEP(a, gpo_device_set_limit(a.device, GPO_LIMIT_L2_FETCH_BYTES, value));
    auto options = sized<gpo_device_options>();
    options.ordinal = 1;
    Device second;
    if (count > 1) untouched(second, STEP(a, gpo_device_open(a.runtime, &options, second.out())));
    if (second && peer.accessible) {
        STEP(a, gpo_device_enable_peer(a.device, second));
        a.ask("disable", [&] {  // must fail if enabling has failed
            const gpo_status status = gpo_device_disable_peer(a.device, second);
            return a.failures() && status == GPO_INVALID_STATE ? GPO_SUCCESS : status;
        });
    }
    STEP(a, gpo_device_wait(a.device, kPatience));
    if (second) STEP(a, gpo_device_close(second.release()));
}

void advice(Attempt& a) {
    if (!a.open()) return;
    auto costs = sized<gpo_costs>();
    STEP(a, gpo_device_get_costs(a.device, 0, &costs));
    const bool probed = STEP(a, gpo_device_get_costs(a.device, GPO_COSTS_PROBE, &costs));
    CHECK(costs.measured == (probed ? 1 : 0));
    const float task_costs[] = {1, 2, 3, 100};
    auto workload = sized<gpo_workload>();
    workload.launches = 3;
    workload.tasks = workload.cost_count = 4;
    workload.task_costs = task_costs;
    workload.cost_stride = sizeof task_costs[0];
    workload.costs = &costs;
    auto diagnosis = sized<gpo_diagnosis>();
    std::vector<gpo_advice> forms(8, sized<gpo_advice>());
    uint64_t count = 0;
    const bool advised = STEP(a, gpo_advise(a.device, &workload, &diagnosis, forms.data(), sizeof forms[0], 8, &count));
    CHECK((count > 0) == advised);
    CHECK((forms[0].form != 0) == advised);
    constexpr char kTrace[] =
        "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"host: scenario\"}},\n"
        "{\"ph\":\"X\",\"name\":\"k\",\"cat\":\"gpu\",\"pid\":100,\"tid\":1,\"ts\":1.000,\"dur\":2.000,"
        "\"args\":{\"engine\":\"kernel\",\"operation\":1}},\n]\n";
    const int file = memfd_create("gpuorch-scenario", MFD_CLOEXEC);
    CHECK(write(file, kTrace, sizeof kTrace - 1) == sizeof kTrace - 1);
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    char text[2048];
    workload.launches = 99;
    const bool read = STEP(a, gpo_advise_trace(path.c_str(), &workload, text, sizeof text, nullptr));
    CHECK((workload.launches == 1) == read);
    close(file);
}

/// Checks that a stopped trace has only complete lines, whatever has failed.
void check_lines(const std::string& path) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "r"), gzclose);
    if (!file) return;   // taken away: it couldn't be ended
    char line[4096];
    std::string last;
    while (gzgets(file.get(), line, sizeof line)) {
        last = line;
        INFO(last);
        const bool whole = last.rfind("{\"ph\":") == 0 && (last.ends_with("},\n") || last.ends_with("}\n"));
        CHECK((whole || last == "[\n" || last == "]\n"));
    }
    CHECK(last == "]\n");
}

void traces(Attempt& a) {
    if (!a.open()) return;
    const std::string folder = "/tmp/gpuorch-test-trace-" + std::to_string(getpid());
    const std::string trace = folder + ".json.gz", picture = folder + ".svg";
    auto options = sized<gpo_trace_options>();
    options.path = trace.c_str();
    options.picture = picture.c_str();
    const bool started = STEP(a, gpo_trace_start(a.runtime, &options));
    Stream stream;
    if (STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) {
        uint64_t memory = 0;
        if (STEP(a, gpo_memory_allocate(a.device, 4096, nullptr, &memory))) {
            STEP(a, gpo_fill(stream, memory, 1, 4, 1024));
            STEP(a, gpo_memory_free(a.device, memory));
        }
        a.notify(stream);
        STEP(a, gpo_stream_wait(stream, kPatience));
    }
    auto info = sized<gpo_trace_info>();
    STEP(a, gpo_trace_get_info(a.runtime, &info));
    if (!a.shared()) CHECK(info.running == (started ? 1 : 0));
    std::vector<char> text(1 << 16);
    if (started) {
        STEP(a, gpo_trace_get_summary(a.runtime, text.data(), text.size(), nullptr));
        a.ask("stop", [&] {  // if a file has failed, a second attempt finds no trace to stop
            const gpo_status status = gpo_trace_stop(a.runtime);
            return a.failures() && status == GPO_INVALID_STATE ? GPO_SUCCESS : status;
        });
        if (!a.shared()) check_lines(trace);
    }
    stream.reset();
    a.finish();   // a shared runtime writes its files during its shutdown
    unlink(trace.c_str());
    unlink(picture.c_str());
}

void streams(Attempt& a) {
    if (!a.open()) return;
    auto options = sized<gpo_stream_options>();
    options.label = "upload";
    Stream one, two, wrapped;
    untouched(one, STEP(a, gpo_stream_create(a.device, &options, one.out())));
    untouched(two, STEP(a, gpo_stream_create(a.device, nullptr, two.out())));
    if (!one || !two) return;
    int32_t least = 0, greatest = 0;
    STEP(a, gpo_device_get_priority_range(a.device, &least, &greatest));
    void* native = nullptr;
    if (STEP(a, gpo_stream_get_native(one, &native)))
        untouched(wrapped, STEP(a, gpo_stream_wrap(a.device, native, nullptr, wrapped.out())));
    auto info = sized<gpo_stream_info>();
    STEP(a, gpo_stream_get_info(one, &info));
    a.notify(one);
    STEP(a, gpo_stream_wait_stream(two, one));
    a.notify(two);
    if (wrapped) a.notify(wrapped);
    ASK(a, gpo_stream_query(one));
    STEP(a, gpo_stream_wait(two, kPatience));
    gpo_stream_pool_t pool = nullptr;
    auto pool_options = sized<gpo_stream_pool_options>();
    pool_options.streams = 2;
    untouched(pool, STEP(a, gpo_stream_pool_create(a.device, &pool_options, &pool)));
    if (pool) {
        for (int i = 0; i < 3; ++i) {
            gpo_stream_t stream = nullptr;
            untouched(stream, STEP(a, gpo_stream_pool_acquire(pool, 0, &stream)));
            if (!stream) continue;
            a.notify(stream);
            STEP(a, gpo_stream_pool_release(pool, stream));
        }
        STEP(a, gpo_stream_pool_destroy(pool));
    }
    STEP(a, gpo_stream_destroy(one.release()));
}

void events(Attempt& a) {
    if (!a.open()) return;
    Stream stream, other;
    Event start, end;
    auto options = sized<gpo_event_options>();
    options.flags = GPO_EVENT_TIMING;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, other.out()))) return;
    untouched(start, STEP(a, gpo_event_create(a.device, &options, start.out())));
    untouched(end, STEP(a, gpo_event_create(a.device, &options, end.out())));
    if (!start || !end) return;
    STEP(a, gpo_event_record(start, stream));
    STEP(a, gpo_stream_wait_event(other, start));
    STEP(a, gpo_event_record(end, other));
    ASK(a, gpo_event_query(end));
    STEP(a, gpo_event_wait(end, kPatience));
    int64_t time = 0;
    // If recording failed, the events were never recorded.
    a.ask("elapsed", [&] {
        const gpo_status status = gpo_event_get_elapsed(start, end, &time);
        return a.failures() && status == GPO_INVALID_STATE ? GPO_SUCCESS : status;
    });
    const uint64_t mark = a.next_mark();
    if (STEP(a, gpo_event_notify(end, a.queue, mark))) a.accepted(mark);
    void* native = nullptr;
    STEP(a, gpo_event_get_native(start, &native));
    const uint64_t timed = a.next_mark();
    if (STEP(a, gpo_stream_notify_timed(stream, a.queue, timed, start))) a.accepted(timed);
    STEP(a, gpo_event_destroy(start.release()));
}

void held_events(Attempt& a) {
    if (!a.open()) return;
    Stream held, other;
    Timeline go;
    Event before, behind;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, held.out()))) return;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, other.out()))) return;
    untouched(go, STEP(a, gpo_timeline_create(a.runtime, nullptr, go.out())));
    untouched(before, STEP(a, gpo_event_create(a.device, nullptr, before.out())));
    untouched(behind, STEP(a, gpo_event_create(a.device, nullptr, behind.out())));
    if (!go || !before || !behind) return;
    STEP(a, gpo_event_record(before, other));
    STEP(a, gpo_stream_wait_timeline(held, go, 1));
    STEP(a, gpo_stream_wait_event(held, before));
    STEP(a, gpo_event_record(behind, held));
    STEP(a, gpo_stream_wait_event(other, behind));
    a.notify(held);
    a.notify(other);
    if (STEP(a, gpo_timeline_signal(go, 1))) STEP(a, gpo_event_wait(behind, kPatience));
    STEP(a, gpo_event_record(before, held));
    STEP(a, gpo_event_wait(before, kPatience));
}

void interprocess(Attempt& a) {
    if (!a.open()) return;
    Stream stream;
    Event own, theirs;
    uint64_t memory = 0, imported = 0, size = 0;
    uint8_t exported[GPO_EXPORT_BYTES];
    if (!STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    if (STEP(a, gpo_memory_allocate(a.device, 4096, nullptr, &memory))) {
        STEP(a, gpo_memory_export(a.device, memory, exported, sizeof exported, nullptr));
        STEP(a, gpo_memory_free(a.device, memory));
    }
    for (int turn = 0; turn < 2; ++turn)
        if (STEP(a, gpo_memory_import(a.device, exporter().memory, GPO_EXPORT_BYTES, "theirs", &imported, &size))) {
            CHECK(size == Exporter::kBytes);
            STEP(a, gpo_fill(stream, imported, 1, 4, 100));
            STEP(a, gpo_memory_free(a.device, imported));
        }
    auto options = sized<gpo_event_options>();
    options.flags = GPO_EVENT_INTERPROCESS;
    untouched(own, STEP(a, gpo_event_create(a.device, &options, own.out())));
    if (own) STEP(a, gpo_event_export(own, exported, sizeof exported, nullptr));
    untouched(theirs, STEP(a, gpo_event_import(a.device, exporter().event, GPO_EXPORT_BYTES, "theirs", theirs.out())));
    for (const gpo_event_t event : {own.get(), theirs.get()}) {
        if (!event) continue;
        STEP(a, gpo_event_record(event, stream));
        STEP(a, gpo_stream_wait_event(stream, event));
        ASK(a, gpo_event_query(event));
        STEP(a, gpo_event_wait(event, kPatience));
        const uint64_t mark = a.next_mark();
        if (STEP(a, gpo_event_notify(event, a.queue, mark))) a.accepted(mark);
    }
    a.notify(stream);
}

void timelines(Attempt& a) {
    if (!a.open()) return;
    Stream one, two;
    Timeline ready, done;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, one.out()))) return;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, two.out()))) return;
    untouched(ready, STEP(a, gpo_timeline_create(a.runtime, nullptr, ready.out())));
    untouched(done, STEP(a, gpo_timeline_create(a.runtime, nullptr, done.out())));
    if (!ready || !done) return;
    STEP(a, gpo_stream_wait_timeline(one, ready, 1));
    a.notify(one);
    const bool signals = STEP(a, gpo_stream_signal_timeline(one, done, 1));
    STEP(a, gpo_stream_wait_timeline(two, done, 1));
    a.notify(two);
    STEP(a, gpo_timeline_signal(ready, 1));
    if (signals) STEP(a, gpo_timeline_wait(done, 1, kPatience));
    uint64_t value = 0;
    STEP(a, gpo_timeline_get_value(ready, &value));
    // Cancelled and failed while held.
    STEP(a, gpo_stream_wait_timeline(one, ready, 5));
    a.notify(one);
    STEP(a, gpo_stream_cancel_held(one, nullptr));
    STEP(a, gpo_stream_wait_timeline(one, ready, 6));
    a.notify(one);
    STEP(a, gpo_timeline_fail(ready, GPO_FAILED, "on purpose"));
    STEP(a, gpo_timeline_destroy(done.release()));
}

void queues(Attempt& a) {
    if (!a.open()) return;
    Queue queue;
    auto options = sized<gpo_cq_options>();
    options.capacity = 4;
    options.label = "small";
    untouched(queue, STEP(a, gpo_cq_create(a.runtime, &options, queue.out())));
    Stream stream;
    if (!queue || !STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    uint64_t expected = 0, count = 0;
    for (uint64_t i = 0; i < 6; ++i)
        ASK(a, [&] {
            const gpo_status status = gpo_stream_notify(stream, queue, i);
            expected += status == GPO_SUCCESS;
            return status;
        }());
    ASK(a, gpo_stream_wait(stream, kPatience));
    gpo_completion entries[4];
    while (expected > 0) {
        if (!STEP(a, gpo_cq_wait(queue, kPatience)) ||
            !STEP(a, gpo_cq_drain(queue, entries, sizeof entries[0], 4, &count)))
            return;
        expected -= count;
    }
    int32_t descriptor = -1;
    if (STEP(a, gpo_cq_get_fd(queue, &descriptor))) close(descriptor);
    STEP(a, gpo_cq_wake(queue));
    STEP(a, gpo_cq_wait(queue, kPatience));
    auto error = sized<gpo_error>();
    const gpo_status unknown = gpo_cq_get_error(queue, 99, &error);
    if (!a.shared()) CHECK(unknown == GPO_NOT_FOUND);   // also without memory to say which
    auto statistics = sized<gpo_cq_statistics>();
    STEP(a, gpo_cq_get_statistics(queue, &statistics));
    Timeline timeline;
    if (!STEP(a, gpo_timeline_create(a.runtime, nullptr, timeline.out()))) return;
    STEP(a, gpo_stream_wait_timeline(stream, timeline, 1));
    const bool marked = STEP(a, gpo_stream_notify(stream, queue, 9));
    STEP(a, gpo_timeline_fail(timeline, GPO_FAILED, "on purpose"));
    if (marked && STEP(a, gpo_cq_wait(queue, kPatience)) &&
        STEP(a, gpo_cq_drain(queue, entries, sizeof entries[0], 4, &count)) && count > 0 && entries[0].error_id)
        STEP(a, gpo_cq_get_error(queue, entries[0].error_id, &error));
    STEP(a, gpo_cq_destroy(queue.release()));
}

// Counts the callbacks that were accepted and the callbacks that were called.
struct Owed {
    std::atomic<int> came{0};
    int accepted = 0;
    static void completion(void* user, const gpo_completion*, const gpo_error*) { ++static_cast<Owed*>(user)->came; }
    static gpo_status call(void* user, const gpo_host_call*) {
        ++static_cast<Owed*>(user)->came;
        return GPO_SUCCESS;
    }
    static gpo_status leave_under_way(void* user, const gpo_host_call* call) {
        ++static_cast<Owed*>(user)->came;
        static_cast<Owed*>(user)->under_way = call->call;
        return GPO_NOT_READY;
    }
    std::atomic<uint64_t> under_way{0};
};

/// Posts a callback at once, another for a time, and a third that is cancelled.
void post(Attempt& a, gpo_executor_t executor, Owed& owed) {
    owed.accepted += STEP(a, gpo_executor_post(executor, Owed::completion, &owed));
    uint64_t time = 0, ticket = 0;
    STEP(a, gpo_executor_get_time(executor, &time));
    owed.accepted += STEP(a, gpo_executor_post_at(executor, time + 1'000'000, Owed::completion, &owed, nullptr));
    if (!STEP(a, gpo_executor_post_at(executor, UINT64_MAX, Owed::completion, &owed, &ticket))) return;
    ++owed.accepted;
    STEP(a, gpo_executor_cancel(executor, ticket));
}

void executors(Attempt& a) {
    Owed owed;
    if (!a.open()) return;
    {
        Executor threads, caller;
        auto options = sized<gpo_executor_options>();
        options.threads = 1;
        untouched(threads, STEP(a, gpo_executor_create(a.runtime, &options, threads.out())));
        options.threads = 0;
        options.flags = GPO_EXECUTOR_CALLER;
        untouched(caller, STEP(a, gpo_executor_create(a.runtime, &options, caller.out())));
        Stream stream;
        Event event;
        Timeline timeline;
        if (!threads || !caller || !STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
        if (!STEP(a, gpo_event_create(a.device, nullptr, event.out()))) return;
        if (!STEP(a, gpo_timeline_create(a.runtime, nullptr, timeline.out()))) return;
        STEP(a, gpo_runtime_set_log_executor(a.runtime, threads));
        for (gpo_executor_t executor : {threads.get(), caller.get()}) {
            owed.accepted += STEP(a, gpo_stream_then(stream, executor, Owed::completion, &owed));
            STEP(a, gpo_event_record(event, stream));
            owed.accepted += STEP(a, gpo_event_then(event, executor, Owed::completion, &owed));
            owed.accepted += STEP(a, gpo_timeline_then(timeline, 1, executor, Owed::completion, &owed));
            owed.accepted += STEP(a, gpo_stream_host_call(stream, executor, Owed::call, &owed));
            a.notify(stream);
        }
        const uint64_t mark = a.next_mark();
        if (STEP(a, gpo_timeline_notify(timeline, 2, a.queue, mark))) a.accepted(mark);
        post(a, threads, owed);
        post(a, caller, owed);
        uint64_t count = 0;
        STEP(a, gpo_executor_poll(caller, &count));
        STEP(a, gpo_timeline_signal(timeline, 1));
        STEP(a, gpo_executor_run_for(caller, kPatience, &count));
        STEP(a, gpo_executor_run(caller, &count));
        const bool under_way = STEP(a, gpo_stream_host_call(stream, caller, Owed::leave_under_way, &owed));
        owed.accepted += under_way;
        a.notify(stream);
        if (under_way && STEP(a, gpo_executor_run(caller, &count)) && owed.under_way)
            a.ask("finish", [&] {
                const gpo_status status = gpo_host_call_finish(caller, owed.under_way, GPO_FAILED, "on purpose");
                return a.failures() && status == GPO_NOT_FOUND ? GPO_SUCCESS : status;  // it came with a failure
            });
        auto statistics = sized<gpo_executor_statistics>();
        STEP(a, gpo_executor_get_statistics(threads, &statistics));
        owed.accepted += STEP(a, gpo_stream_then(stream, caller, Owed::completion, &owed));
        STEP(a, gpo_executor_destroy(caller.release()));
        STEP(a, gpo_runtime_set_log_executor(a.runtime, nullptr));
    }
    a.finish();
    CHECK(owed.came == owed.accepted);
}

// Requests that wait, are cancelled and leave in each way, by entries and by callbacks.
void admissions(Attempt& a) {
    Owed owed;
    if (!a.open()) return;
    {
        Executor executor;
        Stream stream;
        Pool pool;
        if (!STEP(a, gpo_executor_create(a.runtime, nullptr, executor.out()))) return;
        if (!STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
        if (!STEP(a, gpo_pool_create(a.device, nullptr, pool.out()))) return;
        Admission admission;
        auto options = sized<gpo_admission_options>();
        options.count = 2;
        options.pool = pool;
        options.high_bytes = 1 << 20;
        untouched(admission, STEP(a, gpo_admission_create(a.runtime, &options, admission.out())));
        if (!admission) return;
        STEP(a, gpo_admission_set_flow(admission, 3, 2));
        uint64_t tickets[5] = {};
        auto request = sized<gpo_admission_request>();
        for (uint64_t i = 0; i < 4; ++i) {
            request.flow = i;
            request.deadline_ns = i == 2 ? monotonic_ns() + 60'000'000'000 : 0;
            const uint64_t mark = a.next_mark();
            if (STEP(a, gpo_admission_enter(admission, &request, a.queue, mark, &tickets[i]))) a.accepted(mark);
        }
        owed.accepted +=
            STEP(a, gpo_admission_enter_then(admission, nullptr, executor, Owed::completion, &owed, &tickets[4]));
        // With a failure before, another request may hold a place, or none may wait.
        const auto end = [&](const char* text, uint64_t ticket, auto call) {
            if (!ticket) return;
            a.ask(text, [&] {
                const gpo_status status = call(ticket);
                return a.failures() && status == GPO_INVALID_STATE ? GPO_SUCCESS : status;
            });
        };
        end("cancel", tickets[2], [&](uint64_t ticket) { return gpo_admission_cancel(admission, ticket); });
        end("leave", tickets[0], [&](uint64_t ticket) { return gpo_admission_leave(admission, ticket); });
        end("leave after", tickets[1],
            [&](uint64_t ticket) { return gpo_admission_leave_after(admission, ticket, stream); });
        STEP(a, gpo_admission_set_budget(admission, 1, UINT64_MAX));
        a.notify(stream);
        auto info = sized<gpo_admission_info>();
        if (STEP(a, gpo_admission_get_info(admission, &info))) CHECK(info.held <= 4);
        STEP(a, gpo_admission_destroy(admission.release()));
    }
    a.finish();
    CHECK(owed.came == owed.accepted);
}

gpo_status copy_batch(void*, gpo_stream_t stream, const gpo_batch* batch) {
    return gpo_copy_on_device(stream, batch->output, batch->input, batch->elements * 16);
}

// Requests of two keys, by entries and by a callback. The second key's waits for others that don't come, and is
// cancelled.
void batchers(Attempt& a) {
    Owed owed;
    uint8_t rows[5][2][16] = {};
    if (!a.open()) return;
    {
        Executor executor;
        if (!STEP(a, gpo_executor_create(a.runtime, nullptr, executor.out()))) return;
        Batcher batcher;
        auto options = sized<gpo_batcher_options>();
        options.devices = &a.device;
        options.device_count = 1;
        options.label = "scenario";
        untouched(batcher, STEP(a, gpo_batcher_create(&options, batcher.out())));
        if (!batcher) return;
        auto key_options = sized<gpo_batcher_key_options>();
        key_options.flags = GPO_BATCHER_VARIABLE_OUTPUT;
        key_options.layout = GPO_BATCH_ROWS;
        key_options.input_bytes = key_options.output_bytes = 16;
        key_options.work = copy_batch;
        uint32_t key = 0, patient = 0;
        if (!STEP(a, gpo_batcher_add_key(batcher, &key_options, &key))) return;
        key_options.max_delay_ns = kPatience;
        if (!STEP(a, gpo_batcher_add_key(batcher, &key_options, &patient))) return;
        STEP(a, gpo_batcher_set_flow(batcher, 3, 2));
        uint64_t tickets[5] = {};
        auto request = sized<gpo_batcher_request>();
        const auto use = [&](int row) {
            request.flow = static_cast<uint64_t>(row);
            request.input = rows[row][0];
            request.output = rows[row][1];
        };
        for (int i = 0; i < 4; ++i) {
            use(i);
            request.key = i == 3 ? patient : key;
            const uint64_t mark = a.next_mark();
            if (STEP(a, gpo_batcher_submit(batcher, &request, a.queue, mark, &tickets[i], nullptr))) a.accepted(mark);
        }
        use(4);
        request.key = key;
        owed.accepted += STEP(
            a, gpo_batcher_submit_then(batcher, &request, executor, Owed::completion, &owed, &tickets[4], nullptr));
        if (tickets[3])
            a.ask("cancel", [&] {
                const gpo_status status = gpo_batcher_cancel(batcher, tickets[3]);
                return status == GPO_INVALID_STATE || status == GPO_NOT_FOUND ? GPO_SUCCESS : status;
            });
        auto info = sized<gpo_batcher_info>();
        if (STEP(a, gpo_batcher_get_info(batcher, &info))) CHECK(info.submitted <= 5);
        if (STEP(a, gpo_batcher_get_key_info(batcher, key, &info))) CHECK(info.submitted <= 5);
        auto flow = sized<gpo_batcher_flow_info>();
        if (tickets[0])
            a.ask("flow", [&] {  // a flow that there was no memory for has no figures
                const gpo_status status = gpo_batcher_get_flow_info(batcher, 0, &flow);
                return a.memory_may_be_out() && status == GPO_NOT_FOUND ? GPO_SUCCESS : status;
            });
        STEP(a, gpo_batcher_destroy(batcher.release()));
    }
    a.finish();
    CHECK(owed.came == owed.accepted);
}

void memory(Attempt& a) {
    if (!a.open()) return;
    Stream stream;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    Arena arena;
    auto options = sized<gpo_arena_options>();
    options.slab_bytes = 1 << 20;
    auto statistics = sized<gpo_memory_statistics>();
    untouched(arena, STEP(a, gpo_arena_create(a.device, &options, arena.out())));
    if (arena) {
        void *one = nullptr, *two = nullptr;
        untouched(one, STEP(a, gpo_arena_allocate(arena, 1000, 0, &one)));
        untouched(two, STEP(a, gpo_arena_allocate(arena, 3 << 20, 4096, &two)));
        if (one) STEP(a, gpo_arena_free(arena, one));
        if (two && !STEP(a, gpo_arena_free_after(arena, two, stream))) gpo_arena_free(arena, two);
        ASK(a, gpo_stream_wait(stream, kPatience));
        STEP(a, gpo_arena_trim(arena, 0));
        STEP(a, gpo_arena_get_statistics(arena, &statistics));
        STEP(a, gpo_arena_destroy(arena.release()));
    }
    // Each attempt maps a new page and never unmaps it: the page of a lost device stays registered with the driver.
    void* aligned = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(aligned != MAP_FAILED);
    if (STEP(a, gpo_host_register(a.device, aligned, 4096, 0)) && !STEP(a, gpo_host_unregister(a.device, aligned)))
        gpo_host_unregister(a.device, aligned);
    uint64_t address = 0;
    if (STEP(a, gpo_memory_allocate(a.device, 10000, "scenario", &address))) {
        auto info = sized<gpo_memory_info>();
        STEP(a, gpo_memory_describe(a.device, address, &info));
        STEP(a, gpo_memory_free(a.device, address));
    }
    Pool pool;
    auto pool_options = sized<gpo_pool_options>();
    untouched(pool, STEP(a, gpo_pool_create(a.device, &pool_options, pool.out())));
    if (pool) {
        if (STEP(a, gpo_pool_allocate(pool, stream, 5000, &address))) STEP(a, gpo_pool_free(pool, stream, address));
        ASK(a, gpo_stream_wait(stream, kPatience));
        STEP(a, gpo_pool_trim(pool, 0));
        STEP(a, gpo_pool_get_statistics(pool, &statistics));
        STEP(a, gpo_pool_destroy(pool.release()));
    }
}

void copies(Attempt& a) {
    if (!a.open()) return;
    Stream stream;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    uint64_t one = 0, two = 0;
    if (!STEP(a, gpo_memory_allocate(a.device, 4096, nullptr, &one))) return;
    if (STEP(a, gpo_memory_allocate(a.device, 4096, nullptr, &two))) {
        static uint8_t in[4096], out[4096];
        STEP(a, gpo_copy_to_device(stream, one, in, sizeof in));
        STEP(a, gpo_copy_on_device(stream, two, one, 4096));
        STEP(a, gpo_copy_peer(stream, a.device, one, a.device, two, 1024));
        STEP(a, gpo_copy_to_host(stream, out, two, sizeof out));
        const gpo_copy pieces[2] = {{sizeof(gpo_copy), 0, one, two, 64},
                                    {sizeof(gpo_copy), 0, one + 128, two + 128, 64}};
        STEP(a, gpo_copy_batch(stream, pieces, sizeof pieces[0], 2));
        auto rows = sized<gpo_copy_2d>();
        rows.destination = one;
        rows.source = two;
        rows.destination_pitch = rows.source_pitch = 128;
        rows.width = 64;
        rows.height = 8;
        STEP(a, gpo_copy_rows(stream, &rows));
        STEP(a, gpo_fill(stream, one, 7, 4, 100));
        STEP(a, gpo_fill_rows(stream, two, 128, 7, 64, 8));
        a.notify(stream);
        ASK(a, gpo_stream_wait(stream, kPatience));
        STEP(a, gpo_memory_free(a.device, two));
    }
    STEP(a, gpo_memory_free(a.device, one));
}

void kernels(Attempt& a) {
    if (!a.open()) return;
    Stream stream;
    Module module;
    Kernel kernel;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    untouched(module, STEP(a, gpo_module_load_builtin(a.device, module.out())));
    if (!module) return;
    untouched(kernel, STEP(a, gpo_module_get_kernel(module, "gpo_fill_u32", kernel.out())));
    uint64_t address = 0;
    if (!kernel || !STEP(a, gpo_memory_allocate(a.device, 4096, nullptr, &address))) return;
    auto attributes = sized<gpo_kernel_attributes>();
    STEP(a, gpo_kernel_get_attributes(kernel, &attributes));
    uint64_t bytes = 0;
    STEP(a, gpo_kernel_get_parameter(kernel, 1, nullptr, &bytes));
    char name[256];
    STEP(a, gpo_kernel_get_name(kernel, name, sizeof name, nullptr));
    void* function = nullptr;
    STEP(a, gpo_kernel_get_native(kernel, &function));
    STEP(a, gpo_kernel_set_max_dynamic_shared(kernel, 1024));
    uint32_t blocks = 0, threads = 0;
    STEP(a, gpo_kernel_get_occupancy(kernel, 128, 0, &blocks));
    STEP(a, gpo_kernel_suggest_shape(kernel, 0, 0, &threads, &blocks));
    const uint32_t value = 3;
    const uint64_t n = 1024;
    for (int i = 0; i < 3; ++i) STEP(a, launch(stream, kernel, 2, 64, address, value, n));
    a.notify(stream);
    ASK(a, gpo_stream_wait(stream, kPatience));
    STEP(a, gpo_memory_free(a.device, address));
    STEP(a, gpo_kernel_destroy(kernel.release()));
    STEP(a, gpo_module_destroy(module.release()));
}

void modules(Attempt& a) {
    if (!a.open()) return;
    Module compiled, loaded;
    Kernel kernel;
    auto options = sized<gpo_compile_options>();
    options.source = kSource;
    untouched(compiled, STEP(a, gpo_module_compile(a.device, &options, compiled.out())));
    size_t needed = 0;
    static char log[65536];
    ASK(a, gpo_last_compile_log(log, sizeof log, &needed));
    if (!compiled) return;
    static std::vector<uint8_t> image(8 << 20);
    if (STEP(a, gpo_module_get_image(compiled, image.data(), image.size(), &needed)))
        untouched(loaded, STEP(a, gpo_module_load(a.device, image.data(), needed, "again", loaded.out())));
    if (!loaded) return;
    uint64_t address = 0, bytes = 0;
    STEP(a, gpo_module_get_symbol(loaded, "bias", &address, &bytes));
    untouched(kernel, STEP(a, gpo_module_get_kernel(loaded, "shift", kernel.out())));
}

// A pipeline of one stage, with chunks of 4 KiB.
static gpo_pipeline_options small_pipeline(const gpo_stage& stage, uint32_t slots) {
    auto options = sized<gpo_pipeline_options>();
    options.chunk_bytes = 4096;
    options.slots = slots;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.stages = &stage;
    return options;
}

void pipelines(Attempt& a) {
    if (!a.open()) return;
    static uint8_t in[3 * 4096], out[sizeof in];
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = enqueue_nothing;
    auto options = small_pipeline(stage, 2);
    options.result_bytes = 64;
    Pipeline pipeline;
    untouched(pipeline, STEP(a, gpo_pipeline_create(a.device, &options, pipeline.out())));
    if (!pipeline) return;
    const gpo_source source = from_memory(in, sizeof in);
    const gpo_sink sink = to_memory(out, sizeof out);
    auto result = sized<gpo_pipeline_result>();
    auto progress = sized<gpo_pipeline_progress>();
    for (int run = 0; run < 2; ++run) {
        if (!STEP(a, gpo_pipeline_start(pipeline, &source, &sink))) continue;
        const uint64_t mark = a.next_mark();
        if (STEP(a, gpo_pipeline_notify(pipeline, a.queue, mark))) a.accepted(mark);
        Executor executor;
        Owed owed;
        if (run == 0 && STEP(a, gpo_executor_create(a.runtime, nullptr, executor.out()))) {
            owed.accepted += STEP(a, gpo_pipeline_then(pipeline, executor, Owed::completion, &owed));
            STEP(a, gpo_executor_run_for(executor, kPatience, nullptr));
            CHECK(owed.came == owed.accepted);
        }
        STEP(a, gpo_pipeline_get_progress(pipeline, &progress));
        if (run == 0) {
            STEP(a, gpo_pipeline_wait(pipeline, kPatience, &result));
        } else {
            STEP(a, gpo_pipeline_cancel(pipeline));
            a.ask("wait", [&] {
                const gpo_status status = gpo_pipeline_wait(pipeline, kPatience, &result);
                return status == GPO_CANCELLED ? GPO_SUCCESS : status;
            });
        }
    }
    auto share = sized<gpo_pipeline_share>();
    a.ask("share", [&] {
        const gpo_status status = gpo_pipeline_get_share(pipeline, 0, &share);
        return status == GPO_INVALID_STATE ? GPO_SUCCESS : status;   // no run could be started
    });
    STEP(a, gpo_pipeline_destroy(pipeline.release()));
}

// A run over two devices.
void shared_pipelines(Attempt& a) {
    if (!a.open()) return;
    auto second = sized<gpo_device_options>();
    second.ordinal = 1;
    Device other;
    untouched(other, STEP(a, gpo_device_open(a.runtime, &second, other.out())));
    if (!other) return;
    static uint8_t in[6 * 4096], out[sizeof in];
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = enqueue_nothing;
    const gpo_device_t devices[] = {a.device, other};
    auto options = small_pipeline(stage, 1);
    options.devices = devices;
    options.device_count = 2;
    Pipeline pipeline;
    untouched(pipeline, STEP(a, gpo_pipeline_create(a.device, &options, pipeline.out())));
    if (!pipeline) return;
    const gpo_source source = from_memory(in, sizeof in);
    const gpo_sink sink = to_memory(out, sizeof out);
    auto result = sized<gpo_pipeline_result>();
    if (STEP(a, gpo_pipeline_start(pipeline, &source, &sink))) STEP(a, gpo_pipeline_wait(pipeline, kPatience, &result));
    STEP(a, gpo_pipeline_destroy(pipeline.release()));
}

// Fills as many words at `user` as the shape has.
gpo_status fill_bucket(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
    const gpo_status filled = gpo_fill(stream, *static_cast<uint64_t*>(user), 7, 4, work->shape);
    if (filled != GPO_SUCCESS || !work->graph_template) return filled;
    uint32_t node = 0;
    const gpo_status read = gpo_template_get_last_node(work->graph_template, stream, &node);
    if (read != GPO_SUCCESS) return read;
    return gpo_template_add_parameter(work->graph_template, "value", node, GPO_PARAMETER_VALUE, 0);
}

void buckets(Attempt& a) {
    if (!a.open()) return;
    Stream stream;
    uint64_t memory = 0;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    if (!STEP(a, gpo_memory_allocate(a.device, 4096, nullptr, &memory))) return;
    const uint64_t shapes[] = {4, 8, 16};
    auto options = sized<gpo_buckets_options>();
    options.shapes = shapes;
    options.shape_count = 3;
    options.max_buckets = 2;
    options.record = fill_bucket;
    options.user = &memory;
    options.pad_address = memory;
    options.pad_element_bytes = 4;
    Buckets buckets;
    untouched(buckets, STEP(a, gpo_buckets_create(a.device, &options, buckets.out())));
    if (buckets) {
        STEP(a, gpo_buckets_prepare(buckets, stream));
        const uint32_t value = 3;
        auto setting = sized<gpo_setting>();
        setting.name = "value";
        setting.value = &value;
        setting.bytes = sizeof value;
        for (const uint64_t size : {7, 3, 16, 17}) {
            uint64_t shape = 0;
            STEP(a, gpo_buckets_launch(buckets, stream, size, &setting, sizeof setting, 1, &shape));
        }
        auto statistics = sized<gpo_buckets_statistics>();
        STEP(a, gpo_buckets_get_statistics(buckets, &statistics));
        a.notify(stream);
        ASK(a, gpo_stream_wait(stream, kPatience));
        STEP(a, gpo_buckets_destroy(buckets.release()));
    }
    STEP(a, gpo_memory_free(a.device, memory));
}

// Frees memory, which returns to the driver only after resident work has ended, while slow fills run.
void resident_work(Attempt& a) {
    if (!a.open()) return;
    Stream resident;
    Arena arena;
    Template of;
    auto stream_options = sized<gpo_stream_options>();
    stream_options.flags = GPO_STREAM_RESIDENT;
    constexpr uint64_t kBytes = 16 << 20;
    uint64_t memory = 0, address = 0;
    void *piece = nullptr, *words = nullptr;
    if (!STEP(a, gpo_stream_create(a.device, &stream_options, resident.out())) ||
        !STEP(a, gpo_memory_allocate(a.device, kBytes, nullptr, &memory)))
        return;
    for (int i = 0; i < 2; ++i) STEP(a, gpo_fill(resident, memory, 7, 1, kBytes));
    if (STEP(a, gpo_arena_create(a.device, nullptr, arena.out()))) {
        if (STEP(a, gpo_arena_allocate(arena, 4096, 0, &piece))) STEP(a, gpo_arena_free(arena, piece));
        STEP(a, gpo_arena_destroy(arena.release()));
    }
    if (STEP(a, gpo_template_create(a.device, nullptr, of.out()))) {
        STEP(a, gpo_template_allocate_host(of, 4096, &words));
        STEP(a, gpo_template_allocate(of, 4096, &address));
        STEP(a, gpo_template_destroy(of.release()));
    }
    a.notify(resident);
    ASK(a, gpo_stream_wait(resident, kPatience));
    STEP(a, gpo_memory_free(a.device, memory));
}

void device_queues(Attempt& a) {
    if (!a.open()) return;
    Stream stream, resident;
    auto stream_options = sized<gpo_stream_options>();
    stream_options.flags = GPO_STREAM_RESIDENT;
    if (!STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    if (!STEP(a, gpo_stream_create(a.device, &stream_options, resident.out()))) return;
    auto options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_RANGE;
    options.count = 4;
    options.label = "numbers";
    DeviceQueue range, ring;
    untouched(range, STEP(a, gpo_queue_create(a.device, &options, range.out())));
    char handle[GPO_QUEUE_HANDLE_BYTES];
    auto info = sized<gpo_queue_info>();
    if (range) {
        const float costs[] = {1, 4, 2, 3};
        STEP(a, gpo_queue_set_costs(range, stream, costs, 4));
        STEP(a, gpo_queue_get_device_handle(range, handle, sizeof handle, nullptr));
        STEP(a, gpo_queue_reset(range, stream));
    }
    options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_RING;
    options.task_size = 32;
    options.priorities = 2;
    options.stream = resident;
    untouched(ring, STEP(a, gpo_queue_create(a.device, &options, ring.out())));
    if (ring) {
        const char tasks[3 * 32] = {};
        STEP(a, gpo_queue_push(ring, stream, tasks, 3, 1));
        STEP(a, gpo_queue_close(ring));
        STEP(a, gpo_queue_reset(ring, stream));
        STEP(a, gpo_queue_abort(ring));
        STEP(a, gpo_queue_get_info(ring, &info));
        a.notify(stream);
        STEP(a, gpo_queue_destroy(ring.release()));
    }
    if (range) STEP(a, gpo_queue_destroy(range.release()));
}

// No kernel answers the queue: one task is answered by the host, and all other posted tasks are cancelled.
void host_queues(Attempt& a) {
    if (!a.open()) return;
    Stream resident;
    auto stream_options = sized<gpo_stream_options>();
    stream_options.flags = GPO_STREAM_RESIDENT;
    if (!STEP(a, gpo_stream_create(a.device, &stream_options, resident.out()))) return;
    auto options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_HOST_RING;
    options.task_size = 16;
    options.answer_size = 4;
    options.tenants = 2;
    options.stream = resident;
    DeviceQueue queue;
    untouched(queue, STEP(a, gpo_queue_create(a.device, &options, queue.out())));
    if (!queue) return;
    auto tenant = sized<gpo_tenant_options>();
    tenant.completions = a.queue;
    const bool told = STEP(a, gpo_queue_set_tenant(queue, 1, &tenant));
    const char tasks[2 * 16] = {};
    uint64_t posted = 0;
    DeviceHostRing ring;
    const bool asked = STEP(a, gpo_queue_post(queue, 0, tasks, 2, 0, &posted)) &&
                       STEP(a, gpo_queue_get_device_handle(queue, &ring, sizeof ring, nullptr));
    if (asked) answer_first_task(ring);
    const uint64_t first = a.next_mark(), second = a.next_mark();
    if (told && STEP(a, gpo_queue_post(queue, 1, tasks, 2, first, &posted))) {
        CHECK(posted == 2);
        a.accepted(first);
        a.accepted(second);
    }
    gpo_answer answer;
    uint64_t count = 0;
    ASK(a, gpo_queue_wait(queue, 0, 0));
    if (STEP(a, gpo_queue_take(queue, 0, &answer, sizeof answer, nullptr, 1, &count))) CHECK(count == asked);
    STEP(a, gpo_queue_close(queue));
    STEP(a, gpo_queue_destroy(queue.release()));
}

// A scheduler's figures, during its only task and afterwards.
void scheduler_figures(Attempt& a, gpo_scheduler_t scheduler) {
    auto info = sized<gpo_scheduler_info>();
    auto handler = sized<gpo_handler_info>();
    gpo_scheduler_block blocks[4];
    gpo_depth_sample samples[4];
    gpo_task_error errors[4];
    uint64_t count = 0;
    STEP(a, gpo_scheduler_get_info(scheduler, &info));
    STEP(a, gpo_scheduler_get_handler(scheduler, 0, &handler));
    STEP(a, gpo_scheduler_get_blocks(scheduler, blocks, sizeof blocks[0], 4, &count));
    STEP(a, gpo_scheduler_get_samples(scheduler, samples, sizeof samples[0], 4, &count));
    STEP(a, gpo_scheduler_get_errors(scheduler, errors, sizeof errors[0], 4, &count));
}

gpo_scheduler_options scheduler_options(gpo_queue_t ring) {
    auto options = sized<gpo_scheduler_options>();
    options.form = GPO_SCHEDULER_RESIDENT;
    options.queue = ring;
    options.source = "struct task { unsigned handler; };\n"
                     "__device__ int work(gpo::task_context &, const task &) { return 0; }\n";
    options.threads = 32;
    options.multiprocessors = 1;
    return options;
}
gpo_handler scheduler_handler() {
    auto handler = sized<gpo_handler>();
    handler.name = "work";
    return handler;
}

void schedulers(Attempt& a) {
    if (!a.open()) return;
    auto ring_options = sized<gpo_queue_options>();
    ring_options.kind = GPO_QUEUE_RING;
    ring_options.task_size = 16;
    ring_options.capacity = 64;
    DeviceQueue ring;
    Owned<gpo_scheduler_t, gpo_scheduler_destroy> scheduler;
    Stream stream;
    if (!STEP(a, gpo_queue_create(a.device, &ring_options, ring.out())) ||
        !STEP(a, gpo_stream_create(a.device, nullptr, stream.out())))
        return;
    const auto handler = scheduler_handler();
    auto options = scheduler_options(ring);
    untouched(scheduler, STEP(a, gpo_scheduler_create(a.device, &options, &handler, sizeof handler, 1,
                                                      scheduler.out())));
    if (!scheduler) return;
    const char task[16] = {};
    STEP(a, gpo_queue_push(ring, stream, task, 1, 0));
    if (STEP(a, gpo_scheduler_start(scheduler))) STEP(a, gpo_scheduler_drain(scheduler, kPatience));
    scheduler_figures(a, scheduler);
    STEP(a, gpo_scheduler_stop(scheduler, kPatience));
    STEP(a, gpo_scheduler_wait(scheduler, kPatience));
    STEP(a, gpo_scheduler_destroy(scheduler.release()));
    a.notify(stream);
    STEP(a, gpo_queue_destroy(ring.release()));
}

// A while node with the only scheduler of its queue.
void looping_schedulers(Attempt& a) {
    if (!a.open()) return;
    auto ring_options = sized<gpo_queue_options>();
    ring_options.kind = GPO_QUEUE_RING;
    ring_options.task_size = 16;
    ring_options.capacity = 64;
    DeviceQueue ring;
    Owned<gpo_scheduler_t, gpo_scheduler_destroy> scheduler;
    if (!STEP(a, gpo_queue_create(a.device, &ring_options, ring.out()))) return;
    const auto handler = scheduler_handler();
    auto options = scheduler_options(ring);
    options.form = GPO_SCHEDULER_WHILE;
    untouched(scheduler, STEP(a, gpo_scheduler_create(a.device, &options, &handler, sizeof handler, 1,
                                                      scheduler.out())));
    if (!scheduler) return;
    if (STEP(a, gpo_scheduler_start(scheduler))) STEP(a, gpo_scheduler_drain(scheduler, kPatience));
    STEP(a, gpo_scheduler_destroy(scheduler.release()));
    STEP(a, gpo_queue_destroy(ring.release()));
}

// A scheduler of graphs that launches a graph which fills a word.
void graph_schedulers(Attempt& a) {
    if (!a.open()) return;
    auto ring_options = sized<gpo_queue_options>();
    ring_options.kind = GPO_QUEUE_RING;
    ring_options.task_size = 16;
    ring_options.capacity = 64;
    DeviceQueue ring;
    Stream stream;
    Owned<gpo_template_t, gpo_template_destroy> fills;
    Owned<gpo_graph_t, gpo_graph_destroy> graph;
    Owned<gpo_scheduler_t, gpo_scheduler_destroy> scheduler;
    uint64_t memory = 0;
    auto graph_options = sized<gpo_graph_options>();
    graph_options.flags = GPO_GRAPH_DEVICE_LAUNCH;
    if (!STEP(a, gpo_queue_create(a.device, &ring_options, ring.out())) ||
        !STEP(a, gpo_stream_create(a.device, nullptr, stream.out())) ||
        !STEP(a, gpo_template_create(a.device, nullptr, fills.out())) ||
        !STEP(a, gpo_template_allocate(fills, 16, &memory)) ||
        !STEP(a, gpo_template_add_fill(fills, nullptr, 0, memory, 7, 4, 4, nullptr)) ||
        !STEP(a, gpo_graph_create(fills, &graph_options, graph.out())))
        return;
    const gpo_graph_t child = graph;
    auto handler = sized<gpo_handler>();
    handler.graphs = &child;
    handler.graph_count = 1;
    auto options = sized<gpo_scheduler_options>();
    options.form = GPO_SCHEDULER_GRAPHS;
    options.queue = ring;
    untouched(scheduler, STEP(a, gpo_scheduler_create(a.device, &options, &handler, sizeof handler, 1,
                                                      scheduler.out())));
    if (!scheduler) return;
    const char task[16] = {};
    STEP(a, gpo_queue_push(ring, stream, task, 1, 0));
    if (STEP(a, gpo_scheduler_start(scheduler))) STEP(a, gpo_scheduler_drain(scheduler, kPatience));
    STEP(a, gpo_scheduler_destroy(scheduler.release()));
    STEP(a, gpo_queue_destroy(ring.release()));
}

// One rank alone. Under a schedule there are no other processes, and it is refused.
void joined_groups(Attempt& a) {
    if (!a.open()) return;
    Stream stream;
    uint64_t memory = 0;
    uint8_t id[GPO_PEERS_ID_BYTES];
    if (!STEP(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    if (!STEP(a, gpo_memory_allocate(a.device, 4096, nullptr, &memory))) return;
    if (!STEP(a, gpo_peers_make_id(id, sizeof id, nullptr))) return;
    auto options = sized<gpo_join_options>();
    options.by = GPO_JOIN_ID;
    options.ranks = 1;
    options.timeout_ns = kPatience;
    options.id = id;
    options.label = "alone";
    Owned<gpo_peers_t, gpo_peers_destroy> peers, part;
    untouched(peers, STEP(a, gpo_peers_join(a.device, &options, peers.out())));
    if (peers) {
        const uint32_t rank = 0;
        untouched(part, STEP(a, gpo_peers_split(peers, &rank, 1, nullptr, part.out())));
        auto sum = sized<gpo_collective>();
        sum.kind = GPO_COLLECTIVE_ALL_REDUCE;
        sum.type = GPO_TYPE_FLOAT16;
        sum.reduction = GPO_REDUCE_AVERAGE;
        sum.count = 1000;
        auto own = sized<gpo_rank_part>();
        own.stream = stream;
        own.send = own.receive = memory;
        for (int turn = 0; turn < 2; ++turn) STEP(a, gpo_peers_submit(peers, &sum, &own, sizeof own, 1));
        ASK(a, gpo_stream_wait(stream, kPatience));
        a.notify(stream);
        a.drain();
        if (part) STEP(a, gpo_peers_abort(part));
    }
    STEP(a, gpo_memory_free(a.device, memory));
}

}  // namespace

const std::vector<Scenario>& scenarios() {
    exporter();
    static const std::vector<Scenario> all{
        {"runtimes", runtimes},
        {"devices", devices},
        {"advice", advice, 60},
        {"traces", traces},
        {"streams", streams},
        {"events", events},
        {"held events", held_events},
        {"interprocess", interprocess},
        {"timelines", timelines},
        {"queues", queues},
        {"memory", memory},
        {"copies", copies},
        {"kernels", kernels},
        {"modules", modules},
        {"pipelines", pipelines},
        {"pipelines over two devices", shared_pipelines},
        {"buckets", buckets, 150},
        {"restored buckets", restored_buckets, 150},
        {"resident work", resident_work, 60},
        {"device queues", device_queues},
        {"host queues", host_queues},
        {"schedulers", schedulers, 10, 100},
        {"looping schedulers", looping_schedulers, 4, 60},
        {"schedulers of graphs", graph_schedulers, 4, 60},
        {.name = "symmetric memory", .run = symmetric_memory, .most = 200, .makes_groups = true},
        {.name = "collectives", .run = collectives, .most = 200, .makes_groups = true},
        {"executors", executors},
        {"admissions", admissions},
        {"batchers", batchers},
        {.name = "joined groups", .run = joined_groups, .most = 100, .makes_groups = true},
        {"files", files},
        {"tuned pipeline", tuned_pipeline, 15},
        {"launches", launches},
        {"families of kernels", families, 40, 400},
        {"learned sequences", learned_sequences},
        {"built templates", built_templates},
        {"launched events", launched_events},
        {"recorded templates", recorded_templates, 400, 400},
        {"templates made anew", templates_made_anew},
        {"launched templates", launched_templates},
        {"traced templates", traced_templates, 150},
        {"imported templates", imported_templates},
        {"calling host nodes", calling_host_nodes},
        {"memory of templates", template_memory},
        {"allocating templates", allocating_templates},
        {"conditional templates", conditional_templates, 400, 400},
        {"compile uncached", compile_uncached, 4, 40, true},
        {"compile remembered", compile_remembered, 16},
    };
    return all;
}

}  // namespace gpo::test
