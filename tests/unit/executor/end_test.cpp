// The end of an executor with callbacks and callers inside: each accepted callback is called once, on an allowed
// thread, and no thread waits for a callback that won't come.
#include <doctest/doctest.h>

#include <atomic>
#include <vector>

#include "executor/awaited_call.h"
#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

constexpr int64_t kPatience = 10'000'000'000;

struct World {
    World() { REQUIRE(gpo_timeline_create(runtime, nullptr, &timeline) == GPO_SUCCESS); }
    ~World() { CHECK(gpo_runtime_shutdown(runtime, kPatience) == GPO_SUCCESS); }
    gpo_executor_t executor(uint32_t flags = GPO_EXECUTOR_CALLER) {
        gpo_executor_options options{};
        options.struct_size = sizeof options;
        options.flags = flags;
        gpo_executor_t made = nullptr;
        REQUIRE(gpo_executor_create(runtime, &options, &made) == GPO_SUCCESS);
        return made;
    }
    const gpo_runtime_t runtime = gpo::test::make_soft_runtime();
    gpo_timeline_t timeline = nullptr;   // never signalled
};

enum class Role { other, destroyer, runner };
thread_local Role t_role = Role::other;

struct Told {
    std::atomic<int> came{0}, cancelled{0}, elsewhere{0}, unnumbered{0};
    void tell(gpo_status status) {
        ++came;
        cancelled += status == GPO_CANCELLED;
        elsewhere += t_role == Role::other;
        gpo::host::crossing();
    }
    static void completed(void* user, const gpo_completion* completion, const gpo_error*) {
        static_cast<Told*>(user)->tell(completion->status);
    }
    static gpo_status called(void* user, const gpo_host_call* call) {
        static_cast<Told*>(user)->unnumbered += call->call == 0;
        static_cast<Told*>(user)->tell(call->status);
        return GPO_SUCCESS;
    }
};

}  // namespace

TEST_CASE("running an executor without a time limit ends when nothing is owed, whatever is asked for then") {
    gpo::test::explore(300, [] {
        World world;
        const gpo_executor_t executor = world.executor();
        constexpr int kAsked = 8;
        Told told;
        gpo::host::Thread asks("asks", [&] {
            for (int i = 0; i < kAsked; ++i)
                CHECK(gpo_timeline_then(world.timeline, 0, executor, Told::completed, &told) == GPO_SUCCESS);
        });
        for (int i = 0; i < kAsked; ++i) {
            CHECK(gpo_executor_run(executor, nullptr) == GPO_SUCCESS);
            CHECK(gpo_executor_run_for(executor, kPatience, nullptr) == GPO_SUCCESS);
        }
        asks.join();
        CHECK(gpo_executor_run(executor, nullptr) == GPO_SUCCESS);
        CHECK(told.came == kAsked);
    });
}

TEST_CASE("whoever is refused is not called back, also where the executor is destroyed meanwhile") {
    int accepted = 0;
    for (const bool throws : {true, false}) {
        CAPTURE(throws);
        gpo::test::explore(600, [&] {
            World world;
            gpo_device_t device = nullptr;
            gpo_stream_t stream = nullptr, wrapped = nullptr;
            void* native = nullptr;
            gpo_stream_options options{};
            options.struct_size = sizeof options;
            options.max_held = 1;
            REQUIRE(gpo_device_open(world.runtime, nullptr, &device) == GPO_SUCCESS);
            REQUIRE(gpo_stream_create(device, &options, &stream) == GPO_SUCCESS);
            REQUIRE(gpo_stream_get_native(stream, &native) == GPO_SUCCESS);
            REQUIRE(gpo_stream_wrap(device, native, nullptr, &wrapped) == GPO_SUCCESS);
            REQUIRE(gpo_stream_wait_timeline(stream, world.timeline, 1) == GPO_SUCCESS);   // fills the stream
            const gpo_executor_t executor = world.executor();
            Told told;
            gpo_status status = GPO_INTERNAL;
            gpo::host::Thread caller("caller", [&] {
                status = throws ? gpo_stream_host_call(wrapped, executor, Told::called, &told)
                                : gpo_stream_host_call(stream, executor, Told::called, &told);
            });
            CHECK(gpo_executor_destroy(executor) == GPO_SUCCESS);
            caller.join();
            CAPTURE(status);
            CHECK(told.came == (status == GPO_SUCCESS));
            CHECK(told.cancelled == told.came);
            CHECK(told.unnumbered == 0);
            accepted += status == GPO_SUCCESS;
        });
    }
    CHECK(accepted > 0);
}

TEST_CASE("who asks an executor for a callback while it is destroyed is called back, or finds the handle stale") {
    int accepted = 0, refused = 0;
    gpo::test::explore(600, [&](uint64_t seed) {
        World world;
        const gpo_executor_t executor = world.executor();
        Told told;
        gpo_status status = GPO_INTERNAL;
        gpo::host::Thread caller("caller", [&] {
            status = gpo_timeline_then(world.timeline, 1, executor, Told::completed, &told);
        });
        for (uint64_t i = 0; i < seed % 8; ++i) gpo::host::crossing();
        CHECK(gpo_executor_destroy(executor) == GPO_SUCCESS);
        caller.join();
        CAPTURE(status);
        CHECK((status == GPO_SUCCESS || status == GPO_STALE_HANDLE));
        CHECK(told.came == (status == GPO_SUCCESS));
        CHECK(told.cancelled == told.came);
        accepted += status == GPO_SUCCESS;
        refused += status == GPO_STALE_HANDLE;
    });
    CHECK(accepted > 0);
    CHECK(refused > 0);
}

TEST_CASE("an executor that is destroyed refuses callbacks of each kind with one status, and calls what it accepted") {
    int accepted = 0, refused = 0;
    for (const uint32_t flags : {uint32_t{GPO_EXECUTOR_CALLER}, uint32_t{0}}) {
        CAPTURE(flags);
        gpo::test::explore(400, [&](uint64_t seed) {
            Told told;
            int called = 0;
            {
                World world;
                gpo_device_t device = nullptr;
                gpo_stream_t stream = nullptr;
                gpo_event_t event = nullptr;
                REQUIRE(gpo_device_open(world.runtime, nullptr, &device) == GPO_SUCCESS);
                REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
                REQUIRE(gpo_event_create(device, nullptr, &event) == GPO_SUCCESS);
                REQUIRE(gpo_stream_wait_timeline(stream, world.timeline, 1) == GPO_SUCCESS);
                REQUIRE(gpo_event_record(event, stream) == GPO_SUCCESS);
                const gpo_executor_t executor = world.executor(flags);
                const auto ask = [&](uint64_t kind) {
                    switch (kind % 4) {
                        case 0: return gpo_stream_then(stream, executor, Told::completed, &told);
                        case 1: return gpo_event_then(event, executor, Told::completed, &told);
                        case 2: return gpo_timeline_then(world.timeline, 1, executor, Told::completed, &told);
                        default: return gpo_stream_host_call(stream, executor, Told::called, &told);
                    }
                };
                gpo::host::Thread caller("caller", [&] {
                    bool late = false;
                    for (uint64_t i = 0; i < 6; ++i) {
                        const gpo_status status = ask(seed + i);
                        CAPTURE(status);
                        CHECK((status == GPO_STALE_HANDLE || (status == GPO_SUCCESS && !late)));
                        late = status == GPO_STALE_HANDLE;
                        called += status == GPO_SUCCESS;
                        refused += late;
                    }
                });
                for (uint64_t i = 0; i < seed % 16; ++i) gpo::host::crossing();
                CHECK(gpo_executor_destroy(executor) == GPO_SUCCESS);
                caller.join();
                gpo_stream_cancel_held(stream, nullptr);
            }
            CHECK(told.came == called);
            CHECK(told.cancelled == called);
            accepted += called;
        });
    }
    CHECK(accepted > 0);
    CHECK(refused > 0);
}

TEST_CASE("a callback that an executor's destruction calls can't ask that executor for another one") {
    for (const uint32_t flags : {uint32_t{GPO_EXECUTOR_CALLER}, uint32_t{0}}) {
        CAPTURE(flags);
        gpo::test::explore(200, [&] {
            struct Again {
                gpo_timeline_t timeline;
                gpo_executor_t executor;
                std::atomic<int> came{0}, stale{0};
                static void ask(void* user, const gpo_completion* completion, const gpo_error*) {
                    auto& again = *static_cast<Again*>(user);
                    CHECK(completion->status == GPO_CANCELLED);
                    ++again.came;
                    again.stale += gpo_timeline_then(again.timeline, 1, again.executor, ask, user) == GPO_STALE_HANDLE;
                }
            } again{};
            {
                World world;
                again.timeline = world.timeline;
                again.executor = world.executor(flags);
                REQUIRE(gpo_timeline_then(world.timeline, 1, again.executor, Again::ask, &again) == GPO_SUCCESS);
                CHECK(gpo_executor_destroy(again.executor) == GPO_SUCCESS);
            }
            CHECK(again.came == 1);
            CHECK(again.stale == 1);
        });
    }
}

TEST_CASE("who destroys an executor of the caller's calls back what it owes, also while another thread looks at it") {
    World world;
    const gpo_executor_t executor = world.executor();
    Told told;
    for (int i = 0; i < 3; ++i)
        REQUIRE(gpo_timeline_then(world.timeline, 1, executor, Told::completed, &told) == GPO_SUCCESS);
    {
        const gpo::Pin<gpo::Executor> looked_at(executor);
        gpo::host::Thread("destroys", [&] {
            t_role = Role::destroyer;
            CHECK(gpo_executor_destroy(executor) == GPO_SUCCESS);
            CHECK(told.came == 3);
        });
    }
    CHECK(told.cancelled == 3);
    CHECK(told.elsewhere == 0);
}

TEST_CASE("what an executor accepts just before it is destroyed is called back on its threads, under every schedule") {
    gpo::test::explore(2000, [] {
        Told told;
        {
            World world;
            const gpo_executor_t executor = world.executor(0);
            for (int i = 0; i < 3; ++i) gpo::host::crossing();
            REQUIRE(gpo_timeline_then(world.timeline, 1, executor, Told::completed, &told) == GPO_SUCCESS);
            CHECK(gpo_executor_destroy(executor) == GPO_SUCCESS);
        }
        CHECK(told.came == 1);
        CHECK(told.cancelled == 1);
    });
}

TEST_CASE("callbacks of an executor of the caller's come where it is run or destroyed, under every schedule") {
    gpo::test::explore(400, [](uint64_t seed) {
        World world;
        const gpo_executor_t executor = world.executor();
        Told told;
        constexpr int kAsked = 5;
        for (int i = 0; i < kAsked; ++i)
            REQUIRE(gpo_timeline_then(world.timeline, 1, executor, Told::completed, &told) == GPO_SUCCESS);
        std::vector<gpo::host::Thread> threads;
        threads.emplace_back("looks", [&] {
            for (int i = 0; i < 20; ++i) {
                try {
                    const gpo::Pin<gpo::Executor> looked_at(executor);
                    for (int steps = 0; steps < 10; ++steps) gpo::host::crossing();
                } catch (const gpo::Failure&) {
                    return;
                }
            }
        });
        threads.emplace_back("runs", [&] {
            t_role = Role::runner;
            if (seed % 2)
                gpo_executor_run(executor, nullptr);
            else
                for (int i = 0; i < 5; ++i) gpo_executor_poll(executor, nullptr);
        });
        threads.emplace_back("destroys", [&] {
            t_role = Role::destroyer;
            CHECK(gpo_executor_destroy(executor) == GPO_SUCCESS);
        });
        threads.clear();
        CHECK(told.cancelled == kAsked);
        CHECK(told.came == kAsked);
        CHECK(told.elsewhere == 0);
    });
}

TEST_CASE("a thread of the library's that waits for a call learns that nobody runs the executor any more") {
    gpo::test::explore(200, [] {
        World world;
        const gpo_executor_t executor = world.executor();
        {
            const gpo::Pin<gpo::Executor> pinned(executor);
            std::atomic<int> called{0};
            bool was = false;
            gpo::host::Thread waits("waits", [&] {
                try {
                    was = gpo::call_on(*pinned, [&] { ++called; });
                } catch (const gpo::Failure&) {
                    // The call came too late.
                }
            });
            for (int i = 0; i < 6; ++i) gpo::host::crossing();
            pinned->stop();
            waits.join();
            CHECK_FALSE(was);
            CHECK(called == 0);
        }
        CHECK(gpo_executor_destroy(executor) == GPO_SUCCESS);
    });
}
