// Resident streams: waits for everything skip them, waits for them wait, and objects used by their work stay.
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
    // The graph counts until the word is 0.
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
    // A new allocation doesn't get the memory of the graph's counter.
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

namespace {

/// A graph that writes a number to a word by way of freed memory: the free waits until the graph is destroyed.
struct Using {
    Using(WordsRig& rig, size_t word, uint32_t number) : of(make_template(rig)) {
        uint64_t memory = 0;
        REQUIRE_OK(gpo_memory_allocate(rig.device, sizeof(uint32_t), "used", &memory));
        rig.copy(of, rig.at(word), memory, {rig.node(of, rig.put, memory, number)});
        graph = make_graph(of);
        REQUIRE_OK(gpo_memory_free(rig.device, memory));
        CHECK(exists());
    }
    bool exists() const { return figures_of(of).waiting_frees != 0; }

    Template of;
    Graph graph;
};

/// A resident stream, with gates to hold it up.
struct Resident : WordsRig {
    /// The stream checks its kept objects when something is put on it.
    template <class Condition>
    bool comes_true_there(Condition condition) {
        return comes_true([&] {
            CHECK_OK(gpo_fill(stream, at(kWords - 1), 0, 4, 1));
            return condition();
        });
    }

    Queue queue = Gpu::queue();
    Gate before{*this}, gate{*this};
    Stream stream = Gpu::stream("server", GPO_STREAM_RESIDENT);
};

}  // namespace

TEST_CASE("a resident stream keeps a graph until the newest of its launches is done, and no longer" * gated) {
    Resident rig;
    if (rig.too_old()) return;
    Using twice(rig, 0, 5), once(rig, 1, 6);
    rig.before.put_on(rig.stream);
    REQUIRE_OK(gpo_graph_launch(twice.graph, rig.stream));
    REQUIRE_OK(gpo_graph_launch(once.graph, rig.stream));
    REQUIRE_OK(gpo_stream_notify(rig.stream, rig.queue, 1));
    rig.gate.put_on(rig.stream);
    REQUIRE_OK(gpo_graph_launch(twice.graph, rig.stream));
    twice.graph.reset();
    once.graph.reset();
    CHECK(once.exists());
    rig.before.open();
    CHECK(take(rig.queue, 1).size() == 1);
    CHECK(rig.word(0) == 5);
    CHECK(rig.word(1) == 6);
    rig.words[0] = 0;
    CHECK(rig.comes_true_there([&] { return !once.exists(); }));
    CHECK(twice.exists());
    rig.gate.open();
    CHECK_OK(gpo_stream_wait(rig.stream, kPatience));
    CHECK(rig.word(0) == 5);
    CHECK(comes_true([&] { return !twice.exists(); }));
}

TEST_CASE("a resident stream that is asked, waited for or destroyed gives up the graphs of launches that are done") {
    enum class Look { query, wait, end } look = Look::query;
    SUBCASE("asked") {}
    SUBCASE("waited for") { look = Look::wait; }
    SUBCASE("destroyed") { look = Look::end; }
    Resident rig;
    if (rig.too_old()) return;
    Using first(rig, 0, 5), second(rig, 1, 6);
    for (Using* each : {&first, &second}) {   // the second is launched after the first is given up
        REQUIRE_OK(gpo_graph_launch(each->graph, rig.stream));
        each->graph.reset();
        if (look == Look::query) CHECK(comes_true([&] { return gpo_stream_query(rig.stream) == GPO_SUCCESS; }));
        if (look == Look::wait) CHECK_OK(gpo_stream_wait(rig.stream, kPatience));
        if (look == Look::end && each == &first) continue;
        if (look == Look::end) rig.stream.reset();
        CHECK(comes_true([&] { return !each->exists(); }));
    }
    CHECK(comes_true([&] { return !first.exists(); }));
    if (look == Look::end) CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK(rig.word(0) == 5);
    CHECK(rig.word(1) == 6);
}

TEST_CASE("a launch on a resident stream runs as it was when its graph is updated before it begins" * gated) {
    bool rebuilt = false;
    SUBCASE("in place") {}
    SUBCASE("by another graph") { rebuilt = true; }
    Resident rig;
    if (rig.too_old()) return;
    Template of = make_template(rig);
    Kernel own = rig.kernel("extern \"C\" __global__ void own(unsigned* word, unsigned n) { *word = 3 * n + 1; }",
                            "own");
    rig.node(of, own, rig.at(0), 2);
    Graph graph = make_graph(of);
    rig.gate.put_on(rig.stream);
    REQUIRE_OK(gpo_graph_launch(graph, rig.stream));
    own.reset();
    REQUIRE_OK(gpo_template_clear(of));
    rig.node(of, rig.put, rig.at(1), 3);
    if (rebuilt) rig.node(of, rig.put, rig.at(2), 4);
    REQUIRE_OK(gpo_graph_update(graph, nullptr));
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK(rig.word(0) == 0);
    rig.gate.open();
    CHECK_OK(gpo_stream_wait(rig.stream, kPatience));
    CHECK(rig.word(0) == 7);
    CHECK(rig.word(1) == 0);
    CHECK_OK(gpo_graph_launch(graph, rig.stream));
    CHECK_OK(gpo_stream_wait(rig.stream, kPatience));
    CHECK(rig.word(1) == 3);
}
