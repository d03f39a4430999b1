// Schedulers of host rings: requests come and go while they run.
#include <thread>

#include "conformance/queue/scheduler_rig.h"

using namespace gpo::test;

namespace {

// Handlers. `count` adds the request's number to the sum and counts `left` down, in each turn: the answer is
// number * (left + 1).
constexpr const char* kCount = R"(
#include <gpuorch/device/scheduler.cuh>
struct request { unsigned handler, number, left, sum; };
__device__ int count(gpo::task_context &at, const request &task) {
    request next = task;
    next.sum += task.number;
    if (next.left-- == 0) return at.answer(next.sum, 3);
    return at.again(next);
}
__device__ int silent(gpo::task_context &at, const request &task) { return (int)task.number; }
// Pushes two tasks that the host has not posted, and answers.
__device__ int split(gpo::task_context &at, const request &task) {
    if (at.thread() == 0) at.push(request{3, 1, 0, 0}), at.push(request{3, 2, 0, 0});
    at.sync();
    return at.answer(task.number);
}
__device__ int add(gpo::task_context &at, const request &task) {
    if (at.thread() == 0) atomicAdd(at.argument<unsigned>(), task.number);
    return at.answer(task.number) == 0 ? 1 : 0;
}
)";

// The first two handlers are wrong: only some threads of a worker make a call that all threads have to make. `left`
// says which threads make the call.
constexpr const char* kSome = R"(
#include <gpuorch/device/scheduler.cuh>
struct request { unsigned handler, number, left, sum; };
__device__ bool comes(const gpo::task_context &at, const request &task) {
    switch (task.left) {
        case 0: return at.thread() == 0;
        case 1: return at.thread() == 5;
        case 2: return at.thread() != 0;
        default: return at.thread() % 2 == 0;
    }
}
__device__ int answer_by_some(gpo::task_context &at, const request &task) {
    if (comes(at, task) && at.answer(task.number) != gpo::queue_timeout) atomicAdd(at.argument<unsigned>(), 1u);
    return 0;
}
__device__ int again_by_some(gpo::task_context &at, const request &task) {
    if (comes(at, task) && at.again(task) != gpo::queue_timeout) atomicAdd(at.argument<unsigned>(), 1u);
    return 0;
}
// All come, but one after the other.
__device__ int late(gpo::task_context &at, const request &task) {
    const unsigned long long begin = gpo::atomic::now();
    while (gpo::atomic::now() - begin < 10000ull * at.thread()) gpo::atomic::pause(100);
    if (task.left == 0) return at.answer(task.number, 3);
    request next = task;
    --next.left;
    return at.again(next);
}
)";

struct Request {
    uint32_t handler, number, left, sum;
};

struct Serving : Gpu {
    explicit Serving(uint32_t workers = GPO_AUTO, const char* source = kCount,
                     std::initializer_list<const char*> names = {"count", "silent", "split", "add"},
                     std::vector<const char*> compile_options = {})
        : resident(stream("server", GPO_STREAM_RESIDENT)), sum(pinned<uint32_t>(1)) {
        *sum.data() = 0;
        auto queue_options = sized<gpo_queue_options>();
        queue_options.kind = GPO_QUEUE_HOST_RING;
        queue_options.capacity = 64;
        queue_options.task_size = sizeof(Request);
        queue_options.answer_size = 4;
        queue_options.tenants = 4;
        queue_options.stream = resident;
        ring = make_queue(*this, queue_options);
        options = scheduler_options(ring, source);
        options.workers = workers;
        options.compile_options = compile_options.data();
        options.compile_option_count = static_cast<uint32_t>(compile_options.size());
        options.multiprocessors = 1;
        options.argument = reinterpret_cast<uint64_t>(sum.data());
        scheduler = make_scheduler(*this, options, names);
    }
    struct Answer {
        gpo_status status;
        uint32_t value;
    };
    /// Posts a request and waits for its answer. The tenant must have no other request in the ring.
    Answer ask(const Request& request, uint32_t tenant = 0) {
        uint64_t count = 0;
        REQUIRE_OK(gpo_queue_post(ring, tenant, &request, 1, 77, &count));
        REQUIRE_OK(gpo_queue_wait(ring, tenant, kPatience));
        gpo_answer entry{};
        Answer answer{};
        REQUIRE_OK(gpo_queue_take(ring, tenant, &entry, sizeof entry, &answer.value, 1, &count));
        REQUIRE(count == 1);
        CHECK(entry.user_data == 77);
        answer.status = entry.status;
        return answer;
    }

    Stream resident;
    Pinned<uint32_t> sum;
    DeviceQueue ring;
    gpo_scheduler_options options;
    Scheduler scheduler;
};

}  // namespace

TEST_CASE("requests of many turns are answered, whoever does them" * gated) {
    for (const uint32_t workers : {GPO_WORKER_THREAD, GPO_WORKER_WARP, GPO_WORKER_BLOCK}) {
        CAPTURE(workers);
        Serving gpu(workers);
        REQUIRE_OK(gpo_scheduler_start(gpu.scheduler));
        const auto many = gpu.ask({0, 7, 99, 0});
        CHECK(many.status == 3);
        CHECK(many.value == 700);
        CHECK(gpu.ask({1, 41, 0, 0}).status == 41);  // the handler returns 41, and gives no answer
        CHECK(gpu.ask({9, 0, 0, 0}).status == GPO_NOT_FOUND);
        CHECK(gpu.ask({2, 5, 0, 0}).value == 5);
        CHECK_OK(gpo_scheduler_drain(gpu.scheduler, kPatience));
        CHECK(*gpu.sum.data() == 3);  // the pushed tasks are done, too
        const auto info = scheduler_info(gpu.scheduler);
        CHECK(info.tasks == 100 + 1 + 1 + 3);
        CHECK(info.errors == 2);
        CHECK(task_errors(gpu.scheduler)[1].handler == 9);
        CHECK(info.blocks == 2);
        CHECK(queue_info(gpu.ring).unanswered == 0);
    }
}

TEST_CASE("a handler in which some threads answer or put back alone fails, by name, and the next tasks are done" *
          gated) {
    for (const uint32_t workers : {GPO_WORKER_WARP, GPO_WORKER_BLOCK}) {
        CAPTURE(workers);
        Serving gpu(workers, kSome, {"answer_by_some", "again_by_some"}, {"-DGPO_PARTNER_BOUND_NS=300000000ull"});
        REQUIRE_OK(gpo_scheduler_start(gpu.scheduler));
        std::vector<uint32_t> failed;
        for (const uint32_t handler : {0, 1})
            for (const uint32_t which : {0, 1, 2, 3}) {
                CAPTURE(handler);
                CAPTURE(which);
                const auto answer = gpu.ask({handler, 9, which, 0});
                CHECK(answer.status == GPO_TIMEOUT);
                CHECK(answer.value == 0);
                failed.push_back(handler);
            }
        CHECK_OK(gpo_scheduler_drain(gpu.scheduler, kPatience));
        CHECK(*gpu.sum.data() == 0);   // each call returned queue_timeout to its thread
        const auto errors = task_errors(gpu.scheduler);
        REQUIRE(errors.size() == failed.size());
        for (size_t i = 0; i < failed.size(); ++i) {
            CHECK(errors[i].handler == failed[i]);
            CHECK(errors[i].status == GPO_TIMEOUT);
        }
        CHECK(queue_info(gpu.ring).unanswered == 0);
    }
}

TEST_CASE("a worker's threads may come to an answer one after the other" * gated) {
    for (const uint32_t workers : {GPO_WORKER_WARP, GPO_WORKER_BLOCK}) {
        CAPTURE(workers);
        Serving gpu(workers, kSome, {"answer_by_some", "again_by_some", "late"});
        REQUIRE_OK(gpo_scheduler_start(gpu.scheduler));
        for (const uint32_t turns : {0, 3}) {
            const auto answer = gpu.ask({2, 12, turns, 0});
            CHECK(answer.status == 3);
            CHECK(answer.value == 12);
        }
        CHECK_OK(gpo_scheduler_drain(gpu.scheduler, kPatience));
        CHECK(scheduler_info(gpu.scheduler).tasks == 1 + 4);
        CHECK(scheduler_info(gpu.scheduler).errors == 0);
    }
}

TEST_CASE("requests join and leave while a scheduler runs, from several threads" * gated) {
    Serving gpu;
    REQUIRE_OK(gpo_scheduler_start(gpu.scheduler));
    std::vector<std::thread> threads;
    std::atomic<uint32_t> wrong{0};
    for (uint32_t tenant = 0; tenant < 4; ++tenant) {
        threads.emplace_back([&, tenant] {
            for (uint32_t i = 0; i < 50; ++i) {
                const Request request{0, tenant + 1, i, 0};
                uint64_t count = 0;
                gpo_answer entry{};
                uint32_t value = 0;
                if (gpo_queue_post(gpu.ring, tenant, &request, 1, i, &count) != GPO_SUCCESS ||
                    gpo_queue_wait(gpu.ring, tenant, kPatience) != GPO_SUCCESS ||
                    gpo_queue_take(gpu.ring, tenant, &entry, sizeof entry, &value, 1, &count) != GPO_SUCCESS ||
                    entry.user_data != i || value != (tenant + 1) * (i + 1))
                    ++wrong;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK_OK(gpo_scheduler_drain(gpu.scheduler, kPatience));
    CHECK(scheduler_info(gpu.scheduler).tasks == 4 * 50 * 51 / 2);
}

TEST_CASE("a scheduler of a host ring drains what was posted, stops in the middle, and goes on" * gated) {
    Serving gpu;
    const std::vector<Request> requests(30, Request{0, 1, 3, 0});
    uint64_t posted = 0, taken = 0;
    const auto take_all = [&] {
        gpo_answer entries[64];
        uint32_t values[64];
        uint64_t count = 0;
        REQUIRE_OK(gpo_queue_take(gpu.ring, 0, entries, sizeof entries[0], values, 64, &count));
        for (uint64_t i = 0; i < count; ++i) CHECK(values[i] == 4);
        taken += count;
    };
    for (int run = 1; run <= 3; ++run) {
        REQUIRE_OK(gpo_queue_post(gpu.ring, 0, requests.data(), requests.size(), 0, &posted));
        REQUIRE(posted == 30);
        REQUIRE_OK(gpo_scheduler_start(gpu.scheduler));
        CHECK_OK(gpo_scheduler_drain(gpu.scheduler, kPatience));
        take_all();
        CHECK(taken == run * 30u);
    }
    // A stop neither completes nor loses an endless request.
    const Request endless{0, 0, UINT32_MAX, 0};
    REQUIRE_OK(gpo_queue_post(gpu.ring, 1, &endless, 1, 0, &posted));
    REQUIRE_OK(gpo_queue_post(gpu.ring, 0, requests.data(), requests.size(), 0, &posted));
    REQUIRE_OK(gpo_scheduler_start(gpu.scheduler));
    REQUIRE(comes_true([&] { return gpo_queue_wait(gpu.ring, 0, 0) == GPO_SUCCESS; }));
    CHECK_STATUS(GPO_TIMEOUT, gpo_scheduler_drain(gpu.scheduler, 1'000'000));
    CHECK_OK(gpo_scheduler_stop(gpu.scheduler, kPatience));
    REQUIRE_OK(gpo_scheduler_start(gpu.scheduler));
    REQUIRE(comes_true([&] {
        take_all();
        return taken == 120;
    }));
    CHECK(queue_info(gpu.ring).unanswered == 1);
    // The ring's abort ends the run.
    CHECK_OK(gpo_queue_abort(gpu.ring));
    CHECK_OK(gpo_scheduler_wait(gpu.scheduler, kPatience));
    CHECK(scheduler_info(gpu.scheduler).last_end == GPO_CANCELLED);
}

TEST_CASE("a scheduler ends when its host ring is closed and all is answered, and with a shutdown" * gated) {
    for (const bool closes : {true, false}) {
        CAPTURE(closes);
        Serving gpu;
        const Request request{0, 2, 4, 0};
        uint64_t posted = 0;
        REQUIRE_OK(gpo_scheduler_start(gpu.scheduler));
        REQUIRE_OK(gpo_queue_post(gpu.ring, 0, &request, 1, 0, &posted));
        if (closes) {
            CHECK_OK(gpo_queue_close(gpu.ring));
            CHECK_OK(gpo_scheduler_wait(gpu.scheduler, kPatience));
            CHECK(scheduler_info(gpu.scheduler).last_end == GPO_END);
            CHECK_OK(gpo_queue_wait(gpu.ring, 0, 0));
        } else {
            CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
            gpu.runtime = nullptr;
            gpu.scheduler.release();
        }
    }
    // A deterministic runtime can be created only if nothing is left of the runtimes above.
    auto options = sized<gpo_runtime_options>();
    options.device = "soft";
    options.schedule_seed = 1;
    gpo_runtime_t alone = nullptr;
    REQUIRE_OK(gpo_runtime_create(&options, &alone));
    CHECK_OK(gpo_runtime_shutdown(alone, kPatience));
}
