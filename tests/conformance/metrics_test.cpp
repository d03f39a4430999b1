// Metrics: gauges follow what is going on, latencies and errors are counted, and the text says the same.
#include <string>
#include <vector>

#include "conformance/pipeline_rig.h"

using namespace gpo::test;

namespace {

gpo_metrics metrics_of(Gpu& gpu) {
    auto metrics = sized<gpo_metrics>();
    REQUIRE_OK(gpo_runtime_get_metrics(gpu.runtime, &metrics));
    return metrics;
}

std::string text_of(Gpu& gpu) {
    std::string text(64, '\0');
    size_t needed = 0;
    gpo_status status;
    while ((status = gpo_runtime_get_metrics_text(gpu.runtime, text.data(), text.size(), &needed)) ==
           GPO_BUFFER_TOO_SMALL)
        text.resize(needed + 64);
    REQUIRE_OK(status);
    text.resize(needed - 1);
    return text;
}

/// Removes the label of the runtime, which all samples carry.
std::string bare(std::string text) {
    for (size_t at; (at = text.find("runtime=\"")) != std::string::npos;) {
        const size_t end = text.find('"', at + 9) + 1;
        text.erase(at, end - at + (text[end] == ','));
        if (text.compare(at - 1, 2, "{}") == 0) text.erase(at - 1, 2);
    }
    return text;
}

bool contains(const std::string& text, const char* line) { return text.find(line) != std::string::npos; }

}  // namespace

TEST_CASE("what is pending shows in the gauges, and goes when it is done and drained" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Stream stream = gpu.stream();
    const gpo_metrics before = metrics_of(gpu);
    gate.put_on(stream);
    REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
    gpo_metrics during = metrics_of(gpu);
    CHECK(during.devices == 1);
    CHECK(during.streams >= 1);
    CHECK(during.operations_pending >= 1);
    CHECK(during.completions_pending == before.completions_pending + 1);
    CHECK(during.latency_count == before.latency_count);
    gate.open();
    REQUIRE_OK(gpo_cq_wait(queue, kPatience));
    CHECK(metrics_of(gpu).completions_pending == before.completions_pending + 1);
    gpo_completion entry;
    uint64_t count = 0;
    REQUIRE_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
    const gpo_metrics after = metrics_of(gpu);
    CHECK(after.operations_pending < during.operations_pending);
    CHECK(after.completions_pending == before.completions_pending);
    CHECK(after.latency_count == before.latency_count + 1);
    const uint64_t latency = entry.completed_ns - entry.submitted_ns;
    CHECK(after.latency_sum == before.latency_sum + latency);
    size_t bucket = 0;
    while (bucket + 1 < GPO_METRICS_LATENCIES && latency > (uint64_t{1000} << bucket)) ++bucket;
    CHECK(after.latencies[bucket] == before.latencies[bucket] + 1);
}

TEST_CASE("a pipeline's run that has ended leaves nothing pending, whichever way it ended") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.options.chunk_bytes = 4096;
    rig.options.flags = GPO_PIPELINE_TIMES;
    Pipeline pipeline = rig.create(gpu);
    const uint64_t before = metrics_of(gpu).operations_pending;
    const auto data = noise(100'000);
    std::vector<uint8_t> out(data.size());
    const auto whole = from_memory(data.data(), data.size());
    for (int i = 0; i < 3; ++i) {
        REQUIRE_OK(run(pipeline, whole, to_memory(out.data(), out.size())));
        CHECK(metrics_of(gpu).operations_pending == before);
    }
    REQUIRE_OK(run(pipeline, from_memory(data.data(), 0), to_nothing()));
    CHECK(metrics_of(gpu).operations_pending == before);
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_CALLBACK;
    for (const gpo_status status : {gpo_status{GPO_END}, gpo_status{GPO_IO_ERROR}}) {
        INFO(status);
        gpo_status told = status;
        sink.user = &told;
        sink.take = [](void* user, const gpo_chunk* chunk) -> gpo_status {
            return chunk->index == 2 ? *static_cast<gpo_status*>(user) : GPO_SUCCESS;
        };
        CHECK((run(pipeline, whole, sink) == GPO_SUCCESS) == (status == GPO_END));
        CHECK(metrics_of(gpu).operations_pending == before);
    }
}

TEST_CASE("the text has the figures of each admission, by its label or number") {
    Gpu gpu;
    CHECK_FALSE(contains(text_of(gpu), "gpuorch_admission"));
    const Queue queue = gpu.queue();
    auto options = sized<gpo_admission_options>();
    options.count = 2;
    options.bytes = 100;
    options.capacity = 1;
    options.label = "the \"door\"";
    Admission first, second, other;
    REQUIRE_OK(gpo_admission_create(gpu.runtime, &options, first.out()));
    REQUIRE_OK(gpo_admission_create(gpu.runtime, &options, second.out()));
    REQUIRE_OK(gpo_admission_create(gpu.runtime, nullptr, other.out()));
    auto request = sized<gpo_admission_request>();
    request.count = 2;
    request.bytes = 40;
    uint64_t ticket = 0;
    REQUIRE_OK(gpo_admission_enter(first, &request, queue, 1, &ticket));
    request.bytes = 7;
    REQUIRE_OK(gpo_admission_enter(first, &request, queue, 2, &ticket));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_admission_enter(first, &request, queue, 3, &ticket));
    request.count = 3;
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_admission_enter(first, &request, queue, 3, &ticket));
    const std::string text = bare(text_of(gpu));
    const char* const door = "{admission=\"the \\\"door\\\"\"";
    const auto has = [&](const std::string& name, const std::string& labels, const char* value) {
        INFO(name);
        CHECK(contains(text, ("\n" + name + door + labels + "} " + value + "\n").c_str()));
    };
    has("gpuorch_admission_requests_held", "", "1");
    has("gpuorch_admission_places_held", "", "2");
    has("gpuorch_admission_held_bytes", "", "40");
    has("gpuorch_admission_requests_waiting", "", "1");
    has("gpuorch_admission_waiting_bytes", "", "7");
    has("gpuorch_admission_admitted_total", "", "1");
    has("gpuorch_admission_rejected_total", ",reason=\"line_full\"", "1");
    has("gpuorch_admission_rejected_total", ",reason=\"too_large\"", "1");
    has("gpuorch_admission_wait_seconds_count", "", "1");
    has("gpuorch_admission_wait_seconds_bucket", ",le=\"+Inf\"", "1");
    has("gpuorch_admission_paused", "", "0");
    // Each series comes once, although two admissions have one label.
    size_t series = 0;
    for (size_t at = 0; (at = text.find("\ngpuorch_admission_requests_held{", at)) != std::string::npos; ++at) ++series;
    CHECK(series == 3);
    CHECK(text.find(std::string("gpuorch_admission_requests_held") + door + "}") ==
          text.rfind(std::string("gpuorch_admission_requests_held") + door + "}"));
}

TEST_CASE("the text has the figures of each key of a batcher, by labels or numbers") {
    Gpu gpu;
    CHECK_FALSE(contains(text_of(gpu), "gpuorch_batcher"));
    const Queue queue = gpu.queue();
    const gpo_device_t device = gpu.device;
    auto options = sized<gpo_batcher_options>();
    options.devices = &device;
    options.device_count = 1;
    options.label = "front";
    Batcher batcher, other;
    REQUIRE_OK(gpo_batcher_create(&options, batcher.out()));
    REQUIRE_OK(gpo_batcher_create(&options, other.out()));
    auto key = sized<gpo_batcher_key_options>();
    key.layout = GPO_BATCH_ROWS;
    key.input_bytes = key.output_bytes = 8;
    key.label = "a \"row\"";
    key.work = [](void*, gpo_stream_t, const gpo_batch*) -> gpo_status { return GPO_SUCCESS; };
    uint32_t numbers[2] = {7, 7};
    REQUIRE_OK(gpo_batcher_add_key(batcher, &key, &numbers[0]));
    REQUIRE_OK(gpo_batcher_add_key(batcher, &key, &numbers[1]));
    REQUIRE_OK(gpo_batcher_add_key(other, &key, &numbers[1]));
    uint64_t in = 1, out = 2, ticket = 0;
    auto request = sized<gpo_batcher_request>();
    request.input = &in;
    request.output = &out;
    REQUIRE_OK(gpo_batcher_submit(batcher, &request, queue, 1, &ticket, nullptr));
    CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
    request.deadline_ns = 1;
    CHECK_STATUS(GPO_TIMEOUT, gpo_batcher_submit(batcher, &request, queue, 2, &ticket, nullptr));
    const std::string text = bare(text_of(gpu));
    const char* const of = "{batcher=\"front\",key=\"a \\\"row\\\"\"";
    const auto has = [&](const std::string& name, const std::string& labels, const char* value) {
        INFO(name);
        CHECK(contains(text, ("\n" + name + of + labels + "} " + value + "\n").c_str()));
    };
    has("gpuorch_batcher_requests_waiting", "", "0");
    has("gpuorch_batcher_submitted_total", "", "1");
    has("gpuorch_batcher_submitted_bytes_total", "", "16");
    has("gpuorch_batcher_requests_total", ",outcome=\"success\"", "1");
    has("gpuorch_batcher_refused_total", ",reason=\"deadline\"", "1");
    has("gpuorch_batcher_batches_total", "", "1");
    has("gpuorch_batcher_batch_size_bucket", ",le=\"1\"", "1");
    has("gpuorch_batcher_batch_size_bucket", ",le=\"+Inf\"", "1");
    has("gpuorch_batcher_request_seconds_bucket", ",le=\"+Inf\"", "1");
    has("gpuorch_batcher_queue_seconds_count", "", "1");
    // Each series comes once, although keys and batchers have one label.
    size_t series = 0;
    for (size_t at = 0; (at = text.find("\ngpuorch_batcher_late_total{", at)) != std::string::npos; ++at) ++series;
    CHECK(series == 3);
    CHECK(text.find(std::string("gpuorch_batcher_requests_waiting") + of + "}") ==
          text.rfind(std::string("gpuorch_batcher_requests_waiting") + of + "}"));
}

TEST_CASE("executors show with their threads, what they owe and what they have run") {
    Gpu gpu;
    const gpo_metrics before = metrics_of(gpu);
    CHECK(before.executors == 0);
    CHECK(before.callbacks == 0);
    Executor threads = gpu.executor(0, 3), caller = gpu.executor(GPO_EXECUTOR_CALLER);
    Timeline timeline = gpu.timeline();
    const gpo_completion_fn nothing = [](void*, const gpo_completion*, const gpo_error*) {};
    for (uint64_t i = 0; i < 5; ++i)
        REQUIRE_OK(gpo_timeline_then(timeline, 1, i % 2 ? threads : caller, nothing, nullptr));
    const gpo_metrics during = metrics_of(gpu);
    CHECK(during.executors == 2);
    CHECK(during.executor_threads == 3);
    CHECK(during.callbacks == 0);
    CHECK(during.callbacks_pending == 5);
    CHECK(contains(bare(text_of(gpu)), "gpuorch_callbacks_pending 5\n"));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    for (gpo_executor_t executor : {threads.get(), caller.get()})
        REQUIRE_OK(gpo_executor_run_for(executor, kPatience, nullptr));
    threads.reset();
    const gpo_metrics after = metrics_of(gpu);
    CHECK(after.executors == 1);
    CHECK(after.executor_threads == 0);
    CHECK(after.callbacks == 5);   // of destroyed executors, too
    CHECK(after.callbacks_pending == 0);
    CHECK(contains(bare(text_of(gpu)), "gpuorch_callbacks_total 5\n"));
}

TEST_CASE("memory of arenas and pools shows as in use, reserved and peak") {
    Gpu gpu;
    const gpo_metrics before = metrics_of(gpu);
    Stream stream = gpu.stream();
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
    uint64_t address = 0;
    {
        Pinned<char> piece = gpu.pinned<char>(1 << 20);
        REQUIRE_OK(gpo_pool_allocate(pool, stream, 1 << 20, &address));
        const gpo_metrics during = metrics_of(gpu);
        CHECK(during.arena_in_use >= before.arena_in_use + (1 << 20));
        CHECK(during.arena_reserved >= during.arena_in_use);
        CHECK(during.pool_in_use == 1 << 20);
        CHECK(during.pool_reserved >= 1 << 20);
    }
    REQUIRE_OK(gpo_pool_free(pool, stream, address));
    const gpo_metrics after = metrics_of(gpu);
    CHECK(after.arena_in_use == before.arena_in_use);
    CHECK(after.arena_peak >= before.arena_in_use + (1 << 20));
    CHECK(after.pool_in_use == 0);
    CHECK(after.pool_peak == 1 << 20);
}

TEST_CASE("the pinned memory of a pipeline, which is in no arena, shows as long as the pipeline has it") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.options.chunk_bytes = 8192;
    rig.options.slots = 3;
    Pipeline pipeline = rig.create(gpu);
    const auto data = noise(100'000);
    std::vector<uint8_t> out(data.size());
    CHECK(metrics_of(gpu).pipeline_pinned == 0);
    REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), to_memory(out.data(), out.size())));
    const uint64_t pinned = metrics_of(gpu).pipeline_pinned;
    CHECK(pinned >= 3 * (8192 + 8192));
    CHECK(contains(bare(text_of(gpu)), ("gpuorch_pipeline_pinned_bytes " + std::to_string(pinned) + "\n").c_str()));
    pipeline.reset();
    CHECK(metrics_of(gpu).pipeline_pinned == 0);
}

TEST_CASE("a call that fails is counted by its status, and one that succeeds is not") {
    Gpu gpu;
    Stream stream = gpu.stream();
    const gpo_metrics before = metrics_of(gpu);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill(stream, 0, 0, 1, 16));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill(stream, 16, 0, 3, 16));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    const gpo_metrics after = metrics_of(gpu);
    for (gpo_status status = 0; status < GPO_METRICS_ERRORS; ++status) {
        INFO(status);
        CHECK(after.errors[status] == before.errors[status] + (status == GPO_INVALID_ARGUMENT ? 2 : 0));
    }
    CHECK(contains(bare(text_of(gpu)), "gpuorch_errors_total{status=\"GPO_INVALID_ARGUMENT\"} 2\n"));
}

TEST_CASE("the device's own figures are there, or there is a reason") {
    Gpu gpu;
    auto metrics = sized<gpo_device_metrics>();
    REQUIRE_OK(gpo_device_get_metrics(gpu.device, &metrics));
    CHECK(metrics.memory_total > 0);
    CHECK(metrics.memory_used >= 0);
    CHECK(metrics.memory_used <= metrics.memory_total);
    if (metrics.reason[0]) {
        CHECK(metrics.power == -1);
        CHECK(metrics.utilization == -1);
    } else {
        CHECK(metrics.utilization >= 0);
        CHECK(metrics.utilization <= 100);
        CHECK(metrics.sm_clock > 0);
    }
}

TEST_CASE("the text ends with a line, holds every figure and no half of one") {
    Gpu gpu;
    const std::string text = text_of(gpu);
    CHECK(text.ends_with("\n"));
    CHECK(contains(text, "# TYPE gpuorch_completion_latency_seconds histogram\n"));
    CHECK(contains(bare(text), "gpuorch_completion_latency_seconds_bucket{le=\"+Inf\"} 0\n"));
    CHECK(contains(bare(text), "gpuorch_gpu_memory_total_bytes{gpu=\""));
    size_t needed = 0;
    char little[8];
    CHECK_STATUS(GPO_BUFFER_TOO_SMALL, gpo_runtime_get_metrics_text(gpu.runtime, little, sizeof little, &needed));
    CHECK(needed > text.size() / 2);
}

TEST_CASE("each sample says whose runtime it is of, by its label or else by a number that no other runtime has had") {
    const auto names_of = [](gpo_runtime_t runtime) {
        std::string text(1 << 16, '\0');
        size_t needed = 0;
        REQUIRE_OK(gpo_runtime_get_metrics_text(runtime, text.data(), text.size(), &needed));
        text.resize(needed - 1);
        std::vector<std::string> names;
        for (size_t at = 0, end; at < text.size(); at = end + 1) {
            end = text.find('\n', at);
            const std::string line = text.substr(at, end - at);
            if (line[0] == '#') continue;
            const size_t label = line.find("{runtime=\"");
            INFO(line);
            REQUIRE(label != std::string::npos);
            size_t close = label + 10;
            while (line[close] != '"') close += line[close] == '\\' ? 2 : 1;
            names.push_back(line.substr(label + 10, close - label - 10));
        }
        REQUIRE(names.size() > 15);
        CHECK(names == std::vector<std::string>(names.size(), names[0]));
        return names[0];
    };
    auto options = sized<gpo_runtime_options>();
    std::vector<gpo_runtime_t> runtimes;
    for (const char* label : {"one", "two \"\\\n", "", static_cast<const char*>(nullptr)}) {
        options.label = label;
        REQUIRE_OK(gpo_runtime_create(&options, &runtimes.emplace_back()));
    }
    CHECK(names_of(runtimes[0]) == "one");
    CHECK(names_of(runtimes[1]) == "two \\\"\\\\\\n");
    const std::string third = names_of(runtimes[2]), fourth = names_of(runtimes[3]);
    CHECK(std::to_string(std::stoul(third) + 1) == fourth);
    for (const gpo_runtime_t runtime : runtimes) CHECK_OK(gpo_runtime_shutdown(runtime, -1));
}

TEST_CASE("what is held now and what was ever held have names of their own") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    uint64_t memory = 0;
    REQUIRE_OK(gpo_memory_allocate(gpu.device, 64, nullptr, &memory));
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_fill(stream, memory, 1, 4, 16));
    const uint64_t held = metrics_of(gpu).operations_held;
    CHECK(held >= 1);
    CHECK(gpu.statistics().holds == held);
    CHECK(contains(bare(text_of(gpu)), ("gpuorch_operations_held " + std::to_string(held) + "\n").c_str()));
    CHECK(contains(bare(text_of(gpu)), ("gpuorch_holds_total " + std::to_string(held) + "\n").c_str()));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(contains(bare(text_of(gpu)), "gpuorch_operations_held 0\n"));
    CHECK(contains(bare(text_of(gpu)), ("gpuorch_holds_total " + std::to_string(held) + "\n").c_str()));
    CHECK_OK(gpo_memory_free(gpu.device, memory));
}
