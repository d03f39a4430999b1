// Streams: order on one, none between two unless it is asked for, queries and waits, priorities, pools, wrapping.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

TEST_CASE("what is put on one stream runs in that order") {
    Gpu gpu;
    Writer writer(gpu);
    Stream stream = gpu.stream();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(65);
    for (uint32_t i = 0; i < 64; ++i) REQUIRE_OK(writer.add(stream, &words[i + 1], &words[i], 1));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(words[64]) == 64);
    CHECK_OK(gpo_stream_query(stream));
    CHECK(info_of(stream).accepted == 64);
}

TEST_CASE("two streams run beside each other" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate gate(gpu);
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Stream held_up = gpu.stream(), free = gpu.stream();
    gate.put_on(held_up);
    REQUIRE_OK(writer.write(free, word.data(), 8));
    CHECK_OK(gpo_stream_wait(free, kPatience));
    CHECK(read(word[0]) == 8);
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(held_up));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(held_up, 0));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(held_up, 2'000'000));
    gate.open();
    CHECK_OK(gpo_stream_wait(held_up, -1));
    CHECK_OK(gpo_stream_query(held_up));
}

TEST_CASE("calls that put work on a stream return while the GPU is busy with it" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Stream stream = gpu.stream();
    Memory memory = gpu.memory(1 << 16);
    Pinned<uint32_t> host = gpu.pinned<uint32_t>(1 << 14);
    gate.put_on(stream);
    CHECK_OK(gpo_fill(stream, memory, 77, 4, 1 << 14));
    CHECK_OK(gpo_copy_to_host(stream, host.data(), memory, 1 << 16));
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(stream));
    CHECK(read(host[100]) == 0);
    gate.open();
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(std::all_of(host.begin(), host.end(), [](uint32_t word) { return word == 77; }));
}

TEST_CASE("a stream waits for another, and only for what was on it then" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate first(gpu), second(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream one = gpu.stream(), two = gpu.stream();
    first.put_on(one);
    REQUIRE_OK(writer.write(one, &words[0], 20));
    CHECK_OK(gpo_stream_wait_stream(two, one));
    second.put_on(one);
    REQUIRE_OK(writer.add(two, &words[1], &words[0], 1));
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(two));
    CHECK(read(words[1]) == 0);
    first.open();
    CHECK_OK(gpo_stream_wait(two, kPatience));
    CHECK(read(words[1]) == 21);
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(one));
    second.open();
    CHECK_OK(gpo_stream_wait(one, kPatience));
}

TEST_CASE("a stream that waits for itself goes on") {
    Gpu gpu;
    Stream stream = gpu.stream();
    CHECK_OK(gpo_stream_wait_stream(stream, stream));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("a stream tells what it is") {
    Gpu gpu;
    int32_t least = -1, greatest = 1;
    REQUIRE_OK(gpo_device_get_priority_range(gpu.device, &least, &greatest));
    CHECK(least >= 0);
    CHECK(greatest <= least);
    auto options = sized<gpo_stream_options>();
    options.priority = -1000;
    Stream stream;
    REQUIRE_OK(gpo_stream_create(gpu.device, &options, stream.out()));
    CHECK(info_of(stream).priority == greatest);
    CHECK(info_of(stream).wrapped == 0);
    CHECK(info_of(stream).device == gpu.device);
    CHECK(info_of(stream).flags == 0);
    options.priority = 1000;
    REQUIRE_OK(gpo_stream_create(gpu.device, &options, stream.out()));
    CHECK(info_of(stream).priority == least);
    options.flags = GPO_STREAM_BLOCKING;
    Stream blocking;
    REQUIRE_OK(gpo_stream_create(gpu.device, &options, blocking.out()));
    CHECK(info_of(blocking).flags == GPO_STREAM_BLOCKING);
}

TEST_CASE("operations are numbered from 1 as they are accepted, and are seen done") {
    Gpu gpu;
    Writer writer(gpu);
    Queue queue = gpu.queue();
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Stream stream = gpu.stream();
    CHECK(info_of(stream).accepted == 0);
    REQUIRE_OK(writer.write(stream, word.data(), 1));
    REQUIRE_OK(writer.write(stream, word.data(), 2));
    CHECK(info_of(stream).accepted == 2);
    REQUIRE_OK(gpo_stream_notify(stream, queue, 0));
    CHECK(take(queue, 1)[0].operation == 2);
    CHECK(info_of(stream).completed == 2);
}

TEST_CASE("a wrapped native stream carries the work of both, in order") {
    Gpu gpu;
    Writer writer(gpu);
    Queue queue = gpu.queue();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(3);
    Stream owner = gpu.stream();
    void* native = nullptr;
    REQUIRE_OK(gpo_stream_get_native(owner, &native));
    CHECK(native != nullptr);
    auto options = sized<gpo_stream_options>();
    options.label = "borrowed";
    Stream wrapped;
    REQUIRE_OK(gpo_stream_wrap(gpu.device, native, &options, wrapped.out()));
    CHECK(info_of(wrapped).wrapped == 1);
    REQUIRE_OK(writer.write(owner, &words[0], 10));
    REQUIRE_OK(writer.add(wrapped, &words[1], &words[0], 1));
    REQUIRE_OK(writer.add(owner, &words[2], &words[1], 1));
    REQUIRE_OK(gpo_stream_notify(wrapped, queue, 3));
    CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
    CHECK_OK(gpo_stream_wait(owner, kPatience));
    CHECK(read(words[2]) == 12);
    void* again = nullptr;
    CHECK_OK(gpo_stream_get_native(wrapped, &again));
    CHECK(again == native);
    wrapped.reset();
    CHECK_OK(gpo_stream_query(owner));
}

TEST_CASE("the legacy default stream can be wrapped; the per-thread one, another in each thread, is refused") {
    Gpu gpu;
    Writer writer(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    for (uintptr_t native : {0, 1}) {
        CAPTURE(native);
        Stream stream;
        REQUIRE_OK(gpo_stream_wrap(gpu.device, reinterpret_cast<void*>(native), nullptr, stream.out()));
        REQUIRE_OK(writer.write(stream, &words[native], 5));
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        CHECK(read(words[native]) == 5);
    }
    gpo_stream_t none = nullptr;
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_wrap(gpu.device, reinterpret_cast<void*>(uintptr_t{2}), nullptr, &none));
    CHECK(none == nullptr);
    CHECK(std::string(last_error().message).find("gpo_stream_create") != std::string::npos);
}

TEST_CASE("a blocking stream waits for the legacy stream; a non-blocking one does not" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate gate(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream legacy, blocking = gpu.stream("blocking", GPO_STREAM_BLOCKING), other = gpu.stream();
    REQUIRE_OK(gpo_stream_wrap(gpu.device, nullptr, nullptr, legacy.out()));
    const uint64_t uses = gpu.statistics().legacy_stream_uses;
    gate.put_on(legacy);
    REQUIRE_OK(writer.write(other, &words[0], 1));
    REQUIRE_OK(writer.write(blocking, &words[1], 2));
    CHECK_OK(gpo_stream_wait(other, kPatience));
    CHECK(read(words[0]) == 1);
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(blocking, 5'000'000));
    CHECK(read(words[1]) == 0);
    CHECK(gpu.statistics().legacy_stream_uses > uses);
    gate.open();
    CHECK_OK(gpo_stream_wait(blocking, kPatience));
    CHECK(read(words[1]) == 2);
}

TEST_CASE("a pool hands out the stream with the fewest users, and of those the one with the least work" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    auto options = sized<gpo_stream_pool_options>();
    options.streams = 3;
    StreamPool pool;
    REQUIRE_OK(gpo_stream_pool_create(gpu.device, &options, pool.out()));
    gpo_stream_t streams[4] = {};
    for (int i = 0; i < 3; ++i) REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &streams[i]));
    CHECK(std::set<gpo_stream_t>(streams, streams + 3).size() == 3);
    REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &streams[3]));
    CHECK(std::count(streams, streams + 3, streams[3]) == 1);
    CHECK_OK(gpo_stream_pool_release(pool, streams[3]));
    for (int i = 0; i < 3; ++i) CHECK_OK(gpo_stream_pool_release(pool, streams[i]));

    gpo_stream_t busy = nullptr;
    REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &busy));
    gate.put_on(busy);
    CHECK_OK(gpo_stream_pool_release(pool, busy));
    std::set<gpo_stream_t> idle;
    for (int i = 0; i < 2; ++i) {
        gpo_stream_t stream = nullptr;
        REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &stream));
        CHECK(stream != busy);
        idle.insert(stream);
    }
    CHECK(idle.size() == 2);
    gate.open();
    for (auto stream : idle) CHECK_OK(gpo_stream_pool_release(pool, stream));
}

TEST_CASE("a pool has streams of several priorities, as far as the device has them") {
    Gpu gpu;
    int32_t least = 0, greatest = 0;
    REQUIRE_OK(gpo_device_get_priority_range(gpu.device, &least, &greatest));
    auto options = sized<gpo_stream_pool_options>();
    options.streams = 1;
    options.priorities = 100;
    StreamPool pool;
    REQUIRE_OK(gpo_stream_pool_create(gpu.device, &options, pool.out()));
    gpo_stream_t normal = nullptr, urgent = nullptr;
    REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &normal));
    REQUIRE_OK(gpo_stream_pool_acquire(pool, INT32_MIN, &urgent));
    CHECK(info_of(normal).priority == 0);
    CHECK(info_of(urgent).priority == greatest);
    CHECK_OK(gpo_stream_pool_release(pool, normal));
    CHECK_OK(gpo_stream_pool_release(pool, urgent));
}

TEST_CASE("a stream that is not out of the pool can't be given back to it, nor can a pooled one be destroyed") {
    Gpu gpu;
    StreamPool pool, other;
    REQUIRE_OK(gpo_stream_pool_create(gpu.device, nullptr, pool.out()));
    REQUIRE_OK(gpo_stream_pool_create(gpu.device, nullptr, other.out()));
    Stream mine = gpu.stream();
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_pool_release(pool, mine));
    gpo_stream_t stream = nullptr;
    REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &stream));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_pool_release(other, stream));
    CHECK_OK(gpo_stream_pool_release(pool, stream));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_pool_release(pool, stream));
}

TEST_CASE("the streams of a pool go with it, when their work is done" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    gpo_stream_pool_t pool = nullptr;
    gpo_stream_t stream = nullptr;
    REQUIRE_OK(gpo_stream_pool_create(gpu.device, nullptr, &pool));
    REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &stream));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_stream_destroy(stream));
    gate.put_on(stream);
    REQUIRE_OK(writer.write(stream, word.data(), 6));
    REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
    CHECK_OK(gpo_stream_pool_destroy(pool));
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_stream_query(stream));
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_stream_pool_release(pool, stream));
    gate.open();
    CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
    CHECK(read(word[0]) == 6);
}
