// Resident streams: who waits for everything leaves them out, who waits for them waits, and what their work uses stays.
#include <string>

#include "resident_rig.h"
#include "template_rig.h"

using namespace gpo::test;

TEST_CASE("a wait for the device leaves resident streams out, and a wait for the stream doesn't" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Stream other = gpu.stream();
    ResidentKernel resident(gpu);
    REQUIRE_OK(writer.write(other, word.data(), 1));
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    CHECK(read(word[0]) == 1);
    CHECK(resident.stays());
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(resident.stream));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(resident.stream, 1'000'000));
    Queue queue = gpu.queue();
    Event event = gpu.event();
    REQUIRE_OK(gpo_stream_notify(resident.stream, queue, 7));
    REQUIRE_OK(gpo_event_record(event, resident.stream));
    CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
    resident.tell();
    CHECK_OK(gpo_event_wait(event, kPatience));
    CHECK(take(queue, 1)[0].user_data == 7);
    CHECK_OK(gpo_stream_wait(resident.stream, kPatience));
}

TEST_CASE("a resident stream says what it is, and is neither blocking nor one that learns") {
    Gpu gpu;
    Stream stream = gpu.stream("server", GPO_STREAM_RESIDENT);
    CHECK(info_of(stream).flags == GPO_STREAM_RESIDENT);
    auto options = sized<gpo_stream_options>();
    gpo_stream_t none = nullptr;
    for (const uint32_t other : {GPO_STREAM_BLOCKING, GPO_STREAM_LEARNS}) {
        options.flags = GPO_STREAM_RESIDENT | other;
        CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_create(gpu.device, &options, &none));
        CHECK(says(last_error().message, "resident"));
    }
    options.flags = GPO_STREAM_RESIDENT;
    void* native = nullptr;
    REQUIRE_OK(gpo_stream_get_native(stream, &native));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_wrap(gpu.device, native, &options, &none));
    CHECK(none == nullptr);
}

TEST_CASE("what is freed goes while a resident kernel stays, and what is freed behind it goes with it" * gated) {
    Gpu gpu;
    Arena arena;
    REQUIRE_OK(gpo_arena_create(gpu.device, nullptr, arena.out()));
    void *piece = nullptr, *behind = nullptr;
    REQUIRE_OK(gpo_arena_allocate(arena, 4096, 0, &piece));
    REQUIRE_OK(gpo_arena_allocate(arena, 8192, 0, &behind));
    const auto waiting = [&] {
        auto figures = sized<gpo_memory_statistics>();
        REQUIRE_OK(gpo_arena_get_statistics(arena, &figures));
        return figures.waiting;
    };
    Stream other = gpu.stream();
    ResidentKernel resident(gpu);
    REQUIRE_OK(gpo_arena_free_after(arena, piece, other));
    REQUIRE_OK(gpo_arena_free_after(arena, behind, resident.stream));
    CHECK_OK(gpo_stream_wait(other, kPatience));
    CHECK(waiting() == 8192);
    CHECK(resident.stays());
    resident.end();
    CHECK(waiting() == 0);
}

TEST_CASE("a graph that goes on on a resident stream keeps its template's memory when both are destroyed" * gated) {
    WordsRig rig;
    if (rig.too_old()) return;
    Stream stream = rig.stream("server", GPO_STREAM_RESIDENT);
    Timeline timeline = rig.timeline();
    Template of = make_template(rig);
    uint64_t count = 0;
    void* told = nullptr;
    REQUIRE_OK(gpo_template_allocate(of, sizeof(uint32_t), &count));
    REQUIRE_OK(gpo_template_allocate_host(of, sizeof(uint32_t), &told));
    *static_cast<uint32_t*>(told) = 1;
    // It counts until the word is 0.
    rig.node(of, rig.put, count, 0);
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_NOT_EQUAL;
    condition.word = reinterpret_cast<uint64_t>(told);
    gpo_template_t body = nullptr;
    uint32_t loop = 0;
    const uint32_t first = 1;
    REQUIRE_OK(gpo_template_add_while(of, &first, 1, &condition, &body, &loop));
    const uint32_t counted = rig.node(body, rig.add, count, 1);
    rig.copy(body, rig.at(0), count, {counted});
    gpo_template_destroy(body);
    Graph graph = make_graph(of);
    REQUIRE_OK(gpo_graph_launch(graph, stream));
    while (rig.word(0) < 3) {
    }
    graph.reset();
    of.reset();
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    // Who takes memory now doesn't get what the graph counts in.
    for (int i = 0; i < 16; ++i) {
        Memory taken = rig.memory(sizeof(uint32_t));
        REQUIRE_OK(launch(rig.on, rig.put, 1, 1, taken.operator uint64_t(), 0u));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    }
    const uint32_t seen = rig.word(0);
    while (rig.word(0) < seen + 3) {
    }
    __atomic_store_n(static_cast<uint32_t*>(told), 0, __ATOMIC_SEQ_CST);
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}
