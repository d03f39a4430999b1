// Memory that other libraries allocate in stream order while a stream is captured or recorded.
#include <string>
#include <vector>

#include "foreign/graph.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

constexpr size_t kBytes = 4096;

struct MemoryRig : GraphRig {
    MemoryRig() { REQUIRE_OK(gpo_template_create(device, nullptr, recorded.out())); }

    /// Allocates memory in stream order, as a library would, fills it with a value and copies that to word 0.
    CUdeviceptr allocate_and_use(uint32_t value) {
        CUdeviceptr address = 0;
        RAW_OK(cu.cuMemAllocAsync(&address, kBytes, native));
        REQUIRE(address != 0);
        RAW_OK(cu.cuMemsetD32Async(address, value, kBytes / 4, native));
        RAW_OK(cu.cuMemcpyDtoDAsync(word(0), address + kBytes - 4, 4, native));
        return address;
    }
    CUdeviceptr record(uint32_t value, bool frees) {
        REQUIRE_OK(gpo_template_begin(recorded, on));
        const CUdeviceptr address = allocate_and_use(value);
        if (frees) RAW_OK(cu.cuMemFreeAsync(address, native));
        REQUIRE_OK(gpo_template_end(recorded));
        return address;
    }
    Graph graph_of(gpo_template_t of) {
        Graph made;
        REQUIRE_OK(gpo_graph_create(of, nullptr, made.out()));
        return made;
    }
    uint32_t run(gpo_graph_t graph) {
        RAW_OK(cu.cuMemsetD32Async(word(0), 0, 1, native));
        REQUIRE_OK(gpo_graph_launch(graph, on));
        return value(0);
    }

    Template recorded;
};

std::string refusal() {
    auto error = sized<gpo_error>();
    gpo_last_error(&error);
    return error.message;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("graphs: what is allocated and freed on a captured stream is a node, with the memory that the call gave") {
    MemoryRig rig;
    CUdeviceptr address = 0;
    Made graph(rig, rig.capture([&] {
        address = rig.allocate_and_use(3);
        RAW_OK(rig.cu.cuMemFreeAsync(address, rig.native));
        CHECK(rig.cu.cuMemFreeAsync(address, rig.native) != CUDA_SUCCESS);
    }));
    const std::vector<CUgraphNode> nodes = graph.nodes();
    REQUIRE(nodes.size() == 4);
    CUgraphNode allocation = nullptr, freed = nullptr;
    for (const CUgraphNode node : nodes) {
        if (rig.type_of(node) == CU_GRAPH_NODE_TYPE_MEM_ALLOC) allocation = node;
        if (rig.type_of(node) == CU_GRAPH_NODE_TYPE_MEM_FREE) freed = node;
    }
    REQUIRE(allocation != nullptr);
    REQUIRE(freed != nullptr);
    CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
    RAW_OK(rig.cu.cuGraphMemAllocNodeGetParams(allocation, &parameters));
    CHECK(parameters.dptr == address);
    CHECK(parameters.bytesize == kBytes);
    CUdeviceptr read = 0;
    RAW_OK(rig.cu.cuGraphMemFreeNodeGetParams(freed, &read));
    CHECK(read == address);
    CHECK(rig.cu.cuGraphMemFreeNodeGetParams(allocation, &read) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.dependencies_of(allocation).empty());
    Executable exec(rig, graph);
    for (int i = 0; i < 2; ++i) {
        exec.launch();
        CHECK(rig.value(0) == 3);
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 0, 1, rig.native));
    }
}

TEST_CASE("graphs: memory that isn't a graph's can't be freed on a captured stream, and the capture goes on") {
    MemoryRig rig;
    CUdeviceptr plain = 0;
    RAW_OK(rig.cu.cuMemAllocAsync(&plain, kBytes, rig.native));
    rig.sync();
    const CUgraph captured = rig.capture([&] {
        CHECK(rig.cu.cuMemFreeAsync(plain, rig.native) == CUDA_ERROR_INVALID_VALUE);
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 4, 1, rig.native));
    });
    Made graph(rig, captured);
    CHECK(graph.nodes().size() == 1);
    RAW_OK(rig.cu.cuMemFreeAsync(plain, rig.native));
    rig.sync();
}

TEST_CASE("a recording in which a library allocates and frees memory is launched often, one graph at a time") {
    MemoryRig rig;
    rig.record(5, true);
    Graph graph = rig.graph_of(rig.recorded), second;
    for (int i = 0; i < 3; ++i) CHECK(rig.run(graph) == 5);
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_graph_create(rig.recorded, nullptr, second.out()));
    CHECK(contains(refusal(), "allocation"));
    rig.record(6, true);
    auto report = sized<gpo_graph_update_report>();
    REQUIRE_OK(gpo_graph_update(graph, &report));
    CHECK(report.rebuilt == 1);
    CHECK(rig.run(graph) == 6);
    graph.reset();
    second = rig.graph_of(rig.recorded);
    CHECK(rig.run(second) == 6);
}

TEST_CASE(
    "memory that a library leaves allocated in a recording is replaced by each launch, and stays after the last") {
    MemoryRig rig;
    const CUdeviceptr address = rig.record(7, false);
    {
        Graph graph = rig.graph_of(rig.recorded);
        for (int i = 0; i < 3; ++i) CHECK(rig.run(graph) == 7);
        RAW_OK(rig.cu.cuMemcpyDtoDAsync(rig.word(1), address, 4, rig.native));
        CHECK(rig.value(1) == 7);
        RAW_OK(rig.cu.cuMemFreeAsync(address, rig.native));
        CHECK(rig.run(graph) == 7);
    }
    REQUIRE_OK(gpo_template_destroy(rig.recorded.release()));
    RAW_OK(rig.cu.cuMemcpyDtoDAsync(rig.word(1), address, 4, rig.native));
    CHECK(rig.value(1) == 7);
    RAW_OK(rig.cu.cuMemFreeAsync(address, rig.native));
    rig.sync();
}

TEST_CASE("memory that a library allocates in a recording can be freed there by a node") {
    MemoryRig rig;
    REQUIRE_OK(gpo_template_begin(rig.recorded, rig.on));
    CUdeviceptr address = rig.allocate_and_use(8);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_free(rig.recorded, nullptr, 0, address, nullptr));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(rig.recorded));
    REQUIRE_OK(gpo_template_begin(rig.recorded, rig.on));
    address = rig.allocate_and_use(8);
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_get_last_node(rig.recorded, rig.on, &node));
    REQUIRE_OK(gpo_template_add_free(rig.recorded, &node, 1, address, &node));
    REQUIRE_OK(gpo_template_set_last_node(rig.recorded, rig.on, node));
    REQUIRE_OK(gpo_template_end(rig.recorded));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_free(rig.recorded, &node, 1, address, nullptr));
    Graph graph = rig.graph_of(rig.recorded);
    for (int i = 0; i < 2; ++i) CHECK(rig.run(graph) == 8);
    CHECK(rig.cu.cuMemFreeAsync(address, rig.native) != CUDA_SUCCESS);
}

TEST_CASE("a graph that frees another graph's memory is launched once for each time that the memory is allocated") {
    MemoryRig rig;
    const CUdeviceptr address = rig.record(9, false);
    Graph allocating = rig.graph_of(rig.recorded);
    Template freeing;
    REQUIRE_OK(gpo_template_create(rig.device, nullptr, freeing.out()));
    REQUIRE_OK(gpo_template_begin(freeing, rig.on));
    RAW_OK(rig.cu.cuMemFreeAsync(address, rig.native));
    REQUIRE_OK(gpo_template_end(freeing));
    Graph frees = rig.graph_of(freeing);
    for (int i = 0; i < 2; ++i) {
        CHECK(rig.run(allocating) == 9);
        REQUIRE_OK(gpo_graph_launch(frees, rig.on));
        CHECK_STATUS(GPO_INVALID_STATE, gpo_graph_launch(frees, rig.on));
        CHECK(contains(refusal(), "memory that it frees isn't allocated"));
    }
    rig.sync();
}

TEST_CASE("in a body a library's allocation is refused when the recording ends, by the node's name") {
    MemoryRig rig;
    if (!rig.cu.cuGraphConditionalHandleCreate) return skip("the driver has no conditional nodes");
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_EQUAL;
    condition.word = rig.word(1);
    Template body;
    REQUIRE_OK(gpo_template_add_if(rig.recorded, nullptr, 0, &condition, body.out(), nullptr, nullptr));
    REQUIRE_OK(gpo_template_begin(body, rig.on));
    rig.allocate_and_use(3);
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(body));
    CHECK(contains(refusal(), "allocation"));
    RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 1, 1, rig.native));
    CHECK(rig.value(0) == 1);
}
