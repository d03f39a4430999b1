// All kinds of queues: options, device handles, other devices' streams, and the life of their memory.
#include <functional>
#include <thread>

#include "conformance/queue/host_rig.h"

using namespace gpo::test;

namespace {

struct BadOption {
    const char* named;
    std::function<void(gpo_queue_options&)> spoil;
};

void refuses_each(Gpu& gpu, const gpo_queue_options& good, const std::vector<BadOption>& bad) {
    for (const BadOption& one : bad) {
        CAPTURE(one.named);
        auto options = good;
        one.spoil(options);
        gpo_queue_t made = nullptr;
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_create(gpu.device, &options, &made));
        CHECK(made == nullptr);
        CHECK(mentions(queue_refusal(), one.named));
    }
}

}  // namespace

TEST_CASE("a range's options that are out of range, or a ring's, are refused by name") {
    Gpu gpu;
    refuses_each(gpu, range_options(10),
                 {{"options.kind", [](auto& o) { o.kind = 0; }},
                  {"options.kind", [](auto& o) { o.kind = 99; }},
                  {"options.count", [](auto& o) { o.count = 0; }},
                  {"options.count", [](auto& o) { o.count = (uint64_t{1} << 48) + 1; }},
                  {"options.flags", [](auto& o) { o.flags = GPO_QUEUE_TICKETS; }},
                  {"options.flags", [](auto& o) { o.flags = GPO_QUEUE_LATE_CLAIMS | 8; }},
                  {"options.capacity", [](auto& o) { o.capacity = 64; }},
                  {"options.task_size", [](auto& o) { o.task_size = 16; }},
                  {"options.priorities", [](auto& o) { o.priorities = 1; }}});
}

TEST_CASE("a ring's options that are out of range, or a range's, are refused by name") {
    Gpu gpu;
    refuses_each(gpu, ring_options(64),
                 {{"options.capacity", [](auto& o) { o.capacity = (uint64_t{1} << 26) + 1; }},
                  {"options.task_size", [](auto& o) { o.task_size = 0; }},
                  {"options.task_size", [](auto& o) { o.task_size = 24; }},
                  {"options.task_size", [](auto& o) { o.task_size = 272; }},
                  {"options.priorities", [](auto& o) { o.priorities = 9; }},
                  {"options.priorities", [](auto& o) { o.flags = GPO_QUEUE_TICKETS, o.priorities = 2; }},
                  {"options.flags", [](auto& o) { o.flags = GPO_QUEUE_LATE_CLAIMS; }},
                  {"options.flags", [](auto& o) { o.flags = 128; }},
                  {"options.batch", [](auto& o) { o.batch = 1; }},
                  {"options.count", [](auto& o) { o.count = 1; }}});
}

TEST_CASE("a device handle goes into a buffer that is large enough") {
    Gpu gpu;
    DeviceQueue ring = make_queue(gpu, ring_options(64));
    char buffer[GPO_QUEUE_HANDLE_BYTES];
    size_t needed = 0;
    CHECK_OK(gpo_queue_get_device_handle(ring, nullptr, 0, &needed));
    CHECK(needed == 96);
    CHECK_STATUS(GPO_BUFFER_TOO_SMALL, gpo_queue_get_device_handle(ring, buffer, 95, &needed));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_get_device_handle(ring, nullptr, 96, &needed));
    CHECK_OK(gpo_queue_get_device_handle(ring, buffer, sizeof buffer, nullptr));
    DeviceQueue range = make_queue(gpu, range_options(1));
    CHECK_OK(gpo_queue_get_device_handle(range, nullptr, 0, &needed));
    CHECK(needed == 64);
}

TEST_CASE("a queue and a stream of another device don't go together") {
    Gpu gpu;
    Device second = gpu.second_device();
    if (!second) return;
    Stream elsewhere;
    auto resident = sized<gpo_stream_options>();
    resident.flags = GPO_STREAM_RESIDENT;
    REQUIRE_OK(gpo_stream_create(second, &resident, elsewhere.out()));
    auto options = ring_options(64);
    options.stream = elsewhere;
    gpo_queue_t made = nullptr;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_create(gpu.device, &options, &made));
    CHECK(mentions(queue_refusal(), "another device"));
    DeviceQueue ring = make_queue(gpu, ring_options(64)), range = make_queue(gpu, range_options(1));
    const float cost = 1;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_reset(ring, elsewhere));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_reset(range, elsewhere));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_set_costs(range, elsewhere, &cost, 1));
    const uint64_t task[2] = {};
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_push(ring, elsewhere, task, 1, 0));
    CHECK(mentions(queue_refusal(), "another device"));
}

TEST_CASE("a queue's memory is its own, and is there until the work before its destruction is done") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    DeviceQueue ring = make_queue(gpu, ring_options(64));
    const uint64_t words = row_of<RingRow>(ring).words;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_memory_free(gpu.device, words));
    CHECK(mentions(queue_refusal(), "a queue"));
    CHECK_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    CHECK_OK(gpo_fill(stream, words, 7, 4, 1));
    CHECK_OK(gpo_queue_destroy(ring.release()));
    CHECK(is_device_memory(gpu, words));
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    CHECK_FALSE(is_device_memory(gpu, words));
}

TEST_CASE("a queue that was made for a stream stays until the stream's work is done") {
    Gpu gpu;
    Stream stream = gpu.stream("worker", GPO_STREAM_RESIDENT);
    Timeline timeline = gpu.timeline();
    auto options = ring_options(64);
    options.stream = stream;
    DeviceQueue ring = make_queue(gpu, options);
    const auto row = row_of<RingRow>(ring);
    auto state = gpu.pinned<uint32_t>(1);
    CHECK_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    CHECK_OK(gpo_copy_to_host(stream, state.data(), row.words + 768, 4));
    CHECK_OK(gpo_queue_destroy(ring.release()));
    CHECK(is_device_memory(gpu, row.words));
    // The ring's state may change only after gpo_queue_destroy has returned.
    Stream reader = gpu.stream("reader");
    CHECK(comes_true([&] {
        CHECK_OK(gpo_copy_to_host(reader, state.data(), row.words + 768, 4));
        CHECK_OK(gpo_stream_wait(reader, kPatience));
        return read(state[0]) == GPO_QUEUE_ABORTED;
    }));
    state[0] = 0;
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(state[0]) == GPO_QUEUE_ABORTED);
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
}

TEST_CASE("a queue's stream has to be a resident one") {
    Gpu gpu;
    Stream stream = gpu.stream("plain");
    auto options = range_options(1);
    options.stream = stream;
    gpo_queue_t made = nullptr;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_create(gpu.device, &options, &made));
    CHECK(mentions(queue_refusal(), "stream `plain` (options.stream) isn't resident"));
    CHECK(made == nullptr);
}

TEST_CASE("queues come and go, and no device memory stays behind") {
    Gpu gpu;
    Stream stream = gpu.stream("worker", GPO_STREAM_RESIDENT);
    const auto free_bytes = [&] {
        uint64_t free_now = 0, total = 0;
        REQUIRE_OK(gpo_device_wait(gpu.device, kPatience));
        REQUIRE_OK(gpo_device_get_memory(gpu.device, &free_now, &total));
        return free_now;
    };
    const auto once = [&] {
        auto options = ring_options(1 << 16, 256);
        options.stream = stream;
        auto numbers = range_options(1 << 16);
        numbers.stream = stream;
        DeviceQueue ring = make_queue(gpu, options), range = make_queue(gpu, numbers);
        const std::vector<float> costs(1 << 16, 1.0f);
        REQUIRE_OK(gpo_queue_set_costs(range, stream, costs.data(), costs.size()));
    };
    once();
    const uint64_t before = free_bytes();
    for (int i = 0; i < 20; ++i) once();
    // The memory is freed soon after the work on the queue's own stream is done.
    const uint64_t deadline = monotonic_ns() + static_cast<uint64_t>(kPatience);
    while (free_bytes() + (4 << 20) < before && monotonic_ns() < deadline) std::this_thread::yield();
    CHECK(free_bytes() + (4 << 20) >= before);
}
