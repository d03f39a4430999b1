// Children that can't be added: nothing of them stays, and the template is unchanged.
#include <functional>

#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

/// A template with memory of its own, a child with memory too, and three parameters: `by` of 4 bytes, `to` and `from`
/// of 8.
struct Child {
    explicit Child(WordsRig& rig) : rig(rig), inner(make_template(rig)), made(make_template(rig)) {
        REQUIRE_OK(gpo_template_allocate(inner, 64, &memory[0]));
        REQUIRE_OK(gpo_template_allocate(made, 64, &memory[1]));
        rig.node(inner, rig.put, memory[0], 1);
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_add_child(made, nullptr, 0, inner, nullptr, &node));
        const uint32_t put = rig.node(made, rig.put, memory[1], 7, {node});
        const uint32_t copy = rig.copy(made, rig.at(8), memory[1], {put});
        REQUIRE_OK(gpo_template_add_parameter(made, "by", put, GPO_PARAMETER_ARGUMENT, 1));
        REQUIRE_OK(gpo_template_add_parameter(made, "to", copy, GPO_PARAMETER_DESTINATION, 0));
        REQUIRE_OK(gpo_template_add_parameter(made, "from", copy, GPO_PARAMETER_SOURCE, 0));
    }
    void destroy() {
        made.reset();
        inner.reset();
        CHECK_OK(gpo_device_wait(rig.device, kPatience));
    }
    bool exists(size_t which) const {
        auto info = sized<gpo_memory_info>();
        CHECK_OK(gpo_memory_describe(rig.device, memory[which], &info));
        return info.kind != GPO_MEMORY_PAGEABLE;
    }

    WordsRig& rig;
    Template inner, made;
    uint64_t memory[2] = {};
};

}  // namespace

TEST_CASE("a child whose parameter has another size than the template's leaves none of its parameters behind") {
    bool had_it_before = false;
    SUBCASE("a new template") {}
    SUBCASE("a template that had the child in an earlier recording") { had_it_before = true; }
    WordsRig rig;
    if (rig.too_old()) return;
    Child child(rig);
    Template outer = make_template(rig);
    if (had_it_before) {
        REQUIRE_OK(gpo_template_add_child(outer, nullptr, 0, child.made, "x.", nullptr));
        REQUIRE_OK(gpo_template_clear(outer));
    }
    const uint32_t one = rig.node(outer, rig.put, rig.at(0), 1), two = rig.node(outer, rig.put, rig.at(1), 2, {one});
    REQUIRE_OK(gpo_template_add_parameter(outer, "x.by", one, GPO_PARAMETER_ARGUMENT, 1));
    REQUIRE_OK(gpo_template_add_parameter(outer, "x.from", two, GPO_PARAMETER_ARGUMENT, 1));
    for (int time = 0; time < 2; ++time) {
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_child(outer, &two, 1, child.made, "x.", nullptr));
        CHECK(says(refusal(), "`x.from`"));
        CHECK(figures_of(outer).nodes == 2);
        CHECK(figures_of(outer).parameters == 2);
        CHECK_STATUS(GPO_NOT_FOUND, gpo_template_get_parameter(outer, "x.to", nullptr, nullptr));
    }
    // The name is free for a parameter of another size, and numbers go on where they were.
    uint32_t number = 0, next = 0;
    REQUIRE_OK(gpo_template_add_parameter(outer, "other", two, GPO_PARAMETER_GRID, 0));
    REQUIRE_OK(gpo_template_get_parameter(outer, "other", &next, nullptr));
    CHECK(next == (had_it_before ? 3 : 2));
    REQUIRE_OK(gpo_template_add_parameter(outer, "x.to", two, GPO_PARAMETER_ARGUMENT, 1));
    REQUIRE_OK(gpo_template_get_parameter(outer, "x.to", &number, nullptr));
    {
        // The child's node had another value for `x.by`. Launches no longer send the template's value for it.
        Graph graph = make_graph(outer);
        rig.run(graph);
        CHECK(figures_of(outer).patches == 0);
        CHECK(rig.word(0) == 1);
        const uint32_t three = 3;
        REQUIRE_OK(gpo_graph_set(graph, "x.by", &three, sizeof three));
        rig.run(graph);
        CHECK(figures_of(outer).patches == 1);
        CHECK(rig.word(0) == 3);
        CHECK(rig.word(8) == 0);
    }
    // Recorded anew, it can have the child.
    REQUIRE_OK(gpo_template_clear(outer));
    REQUIRE_OK(gpo_template_add_child(outer, nullptr, 0, child.made, "x.", nullptr));
    CHECK(figures_of(outer).parameters == 3);
    uint32_t again = 0;
    REQUIRE_OK(gpo_template_get_parameter(outer, "x.to", &again, nullptr));
    CHECK(again == number);
    Graph graph = make_graph(outer);
    const uint64_t other = rig.at(9);
    REQUIRE_OK(gpo_graph_set(graph, "x.to", &other, sizeof other));
    rig.run(graph);
    CHECK(rig.word(8) == 0);
    CHECK(rig.word(9) == 7);
}

TEST_CASE("nodes that were recorded with different values for one name get the first, whatever was refused before") {
    WordsRig rig;
    if (rig.too_old()) return;
    Child child(rig);
    Template outer = make_template(rig);
    for (uint32_t i = 0; i < 3; ++i) {
        const uint32_t node = rig.node(outer, rig.put, rig.at(i), 1 + i);
        REQUIRE_OK(gpo_template_add_parameter(outer, i < 2 ? "x.by" : "x.from", node, GPO_PARAMETER_ARGUMENT, 1));
    }
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_child(outer, nullptr, 0, child.made, "x.", nullptr));
    Graph graph = make_graph(outer);
    rig.run(graph);
    CHECK(rig.word(0) == 1);
    CHECK(rig.word(1) == 1);
    CHECK(rig.word(2) == 3);
    const uint64_t patches = figures_of(outer).patches;
    rig.run(graph);
    CHECK(figures_of(outer).patches == patches);
}

TEST_CASE("a child that can't be added keeps its memory to itself, and so do its children") {
    WordsRig rig;
    if (rig.too_old()) return;
    Template outer = make_template(rig), body;
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_EQUAL;
    condition.word = rig.at(1);
    REQUIRE_OK(gpo_template_add_if(outer, nullptr, 0, &condition, body.out(), nullptr, nullptr));
    const uint32_t node = rig.node(outer, rig.put, rig.at(0), 1);
    REQUIRE_OK(gpo_template_add_parameter(outer, "from", node, GPO_PARAMETER_ARGUMENT, 1));
    const struct {
        const char* what;
        std::function<void(Child&)> refuse;
    } ways[] = {
        {"for a parameter",
         [&](Child& child) {
             CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_child(outer, nullptr, 0, child.made, "", nullptr));
         }},
        {"for a node",
         [&](Child& child) {
             REQUIRE_OK(gpo_template_add_host_call(child.made, nullptr, 0, [](void*) {}, nullptr, nullptr));
             CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_add_child(body, nullptr, 0, child.made, "a.", nullptr));
         }},
    };
    for (const auto& way : ways) {
        CAPTURE(way.what);
        Child child(rig);
        way.refuse(child);
        child.destroy();
        CHECK_FALSE(child.exists(0));
        CHECK_FALSE(child.exists(1));
    }
    // The memory of an added child is kept.
    Child child(rig);
    REQUIRE_OK(gpo_template_add_child(outer, nullptr, 0, child.made, "a.", nullptr));
    child.destroy();
    CHECK(child.exists(0));
    CHECK(child.exists(1));
    Graph graph = make_graph(outer);
    rig.run(graph);
    CHECK(rig.word(0) == 1);
    CHECK(rig.word(8) == 7);
}
