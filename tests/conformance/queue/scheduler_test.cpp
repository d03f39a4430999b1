// Schedulers that stay on the GPU and do the tasks of a ring.
#include <pthread.h>

#include <atomic>
#include <thread>

#include "conformance/queue/scheduler_rig.h"
#include "support/threads.h"

using namespace gpo::test;

namespace {

// Handlers. The scheduler's argument is the address of words that `add` adds to.
constexpr const char* kAdd = R"(
#include <gpuorch/device/scheduler.cuh>

struct number_task { unsigned handler, number, rest[2]; };

// Each thread of the worker adds one; the first adds the number, too.
__device__ int add(gpo::task_context &at, const number_task &task) {
    unsigned long long *const sums = at.argument<unsigned long long>();
    if (at.thread() == 0) atomicAdd(&sums[0], (unsigned long long)task.number);
    atomicAdd(&sums[1], 1ull);
    return 0;
}

__device__ int refuse(gpo::task_context &at, const number_task &task) {
    return at.thread() == 0 ? (int)task.number : 0;
}
)";

struct Adding : Gpu {
    explicit Adding(uint32_t workers = GPO_AUTO, uint64_t capacity = 1024)
        : plain(stream("plain")), ring(make_queue(*this, ring_options(capacity))), sums(memory(64)) {
        REQUIRE_OK(gpo_fill(plain, sums, 0, 4, 16));
        REQUIRE_OK(gpo_stream_wait(plain, kPatience));
        options = scheduler_options(ring, kAdd);
        options.argument = sums;
        options.workers = workers;
    }
    uint64_t sum(size_t word = 0) { return device_words<uint64_t>(*this, plain, sums, 8)[word]; }

    Stream plain;
    DeviceQueue ring;
    Memory sums;
    gpo_scheduler_options options;
};

std::vector<NumberTask> numbers(uint32_t count, uint32_t handler = 0) {
    std::vector<NumberTask> tasks;
    for (uint32_t i = 0; i < count; ++i) tasks.push_back({handler, i, {}});
    return tasks;
}

}  // namespace

TEST_CASE("a scheduler does what a closed ring has left, and ends by itself") {
    for (const uint32_t workers : {GPO_WORKER_THREAD, GPO_WORKER_WARP, GPO_WORKER_BLOCK}) {
        CAPTURE(workers);
        Adding gpu(workers);
        Scheduler scheduler = make_scheduler(gpu, gpu.options, {"add", "refuse"});
        push_tasks(gpu.ring, gpu.plain, numbers(400));
        push_tasks(gpu.ring, gpu.plain, {{1, 7, {}}});
        CHECK_OK(gpo_queue_close(gpu.ring));
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        CHECK_OK(gpo_scheduler_wait(scheduler, kPatience));
        CHECK(gpu.sum() == 400 * 399 / 2);
        CHECK(scheduler_info(scheduler).tasks == 401);
        CHECK(scheduler_info(scheduler).errors == 1);
        CHECK(queue_info(gpu.ring).done == 401);
    }
}

TEST_CASE("a scheduler does what streams push, and drains" * gated) {
    for (const uint32_t workers : {GPO_WORKER_THREAD, GPO_WORKER_WARP, GPO_WORKER_BLOCK}) {
        CAPTURE(workers);
        Adding gpu(workers);
        Scheduler scheduler = make_scheduler(gpu, gpu.options, {"add", "refuse"});
        CHECK(scheduler_info(scheduler).state == GPO_SCHEDULER_READY);
        push_tasks(gpu.ring, gpu.plain, numbers(100));  // 100 tasks before the run, 400 during the run
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        push_tasks(gpu.ring, gpu.plain, numbers(400));
        CHECK(scheduler_info(scheduler).state == GPO_SCHEDULER_RUNNING);
        CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
        const uint64_t threads = workers == GPO_WORKER_THREAD ? 1 : workers == GPO_WORKER_WARP ? 32 : 64;
        CHECK(gpu.sum(0) == 100 * 99 / 2 + 400 * 399 / 2);
        CHECK(gpu.sum(1) == 500 * threads);
        const auto info = scheduler_info(scheduler);
        CHECK(info.state == GPO_SCHEDULER_READY);
        CHECK(info.last_end == GPO_SUCCESS);
        CHECK(info.tasks == 500);
        CHECK(info.errors == 0);
        CHECK(info.depth == 0);
        CHECK(info.workers == 2 * 64 / threads);
        CHECK(queue_info(gpu.ring).done == 500);
    }
}

TEST_CASE("tasks push tasks, and a scheduler that drains does all of them" * gated) {
    // The tasks are the 2^10 - 1 nodes of a binary tree. Each task pushes its two children, by two threads of the warp.
    constexpr const char* kTree = R"(
#include <gpuorch/device/scheduler.cuh>
struct node { unsigned handler, number, rest[2]; };
__device__ int visit(gpo::task_context &at, const node &task) {
    if (at.thread() == 0) atomicAdd(at.argument<unsigned long long>(), (unsigned long long)task.number);
    if (task.number >= 512 || at.thread() >= 2) return 0;
    return at.push(node{0, 2 * task.number + at.thread(), {}});
}
)";
    Adding gpu;
    gpu.options.source = kTree;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"visit"});
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    push_tasks(gpu.ring, gpu.plain, {{0, 1, {}}});
    CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
    CHECK(gpu.sum() == 1023ull * 1024 / 2);
    const auto info = scheduler_info(scheduler);
    CHECK(info.tasks == 1023);
    CHECK(info.refused_pushes == 0);
    CHECK(info.busy_ns <= info.worker_ns);
    CHECK(info.busy_ns > 0);
}

TEST_CASE("a scheduler that was drained is started again, and goes on with the same ring" * gated) {
    Adding gpu;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"add"});
    for (uint32_t run = 1; run <= 4; ++run) {
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        CHECK_STATUS(GPO_INVALID_STATE, gpo_scheduler_start(scheduler));
        CHECK(mentions(queue_refusal(), "scheduler `tasks` runs already"));
        push_tasks(gpu.ring, gpu.plain, numbers(50));
        CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
        CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));  // the scheduler has drained already
        CHECK(gpu.sum() == run * 50 * 49 / 2);
        const auto info = scheduler_info(scheduler);
        CHECK(info.runs == run);
        CHECK(info.tasks == run * 50);
        CHECK(info.steps == run);
    }
}

TEST_CASE("tasks that fail and tasks of no handler are errors that name them, and the others are done" * gated) {
    for (const uint32_t workers : {GPO_WORKER_THREAD, GPO_WORKER_WARP, GPO_WORKER_BLOCK}) {
        CAPTURE(workers);
        Adding gpu(workers);
        gpu.options.max_errors = 3;
        gpu.options.multiprocessors = 1;
        Scheduler scheduler = make_scheduler(gpu, gpu.options, {"add", "refuse"});
        push_tasks(gpu.ring, gpu.plain, {{0, 5, {}}, {1, GPO_FAILED, {8, 9}}, {7, 1, {}}, {0, 6, {}}, {1, 0, {}}});
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
        auto errors = task_errors(scheduler);
        REQUIRE(errors.size() == 2);
        if (errors[0].handler != 1) std::swap(errors[0], errors[1]);  // two workers may report in any order
        CHECK(errors[0].handler == 1);
        CHECK(errors[0].status == GPO_FAILED);
        CHECK(errors[0].position == 1);
        CHECK(errors[0].task[1] == GPO_FAILED);
        CHECK(errors[0].task[3] == 9);
        CHECK(errors[1].handler == 7);
        CHECK(errors[1].status == GPO_NOT_FOUND);
        CHECK(errors[1].position == 2);
        CHECK(gpu.sum() == 11);
        auto handler = sized<gpo_handler_info>();
        CHECK_OK(gpo_scheduler_get_handler(scheduler, 1, &handler));
        CHECK(handler.tasks == 2);
        CHECK(handler.errors == 1);
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_scheduler_get_handler(scheduler, 2, &handler));
        // Errors are counted even when there is no room to store them.
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        push_tasks(gpu.ring, gpu.plain, numbers(9, 5));
        CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
        CHECK(task_errors(scheduler).size() == 3);
        const auto info = scheduler_info(scheduler);
        CHECK(info.errors == 11);
        CHECK(info.tasks == 14);
    }
}

namespace {

// A handler that waits until the host says go. If the task's number isn't 0, the handler also returns when the
// scheduler stops.
constexpr const char* kGate = R"(
#include <gpuorch/device/scheduler.cuh>
struct number_task { unsigned handler, number, rest[2]; };
__device__ int wait_for_host(gpo::task_context &at, const number_task &task) {
    volatile unsigned *const words = at.argument<volatile unsigned>();
    if (at.thread() == 0) atomicAdd((unsigned *)&words[1], 1u);
    while (words[0] == 0 && !(task.number && at.stopping())) { }
    return 0;
}
)";

struct Gated : Gpu {
    Gated() : plain(stream("plain")), ring(make_queue(*this, ring_options(64))), words(pinned<uint32_t>(2)) {
        __atomic_store_n(&words[0], 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&words[1], 0, __ATOMIC_SEQ_CST);
        options = scheduler_options(ring, kGate);
        options.argument = reinterpret_cast<uint64_t>(words.data());
        options.threads = 32;
        options.multiprocessors = 1;
    }
    uint32_t begun() const { return __atomic_load_n(&words[1], __ATOMIC_SEQ_CST); }
    void go() { __atomic_store_n(&words[0], 1, __ATOMIC_SEQ_CST); }

    Stream plain;
    DeviceQueue ring;
    Pinned<uint32_t> words;
    gpo_scheduler_options options;
};

}  // namespace

TEST_CASE("a scheduler that is stopped in the middle leaves the tasks that have not begun, and goes on with them" *
          gated) {
    Gated gpu;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"wait_for_host"});
    push_tasks(gpu.ring, gpu.plain, {{0, 0, {}}, {0, 0, {}}, {0, 0, {}}});
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    REQUIRE(comes_true([&] { return gpu.begun() == 1; }));
    // The handler doesn't return, so the calls reach their deadlines.
    CHECK_STATUS(GPO_TIMEOUT, gpo_scheduler_drain(scheduler, 1'000'000));
    CHECK(scheduler_info(scheduler).state == GPO_SCHEDULER_DRAINING);
    CHECK_STATUS(GPO_TIMEOUT, gpo_scheduler_stop(scheduler, 1'000'000));
    CHECK(scheduler_info(scheduler).state == GPO_SCHEDULER_STOPPING);
    CHECK_STATUS(GPO_TIMEOUT, gpo_scheduler_drain(scheduler, 0));  // a drain doesn't undo the stop
    CHECK(scheduler_info(scheduler).state == GPO_SCHEDULER_STOPPING);
    CHECK_STATUS(GPO_TIMEOUT, gpo_scheduler_wait(scheduler, 0));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_scheduler_start(scheduler));
    gpu.go();
    CHECK_OK(gpo_scheduler_stop(scheduler, kPatience));
    CHECK(gpu.begun() == 1);
    auto info = scheduler_info(scheduler);
    CHECK(info.last_end == GPO_CANCELLED);
    CHECK(info.depth == 2);
    CHECK_STATUS(GPO_CANCELLED, gpo_scheduler_drain(scheduler, kPatience));
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
    CHECK(gpu.begun() == 3);
    CHECK(scheduler_info(scheduler).tasks == 3);
}

TEST_CASE("destroying a scheduler, or a shutdown, stops a run in its middle; its queue may go before" * gated) {
    for (const char* how : {"destroy", "queue", "shutdown"}) {
        CAPTURE(std::string(how));
        Gated gpu;
        Scheduler scheduler = make_scheduler(gpu, gpu.options, {"wait_for_host"});
        push_tasks(gpu.ring, gpu.plain, {{0, 1, {}}, {0, 1, {}}});
        REQUIRE_OK(gpo_scheduler_start(scheduler));
        REQUIRE(comes_true([&] { return gpu.begun() == 1; }));
        if (how[0] == 'q') {
            CHECK_OK(gpo_queue_destroy(gpu.ring.release()));
            CHECK_STATUS(GPO_TIMEOUT, gpo_scheduler_wait(scheduler, 5'000'000));  // the run goes on
            gpu.go();
            CHECK_OK(gpo_scheduler_drain(scheduler, kPatience));
            CHECK(gpu.begun() == 2);
        }
        if (how[0] == 'd') CHECK_OK(gpo_scheduler_destroy(scheduler.release()));
        if (how[0] == 's') {
            CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
            gpu.runtime = nullptr;
            scheduler.release();
        }
    }
}

TEST_CASE("a handler that doesn't return keeps a shutdown from succeeding until it does" * gated) {
    Gated gpu;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"wait_for_host"});
    push_tasks(gpu.ring, gpu.plain, {{0, 0, {}}});
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    REQUIRE(comes_true([&] { return gpu.begun() == 1; }));
    CHECK_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(gpu.runtime, 20'000'000));
    gpu.go();
    CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    gpu.runtime = nullptr;
    scheduler.release();
}

TEST_CASE("a thread that waits for a run learns that the scheduler is destroyed, though a handler doesn't return" *
          gated) {
    Gated gpu;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"wait_for_host"});
    push_tasks(gpu.ring, gpu.plain, {{0, 0, {}}});
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    REQUIRE(comes_true([&] { return gpu.begun() == 1; }));
    const gpo_scheduler_t handle = scheduler;
    std::atomic<uint64_t> sleeps{UINT64_MAX};
    std::atomic<gpo_status> waited{GPO_NOT_READY};
    std::thread waiter([&] {
        pthread_setname_np(pthread_self(), "waits");
        sleeps = sleeps_of("waits");
        waited = gpo_scheduler_wait(handle, -1);
    });
    CHECK(comes_true([&] { return sleeps != UINT64_MAX && sleeps_of("waits") > sleeps; }));
    CHECK_OK(gpo_scheduler_destroy(scheduler.release()));
    CHECK(comes_true([&] { return waited != GPO_NOT_READY; }));
    CHECK((waited == GPO_CANCELLED || waited == GPO_STALE_HANDLE));  // stale if the thread slept before its call
    gpu.go();
    waiter.join();
}

TEST_CASE("a scheduler and its queue that are destroyed keep their memory while a handler doesn't return" * gated) {
    Gated gpu;
    Scheduler scheduler = make_scheduler(gpu, gpu.options, {"wait_for_host"});
    DeviceQueue other = make_queue(gpu, ring_options(64));
    const uint64_t kept = row_of<RingRow>(gpu.ring).words, freed = row_of<RingRow>(other).words;
    push_tasks(gpu.ring, gpu.plain, {{0, 0, {}}});
    REQUIRE_OK(gpo_scheduler_start(scheduler));
    REQUIRE(comes_true([&] { return gpu.begun() == 1; }));
    CHECK_OK(gpo_queue_destroy(gpu.ring.release()));
    CHECK_OK(gpo_scheduler_destroy(scheduler.release()));
    other.reset();
    CHECK(comes_true([&] { return !is_device_memory(gpu, freed); }));  // the ring destroyed last is freed
    CHECK(is_device_memory(gpu, kept));
    gpu.go();
    CHECK(comes_true([&] { return !is_device_memory(gpu, kept); }));
}
