// Launches of graphs during the host's capture in global mode, which most driver calls of any thread invalidate.
#include <thread>

#include "foreign/raw.h"

using namespace gpo::test;

namespace {

constexpr const char* kAddSource = R"(
extern "C" __global__ void add(unsigned* word, unsigned by) { *word += by; }
)";

/// A graph that fills a word with 1, adds to the word and copies it out, with parameters for all three nodes.
struct PatchedGraph {
    explicit PatchedGraph(Gpu& gpu)
        : add(gpu.kernel(kAddSource, "add")), word(gpu.memory(4)), out(gpu.pinned<uint32_t>(2)), stream(gpu.stream()) {
        auto shape = sized<gpo_launch>();
        shape.grid[0] = shape.block[0] = 1;
        const uint64_t address = word;
        const uint32_t by = 1;
        const void* arguments[] = {&address, &by};
        const uint32_t sizes[] = {sizeof address, sizeof by};
        auto copy = sized<gpo_copy>();
        copy.destination = reinterpret_cast<uint64_t>(&out[0]);
        copy.source = word;
        copy.bytes = 4;
        Template made;
        uint32_t fill = 0, kernel = 0, last = 0;
        REQUIRE_OK(gpo_template_create(gpu.device, nullptr, made.out()));
        REQUIRE_OK(gpo_template_add_fill(made, nullptr, 0, word, 1, 4, 1, &fill));
        REQUIRE_OK(gpo_template_add_kernel(made, &fill, 1, add, &shape, arguments, sizes, 2, &kernel));
        REQUIRE_OK(gpo_template_add_copy(made, &kernel, 1, &copy, &last));
        REQUIRE_OK(gpo_template_add_parameter(made, "first", fill, GPO_PARAMETER_VALUE, 0));
        REQUIRE_OK(gpo_template_add_parameter(made, "by", kernel, GPO_PARAMETER_ARGUMENT, 1));
        REQUIRE_OK(gpo_template_add_parameter(made, "adds", kernel, GPO_PARAMETER_ENABLED, 0));
        REQUIRE_OK(gpo_template_add_parameter(made, "to", last, GPO_PARAMETER_DESTINATION, 0));
        REQUIRE_OK(gpo_graph_create(made, nullptr, graph.out()));
    }
    void set(const char* name, uint32_t value) { CHECK_OK(gpo_graph_set(graph, name, &value, sizeof value)); }
    void launch_with_other_values(uint32_t first) {
        const auto to = reinterpret_cast<uint64_t>(&out[1]);
        set("first", first);
        set("by", 20);
        CHECK_OK(gpo_graph_set(graph, "to", &to, sizeof to));
        CHECK_OK(gpo_graph_launch(graph, stream));
        set("adds", 0);
        CHECK_OK(gpo_graph_launch(graph, stream));
        set("adds", 1);
        CHECK_OK(gpo_graph_launch(graph, stream));
    }

    Kernel add;
    Memory word;
    Pinned<uint32_t> out;
    Stream stream;
    Graph graph;
};

}  // namespace

TEST_CASE("graphs are launched and get other values beside a capture of any thread's, which goes on") {
    Raw raw;
    const Current current(raw, raw.primary);
    Gpu gpu;
    PatchedGraph by_this(gpu), by_another(gpu);
    CUstream captured = nullptr;
    CUgraph recorded = nullptr;
    size_t nodes = 0;
    RAW_OK(raw.cu().cuStreamCreateWithPriority(&captured, CU_STREAM_NON_BLOCKING, 0));
    RAW_OK(raw.cu().cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_OK(gpo_graph_launch(by_this.graph, by_this.stream));  // the driver uploads a graph at its first launch
    by_this.launch_with_other_values(300);
    std::thread([&] { by_another.launch_with_other_values(500); }).join();
    RAW_OK(raw.cu().cuMemsetD32Async(by_this.word, 0, 1, captured));
    CHECK(raw.cu().cuStreamEndCapture(captured, &recorded) == CUDA_SUCCESS);
    REQUIRE(recorded != nullptr);
    RAW_OK(raw.cu().cuGraphGetNodes(recorded, nullptr, &nodes));
    CHECK(nodes == 1);
    CHECK_OK(gpo_stream_wait(by_this.stream, kPatience));
    CHECK_OK(gpo_stream_wait(by_another.stream, kPatience));
    CHECK(read(by_this.out[0]) == 2);
    CHECK(read(by_this.out[1]) == 320);
    CHECK(read(by_another.out[1]) == 520);
    RAW_OK(raw.cu().cuGraphDestroy(recorded));
    RAW_OK(raw.cu().cuStreamDestroy(captured));
}
