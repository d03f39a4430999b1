// Events: recorded, asked, waited for, timed.
#include <pthread.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

TEST_CASE("an event is ready when the stream has got there, and not before" * gated) {
    Gpu gpu;
    for (uint32_t flags : {0, GPO_EVENT_TIMING, GPO_EVENT_BLOCKING_SYNC, GPO_EVENT_TIMING | GPO_EVENT_BLOCKING_SYNC}) {
        CAPTURE(flags);
        Gate gate(gpu);
        Event event = gpu.event(flags);
        Stream stream = gpu.stream();
        CHECK_OK(gpo_event_query(event));  // never recorded
        CHECK_OK(gpo_event_wait(event, 0));
        gate.put_on(stream);
        REQUIRE_OK(gpo_event_record(event, stream));
        CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
        CHECK_STATUS(GPO_TIMEOUT, gpo_event_wait(event, 0));
        CHECK_STATUS(GPO_TIMEOUT, gpo_event_wait(event, 2'000'000));
        std::thread opener([&] { gate.open(); });
        CHECK_OK(gpo_event_wait(event, kPatience));
        opener.join();
        CHECK_OK(gpo_event_query(event));
    }
}

TEST_CASE("what waited for an earlier recording still waits for that one" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate first(gpu), second(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream one = gpu.stream(), two = gpu.stream();
    Event event = gpu.event();
    first.put_on(one);
    REQUIRE_OK(writer.write(one, &words[0], 1));
    REQUIRE_OK(gpo_event_record(event, one));
    REQUIRE_OK(gpo_stream_wait_event(two, event));
    REQUIRE_OK(writer.add(two, &words[1], &words[0], 1));
    second.put_on(one);
    REQUIRE_OK(gpo_event_record(event, one));
    first.open();
    CHECK_OK(gpo_stream_wait(two, kPatience));
    CHECK(read(words[1]) == 2);
    CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
    second.open();
    CHECK_OK(gpo_event_wait(event, -1));
}

TEST_CASE("a stream that waits for an event never recorded goes on") {
    Gpu gpu;
    Event event = gpu.event();
    Stream stream = gpu.stream();
    CHECK_OK(gpo_stream_wait_event(stream, event));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("GPU time lies between two recordings, forwards and backwards" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Event start = gpu.event(GPO_EVENT_TIMING), end = gpu.event(GPO_EVENT_TIMING);
    Stream stream = gpu.stream();
    int64_t time = -1;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_event_get_elapsed(start, end, &time));
    REQUIRE_OK(gpo_event_record(start, stream));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_event_get_elapsed(start, end, &time));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    gate.put_on(stream);
    REQUIRE_OK(gpo_event_record(end, stream));
    CHECK_STATUS(GPO_NOT_READY, gpo_event_get_elapsed(start, end, &time));
    CHECK(time == -1);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // the measured interval mustn't be 0
    gate.open();
    CHECK_OK(gpo_event_wait(end, kPatience));
    CHECK_OK(gpo_event_get_elapsed(start, end, &time));
    CHECK(time >= 2'900'000);
    int64_t back = 0;
    CHECK_OK(gpo_event_get_elapsed(end, start, &back));
    CHECK(back == -time);
}

TEST_CASE("times are refused between events that take none") {
    Gpu gpu;
    Event plain = gpu.event(), timing = gpu.event(GPO_EVENT_TIMING);
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_event_record(plain, stream));
    REQUIRE_OK(gpo_event_record(timing, stream));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    int64_t time = 0;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_event_get_elapsed(plain, timing, &time));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_event_get_elapsed(timing, plain, &time));
}

TEST_CASE("an event notifies a queue when its last recording is reached" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Event event = gpu.event();
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_event_notify(event, queue, 1));  // never recorded: reached
    CHECK(take(queue, 1)[0].user_data == 1);
    gate.put_on(stream);
    REQUIRE_OK(gpo_event_record(event, stream));
    REQUIRE_OK(gpo_event_notify(event, queue, 2));
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 2'000'000));
    gate.open();
    const auto entry = take(queue, 1)[0];
    CHECK(entry.user_data == 2);
    CHECK(entry.status == GPO_SUCCESS);
    CHECK(entry.origin == GPO_ORIGIN_EVENT);
}

TEST_CASE("an event shares the failure of the work before it") {
    Gpu gpu;
    Timeline timeline = gpu.timeline();
    Queue queue = gpu.queue();
    Event event = gpu.event();
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_event_record(event, stream));
    REQUIRE_OK(gpo_event_notify(event, queue, 1));
    CHECK_OK(gpo_timeline_fail(timeline, GPO_FAILED, "no more"));
    CHECK(take(queue, 1)[0].status == GPO_FAILED);
    CHECK_STATUS(GPO_FAILED, gpo_event_wait(event, kPatience));
    CHECK_STATUS(GPO_FAILED, gpo_event_query(event));
}

TEST_CASE("the native event is there for other libraries") {
    Gpu gpu;
    Event event = gpu.event(), other = gpu.event();
    void *one = nullptr, *two = nullptr;
    CHECK_OK(gpo_event_get_native(event, &one));
    CHECK_OK(gpo_event_get_native(other, &two));
    CHECK(one != nullptr);
    CHECK(one != two);
}

TEST_CASE("a held stream waits for the recording that was there when it was told to" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate gate(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Timeline timeline = gpu.timeline();
    Stream busy = gpu.stream(), held = gpu.stream(), idle = gpu.stream();
    Event event = gpu.event();
    gate.put_on(busy);
    REQUIRE_OK(writer.write(busy, &words[0], 1));
    REQUIRE_OK(gpo_event_record(event, busy));
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    REQUIRE_OK(gpo_stream_wait_event(held, event));
    REQUIRE_OK(writer.add(held, &words[1], &words[0], 1));
    REQUIRE_OK(gpo_event_record(event, idle));
    CHECK_OK(gpo_event_wait(event, kPatience));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(held, 5'000'000));
    gate.open();
    CHECK_OK(gpo_stream_wait(held, kPatience));
    CHECK(read(words[1]) == 2);
}

TEST_CASE("a held stream that waits for an event never recorded goes on, though it records the event behind that") {
    Gpu gpu;
    Timeline timeline = gpu.timeline();
    Stream stream = gpu.stream();
    Event event = gpu.event();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_stream_wait_event(stream, event));
    REQUIRE_OK(gpo_event_record(event, stream));
    CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(gpo_event_wait(event, kPatience));
}

TEST_CASE("two streams that hand buffers to each other by two events go on when the held one is let go") {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream copying = gpu.stream("copying"), computing = gpu.stream("computing");
    Event full = gpu.event(), free = gpu.event();
    constexpr uint32_t kRounds = 20;
    words[1] = 0;
    REQUIRE_OK(gpo_stream_wait_timeline(copying, timeline, 1));
    for (uint32_t round = 1; round <= kRounds; ++round) {
        REQUIRE_OK(gpo_stream_wait_event(copying, free));
        REQUIRE_OK(writer.write(copying, &words[0], round));
        REQUIRE_OK(gpo_event_record(full, copying));
        REQUIRE_OK(gpo_stream_wait_event(computing, full));
        REQUIRE_OK(writer.add(computing, &words[1], &words[0], 100));
        REQUIRE_OK(gpo_event_record(free, computing));
    }
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait(copying, kPatience));
    CHECK_OK(gpo_stream_wait(computing, kPatience));
    CHECK(read(words[1]) == kRounds + 100);
    CHECK_OK(gpo_event_query(full));
    CHECK_OK(gpo_event_query(free));
}

TEST_CASE(
    "a recording that was held isn't the newest when it comes, and is waited for by whoever came before the newer one" *
    gated) {
    Gpu gpu;
    Timeline timeline = gpu.timeline();
    Stream held = gpu.stream(), waiting = gpu.stream(), busy = gpu.stream();
    Event event = gpu.event();
    Gate gate(gpu);
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    REQUIRE_OK(gpo_event_record(event, held));
    REQUIRE_OK(gpo_stream_wait_event(waiting, event));
    gate.put_on(busy);
    REQUIRE_OK(gpo_event_record(event, busy));
    CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(waiting, 2'000'000));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait(held, kPatience));
    CHECK_OK(gpo_stream_wait(waiting, kPatience));
    CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
    gate.open();
    CHECK_OK(gpo_event_wait(event, kPatience));
}

TEST_CASE("an event whose held recording was cancelled is as good as new when it is recorded again") {
    Gpu gpu;
    Timeline timeline = gpu.timeline();
    Queue queue = gpu.queue();
    Stream stream = gpu.stream(), other = gpu.stream();
    Event event = gpu.event();
    for (int turn = 0; turn < 2; ++turn) {
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        REQUIRE_OK(gpo_event_record(event, stream));
        CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
        CHECK_OK(gpo_stream_cancel_held(stream, nullptr));
        CHECK_STATUS(GPO_CANCELLED, gpo_event_query(event));
        CHECK_STATUS(GPO_CANCELLED, gpo_stream_wait_event(other, event));
        REQUIRE_OK(gpo_event_record(event, stream));
        CHECK_OK(gpo_event_wait(event, kPatience));
        CHECK_OK(gpo_stream_wait_event(other, event));
        CHECK_OK(gpo_stream_wait(other, kPatience));
        REQUIRE_OK(gpo_event_notify(event, queue, 1));
        CHECK_OK(take(queue, 1)[0].status);
    }
}

TEST_CASE("two held streams let each other go thousands of times, on a thread with a small stack") {
    Gpu gpu;
    Timeline gate = gpu.timeline();
    Stream one = gpu.stream(), other = gpu.stream();
    constexpr int kTurns = 8000;
    std::vector<Event> events;
    for (int i = 0; i < 64; ++i) events.push_back(gpu.event());
    REQUIRE_OK(gpo_stream_wait_timeline(one, gate, 1));
    for (int turn = 0; turn < kTurns; ++turn) {
        Event& there = events[2 * turn % events.size()];
        Event& back = events[(2 * turn + 1) % events.size()];
        REQUIRE_OK(gpo_event_record(there, one));
        REQUIRE_OK(gpo_stream_wait_event(other, there));
        REQUIRE_OK(gpo_event_record(back, other));
        REQUIRE_OK(gpo_stream_wait_event(one, back));
    }
    gpo_status status = GPO_INTERNAL;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    struct Signal {
        gpo_timeline_t timeline;
        gpo_status* status;
    } signal{gate, &status};
    pthread_t thread{};
    REQUIRE(pthread_create(&thread, &attributes, [](void* user) -> void* {
        auto& me = *static_cast<Signal*>(user);
        *me.status = gpo_timeline_signal(me.timeline, 1);
        return nullptr;
    }, &signal) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    CHECK_OK(status);
    CHECK_OK(gpo_stream_wait(one, kPatience));
    CHECK_OK(gpo_stream_wait(other, kPatience));
}
