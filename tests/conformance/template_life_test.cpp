// The ends of templates and graphs: handles that go in any order while launches are held or run, streams and runtimes
// that go during a recording.
#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

constexpr uint32_t kValue = 7;

/// A graph that adds to a word of pinned memory, writes another, and records an event; and all its parts.
struct Life {
    explicit Life(Gpu& gpu) : words(gpu.pinned<uint32_t>(2)), stream(gpu.stream()), event(gpu.event()) {
        auto options = sized<gpo_compile_options>();
        options.source = "extern \"C\" __global__ void count(unsigned* target) { atomicAdd(target, 1u); }";
        REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
        REQUIRE_OK(gpo_module_get_kernel(module, "count", kernel.out()));
        REQUIRE_OK(gpo_template_create(gpu.device, nullptr, recorded.out()));
        REQUIRE_OK(gpo_template_begin(recorded, stream));
        CHECK_OK(launch(stream, kernel, 1, 1, &words[0]));
        uint32_t node = 0;
        CHECK_OK(gpo_template_get_last_node(recorded, stream, &node));
        CHECK_OK(gpo_template_add_event_record(recorded, &node, 1, event, &node));
        CHECK_OK(gpo_template_add_fill(recorded, &node, 1, words.address() + sizeof(uint32_t), 0, 4, 1, &node));
        CHECK_OK(gpo_template_add_parameter(recorded, "value", node, GPO_PARAMETER_VALUE, 0));
        CHECK_OK(gpo_template_set_last_node(recorded, stream, node));
        REQUIRE_OK(gpo_template_end(recorded));
        REQUIRE_OK(gpo_graph_create(recorded, nullptr, graph.out()));
    }
    /// Launches by a graph of the user's, and by the template's own graph.
    void launch_both() {
        CHECK_OK(gpo_template_launch(recorded, stream, nullptr, 0, 0));
        CHECK_OK(gpo_graph_set(graph, "value", &kValue, sizeof kValue));
        CHECK_OK(gpo_graph_launch(graph, stream));
    }
    /// Destroys the objects 0 to 4 in this order.
    void destroy(const std::vector<int>& order) {
        for (const int which : order) {
            switch (which) {
                case 0: recorded.reset(); break;
                case 1: graph.reset(); break;
                case 2: kernel.reset(), module.reset(); break;
                case 3: event.reset(); break;
                default: stream.reset();
            }
        }
    }
    void check() const {
        CHECK(read(words[0]) == 2);
        CHECK(read(words[1]) == kValue);
    }
    Pinned<uint32_t> words;
    Stream stream;
    Event event;
    Module module;
    Kernel kernel;
    Template recorded;
    Graph graph;
};

/// Calls `test` with 0 to 4 in each order.
void each_order(const std::function<void(const std::vector<int>&)>& test) {
    std::vector<int> order{0, 1, 2, 3, 4};
    do {
        std::string text;
        for (const int which : order) text += std::to_string(which);
        CAPTURE(text);
        test(order);
    } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace

TEST_CASE("handles are destroyed in every order while launches are held, and the launches run all the same") {
    Gpu gpu;
    each_order([&](const std::vector<int>& order) {
        Life life(gpu);
        Timeline go = gpu.timeline();
        REQUIRE_OK(gpo_stream_wait_timeline(life.stream, go, 1));
        life.launch_both();
        life.destroy(order);
        CHECK(read(life.words[0]) == 0);
        CHECK_OK(gpo_timeline_signal(go, 1));
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
        life.check();
    });
}

TEST_CASE("handles are destroyed in every order while launches run, and the launches run to their end" * gated) {
    Gpu gpu;
    each_order([&](const std::vector<int>& order) {
        Life life(gpu);
        Gate gate(gpu);
        REQUIRE_OK(gpo_template_prepare(life.recorded, 1, life.stream));
        REQUIRE_OK(gpo_stream_wait(life.stream, kPatience));
        gate.put_on(life.stream);
        life.launch_both();
        // With some drivers, unloading waits for running work: another thread opens the gate meanwhile.
        std::thread opens([&] { gate.open(); });
        life.destroy(order);
        opens.join();
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
        life.check();
    });
}

TEST_CASE("held launches that are cancelled leave the graph as it was") {
    Gpu gpu;
    Life life(gpu);
    Timeline go = gpu.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(life.stream, go, 1));
    life.launch_both();
    CHECK_OK(gpo_stream_cancel_held(life.stream, nullptr));
    CHECK_OK(gpo_stream_wait(life.stream, kPatience));
    CHECK(read(life.words[0]) == 0);
    life.launch_both();
    CHECK_OK(gpo_stream_wait(life.stream, kPatience));
    life.check();
}

TEST_CASE("a stream that is destroyed while it is recorded stays until the recording ends") {
    for (const bool ended : {true, false}) {
        CAPTURE(ended);
        Gpu gpu;
        Life life(gpu);
        REQUIRE_OK(gpo_template_begin(life.recorded, life.stream));
        CHECK_OK(launch(life.stream, life.kernel, 1, 1, &life.words[0]));
        CHECK_OK(launch(life.stream, life.kernel, 1, 1, &life.words[0]));
        CHECK_OK(gpo_stream_destroy(life.stream.release()));
        if (ended)
            CHECK_OK(gpo_template_end(life.recorded));
        else
            CHECK_OK(gpo_template_destroy(life.recorded.release()));
        Stream other = gpu.stream();
        CHECK_OK(gpo_graph_update(life.graph, nullptr));
        CHECK_OK(gpo_graph_launch(life.graph, other));
        CHECK_OK(gpo_stream_wait(other, kPatience));
        CHECK(read(life.words[0]) == (ended ? 2 : 1));
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    }
}

TEST_CASE("a template that is destroyed while it is recorded leaves the streams as they were") {
    Gpu gpu;
    Life life(gpu);
    Stream joined = gpu.stream();
    REQUIRE_OK(gpo_template_begin(life.recorded, life.stream));
    CHECK_OK(launch(life.stream, life.kernel, 1, 1, &life.words[0]));
    CHECK_OK(gpo_event_record(life.event, life.stream));
    CHECK_OK(gpo_stream_wait_event(joined, life.event));
    CHECK_OK(launch(joined, life.kernel, 1, 1, &life.words[0]));
    CHECK_OK(gpo_template_destroy(life.recorded.release()));
    CHECK_OK(launch(life.stream, life.kernel, 1, 1, &life.words[0]));
    CHECK_OK(launch(joined, life.kernel, 1, 1, &life.words[0]));
    CHECK_OK(gpo_stream_wait(life.stream, kPatience));
    CHECK_OK(gpo_stream_wait(joined, kPatience));
    CHECK(read(life.words[0]) == 2);
}

TEST_CASE("a runtime shuts down with graphs alive, launches held, and during a recording") {
    auto gpu = std::make_unique<Gpu>();
    Queue queue = gpu->queue();
    Life life(*gpu);
    Stream held = gpu->stream();
    Timeline never = gpu->timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(held, never, 1));
    CHECK_OK(gpo_graph_launch(life.graph, held));
    CHECK_OK(gpo_template_launch(life.recorded, held, nullptr, 0, 0));
    CHECK_OK(gpo_stream_notify(held, queue, 1));
    CHECK_OK(gpo_graph_launch(life.graph, life.stream));
    CHECK_OK(gpo_stream_notify(life.stream, queue, 2));
    CHECK_OK(gpo_template_begin(life.recorded, life.stream));
    CHECK_OK(launch(life.stream, life.kernel, 1, 1, &life.words[0]));
    gpu.reset();  // which fails if it can't be shut down
    for (const gpo_completion& entry : take(queue, 2))
        CHECK(entry.status == (entry.user_data == 1 ? GPO_CANCELLED : GPO_SUCCESS));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_template_end(life.recorded));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_graph_launch(life.graph, life.stream));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_graph_destroy(life.graph.release()));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_template_destroy(life.recorded.release()));
}
