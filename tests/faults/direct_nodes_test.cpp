// Nodes that the caller adds individually to recordings without a capture of the driver: conditional nodes with their
// bodies, and all other kinds. Also tests how such a recording continues in a capture.
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "faults/direct_rig.h"

using namespace gpo::test;
namespace driver_calls = gpo::driver::recorder;
namespace driver_faults = gpo::driver::faults;
using gpo::driver::Function;

namespace {

uint64_t captures_to_graph() { return driver_calls::count(Function::cuStreamBeginCaptureToGraph); }

struct NodesRig : DirectRig {
    explicit NodesRig(bool old = false) : DirectRig(0, old) {}
    uint32_t last(gpo_template_t recorded, gpo_stream_t of) {
        uint32_t node = 0;
        CHECK_OK(gpo_template_get_last_node(recorded, of, &node));
        return node;
    }
    gpo_condition compare(uint32_t comparison, uint32_t word, uint32_t constant) const {
        auto condition = sized<gpo_condition>();
        condition.comparison = comparison;
        condition.word = at(word);
        condition.constant = constant;
        return condition;
    }
    /// A conditional at the stream's place in the recording. The body's handle is written to `body`.
    uint32_t put_if(gpo_template_t recorded, gpo_stream_t of, const gpo_condition& condition, Template& body) {
        uint32_t node = last(recorded, of);
        CHECK_OK(gpo_template_add_if(recorded, &node, node ? 1 : 0, &condition, body.out(), nullptr, &node));
        CHECK_OK(gpo_template_set_last_node(recorded, of, node));
        CHECK(last(recorded, of) == node);   // and no other
        return node;
    }
    uint32_t put_while(gpo_template_t recorded, gpo_stream_t of, const gpo_condition& condition, Template& body) {
        uint32_t node = last(recorded, of);
        CHECK_OK(gpo_template_add_while(recorded, &node, node ? 1 : 0, &condition, body.out(), &node));
        CHECK_OK(gpo_template_set_last_node(recorded, of, node));
        CHECK(last(recorded, of) == node);   // and no other
        return node;
    }
    void put_add(gpo_stream_t of, uint32_t word, uint32_t by) { CHECK_OK(launch(of, add, 1, 1, at(word), by)); }
    /// Records a step that sets word 0 to 1, an if on word 0 == `when` that sets word 1 to 7, and a while on word 2 < 3
    /// that adds 1 to word 2, sets word 3 to 3 * word 3 + `by`, and, if word 2 is 2, adds 5 to word 4. A last step sets
    /// word 1 to 3 * word 1 + its own number.
    void record_both(gpo_template_t recorded, uint32_t when, uint32_t by) {
        Template then, body, inner;
        begin(recorded);
        put_step(on, 0, 1);
        put_if(recorded, on, compare(GPO_COMPARE_EQUAL, 0, when), then);
        REQUIRE_OK(gpo_template_begin(then, deep));
        put_step(deep, 1, 7);
        CHECK_OK(gpo_template_end(then));
        loop = put_while(recorded, on, compare(GPO_COMPARE_LESS, 2, 3), body);
        REQUIRE_OK(gpo_template_begin(body, deep));
        put_add(deep, 2, 1);
        put_step(deep, 3, by);
        CHECK_OK(gpo_template_add_parameter(body, "by", last(body, deep), GPO_PARAMETER_ARGUMENT, 1));
        put_if(body, deep, compare(GPO_COMPARE_EQUAL, 2, 2), inner);
        REQUIRE_OK(gpo_template_begin(inner, deeper));
        put_add(deeper, 4, 5);
        CHECK_OK(gpo_template_end(inner));
        put_step(deep, 5, 1);
        CHECK_OK(gpo_template_end(body));
        put_step(on, 1, 2);
        CHECK_OK(gpo_template_end(recorded));
        CHECK(captures() == 0);
        CHECK(captures_to_graph() == 0);
    }
    void run_again(gpo_graph_t graph) {
        for (uint32_t i = 0; i < kWords; ++i) words[i] = 0;
        run(graph);
    }
    void check_both(gpo_graph_t graph, bool then, uint32_t by) {
        run_again(graph);
        CHECK(word(0) == 1);
        CHECK(word(1) == (then ? 7 * 3 + 2 : 2));
        CHECK(word(2) == 3);
        CHECK(word(3) == (by * 3 + by) * 3 + by);
        CHECK(word(4) == 5);
        CHECK(word(5) == 1 * 9 + 3 + 1);
    }
    Stream deep = stream("deep"), deeper = stream("deeper");
    uint32_t loop = 0;
};

/// Work of each kind that is added by itself: behind `after`, and one behind the other. Returns the last.
uint32_t add_kinds(NodesRig& rig, gpo_template_t to, uint32_t after, gpo_template_t child,
                   std::atomic<uint32_t>& calls) {
    uint32_t node = rig.node(to, rig.step, rig.at(0), 2, {after});
    CHECK_OK(gpo_template_add_fill(to, &node, 1, rig.memory, 7, 4, 4, &node));
    node = rig.copy(to, rig.at(1), rig.memory, {node});
    CHECK_OK(gpo_template_add_host_call(
        to, &node, 1, [](void* user) { ++*static_cast<std::atomic<uint32_t>*>(user); }, &calls, &node));
    CHECK_OK(gpo_template_add_event_record(to, &node, 1, rig.joined, &node));
    CHECK_OK(gpo_template_add_event_wait(to, &node, 1, rig.forked, &node));
    CHECK_OK(gpo_template_add_child(to, &node, 1, child, "child.", &node));
    CHECK_OK(gpo_template_add_empty(to, &node, 1, &node));
    return node;
}

}  // namespace

TEST_CASE("direct: conditionals and their recorded bodies need no capture, and several graphs are made of them") {
    NodesRig rig;
    if (rig.too_old()) return;
    Template recorded = make_template(rig);
    rig.record_both(recorded, 1, 4);
    Graph one = make_graph(recorded), two = make_graph(recorded);
    rig.check_both(one, true, 4);
    rig.check_both(two, true, 4);
    uint64_t iterations = 0;
    CHECK_OK(gpo_graph_get_loop(two, recorded, rig.loop, &iterations, nullptr));
    CHECK(iterations == 3);
    const uint32_t by = 6;
    CHECK_OK(gpo_graph_set(two, "by", &by, sizeof by));
    rig.check_both(two, true, 6);
    rig.check_both(one, true, 4);
    // A template with conditionals that was recorded is a child like any other.
    Template outer = make_template(rig);
    CHECK_OK(gpo_template_add_child(outer, nullptr, 0, recorded, nullptr, nullptr));
    rig.check_both(make_graph(outer), true, 4);
}

TEST_CASE("direct: a graph with conditionals is updated in place to a new recording") {
    NodesRig rig;
    if (rig.too_old()) return;
    Template recorded = make_template(rig);
    rig.record_both(recorded, 1, 4);
    Graph graph = make_graph(recorded), kept = make_graph(recorded);
    rig.check_both(graph, true, 4);
    const uint32_t by = 6;
    CHECK_OK(gpo_graph_set(kept, "by", &by, sizeof by));
    rig.record_both(recorded, 2, 5);   // the if isn't taken
    for (const gpo_graph_t each : {graph.get(), kept.get()}) {
        auto report = sized<gpo_graph_update_report>();
        CHECK_OK(gpo_graph_update(each, &report));
        CHECK(report.rebuilt == 0);
        CHECK(std::string(report.reason) == "");
    }
    rig.check_both(graph, false, 5);
    rig.check_both(kept, false, 6);
    for (const gpo_graph_t each : {graph.get(), kept.get()}) {
        uint64_t iterations = 0;
        CHECK_OK(gpo_graph_get_loop(each, recorded, rig.loop, &iterations, nullptr));
        CHECK(iterations == 3);
    }
    CHECK(captures() == 0);
    CHECK(captures_to_graph() == 0);
}

TEST_CASE("direct: a graph with conditionals is updated in place, even if most of its nodes differ") {
    NodesRig rig;
    if (rig.too_old()) return;
    Template recorded = make_template(rig);
    const auto record = [&](uint32_t by) {
        Template then;
        rig.begin(recorded);
        for (uint32_t word = 0; word < 3; ++word) rig.put_step(rig.on, word, by);
        rig.put_if(recorded, rig.on, rig.compare(GPO_COMPARE_EQUAL, 5, 0), then);
        REQUIRE_OK(gpo_template_begin(then, rig.deep));
        for (uint32_t word = 3; word < 5; ++word) rig.put_step(rig.deep, word, by);
        CHECK_OK(gpo_template_end(then));
        CHECK_OK(gpo_template_end(recorded));
    };
    record(1);
    Graph graph = make_graph(recorded);
    record(2);
    const Graph newer = make_graph(recorded);   // the driver has a graph of the new recording, too
    auto report = sized<gpo_graph_update_report>();
    CHECK_OK(gpo_graph_update(graph, &report));
    CHECK(report.rebuilt == 0);
    CHECK(std::string(report.reason) == "");
    rig.run_again(graph);
    for (uint32_t word = 0; word < 5; ++word) CHECK(rig.word(word) == 2);
}

TEST_CASE("direct: a condition that a kernel sets stays the graph's own where the graph is updated in place") {
    NodesRig rig;
    if (rig.too_old()) return;
    Kernel decide = rig.kernel(R"(
#include <gpuorch/device/graph.cuh>
extern "C" __global__ void decide(gpo::condition which, const unsigned* word, unsigned is) {
    gpo::set_condition(which, *word == is);
}
)", "decide");
    Template recorded = make_template(rig), then;
    const auto record = [&](uint32_t value, uint32_t is, bool twice) {
        rig.begin(recorded);
        CHECK_OK(launch(rig.on, rig.put, 1, 1, rig.at(0), value));
        const uint32_t put = rig.last(recorded, rig.on);
        CHECK_OK(launch(rig.on, decide, 1, 1, uint64_t{0}, rig.at(0), is));
        const uint32_t kernel = rig.last(recorded, rig.on);
        CHECK_OK(gpo_template_add_parameter(recorded, "is", kernel, GPO_PARAMETER_ARGUMENT, 2));
        CHECK_OK(gpo_template_add_parameter(recorded, "value", put, GPO_PARAMETER_ARGUMENT, 1));
        const uint32_t node = rig.put_if(recorded, rig.on, sized<gpo_condition>(), then);
        CHECK_OK(gpo_template_bind_condition(recorded, kernel, 0, recorded, node));
        rig.node(then, rig.put, rig.at(1), value);
        if (twice) rig.node(then, rig.put, rig.at(2), value);
        CHECK_OK(gpo_template_end(recorded));
        CHECK(captures() == 0);
    };
    record(4, 4, false);
    Graph first = make_graph(recorded), second = make_graph(recorded);
    const auto update = [&](gpo_graph_t graph) {
        auto report = sized<gpo_graph_update_report>();
        CHECK_OK(gpo_graph_update(graph, &report));
        return report.rebuilt == 0;
    };
    const auto written = [&](gpo_graph_t graph) {
        rig.run_again(graph);
        return rig.word(1);
    };
    for (const gpo_graph_t graph : {first.get(), second.get()}) CHECK(written(graph) == 4);
    for (const uint32_t value : {5u, 6u}) {
        record(value, value, false);
        for (const gpo_graph_t graph : {first.get(), second.get()}) {
            CHECK(update(graph));
            CHECK(written(graph) == value);
        }
    }
    const uint32_t is = 7;
    CHECK_OK(gpo_graph_set(second, "is", &is, sizeof is));
    CHECK(written(second) == 0);
    CHECK(written(first) == 6);
    record(7, 9, false);
    CHECK(update(second));            // with the value that was set
    CHECK(written(second) == 7);
    CHECK(update(first));
    CHECK(written(first) == 0);
    record(9, 9, true);               // another body
    CHECK(!update(first));
    CHECK(written(first) == 9);
    CHECK(rig.word(2) == 9);
}

TEST_CASE("direct: conditionals on two streams of a recording join by events, and wait for what the stream waits for") {
    NodesRig rig;
    if (rig.too_old()) return;
    Template recorded = make_template(rig), then, beside;
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    rig.fork();
    rig.put_if(recorded, rig.side, rig.compare(GPO_COMPARE_EQUAL, 6, 0), beside);
    rig.node(beside, rig.step, rig.at(1), 5);
    rig.put_step(rig.on, 0, 2);                 // word 0: 5
    rig.put_step(rig.side, 1, 1);               // word 1: 16
    rig.join();
    uint32_t node = 9;
    CHECK_OK(gpo_template_get_last_node(recorded, rig.on, &node));
    CHECK(node == 0);                           // several
    CHECK_OK(gpo_event_record(rig.forked, rig.on));
    const uint32_t of_side = rig.last(recorded, rig.side);
    CHECK(of_side == 5);
    const std::array<uint32_t, 2> both{4, of_side};
    const gpo_condition decides = rig.compare(GPO_COMPARE_EQUAL, 1, 16);
    CHECK_OK(gpo_template_add_if(recorded, both.data(), 2, &decides, then.out(), nullptr, &node));
    CHECK(node == 7);
    CHECK_OK(gpo_template_set_last_node(recorded, rig.on, node));
    rig.node(then, rig.step, rig.at(0), 3);     // word 0: 18
    rig.put_step(rig.on, 0, 4);                 // word 0: 58
    CHECK(rig.last(recorded, rig.on) == 8);
    CHECK_OK(gpo_template_end(recorded));
    CHECK(captures() == 0);
    CHECK(captures_to_graph() == 0);
    Graph graph = make_graph(recorded);
    for (int i = 0; i < 20; ++i) {
        rig.run_again(graph);
        CHECK(rig.word(0) == 58);
        CHECK(rig.word(1) == 16);
    }
}

TEST_CASE("direct: a conditional on a stream for which the first stream doesn't wait spoils a recording") {
    NodesRig rig;
    if (rig.too_old()) return;
    Template recorded = make_template(rig), body;
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    rig.fork();
    rig.put_if(recorded, rig.side, rig.compare(GPO_COMPARE_EQUAL, 0, 1), body);
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recorded));
    CHECK(says(refusal(), "doesn't wait"));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_add_empty(body, nullptr, 0, nullptr));
    // A node that no stream comes behind spoils nothing.
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    rig.node(recorded, rig.step, rig.at(1), 3);
    rig.put_step(rig.on, 0, 2);
    CHECK_OK(gpo_template_end(recorded));
    CHECK(captures() == 0);
    Graph graph = make_graph(recorded);
    rig.run_again(graph);
    CHECK(rig.word(0) == 5);
    CHECK(rig.word(1) == 3);
}

TEST_CASE(
    "direct: the driver's graph of a recording that fails or is cancelled is destroyed, and its template goes on") {
    for (const bool cancelled : {false, true}) {
        CAPTURE(cancelled);
        NodesRig rig;
        Template recorded = make_template(rig);
        rig.begin(recorded);
        rig.put_step(rig.on, 0, 1);
        rig.node(recorded, rig.step, rig.at(1), 3);
        rig.fork();
        rig.put_step(rig.side, 2, 1);
        if (cancelled) CHECK_OK(gpo_template_cancel(recorded));
        else CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recorded));
        CHECK(driver_calls::count(Function::cuGraphCreate) == 1);
        CHECK(driver_calls::count(Function::cuGraphDestroy) == 1);
        CHECK(rig.node(recorded, rig.step, rig.at(0), 5) == 1);
        Graph graph = make_graph(recorded);
        rig.run_again(graph);
        CHECK(rig.word(0) == 5);
        CHECK(rig.word(1) == 0);
    }
}

TEST_CASE("direct: nodes of all kinds are added to a recording, which stays direct or goes on in a capture") {
    for (const bool captured : {false, true}) {
        CAPTURE(captured);
        NodesRig rig;
        if (rig.too_old()) return;
        std::atomic<uint32_t> calls{0};
        Template recorded = make_template(rig), child = make_template(rig);
        rig.node(child, rig.step, rig.at(2), 3, {rig.node(child, rig.step, rig.at(2), 1)});
        rig.begin(recorded);
        rig.put_step(rig.on, 0, 1);
        rig.put_step(rig.on, 3, 1);
        uint32_t node = add_kinds(rig, recorded, rig.last(recorded, rig.on), child, calls);
        CHECK(node == 12);
        CHECK_OK(gpo_template_set_last_node(recorded, rig.on, node));
        if (captured) static_cast<void>(rig.native(rig.on));
        rig.put_step(rig.on, 0, 4);
        CHECK(rig.last(recorded, rig.on) == 13);
        node = rig.node(recorded, rig.step, rig.at(0), 5, {13});
        CHECK_OK(gpo_template_set_last_node(recorded, rig.on, node));
        rig.put_step(rig.on, 3, 2);
        CHECK_OK(gpo_template_end(recorded));
        CHECK(captures() == 0);
        CHECK(captures_to_graph() == captured);
        CHECK(figures_of(recorded).nodes == 15);
        CHECK_OK(gpo_event_record(rig.forked, rig.side));
        Graph graph = make_graph(recorded);
        rig.run_again(graph);
        CHECK(rig.word(0) == ((1 * 3 + 2) * 3 + 4) * 3 + 5);
        CHECK(rig.word(1) == 7);
        CHECK(rig.word(2) == 6);
        CHECK(rig.word(3) == 5);
        CHECK(calls == 1);
        CHECK_OK(gpo_event_wait(rig.joined, kPatience));
    }
}

TEST_CASE("direct: memory that exists while the graph runs is added to a recording") {
    NodesRig rig;
    Template recorded = make_template(rig);
    for (const bool captured : {false, true}) {
        CAPTURE(captured);
        rig.begin(recorded);
        rig.put_step(rig.on, 0, 1);
        uint32_t node = rig.last(recorded, rig.on);
        uint64_t address = 0;
        CHECK_OK(gpo_template_add_allocation(recorded, &node, 1, 64, &address, &node));
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_free(recorded, nullptr, 0, address, nullptr));
        CHECK_OK(gpo_template_cancel(recorded));
        rig.begin(recorded);
        rig.put_step(rig.on, 0, 1);
        CHECK_OK(gpo_template_add_allocation(recorded, &node, 0, 64, &address, &node));
        CHECK_OK(gpo_template_set_last_node(recorded, rig.on, node));
        CHECK_OK(gpo_fill(rig.on, address, 9, 4, 1));
        if (captured) static_cast<void>(rig.native(rig.on));
        CHECK_OK(gpo_copy_to_host(rig.on, &rig.words[1], address, 4));
        node = rig.last(recorded, rig.on);
        CHECK_OK(gpo_template_add_free(recorded, &node, 1, address, &node));
        CHECK_OK(gpo_template_set_last_node(recorded, rig.on, node));
        rig.put_step(rig.on, 2, 4);
        CHECK_OK(gpo_template_end(recorded));
        CHECK(captures() == 0);
        CHECK(captures_to_graph() == captured);
        Graph graph = make_graph(recorded);
        rig.run_again(graph);
        CHECK(rig.word(1) == 9);
        CHECK(rig.word(2) == 4);
    }
}

TEST_CASE("direct: what an added node uses stays with the recording, and nodes can be added after its end") {
    NodesRig rig;
    if (rig.too_old()) return;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const uint64_t word = rig.at(5);
    const void* arguments[] = {&word};
    uint32_t node = 1;
    CHECK_OK(gpo_template_add_kernel(recorded, &node, 1, rig.kernel_that_goes("gone"), &shape, arguments, nullptr, 1,
                                     &node));
    CHECK_OK(gpo_template_set_last_node(recorded, rig.on, node));
    rig.put_step(rig.on, 5, 2);
    CHECK_OK(gpo_template_end(recorded));
    rig.kernel_that_goes("later");   // a module that nobody uses is unloaded, and only that one
    const auto unloaded = [] { return driver_calls::count(Function::cuModuleUnload); };
    CHECK_OK(gpo_device_wait(rig.device, kPatience));   // for unloads, too
    CHECK(unloaded() == 1);
    CHECK(rig.node(recorded, rig.step, rig.at(5), 3, {3}) == 4);
    Graph graph = make_graph(recorded);
    rig.run_again(graph);
    CHECK(rig.word(5) == (11 * 3 + 2) * 3 + 3);
    CHECK(captures() == 0);
}

TEST_CASE("direct: a kernel that is recorded sets the condition of a node that is added behind it") {
    NodesRig rig;
    if (rig.too_old()) return;
    Kernel decide = rig.kernel(R"(
#include <gpuorch/device/graph.cuh>
extern "C" __global__ void decide(gpo::condition which, const unsigned* word) { gpo::set_condition(which, *word == 4); }
)", "decide");
    Template recorded = make_template(rig), then;
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 4);
    CHECK_OK(launch(rig.on, decide, 1, 1, uint64_t{0}, rig.at(0)));
    const uint32_t kernel = rig.last(recorded, rig.on);
    auto by_kernel = sized<gpo_condition>();
    const uint32_t node = rig.put_if(recorded, rig.on, by_kernel, then);
    CHECK_OK(gpo_template_bind_condition(recorded, kernel, 0, recorded, node));
    rig.node(then, rig.put, rig.at(1), 8);
    rig.put_step(rig.on, 1, 1);
    CHECK_OK(gpo_template_end(recorded));
    CHECK(captures() == 0);
    Graph one = make_graph(recorded), two = make_graph(recorded);
    for (const gpo_graph_t graph : {one.get(), two.get()}) {
        rig.run_again(graph);
        CHECK(rig.word(1) == 25);
    }
}

TEST_CASE("direct: a recording with conditionals goes on in a capture, with their bodies and with the work of others") {
    for (const bool of_joined : {false, true}) {
        CAPTURE(of_joined);
        NodesRig rig;
        if (rig.too_old()) return;
        Template recorded = make_template(rig), then, later;
        rig.begin(recorded);
        rig.put_step(rig.on, 0, 1);
        rig.fork();
        rig.put_if(recorded, rig.on, rig.compare(GPO_COMPARE_EQUAL, 0, 1), then);
        rig.node(then, rig.step, rig.at(0), 2);     // word 0: 5
        rig.put_step(rig.side, 1, 3);
        CHECK_OK(gpo_event_record(rig.joined, rig.side));
        const CUstream native = rig.native(of_joined ? rig.side : rig.on);
        CHECK(captures_to_graph() == 1);
        rig.fill_natively(native, 5);
        rig.node(then, rig.step, rig.at(2), 6);     // the body can be added to as before
        rig.put_step(rig.on, 0, 4);                 // word 0: 19
        if (of_joined) CHECK_OK(gpo_stream_wait_stream(rig.on, rig.side));
        CHECK_OK(gpo_stream_wait_event(rig.on, rig.joined));
        rig.put_step(rig.on, 1, 4);                 // word 1: 13
        CHECK_OK(gpo_copy_to_host(rig.on, &rig.words[3], rig.memory, 4));
        rig.put_if(recorded, rig.on, rig.compare(GPO_COMPARE_EQUAL, 1, 13), later);
        rig.node(later, rig.step, rig.at(0), 1);    // word 0: 58
        CHECK_OK(gpo_template_end(recorded));
        CHECK(captures() == 0);
        CHECK(figures_of(recorded).nodes == 10);
        Graph one = make_graph(recorded), two = make_graph(recorded);
        for (const gpo_graph_t graph : {one.get(), two.get()}) {
            rig.run_again(graph);
            CHECK(rig.word(0) == 58);
            CHECK(rig.word(1) == 13);
            CHECK(rig.word(2) == 6);
            CHECK(rig.word(3) == 5);
        }
    }
}

TEST_CASE("direct: a node that is added brings a recording into a capture if the driver captures into no graph") {
    NodesRig rig(true);
    if (rig.too_old()) return;
    Template recorded = make_template(rig), then;
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    CHECK(captures() == 0);
    rig.put_if(recorded, rig.on, rig.compare(GPO_COMPARE_EQUAL, 0, 1), then);
    CHECK(captures() == 1);
    rig.node(then, rig.step, rig.at(0), 2);
    rig.put_step(rig.on, 0, 4);
    CHECK_OK(gpo_template_end(recorded));
    CHECK(figures_of(recorded).nodes == 4);
    Graph graph = make_graph(recorded);
    rig.run_again(graph);
    CHECK(rig.word(0) == 19);
}

TEST_CASE("direct: a refused addition fails the recording, writes no handle, and the next recording is whole") {
    const Function functions[] = {Function::cuGraphCreate, Function::cuGraphConditionalHandleCreate,
                                  Function::cuGraphAddNode, Function::cuGraphKernelNodeSetAttribute};
    for (const Function function : functions)
        for (uint64_t kth = 1; kth < 40; ++kth) {
            CAPTURE(gpo::driver::function_name(function));
            CAPTURE(kth);
            NodesRig rig;
            if (rig.too_old()) return;
            auto options = sized<gpo_stream_options>();
            options.priority = -1;   // an attribute of its kernels
            REQUIRE_OK(gpo_stream_create(rig.device, &options, rig.on.out()));
            Template recorded = make_template(rig);
            rig.begin(recorded);
            rig.put_step(rig.on, 0, 1);
            rig.put_step(rig.on, 0, 2);
            const uint32_t two = 2;
            const gpo_condition decides = rig.compare(GPO_COMPARE_EQUAL, 0, 5);
            auto* const none = reinterpret_cast<gpo_template_t>(uintptr_t{77});
            gpo_template_t body = none;
            uint32_t node = 77;
            driver_faults::arm({function, kth, CUDA_ERROR_OUT_OF_MEMORY});
            const gpo_status status = gpo_template_add_if(recorded, &two, 1, &decides, &body, nullptr, &node);
            const bool refused = driver_faults::failed() != 0;
            driver_faults::disarm();
            if (status == GPO_SUCCESS) {
                CHECK(node == 4);
                CHECK_OK(gpo_template_destroy(body));
            } else {
                CHECK(status == GPO_OUT_OF_MEMORY);
                CHECK(body == none);
                CHECK(node == 77);
            }
            rig.put_step(rig.on, 0, 3);
            CHECK_STATUS(status == GPO_SUCCESS ? GPO_SUCCESS : GPO_OUT_OF_MEMORY, gpo_template_end(recorded));
            rig.on = rig.stream("again");
            rig.record_both(recorded, 1, 4);
            rig.check_both(make_graph(recorded), true, 4);
            if (!refused) break;
        }
}

TEST_CASE("direct: a recording with a conditional whose move into a capture is refused goes on or fails whole") {
    const Function functions[] = {Function::cuStreamBeginCaptureToGraph, Function::cuStreamGetCaptureInfo,
                                  Function::cuGraphAddNode,              Function::cuEventCreate,
                                  Function::cuEventRecord,               Function::cuStreamWaitEvent,
                                  Function::cuStreamUpdateCaptureDependencies};
    for (const Function function : functions)
        for (uint64_t kth = 1;; ++kth) {
            CAPTURE(gpo::driver::function_name(function));
            CAPTURE(kth);
            NodesRig rig;
            if (rig.too_old()) return;
            Template recorded = make_template(rig), then;
            rig.begin(recorded);
            rig.put_step(rig.on, 0, 1);
            rig.put_if(recorded, rig.on, rig.compare(GPO_COMPARE_EQUAL, 0, 1), then);
            rig.fork();
            rig.put_step(rig.side, 1, 2);
            CHECK_OK(gpo_event_record(rig.joined, rig.side));
            driver_faults::arm({function, kth, CUDA_ERROR_OUT_OF_MEMORY});
            void* native = nullptr;
            const gpo_status status = gpo_event_get_native(rig.joined, &native);
            const bool refused = driver_faults::failed() != 0;
            driver_faults::disarm();
            CHECK(status == (refused ? GPO_OUT_OF_MEMORY : GPO_SUCCESS));
            // The call names no stream of the recording, and spoils nothing.
            CHECK_OK(gpo_stream_wait_event(rig.on, rig.joined));
            rig.node(then, rig.step, rig.at(0), 2);
            rig.put_step(rig.on, 0, 4);
            CHECK_OK(gpo_template_end(recorded));
            CHECK(captures() == 0);
            Graph graph = make_graph(recorded);
            rig.run_again(graph);
            CHECK(rig.word(0) == 19);
            CHECK(rig.word(1) == 2);
            if (!refused) break;
        }
}

namespace {
const gpo::driver::Table* g_table = nullptr;
CUstream g_captured = nullptr;
}  // namespace

TEST_CASE("direct: a capture that breaks while a recording enters it takes the bodies with it, and the streams go on") {
    NodesRig rig;
    if (rig.too_old()) return;
    Template recorded = make_template(rig), then, within;
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    rig.put_if(recorded, rig.on, rig.compare(GPO_COMPARE_EQUAL, 0, 1), then);
    const gpo_condition decides = rig.compare(GPO_COMPARE_EQUAL, 0, 1);
    CHECK_OK(gpo_template_add_if(then, nullptr, 0, &decides, within.out(), nullptr, nullptr));
    {
        const gpo::Pin<gpo::Stream> pin(rig.on.get());
        g_table = &pin->table();
        g_captured = pin->native();
    }
    // The hook makes a call that breaks the capture, between two driver calls of the library.
    driver_faults::arm({Function::cuEventCreate, UINT64_MAX, CUDA_SUCCESS, false, [](Function, uint64_t) noexcept {
                            static_cast<void>(g_table->cuStreamSynchronize(g_captured));
                        }});
    void* native = nullptr;
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_get_native(rig.on, &native));
    driver_faults::disarm();
    CHECK(captures_to_graph() == 1);
    for (const gpo_template_t of : {then.get(), within.get()})
        CHECK_STATUS(GPO_INVALID_STATE, gpo_template_add_empty(of, nullptr, 0, nullptr));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_add_empty(recorded, nullptr, 0, nullptr));
    CHECK(says(refusal(), "destroyed the recording's graph"));
    rig.put_step(rig.on, 0, 2);
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recorded));
    rig.put_step(rig.on, 9, 2);
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(rig.word(9) == 2);
    rig.on = rig.stream("again");
    rig.record_both(recorded, 1, 4);
    rig.check_both(make_graph(recorded), true, 4);
}

TEST_CASE("direct: a recording enters no capture while a node is added") {
    struct Asks {
        static std::thread& thread() {
            static std::thread asks;
            return asks;
        }
    };
    static gpo_stream_t of = nullptr;
    static uint64_t captures_meanwhile = 0;
    NodesRig rig;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    rig.put_step(rig.on, 0, 2);
    of = rig.on;
    const auto watch = [](Function, uint64_t number) noexcept {
        if (number != 3) return;   // the node itself
        Asks::thread() = std::thread([] {
            void* native = nullptr;
            CHECK_OK(gpo_stream_get_native(of, &native));
        });
        // The other thread comes to a lock, and no call shows that.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        captures_meanwhile = captures_to_graph();
    };
    driver_faults::arm({Function::cuGraphAddNode, UINT64_MAX, CUDA_SUCCESS, false, watch});
    CHECK(rig.node(recorded, rig.step, rig.at(0), 3, {2}) == 3);
    Asks::thread().join();
    driver_faults::disarm();
    CHECK(captures_meanwhile == 0);
    CHECK(captures_to_graph() == 1);
    CHECK_OK(gpo_template_set_last_node(recorded, rig.on, 3));
    rig.put_step(rig.on, 0, 4);
    CHECK_OK(gpo_template_end(recorded));
    CHECK(figures_of(recorded).nodes == 4);
    Graph graph = make_graph(recorded);
    rig.run_again(graph);
    CHECK(rig.word(0) == ((1 * 3 + 2) * 3 + 3) * 3 + 4);
}

TEST_CASE("direct: no node is lost where nodes are added while another thread asks for the native handle") {
    NodesRig rig;
    constexpr uint32_t kNodes = 40;
    for (int round = 0; round < 20; ++round) {
        CAPTURE(round);
        rig.side = rig.stream("round");
        Template recorded = make_template(rig);
        for (uint32_t i = 0; i < rig.kWords; ++i) rig.words[i] = 0;
        REQUIRE_OK(gpo_template_begin(recorded, rig.side));
        std::atomic<uint32_t> put{0};
        std::thread asks([&] {
            while (put.load() < 2 * static_cast<uint32_t>(round)) std::this_thread::yield();
            static_cast<void>(rig.native(rig.side));
        });
        // One behind the other.
        uint32_t expected = 0;
        for (uint32_t i = 0; i < kNodes; ++i, ++put) {
            expected = expected * 3 + i;
            if (i % 2 == 0) {
                rig.put_step(rig.side, 0, i);
                continue;
            }
            const uint32_t alone = rig.node(recorded, rig.step, rig.at(0), i, {rig.last(recorded, rig.side)});
            CHECK_OK(gpo_template_set_last_node(recorded, rig.side, alone));
        }
        asks.join();
        CHECK_OK(gpo_template_end(recorded));
        CHECK(figures_of(recorded).nodes == kNodes);
        Graph graph = make_graph(recorded);
        rig.run(graph);
        CHECK(rig.word(0) == expected);
    }
}
