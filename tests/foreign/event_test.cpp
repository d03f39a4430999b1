// The program records events of the library itself, by their native handles or in graphs. The library then queries the
// driver for their state.
#include <string>

#include "foreign/graph.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

struct Rig : GraphRig {
    explicit Rig(uint32_t flags = 0) : gate(*this), writer(*this), event(GraphRig::event(flags)) {}
    CUevent native_event() {
        void* out = nullptr;
        REQUIRE_OK(gpo_event_get_native(event, &out));
        return static_cast<CUevent>(out);
    }
    /// A template whose work waits for the gate.
    Template made() {
        Template out;
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_create(device, nullptr, out.out()));
        REQUIRE_OK(gpo_template_begin(out, on));
        gate.put_on(on);
        REQUIRE_OK(writer.write(on, &this->out[1], 7));
        REQUIRE_OK(gpo_template_get_last_node(out, on, &node));
        REQUIRE_OK(gpo_template_add_event_record(out, &node, 1, event, nullptr));
        REQUIRE_OK(gpo_template_end(out));
        return out;
    }
    /// Checks that a stream, a held stream and a completion queue wait for the event until the gate is opened.
    void check_waited_for() {
        Stream waiting = stream("waiting"), held = stream("held");
        Timeline go = timeline();
        Queue queue = GraphRig::queue();
        CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
        REQUIRE_OK(gpo_stream_wait_event(waiting, event));
        REQUIRE_OK(writer.add(waiting, &out[2], &out[1], 1));
        REQUIRE_OK(gpo_stream_wait_timeline(held, go, 1));
        REQUIRE_OK(gpo_stream_wait_event(held, event));
        REQUIRE_OK(writer.add(held, &out[3], &out[1], 2));
        REQUIRE_OK(gpo_timeline_signal(go, 1));
        REQUIRE_OK(gpo_event_notify(event, queue, 1));
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(waiting, 1'000'000));
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(held, 1'000'000));
        CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 1'000'000));
        gate.open();
        CHECK_OK(gpo_stream_wait(waiting, kPatience));
        CHECK_OK(gpo_stream_wait(held, kPatience));
        CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
        CHECK(read(out[2]) == 8);
        CHECK(read(out[3]) == 9);
        CHECK_OK(gpo_event_query(event));
    }
    Gate gate;
    Writer writer;
    Event event;
};

}  // namespace

TEST_CASE("an event that the program records by its native handle is waited for, whatever was recorded before" *
          gated) {
    for (const bool before : {false, true}) {
        CAPTURE(before);
        Rig rig;
        Stream held = rig.stream();
        Timeline go = rig.timeline();
        const CUevent native = rig.native_event();
        if (before) {   // the held stream then waits for this earlier record
            REQUIRE_OK(gpo_event_record(rig.event, rig.on));
            REQUIRE_OK(gpo_stream_wait_timeline(held, go, 1));
            REQUIRE_OK(gpo_stream_wait_event(held, rig.event));
            REQUIRE_OK(gpo_timeline_signal(go, 1));
            CHECK_OK(gpo_stream_wait(held, kPatience));
        }
        rig.gate.put_on(rig.on);
        REQUIRE_OK(rig.writer.write(rig.on, &rig.out[1], 7));
        RAW_OK(rig.cu.cuEventRecord(native, rig.native));
        rig.check_waited_for();
    }
}

TEST_CASE("graphs that the program launches by native handles record the library's events" * gated) {
    for (const std::string how : {"graph", "template", "imported"}) {
        CAPTURE(how);
        Rig rig;
        Template made = rig.made(), imported;
        Graph graph;
        void* native = nullptr;
        if (how == "graph") {
            REQUIRE_OK(gpo_graph_create(made, nullptr, graph.out()));
            REQUIRE_OK(gpo_graph_get_native(graph, &native));
            RAW_OK(rig.cu.cuGraphLaunch(static_cast<CUgraphExec>(native), rig.native));
            rig.check_waited_for();
            continue;
        }
        REQUIRE_OK(gpo_template_get_native(made, &native));
        if (how == "imported") {
            REQUIRE_OK(gpo_template_import(rig.device, native, nullptr, imported.out()));
            REQUIRE_OK(gpo_graph_create(imported, nullptr, graph.out()));
            REQUIRE_OK(gpo_graph_launch(graph, rig.on));
            rig.check_waited_for();
            continue;
        }
        CUgraphExec exec = nullptr;
        RAW_OK(rig.cu.cuGraphInstantiateWithFlags(&exec, static_cast<CUgraph>(native), 0));
        RAW_OK(rig.cu.cuGraphLaunch(exec, rig.native));
        rig.check_waited_for();
        RAW_OK(rig.cu.cuGraphExecDestroy(exec));
    }
}

TEST_CASE("what the program records by the native handle is timed, and what it hasn't recorded was never recorded") {
    Rig rig(GPO_EVENT_TIMING);
    Queue queue = rig.queue();
    Event other = rig.GraphRig::event(GPO_EVENT_TIMING);
    const CUevent native = rig.native_event();
    int64_t time = -1;
    REQUIRE_OK(gpo_event_record(other, rig.on));
    CHECK_OK(gpo_event_wait(other, kPatience));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_event_get_elapsed(rig.event, other, &time));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_event_get_elapsed(other, rig.event, &time));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_notify_timed(rig.on, queue, 1, rig.event));
    RAW_OK(rig.cu.cuEventRecord(native, rig.native));
    REQUIRE_OK(gpo_stream_notify_timed(rig.on, queue, 1, rig.event));
    CHECK(take(queue, 1)[0].gpu_ns >= 0);
    CHECK_OK(gpo_event_get_elapsed(other, rig.event, &time));
    CHECK(time >= 0);
}

TEST_CASE("a stream joins the program's capture by an event of the library's, whoever recorded it there") {
    Rig rig;
    Stream joining = rig.stream("joining"), held = rig.stream("held");
    Event join = rig.GraphRig::event();
    Queue queue = rig.queue();
    Timeline go = rig.timeline();
    const CUevent native = rig.native_event();
    void* exposed = nullptr;
    REQUIRE_OK(gpo_stream_get_native(rig.on, &exposed));
    Made graph(rig, rig.capture([&] {
        RAW_OK(rig.cu.cuEventRecord(native, rig.native));
        REQUIRE_OK(gpo_stream_wait_event(joining, rig.event));
        REQUIRE_OK(rig.writer.write(joining, &rig.out[1], 5));
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_query(joining));
        REQUIRE_OK(gpo_event_record(join, joining));
        REQUIRE_OK(gpo_stream_wait_event(rig.on, join));
    }));
    CHECK(graph.nodes().size() == 1);
    CHECK_OK(gpo_stream_query(joining));
    // After the capture, events that were recorded in it are refused.
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait_event(held, join));
    REQUIRE_OK(gpo_stream_wait_timeline(held, go, 1));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait_event(held, join));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_event_notify(join, queue, 1));
    REQUIRE_OK(gpo_timeline_signal(go, 1));
    CHECK_OK(gpo_stream_wait(held, kPatience));
    CHECK_OK(gpo_stream_wait(joining, kPatience));
}

TEST_CASE("an external event in the program's capture is a node of the program's graph") {
    Rig rig(GPO_EVENT_EXTERNAL);
    void* exposed = nullptr;
    REQUIRE_OK(gpo_stream_get_native(rig.on, &exposed));
    Made graph(rig, rig.capture([&] {
        rig.gate.put_on(rig.on);
        REQUIRE_OK(rig.writer.write(rig.on, &rig.out[1], 7));
        REQUIRE_OK(gpo_event_record(rig.event, rig.on));
    }));
    CHECK(graph.nodes().size() == 3);
    CUgraphExec exec = nullptr;
    RAW_OK(rig.cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    RAW_OK(rig.cu.cuGraphLaunch(exec, rig.native));
    rig.check_waited_for();
    RAW_OK(rig.cu.cuGraphExecDestroy(exec));
}
