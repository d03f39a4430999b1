// Functions of host nodes: allowed calls, refused calls, and refusals without any loss.
#include <unistd.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

/// A host node's function calls `body` and counts the calls in `runs`.
struct Node {
    std::function<void()> body;
    std::atomic<int> runs{0};
    static void run(void* node) {
        auto& self = *static_cast<Node*>(node);
        self.body();
        self.runs.fetch_add(1);
    }
    uint32_t add_to(gpo_template_t to, std::initializer_list<uint32_t> after = {}) {
        uint32_t made = 0;
        REQUIRE_OK(
            gpo_template_add_host_call(to, after.begin(), static_cast<uint32_t>(after.size()), run, this, &made));
        return made;
    }
};

/// Runs `body` in a host node, once.
void in_host_node(WordsRig& rig, std::function<void()> body) {
    Node node{std::move(body)};
    Template built = make_template(rig);
    node.add_to(built);
    Graph graph = make_graph(built);
    rig.run(graph);
    CHECK(node.runs.load() == 1);
}

/// The calling thread's last failure is that of a call in a host node.
bool says_host_node() { return says(refusal(), "called in a host node"); }

}  // namespace

TEST_CASE("a call that needs the driver is refused in a host node, and the device goes on") {
    WordsRig rig;
    Stream other = rig.stream("other");
    Event event = rig.event();
    Queue queue = rig.queue();
    Executor executor = rig.executor();
    Memory memory = rig.memory(4096);
    const auto nothing = [](void*, const gpo_completion*, const gpo_error*) {};
    in_host_node(rig, [&] {
        uint64_t address = 0;
        void* piece = nullptr;
        const auto refused = [](gpo_status status) {
            CHECK_STATUS(GPO_WOULD_DEADLOCK, status);
            CHECK(says_host_node());
        };
        refused(gpo_stream_query(rig.on));
        refused(gpo_stream_query(other));
        refused(gpo_stream_wait(rig.on, -1));
        refused(gpo_stream_wait(other, 0));
        refused(gpo_event_query(event));
        refused(gpo_event_record(event, other));
        refused(gpo_device_wait(rig.device, -1));
        refused(gpo_memory_allocate(rig.device, 4096, "none", &address));
        refused(gpo_memory_free(rig.device, memory));
        refused(gpo_arena_allocate(rig.arena(), 4096, 0, &piece));
        refused(gpo_fill(other, memory, 1, 4, 16));
        refused(launch(other, rig.put, 1, 1, rig.at(0), 1u));
        refused(gpo_stream_notify(other, queue, 1));
        refused(gpo_stream_then(other, executor, nothing, nullptr));
        refused(gpo_cq_wait(queue, -1));
        refused(gpo_stream_destroy(other));
        refused(gpo_event_destroy(event));
        refused(gpo_device_close(rig.device));
        refused(gpo_runtime_shutdown(rig.runtime, -1));
        CHECK(address == 0);
        CHECK(piece == nullptr);
    });
    // The refused calls had no effect.
    CHECK_OK(gpo_stream_wait(other, kPatience));
    CHECK(info_of(other).accepted == 0);
    CHECK_OK(gpo_event_record(event, other));
    CHECK_OK(gpo_fill(other, memory, 1, 4, 16));
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    auto lost = sized<gpo_error>();
    CHECK_OK(gpo_object_get_error(rig.device, &lost));
    CHECK(lost.status == GPO_SUCCESS);
}

TEST_CASE("each launch calls the host node's function, and what another thread calls meanwhile works" * gated) {
    WordsRig rig;
    Stream other = rig.stream();
    Node node;
    std::atomic<int> open{0};
    gpo_status inside = GPO_SUCCESS;
    node.body = [&] {
        while (!open.load()) usleep(100);
        inside = gpo_stream_query(other);
    };
    Template built = make_template(rig);
    const uint32_t first = rig.node(built, rig.put, rig.at(0), 7);
    rig.node(built, rig.add, rig.at(0), 1, {node.add_to(built, {first})});
    Graph graph = make_graph(built);
    for (int round = 1; round <= 3; ++round) {
        open = 0;
        CHECK_OK(gpo_graph_launch(graph, rig.on));
        CHECK_OK(launch(other, rig.put, 1, 1, rig.at(1), uint32_t(round)));
        CHECK_OK(gpo_stream_wait(other, kPatience));
        CHECK(node.runs.load() == round - 1);
        open = 1;
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK(node.runs.load() == round);
        CHECK(inside == GPO_WOULD_DEADLOCK);
        CHECK(rig.word(0) == 8);
        CHECK(rig.word(1) == uint32_t(round));
    }
}

TEST_CASE("a host node may signal and fail timelines: the streams that wait go on") {
    WordsRig rig;
    Timeline timeline = rig.timeline(), failed = rig.timeline();
    Stream held = rig.stream("held"), dropped = rig.stream("dropped");
    Queue queue = rig.queue();
    int32_t descriptor = -1;
    REQUIRE_OK(gpo_cq_get_fd(queue, &descriptor));
    CHECK_OK(gpo_timeline_notify(timeline, 1, queue, 5));
    CHECK_OK(gpo_stream_wait_timeline(held, timeline, 1));
    CHECK_OK(launch(held, rig.put, 1, 1, rig.at(0), 7u));
    CHECK_OK(gpo_stream_wait_timeline(dropped, failed, 1));
    in_host_node(rig, [&] {
        uint64_t value = 9;
        CHECK_OK(gpo_timeline_get_value(timeline, &value));
        CHECK(value == 0);
        CHECK_OK(gpo_timeline_signal(timeline, 1));
        CHECK_OK(gpo_timeline_fail(failed, GPO_FAILED, "in a host node"));
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_timeline_signal(timeline, 1));
        auto error = sized<gpo_error>();
        CHECK_OK(gpo_last_error(&error));
        CHECK(error.status == GPO_INVALID_ARGUMENT);
        CHECK_OK(gpo_object_get_error(timeline, &error));
        CHECK(error.status == GPO_INVALID_ARGUMENT);
        auto entry = sized<gpo_completion>();
        uint64_t count = 0;
        CHECK_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
        CHECK(count == 1);
        CHECK(entry.user_data == 5);
    });
    CHECK_OK(gpo_stream_wait(held, kPatience));
    CHECK(rig.word(0) == 7);
    CHECK_STATUS(GPO_FAILED, gpo_stream_wait(dropped, kPatience));
    close(descriptor);
}

TEST_CASE("a host node may finish a host call, behind which a stream is held") {
    WordsRig rig;
    Executor executor = rig.executor(GPO_EXECUTOR_CALLER);
    Stream held = rig.stream("held");
    uint64_t call = 0;
    const auto later = [](void* user, const gpo_host_call* told) {
        *static_cast<uint64_t*>(user) = told->call;
        return gpo_status{GPO_NOT_READY};
    };
    CHECK_OK(gpo_stream_host_call(held, executor, later, &call));
    CHECK_OK(launch(held, rig.put, 1, 1, rig.at(0), 7u));
    CHECK_OK(gpo_executor_run(executor, nullptr));
    in_host_node(rig, [&] { CHECK_OK(gpo_host_call_finish(executor, call, GPO_SUCCESS, nullptr)); });
    CHECK_OK(gpo_stream_wait(held, kPatience));
    CHECK(rig.word(0) == 7);
}

TEST_CASE("a signal in a host node doesn't wait for a thread that launches the graph again") {
    WordsRig rig;
    Timeline timeline = rig.timeline();
    Stream held = rig.stream("held");
    Template built = make_template(rig);
    std::atomic<uint64_t> value{0};
    Node node;
    node.body = [&] { CHECK_OK(gpo_timeline_signal(timeline, value.fetch_add(1) + 1)); };
    node.add_to(built);
    Graph graph = make_graph(built);
    constexpr uint64_t kRounds = 50;
    for (uint64_t round = 1; round <= kRounds; ++round) {
        // The held launch of a round goes to the driver once the previous round has signalled.
        if (round > 1) CHECK_OK(gpo_stream_wait_timeline(held, timeline, round - 1));
        CHECK_OK(gpo_graph_launch(graph, held));
    }
    CHECK_OK(gpo_stream_wait(held, kPatience));
    CHECK(node.runs.load() == kRounds);
}

TEST_CASE("a signal in a host node doesn't wait for a call that is in the driver with a stream that has waited" *
          gated) {
    WordsRig rig;
    Timeline timeline = rig.timeline();
    Stream once_held = rig.stream();
    Memory memory = rig.memory(4096);
    std::vector<char> pageable(4096);
    // Launched before: beside a copy to pageable memory that waits in the driver no graph is made (an H200, driver
    // 580).
    std::atomic<bool> armed{false}, begun{false}, signalled{false};
    Node node{[&] {
        if (!armed.load()) return;
        begun.wait(false);
        usleep(20'000);   // by now the copy is in the driver, as a rule; no call shows this
        CHECK_OK(gpo_timeline_signal(timeline, 1));
        signalled = true;
    }};
    Template built = make_template(rig);
    node.add_to(built);
    Graph graph = make_graph(built);
    rig.run(graph);
    Gate gate(rig);
    CHECK_OK(gpo_stream_wait_timeline(once_held, timeline, 1));
    CHECK_OK(gpo_stream_cancel_held(once_held, nullptr));   // the timeline doesn't learn of the cancellation
    gate.put_on(once_held);
    armed = true;
    REQUIRE_OK(gpo_graph_launch(graph, rig.on));
    std::thread blocked([&] {
        begun = true;
        begun.notify_one();
        CHECK_OK(gpo_copy_to_host(once_held, pageable.data(), memory, pageable.size()));
    });
    CHECK(comes_true([&] { return signalled.load(); }));
    gate.open();
    blocked.join();
    CHECK_OK(gpo_stream_wait(once_held, kPatience));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(node.runs.load() == 2);
}

TEST_CASE("an exception that leaves a host node's function is logged, and the graph goes on") {
    static std::atomic<int> logged;
    logged = 0;
    auto options = sized<gpo_runtime_options>();
    options.log_level = GPO_LOG_ERROR;
    options.log = [](void*, int32_t, const char* line) {
        if (says(line, "host node") && says(line, "not today")) ++logged;
    };
    {
        Gpu gpu(options);
        Stream on = gpu.stream();
        Template built;
        REQUIRE_OK(gpo_template_create(gpu.device, nullptr, built.out()));
        uint32_t node = 0;
        const auto throws = [](void*) { throw std::runtime_error("not today"); };
        const auto throws_other = [](void*) { throw 7; };
        std::atomic<bool> came{false};
        REQUIRE_OK(gpo_template_add_host_call(built, nullptr, 0, throws, nullptr, &node));
        REQUIRE_OK(gpo_template_add_host_call(built, &node, 1, throws_other, nullptr, &node));
        const auto comes = [](void* user) { *static_cast<std::atomic<bool>*>(user) = true; };
        REQUIRE_OK(gpo_template_add_host_call(built, &node, 1, comes, &came, nullptr));
        Graph graph = make_graph(built);
        CHECK_OK(gpo_graph_launch(graph, on));
        CHECK_OK(gpo_stream_wait(on, kPatience));
        CHECK(came.load());
    }
    CHECK(logged.load() == 1);
}

TEST_CASE("host nodes stay callable while anything may launch them: children, updated graphs, imports, launches") {
    WordsRig rig;
    Node first, second;
    first.body = second.body = [&] { CHECK_STATUS(GPO_WOULD_DEADLOCK, gpo_stream_query(rig.on)); };
    Graph of_child, of_import, updated;
    {
        Template child = make_template(rig), parent = make_template(rig), imported;
        first.add_to(child);
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_add_child(parent, nullptr, 0, child, nullptr, &node));
        void* native = nullptr;
        REQUIRE_OK(gpo_template_get_native(child, &native));
        REQUIRE_OK(gpo_template_import(rig.device, native, nullptr, imported.out()));
        of_child = make_graph(parent);
        of_import = make_graph(imported);
        updated = make_graph(child);
        // Built anew with the same function, then with another: the graph calls the newest function.
        REQUIRE_OK(gpo_template_clear(child));
        first.add_to(child);
        REQUIRE_OK(gpo_graph_update(updated, nullptr));
        REQUIRE_OK(gpo_template_clear(child));
        second.add_to(child);
        rig.run(updated);
        CHECK(first.runs.load() == 1);
        REQUIRE_OK(gpo_graph_update(updated, nullptr));
    }
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    rig.run(of_child);
    rig.run(of_import);
    CHECK(first.runs.load() == 3);
    rig.run(updated);
    CHECK(second.runs.load() == 1);
}

TEST_CASE("a launch runs to its end when nothing else is left of the graph") {
    WordsRig rig;
    std::atomic<bool> begun{false}, open{false};
    Node before, behind;
    before.body = [&] {
        begun = true;
        while (!open.load()) usleep(100);
    };
    behind.body = [] {};
    {
        Template built = make_template(rig);
        behind.add_to(built, {before.add_to(built)});
        Graph graph = make_graph(built);
        CHECK_OK(gpo_graph_launch(graph, rig.on));
    }
    while (!begun.load()) usleep(100);
    // New nodes would reuse anything freed too early.
    for (int i = 0; i < 50; ++i) {
        Template other = make_template(rig);
        Node none{[] {}};
        none.add_to(other);
    }
    open = true;
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(behind.runs.load() == 1);
}
