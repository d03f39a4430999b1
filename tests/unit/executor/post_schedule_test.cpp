// Posted callbacks under many schedules, with the virtual clock: each comes once, times in their order and never early,
// however the executor ends. The same for Asio's strands and timers on an executor (asio/executor.hpp).
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "gpuorch/asio/executor.hpp"
#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

constexpr uint64_t kSecond = 1'000'000'000, kHour = 3600 * kSecond;

enum class End { run, destroy, shutdown };

struct One {
    uint64_t time = 0;
    bool posted = false;  // without a time
    std::atomic<int> came{0}, cancelled{0}, early{0}, late{0};
    std::atomic<bool> asked{false};
    static void callback(void* user, const gpo_completion* completion, const gpo_error*) {
        One& one = *static_cast<One*>(user);
        ++one.came;
        one.cancelled += completion->status == GPO_CANCELLED;
        const uint64_t now = gpo::host::now();
        if (completion->status == GPO_SUCCESS) one.early += now < one.time;
        // A thread may stall, for 8 ms a time.
        if (completion->status == GPO_SUCCESS && !one.posted) one.late += now > one.time + kSecond;
        gpo::host::step(0);
    }
};

gpo_executor_t executor_with(gpo_runtime_t runtime, uint32_t flags) {
    auto options = gpo::test::sized<gpo_executor_options>();
    options.flags = flags;
    gpo_executor_t executor = nullptr;
    REQUIRE(gpo_executor_create(runtime, &options, &executor) == GPO_SUCCESS);
    return executor;
}

void run(uint64_t seed, uint32_t flags, End end) {
    constexpr int kCallers = 2, kEach = 8;
    const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed);
    const gpo_executor_t executor = executor_with(runtime, flags);
    std::array<One, kCallers * kEach> all;
    std::atomic<int> wrong{0};
    std::vector<gpo::host::Thread> threads;
    for (size_t t = 0; t < kCallers; ++t)
        threads.emplace_back("caller", [&, t] {
            uint64_t random = seed * 977 + t;
            uint64_t tickets[kEach] = {};
            for (size_t i = 0; i < kEach; ++i) {
                One& one = all[t * kEach + i];
                random = random * 6364136223846793005u + 1442695040888963407u;
                gpo_status status;
                if ((random >> 33) % 3 == 0) {
                    one.posted = true;
                    status = gpo_executor_post(executor, One::callback, &one);
                } else {
                    one.time = gpo::host::now() + (random >> 40) % 5 * kHour;
                    status = gpo_executor_post_at(executor, one.time, One::callback, &one, &tickets[i]);
                }
                one.asked = status == GPO_SUCCESS;
                if (status != GPO_SUCCESS && status != GPO_STALE_HANDLE && status < GPO_CANCELLED) ++wrong;
                const uint64_t ticket = tickets[(random >> 50) % kEach];
                if ((random >> 45) % 4 == 0) {
                    const gpo_status cancel = gpo_executor_cancel(executor, ticket);
                    if (cancel == GPO_INVALID_ARGUMENT || cancel == GPO_INTERNAL) ++wrong;
                }
                if (flags & GPO_EXECUTOR_CALLER) gpo_executor_poll(executor, nullptr);
            }
        });
    if (end == End::destroy) REQUIRE(gpo_executor_destroy(executor) == GPO_SUCCESS);
    threads.clear();
    if (end == End::run) REQUIRE(gpo_executor_run(executor, nullptr) == GPO_SUCCESS);
    REQUIRE(gpo_runtime_shutdown(runtime, 10 * static_cast<int64_t>(kSecond)) == GPO_SUCCESS);
    CHECK(wrong == 0);
    for (const One& one : all) {
        CHECK(one.came == one.asked);
        CHECK(one.early == 0);
        if (!(flags & GPO_EXECUTOR_CALLER)) CHECK(one.late == 0);
        if (one.posted) CHECK(one.cancelled == 0);
    }
}

}  // namespace

TEST_CASE("posts come once and times in virtual time, under every schedule, however the executor ends") {
    const auto [first, count] = gpo::test::seeds({1, 2400});  // each stands for nine runs
    for (uint64_t seed = first; seed < first + (count + 8) / 9; ++seed)
        for (uint32_t flags :
             {unsigned{GPO_EXECUTOR_SLEEP}, unsigned{GPO_EXECUTOR_SPIN}, unsigned{GPO_EXECUTOR_CALLER}})
            for (End end : {End::run, End::destroy, End::shutdown}) {
                INFO("GPUORCH_TEST_SEED=", seed, ", flags ", flags, ", end ", static_cast<int>(end));
                run(seed, flags, end);
            }
}

TEST_CASE("an earlier time is not slept through, whoever keeps the time, under every schedule") {
    gpo::test::each_seed(600, [](uint64_t seed) {
        const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed);
        const gpo_executor_t executor = executor_with(runtime, GPO_EXECUTOR_SLEEP);
        std::array<One, 6> all;
        for (One& one : all) {
            one.time = gpo::host::now() + kHour / (1 + static_cast<uint64_t>(&one - all.data()));
            REQUIRE(gpo_executor_post_at(executor, one.time, One::callback, &one, nullptr) == GPO_SUCCESS);
            if (seed % 2) gpo::host::sleep_until(gpo::host::now() + 1000);
            // A callback that takes a thread away for an hour.
            if (&one == &all[3])
                REQUIRE(gpo_executor_post(
                            executor,
                            [](void*, const gpo_completion*, const gpo_error*) {
                                gpo::host::sleep_until(gpo::host::now() + kHour);
                            },
                            nullptr) == GPO_SUCCESS);
        }
        gpo::host::sleep_until(gpo::host::now() + kHour + 2 * kSecond);
        for (const One& one : all) {
            CHECK(one.came == 1);
            CHECK(one.early == 0);
            CHECK(one.late == 0);
        }
        REQUIRE(gpo_runtime_shutdown(runtime, 10 * static_cast<int64_t>(kSecond)) == GPO_SUCCESS);
    });
}

TEST_CASE("a post is called though the thread that spins is leaving, under every schedule") {
    gpo::test::each_seed(1500, [](uint64_t seed) {
        const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed);
        auto options = gpo::test::sized<gpo_executor_options>();
        options.flags = GPO_EXECUTOR_SPIN;
        options.threads = 1;
        gpo_executor_t executor = nullptr;
        REQUIRE(gpo_executor_create(runtime, &options, &executor) == GPO_SUCCESS);
        std::array<One, 8> all;
        gpo::host::Thread runs("runs", [&] {
            for (int i = 0; i < 8; ++i) {
                gpo_executor_run_for(executor, static_cast<int64_t>(seed % 3) * 1000, nullptr);
                gpo::host::crossing();
            }
        });
        for (One& one : all) {
            one.posted = true;
            REQUIRE(gpo_executor_post(executor, One::callback, &one) == GPO_SUCCESS);
            gpo::host::step(0);
            if (seed % 2) gpo::host::sleep_until(gpo::host::now() + 500);
        }
        runs.join();
        gpo::host::sleep_until(gpo::host::now() + 10 * kSecond);  // nobody but the executor's thread is there
        for (const One& one : all) CHECK(one.came == 1);
        REQUIRE(gpo_runtime_shutdown(runtime, 10 * static_cast<int64_t>(kSecond)) == GPO_SUCCESS);
    });
}

TEST_CASE("posts that are refused don't make a shutdown late, under every schedule") {
    gpo::test::each_seed(1500, [](uint64_t seed) {
        const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed);
        auto options = gpo::test::sized<gpo_executor_options>();
        options.flags = seed % 2 ? GPO_EXECUTOR_CALLER : 0;
        options.threads = seed % 2 ? 0 : 1;
        gpo_executor_t executor = nullptr;
        REQUIRE(gpo_executor_create(runtime, &options, &executor) == GPO_SUCCESS);
        std::array<One, 8> all;
        std::array<bool, 8> accepted{};
        gpo::host::Thread posts("posts", [&] {
            for (size_t i = 0; i < all.size(); ++i) {
                all[i].posted = true;
                accepted[i] = gpo_executor_post(executor, One::callback, &all[i]) == GPO_SUCCESS;
            }
        });
        const gpo_status status = gpo_runtime_shutdown(runtime, 10 * static_cast<int64_t>(kSecond));
        posts.join();
        REQUIRE(status == GPO_SUCCESS);
        for (size_t i = 0; i < all.size(); ++i) CHECK(all[i].came == accepted[i]);
    });
}

TEST_CASE("strands and timers of Asio run on an executor in virtual time, under every schedule") {
    namespace asio = boost::asio;
    gpo::test::each_seed(600, [](uint64_t seed) {
        const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed);
        std::atomic<int> came{0}, aborted{0}, wrong{0};
        bool ended = false;
        {
            const uint32_t threads = seed % 3;
            gpuorch::executor_context context(runtime, threads);
            auto strand = asio::make_strand(context);
            int inside = 0, in_strand = 0;
            std::vector<gpo::host::Thread> posters;
            for (int t = 0; t < 2; ++t)
                posters.emplace_back("poster", [&] {
                    for (int i = 0; i < 6; ++i)
                        asio::post(strand, [&] {
                            wrong += inside++ != 0;
                            gpo::host::crossing();
                            ++in_strand;
                            --inside;
                        });
                });
            std::vector<std::unique_ptr<gpuorch::executor_timer>> timers;
            for (uint64_t i = 0; i < 4; ++i) {
                timers.push_back(std::make_unique<gpuorch::executor_timer>(strand));
                const uint64_t hours = 4 - i;
                timers.back()->expires_after(std::chrono::hours(hours));
                const uint64_t due = gpo::host::now() + hours * kHour - kSecond;
                timers.back()->async_wait([&, due](gpuorch::error_code error) {
                    ++(error ? aborted : came);
                    if (!error) wrong += gpo::host::now() < due || gpo::host::now() > due + 2 * kSecond;
                });
            }
            if (seed % 4 == 0) timers[0]->cancel();
            if (seed % 5 == 0) {
                posters.clear();
                ended = true;  // with all of it pending
            } else {
                posters.clear();
                context.run();
                CHECK(in_strand == 12);
            }
        }
        CHECK(wrong == 0);
        if (ended) {
            CHECK(came <= 4);
        } else {
            CHECK(came + aborted == 4);
            CHECK(aborted == (seed % 4 == 0));
        }
        REQUIRE(gpo_runtime_shutdown(runtime, 10 * static_cast<int64_t>(kSecond)) == GPO_SUCCESS);
    });
}
