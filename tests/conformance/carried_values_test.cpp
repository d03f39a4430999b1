// What a graph takes along from the recording before.
#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

template <class T>
gpo_status set(gpo_graph_t graph, const char* name, const T& value) {
    return gpo_graph_set(graph, name, &value, sizeof value);
}

struct Rig : WordsRig {
    Rig() : device_words(memory(kWords * sizeof(uint32_t))), made(make_template(*this, "work")) {}

    uint32_t fill(gpo_template_t in, uint64_t to, uint32_t value, uint32_t element_bytes = 4, uint64_t count = 1) {
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_add_fill(in, nullptr, 0, to, value, element_bytes, count, &node));
        return node;
    }
    void name(gpo_template_t in, const char* name, uint32_t node, uint32_t what, uint32_t index = 0) {
        REQUIRE_OK(gpo_template_add_parameter(in, name, node, what, index));
    }
    gpo_condition once() {
        auto condition = sized<gpo_condition>();
        condition.comparison = GPO_COMPARE_EQUAL;
        condition.word = at(0);
        condition.constant = 0;
        condition.max_iterations = 2;
        return condition;
    }
    /// A loop, in which a word is counted.
    Template loop() {
        Template body;
        const gpo_condition condition = once();
        REQUIRE_OK(gpo_template_add_while(made, nullptr, 0, &condition, body.out(), nullptr));
        node(body, add, at(1), 1);
        return body;
    }

    Memory device_words;
    Template made;
};

}  // namespace

TEST_CASE("a template with a loop, made anew without one or with others, has graphs like any other") {
    Rig rig;
    if (rig.too_old()) return;
    const auto make_anew = [&](int way) {
        if (way == 0) {
            CHECK_OK(gpo_template_clear(rig.made));
            rig.node(rig.made, rig.add, rig.at(3), 1);
        } else if (way == 1) {
            REQUIRE_OK(gpo_template_begin(rig.made, rig.on));
            CHECK_OK(launch(rig.on, rig.add, 1, 1, rig.at(3), 1u));
            CHECK_OK(gpo_template_end(rig.made));
        } else {
            CHECK_OK(gpo_template_clear(rig.made));
            rig.loop();
            rig.loop();
            rig.node(rig.made, rig.add, rig.at(3), 1);
        }
    };
    for (int way = 0; way < 3; ++way) {
        INFO("way " << way);
        CHECK_OK(gpo_template_clear(rig.made));
        rig.loop();
        Graph graph = make_graph(rig.made);
        CHECK_OK(gpo_template_launch(rig.made, rig.on, nullptr, sizeof(gpo_setting), 0));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        make_anew(way);
        std::fill(rig.words.begin(), rig.words.end(), 0);
        rig.run(make_graph(rig.made));
        CHECK(rig.word(3) == 1);
        CHECK_OK(gpo_template_launch(rig.made, rig.on, nullptr, sizeof(gpo_setting), 0));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK(rig.word(3) == 2);
        CHECK_OK(gpo_graph_update(graph, nullptr));
        rig.run(graph);
        CHECK(rig.word(3) == 3);
        CHECK(rig.word(1) == (way == 2 ? 3 * 4 : 0));
        CHECK(figures_of(rig.made).parameters == 0);
    }
}

TEST_CASE("a parameter may have any name, and is never taken for the library's own") {
    Rig rig;
    if (rig.too_old()) return;
    const char* const names[] = {"\1loop 0", "loop 0"};
    Template body = rig.loop();
    const uint32_t node = rig.node(rig.made, rig.put, rig.at(5), 3);
    rig.name(rig.made, names[0], node, GPO_PARAMETER_ARGUMENT, 0);
    rig.name(rig.made, names[1], node, GPO_PARAMETER_ARGUMENT, 1);
    Graph graph = make_graph(rig.made);
    rig.run(graph);
    CHECK(rig.word(5) == 3);
    CHECK(rig.word(1) == 2);
    CHECK_OK(set(graph, names[0], rig.at(6)));
    CHECK_OK(set(graph, names[1], 4u));
    rig.run(graph);
    CHECK(rig.word(6) == 4);
    CHECK(figures_of(rig.made).parameters == 2);
}

TEST_CASE("the length of a copy or fill can be set to more than was recorded, as far as the memory goes") {
    Rig rig;
    rig.words[8] = 1;
    rig.words[9] = 2;
    rig.name(rig.made, "copied", rig.copy(rig.made, rig.at(4), rig.at(8)), GPO_PARAMETER_BYTES);
    rig.name(rig.made, "filled", rig.fill(rig.made, rig.device_words, 3), GPO_PARAMETER_BYTES);
    Graph graph = make_graph(rig.made);
    CHECK_OK(set(graph, "copied", uint64_t{8}));
    CHECK_OK(set(graph, "filled", uint64_t{8}));
    rig.run(graph);
    CHECK(rig.word(4) == 1);
    CHECK(rig.word(5) == 2);
    CHECK_OK(gpo_copy_to_host(rig.on, &rig.words[0], rig.device_words, 8));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(rig.word(1) == 3);
    CHECK_OK(set(graph, "copied", uint64_t{1} << 40));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_graph_launch(graph, rig.on));
    CHECK_OK(set(graph, "copied", uint64_t{4}));
    CHECK_OK(set(graph, "filled", uint64_t{1} << 40));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_graph_launch(graph, rig.on));
    CHECK_OK(set(graph, "filled", uint64_t{4}));
    rig.run(graph);
}
