// Queues that the host creates, in kernels that use gpuorch/device/queue.cuh: orders, tasks from host and kernels,
// replays, and kernels that stay until the host ends them.
#include <algorithm>
#include <numeric>
#include <thread>

#include "conformance/queue/host_rig.h"
#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

constexpr const char* kWork = R"(
#include <gpuorch/device/queue.cuh>

// Writes the numbers of a range in the order in which one worker gets them.
extern "C" __global__ void list(gpo::range numbers, unsigned *out) {
    gpo::thread_range mine(numbers);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success)
        for (unsigned long long place = first; place < last; ++place) out[place] = (unsigned)mine.number(place);
}

// Counts how often each number of a range is handed out.
extern "C" __global__ void tally(gpo::range numbers, unsigned *counts) {
    gpo::warp_range mine(numbers);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success)
        if (threadIdx.x % 32 == 0)
            for (unsigned long long place = first; place < last; ++place) atomicAdd(&counts[mine.number(place)], 1u);
}

struct node { unsigned number, depth, rest[2]; };

// Each task of a depth above 0 pushes two of the depth below. Every thread works until the end.
extern "C" __global__ void grow(gpo::ring ring, unsigned *done, int *status) {
    node here;
    int last;
    for (;;) {
        last = gpo::pop(ring, here, gpo::nanoseconds(20000000000ull));
        if (last == gpo::queue_would_block) continue;
        if (last != gpo::queue_success) break;
        for (unsigned child = 0; here.depth && child < 2; ++child) {
            const node next = {2 * here.number + child, here.depth - 1, {0, 0}};
            if (gpo::push(ring, next, gpo::nanoseconds(20000000000ull)) != gpo::queue_success) atomicAdd(&done[1], 1u);
        }
        atomicAdd(&done[0], 1u);
        gpo::done(ring);
    }
    if (threadIdx.x == 0) *status = last;
}

// Each task pushes itself again, endlessly.
extern "C" __global__ void renew(gpo::ring ring, int *statuses) {
    node here;
    int status;
    for (;;) {
        status = gpo::pop(ring, here, gpo::nanoseconds(20000000000ull));
        if (status == gpo::queue_would_block) continue;
        if (status != gpo::queue_success) break;
        ++here.number;
        gpo::push(ring, here, gpo::nanoseconds(20000000000ull));
        gpo::done(ring);
    }
    statuses[blockIdx.x * blockDim.x + threadIdx.x] = status;
}

// Takes one task and goes away with it.
extern "C" __global__ void desert(gpo::ring ring, int *status) {
    node here;
    *status = gpo::pop(ring, here, gpo::nanoseconds(20000000000ull));
}

// Does tasks until the ring has been empty for a fifth of a second.
extern "C" __global__ void stay(gpo::ring ring, int *statuses) {
    node here;
    int status;
    while ((status = gpo::pop(ring, here, gpo::nanoseconds(200000000ull))) == gpo::queue_success) gpo::done(ring);
    statuses[blockIdx.x] = status;
}

// Waits for a task for long, and says when it is there and how the wait ended.
extern "C" __global__ void await(gpo::ring ring, volatile unsigned *here, volatile int *status) {
    node task;
    *here = 1;
    *status = gpo::pop(ring, task, gpo::nanoseconds(30000000000ull));
    __threadfence_system();
}
)";

struct Node {
    uint32_t number, depth, rest[2];
};

/// A kernel on a resident stream that waits for a task of a ring.
struct Awaiter {
    Awaiter(Gpu& gpu, gpo_queue_t ring, gpo_stream_t on) : words(gpu.pinned<uint32_t>(2)) {
        await = gpu.kernel(kWork, "await");
        words[1] = 99;
        REQUIRE_OK(launch(on, await, 1, 1, row_of<RingRow>(ring), words.data(), &words[1]));
        while (read(words[0]) == 0) std::this_thread::yield();
    }
    uint32_t status() const { return read(words[1]); }
    Kernel await;
    Pinned<uint32_t> words;
};

}  // namespace

TEST_CASE("a kernel gets a range's numbers dearest first, from the call of gpo_queue_set_costs on") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Kernel list = gpu.kernel(kWork, "list");
    auto options = range_options(5);
    options.batch = 2;
    SUBCASE("claimed early") {}
    SUBCASE("claimed late") { options.flags = GPO_QUEUE_LATE_CLAIMS; }
    DeviceQueue range = make_queue(gpu, options);
    auto out = gpu.pinned<uint32_t>(5);
    const auto listed = [&] {
        CHECK_OK(launch(stream, list, 1, 1, row_of<RangeRow>(range), out.data()));
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        return std::vector<uint32_t>(out.begin(), out.end());
    };
    CHECK(listed() == std::vector<uint32_t>{0, 1, 2, 3, 4});
    const float costs[] = {3, 1, 4, 1, 5};
    CHECK_OK(gpo_queue_set_costs(range, stream, costs, 5));
    CHECK(listed() == std::vector<uint32_t>{4, 2, 0, 1, 3});
    CHECK_OK(gpo_queue_set_costs(range, stream, nullptr, 0));
    CHECK(listed() == std::vector<uint32_t>{0, 1, 2, 3, 4});
}

TEST_CASE("a graph replays a kernel over a range, and each number comes once each time") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Kernel tally = gpu.kernel(kWork, "tally");
    auto options = range_options(1000);
    SUBCASE("claimed early") {}
    SUBCASE("claimed late") { options.flags = GPO_QUEUE_LATE_CLAIMS; }
    DeviceQueue range = make_queue(gpu, options);
    auto counts = gpu.pinned<uint32_t>(1000);
    Template recorded = make_template(gpu);
    REQUIRE_OK(gpo_template_begin(recorded, stream));
    REQUIRE_OK(launch(stream, tally, 3, 64, row_of<RangeRow>(range), counts.data()));
    REQUIRE_OK(gpo_template_end(recorded));
    for (int turn = 0; turn < 5; ++turn) CHECK_OK(gpo_template_launch(recorded, stream, nullptr, 0, 0));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(std::all_of(counts.begin(), counts.end(), [](const uint32_t& count) { return read(count) == 5; }));
}

TEST_CASE("tasks of the host's push tasks, until a closed ring is at its end; and again after a reset") {
    Gpu gpu;
    Stream stream = gpu.stream(), pusher = gpu.stream();
    Kernel grow = gpu.kernel(kWork, "grow");
    DeviceQueue ring = make_queue(gpu, ring_options(4096));
    auto done = gpu.pinned<uint32_t>(2);
    auto status = gpu.pinned<int32_t>(1);
    for (uint32_t turn = 1; turn <= 2; ++turn) {
        CAPTURE(turn);
        const Node roots[] = {{1, 5, {}}, {2, 5, {}}, {3, 0, {}}};
        CHECK_OK(gpo_queue_push(ring, stream, roots, 3, 0));
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        CHECK_OK(gpo_queue_close(ring));
        CHECK_OK(launch(stream, grow, 2, 32, row_of<RingRow>(ring), done.data(), status.data()));
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        CHECK(read(done[0]) == turn * (2 * 63 + 1));
        CHECK(read(done[1]) == 0);
        CHECK(status[0] == 4);
        const auto info = queue_info(ring);
        CHECK(info.pushed == 127);
        CHECK(info.popped == 127);
        CHECK(info.done == 127);
        CHECK(info.depth == 0);
        CHECK(info.state == GPO_QUEUE_CLOSED);
        CHECK_OK(gpo_queue_reset(ring, stream));
    }
}

TEST_CASE("closing or aborting a ring ends the wait of a kernel that runs" * gated) {
    Gpu gpu;
    gpu.kernel(kWork, "await");
    Stream resident = gpu.stream("server", GPO_STREAM_RESIDENT);
    for (const bool aborts : {false, true}) {
        CAPTURE(aborts);
        DeviceQueue ring = make_queue(gpu, ring_options(64));
        Awaiter awaiter(gpu, ring, resident);
        CHECK(gpo_stream_query(resident) == GPO_NOT_READY);
        CHECK(queue_info(ring).state == GPO_QUEUE_OPEN);
        CHECK_OK(aborts ? gpo_queue_abort(ring) : gpo_queue_close(ring));
        CHECK_OK(gpo_stream_wait(resident, kPatience));
        CHECK(awaiter.status() == (aborts ? 50 : 4));
    }
}

TEST_CASE("tasks that push tasks for ever go on when the ring is closed, and end when it is aborted" * gated) {
    Gpu gpu;
    Kernel renew = gpu.kernel(kWork, "renew");
    Stream resident = gpu.stream("server", GPO_STREAM_RESIDENT), stream = gpu.stream();
    DeviceQueue ring = make_queue(gpu, ring_options(64));
    auto statuses = gpu.pinned<int32_t>(64);
    const std::vector<Node> tasks(64);  // as many tasks as the ring has places
    CHECK_OK(gpo_queue_push(ring, stream, tasks.data(), tasks.size(), 0));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(launch(resident, renew, 2, 32, row_of<RingRow>(ring), statuses.data()));
    const auto popped_beyond = [&](uint64_t count) {
        const uint64_t deadline = monotonic_ns() + static_cast<uint64_t>(kPatience);
        while (queue_info(ring).popped < count && monotonic_ns() < deadline) std::this_thread::yield();
        return queue_info(ring).popped >= count;
    };
    CHECK(popped_beyond(200));
    CHECK_OK(gpo_queue_close(ring));
    CHECK(popped_beyond(queue_info(ring).popped + 200));
    CHECK(gpo_stream_query(resident) == GPO_NOT_READY);
    CHECK_OK(gpo_queue_abort(ring));
    CHECK_OK(gpo_stream_wait(resident, kPatience));
    CHECK(std::all_of(statuses.begin(), statuses.end(), [](const int32_t& status) { return status == 50; }));
    CHECK(queue_info(ring).state == GPO_QUEUE_ABORTED);
}

TEST_CASE("where a consumer is gone with its task, a closed ring has no end, and waits end at their bounds") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Kernel desert = gpu.kernel(kWork, "desert"), stay = gpu.kernel(kWork, "stay");
    DeviceQueue ring = make_queue(gpu, ring_options(64));
    auto statuses = gpu.pinned<int32_t>(3);
    const std::vector<Node> tasks(64);
    CHECK_OK(gpo_queue_push(ring, stream, tasks.data(), tasks.size(), 0));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(gpo_queue_close(ring));  // while the ring is full
    CHECK_OK(launch(stream, desert, 1, 1, row_of<RingRow>(ring), statuses.data()));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(statuses[0] == 0);
    CHECK_OK(launch(stream, stay, 3, 1, row_of<RingRow>(ring), statuses.data()));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    for (const int32_t status : statuses) CHECK(status == GPO_TIMEOUT);
    const auto info = queue_info(ring);
    CHECK(info.popped == 64);
    CHECK(info.done == 63);
    CHECK(info.state == GPO_QUEUE_CLOSED);
    // A task whose consumer left without gpo::done never becomes done. Only a reset restores the ring.
    CHECK_OK(gpo_queue_reset(ring, stream));
    CHECK_OK(gpo_queue_push(ring, stream, tasks.data(), 1, 0));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(queue_info(ring).depth == 1);
}

TEST_CASE("a ring that is closed while it is full gives its tasks, takes none, and ends") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Kernel grow = gpu.kernel(kWork, "grow");
    DeviceQueue ring = make_queue(gpu, ring_options(64));
    auto done = gpu.pinned<uint32_t>(2);
    auto status = gpu.pinned<int32_t>(1);
    const std::vector<Node> tasks(64);
    CHECK_OK(gpo_queue_push(ring, stream, tasks.data(), tasks.size(), 0));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(gpo_queue_close(ring));
    CHECK_OK(gpo_queue_push(ring, stream, tasks.data(), 1, 0));
    CHECK_OK(launch(stream, grow, 2, 32, row_of<RingRow>(ring), done.data(), status.data()));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(done[0]) == 64);
    CHECK(status[0] == 4);
    CHECK(queue_info(ring).refused == 1);
}

TEST_CASE("a stream's push wakes a kernel that runs" * gated) {
    Gpu gpu;
    Stream resident = gpu.stream("server", GPO_STREAM_RESIDENT), stream = gpu.stream();
    DeviceQueue ring = make_queue(gpu, ring_options(64));
    const Node task{1, 0, {}};
    Awaiter awaiter(gpu, ring, resident);
    CHECK_OK(gpo_queue_push(ring, stream, &task, 1, 0));
    CHECK_OK(gpo_stream_wait(resident, kPatience));
    CHECK(awaiter.status() == 0);
}

TEST_CASE("destroying a ring ends the kernel on its resident stream, and then its memory goes" * gated) {
    Gpu gpu;
    Stream resident = gpu.stream("server", GPO_STREAM_RESIDENT);
    auto options = ring_options(64);
    options.stream = resident;
    DeviceQueue ring = make_queue(gpu, options);
    const uint64_t words = row_of<RingRow>(ring).words;
    Awaiter awaiter(gpu, ring, resident);
    CHECK_OK(gpo_queue_destroy(ring.release()));
    CHECK_OK(gpo_stream_wait(resident, kPatience));
    CHECK(awaiter.status() == 50);
    const uint64_t deadline = monotonic_ns() + static_cast<uint64_t>(kPatience);
    while (is_device_memory(gpu, words) && monotonic_ns() < deadline) std::this_thread::yield();
    CHECK_FALSE(is_device_memory(gpu, words));
}

TEST_CASE("a shutdown ends the kernel on a ring's resident stream" * gated) {
    Gpu gpu;
    Stream resident = gpu.stream("server", GPO_STREAM_RESIDENT);
    auto options = ring_options(64);
    options.stream = resident;
    DeviceQueue ring = make_queue(gpu, options);
    Awaiter awaiter(gpu, ring, resident);
    CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    gpu.runtime = nullptr;
}
