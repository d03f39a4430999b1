// Callbacks that are posted to an executor: at once, at a time, and cancelled.
#include <ctime>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/arrivals.h"
#include "support/gpu.h"

using namespace gpo::test;

namespace {

constexpr uint64_t kNever = UINT64_MAX, kMillisecond = 1'000'000, kHour = 3600'000 * kMillisecond;

uint64_t clock_of(clockid_t which) {
    timespec time{};
    clock_gettime(which, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}
uint64_t now() { return clock_of(CLOCK_MONOTONIC); }

/// What a callback was called with, and when.
struct Told {
    Arrivals came;
    gpo_completion completion{};
    std::string message;
    std::thread::id thread;
    uint64_t at = 0;
    std::vector<int>* order = nullptr;
    int number = 0;
    static void callback(void* user, const gpo_completion* completion, const gpo_error* error) {
        auto& told = *static_cast<Told*>(user);
        told.completion = *completion;
        told.message = error ? error->message : "";
        told.thread = std::this_thread::get_id();
        told.at = now();
        if (told.order) told.order->push_back(told.number);
        ++told.came;
    }
};

gpo_executor_statistics statistics_of(gpo_executor_t executor) {
    auto statistics = sized<gpo_executor_statistics>();
    REQUIRE_OK(gpo_executor_get_statistics(executor, &statistics));
    return statistics;
}

}  // namespace

TEST_CASE("a posted callback is called once, on a thread of the executor's, in the order of the posts") {
    Gpu gpu;
    for (uint32_t flags : {unsigned{GPO_EXECUTOR_SPIN}, unsigned{GPO_EXECUTOR_SLEEP}}) {
        Executor executor = gpu.executor(flags, 1);
        std::vector<int> order;
        std::vector<Told> told(100);
        const uint64_t before = now();
        for (size_t i = 0; i < told.size(); ++i) {
            told[i].order = &order;
            told[i].number = static_cast<int>(i);
            REQUIRE_OK(gpo_executor_post(executor, Told::callback, &told[i]));
        }
        for (Told& one : told) {
            REQUIRE(one.came.reach(1));
            CHECK(one.completion.status == GPO_SUCCESS);
            CHECK(one.completion.origin == GPO_ORIGIN_EXECUTOR);
            CHECK(one.completion.user_data == reinterpret_cast<uint64_t>(&one));
            CHECK(one.completion.submitted_ns >= before);
            CHECK(one.completion.completed_ns >= one.completion.submitted_ns);
            CHECK(one.completion.completed_ns <= one.at);
            CHECK(one.message.empty());
            CHECK(one.thread != std::this_thread::get_id());
        }
        CHECK(std::is_sorted(order.begin(), order.end()));
        CHECK(statistics_of(executor).accepted == 100);
    }
}

TEST_CASE("a caller's executor calls posts and due times on the thread that runs it, and polls them") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    const uint64_t begin = now();
    uint64_t time = 0;
    REQUIRE_OK(gpo_executor_get_time(executor, &time));
    CHECK(time >= begin);
    CHECK(time <= now());
    Told post, past, soon;
    REQUIRE_OK(gpo_executor_post(executor, Told::callback, &post));
    REQUIRE_OK(gpo_executor_post_at(executor, now() - kMillisecond, Told::callback, &past, nullptr));
    REQUIRE_OK(gpo_executor_post_at(executor, now() + 5 * kMillisecond, Told::callback, &soon, nullptr));
    CHECK(post.came == 0);
    uint64_t count = 0;
    REQUIRE_OK(gpo_executor_poll(executor, &count));
    CHECK(count >= 2);
    CHECK(post.came == 1);
    CHECK(past.came == 1);
    CHECK(post.thread == std::this_thread::get_id());
    while (soon.came == 0) {
        const uint64_t before = now();
        REQUIRE_OK(gpo_executor_poll(executor, nullptr));
        CHECK(now() - before < 1000 * kMillisecond);  // doesn't wait
    }
    CHECK(soon.completion.status == GPO_SUCCESS);
    REQUIRE_OK(gpo_executor_run(executor, &count));
    CHECK(count == 0);
}

TEST_CASE("times come in their order, whatever the order of the posts, and never early") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    std::vector<int> order;
    std::vector<Told> told(60);
    const uint64_t first = now() + kMillisecond;
    for (size_t i = 0; i < told.size(); ++i) {
        told[i].order = &order;
        const size_t time = i * 37 % 60 / 6;  // six of each time, in the order of the posts
        told[i].number = static_cast<int>(time * 100 + i);
        uint64_t ticket = 0;
        REQUIRE_OK(gpo_executor_post_at(executor, first + time * kMillisecond / 2, Told::callback, &told[i], &ticket));
        CHECK(ticket != 0);
    }
    uint64_t count = 0;
    REQUIRE_OK(gpo_executor_run(executor, &count));
    CHECK(count == 60);
    CHECK(std::is_sorted(order.begin(), order.end()));
    for (const Told& one : told) {
        CHECK(one.came == 1);
        const uint64_t time = first + static_cast<uint64_t>(one.number) / 100 * kMillisecond / 2;
        CHECK(one.at >= time);
        CHECK(one.completion.completed_ns >= time);
        CHECK(one.completion.status == GPO_SUCCESS);
    }
}

TEST_CASE("a time that never comes keeps run inside until it is cancelled, once") {
    Gpu gpu;
    for (uint32_t flags : {unsigned{GPO_EXECUTOR_CALLER}, 0u}) {
        Executor executor = gpu.executor(flags);
        Told never, other;
        uint64_t ticket = 0, second = 0;
        REQUIRE_OK(gpo_executor_post_at(executor, kNever, Told::callback, &never, &ticket));
        REQUIRE_OK(gpo_executor_post_at(executor, kNever, Told::callback, &other, &second));
        CHECK(ticket != second);
        CHECK_STATUS(GPO_TIMEOUT, gpo_executor_run_for(executor, 2 * kMillisecond, nullptr));
        CHECK(never.came == 0);
        CHECK(statistics_of(executor).pending == 2);
        REQUIRE_OK(gpo_executor_cancel(executor, ticket));
        CHECK_STATUS(GPO_NOT_FOUND, gpo_executor_cancel(executor, ticket));
        CHECK_STATUS(GPO_NOT_FOUND, gpo_executor_cancel(executor, 0));
        CHECK_STATUS(GPO_TIMEOUT, gpo_executor_run_for(executor, 2 * kMillisecond, nullptr));
        CHECK(never.came == 1);
        CHECK(never.completion.status == GPO_CANCELLED);
        CHECK(never.completion.origin == GPO_ORIGIN_EXECUTOR);
        CHECK(never.message.find("cancelled") != std::string::npos);
        CHECK(other.came == 0);
        REQUIRE_OK(gpo_executor_cancel(executor, second));
        REQUIRE_OK(gpo_executor_run(executor, nullptr));
        CHECK(other.came == 1);
        CHECK(statistics_of(executor).cancelled == 2);
        // A place that was used before has another ticket.
        uint64_t third = 0;
        REQUIRE_OK(gpo_executor_post_at(executor, 0, Told::callback, &other, &third));
        REQUIRE_OK(gpo_executor_run(executor, nullptr));
        CHECK(other.came == 2);
        CHECK(other.completion.status == GPO_SUCCESS);
        CHECK(third != ticket);
        CHECK(third != second);
        CHECK_STATUS(GPO_NOT_FOUND, gpo_executor_cancel(executor, third));
    }
}

TEST_CASE("a callback that is cancelled comes as if it had been posted then") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    std::vector<int> order;
    Told told[3];
    for (int i = 0; i < 3; ++i) {
        told[i].order = &order;
        told[i].number = i;
    }
    uint64_t ticket = 0;
    REQUIRE_OK(gpo_executor_post_at(executor, kNever, Told::callback, &told[1], &ticket));
    REQUIRE_OK(gpo_executor_post(executor, Told::callback, &told[0]));
    REQUIRE_OK(gpo_executor_cancel(executor, ticket));
    REQUIRE_OK(gpo_executor_post(executor, Told::callback, &told[2]));
    REQUIRE_OK(gpo_executor_run(executor, nullptr));
    CHECK(order == std::vector<int>{0, 1, 2});
}

TEST_CASE("a time that has come can't be cancelled, though no thread has seen it yet") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    Told told;
    uint64_t ticket = 0;
    told.at = now() + kMillisecond;
    REQUIRE_OK(gpo_executor_post_at(executor, told.at, Told::callback, &told, &ticket));
    while (now() <= told.at) std::this_thread::yield();
    CHECK_STATUS(GPO_NOT_FOUND, gpo_executor_cancel(executor, ticket));
    REQUIRE_OK(gpo_executor_run(executor, nullptr));
    CHECK(told.completion.status == GPO_SUCCESS);
}

TEST_CASE("an earlier time behind a later one comes while all threads sleep, and spinning stops for a far one") {
    Gpu gpu;
    for (uint32_t flags : {unsigned{GPO_EXECUTOR_SPIN}, unsigned{GPO_EXECUTOR_SLEEP}}) {
        Executor executor = gpu.executor(flags, 3);
        Told late, early;
        uint64_t ticket = 0;
        REQUIRE_OK(gpo_executor_post_at(executor, now() + kHour, Told::callback, &late, &ticket));
        const uint64_t before = clock_of(CLOCK_PROCESS_CPUTIME_ID);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));  // in which a thread that spins would take 200 ms
        CHECK(clock_of(CLOCK_PROCESS_CPUTIME_ID) - before < 100 * kMillisecond);
        REQUIRE_OK(gpo_executor_post_at(executor, now() + 10 * kMillisecond, Told::callback, &early, nullptr));
        CHECK(early.came.reach(1));
        CHECK(late.came == 0);
        REQUIRE_OK(gpo_executor_cancel(executor, ticket));
        CHECK(late.came.reach(1));
    }
}

TEST_CASE("a thread that keeps the time hands it on before it is held up in a callback") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_SLEEP, 2);
    for (int i = 0; i < 20; ++i) {
        Arrivals open;
        struct Both {
            Arrivals* open;
            Arrivals entered;
        } both{&open, {}};
        Told timed;
        REQUIRE_OK(gpo_executor_post_at(executor, now() + 5 * kMillisecond, Told::callback, &timed, nullptr));
        REQUIRE_OK(gpo_executor_post(
            executor,
            [](void* user, const gpo_completion*, const gpo_error*) {
                auto& here = *static_cast<Both*>(user);
                ++here.entered;
                here.open->reach(1);
            },
            &both));
        CHECK(both.entered.reach(1));
        CHECK(timed.came.reach(1));  // by the other thread
        ++open;
        REQUIRE_OK(gpo_executor_run(executor, nullptr));
    }
}

TEST_CASE("an executor that is destroyed cancels times that have not come, and calls what was posted") {
    Gpu gpu;
    for (uint32_t flags : {unsigned{GPO_EXECUTOR_CALLER}, 0u}) {
        Told timed, never, post;
        Executor executor = gpu.executor(flags);
        REQUIRE_OK(gpo_executor_post_at(executor, now() + kHour, Told::callback, &timed, nullptr));
        REQUIRE_OK(gpo_executor_post_at(executor, kNever, Told::callback, &never, nullptr));
        REQUIRE_OK(gpo_executor_post(executor, Told::callback, &post));
        const gpo_executor_t handle = executor.release();
        REQUIRE_OK(gpo_executor_destroy(handle));
        CHECK(timed.came.reach(1));
        CHECK(never.came.reach(1));
        CHECK(post.came.reach(1));
        CHECK(timed.completion.status == GPO_CANCELLED);
        CHECK(never.completion.status == GPO_CANCELLED);
        CHECK(post.completion.status == GPO_SUCCESS);
        CHECK(timed.message.find("destroyed") != std::string::npos);
        CHECK_STATUS(GPO_STALE_HANDLE, gpo_executor_post(handle, Told::callback, &post));
        CHECK_STATUS(GPO_STALE_HANDLE, gpo_executor_post_at(handle, 0, Told::callback, &post, nullptr));
        CHECK_STATUS(GPO_STALE_HANDLE, gpo_executor_cancel(handle, 1));
        CHECK(post.came == 1);
    }
}

TEST_CASE("a shutdown does not wait for times, and what comes too late is refused") {
    for (uint32_t flags : {unsigned{GPO_EXECUTOR_CALLER}, unsigned{GPO_EXECUTOR_SLEEP}, unsigned{GPO_EXECUTOR_SPIN}}) {
        Gpu gpu;
        Executor executor = gpu.executor(flags);
        Told timed;
        struct Late {
            gpo_executor_t executor = nullptr;
            std::atomic<gpo_status> status{GPO_SUCCESS};
            Arrivals came;
        } late;
        late.executor = executor;
        REQUIRE_OK(gpo_executor_post_at(executor, now() + kHour, Told::callback, &timed, nullptr));
        // Called by the shutdown, and refused.
        REQUIRE_OK(gpo_executor_post_at(
            executor, kNever,
            [](void* user, const gpo_completion*, const gpo_error*) {
                auto& here = *static_cast<Late*>(user);
                here.status = gpo_executor_post(here.executor, Told::callback, nullptr);
                ++here.came;
            },
            &late, nullptr));
        const uint64_t before = now();
        REQUIRE_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
        CHECK(now() - before < kHour / 100);
        CHECK(timed.came == 1);
        CHECK(timed.completion.status == GPO_CANCELLED);
        CHECK(late.came == 1);
        CHECK(late.status == GPO_SHUT_DOWN);
    }
}

TEST_CASE("a full executor refuses posts, which has no effect") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER, 0, 2);
    Told told;
    uint64_t ticket = 77;
    REQUIRE_OK(gpo_executor_post(executor, Told::callback, &told));
    REQUIRE_OK(gpo_executor_post_at(executor, 0, Told::callback, &told, nullptr));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_executor_post(executor, Told::callback, &told));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_executor_post_at(executor, 0, Told::callback, &told, &ticket));
    CHECK(ticket == 77);
    CHECK(statistics_of(executor).refused == 2);
    REQUIRE_OK(gpo_executor_run(executor, nullptr));
    CHECK(told.came == 2);
    REQUIRE_OK(gpo_executor_post(executor, Told::callback, &told));
    REQUIRE_OK(gpo_executor_run(executor, nullptr));
    CHECK(told.came == 3);
}

TEST_CASE("callbacks post more, a post that throws is counted, and the next one comes") {
    Gpu gpu;
    Executor executor = gpu.executor(0, 4);
    struct Tree {
        gpo_executor_t executor = nullptr;
        std::atomic<int> left{20'000}, wrong{0};
        static void callback(void* user, const gpo_completion*, const gpo_error*) {
            auto& tree = *static_cast<Tree*>(user);
            for (int i = 0; i < 2; ++i)
                if (tree.left.fetch_sub(1) > 0 && gpo_executor_post(tree.executor, callback, &tree) != GPO_SUCCESS)
                    ++tree.wrong;
        }
    } tree;
    tree.executor = executor;
    REQUIRE_OK(gpo_executor_post(executor, Tree::callback, &tree));
    REQUIRE_OK(gpo_executor_run(executor, nullptr));
    CHECK(tree.left <= 0);
    CHECK(tree.wrong == 0);
    CHECK(statistics_of(executor).called == 20'001);
    Told told;
    REQUIRE_OK(gpo_executor_post(
        executor, [](void*, const gpo_completion*, const gpo_error*) { throw std::runtime_error("on purpose"); },
        nullptr));
    REQUIRE_OK(gpo_executor_post(executor, Told::callback, &told));
    CHECK(told.came.reach(1));
    REQUIRE_OK(gpo_executor_run(executor, nullptr));
    CHECK(statistics_of(executor).threw == 1);
}

TEST_CASE("a host node of a graph posts, sets a time and cancels it") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    Stream stream = gpu.stream();
    struct Inside {
        gpo_executor_t executor = nullptr;
        Told told, timed;
        gpo_status post = GPO_INTERNAL, at = GPO_INTERNAL, cancel = GPO_INTERNAL;
    } inside;
    inside.executor = executor;
    gpo_template_t made = nullptr;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, &made));
    REQUIRE_OK(gpo_template_add_host_call(
        made, nullptr, 0,
        [](void* user) {
            auto& here = *static_cast<Inside*>(user);
            uint64_t ticket = 0;
            here.post = gpo_executor_post(here.executor, Told::callback, &here.told);
            here.at = gpo_executor_post_at(here.executor, kNever, Told::callback, &here.timed, &ticket);
            here.cancel = gpo_executor_cancel(here.executor, ticket);
        },
        &inside, nullptr));
    REQUIRE_OK(gpo_template_launch(made, stream, nullptr, 0, 0));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(inside.post == GPO_SUCCESS);
    CHECK(inside.at == GPO_SUCCESS);
    CHECK(inside.cancel == GPO_SUCCESS);
    CHECK(inside.told.came == 0);  // not in the driver's thread
    REQUIRE_OK(gpo_executor_run(executor, nullptr));
    CHECK(inside.told.came == 1);
    CHECK(inside.timed.completion.status == GPO_CANCELLED);
    REQUIRE_OK(gpo_template_destroy(made));
}
