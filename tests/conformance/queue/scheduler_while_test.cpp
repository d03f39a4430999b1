// Schedulers of the form GPO_SCHEDULER_WHILE: a graph with a loop that takes a batch of tasks in each turn.
#include "conformance/queue/scheduler_rig.h"

using namespace gpo::test;

namespace {

constexpr const char* kTree = R"(
#include <gpuorch/device/scheduler.cuh>
struct node { unsigned handler, number, rest[2]; };
__device__ int visit(gpo::task_context &at, const node &task) {
    if (at.thread() == 0) atomicAdd(at.argument<unsigned long long>(), (unsigned long long)task.number);
    const unsigned children = 2, self = at.threads() == 1 ? 0 : at.thread();
    if (task.number >= 128 || self >= children) return 0;
    int status = 0;
    for (unsigned i = self; i < children; i += at.threads()) status |= at.push(node{0, 2 * task.number + i, {}});
    return status;
}
__device__ int fail_with(gpo::task_context &, const node &task) { return (int)task.number; }
)";

struct Looping : Gpu {
    explicit Looping(uint32_t workers = GPO_AUTO)
        : plain(stream("plain")), ring(make_queue(*this, ring_options(1024))), sums(memory(64)) {
        REQUIRE_OK(gpo_fill(plain, sums, 0, 4, 16));
        REQUIRE_OK(gpo_stream_wait(plain, kPatience));
        options = scheduler_options(ring, kTree);
        options.form = GPO_SCHEDULER_WHILE;
        options.argument = sums;
        options.workers = workers;
        options.batch = 3;
    }
    uint64_t sum() { return device_words<uint64_t>(*this, plain, sums, 1)[0]; }

    Stream plain;
    DeviceQueue ring;
    Memory sums;
    gpo_scheduler_options options;
};

}  // namespace

TEST_CASE("a scheduler that is a while does what a closed ring has left, and ends by itself") {
    Looping gpu;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"visit"});
    push_tasks(gpu.ring, gpu.plain, {{0, 1, {}}, {0, 1, {}}});
    CHECK_OK(gpo_queue_close(gpu.ring));
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
    CHECK(gpu.sum() == 2 * 255ull * 256 / 2);
    CHECK(scheduler_info(scheduler).tasks == 2 * 255);
}

TEST_CASE("a scheduler that is a while does tasks that push tasks, run after run" * gated) {
    for (const uint32_t workers : {GPO_WORKER_THREAD, GPO_WORKER_WARP, GPO_WORKER_BLOCK}) {
        CAPTURE(workers);
        Looping gpu(workers);
        Scheduler scheduler = make_scheduler(gpu, gpu.options, {"visit"});
        for (uint32_t run = 1; run <= 3; ++run) {
            REQUIRE_OK(gpo_scheduler_start(scheduler));
            push_tasks(gpu.ring, gpu.plain, {{0, 1, {}}});
            CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
            CHECK(gpu.sum() == run * 255ull * 256 / 2);
            const auto info = scheduler_info(scheduler);
            CHECK(info.form == GPO_SCHEDULER_WHILE);
            CHECK(info.last_end == GPO_SUCCESS);
            CHECK(info.tasks == run * 255);
            CHECK(info.steps > 2 * run);  // a step is a turn of the loop
            CHECK(info.runs == run);
        }
    }
}

TEST_CASE("a while stops with a deadline, ends idle, and names tasks that fail" * gated) {
    Looping gpu;
    gpu.options.idle_timeout_ns = 30'000'000;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"visit", "fail_with"});
    push_tasks(gpu.ring, gpu.plain, {{1, GPO_FAILED, {}}, {5, 0, {}}});
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
    CHECK(scheduler_info(scheduler).last_end == GPO_TIMEOUT);
    const auto errors = task_errors(scheduler);
    REQUIRE(errors.size() == 2);
    CHECK((errors[0].status == GPO_FAILED || errors[1].status == GPO_FAILED));
    CHECK((errors[0].status == GPO_NOT_FOUND || errors[1].status == GPO_NOT_FOUND));

    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_scheduler_stop(scheduler, kPatience));
    CHECK(scheduler_info(scheduler).last_end == GPO_CANCELLED);
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_queue_close(gpu.ring));
    CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
}

TEST_CASE("a while that runs is ended by a shutdown, or by its scheduler's end" * gated) {
    for (const bool destroys : {true, false}) {
        CAPTURE(destroys);
        Looping gpu;
        Scheduler scheduler = make_scheduler(gpu, gpu.options, {"visit"});
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        push_tasks(gpu.ring, gpu.plain, {{0, 1, {}}});
        if (destroys) {
            CHECK_OK(gpo_scheduler_destroy(scheduler.release()));
            continue;
        }
        CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
        gpu.runtime = nullptr;
        scheduler.release();
    }
}

TEST_CASE("host rings have resident schedulers alone" * gated) {
    Looping gpu;
    const Stream resident = gpu.stream("server", GPO_STREAM_RESIDENT);
    auto options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_HOST_RING;
    options.task_size = 16;
    options.stream = resident;
    const DeviceQueue ring = make_queue(gpu, options);
    gpu.options.queue = ring;
    Scheduler made;
    CHECK_STATUS(GPO_NOT_SUPPORTED, create_scheduler(gpu, gpu.options, {"visit"}, made));
    CHECK(mentions(queue_refusal(), "is a host ring"));
}
