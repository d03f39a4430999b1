// gpuorch/device/graph.cuh: included by sources that the library compiles, and its kernels outside of graphs. Its
// functions in graphs are tested in foreign/device_graph_test.cpp and foreign/conditional_test.cpp.
#include <string>

#include "conformance/peers/rig.h"
#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

const char kAll[] = R"(
#include <gpuorch/device/graph.cuh>
#include <gpuorch/device/graph.cuh>

extern "C" __global__ void outside(unsigned long long *current, unsigned *sizes) {
    *current = gpo::current_graph();
    sizes[0] = sizeof(gpo::condition);
    sizes[1] = sizeof(gpo::device_graph);
}
extern "C" __global__ void decide(gpo::condition again, unsigned *left) { gpo::set_condition(again, --*left); }
extern "C" __global__ void launch(gpo::device_graph graph, int *answers) {
    answers[0] = gpo::launch_fire_and_forget(graph);
    answers[1] = gpo::launch_tail(graph);
    answers[2] = gpo::launch_sibling(graph);
    answers[3] = gpo::relaunch_self();
}
)";

constexpr const char* kLaunchers = R"(
#include <gpuorch/device/graph.cuh>
__device__ int second(gpo::device_graph graph) { return gpo::launch_tail(graph); }
__device__ int first(gpo::device_graph graph) { return second(graph) + 1; }
struct queue { __device__ int launch_tail(int n) { return n; } };

extern "C" __global__ void tail(gpo::device_graph graph, int *answer) { *answer = gpo::launch_tail(graph); }
extern "C" __global__ void forget(gpo::device_graph graph, int *answer) {
    *answer = gpo::launch_fire_and_forget(graph);
}
extern "C" __global__ void sibling(gpo::device_graph graph, int *answer) { *answer = gpo::launch_sibling(graph); }
extern "C" __global__ void deep(gpo::device_graph graph, int *answer) { *answer = first(graph) - 1; }
extern "C" __global__ void unreached(gpo::device_graph graph, int *answer) {
    const int given = graph.graph ? gpo::launch_tail(graph) : 10;
    *answer = given;
}
extern "C" __global__ void own(gpo::device_graph graph, int *answer) { queue q; *answer = q.launch_tail(10); }
extern "C" __global__ void asks(gpo::device_graph graph, int *answer) { *answer = gpo::current_graph() ? 0 : 10; }
extern "C" __global__ void decides(gpo::device_graph graph, int *answer) {
    if (graph.graph) gpo::set_condition(graph.graph, 1);
    *answer = 10;
}
)";

struct Launchers : WordsRig {
    /// Puts a kernel on a stream without a graph: all kernels answer 10, gpo::launch_invalid_argument, if they run.
    gpo_status put_on(gpo_stream_t stream, const char* name) {
        words[0] = 0;
        return launch(stream, kernel(kLaunchers, name), 1, 1, none, at(0));
    }
    const struct {
        uint64_t graph, status;
    } none{};
};

}  // namespace

TEST_CASE("sources include the device header without a folder, and a kernel outside of graphs is in none") {
    Gpu gpu;
    Stream stream = gpu.stream();
    const Kernel outside = gpu.kernel(kAll, "outside"), decide = gpu.kernel(kAll, "decide"),
                 launches = gpu.kernel(kAll, "launch");
    Pinned<uint64_t> current = gpu.pinned<uint64_t>(1);
    Pinned<uint32_t> sizes = gpu.pinned<uint32_t>(2);
    current[0] = 1;
    REQUIRE_OK(launch(stream, outside, 1, 1, current.address(), sizes.address()));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(current[0] == 0);
    CHECK(sizes[0] == 8);
    CHECK(sizes[1] == 16);
}

TEST_CASE("a header of the same name that a compilation is given goes before the library's") {
    Gpu gpu;
    const char* const name = "gpuorch/device/graph.cuh";
    const char* const text = "#define MINE 1\n";
    auto options = sized<gpo_compile_options>();
    options.source = "#include <gpuorch/device/graph.cuh>\n#ifndef MINE\n#error \"another header\"\n#endif\n";
    options.header_names = &name;
    options.header_texts = &text;
    options.header_count = 1;
    Module module;
    CHECK_OK(gpo_module_compile(gpu.device, &options, module.out()));
}

TEST_CASE("a stream refuses kernels that launch graphs, wherever the launch is in them, and takes the others") {
    Launchers rig;
    for (const char* const name : {"tail", "forget", "sibling", "deep", "unreached"}) {
        CAPTURE(name);
        CHECK_STATUS(GPO_NOT_SUPPORTED, rig.put_on(rig.on, name));
        CHECK(says(refusal(), std::string("kernel `") + name + "`"));
        CHECK(says(refusal(), "launches graphs"));
        Stream learns = rig.stream("learns", GPO_STREAM_LEARNS), resident = rig.stream("resident", GPO_STREAM_RESIDENT);
        CHECK_STATUS(GPO_NOT_SUPPORTED, rig.put_on(learns, name));
        CHECK_STATUS(GPO_NOT_SUPPORTED, rig.put_on(resident, name));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));   // the stream goes on
        CHECK(rig.word(0) == 0);
        // In a graph the kernel runs, both recorded and added as a node.
        Template recorded = make_template(rig);
        REQUIRE_OK(gpo_template_begin(recorded, rig.on));
        REQUIRE_OK(rig.put_on(rig.on, name));
        REQUIRE_OK(gpo_template_end(recorded));
        Graph graph = make_graph(recorded);
        rig.run(graph);
        CHECK(rig.word(0) == 10);
    }
    for (const char* const name : {"own", "asks", "decides"}) {
        CAPTURE(name);
        REQUIRE_OK(rig.put_on(rig.on, name));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK(rig.word(0) == 10);
    }
}

TEST_CASE("a held stream fails at a kernel that launches graphs, and a group's launch of it is refused") {
    Launchers rig;
    Stream held = rig.stream("held");
    Timeline later = rig.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(held, later, 1));
    if (!rig.too_old()) {   // otherwise its arguments can't be kept
        REQUIRE_OK(rig.put_on(held, "tail"));
        REQUIRE_OK(gpo_timeline_signal(later, 1));
        CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_wait(held, kPatience));
        CHECK(rig.word(0) == 0);
    }
    Peers peers;
    REQUIRE_OK(gpo_peers_create(&rig.device, 1, nullptr, peers.out()));
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const uint64_t answer = rig.at(0);
    const void* arguments[] = {&rig.none, &answer};
    const uint32_t sizes[] = {sizeof rig.none, sizeof answer};
    const Kernel tail = rig.kernel(kLaunchers, "tail");
    auto one = sized<gpo_rank_launch>();
    one.stream = rig.on;
    one.kernel = tail;
    one.launch = &shape;
    one.arguments = arguments;
    one.sizes = sizes;
    one.argument_count = 2;
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_peers_launch(peers, &one, sizeof one, 1));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(rig.word(0) == 0);
}
