// Held streams: work behind a timeline value whose signal isn't submitted yet stays on the host until the signal comes,
// and can still be failed or cancelled.
#include <cstdlib>
#include <string>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

TEST_CASE("a stream that waits for a timeline value runs nothing until it is signalled") {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(3);
    Stream stream = gpu.stream(), other = gpu.stream();
    REQUIRE_OK(writer.write(stream, &words[0], 1));
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 3));
    REQUIRE_OK(writer.add(stream, &words[1], &words[0], 1));
    CHECK(info_of(stream).held >= 1);
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(stream));
    REQUIRE_OK(writer.write(other, &words[2], 7));
    CHECK_OK(gpo_stream_wait(other, kPatience));
    CHECK(read(words[2]) == 7);
    CHECK_OK(gpo_timeline_signal(timeline, 2));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(stream, 2'000'000));
    CHECK(read(words[1]) == 0);
    CHECK(gpu.statistics().holds >= 1);
    CHECK_OK(gpo_timeline_signal(timeline, 3));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(words[1]) == 2);
    CHECK(info_of(stream).held == 0);
}

TEST_CASE("a value reached before, or on its way on some stream, holds nothing back on the host" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate gate(gpu);
    Timeline timeline = gpu.timeline(5);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream one = gpu.stream(), two = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(two, timeline, 5));
    CHECK(info_of(two).held == 0);
    gate.put_on(one);
    REQUIRE_OK(writer.write(one, &words[0], 30));
    REQUIRE_OK(gpo_stream_signal_timeline(one, timeline, 9));
    REQUIRE_OK(gpo_stream_wait_timeline(two, timeline, 7));
    REQUIRE_OK(writer.add(two, &words[1], &words[0], 1));
    CHECK(info_of(two).held == 0);
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(two));
    uint64_t value = 0;
    CHECK_OK(gpo_timeline_get_value(timeline, &value));
    CHECK(value == 5);
    gate.open();
    CHECK_OK(gpo_stream_wait(two, kPatience));
    CHECK(read(words[1]) == 31);
    CHECK_OK(gpo_timeline_wait(timeline, 9, kPatience));
}

TEST_CASE("a wait may come before its signal is submitted to another stream") {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(4);
    Stream one = gpu.stream(), two = gpu.stream(), three = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(three, timeline, 2));
    REQUIRE_OK(writer.add(three, &words[2], &words[1], 1));
    REQUIRE_OK(gpo_stream_wait_timeline(two, timeline, 1));
    REQUIRE_OK(writer.add(two, &words[1], &words[0], 1));
    REQUIRE_OK(gpo_stream_signal_timeline(two, timeline, 2));
    CHECK(info_of(three).held >= 1);
    REQUIRE_OK(writer.write(one, &words[0], 50));
    REQUIRE_OK(gpo_stream_signal_timeline(one, timeline, 1));
    CHECK_OK(gpo_stream_wait(three, kPatience));
    CHECK(read(words[2]) == 52);
}

TEST_CASE("everything is held in order: events, notifies and waits behind a held wait come when it is released") {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline();
    Queue queue = gpu.queue();
    Event event = gpu.event();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(3);
    Stream stream = gpu.stream(), follower = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(writer.write(stream, &words[0], 1));
    REQUIRE_OK(gpo_stream_notify(stream, queue, 100));
    REQUIRE_OK(gpo_event_record(event, stream));
    REQUIRE_OK(gpo_event_notify(event, queue, 101));
    REQUIRE_OK(gpo_stream_wait_event(follower, event));
    REQUIRE_OK(writer.add(follower, &words[1], &words[0], 1));
    CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
    CHECK_STATUS(GPO_TIMEOUT, gpo_event_wait(event, 1'000'000));
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 1'000'000));
    CHECK(read(words[1]) == 0);
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait(follower, kPatience));
    CHECK(read(words[1]) == 2);
    CHECK_OK(gpo_event_query(event));
    const auto entries = take(queue, 2);
    CHECK(entries[0].user_data + entries[1].user_data == 201);
}

TEST_CASE("cancelled held work completes with that status, never runs, and the stream is usable again") {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline();
    Queue queue = gpu.queue();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream stream = gpu.stream("upload");
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(writer.write(stream, &words[0], 1));
    REQUIRE_OK(gpo_stream_notify(stream, queue, 3));
    uint64_t count = 0;
    CHECK_OK(gpo_stream_cancel_held(stream, &count));
    CHECK(count >= 1);
    const auto entry = take(queue, 1)[0];
    CHECK(entry.status == GPO_CANCELLED);
    CHECK(entry.user_data == 3);
    auto error = sized<gpo_error>();
    CHECK_OK(gpo_cq_get_error(queue, entry.error_id, &error));
    CHECK(error.status == GPO_CANCELLED);
    CHECK(info_of(stream).held == 0);
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    REQUIRE_OK(writer.write(stream, &words[1], 2));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(words[0]) == 0);
    CHECK(read(words[1]) == 2);
    CHECK_OK(gpo_stream_cancel_held(stream, nullptr));
    CHECK_OK(gpo_stream_cancel_held(stream, &count));
    CHECK(count == 0);
}

TEST_CASE("held work fails with its timeline and never runs; the failure sticks to the stream") {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline(0, "frames");
    Queue queue = gpu.queue();
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Stream stream = gpu.stream(), other = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(writer.write(stream, word.data(), 1));
    for (uint64_t i = 0; i < 4; ++i) REQUIRE_OK(gpo_stream_notify(stream, queue, i));
    CHECK_OK(gpo_timeline_fail(timeline, GPO_CALLBACK_FAILED, "frame 1 is unreadable"));
    for (const auto& entry : take(queue, 4)) {
        CHECK(entry.status == GPO_CALLBACK_FAILED);
        auto error = sized<gpo_error>();
        CHECK_OK(gpo_cq_get_error(queue, entry.error_id, &error));
        CHECK(std::string(error.message).find("frame 1 is unreadable") != std::string::npos);
    }
    CHECK_STATUS(GPO_CALLBACK_FAILED, gpo_stream_query(stream));
    CHECK_STATUS(GPO_CALLBACK_FAILED, gpo_stream_wait(stream, kPatience));
    CHECK_STATUS(GPO_CALLBACK_FAILED, writer.write(stream, word.data(), 2));
    CHECK(object_error(stream).status == GPO_CALLBACK_FAILED);
    CHECK(read(word[0]) == 0);
    // On a stream that has failed the entry comes with that failure.
    REQUIRE_OK(gpo_stream_notify(stream, queue, 9));
    CHECK(take(queue, 1)[0].status == GPO_CALLBACK_FAILED);
    // Other streams go on.
    CHECK_OK(writer.write(other, word.data(), 3));
    CHECK_OK(gpo_stream_wait(other, kPatience));
    CHECK(read(word[0]) == 3);
}

TEST_CASE("each held operation that fails is counted once") {
    Gpu gpu;
    Timeline timeline = gpu.timeline();
    Queue queue = gpu.queue();
    Memory memory = gpu.memory(64);
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_fill(stream, memory, 1, 4, 4));
    REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
    const uint64_t before = gpu.statistics().failures;
    CHECK_OK(gpo_timeline_fail(timeline, GPO_FAILED, nullptr));
    CHECK(take(queue, 1)[0].status == GPO_FAILED);
    CHECK(gpu.statistics().failures - before == 3);
}

TEST_CASE("a stream whose held work has failed is waited for as long as what it gave to the GPU before runs" * gated) {
    Gpu gpu;
    Timeline timeline = gpu.timeline();
    Queue queue = gpu.queue();
    Stream stream = gpu.stream();
    {
        Gate gate(gpu);
        gate.put_on(stream);
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
        CHECK_OK(gpo_timeline_fail(timeline, GPO_FAILED, "no more frames"));
        REQUIRE_OK(gpo_stream_notify(stream, queue, 2));
        CHECK_STATUS(GPO_FAILED, gpo_stream_query(stream));
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(stream, 0));
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(stream, 5'000'000));
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 0));
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 5'000'000));
        CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 5'000'000));
    }
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    CHECK_STATUS(GPO_FAILED, gpo_stream_wait(stream, 0));
    CHECK_STATUS(GPO_FAILED, gpo_stream_wait(stream, kPatience));
    for (const auto& entry : take(queue, 2)) CHECK(entry.status == GPO_FAILED);
}

TEST_CASE("who comes when a timeline has failed fails too, though a signal is on the way" * gated) {
    Gpu gpu;
    Timeline timeline = gpu.timeline(), begin = gpu.timeline();
    Stream signalling = gpu.stream(), waiting = gpu.stream(), held = gpu.stream(), late = gpu.stream();
    {
        Gate gate(gpu);
        gate.put_on(signalling);
        REQUIRE_OK(gpo_stream_signal_timeline(signalling, timeline, 5));
        REQUIRE_OK(gpo_stream_wait_timeline(waiting, timeline, 5));
        REQUIRE_OK(gpo_stream_wait_timeline(held, begin, 1));
        REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 5));
        CHECK_OK(gpo_timeline_fail(timeline, GPO_CALLBACK_FAILED, "the decoder stopped"));
        CHECK_STATUS(GPO_CALLBACK_FAILED, gpo_timeline_wait(timeline, 5, kPatience));
        CHECK_STATUS(GPO_CALLBACK_FAILED, gpo_stream_wait_timeline(late, timeline, 5));
        CHECK_OK(gpo_timeline_signal(begin, 1));
        CHECK_STATUS(GPO_CALLBACK_FAILED, gpo_stream_wait(held, kPatience));
    }
    CHECK_OK(gpo_stream_wait(signalling, kPatience));
    CHECK_OK(gpo_stream_wait(waiting, kPatience));   // the wait was on the GPU before the failure
    CHECK_OK(gpo_stream_wait(late, kPatience));
}

TEST_CASE("a timeline fails with the held work that was to signal it") {
    Gpu gpu;
    Timeline first = gpu.timeline(), second = gpu.timeline();
    Stream one = gpu.stream(), two = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(one, first, 1));
    REQUIRE_OK(gpo_stream_signal_timeline(one, second, 1));
    REQUIRE_OK(gpo_stream_wait_timeline(two, second, 1));
    CHECK_OK(gpo_timeline_fail(first, GPO_FAILED, nullptr));
    CHECK_STATUS(GPO_FAILED, gpo_timeline_wait(second, 1, kPatience));
    CHECK_STATUS(GPO_FAILED, gpo_stream_wait(two, kPatience));
}

TEST_CASE("waits for a timeline whose owner is destroyed end with GPO_CANCELLED") {
    Gpu gpu;
    Queue queue = gpu.queue();
    Timeline timeline = gpu.timeline();
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_stream_notify(stream, queue, 5));
    CHECK_OK(gpo_timeline_destroy(timeline.release()));
    CHECK(take(queue, 1)[0].status == GPO_CANCELLED);
    CHECK_STATUS(GPO_CANCELLED, gpo_stream_wait(stream, kPatience));
}

TEST_CASE("a timeline destroyed while a stream is on the way to signal it still releases its waiters" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Timeline timeline = gpu.timeline();
    Stream one = gpu.stream(), two = gpu.stream();
    gate.put_on(one);
    REQUIRE_OK(gpo_stream_signal_timeline(one, timeline, 1));
    REQUIRE_OK(gpo_stream_wait_timeline(two, timeline, 1));
    REQUIRE_OK(gpo_stream_notify(two, queue, 5));
    CHECK_OK(gpo_timeline_destroy(timeline.release()));
    gate.open();
    CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
}

TEST_CASE("a wait that no signal on the way to a destroyed timeline reaches is cancelled, at its turn too" * gated) {
    for (bool late : {false, true}) {
        CAPTURE(late);
        Gpu gpu;
        Gate gate(gpu);
        Queue queue = gpu.queue();
        Timeline timeline = gpu.timeline(), begin = gpu.timeline();
        Stream signalling = gpu.stream(), waiting = gpu.stream();
        REQUIRE_OK(gpo_stream_wait_timeline(waiting, begin, 1));
        REQUIRE_OK(gpo_stream_wait_timeline(waiting, timeline, 9));
        REQUIRE_OK(gpo_stream_notify(waiting, queue, 5));
        gate.put_on(signalling);
        REQUIRE_OK(gpo_stream_signal_timeline(signalling, timeline, 5));
        CHECK_OK(gpo_timeline_destroy(timeline.release()));
        if (late) {
            gate.open();
            CHECK_OK(gpo_stream_wait(signalling, kPatience));
        }
        CHECK_OK(gpo_timeline_signal(begin, 1));
        CHECK_STATUS(GPO_CANCELLED, gpo_stream_wait(waiting, kPatience));
        CHECK(take(queue, 1)[0].status == GPO_CANCELLED);
        gate.open();
    }
}

TEST_CASE("no more is held than the stream was allowed to, and what is refused has no effect") {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream stream = gpu.stream("bounded", 0, 8);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    uint32_t accepted = 0;
    gpo_status status = GPO_SUCCESS;
    while (accepted < 100 && (status = writer.add(stream, &words[0], &words[0], 1)) == GPO_SUCCESS) ++accepted;
    CHECK_STATUS(GPO_WOULD_BLOCK, status);
    CHECK(accepted <= 8);
    CHECK(accepted >= 6);
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(words[0]) == accepted);
    CHECK_OK(writer.write(stream, &words[1], 1));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(words[1]) == 1);
}

TEST_CASE("waits that time out and frees take nothing of what may be held, and aren't counted with it") {
    Gpu gpu;
    Timeline timeline = gpu.timeline();
    Memory memory = gpu.memory(64);
    Stream stream = gpu.stream("bounded", 0, 8);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    const uint64_t held = gpu.statistics().holds;
    for (int i = 0; i < 10; ++i) {
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(stream, 100'000));
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 100'000));
        static_cast<void>(gpu.memory(64));
    }
    CHECK(info_of(stream).held == 1);
    CHECK(gpu.statistics().holds == held);
    for (int i = 0; i < 7; ++i) CHECK_OK(gpo_fill(stream, memory, 0, 4, 1));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_fill(stream, memory, 0, 4, 1));
    CHECK(info_of(stream).held == 8);
    CHECK(gpu.statistics().holds == held + 7);
    SUBCASE("let go") { CHECK_OK(gpo_timeline_signal(timeline, 1)); }
    SUBCASE("cancelled") {
        uint64_t count = 0;
        CHECK_OK(gpo_stream_cancel_held(stream, &count));
        CHECK(count == 8);
    }
    CHECK(info_of(stream).held == 0);
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE(
    "a stream holds 65536 operations unless told otherwise, a million if told, and all of them run in their order") {
    Gpu gpu;
    Writer writer(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Memory memory = gpu.memory(64);
    const bool full = std::getenv("GPUORCH_TEST_FULL") != nullptr;
    for (const uint32_t bound : {0u, 1'000'000u}) {
        if (bound != 0 && !full) continue;
        const uint32_t most = bound == 0 ? 65536 : bound;
        CAPTURE(most);
        Timeline timeline = gpu.timeline();
        Queue queue = gpu.queue();
        Stream stream = gpu.stream("holds", 0, bound);
        words[0] = words[1] = 0;
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
        // Only the first and the last operation matter to the check; the fills between make up the number.
        REQUIRE_OK(writer.write(stream, &words[0], 1));
        for (uint32_t i = 0; i < most - 4; ++i) REQUIRE_OK(gpo_fill(stream, memory, i, 4, 1));
        REQUIRE_OK(writer.add(stream, &words[1], &words[0], 1));
        CHECK(info_of(stream).held == most);
        for (int again = 0; again < 3; ++again) {
            CHECK_STATUS(GPO_WOULD_BLOCK, gpo_fill(stream, memory, 0, 4, 1));
            CHECK_STATUS(GPO_WOULD_BLOCK, gpo_stream_notify(stream, queue, 2));
        }
        CHECK(info_of(stream).held == most);
        CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(stream));
        CHECK(read(words[0]) == 0);
        REQUIRE_OK(gpo_timeline_signal(timeline, 1));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        CHECK(read(words[1]) == 2);
        CHECK(info_of(stream).held == 0);
        uint32_t last = 0;
        REQUIRE_OK(gpo_copy_to_host(stream, &last, memory, sizeof last));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        CHECK(last == most - 5);
        CHECK_OK(take(queue, 1)[0].status);
        auto statistics = sized<gpo_cq_statistics>();
        REQUIRE_OK(gpo_cq_get_statistics(queue, &statistics));
        CHECK(statistics.accepted == 1);   // refused calls aren't marked
    }
}

TEST_CASE("a stream destroyed while it is held is still released") {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline();
    Queue queue = gpu.queue();
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(writer.write(stream, word.data(), 4));
    REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
    CHECK_OK(gpo_stream_destroy(stream.release()));
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
    CHECK(read(word[0]) == 4);
}

TEST_CASE("a signal that was held isn't told behind what came after it, which is still waited for" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Timeline begin = gpu.timeline(), reached = gpu.timeline();
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, begin, 1));
    REQUIRE_OK(gpo_stream_signal_timeline(stream, reached, 1));
    gate.put_on(stream);
    REQUIRE_OK(gpo_timeline_signal(begin, 1));
    REQUIRE_OK(gpo_timeline_wait(reached, 1, kPatience));
    CHECK(info_of(stream).accepted == 3);
    CHECK(info_of(stream).completed < 3);
    CHECK_OK(gpo_stream_destroy(stream.release()));
    CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 5'000'000));
    gate.open();
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
}

TEST_CASE("a wrapped stream is never held") {
    Gpu gpu;
    Timeline timeline = gpu.timeline();
    Stream stream = gpu.stream(), wrapped;
    void* native = nullptr;
    REQUIRE_OK(gpo_stream_get_native(stream, &native));
    REQUIRE_OK(gpo_stream_wrap(gpu.device, native, nullptr, wrapped.out()));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_wait_timeline(wrapped, timeline, 1));
    CHECK_OK(gpo_stream_wait(wrapped, kPatience));
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait_timeline(wrapped, timeline, 1));
    CHECK_OK(gpo_stream_wait(wrapped, kPatience));
}

TEST_CASE("many streams held by one timeline all go on with one signal") {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(32);
    std::vector<Stream> streams;
    for (uint32_t i = 0; i < 32; ++i) {
        streams.push_back(gpu.stream());
        REQUIRE_OK(gpo_stream_wait_timeline(streams[i], timeline, 1 + i % 3));
        REQUIRE_OK(writer.write(streams[i], &words[i], i + 1));
    }
    CHECK_OK(gpo_timeline_signal(timeline, 3));
    for (uint32_t i = 0; i < 32; ++i) {
        CHECK_OK(gpo_stream_wait(streams[i], kPatience));
        CHECK(read(words[i]) == i + 1);
    }
}
