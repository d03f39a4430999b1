// Nodes of templates that allocate and free device memory.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

constexpr uint64_t kBytes = 4096;

/// Allocates memory in a template, puts 5 there, copies it to word 0, and perhaps frees the memory.
struct Allocating {
    explicit Allocating(WordsRig& rig, bool frees = true) : made(make_template(rig, "allocating")) {
        REQUIRE_OK(gpo_template_add_allocation(made, nullptr, 0, kBytes, &address, &allocation));
        REQUIRE(address != 0);
        put = rig.node(made, rig.put, address, 5, {allocation});
        copy = rig.copy(made, rig.at(0), address, {put});
        if (frees) REQUIRE_OK(gpo_template_add_free(made, &copy, 1, address, &freed));
    }
    Template made;
    uint64_t address = 0;
    uint32_t allocation = 0, put = 0, copy = 0, freed = 0;
};

gpo_status add_free(gpo_template_t to, uint64_t address, uint32_t after) {
    return gpo_template_add_free(to, after ? &after : nullptr, after ? 1 : 0, address, nullptr);
}

}  // namespace

TEST_CASE("a graph has the memory that it allocates at one address in every launch") {
    WordsRig rig;
    Allocating of(rig);
    CHECK(of.allocation == 1);
    CHECK(of.freed == 4);
    CHECK(figures_of(of.made).nodes == 4);
    REQUIRE_OK(gpo_template_add_parameter(of.made, "to", of.copy, GPO_PARAMETER_DESTINATION, 0));
    Graph graph = make_graph(of.made);
    for (uint32_t i = 0; i < 3; ++i) {
        const uint64_t to = rig.at(i);
        REQUIRE_OK(gpo_graph_set(graph, "to", &to, sizeof to));
        rig.run(graph);
        CHECK(rig.word(i) == 5);
    }
}

TEST_CASE("memory that no graph has allocated yet can be filled, copied, and is known by its bounds") {
    WordsRig rig;
    Template made = make_template(rig);
    uint64_t first = 0, second = 0;
    uint32_t one = 0, both = 0, fill = 0, copied = 0, node = 0;
    REQUIRE_OK(gpo_template_add_allocation(made, nullptr, 0, kBytes, &first, &one));
    REQUIRE_OK(gpo_template_add_allocation(made, &one, 1, kBytes, &second, &both));
    CHECK(first != second);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_fill(made, &both, 1, first, 9, 4, kBytes / 4 + 1, nullptr));
    REQUIRE_OK(gpo_template_add_fill(made, &both, 1, first, 9, 4, kBytes / 4, &fill));
    auto copy = sized<gpo_copy>();
    copy.destination = second;
    copy.source = first;
    copy.bytes = kBytes + 4;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_copy(made, &fill, 1, &copy, nullptr));
    copy.bytes = kBytes;
    REQUIRE_OK(gpo_template_add_copy(made, &fill, 1, &copy, &copied));
    node = rig.copy(made, rig.at(0), second + kBytes - 4, {copied});
    REQUIRE_OK(add_free(made, first, copied));
    REQUIRE_OK(add_free(made, second, node));
    Graph graph = make_graph(made);
    rig.run(graph);
    CHECK(rig.word(0) == 9);
}

TEST_CASE("a template whose allocation no node frees has no graphs, and the message names the node") {
    WordsRig rig;
    Allocating of(rig, false);
    Graph graph;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_graph_create(of.made, nullptr, graph.out()));
    CHECK(says(refusal(), "node 1, allocation"));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_launch(of.made, rig.on, nullptr, 0, 0));
    void* native = nullptr;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_get_native(of.made, &native));
    REQUIRE_OK(add_free(of.made, of.address, of.copy));
    graph = make_graph(of.made);
    rig.run(graph);
    CHECK(rig.word(0) == 5);
}

TEST_CASE("frees that can't be are refused, and say why") {
    WordsRig rig;
    Allocating of(rig, false), other(rig);
    uint32_t beside = 0;
    uint64_t plain = 0;
    REQUIRE_OK(gpo_template_add_empty(of.made, nullptr, 0, &beside));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, add_free(of.made, of.address, 0));
    CHECK(says(refusal(), "node 1, allocation"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, add_free(of.made, of.address, beside));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, add_free(of.made, other.address, of.copy));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, add_free(of.made, of.address + 256, of.copy));
    REQUIRE_OK(gpo_template_allocate(of.made, 64, &plain));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, add_free(of.made, plain, of.copy));
    CHECK(figures_of(of.made).nodes == 4);
    REQUIRE_OK(add_free(of.made, of.address, of.copy));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, add_free(of.made, of.address, of.copy));
    CHECK(says(refusal(), "node 5, free"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(rig.device, of.address));
    Graph graph = make_graph(of.made);
    rig.run(graph);
    CHECK(rig.word(0) == 5);
}

TEST_CASE("an allocation of nothing, or of more than there can be, is refused") {
    WordsRig rig;
    Allocating of(rig);
    uint64_t address = 7;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_allocation(of.made, nullptr, 0, 0, &address, nullptr));
    CHECK(gpo_template_add_allocation(of.made, nullptr, 0, 1ull << 60, &address, nullptr) != GPO_SUCCESS);
    CHECK(address == 7);
    Graph graph = make_graph(of.made);
    rig.run(graph);
    CHECK(rig.word(0) == 5);
}

TEST_CASE("nodes that allocate or free are refused in bodies, and templates with them as children") {
    WordsRig rig;
    if (rig.too_old()) return;
    Allocating of(rig);
    Template deciding = make_template(rig), body, outer = make_template(rig);
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_EQUAL;
    condition.word = rig.at(1);
    REQUIRE_OK(gpo_template_add_if(deciding, nullptr, 0, &condition, body.out(), nullptr, nullptr));
    uint64_t address = 0;
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_add_allocation(body, nullptr, 0, kBytes, &address, nullptr));
    CHECK(says(refusal(), "allocation"));
    CHECK_STATUS(GPO_NOT_SUPPORTED, add_free(body, of.address, 0));
    REQUIRE_OK(gpo_template_begin(body, rig.on));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_add_allocation(body, nullptr, 0, kBytes, &address, nullptr));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(body));
    CHECK(says(refusal(), "gpo_template_add_allocation"));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_add_child(outer, nullptr, 0, of.made, nullptr, nullptr));
    CHECK(says(refusal(), "node 1, allocation"));
    CHECK(figures_of(outer).nodes == 0);
    void* native = nullptr;
    Template imported;
    REQUIRE_OK(gpo_template_get_native(of.made, &native));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_import(rig.device, native, nullptr, imported.out()));
    CHECK(says(refusal(), "node 1, allocation"));
}

TEST_CASE("a template that allocates has one graph at a time, which launches on all streams share") {
    WordsRig rig;
    Allocating of(rig);
    Graph one = make_graph(of.made), two;
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_graph_create(of.made, nullptr, two.out()));
    CHECK(says(refusal(), "node 1, allocation"));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_launch(of.made, rig.on, nullptr, 0, 0));
    rig.run(one);
    CHECK(rig.word(0) == 5);
    one.reset();
    Stream other = rig.stream();
    REQUIRE_OK(gpo_template_prepare(of.made, 4, other));
    for (uint32_t i = 0; i < 4; ++i) {
        rig.words[0] = 0;
        const gpo_stream_t on = i % 2 ? other : rig.on;
        REQUIRE_OK(gpo_template_launch(of.made, on, nullptr, 0, 0));
        CHECK_OK(gpo_stream_wait(on, kPatience));
        CHECK(rig.word(0) == 5);
    }
    CHECK(figures_of(of.made).pooled == 1);
    auto options = sized<gpo_graph_options>();
    options.flags = GPO_GRAPH_DEVICE_LAUNCH;
    CHECK(gpo_graph_create(of.made, &options, two.out()) == GPO_NOT_SUPPORTED);
}

// Another thread destroys such a graph later: the next graph comes before, during or after the destruction.
TEST_CASE("once the graph of a template that allocates is destroyed, the next one can be made at any moment") {
    WordsRig rig;
    Allocating of(rig);
    uint32_t node = of.freed;
    for (uint32_t i = 0; i < 300; ++i)
        node = rig.node(of.made, rig.put, rig.at(1), i, {node});  // its end takes a while
    for (int round = 0; round < 200; ++round) {
        Graph graph = make_graph(of.made);
        if (round % 16 == 0) rig.run(graph);
        graph.reset();
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(round % 20 * 10);
        while (std::chrono::steady_clock::now() < until) {}
    }
    CHECK(rig.word(0) == 5);
    CHECK(rig.word(1) == 299);
}

TEST_CASE("threads that launch a template for the first time at once share the one graph that there can be") {
    for (int round = 0; round < 20; ++round) {
        WordsRig rig;
        Allocating of(rig);
        std::atomic<int> ready{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                Stream on = rig.stream();
                for (++ready; ready < 4;) std::this_thread::yield();
                CHECK_OK(gpo_template_launch(of.made, on, nullptr, 0, 0));
                CHECK_OK(gpo_stream_wait(on, kPatience));
            });
        for (std::thread& thread : threads) thread.join();
        CHECK(figures_of(of.made).pooled == 1);
        CHECK(figures_of(of.made).launches == 4);
        CHECK(rig.word(0) == 5);
    }
}

TEST_CASE("streams that were launched on beside each other share a graph once the template allocates") {
    WordsRig rig;
    Template made = make_template(rig);
    Stream other = rig.stream();
    rig.node(made, rig.put, rig.at(0), 1);
    REQUIRE_OK(gpo_template_launch(made, rig.on, nullptr, 0, 0));
    REQUIRE_OK(gpo_template_launch(made, other, nullptr, 0, 0));
    CHECK(figures_of(made).pooled == 2);
    REQUIRE_OK(gpo_template_clear(made));
    uint64_t address = 0;
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_allocation(made, nullptr, 0, kBytes, &address, &node));
    node = rig.node(made, rig.put, address, 6, {node});
    node = rig.copy(made, rig.at(0), address, {node});
    REQUIRE_OK(add_free(made, address, node));
    for (const gpo_stream_t on : {other.get(), rig.on.get()}) {
        rig.words[0] = 0;
        REQUIRE_OK(gpo_template_launch(made, on, nullptr, 0, 0));
        CHECK_OK(gpo_stream_wait(on, kPatience));
        CHECK(rig.word(0) == 6);
    }
    CHECK(figures_of(made).pooled == 1);
}

TEST_CASE("memory is allocated in a recording, and streams use it in between") {
    WordsRig rig;
    Template recorded = make_template(rig);
    uint64_t address = 0;
    uint32_t node = 0;
    const auto record = [&](uint32_t value) {
        REQUIRE_OK(gpo_template_begin(recorded, rig.on));
        REQUIRE_OK(gpo_template_add_allocation(recorded, nullptr, 0, kBytes, &address, &node));
        REQUIRE_OK(gpo_template_set_last_node(recorded, rig.on, node));
        CHECK_OK(gpo_fill(rig.on, address, value, 4, kBytes / 4));
        CHECK_OK(launch(rig.on, rig.add, 1, 1, address + 8, 1u));
        CHECK_OK(gpo_copy_to_host(rig.on, &rig.words[0], address + 8, 4));
        REQUIRE_OK(gpo_template_get_last_node(recorded, rig.on, &node));
        REQUIRE_OK(gpo_template_add_free(recorded, &node, 1, address, &node));
        REQUIRE_OK(gpo_template_set_last_node(recorded, rig.on, node));
        REQUIRE_OK(gpo_template_end(recorded));
    };
    record(10);
    Graph graph = make_graph(recorded);
    rig.run(graph);
    CHECK(rig.word(0) == 11);
    // A free that isn't ordered behind the allocation spoils the recording. The previous recording stays.
    REQUIRE_OK(gpo_template_begin(recorded, rig.on));
    REQUIRE_OK(gpo_template_add_allocation(recorded, nullptr, 0, kBytes, &address, &node));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, add_free(recorded, address, 0));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recorded));
    rig.run(graph);
    CHECK(rig.word(0) == 11);
    record(20);  // of the same shape, and rebuilt all the same
    auto report = sized<gpo_graph_update_report>();
    REQUIRE_OK(gpo_graph_update(graph, &report));
    CHECK(report.rebuilt == 1);
    CHECK(says(report.reason, "memory"));
    rig.run(graph);
    CHECK(rig.word(0) == 21);
    REQUIRE_OK(gpo_template_begin(recorded, rig.on));
    REQUIRE_OK(gpo_template_add_allocation(recorded, nullptr, 0, kBytes, &address, &node));
    REQUIRE_OK(gpo_template_set_last_node(recorded, rig.on, node));
    REQUIRE_OK(gpo_template_end(recorded));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_graph_update(graph, nullptr));
    rig.run(graph);
    CHECK(rig.word(0) == 21);
}

TEST_CASE("every kind of node can be added to a template that allocates") {
    WordsRig rig;
    if (rig.too_old()) return;
    Allocating of(rig, false);
    Template child = make_template(rig), body;
    Event event = rig.event();
    rig.node(child, rig.add, rig.at(1), 3);
    std::atomic<int> calls{0};
    uint32_t node = of.copy;
    auto important = sized<gpo_launch>();
    important.grid[0] = important.block[0] = 1;
    important.flags = GPO_LAUNCH_PRIORITY;
    important.label = "important";
    const uint64_t word = rig.at(2);
    const uint32_t by = 4;
    const void* arguments[] = {&word, &by};
    REQUIRE_OK(gpo_template_add_kernel(of.made, &node, 1, rig.add, &important, arguments, nullptr, 2, &node));
    REQUIRE_OK(gpo_template_add_event_record(of.made, &node, 1, event, &node));
    REQUIRE_OK(gpo_template_add_event_wait(of.made, &node, 1, event, &node));
    REQUIRE_OK(gpo_template_add_host_call(
        of.made, &node, 1, [](void* user) { ++*static_cast<std::atomic<int>*>(user); }, &calls, &node));
    REQUIRE_OK(gpo_template_add_child(of.made, &node, 1, child, nullptr, &node));
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_EQUAL;
    condition.word = of.address;
    condition.constant = 5;
    REQUIRE_OK(gpo_template_add_if(of.made, &node, 1, &condition, body.out(), nullptr, &node));
    rig.node(body, rig.add, rig.at(3), 1);
    REQUIRE_OK(add_free(of.made, of.address, node));
    Graph graph = make_graph(of.made);
    for (uint32_t i = 1; i <= 2; ++i) {
        rig.run(graph);
        CHECK(rig.word(0) == 5);
        CHECK(rig.word(1) == 3 * i);
        CHECK(rig.word(2) == 4 * i);
        CHECK(rig.word(3) == i);
        CHECK(calls == int(i));
    }
    uint32_t found = 0;
    CHECK_OK(gpo_template_find_node(of.made, "important", &found));
    CHECK(found == 4);
}

TEST_CASE("threads that want the one graph of a template that allocates have it one after another") {
    constexpr uint32_t kEach = 50;
    WordsRig rig;
    Allocating of(rig);
    std::atomic<uint32_t> ran{0}, wrong{0};
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            Stream on = rig.stream();
            for (uint32_t done = 0; done < kEach && wrong.load() == 0;) {
                Graph graph;
                const gpo_status status = gpo_graph_create(of.made, nullptr, graph.out());
                if (status == GPO_NOT_SUPPORTED) continue;   // another thread has it
                wrong += status != GPO_SUCCESS || gpo_graph_launch(graph, on) != GPO_SUCCESS ||
                         (done % 2 && gpo_stream_wait(on, kPatience) != GPO_SUCCESS);
                graph.reset();
                ++ran;
                ++done;
            }
            wrong += gpo_stream_wait(on, kPatience) != GPO_SUCCESS;
        });
    for (auto& thread : threads) thread.join();
    CHECK(wrong.load() == 0);
    CHECK(ran.load() == 3 * kEach);
    CHECK(rig.word(0) == 5);
    Graph last = make_graph(of.made);
    rig.run(last);
}

TEST_CASE("a template that allocates is destroyed while threads launch it") {
    WordsRig rig;
    std::vector<Stream> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(rig.stream());
    std::atomic<uint32_t> wrong{0};
    for (uint32_t round = 0; round < 100; ++round) {
        Allocating of(rig);
        std::atomic<uint32_t> ready{0};
        std::vector<std::thread> threads;
        for (Stream& on : streams)
            threads.emplace_back([&, handle = gpo_template_t(of.made)] {
                for (++ready; ready.load() < streams.size();) {
                }
                const gpo_status status = gpo_template_launch(handle, on, nullptr, 0, 0);
                // Refused once the handle is destroyed, or while another thread has the only graph, which the template
                // has lost.
                wrong += status != GPO_SUCCESS && status != GPO_STALE_HANDLE && status != GPO_NOT_SUPPORTED;
            });
        while (ready.load() < streams.size()) {
        }
        of.made.reset();
        for (auto& thread : threads) thread.join();
    }
    CHECK(wrong.load() == 0);
    for (Stream& on : streams) CHECK_OK(gpo_stream_wait(on, kPatience));
}
