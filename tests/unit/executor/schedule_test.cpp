// Executors under many schedules: each callback comes once, a stream's callbacks come in order, and nothing hangs,
// regardless of the executor's threads, the scanner, callers and a teardown.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

enum class End { run, destroy, shutdown };

constexpr int kCallers = 2, kEach = 6;

struct Line {
    std::atomic<int> inside{0}, came{0}, wrong{0};
    int accepted = 0;
};

void enter(Line& line) {
    if (line.inside.fetch_add(1) != 0) ++line.wrong;
    gpo::host::step(0);
    ++line.came;
    --line.inside;
}

void completed(void* user, const gpo_completion* completion, const gpo_error* error) {
    Line& line = *static_cast<Line*>(user);
    if ((completion->status != GPO_SUCCESS) != (error != nullptr)) ++line.wrong;
    enter(line);
}

gpo_status called(void* user, const gpo_host_call*) {
    enter(*static_cast<Line*>(user));
    return GPO_SUCCESS;
}

void run(uint64_t seed, uint32_t flags, uint32_t mode, End end) {
    const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed, mode);
    gpo_device_t device = nullptr;
    REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
    gpo_executor_options executor_options{};
    executor_options.struct_size = sizeof executor_options;
    executor_options.flags = flags;
    executor_options.capacity = 8;
    gpo_executor_t executor = nullptr;
    REQUIRE(gpo_executor_create(runtime, &executor_options, &executor) == GPO_SUCCESS);
    uint64_t memory = 0;
    REQUIRE(gpo_memory_allocate(device, 64, nullptr, &memory) == GPO_SUCCESS);

    std::vector<std::unique_ptr<Line>> lines;
    gpo_stream_t streams[kCallers];
    for (auto& stream : streams) {
        REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
        lines.push_back(std::make_unique<Line>());
    }
    std::atomic<int> wrong{0};
    std::vector<gpo::host::Thread> threads;
    for (int t = 0; t < kCallers; ++t)
        threads.emplace_back("caller", [&, t] {
            Line& line = *lines[static_cast<size_t>(t)];
            for (int i = 0; i < kEach; ++i) {
                gpo_fill(streams[t], memory, 1, 4, 8);
                const gpo_status status = i % 3 == 1 ? gpo_stream_host_call(streams[t], executor, called, &line)
                                                     : gpo_stream_then(streams[t], executor, completed, &line);
                line.accepted += status == GPO_SUCCESS;
                if (status != GPO_SUCCESS && status != GPO_WOULD_BLOCK && status < GPO_CANCELLED &&
                    status != GPO_STALE_HANDLE)
                    ++wrong;
                if (flags & GPO_EXECUTOR_CALLER) gpo_executor_poll(executor, nullptr);
            }
        });
    if (end == End::destroy) REQUIRE(gpo_executor_destroy(executor) == GPO_SUCCESS);
    threads.clear();
    if (end == End::run) {
        REQUIRE(gpo_executor_run(executor, nullptr) == GPO_SUCCESS);
        for (auto stream : streams) CHECK(gpo_stream_wait(stream, 10'000'000'000) == GPO_SUCCESS);
    }
    REQUIRE(gpo_memory_free(device, memory) == GPO_SUCCESS);
    REQUIRE(gpo_runtime_shutdown(runtime, 10'000'000'000) == GPO_SUCCESS);
    CHECK(wrong == 0);
    for (const auto& line : lines) {
        CHECK(line->came == line->accepted);
        CHECK(line->wrong == 0);
    }
}

}  // namespace

TEST_CASE("every callback comes once under every schedule, however the executor ends") {
    const auto [first, count] = gpo::test::seeds({1, 2400});  // each stands for twelve runs
    for (uint64_t seed = first; seed < first + (count + 11) / 12; ++seed) {
        for (uint32_t flags :
             {unsigned{GPO_EXECUTOR_SLEEP}, unsigned{GPO_EXECUTOR_SPIN}, unsigned{GPO_EXECUTOR_CALLER}})
            for (End end : {End::run, End::destroy, End::shutdown}) {
                INFO("GPUORCH_TEST_SEED=", seed, ", flags ", flags, ", end ", static_cast<int>(end));
                run(seed, flags, seed % 2 ? GPO_COMPLETION_BALANCED : GPO_COMPLETION_LATENCY, end);
            }
    }
}

TEST_CASE("callbacks that wait for one another come on as many threads as there are, under every schedule") {
    constexpr uint64_t kSeeds = 400;
    constexpr int kThreads = 4;
    struct Meeting {
        std::atomic<int> came{0};
        bool all() const { return came.load() == kThreads; }
    };
    const auto [first, count] = gpo::test::seeds({1, kSeeds});
    for (uint64_t seed = first; seed < first + count; ++seed) {
        const uint32_t flags = seed % 4 ? GPO_EXECUTOR_SPIN : GPO_EXECUTOR_SLEEP;
        INFO("GPUORCH_TEST_SEED=", seed);
        const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed);
        gpo_executor_options executor_options{};
        executor_options.struct_size = sizeof executor_options;
        executor_options.flags = flags;
        executor_options.threads = kThreads;
        gpo_executor_t executor = nullptr;
        REQUIRE(gpo_executor_create(runtime, &executor_options, &executor) == GPO_SUCCESS);
        gpo_timeline_t timeline = nullptr;
        REQUIRE(gpo_timeline_create(runtime, nullptr, &timeline) == GPO_SUCCESS);
        for (uint64_t round = 1; round <= 3; ++round) {
            Meeting meeting;
            for (int i = 0; i < kThreads; ++i)
                REQUIRE(gpo_timeline_then(
                            timeline, round, executor,
                            [](void* user, const gpo_completion*, const gpo_error*) {
                                auto& here = *static_cast<Meeting*>(user);
                                ++here.came;
                                const uint64_t until = gpo::host::now() + 1'000'000'000;
                                while (!here.all() && gpo::host::now() < until)
                                    gpo::host::sleep_until(gpo::host::now() + 100'000);
                            },
                            &meeting) == GPO_SUCCESS);
            gpo::host::sleep_until(gpo::host::now() + 100'000);   // one spins, the others sleep
            REQUIRE(gpo_timeline_signal(timeline, round) == GPO_SUCCESS);
            gpo::host::sleep_until(gpo::host::now() + 500'000'000);
            CHECK(meeting.all());
            while (!meeting.all()) gpo::host::sleep_until(gpo::host::now() + 100'000'000);
        }
        REQUIRE(gpo_runtime_shutdown(runtime, 10'000'000'000) == GPO_SUCCESS);
    }
}

TEST_CASE("a callback that is due while the spinning thread leaves is called by another, under every schedule") {
    const auto [first, count] = gpo::test::seeds({1, 400});
    for (uint64_t seed = first; seed < first + count; ++seed) {
        INFO("GPUORCH_TEST_SEED=", seed);
        const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed);
        gpo_executor_options executor_options{};
        executor_options.struct_size = sizeof executor_options;
        executor_options.flags = GPO_EXECUTOR_SPIN;
        executor_options.threads = 1;
        gpo_executor_t executor = nullptr;
        REQUIRE(gpo_executor_create(runtime, &executor_options, &executor) == GPO_SUCCESS);
        gpo_timeline_t timeline = nullptr;
        REQUIRE(gpo_timeline_create(runtime, nullptr, &timeline) == GPO_SUCCESS);
        for (uint64_t round = 1; round <= 12; ++round) {
            CAPTURE(round);
            // While the executor's thread is in a callback, the calling thread begins to spin. Then the executor's
            // thread sleeps.
            std::atomic<bool> blocks{true};
            REQUIRE(gpo_timeline_then(timeline, 0, executor, [](void* user, const gpo_completion*, const gpo_error*) {
                        const auto& on = *static_cast<std::atomic<bool>*>(user);
                        while (on) gpo::host::sleep_until(gpo::host::now() + 1000);
                    }, &blocks) == GPO_SUCCESS);
            gpo::host::sleep_until(gpo::host::now() + 20'000'000);
            Line line;
            REQUIRE(gpo_timeline_then(timeline, round, executor, completed, &line) == GPO_SUCCESS);
            {
                constexpr uint64_t kRuns = 100'000;   // ns
                std::atomic<uint64_t> end{0};
                gpo::host::Thread caller("caller", [&] {
                    end = gpo::host::now() + kRuns;
                    gpo_executor_run_for(executor, kRuns, nullptr);
                });
                while (end == 0) gpo::host::step(0);
                gpo::host::sleep_until(end - kRuns / 2);
                blocks = false;
                gpo::host::sleep_until(end);
                // A spinning caller reads the clock once in 64 turns.
                for (uint64_t i = 0; i < (seed + 11 * round) % 128; ++i) gpo::host::crossing();
                REQUIRE(gpo_timeline_signal(timeline, round) == GPO_SUCCESS);
            }
            for (int i = 0; i < 100 && line.came == 0; ++i) gpo::host::sleep_until(gpo::host::now() + 10'000'000);
            CHECK(line.came == 1);
            CHECK(gpo_executor_run(executor, nullptr) == GPO_SUCCESS);
        }
        REQUIRE(gpo_runtime_shutdown(runtime, 10'000'000'000) == GPO_SUCCESS);
    }
}
