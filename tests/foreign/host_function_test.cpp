// Host functions in graphs and streams that the library has not made. The library notices that it is called in such a
// function only when the driver refuses a call.
#include <functional>

#include "foreign/graph.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

struct Body {
    std::function<void()> run;
    int came = 0;
    static void CUDA_CB call(void* body) {
        auto& self = *static_cast<Body*>(body);
        self.run();
        ++self.came;
    }
};

/// Makes calls of each kind in a host function. No call waits for the function's own stream.
struct FunctionRig : GraphRig {
    FunctionRig() {
        auto info = sized<gpo_driver_info>();
        REQUIRE_OK(gpo_runtime_get_driver(runtime, &info));
        refuses = info.software != 0;
    }
    /// Checks a status: the software GPU refuses every driver call in a host function, and CUDA may refuse it.
    void may_refuse(const char* function, gpo_status status) {
        INFO(std::string(function));
        if (status == GPO_WOULD_DEADLOCK) {
            auto error = sized<gpo_error>();
            gpo_last_error(&error);
            CHECK(std::string(error.message).find("called in a host node") == 0);
        } else {
            CHECK_FALSE(refuses);
            CHECK(status == GPO_SUCCESS);
        }
    }
    void call_all() {
        uint64_t address = 0;
        gpo_event_t created = nullptr;
        gpo_stream_t stream = nullptr;
        may_refuse("gpo_stream_query", gpo_stream_query(other));
        may_refuse("gpo_stream_wait", gpo_stream_wait(other, 0));
        may_refuse("gpo_event_query", gpo_event_query(event));
        may_refuse("gpo_event_record", gpo_event_record(event, other));
        may_refuse("gpo_stream_wait_event", gpo_stream_wait_event(other, event));
        may_refuse("gpo_fill", gpo_fill(other, word(0), 1, 4, 1));
        may_refuse("launch", launch(other, add_kernel, 1, 1, word(0), 1u));
        may_refuse("gpo_stream_wait_stream", gpo_stream_wait_stream(other, spare_stream));
        may_refuse("gpo_event_create", gpo_event_create(device, nullptr, &created));
        may_refuse("gpo_stream_create", gpo_stream_create(device, nullptr, &stream));
        gpo_status freed = gpo_memory_allocate(device, 4096, nullptr, &address);
        may_refuse("gpo_memory_allocate", freed);
        if (freed == GPO_SUCCESS) may_refuse("gpo_memory_free", gpo_memory_free(device, address));
        if (refuses) {   // otherwise these calls would succeed
            may_refuse("gpo_event_destroy", gpo_event_destroy(spare_event));
            may_refuse("gpo_stream_destroy", gpo_stream_destroy(spare_stream));
            may_refuse("gpo_graph_destroy", gpo_graph_destroy(spare_graph));
            may_refuse("gpo_runtime_shutdown", gpo_runtime_shutdown(runtime, 0));
        }
        if (created) gpo_event_destroy(created);
        if (stream) gpo_stream_destroy(stream);
        uint64_t value = 0;
        CHECK_OK(gpo_timeline_get_value(timeline, &value));
        CHECK_OK(gpo_timeline_signal(timeline, value + 1));
    }
    void goes_on() {
        auto lost = sized<gpo_error>();
        CHECK_OK(gpo_object_get_error(device, &lost));
        CHECK(lost.status != GPO_DEVICE_LOST);
        CHECK_OK(launch(other, add_kernel, 1, 1, word(0), 1u));
        CHECK_OK(gpo_stream_wait(other, kPatience));
        CHECK_OK(gpo_device_wait(device, kPatience));
        CHECK_OK(gpo_graph_launch(spare_graph, spare_stream));
        CHECK_OK(gpo_event_record(spare_event, spare_stream));
    }

    bool refuses = false;
    Stream other = stream("other");
    Event event = Gpu::event();
    Timeline timeline = Gpu::timeline();
    Template empty = [this] {
        Template made;
        REQUIRE_OK(gpo_template_create(device, nullptr, made.out()));
        REQUIRE_OK(gpo_template_add_empty(made, nullptr, 0, nullptr));
        return made;
    }();
    Event spare_event = Gpu::event();
    Stream spare_stream = stream("spare");
    Graph spare_graph = [this] {
        Graph made;
        REQUIRE_OK(gpo_graph_create(empty, nullptr, made.out()));
        return made;
    }();
};

}  // namespace

TEST_CASE("calls in a host node of an imported graph are refused where the driver refuses them, and nothing is lost") {
    FunctionRig rig;
    Body body{[&] { rig.call_all(); }};
    Made original(rig);
    CUgraphNodeParams node{};
    node.type = CU_GRAPH_NODE_TYPE_HOST;
    node.host.fn = Body::call;
    node.host.userData = &body;
    original.add(node);
    Template imported;
    REQUIRE_OK(gpo_template_import(rig.device, original, nullptr, imported.out()));
    Graph graph;
    REQUIRE_OK(gpo_graph_create(imported, nullptr, graph.out()));
    for (int round = 1; round <= 2; ++round) {
        CHECK_OK(gpo_graph_launch(graph, rig.on));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK(body.came == round);
        rig.goes_on();
    }
}

TEST_CASE("the same in a function that another library's call has put into a recording, and on a stream") {
    FunctionRig rig;
    Body body{[&] { rig.call_all(); }};
    Template recorded;
    REQUIRE_OK(gpo_template_create(rig.device, nullptr, recorded.out()));
    REQUIRE_OK(gpo_template_begin(recorded, rig.on));
    RAW_OK(rig.cu.cuLaunchHostFunc(rig.native, Body::call, &body));
    REQUIRE_OK(gpo_template_end(recorded));
    Graph graph;
    REQUIRE_OK(gpo_graph_create(recorded, nullptr, graph.out()));
    CHECK_OK(gpo_graph_launch(graph, rig.on));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(body.came == 1);
    rig.goes_on();
    RAW_OK(rig.cu.cuLaunchHostFunc(rig.native, Body::call, &body));
    rig.sync();
    CHECK(body.came == 2);
    rig.goes_on();
}

TEST_CASE("a stream that is held behind a timeline goes on when a function signals it that the library doesn't know") {
    FunctionRig rig;
    CHECK_OK(gpo_stream_wait_timeline(rig.other, rig.timeline, 1));
    CHECK_OK(launch(rig.other, rig.add_kernel, 1, 1, rig.word(3), 4u));
    Body body{[&] { CHECK_OK(gpo_timeline_signal(rig.timeline, 1)); }};
    RAW_OK(rig.cu.cuLaunchHostFunc(rig.native, Body::call, &body));
    CHECK_OK(gpo_stream_wait(rig.other, kPatience));
    CHECK(rig.value(3) == 4);
    rig.sync();
    CHECK(body.came == 1);
}
