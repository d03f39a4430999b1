// The memory that a graph holds, for nodes of all kinds: from the time at which a node gets an address until the node
// gets another address.
#include <functional>

#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

struct HoldsRig : WordsRig {
    uint64_t memory() {
        uint64_t address = 0;
        REQUIRE_OK(gpo_memory_allocate(device, 64, "held", &address));
        return address;
    }
    uint32_t fill(gpo_template_t in, uint64_t to, uint32_t value) {
        uint32_t made = 0;
        REQUIRE_OK(gpo_template_add_fill(in, nullptr, 0, to, value, 4, 1, &made));
        return made;
    }
    /// Frees memory. Returns whether the free waits for a graph of `of`.
    bool held(gpo_template_t of, uint64_t address) {
        const uint64_t before = figures_of(of).waiting_frees;
        CHECK_OK(gpo_memory_free(device, address));
        return figures_of(of).waiting_frees == before + 1;
    }
};

/// A kind of node with an address in it.
struct Kind {
    const char* what;
    uint32_t field;
    std::function<uint32_t(HoldsRig&, gpo_template_t, uint64_t)> add;
};
const Kind kKinds[] = {
    {"a kernel's argument", GPO_PARAMETER_ARGUMENT,
     [](HoldsRig& rig, gpo_template_t in, uint64_t address) { return rig.node(in, rig.put, address, 1); }},
    {"a fill's destination", GPO_PARAMETER_DESTINATION,
     [](HoldsRig& rig, gpo_template_t in, uint64_t address) { return rig.fill(in, address, 2); }},
    {"a copy's destination", GPO_PARAMETER_DESTINATION,
     [](HoldsRig& rig, gpo_template_t in, uint64_t address) { return rig.copy(in, address, rig.at(0)); }},
    {"a copy's source", GPO_PARAMETER_SOURCE,
     [](HoldsRig& rig, gpo_template_t in, uint64_t address) { return rig.copy(in, rig.at(0), address); }},
};

}  // namespace

TEST_CASE("an address in a node of any kind holds its memory until the graph is updated to another, or goes") {
    HoldsRig rig;
    if (rig.too_old()) return;
    for (const Kind& kind : kKinds)
        for (const bool other_shape : {false, true}) {
            CAPTURE(kind.what);
            CAPTURE(other_shape);
            const uint64_t first = rig.memory(), second = rig.memory(), unused = rig.memory();
            Template made = make_template(rig);
            kind.add(rig, made, first);
            Graph graph = make_graph(made);
            REQUIRE_OK(gpo_template_clear(made));
            kind.add(rig, made, second);
            if (other_shape) rig.node(made, rig.put, rig.at(1), 1);
            CHECK(rig.held(made, first));
            auto report = sized<gpo_graph_update_report>();
            REQUIRE_OK(gpo_graph_update(graph, &report));
            CHECK(report.rebuilt == other_shape);
            CHECK(figures_of(made).waiting_frees == 0);
            CHECK(rig.held(made, second));
            CHECK_FALSE(rig.held(made, unused));
            rig.run(graph);
            REQUIRE_OK(gpo_graph_update(graph, nullptr));   // to the same recording
            CHECK(figures_of(made).waiting_frees == 1);
            graph.reset();
            CHECK(figures_of(made).waiting_frees == 0);
        }
}

TEST_CASE("memory of a value that an update carries over is held, and that of the recording isn't") {
    HoldsRig rig;
    if (rig.too_old()) return;
    for (const Kind& kind : kKinds)
        for (const bool other_shape : {false, true}) {
            CAPTURE(kind.what);
            CAPTURE(other_shape);
            const uint64_t recorded = rig.memory(), set = rig.memory(), again = rig.memory();
            Template made = make_template(rig);
            const auto build = [&](uint64_t address) {
                const uint32_t node = kind.add(rig, made, address);
                REQUIRE_OK(gpo_template_add_parameter(made, "address", node, kind.field, 0));
            };
            build(recorded);
            Graph graph = make_graph(made);
            REQUIRE_OK(gpo_graph_set(graph, "address", &set, sizeof set));
            CHECK_FALSE(rig.held(made, recorded));
            REQUIRE_OK(gpo_template_clear(made));
            build(again);
            if (other_shape) rig.node(made, rig.put, rig.at(1), 1);
            REQUIRE_OK(gpo_graph_update(graph, nullptr));
            CHECK_FALSE(rig.held(made, again));
            CHECK(rig.held(made, set));
            rig.run(graph);
            const uint64_t other = rig.memory();
            REQUIRE_OK(gpo_graph_set(graph, "address", &other, sizeof other));
            CHECK(figures_of(made).waiting_frees == 0);
            CHECK(rig.held(made, other));
            rig.run(graph);
        }
}
