// Templates of graphs made by other code.
#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

Template import(const Gpu& gpu, gpo_template_t from, const char* label = nullptr) {
    void* native = nullptr;
    REQUIRE_OK(gpo_template_get_native(from, &native));
    auto options = sized<gpo_template_options>();
    options.label = label;
    Template made;
    REQUIRE_OK(gpo_template_import(gpu.device, native, &options, made.out()));
    return made;
}

}  // namespace

TEST_CASE("an imported graph is a template whose parameters are named on its nodes, whatever becomes of the graph") {
    WordsRig rig;
    if (rig.too_old()) return;
    Template imported;
    {
        Template theirs = make_template(rig);
        const uint32_t first = rig.node(theirs, rig.put, rig.at(0), 7);
        const uint32_t second = rig.node(theirs, rig.add, rig.at(0), 1, {first});
        rig.copy(theirs, rig.at(1), rig.at(0), {second});
        imported = import(rig, theirs, "imported");
        REQUIRE_OK(gpo_template_clear(theirs));
    }
    CHECK(figures_of(imported).nodes == 3);
    uint32_t node = 0;
    CHECK_OK(gpo_template_find_node(imported, "put", &node));
    CHECK(node == 1);
    CHECK_OK(gpo_template_find_node(imported, "add", &node));
    CHECK(node == 2);
    REQUIRE_OK(gpo_template_add_parameter(imported, "by", node, GPO_PARAMETER_ARGUMENT, 1));
    REQUIRE_OK(gpo_template_add_parameter(imported, "to", 3, GPO_PARAMETER_DESTINATION, 0));
    Graph graph = make_graph(imported);
    rig.run(graph);
    CHECK(rig.word(1) == 8);
    const uint32_t by = 30;
    const uint64_t to = rig.at(2);
    REQUIRE_OK(gpo_graph_set(graph, "by", &by, sizeof by));
    REQUIRE_OK(gpo_graph_set(graph, "to", &to, sizeof to));
    rig.run(graph);
    CHECK(rig.word(1) == 8);
    CHECK(rig.word(2) == 37);
}

TEST_CASE("an imported template can be added to, be a child, and have several graphs") {
    WordsRig rig;
    if (rig.too_old()) return;
    Template theirs = make_template(rig), outer = make_template(rig);
    rig.node(theirs, rig.put, rig.at(0), 7);
    Template imported = import(rig, theirs);
    rig.node(imported, rig.add, rig.at(0), 3, {1});
    uint32_t child = 0;
    REQUIRE_OK(gpo_template_add_child(outer, nullptr, 0, imported, nullptr, &child));
    rig.node(outer, rig.add, rig.at(0), 100, {child});
    Graph one = make_graph(imported), two = make_graph(imported), all = make_graph(outer);
    rig.run(one);
    CHECK(rig.word(0) == 10);
    rig.run(two);
    CHECK(rig.word(0) == 10);
    rig.run(all);
    CHECK(rig.word(0) == 110);
    Graph of_theirs = make_graph(theirs);
    rig.run(of_theirs);
    CHECK(rig.word(0) == 7);
}

TEST_CASE("an imported template is recorded anew as any other, and its graphs are updated") {
    WordsRig rig;
    Template theirs = make_template(rig);
    rig.node(theirs, rig.put, rig.at(0), 7);
    Template imported = import(rig, theirs);
    Graph graph = make_graph(imported);
    REQUIRE_OK(gpo_template_begin(imported, rig.on));
    CHECK_OK(launch(rig.on, rig.put, 1, 1, rig.at(0), 9u));
    REQUIRE_OK(gpo_template_end(imported));
    REQUIRE_OK(gpo_graph_update(graph, nullptr));
    rig.run(graph);
    CHECK(rig.word(0) == 9);
}

TEST_CASE("a kernel of an imported graph is the same as that of the library with its name, for a value that was set") {
    WordsRig rig;
    if (rig.too_old()) return;
    Template theirs = make_template(rig);
    rig.node(theirs, rig.put, rig.at(0), 7);
    Template imported = import(rig, theirs);
    REQUIRE_OK(gpo_template_add_parameter(imported, "value", 1, GPO_PARAMETER_ARGUMENT, 1));
    Graph graph = make_graph(imported);
    const uint32_t eight = 8;
    REQUIRE_OK(gpo_graph_set(graph, "value", &eight, sizeof eight));
    for (const bool same : {true, false}) {
        REQUIRE_OK(gpo_template_begin(imported, rig.on));
        CHECK_OK(launch(rig.on, same ? rig.put : rig.add, 1, 1, rig.at(0), 9u));
        REQUIRE_OK(gpo_template_add_parameter(imported, "value", 1, GPO_PARAMETER_ARGUMENT, 1));
        REQUIRE_OK(gpo_template_end(imported));
        auto report = sized<gpo_graph_update_report>();
        REQUIRE_OK(gpo_graph_update(graph, &report));
        CHECK(report.dropped == !same);
        rig.run(graph);
        CHECK(rig.word(0) == (same ? 8 : 8 + 9));
    }
}

TEST_CASE("a graph that the driver can't copy is refused, and the message names the node") {
    WordsRig rig;
    if (rig.too_old()) return;
    Template deciding = make_template(rig), body, none;
    rig.node(deciding, rig.put, rig.at(0), 7);
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_EQUAL;
    condition.word = rig.at(0);
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_if(deciding, nullptr, 0, &condition, body.out(), nullptr, &node));
    CHECK(node == 3);
    void* native = nullptr;
    REQUIRE_OK(gpo_template_get_native(deciding, &native));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_import(rig.device, native, nullptr, none.out()));
    CHECK(says(refusal(), "node 3, conditional"));
    CHECK(none.get() == nullptr);
}
