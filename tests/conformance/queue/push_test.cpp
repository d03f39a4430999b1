// Tasks that streams push into rings: their order, tasks without room, and bad input.
#include <array>
#include <numeric>

#include "conformance/queue/host_rig.h"
#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

/// A single thread pops up to `count` tasks of 16 bytes, until the ring is empty.
constexpr const char* kPop = R"(
typedef unsigned long long u64;
struct ring {
    unsigned magic, version;
    u64 words, sequence, tasks;
    unsigned capacity_log2, task_size, priorities, flags, reserved[12];
};
extern "C" __global__ void pop(ring r, unsigned count, uint4 *out, unsigned *popped)
{
    volatile u64 *head = (volatile u64 *)(r.words + 128), *tail = (volatile u64 *)r.words;
    volatile unsigned *sequence = (volatile unsigned *)r.sequence;
    unsigned done = 0;
    for (; done < count && *head < *tail; ++done) {
        const u64 slot = *head & ((1ull << r.capacity_log2) - 1);
        if ((sequence[slot] & 1) == 0) break;
        out[done] = ((uint4 *)r.tasks)[slot];
        sequence[slot] += 1;
        *head += 1;
    }
    if (!r.flags) {
        *(volatile u64 *)(r.words + 256) += done;
        *(volatile u64 *)(r.words + 384) -= done;
    }
    *popped = done;
}
)";

using Task = std::array<uint32_t, 4>;

std::vector<Task> numbered(uint32_t first, uint32_t count) {
    std::vector<Task> tasks(count);
    for (uint32_t i = 0; i < count; ++i) tasks[i] = {first + i, ~(first + i), 7 * (first + i), 1};
    return tasks;
}

struct PushRig : Gpu {
    explicit PushRig(uint32_t flags = 0) : on(stream("pusher")), pop(kernel(kPop, "pop")) {
        auto options = ring_options(64);
        options.flags = flags;
        options.label = "work";
        ring = make_queue(*this, options);
    }
    gpo_status push(uint32_t first, uint32_t count) {
        return gpo_queue_push(ring, on, numbered(first, count).data(), count, 0);
    }
    std::vector<Task> popped(uint32_t count) {
        auto out = pinned<Task>(count);
        auto number = pinned<uint32_t>(1);
        CHECK_OK(launch(on, pop, 1, 1, row_of<RingRow>(ring), count, out.data(), number.data()));
        CHECK_OK(gpo_stream_wait(on, kPatience));
        return {out.begin(), out.begin() + read(number[0])};
    }

    Stream on;
    Kernel pop;
    DeviceQueue ring;
};

}  // namespace

TEST_CASE("tasks come out of a ring in the order in which a stream pushed them") {
    for (const uint32_t flags : {0, GPO_QUEUE_TICKETS}) {
        CAPTURE(flags);
        PushRig rig(flags);
        CHECK_OK(rig.push(0, 3));
        CHECK_OK(rig.push(3, 40));
        CHECK(queue_info(rig.ring).refused == 0);
        CHECK(rig.popped(10) == numbered(0, 10));
        CHECK(rig.popped(64) == numbered(10, 33));
        CHECK(rig.popped(64).empty());
        const auto info = queue_info(rig.ring);
        CHECK(info.pushed == 43);
        CHECK(info.popped == 43);
        CHECK(info.depth == 0);
    }
}

TEST_CASE("what finds no room is the last of the tasks, and is counted") {
    for (const uint32_t flags : {0, GPO_QUEUE_TICKETS}) {
        CAPTURE(flags);
        PushRig rig(flags);
        CHECK_OK(rig.push(0, 60));
        CHECK_OK(rig.push(60, 10));
        CHECK_OK(rig.push(70, 3));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        auto info = queue_info(rig.ring);
        CHECK(info.pushed == 64);
        CHECK(info.refused == 9);
        CHECK(info.depth == 64);
        CHECK(rig.popped(100) == numbered(0, 64));
        CHECK_OK(rig.push(5, 1));
        CHECK(rig.popped(100) == numbered(5, 1));
        info = queue_info(rig.ring);
        CHECK(info.refused == 9);
        CHECK(info.pushed == 65);
    }
}

TEST_CASE("a ring goes round and round, and loses no task") {
    for (const uint32_t flags : {0, GPO_QUEUE_TICKETS}) {
        CAPTURE(flags);
        PushRig rig(flags);
        uint32_t pushed = 0, popped = 0;
        for (int turn = 0; turn < 40; ++turn) {
            CHECK_OK(rig.push(pushed, 29));
            pushed += 29;
            const auto tasks = rig.popped(37);
            CHECK(tasks == numbered(popped, static_cast<uint32_t>(tasks.size())));
            popped += static_cast<uint32_t>(tasks.size());
        }
        CHECK(popped == pushed);
        CHECK(queue_info(rig.ring).refused == 0);
    }
}

TEST_CASE("more tasks than a block has threads are pushed in their order, too") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue ring = make_queue(gpu, ring_options(4096));
    const auto tasks = numbered(0, 3000);
    CHECK_OK(gpo_queue_push(ring, stream, tasks.data(), tasks.size(), 0));
    const auto row = row_of<RingRow>(ring);
    CHECK(device_words<Task>(gpu, stream, row.tasks, 3000) == tasks);
    CHECK(queue_info(ring).pushed == 3000);
    CHECK(queue_info(ring).refused == 0);
}

TEST_CASE("each priority has places of its own, and large tasks come through whole") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue ring = make_queue(gpu, ring_options(64, 256, 3));
    std::vector<uint32_t> task(64);
    std::iota(task.begin(), task.end(), 100u);
    CHECK_OK(gpo_queue_push(ring, stream, task.data(), 1, 2));
    const auto row = row_of<RingRow>(ring);
    CHECK(device_words<uint32_t>(gpu, stream, row.tasks + 2 * 64 * 256, 64) == task);
    CHECK(device_words<uint32_t>(gpu, stream, row.sequence, 129)[128] == 1);
    CHECK(device_words<uint64_t>(gpu, stream, row.words + 2 * 1024 + 384, 1)[0] == 1);
    CHECK(device_words<uint64_t>(gpu, stream, row.words + 384, 1)[0] == 0);
}

TEST_CASE("a closed or aborted ring takes no task of a stream until it is reset") {
    for (const uint32_t flags : {0, GPO_QUEUE_TICKETS}) {
        CAPTURE(flags);
        PushRig rig(flags);
        CHECK_OK(gpo_queue_close(rig.ring));
        CHECK(queue_info(rig.ring).state == GPO_QUEUE_CLOSED);
        CHECK_OK(rig.push(0, 2));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK(queue_info(rig.ring).refused == 2);
        CHECK_OK(gpo_queue_abort(rig.ring));
        CHECK(queue_info(rig.ring).state == GPO_QUEUE_ABORTED);
        CHECK_OK(rig.push(0, 3));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK(queue_info(rig.ring).refused == 5);
        CHECK_OK(gpo_queue_reset(rig.ring, rig.on));
        CHECK_OK(rig.push(0, 2));
        CHECK(rig.popped(5) == numbered(0, 2));
        CHECK(queue_info(rig.ring).refused == 0);
    }
}

TEST_CASE("tasks are the caller's again when the call returns, also where the stream is held") {
    PushRig rig;
    Timeline timeline = rig.timeline();
    auto tasks = numbered(0, 8);
    CHECK_OK(gpo_stream_wait_timeline(rig.on, timeline, 1));
    CHECK_OK(gpo_queue_push(rig.ring, rig.on, tasks.data(), 8, 0));
    std::fill(tasks.begin(), tasks.end(), Task{});
    CHECK(queue_info(rig.ring).pushed == 0);
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK(rig.popped(8) == numbered(0, 8));
}

TEST_CASE("a push into nothing, and pushes that can't be, are told from each other") {
    PushRig rig;
    const auto tasks = numbered(0, 1);
    CHECK_OK(gpo_queue_push(rig.ring, rig.on, nullptr, 0, 0));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_push(rig.ring, rig.on, tasks.data(), 1, 1));
    CHECK(mentions(queue_refusal(), "queue `work` has 1"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_push(rig.ring, rig.on, tasks.data(), UINT64_MAX / 2, 0));
    DeviceQueue range = make_queue(rig, range_options(1));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_push(range, rig.on, tasks.data(), 1, 0));
    Device second = rig.second_device();
    if (second) {
        Stream elsewhere;
        REQUIRE_OK(gpo_stream_create(second, nullptr, elsewhere.out()));
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_push(rig.ring, elsewhere, tasks.data(), 1, 0));
    }
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(queue_info(rig.ring).pushed == 0);
}

TEST_CASE("a push can't be recorded") {
    PushRig rig;
    Template recorded = make_template(rig);
    REQUIRE_OK(gpo_template_begin(recorded, rig.on));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, rig.push(0, 1));
    CHECK(mentions(queue_refusal(), "push"));
    REQUIRE_OK(gpo_template_cancel(recorded));
    CHECK_OK(rig.push(0, 1));
    CHECK(rig.popped(1) == numbered(0, 1));
}
