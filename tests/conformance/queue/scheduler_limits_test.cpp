// Schedulers: refused options, how runs end by themselves, and figures about a run.
#include "conformance/queue/scheduler_rig.h"

using namespace gpo::test;

namespace {

constexpr const char* kNothing = R"(
#include <gpuorch/device/scheduler.cuh>
struct number_task { unsigned handler, number, rest[2]; };
struct large_task { unsigned handler, rest[4]; };
__device__ int nothing(gpo::task_context &, const number_task &) { return 0; }
__device__ int large(gpo::task_context &, const large_task &) { return 0; }
__device__ int other(int) { return 0; }
__device__ int itself(gpo::task_context &at, const number_task &task) {
    const int first = at.push(task);
    return at.push(task) | first;
}

// The argument: how long a task takes, in ns; and whether it was seen.
struct lasting { unsigned long long ns; unsigned seen; };
__device__ int lasts(gpo::task_context &at, const number_task &) {
    const unsigned long long begin = gpo::atomic::now();
    while (gpo::atomic::now() - begin < at.argument<lasting>()->ns) gpo::atomic::pause(1000);
    return 0;
}
// Needs one worker per block. Runs in any block but the first, and pushes a task that another worker has to do.
__device__ int lasts_elsewhere(gpo::task_context &at, const number_task &task) {
    if (blockIdx.x == 0) return at.again(task);
    lasts(at, task);
    if (at.thread() == 0) at.push(number_task{1, 0, {}});
    const unsigned long long begin = gpo::atomic::now();
    while (gpo::atomic::load_acquire(&at.argument<lasting>()->seen) == 0)
        if (gpo::atomic::now() - begin > 20000000000ull) return 2;
    return 0;
}
__device__ int sees(gpo::task_context &at, const number_task &) {
    if (at.thread() == 0) gpo::atomic::store_release(&at.argument<lasting>()->seen, 1u);
    return 0;
}
)";

struct Limits : Gpu {
    Limits() : plain(stream("plain")), ring(make_queue(*this, ring_options(64))) {
        options = scheduler_options(ring, kNothing);
    }
    /// Creates a scheduler, which must fail with `status`. Returns the message.
    std::string refusal(gpo_status status, std::initializer_list<const char*> names = {"nothing"}) {
        Scheduler made;
        CHECK_STATUS(status, create_scheduler(*this, options, names, made));
        return queue_refusal();
    }

    Stream plain;
    DeviceQueue ring;
    gpo_scheduler_options options;
};

}  // namespace

TEST_CASE("what can't be a scheduler is refused, and the message names what is wrong" * gated) {
    Limits gpu;
    const gpo_scheduler_options good = gpu.options;
    const auto refused = [&](gpo_status status, const char* part, auto change) {
        gpu.options = good;
        change(gpu.options);
        const std::string message = gpu.refusal(status);
        CAPTURE(message);
        CAPTURE(std::string(part));
        CHECK(mentions(message, part));
    };
    refused(GPO_INVALID_ARGUMENT, "options.form is 9", [](auto& o) { o.form = 9; });
    refused(GPO_INVALID_ARGUMENT, "options.queue is NULL", [](auto& o) { o.queue = nullptr; });
    refused(GPO_INVALID_ARGUMENT, "options.source is NULL", [](auto& o) { o.source = nullptr; });
    refused(GPO_INVALID_ARGUMENT, "options.workers is 4, not 1 to 3", [](auto& o) { o.workers = 4; });
    refused(GPO_INVALID_ARGUMENT, "options.threads is 33, no multiple of 32", [](auto& o) { o.threads = 33; });
    refused(GPO_INVALID_ARGUMENT, "options.threads is 2048", [](auto& o) { o.threads = 2048; });
    refused(GPO_INVALID_ARGUMENT, "options.blocks_per_multiprocessor is 33",
            [](auto& o) { o.blocks_per_multiprocessor = 33; });
    refused(GPO_INVALID_ARGUMENT, "options.max_errors is 4097", [](auto& o) { o.max_errors = 4097; });
    refused(GPO_INVALID_ARGUMENT, "options.batch is 1, and the form has none", [](auto& o) { o.batch = 1; });
    refused(GPO_INVALID_ARGUMENT, "options.leave_free is 100000", [](auto& o) { o.leave_free = 100000; });
    refused(GPO_LIMIT_EXCEEDED, "100000 are to be taken", [](auto& o) { o.multiprocessors = 100000; });
    refused(GPO_COMPILE_FAILED, "error", [](auto& o) { o.source = "this is no source"; });

    gpu.options = good;
    CHECK(mentions(gpu.refusal(GPO_INVALID_ARGUMENT, {"nothing", nullptr}), "handlers[1].name is NULL"));
    CHECK(mentions(gpu.refusal(GPO_INVALID_ARGUMENT, {"no name"}), "handlers[0].name is `no name`"));
    CHECK(mentions(gpu.refusal(GPO_COMPILE_FAILED, {"missing"}), "missing"));
    CHECK(mentions(gpu.refusal(GPO_COMPILE_FAILED, {"nothing", "large"}),
                   "the task of handler large is larger than the queue's tasks"));
    gpu.refusal(GPO_COMPILE_FAILED, {"other"});

    // A scheduler whose creation failed keeps neither the ring nor multiprocessors.
    Scheduler made = make_scheduler(gpu, gpu.options, {"nothing"});
    CHECK(mentions(gpu.refusal(GPO_INVALID_STATE), "is served by scheduler `tasks` already"));
    made.reset();
    make_scheduler(gpu, gpu.options, {"nothing"});
}

TEST_CASE("a scheduler's queue is a ring without tickets, or a host ring" * gated) {
    Limits gpu;
    auto tickets = ring_options(64);
    tickets.flags = GPO_QUEUE_TICKETS;
    const DeviceQueue ticketed = make_queue(gpu, tickets), range = make_queue(gpu, range_options(4, "rows"));
    gpu.options.queue = ticketed;
    CHECK(mentions(gpu.refusal(GPO_NOT_SUPPORTED), "has tickets"));
    gpu.options.queue = range;
    CHECK(mentions(gpu.refusal(GPO_NOT_SUPPORTED), "queue `rows` is a range"));
}

TEST_CASE("two schedulers share a device, and a third that finds no multiprocessor left is refused" * gated) {
    Limits gpu;
    const DeviceQueue second_ring = make_queue(gpu, ring_options(64)), third_ring = make_queue(gpu, ring_options(64));
    auto properties = sized<gpo_device_properties>();
    REQUIRE_OK(gpo_runtime_describe_device(gpu.runtime, 0, &properties));
    gpu.options.multiprocessors = 1;
    Scheduler first = make_scheduler(gpu, gpu.options, {"nothing"});
    gpu.options.queue = second_ring;
    gpu.options.multiprocessors = GPO_AUTO;
    gpu.options.leave_free = 1;
    Scheduler second = make_scheduler(gpu, gpu.options, {"nothing"});
    CHECK(scheduler_info(second).multiprocessors == properties.multiprocessors - 2);
    gpu.options.queue = third_ring;
    CHECK(mentions(gpu.refusal(GPO_LIMIT_EXCEEDED), "multiprocessors"));
    REQUIRE_OK(gpo_scheduler_start(first));
    REQUIRE_OK(gpo_scheduler_start(second));
    for (gpo_queue_t ring : {gpu.ring.get(), second_ring.get()})
        push_tasks(ring, gpu.plain, std::vector<NumberTask>(20));
    CHECK_OK(gpo_scheduler_drain(second, kPatience));
    CHECK_OK(gpo_scheduler_drain(first, kPatience));
    CHECK(scheduler_info(first).tasks == 20);
    CHECK(scheduler_info(second).tasks == 20);
    second.reset();
    CHECK(comes_true([&] {  // resources of the second scheduler are freed soon
        Scheduler third;
        return create_scheduler(gpu, gpu.options, {"nothing"}, third) == GPO_SUCCESS;
    }));
}

TEST_CASE("a run ends by itself: idle, with the ring's end, or with its abort" * gated) {
    Limits gpu;
    gpu.options.idle_timeout_ns = 20'000'000;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"nothing"});
    CHECK(scheduler_info(scheduler).last_end == GPO_NOT_READY);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_scheduler_drain(scheduler, 0));
    CHECK_OK(gpo_scheduler_stop(scheduler, 0));
    CHECK_OK(gpo_scheduler_wait(scheduler, 0));

    push_tasks(gpu.ring, gpu.plain, std::vector<NumberTask>(10));
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
    CHECK(scheduler_info(scheduler).last_end == GPO_TIMEOUT);
    CHECK(scheduler_info(scheduler).tasks == 10);

    push_tasks(gpu.ring, gpu.plain, std::vector<NumberTask>(10));
    CHECK_OK(gpo_queue_close(gpu.ring));
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
    CHECK(scheduler_info(scheduler).last_end == GPO_END);
    CHECK(scheduler_info(scheduler).tasks == 20);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_scheduler_start(scheduler));
    CHECK(mentions(queue_refusal(), "is closed, and all its tasks are done"));

    REQUIRE_OK(gpo_queue_reset(gpu.ring, gpu.plain));
    REQUIRE_OK(gpo_stream_wait(gpu.plain, kPatience));
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_queue_abort(gpu.ring));
    CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
    CHECK(scheduler_info(scheduler).last_end == GPO_CANCELLED);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_scheduler_start(scheduler));
    CHECK(mentions(queue_refusal(), "was aborted"));
}

TEST_CASE("the time for which a run may be idle begins when its tasks are done, however long they take" * gated) {
    Limits gpu;
    const uint64_t timeout_ns = 50'000'000, argument[] = {3 * timeout_ns, 0};
    Memory lasting = gpu.memory(sizeof argument);
    REQUIRE_OK(gpo_copy_to_device(gpu.plain, lasting, argument, sizeof argument));
    REQUIRE_OK(gpo_stream_wait(gpu.plain, kPatience));
    gpu.options.argument = lasting;
    gpu.options.workers = GPO_WORKER_BLOCK;
    gpu.options.threads = 32;
    gpu.options.idle_timeout_ns = timeout_ns;
    SUBCASE("of the only worker") {
        gpu.options.multiprocessors = 1;
        Scheduler scheduler = make_scheduler(gpu, gpu.options, {"lasts"});
        push_tasks(gpu.ring, gpu.plain, {{0, 0, {}}});
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
        const auto info = scheduler_info(scheduler);
        CHECK(info.last_end == GPO_TIMEOUT);
        CHECK(info.tasks == 1);
        CHECK(info.busy_ns >= 3 * timeout_ns);
        CHECK(info.worker_ns - info.busy_ns >= timeout_ns);
    }
    SUBCASE("of another worker than the one that looks") {
        Scheduler scheduler = make_scheduler(gpu, gpu.options, {"lasts_elsewhere", "sees"});
        push_tasks(gpu.ring, gpu.plain, {{0, 0, {}}});
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
        const auto info = scheduler_info(scheduler);
        CHECK(info.last_end == GPO_TIMEOUT);
        CHECK(info.errors == 0);
        CHECK(info.depth == 0);
    }
}

TEST_CASE("tasks that push for ever fill their ring, are told so, and the scheduler can be stopped" * gated) {
    Limits gpu;
    gpu.options.multiprocessors = 1;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"itself"});
    push_tasks(gpu.ring, gpu.plain, std::vector<NumberTask>(1));
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK(comes_true([&] { return scheduler_info(scheduler).refused_pushes > 0; }));
    CHECK_STATUS(GPO_TIMEOUT, gpo_scheduler_drain(scheduler, 1'000'000));
    CHECK_OK(gpo_scheduler_stop(scheduler, kPatience));
    const auto errors = task_errors(scheduler);
    REQUIRE(!errors.empty());
    CHECK(errors[0].status == GPO_TIMEOUT);  // the handler returns the status of its push
    const auto info = scheduler_info(scheduler);
    CHECK(info.errors >= errors.size());
    CHECK(info.depth > 0);
}

TEST_CASE("a scheduler says what its blocks did, and how deep its ring was" * gated) {
    Limits gpu;
    gpu.options.sample_interval_ns = 1000;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"nothing"});
    push_tasks(gpu.ring, gpu.plain, std::vector<NumberTask>(60));
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    REQUIRE(comes_true([&] { return scheduler_info(scheduler).empty_polls > 100; }));
    CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
    const auto info = scheduler_info(scheduler);
    std::vector<gpo_scheduler_block> blocks(8);
    uint64_t count = 0;
    CHECK_OK(gpo_scheduler_get_blocks(scheduler, blocks.data(), sizeof blocks[0], blocks.size(), &count));
    REQUIRE(count == info.blocks);
    uint64_t tasks = 0, busy = 0, there = 0;
    for (uint64_t i = 0; i < count; ++i) {
        CHECK(blocks[i].struct_size == sizeof blocks[i]);
        CHECK(blocks[i].workers == 2);
        tasks += blocks[i].tasks;
        busy += blocks[i].busy_ns;
        there += blocks[i].worker_ns;
    }
    CHECK(tasks == 60);
    CHECK(busy == info.busy_ns);
    CHECK(there == info.worker_ns);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_scheduler_get_blocks(scheduler, blocks.data(), 3, 1, &count));

    std::vector<gpo_depth_sample> samples(2000);
    CHECK_OK(gpo_scheduler_get_samples(scheduler, samples.data(), sizeof samples[0], samples.size(), &count));
    REQUIRE(count > 1);
    CHECK(count <= 1024);
    for (uint64_t i = 1; i < count; ++i) {
        CHECK(samples[i].run == 1);
        CHECK(samples[i].time_ns > samples[i - 1].time_ns);
    }
    CHECK(samples[count - 1].depth == 0);
    CHECK_OK(gpo_scheduler_get_samples(scheduler, samples.data(), sizeof samples[0], 1, &count));
    CHECK(count == 1);
}
