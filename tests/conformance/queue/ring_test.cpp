// Rings as the host sees them: the structs for kernels, the end of a ring, resets, figures, and bad input.
#include "conformance/queue/host_rig.h"

using namespace gpo::test;

namespace {

/// Offsets of the words of one priority, in bytes. kPriority is the size of all words of one priority.
constexpr uint64_t kTail = 0, kHead = 128, kRoom = 256, kDone = 512, kRefused = 640, kState = 768, kPriority = 1024;

}  // namespace

TEST_CASE("a ring tells kernels its shape, and begins empty and open") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue ring = make_queue(gpu, ring_options(100, 48, 3));
    const auto row = row_of<RingRow>(ring);
    CHECK(row.magic == 0x49525247);
    CHECK(row.version == 0x10000);
    CHECK(row.capacity_log2 == 7);
    CHECK(row.task_size == 48);
    CHECK(row.priorities == 3);
    CHECK(row.flags == 0);
    CHECK(row.words % 128 == 0);
    CHECK(row.tasks % 16 == 0);
    const auto words = device_words<uint64_t>(gpu, stream, row.words, 3 * kPriority / 8);
    for (size_t i = 0; i < words.size(); ++i) {
        CAPTURE(i);
        CHECK(words[i] == (i % (kPriority / 8) == kRoom / 8 ? 128 : 0));
    }
    for (uint32_t sequence : device_words<uint32_t>(gpu, stream, row.sequence, 3 * 128)) CHECK(sequence == 0);
    const auto info = queue_info(ring);
    CHECK(info.kind == GPO_QUEUE_RING);
    CHECK(info.state == GPO_QUEUE_OPEN);
    CHECK(info.task_size == 48);
    CHECK(info.capacity == 128);
    CHECK(info.depth == 0);
    CHECK(info.device_bytes >= 3 * (kPriority + 128 * (4 + 48)));
}

TEST_CASE("a ring's capacity is a power of two from 64 on") {
    Gpu gpu;
    constexpr uint32_t kAskedAndGot[][2] = {{1, 64}, {64, 64}, {65, 128}, {0, 65536}, {1 << 20, 1 << 20}};
    for (const auto& pair : kAskedAndGot) {
        CAPTURE(pair[0]);
        DeviceQueue ring = make_queue(gpu, ring_options(pair[0]));
        CHECK(queue_info(ring).capacity == pair[1]);
    }
}

TEST_CASE("a ring with tickets says so to kernels") {
    Gpu gpu;
    auto options = ring_options(64);
    options.flags = GPO_QUEUE_TICKETS;
    DeviceQueue ring = make_queue(gpu, options);
    CHECK(row_of<RingRow>(ring).flags == 1);
}

TEST_CASE("a ring is closed once, and aborted for good") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue ring = make_queue(gpu, ring_options(64));
    const uint64_t state = row_of<RingRow>(ring).words + kState;
    CHECK_OK(gpo_queue_close(ring));
    CHECK(queue_info(ring).state == GPO_QUEUE_CLOSED);
    CHECK_OK(gpo_queue_close(ring));
    CHECK(device_words<uint32_t>(gpu, stream, state, 1)[0] == 1);
    CHECK_OK(gpo_queue_abort(ring));
    CHECK(queue_info(ring).state == GPO_QUEUE_ABORTED);
    CHECK_OK(gpo_queue_abort(ring));
    CHECK_OK(gpo_queue_close(ring));
    CHECK(queue_info(ring).state == GPO_QUEUE_ABORTED);
    CHECK(device_words<uint32_t>(gpu, stream, state, 1)[0] == 2);
}

TEST_CASE("a ring that a kernel has aborted stays aborted when the host closes it") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue ring = make_queue(gpu, ring_options(64));
    set_word(stream, row_of<RingRow>(ring).words + kState, 2);
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(gpo_queue_close(ring));
    CHECK(queue_info(ring).state == GPO_QUEUE_ABORTED);
}

TEST_CASE("a ring's figures are sums over its priorities") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue ring = make_queue(gpu, ring_options(64, 16, 2));
    const uint64_t words = row_of<RingRow>(ring).words;
    const auto set = [&](uint32_t priority, uint64_t word, uint32_t value) {
        set_word(stream, words + priority * kPriority + word, value);
    };
    set(0, kTail, 10), set(1, kTail, 5), set(0, kHead, 7), set(1, kHead, 5);
    set(0, kDone, 6), set(1, kDone, 4), set(0, kRefused, 1), set(1, kRefused, 2);
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    auto info = queue_info(ring);
    CHECK(info.pushed == 15);
    CHECK(info.popped == 12);
    CHECK(info.depth == 3);
    CHECK(info.done == 10);
    CHECK(info.refused == 3);
    set(1, kHead, 9);  // pops with tickets may take places before a push fills the places
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    info = queue_info(ring);
    CHECK(info.popped == 12);
    CHECK(info.depth == 3);
}

TEST_CASE("a reset ring is empty and open, whatever was done with it") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue ring = make_queue(gpu, ring_options(64, 16, 2));
    const auto row = row_of<RingRow>(ring);
    const auto before = device_words<uint64_t>(gpu, stream, row.words, 2 * kPriority / 8);
    REQUIRE_OK(gpo_fill(stream, row.words, 0x55, 1, 2 * kPriority));
    REQUIRE_OK(gpo_fill(stream, row.sequence, 9, 4, 128));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(gpo_queue_abort(ring));
    CHECK_OK(gpo_queue_reset(ring, stream));
    CHECK(device_words<uint64_t>(gpu, stream, row.words, 2 * kPriority / 8) == before);
    for (uint32_t sequence : device_words<uint32_t>(gpu, stream, row.sequence, 128)) CHECK(sequence == 0);
    CHECK(queue_info(ring).state == GPO_QUEUE_OPEN);
    CHECK_OK(gpo_queue_close(ring));
    CHECK(queue_info(ring).state == GPO_QUEUE_CLOSED);
}
