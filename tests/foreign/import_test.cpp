// Graphs that the host has made by the driver's own calls become templates.
#include <string>

#include "foreign/graph.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

struct ImportRig : GraphRig {
    Template imported(CUgraph graph) {
        Template made;
        REQUIRE_OK(gpo_template_import(device, graph, nullptr, made.out()));
        return made;
    }
    Graph graph_of(gpo_template_t of) {
        Graph made;
        REQUIRE_OK(gpo_graph_create(of, nullptr, made.out()));
        return made;
    }
    std::string refused(CUgraph graph, gpo_status status) {
        Template made;
        CHECK_STATUS(status, gpo_template_import(device, graph, nullptr, made.out()));
        CHECK(made.get() == nullptr);
        auto error = sized<gpo_error>();
        gpo_last_error(&error);
        return error.message;
    }
};

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("an imported graph runs as it was, with parameters by name, however the original is changed") {
    ImportRig rig;
    Made child(rig), original(rig);
    child.kernel(rig.scale, 1, 2);
    const CUgraphNode fill = original.add(fill_node(rig.word(0), 7));
    const CUgraphNode within = original.add(child_node(child), {fill});
    const CUgraphNode add = original.kernel(rig.add, 0, 5, {within});
    original.add(copy_node(copy_within(rig.word(2), rig.word(0), 4)), {add});
    Template imported = rig.imported(original);
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_find_node(imported, "add", &node));
    CHECK(node == 3);
    REQUIRE_OK(gpo_template_add_parameter(imported, "by", node, GPO_PARAMETER_ARGUMENT, 1));
    REQUIRE_OK(gpo_template_add_parameter(imported, "begin", 1, GPO_PARAMETER_VALUE, 0));
    Graph graph = rig.graph_of(imported);
    REQUIRE_OK(gpo_graph_launch(graph, rig.on));
    CHECK(rig.value(2) == 12);
    CHECK(rig.value(1) == 2);
    const uint32_t by = 10, begin = 20;
    REQUIRE_OK(gpo_graph_set(graph, "by", &by, sizeof by));
    REQUIRE_OK(gpo_graph_set(graph, "begin", &begin, sizeof begin));

    KernelNode changed(rig.add, rig.word(0), 1000);
    RAW_OK(rig.cu.cuGraphKernelNodeSetParams(add, changed.kernel()));
    original.kernel(rig.add, 2, 1000, {add});
    Graph second = rig.graph_of(imported);
    REQUIRE_OK(gpo_graph_update(graph, nullptr));
    original.destroy();
    REQUIRE_OK(gpo_graph_launch(graph, rig.on));
    CHECK(rig.value(2) == 30);
    REQUIRE_OK(gpo_graph_launch(second, rig.on));
    CHECK(rig.value(2) == 12);
}

TEST_CASE("what the host has captured is imported, and its nodes are numbered as the driver lists them") {
    ImportRig rig;
    const CUgraph captured = rig.capture([&] {
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 3, 1, rig.native));
        REQUIRE_OK(launch(rig.on, rig.add_kernel, 1, 1, rig.word(0), 4u));
    });
    Made original(rig, captured);
    const std::vector<CUgraphNode> nodes = original.nodes();
    REQUIRE(nodes.size() == 2);
    Template imported = rig.imported(original);
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_find_node(imported, "add", &node));
    REQUIRE(node >= 1);
    CHECK(rig.type_of(nodes[node - 1]) == CU_GRAPH_NODE_TYPE_KERNEL);
    Graph graph = rig.graph_of(imported);
    REQUIRE_OK(gpo_graph_launch(graph, rig.on));
    CHECK(rig.value(0) == 7);
}

TEST_CASE("a graph with nodes that the driver doesn't copy is refused by the node's number and kind") {
    ImportRig rig;
    CUcontext context = nullptr;
    CUdevice device = 0;
    RAW_OK(rig.cu.cuCtxGetCurrent(&context));
    RAW_OK(rig.cu.cuCtxGetDevice(&device));
    Made allocating(rig), deciding(rig);
    allocating.kernel(rig.add, 0, 1);
    CUgraphNodeParams allocation{};
    allocation.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    allocation.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    allocation.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    allocation.alloc.poolProps.location.id = device;
    allocation.alloc.bytesize = 4096;
    allocating.add(allocation);
    CHECK(contains(rig.refused(allocating, GPO_NOT_SUPPORTED), "node 2, allocation"));

    if (!rig.cu.cuGraphConditionalHandleCreate) return skip("the driver has no conditional nodes");
    CUgraphNodeParams conditional{};
    conditional.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    conditional.conditional.type = CU_GRAPH_COND_TYPE_IF;
    conditional.conditional.size = 1;
    conditional.conditional.ctx = context;
    RAW_OK(rig.cu.cuGraphConditionalHandleCreate(&conditional.conditional.handle, deciding, context, 0,
                                                 CU_GRAPH_COND_ASSIGN_DEFAULT));
    deciding.add(conditional);
    CHECK(contains(rig.refused(deciding, GPO_NOT_SUPPORTED), "node 1, conditional"));
}

TEST_CASE("a graph that was destroyed is refused") {
    ImportRig rig;
    const Raw raw;
    if (!raw.software) return skip("the real driver follows any pointer to a graph");
    Made original(rig);
    const CUgraph stale = original;
    original.destroy();
    CHECK(contains(rig.refused(stale, GPO_INVALID_ARGUMENT), "no graph that the driver knows"));
}
