// Conditional nodes within one another, made in every way: in recorded bodies, in children, in recordings.
#include <array>
#include <deque>
#include <functional>
#include <random>
#include <string>

#include "conformance/conditional_rig.h"

using namespace gpo::test;

namespace {

uint64_t iterations_of(gpo_graph_t graph, gpo_template_t in, uint32_t node) {
    uint64_t out = UINT64_MAX;
    CHECK_OK(gpo_graph_get_loop(graph, in, node, &out, nullptr));
    return out;
}

/// A template with a conditional of each kind, in one another. While word 0 < `rounds`, word 0 += 1 and word 1 += 1. In
/// each round, if word 0 is 2, the body whose number is in word 2 adds 10 or 20 to word 1, else nothing.
struct Nested {
    explicit Nested(Built& built, uint32_t rounds) {
        REQUIRE_OK(gpo_template_create(built.device, nullptr, made.out()));
        const gpo_condition again = built.compare(GPO_COMPARE_LESS, 0, rounds),
                            second = built.compare(GPO_COMPARE_EQUAL, 0, 2),
                            which = built.compare(GPO_COMPARE_VALUE, 2);
        REQUIRE_OK(gpo_template_add_while(made, nullptr, 0, &again, body.out(), &loop));
        const uint32_t counted = built.put(body, built.add, 0, 1);
        const uint32_t added = built.put(body, built.add, 1, 1, counted);
        REQUIRE_OK(gpo_template_add_parameter(body, "step", added, GPO_PARAMETER_ARGUMENT, 1));
        REQUIRE_OK(gpo_template_add_if(body, &added, 1, &second, yes.out(), nullptr, nullptr));
        gpo_template_t cases[2] = {};
        REQUIRE_OK(gpo_template_add_switch(yes, nullptr, 0, &which, cases, 2, nullptr));
        for (uint32_t i = 0; i < 2; ++i) {
            built.put(cases[i], built.add, 1, 10 + 10 * i);
            REQUIRE_OK(gpo_template_destroy(cases[i]));
        }
    }

    Template made, body, yes;
    uint32_t loop = 0;
};

void clear(Built& built) {
    for (uint32_t& word : built.words) word = 0;
}

}  // namespace

TEST_CASE("a recorded body has a conditional inside, whose body is filled before the recording ends or after it") {
    for (const bool late : {false, true}) {
        CAPTURE(late);
        Gpu gpu;
        Built built(gpu);
        if (built.too_old()) return;
        Template body, inner;
        uint32_t loop = 0, step = 0, decided = 0, last = 0;
        const gpo_condition again = built.compare(GPO_COMPARE_LESS, 0, 5),
                            third = built.compare(GPO_COMPARE_EQUAL, 0, 3);
        REQUIRE_OK(gpo_template_add_while(built.made, nullptr, 0, &again, body.out(), &loop));
        REQUIRE_OK(gpo_template_begin(body, built.stream));
        built.put_on(built.stream, built.add, 0, 1);
        REQUIRE_OK(gpo_template_get_last_node(body, built.stream, &step));
        REQUIRE_OK(gpo_template_add_if(body, &step, 1, &third, inner.out(), nullptr, &decided));
        REQUIRE_OK(gpo_template_set_last_node(body, built.stream, decided));
        built.put_on(built.stream, built.add, 2, 1);
        REQUIRE_OK(gpo_template_get_last_node(body, built.stream, &last));
        REQUIRE_OK(gpo_template_add_parameter(body, "step", last, GPO_PARAMETER_ARGUMENT, 1));
        if (!late) built.put(inner, built.set, 1, 7);
        REQUIRE_OK(gpo_template_end(body));
        if (late) built.put(inner, built.set, 1, 7);
        // Node numbers continue those of the recording.
        const uint32_t after = built.put(body, built.add, 3, 1, last);
        CHECK(after == last + 1);
        Graph one = make_graph(built.made), two = make_graph(built.made);
        for (const gpo_graph_t graph : {one.get(), two.get()}) {
            clear(built);
            built.run(graph);
            CHECK(read(built.words[0]) == 5);
            CHECK(read(built.words[1]) == 7);
            CHECK(read(built.words[2]) == 5);
            CHECK(read(built.words[3]) == 5);
            CHECK(iterations_of(graph, built.made, loop) == 5);
        }
        const uint32_t ten = 10;
        REQUIRE_OK(gpo_graph_set(two, "step", &ten, sizeof ten));
        clear(built);
        built.run(two);
        CHECK(read(built.words[2]) == 50);
    }
}

TEST_CASE("bodies are recorded within bodies that are recorded, and a loop in there says how often it ran") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Stream deeper = gpu.stream();
    Template body, inner;
    uint32_t node = 0, loop = 0;
    const gpo_condition rows = built.compare(GPO_COMPARE_LESS, 0, 3), columns = built.compare(GPO_COMPARE_LESS, 1, 4);
    REQUIRE_OK(gpo_template_add_while(built.made, nullptr, 0, &rows, body.out(), nullptr));
    REQUIRE_OK(gpo_template_begin(body, built.stream));
    built.put_on(built.stream, built.set, 1, 0);
    REQUIRE_OK(gpo_template_get_last_node(body, built.stream, &node));
    REQUIRE_OK(gpo_template_add_while(body, &node, 1, &columns, inner.out(), &loop));
    REQUIRE_OK(gpo_template_set_last_node(body, built.stream, loop));
    REQUIRE_OK(gpo_template_begin(inner, deeper));
    built.put_on(deeper, built.add, 1, 1);
    built.put_on(deeper, built.add, 2, 1);
    built.put_on(built.stream, built.add, 0, 1);
    // The outer recording ends while the inner one goes on.
    REQUIRE_OK(gpo_template_end(body));
    Graph graph;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_graph_create(built.made, nullptr, graph.out()));
    REQUIRE_OK(gpo_template_end(inner));
    graph = make_graph(built.made);
    built.run(graph);
    CHECK(read(built.words[2]) == 12);
    CHECK(iterations_of(graph, body, loop) == 4);
}

TEST_CASE("a template with conditionals is a child: of a template, of a recording, of a body, of a child") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Nested nested(built, 4);
    uint32_t node = 0;
    const std::function<void(gpo_template_t)> places[] = {
        [&](gpo_template_t to) { REQUIRE_OK(gpo_template_add_child(to, nullptr, 0, nested.made, "a.", &node)); },
        [&](gpo_template_t to) {
            REQUIRE_OK(gpo_template_begin(to, built.stream));
            REQUIRE_OK(gpo_template_add_child(to, nullptr, 0, nested.made, "a.", &node));
            REQUIRE_OK(gpo_template_set_last_node(to, built.stream, node));
            built.put_on(built.stream, built.add, 3, 1);
            REQUIRE_OK(gpo_template_end(to));
        },
        [&](gpo_template_t to) {
            Template body;
            const gpo_condition always = built.compare(GPO_COMPARE_EQUAL, 9);
            REQUIRE_OK(gpo_template_add_if(to, nullptr, 0, &always, body.out(), nullptr, nullptr));
            REQUIRE_OK(gpo_template_add_child(body, nullptr, 0, nested.made, "a.", &node));
        },
        [&](gpo_template_t to) {
            Template body;
            const gpo_condition always = built.compare(GPO_COMPARE_EQUAL, 9);
            REQUIRE_OK(gpo_template_add_if(to, nullptr, 0, &always, body.out(), nullptr, nullptr));
            REQUIRE_OK(gpo_template_begin(body, built.stream));
            built.put_on(built.stream, built.add, 3, 1);
            uint32_t last = 0;
            REQUIRE_OK(gpo_template_get_last_node(body, built.stream, &last));
            REQUIRE_OK(gpo_template_add_child(body, &last, 1, nested.made, "a.", &node));
            REQUIRE_OK(gpo_template_end(body));
        },
        [&](gpo_template_t to) {
            Template between = make_template(gpu);
            REQUIRE_OK(gpo_template_add_child(between, nullptr, 0, nested.made, nullptr, &node));
            REQUIRE_OK(gpo_template_add_child(to, nullptr, 0, between, "a.", &node));
        }};
    for (const auto& add_to : places) {
        Template parent = make_template(gpu);
        add_to(parent);
        Graph one = make_graph(parent), two = make_graph(parent);
        const uint32_t three = 3;
        REQUIRE_OK(gpo_graph_set(two, "a.step", &three, sizeof three));
        for (uint32_t which = 0; which < 3; ++which) {
            CAPTURE(which);
            const uint32_t once = which < 2 ? 10 + 10 * which : 0;
            clear(built);
            built.words[2] = which;
            built.run(one);
            CHECK(read(built.words[1]) == 4 + once);
            clear(built);
            built.words[2] = which;
            built.run(two);
            CHECK(read(built.words[1]) == 12 + once);
            CHECK(iterations_of(two, nested.made, nested.loop) == 4);
        }
        // The loop doesn't run where it has run already.
        built.run(one);
        CHECK(iterations_of(one, nested.made, nested.loop) == 0);
        CHECK(iterations_of(two, nested.made, nested.loop) == 4);
    }
}

TEST_CASE("what comes before a child and what comes after it do") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Nested nested(built, 4);
    Template parent = make_template(gpu);
    const uint32_t first = built.put(parent, built.set, 0, 0);
    uint32_t end = 0;
    REQUIRE_OK(gpo_template_add_child(parent, &first, 1, nested.made, "a.", &end));
    built.put(parent, built.set, 0, 100, end);
    Graph graph = make_graph(parent);
    for (int launches = 0; launches < 2; ++launches) {
        built.words[1] = 0;
        built.words[2] = 5;
        built.run(graph);
        CHECK(read(built.words[0]) == 100);
        CHECK(read(built.words[1]) == 4);
    }
}

TEST_CASE("one child twice: parameters have their prefix, and its loops can't be told apart, which is said") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Nested nested(built, 4);
    Template parent = make_template(gpu);
    uint32_t first = 0, between = 0;
    REQUIRE_OK(gpo_template_add_child(parent, nullptr, 0, nested.made, "a.", &first));
    between = built.put(parent, built.set, 0, 0, first);
    REQUIRE_OK(gpo_template_add_child(parent, &between, 1, nested.made, "b.", nullptr));
    Graph graph = make_graph(parent);
    const uint32_t hundred = 100;
    REQUIRE_OK(gpo_graph_set(graph, "b.step", &hundred, sizeof hundred));
    built.words[2] = 9;
    built.run(graph);
    CHECK(read(built.words[1]) == 4 + 400);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_graph_get_loop(graph, nested.made, nested.loop, nullptr, nullptr));
    CHECK(says(refusal(), "2 times"));
    // A template recorded anew no longer counts as the added child.
    REQUIRE_OK(gpo_template_clear(nested.made));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_graph_get_loop(graph, nested.made, 1, nullptr, nullptr));
}

TEST_CASE("loops of a child, of a body of it and of the template beside it are asked for by their own templates") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Template child = make_template(gpu), outer, inner, own;
    uint32_t in_child = 0, in_body = 0, in_parent = 0, end = 0;
    const gpo_condition rows = built.compare(GPO_COMPARE_LESS, 0, 3), columns = built.compare(GPO_COMPARE_LESS, 1, 4),
                        more = built.compare(GPO_COMPARE_LESS, 2, 5);
    REQUIRE_OK(gpo_template_add_while(child, nullptr, 0, &rows, outer.out(), &in_child));
    const uint32_t reset = built.put(outer, built.set, 1, 0);
    REQUIRE_OK(gpo_template_add_while(outer, &reset, 1, &columns, inner.out(), &in_body));
    built.put(inner, built.add, 1, 1);
    built.put(outer, built.add, 0, 1, in_body);
    REQUIRE_OK(gpo_template_add_while(built.made, nullptr, 0, &more, own.out(), &in_parent));
    built.put(own, built.add, 2, 1);
    REQUIRE_OK(gpo_template_add_child(built.made, &in_parent, 1, child, nullptr, &end));
    Graph graph = make_graph(built.made);
    built.run(graph);
    CHECK(iterations_of(graph, built.made, in_parent) == 5);
    CHECK(iterations_of(graph, child, in_child) == 3);
    CHECK(iterations_of(graph, outer, in_body) == 4);
    // All of this as a child, behind a loop of the parent.
    Template above = make_template(gpu), first;
    const gpo_condition twice = built.compare(GPO_COMPARE_LESS, 3, 2);
    uint32_t in_above = 0;
    REQUIRE_OK(gpo_template_add_while(above, nullptr, 0, &twice, first.out(), &in_above));
    built.put(first, built.add, 3, 1);
    REQUIRE_OK(gpo_template_add_child(above, &in_above, 1, built.made, nullptr, nullptr));
    graph = make_graph(above);
    clear(built);
    built.run(graph);
    CHECK(iterations_of(graph, above, in_above) == 2);
    CHECK(iterations_of(graph, built.made, in_parent) == 5);
    CHECK(iterations_of(graph, child, in_child) == 3);
    CHECK(iterations_of(graph, outer, in_body) == 4);
}

TEST_CASE("kernels decide conditions in children, and in bodies that were recorded, from wherever they are") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Kernel count_down = gpu.kernel(kConditions, "count_down"), decide = gpu.kernel(kConditions, "decide");
    const gpo_launch shape = Built::one_thread();
    uint64_t placeholder = 0, left = built.at(0), runs = built.at(1), word = built.at(2);
    const void* looping[] = {&placeholder, &left, &runs};
    const void* deciding[] = {&placeholder, &word};
    auto condition = sized<gpo_condition>();
    // A kernel of the template itself decides an if in the recorded body of a while. A kernel in the body decides the
    // while.
    const auto build = [&](gpo_template_t to) {
        Template body, branch;
        uint32_t decider = 0, loop = 0, counted = 0, conditional = 0;
        REQUIRE_OK(gpo_template_add_kernel(to, nullptr, 0, decide, &shape, deciding, nullptr, 2, &decider));
        condition.initial = 1;
        REQUIRE_OK(gpo_template_add_while(to, &decider, 1, &condition, body.out(), &loop));
        REQUIRE_OK(gpo_template_begin(body, built.stream));
        REQUIRE_OK(gpo_stream_launch_kernel(built.stream, count_down, &shape, looping, nullptr, 3));
        REQUIRE_OK(gpo_template_get_last_node(body, built.stream, &counted));
        condition.initial = 0;
        REQUIRE_OK(gpo_template_add_if(body, &counted, 1, &condition, branch.out(), nullptr, &conditional));
        built.put(branch, built.add, 3, 1);
        REQUIRE_OK(gpo_template_bind_condition(to, decider, 0, body, conditional));
        REQUIRE_OK(gpo_template_bind_condition(body, counted, 0, to, loop));
        REQUIRE_OK(gpo_template_end(body));
    };
    const auto check = [&](gpo_graph_t graph) {
        for (const uint32_t yes : {1u, 0u}) {
            CAPTURE(yes);
            clear(built);
            built.words[0] = 5;
            built.words[2] = yes;
            built.run(graph);
            CHECK(read(built.words[1]) == 5);
            CHECK(read(built.words[3]) == 5 * yes);
        }
    };
    build(built.made);
    Template parent = make_template(gpu);
    REQUIRE_OK(gpo_template_add_child(parent, nullptr, 0, built.made, nullptr, nullptr));
    // The first graph of each template, and a second graph, built anew.
    Graph own = make_graph(built.made), own_again = make_graph(built.made), as_child = make_graph(parent),
          child_again = make_graph(parent);
    for (const gpo_graph_t graph : {own.get(), own_again.get(), as_child.get(), child_again.get()}) check(graph);
}

TEST_CASE("launches on several streams have a graph of their own each, with its own loops") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Template child = make_template(gpu), body;
    uint32_t loop = 0;
    const gpo_condition forever = built.compare(GPO_COMPARE_EQUAL, 15, 0, 6);
    REQUIRE_OK(gpo_template_add_while(child, nullptr, 0, &forever, body.out(), &loop));
    const uint32_t counted = built.put(body, built.add, 0, 1);
    REQUIRE_OK(gpo_template_add_parameter(body, "word", counted, GPO_PARAMETER_ARGUMENT, 0));
    REQUIRE_OK(gpo_template_add_child(built.made, nullptr, 0, child, "child.", nullptr));
    std::array<Stream, 4> streams;
    for (uint32_t i = 0; i < streams.size(); ++i) {
        streams[i] = gpu.stream();
        const uint64_t word = built.at(i);
        auto setting = sized<gpo_setting>();
        setting.name = "child.word";
        setting.value = &word;
        setting.bytes = sizeof word;
        for (int times = 0; times < 3; ++times)
            REQUIRE_OK(gpo_template_launch(built.made, streams[i], &setting, sizeof setting, 1));
    }
    for (const Stream& stream : streams) CHECK_OK(gpo_stream_wait(stream, kPatience));
    for (uint32_t i = 0; i < streams.size(); ++i) CHECK(read(built.words[i]) == 18);
    CHECK(figures_of(built.made).instances == streams.size());
    CHECK(figures_of(built.made).rebuilds == 0);
}

TEST_CASE("a graph follows its template to another recording that has a child with conditionals") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Nested three(built, 3), six(built, 6);
    const auto record = [&](gpo_template_t child) {
        uint32_t end = 0;
        REQUIRE_OK(gpo_template_begin(built.made, built.stream));
        built.put_on(built.stream, built.set, 0, 0);
        uint32_t first = 0;
        REQUIRE_OK(gpo_template_get_last_node(built.made, built.stream, &first));
        REQUIRE_OK(gpo_template_add_child(built.made, &first, 1, child, "child.", &end));
        REQUIRE_OK(gpo_template_set_last_node(built.made, built.stream, end));
        built.put_on(built.stream, built.add, 3, 1);
        REQUIRE_OK(gpo_template_end(built.made));
    };
    record(three.made);
    Graph graph = make_graph(built.made);
    const uint32_t two = 2;
    REQUIRE_OK(gpo_graph_set(graph, "child.step", &two, sizeof two));
    built.words[2] = 9;
    built.run(graph);
    CHECK(read(built.words[1]) == 6);
    for (const Nested* next : {&six, &three}) {
        record(next->made);
        REQUIRE_OK(gpo_graph_update(graph, nullptr));
        built.words[1] = 0;
        built.run(graph);
        CHECK(read(built.words[1]) == (next == &six ? 12 : 6));
        CHECK(iterations_of(graph, next->made, next->loop) == (next == &six ? 6 : 3));
    }
    CHECK(read(built.words[3]) == 3);
}

TEST_CASE("nodes of a child are counted with those of its bodies, and drawn inside of their nodes") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Nested nested(built, 4);
    REQUIRE_OK(gpo_template_add_child(built.made, nullptr, 0, nested.made, "a.", nullptr));
    const auto drawn = [&](gpo_template_t of) {
        std::string out(1 << 16, '\0');
        size_t needed = 0;
        REQUIRE_OK(gpo_template_get_picture(of, GPO_PICTURE_DOT, out.data(), out.size(), &needed));
        out.resize(needed - 1);
        return out;
    };
    const auto count = [](const std::string& in, const std::string& what) {
        size_t times = 0;
        for (size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++times;
        return times;
    };
    for (const bool instantiated : {false, true}) {
        CAPTURE(instantiated);
        const std::string dot = drawn(built.made);
        CHECK(count(dot, "comparison") == 4);   // of the if and the switch, and two of the while
        CHECK(count(dot, "case 1") == 1);
        CHECK(count(dot, "a.step") == 1);
        CHECK(says(dot, "while word at"));
        if (!instantiated) static_cast<void>(make_graph(built.made));
    }
    // Outside: the while with its comparison and the node behind both. In the loop: two kernels, the if with its
    // comparison, and the comparison at the end. In the if: the switch with its comparison. In the switch: one kernel
    // for each case.
    CHECK(figures_of(built.made).nodes == 3 + 5 + 2 + 2);
}

TEST_CASE("a recording of a body that is discarded leaves the body empty, and what was in it can't be added to") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Queue queue = gpu.queue();
    Kernel decide = gpu.kernel(kConditions, "decide");
    const gpo_launch shape = Built::one_thread();
    uint64_t placeholder = 0, word = built.at(2);
    const void* deciding[] = {&placeholder, &word};
    Template body, inner, deeper, kept;
    uint32_t loop = 0, decider = 0, node = 0;
    const gpo_condition again = built.compare(GPO_COMPARE_LESS, 0, 5), always = built.compare(GPO_COMPARE_EQUAL, 9);
    REQUIRE_OK(gpo_template_add_kernel(built.made, nullptr, 0, decide, &shape, deciding, nullptr, 2, &decider));
    REQUIRE_OK(gpo_template_add_while(built.made, &decider, 1, &again, body.out(), &loop));
    auto by_kernel = sized<gpo_condition>();
    for (const bool fails : {false, true}) {
        CAPTURE(fails);
        REQUIRE_OK(gpo_template_begin(body, built.stream));
        built.put_on(built.stream, built.add, 1, 1);
        REQUIRE_OK(gpo_template_add_if(body, nullptr, 0, &by_kernel, inner.out(), nullptr, &node));
        REQUIRE_OK(gpo_template_bind_condition(built.made, decider, 0, body, node));
        REQUIRE_OK(gpo_template_add_while(inner, nullptr, 0, &always, deeper.out(), nullptr));
        built.put(deeper, built.add, 1, 1);
        if (fails) {
            CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_notify(built.stream, queue, 0));
            CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(body));
        } else {
            REQUIRE_OK(gpo_template_cancel(body));
        }
        CHECK_STATUS(GPO_INVALID_STATE, gpo_template_add_empty(inner, nullptr, 0, nullptr));
        CHECK_STATUS(GPO_INVALID_STATE, gpo_template_begin(deeper, built.stream));
        CHECK_STATUS(GPO_INVALID_STATE, gpo_template_bind_condition(built.made, decider, 0, inner, 2));
        CHECK(figures_of(body).nodes == 0);
        inner.reset();
        deeper.reset();
    }
    REQUIRE_OK(gpo_template_begin(body, built.stream));
    built.put_on(built.stream, built.add, 0, 1);
    REQUIRE_OK(gpo_template_end(body));
    REQUIRE_OK(gpo_template_add_if(body, nullptr, 0, &by_kernel, kept.out(), nullptr, &node));
    REQUIRE_OK(gpo_template_bind_condition(built.made, decider, 0, body, node));
    built.put(kept, built.add, 3, 1);
    Graph graph = make_graph(built.made);
    built.words[2] = 1;
    built.run(graph);
    CHECK(read(built.words[0]) == 5);
    CHECK(read(built.words[1]) == 0);
    CHECK(read(built.words[3]) == 5);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_begin(kept, built.stream));
}

TEST_CASE("what can't be copied, or can't be in a body, is named, with where it is") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Template body, child = make_template(gpu), memory = make_template(gpu);
    const gpo_condition always = built.compare(GPO_COMPARE_EQUAL, 9);
    REQUIRE_OK(gpo_template_add_if(built.made, nullptr, 0, &always, body.out(), nullptr, nullptr));
    built.put(child, built.add, 0, 1);
    REQUIRE_OK(gpo_template_add_host_call(child, nullptr, 0, [](void*) {}, nullptr, nullptr));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_add_child(body, nullptr, 0, child, nullptr, nullptr));
    CHECK(says(refusal(), "of the child, node 2, host call, can't be in a body"));
    uint64_t address = 0;
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_allocation(memory, nullptr, 0, 64, &address, &node));
    REQUIRE_OK(gpo_template_add_free(memory, &node, 1, address, nullptr));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_add_child(built.made, nullptr, 0, memory, nullptr, nullptr));
    CHECK(says(refusal(), "of the child, node 1, allocation, can't be copied"));
    // Try it during a recording of the body, too.
    REQUIRE_OK(gpo_template_begin(body, built.stream));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_add_host_call(body, nullptr, 0, [](void*) {}, nullptr, nullptr));
    CHECK(says(refusal(), "no host call"));
    built.put_on(built.stream, built.add, 0, 1);
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(body));
    REQUIRE_OK(gpo_template_begin(body, built.stream));
    built.put_on(built.stream, built.add, 0, 1);
    REQUIRE_OK(gpo_template_end(body));
    // A template can't be a child of its own body, and the refusal doesn't end its building.
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_child(body, nullptr, 0, built.made, nullptr, nullptr));
    built.put(built.made, built.add, 1, 1);
    Graph graph = make_graph(built.made);
    built.run(graph);
    CHECK(read(built.words[0]) == 1);
    CHECK(read(built.words[1]) == 1);
}

TEST_CASE("a child whose parameters can't get their names isn't added, and neither are its loops") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Nested nested(built, 4);
    const std::string longest(63, 'a');
    CHECK_STATUS(GPO_INVALID_ARGUMENT,
                 gpo_template_add_child(built.made, nullptr, 0, nested.made, longest.c_str(), nullptr));
    CHECK(figures_of(built.made).nodes == 0);
    built.put(built.made, built.add, 5, 1);
    {
        Graph graph = make_graph(built.made);
        built.run(graph);
        CHECK(read(built.words[5]) == 1);
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_graph_get_loop(graph, nested.made, nested.loop, nullptr, nullptr));
    }
    REQUIRE_OK(gpo_template_clear(built.made));
    CHECK_STATUS(GPO_INVALID_ARGUMENT,
                 gpo_template_add_child(built.made, nullptr, 0, nested.made, longest.c_str(), nullptr));
    REQUIRE_OK(gpo_template_add_child(built.made, nullptr, 0, nested.made, "a.", nullptr));
    Graph graph = make_graph(built.made);
    built.words[2] = 9;
    built.run(graph);
    CHECK(read(built.words[1]) == 4);
    CHECK(iterations_of(graph, nested.made, nested.loop) == 4);
}

// --- random programs ---

namespace {

constexpr uint32_t kWords = 6, kDeepest = 3;

struct Statement;
using Block = std::vector<Statement>;

/// A kernel, or a conditional with its bodies.
struct Statement {
    enum Kind { add, set, if_else, loop, cases } kind;
    uint32_t word, value, comparison;   // of a loop `value` is also how often it runs at most
    Block bodies[2];
};

using Random = std::mt19937;

Block random_block(Random& random, uint32_t depth) {
    Block out;
    for (uint32_t left = random() % 4 + (depth == 0); left > 0; --left) {
        Statement made{static_cast<Statement::Kind>(random() % (depth < kDeepest ? 5 : 2)),
                       static_cast<uint32_t>(random() % kWords), static_cast<uint32_t>(random() % 4 + 1),
                       static_cast<uint32_t>(random() % 4 + GPO_COMPARE_EQUAL),
                       {}};
        if (made.kind >= Statement::if_else) made.bodies[0] = random_block(random, depth + 1);
        if (made.kind == Statement::if_else || made.kind == Statement::cases)
            made.bodies[1] = random_block(random, depth + 1);
        out.push_back(std::move(made));
    }
    return out;
}

using Words = std::array<uint32_t, kWords>;

bool holds(const Statement& statement, const Words& words) {
    const uint32_t word = words[statement.word];
    switch (statement.comparison) {
        case GPO_COMPARE_EQUAL: return word == statement.value;
        case GPO_COMPARE_NOT_EQUAL: return word != statement.value;
        case GPO_COMPARE_LESS: return word < statement.value;
        default: return word >= statement.value;
    }
}

void run_on_host(const Block& block, Words& words) {
    for (const Statement& each : block) switch (each.kind) {
            case Statement::add: words[each.word] += each.value; break;
            case Statement::set: words[each.word] = each.value; break;
            case Statement::if_else: run_on_host(each.bodies[holds(each, words) ? 0 : 1], words); break;
            case Statement::loop: {
                uint32_t runs = 0;
                for (bool again = holds(each, words); again; again = ++runs < each.value && holds(each, words))
                    run_on_host(each.bodies[0], words);
                break;
            }
            case Statement::cases:
                if (words[each.word] < 2) run_on_host(each.bodies[words[each.word]], words);
        }
}

/// Builds a program in a template; how each block gets there is picked by chance out of what is allowed.
class Composer {
public:
    enum How : uint32_t { directly = 1, as_child = 2, recorded = 4 };
    Composer(Gpu& gpu, Built& built, Random& random, uint32_t allowed)
        : gpu_(gpu), built_(built), random_(random), allowed_(allowed) {}

    void fill(gpo_template_t to, const Block& block) {
        switch (pick()) {
            case directly: build(to, block); break;
            case as_child: {
                templates_.push_back(make_template(gpu_));
                const gpo_template_t child = templates_.back();
                fill(child, block);
                REQUIRE_OK(gpo_template_add_child(to, nullptr, 0, child, nullptr, nullptr));
                break;
            }
            default: record(to, block);
        }
        // Fill the blocks that a recording has left for later.
        while (!later_.empty()) {
            const auto next = later_.back();
            later_.pop_back();
            fill(next.first, *next.second);
        }
    }

private:
    uint32_t pick() {
        for (;;)
            if (const uint32_t how = 1u << random_() % 3; allowed_ & how) {
                if (how == as_child && ++children_ > kMostChildren) allowed_ &= ~as_child, allowed_ |= directly;
                return how;
            }
    }

    void build(gpo_template_t to, const Block& block) {
        uint32_t last = 0;
        for (const Statement& each : block)
            if (each.kind < Statement::if_else)
                last = built_.put(to, kernel(each), each.word, each.value, last);
            else
                last = conditional(to, each, last,
                                   [&](gpo_template_t body, const Block& within) { fill(body, within); });
    }

    void record(gpo_template_t to, const Block& block) {
        Stream stream = gpu_.stream();
        REQUIRE_OK(gpo_template_begin(to, stream));
        for (const Statement& each : block) {
            if (each.kind < Statement::if_else) {
                built_.put_on(stream, kernel(each), each.word, each.value);
                continue;
            }
            uint32_t last = 0;
            REQUIRE_OK(gpo_template_get_last_node(to, stream, &last));
            last = conditional(to, each, last, [&](gpo_template_t body, const Block& within) {
                if (random_() % 2) fill(body, within);
                else later_.emplace_back(body, &within);
            });
            REQUIRE_OK(gpo_template_set_last_node(to, stream, last));
        }
        REQUIRE_OK(gpo_template_end(to));
    }

    template <class Fill>
    uint32_t conditional(gpo_template_t to, const Statement& what, uint32_t after, Fill&& fill_body) {
        gpo_template_t bodies[2] = {};
        uint32_t node = 0;
        const uint32_t count = after ? 1 : 0;
        const bool loop = what.kind == Statement::loop, cases = what.kind == Statement::cases;
        const gpo_condition condition = built_.compare(cases ? GPO_COMPARE_VALUE : what.comparison, what.word,
                                                       what.value, loop ? what.value : 0);
        if (loop) REQUIRE_OK(gpo_template_add_while(to, &after, count, &condition, bodies, &node));
        else if (cases) REQUIRE_OK(gpo_template_add_switch(to, &after, count, &condition, bodies, 2, &node));
        else REQUIRE_OK(gpo_template_add_if(to, &after, count, &condition, &bodies[0], &bodies[1], &node));
        for (uint32_t i = 0; i < 2; ++i) {
            if (!bodies[i]) continue;
            templates_.emplace_back();
            *templates_.back().out() = bodies[i];
        }
        for (uint32_t i = 0; i < 2; ++i)
            if (bodies[i]) fill_body(bodies[i], what.bodies[i]);
        return node;
    }

    gpo_kernel_t kernel(const Statement& what) const {
        return what.kind == Statement::add ? built_.add.get() : built_.set.get();
    }

    static constexpr uint32_t kMostChildren = 20;
    Gpu& gpu_;
    Built& built_;
    Random& random_;
    uint32_t allowed_, children_ = 0;
    std::deque<Template> templates_;
    std::vector<std::pair<gpo_template_t, const Block*>> later_;
};

}  // namespace

TEST_CASE("random programs of conditionals do the same, whether they are built, recorded or made of children") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    for (uint32_t seed = 1; seed <= 24; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const Block program = random_block(random, 0);
        for (const uint32_t allowed : {1u, 5u, 3u, 4u, 7u}) {
            CAPTURE(allowed);
            Composer composer(gpu, built, random, allowed);
            Template made = make_template(gpu);
            composer.fill(made, program);
            Graph one = make_graph(made), two = make_graph(made);
            for (uint32_t launches = 0; launches < 4; ++launches) {
                Words expected;
                for (uint32_t i = 0; i < kWords; ++i) expected[i] = built.words[i] = random() % 5;
                run_on_host(program, expected);
                built.run(launches % 2 ? two : one);
                for (uint32_t i = 0; i < kWords; ++i) CHECK(read(built.words[i]) == expected[i]);
            }
        }
    }
}
