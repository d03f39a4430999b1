// Timelines on the host: a number that only rises, waited for and failed. held_test.cpp has streams that use timelines.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "support/gpu.h"

using namespace gpo::test;

TEST_CASE("a timeline begins where it was told to and only rises") {
    Gpu gpu;
    Timeline timeline = gpu.timeline(10);
    uint64_t value = 0;
    CHECK_OK(gpo_timeline_get_value(timeline, &value));
    CHECK(value == 10);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_timeline_signal(timeline, 10));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_timeline_signal(timeline, 0));
    CHECK_OK(gpo_timeline_signal(timeline, 12));
    CHECK_OK(gpo_timeline_get_value(timeline, &value));
    CHECK(value == 12);
    CHECK_OK(gpo_timeline_signal(timeline, UINT64_MAX));
    CHECK_OK(gpo_timeline_get_value(timeline, &value));
    CHECK(value == UINT64_MAX);
}

TEST_CASE("the host waits for a value: reached, on time, too late") {
    Gpu gpu;
    Timeline timeline = gpu.timeline(1);
    CHECK_OK(gpo_timeline_wait(timeline, 0, 0));
    CHECK_OK(gpo_timeline_wait(timeline, 1, -1));
    CHECK_STATUS(GPO_TIMEOUT, gpo_timeline_wait(timeline, 2, 0));
    CHECK_STATUS(GPO_TIMEOUT, gpo_timeline_wait(timeline, 2, 1'000'000));
    std::thread signaller([&] { CHECK(gpo_timeline_signal(timeline, 2) == GPO_SUCCESS); });
    CHECK_OK(gpo_timeline_wait(timeline, 2, kPatience));
    signaller.join();
}

TEST_CASE("a value that a stream signals is reached when the stream gets there" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Timeline timeline = gpu.timeline();
    Stream stream = gpu.stream();
    gate.put_on(stream);
    REQUIRE_OK(gpo_stream_signal_timeline(stream, timeline, 4));
    CHECK_STATUS(GPO_TIMEOUT, gpo_timeline_wait(timeline, 1, 2'000'000));
    // The signal is on the way: neither the host nor another stream may signal a value that isn't greater.
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_timeline_signal(timeline, 4));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_signal_timeline(stream, timeline, 3));
    gate.open();
    CHECK_OK(gpo_timeline_wait(timeline, 4, kPatience));
    uint64_t value = 0;
    CHECK_OK(gpo_timeline_get_value(timeline, &value));
    CHECK(value == 4);
}

TEST_CASE("a failed timeline stays failed, with the first failure; values reached before stay reached") {
    Gpu gpu;
    Timeline timeline = gpu.timeline(3, "frames");
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_timeline_fail(timeline, GPO_SUCCESS, "no failure"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_timeline_fail(timeline, GPO_TIMEOUT, nullptr));
    CHECK_OK(gpo_timeline_fail(timeline, GPO_CANCELLED, "the first"));
    gpo_timeline_fail(timeline, GPO_FAILED, "the second");
    CHECK_STATUS(GPO_CANCELLED, gpo_timeline_wait(timeline, 4, kPatience));
    CHECK_OK(gpo_timeline_wait(timeline, 3, 0));
    uint64_t value = 0;
    CHECK_STATUS(GPO_CANCELLED, gpo_timeline_get_value(timeline, &value));
    CHECK_STATUS(GPO_FAILED, gpo_timeline_signal(timeline, 5));
    const gpo_error error = object_error(timeline);
    CHECK(error.status == GPO_CANCELLED);
    CHECK(std::string(error.message).find("the first") != std::string::npos);
}

TEST_CASE("a host that waits for a timeline is let go when it fails or is destroyed") {
    Gpu gpu;
    for (bool destroy : {false, true}) {
        CAPTURE(destroy);
        Timeline timeline = gpu.timeline();
        gpo_timeline_t handle = timeline;
        std::atomic<bool> inside{false};
        gpo_status status = GPO_INTERNAL;
        std::thread waiter([&] {
            inside = true;
            status = gpo_timeline_wait(handle, 1, kPatience);
        });
        while (!inside) std::this_thread::yield();
        if (destroy) {
            CHECK_OK(gpo_timeline_destroy(timeline.release()));
        } else {
            CHECK_OK(gpo_timeline_fail(timeline, GPO_CALLBACK_FAILED, nullptr));
        }
        waiter.join();
        // A wait that begins after the destruction finds a stale handle.
        if (destroy) CHECK((status == GPO_CANCELLED || status == GPO_STALE_HANDLE));
        if (!destroy) CHECK(status == GPO_CALLBACK_FAILED);
    }
}

TEST_CASE("a host that waits for a destroyed timeline's signal that is on the way goes on; shutdown ends its wait" *
          gated) {
    for (const auto& end : {std::pair{true, false}, {false, true}, {true, true}}) {
        const bool destroy = end.first, shutdown = end.second;
        CAPTURE(destroy);
        CAPTURE(shutdown);
        Gpu gpu;
        auto gate = std::make_unique<Gate>(gpu);
        Timeline timeline = gpu.timeline();
        gpo_timeline_t handle = timeline;
        Stream stream = gpu.stream();
        gate->put_on(stream);
        REQUIRE_OK(gpo_stream_signal_timeline(stream, timeline, 5));
        std::atomic<int> inside{0};
        std::atomic<gpo_status> near{GPO_INTERNAL}, far{GPO_INTERNAL};
        std::thread waits_near([&] {
            ++inside;
            near = gpo_timeline_wait(handle, 5, kPatience);
        });
        std::thread waits_far([&] {
            ++inside;
            far = gpo_timeline_wait(handle, 6, kPatience);
        });
        while (inside != 2) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (destroy) CHECK_OK(gpo_timeline_destroy(timeline.release()));
        if (shutdown) {
            std::this_thread::sleep_for(std::chrono::milliseconds(80));  // the waiters are asleep by now
            CHECK_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(gpu.runtime, 1'000'000));
            const uint64_t before = monotonic_ns();
            waits_near.join();   // the gate is closed
            CHECK(monotonic_ns() - before < kPatience / 2);
        }
        waits_far.join();        // its value is never reached
        gate->open();
        if (shutdown) {
            gate.reset();        // its memory goes with the runtime
            CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
        } else {
            waits_near.join();
        }
        // A wait that begins after the destruction finds a stale handle.
        CHECK((near == (shutdown ? GPO_CANCELLED : GPO_SUCCESS) || (destroy && near == GPO_STALE_HANDLE)));
        CHECK((far == GPO_CANCELLED || (destroy && far == GPO_STALE_HANDLE)));
    }
}

TEST_CASE("two threads shake hands over timelines, one value at a time") {
    Gpu gpu;
    Timeline ping = gpu.timeline(), pong = gpu.timeline();
    constexpr uint64_t rounds = 200;
    std::atomic<int> wrong{0};
    std::thread other([&] {
        for (uint64_t i = 1; i <= rounds; ++i) {
            if (gpo_timeline_wait(ping, i, kPatience) != GPO_SUCCESS) ++wrong;
            if (gpo_timeline_signal(pong, i) != GPO_SUCCESS) ++wrong;
        }
    });
    for (uint64_t i = 1; i <= rounds; ++i) {
        if (gpo_timeline_signal(ping, i) != GPO_SUCCESS) ++wrong;
        if (gpo_timeline_wait(pong, i, kPatience) != GPO_SUCCESS) ++wrong;
    }
    other.join();
    CHECK(wrong == 0);
}

TEST_CASE("a host and a stream shake hands over timelines") {
    Gpu gpu;
    Writer writer(gpu);
    Timeline ready = gpu.timeline(), done = gpu.timeline();
    Stream stream = gpu.stream();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    for (uint32_t i = 1; i <= 50; ++i) {
        REQUIRE_OK(gpo_stream_wait_timeline(stream, ready, i));
        REQUIRE_OK(writer.add(stream, &words[1], &words[0], 1));
        REQUIRE_OK(gpo_stream_signal_timeline(stream, done, i));
    }
    for (uint32_t i = 1; i <= 50; ++i) {
        __atomic_store_n(&words[0], i * 10, __ATOMIC_SEQ_CST);
        CHECK_OK(gpo_timeline_signal(ready, i));
        CHECK_OK(gpo_timeline_wait(done, i, kPatience));
        CHECK(read(words[1]) == i * 10 + 1);
    }
}
