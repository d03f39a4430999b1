// Conditional nodes of templates, and graphs that kernels launch.
#include <string>

#include "conformance/conditional_rig.h"

using namespace gpo::test;

TEST_CASE("an if runs one of its bodies, by a comparison that needs no kernel") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Template yes, no;
    const gpo_condition small = built.compare(GPO_COMPARE_LESS, 0, 10);
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_if(built.made, nullptr, 0, &small, yes.out(), no.out(), &node));
    built.put(yes, built.set, 1, 100);
    built.put(no, built.set, 1, 200);
    built.put(built.made, built.add, 1, 1, node);
    Graph graph = make_graph(built.made);
    built.words[0] = 9;
    built.run(graph);
    CHECK(read(built.words[1]) == 101);
    built.words[0] = 10;
    built.run(graph);
    CHECK(read(built.words[1]) == 201);
}

TEST_CASE("all comparisons decide as they say") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    const uint32_t comparisons[] = {GPO_COMPARE_EQUAL, GPO_COMPARE_NOT_EQUAL, GPO_COMPARE_LESS,
                                    GPO_COMPARE_GREATER_EQUAL};
    for (uint32_t i = 0; i < 4; ++i) {
        Template body;
        const gpo_condition condition = built.compare(comparisons[i], 0, 5);
        REQUIRE_OK(gpo_template_add_if(built.made, nullptr, 0, &condition, body.out(), nullptr, nullptr));
        built.put(body, built.set, 1 + i, 1);
    }
    Graph graph = make_graph(built.made);
    const uint32_t outcomes[3][4] = {{0, 1, 1, 0}, {1, 0, 0, 1}, {0, 1, 0, 1}};
    for (uint32_t word = 4; word <= 6; ++word) {
        for (uint32_t i = 1; i <= 4; ++i) built.words[i] = 0;
        built.words[0] = word;
        built.run(graph);
        CAPTURE(word);
        for (uint32_t i = 0; i < 4; ++i) CHECK(read(built.words[1 + i]) == outcomes[word - 4][i]);
    }
}

TEST_CASE("a switch runs the body that the word names, and none beyond the last") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    gpo_template_t bodies[3] = {};
    const gpo_condition which = built.compare(GPO_COMPARE_VALUE, 0);
    REQUIRE_OK(gpo_template_add_switch(built.made, nullptr, 0, &which, bodies, 3, nullptr));
    for (uint32_t i = 0; i < 3; ++i) {
        built.put(bodies[i], built.set, 1, 10 + i);
        REQUIRE_OK(gpo_template_destroy(bodies[i]));
    }
    Graph graph = make_graph(built.made);
    const uint32_t expected[] = {10, 11, 12, 7};
    for (uint32_t i = 0; i < 4; ++i) {
        built.words[0] = i;
        built.words[1] = 7;
        built.run(graph);
        CHECK(read(built.words[1]) == expected[i]);
    }
}

TEST_CASE("a while runs until its word says so, and says how often it ran") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Template body;
    uint32_t node = 0;
    const gpo_condition condition = built.compare(GPO_COMPARE_LESS, 0, 100);
    REQUIRE_OK(gpo_template_add_while(built.made, nullptr, 0, &condition, body.out(), &node));
    built.put(body, built.add, 0, 1);
    built.put(body, built.add, 1, 2);
    Graph graph = make_graph(built.made);
    uint64_t iterations = 1;
    uint32_t limited = 1;
    CHECK_OK(gpo_graph_get_loop(graph, built.made, node, &iterations, &limited));   // it was never launched
    CHECK(iterations == 0);
    Template other;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, other.out()));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_graph_get_loop(graph, other, node, &iterations, &limited));
    built.run(graph);
    CHECK(read(built.words[0]) == 100);
    CHECK(read(built.words[1]) == 200);
    CHECK_OK(gpo_graph_get_loop(graph, built.made, node, &iterations, &limited));
    CHECK(iterations == 100);
    CHECK(limited == 0);
    built.run(graph);   // the word is 100 already
    CHECK(read(built.words[0]) == 100);
    CHECK_OK(gpo_graph_get_loop(graph, built.made, node, &iterations, nullptr));
    CHECK(iterations == 0);
}

TEST_CASE("a while that would run for ever ends at its limit, and that is seen") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Template body;
    uint32_t node = 0;
    const gpo_condition condition = built.compare(GPO_COMPARE_EQUAL, 5, 0, 17);
    REQUIRE_OK(gpo_template_add_while(built.made, nullptr, 0, &condition, body.out(), &node));
    built.put(body, built.add, 0, 1);
    Graph graph = make_graph(built.made);
    for (uint32_t launch = 1; launch <= 2; ++launch) {
        built.run(graph);
        CHECK(read(built.words[0]) == 17 * launch);
        uint64_t iterations = 0;
        uint32_t limited = 0;
        CHECK_OK(gpo_graph_get_loop(graph, built.made, node, &iterations, &limited));
        CHECK(iterations == 17);
        CHECK(limited == 1);
    }
}

TEST_CASE("kernels decide a loop and a branch through the device header") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Kernel count_down = gpu.kernel(kConditions, "count_down"), decide = gpu.kernel(kConditions, "decide");
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    uint64_t placeholder = 0, left = built.at(0), runs = built.at(1), word = built.at(2);
    const void* looping[] = {&placeholder, &left, &runs};
    const void* deciding[] = {&placeholder, &word};
    auto condition = sized<gpo_condition>();
    condition.initial = 1;
    Template body, branch;
    uint32_t loop = 0, kernel = 0, decider = 0, conditional = 0;
    REQUIRE_OK(gpo_template_add_while(built.made, nullptr, 0, &condition, body.out(), &loop));
    REQUIRE_OK(gpo_template_add_kernel(body, nullptr, 0, count_down, &shape, looping, nullptr, 3, &kernel));
    REQUIRE_OK(gpo_template_bind_condition(body, kernel, 0, built.made, loop));
    REQUIRE_OK(gpo_template_add_kernel(built.made, &loop, 1, decide, &shape, deciding, nullptr, 2, &decider));
    condition.initial = 0;
    REQUIRE_OK(gpo_template_add_if(built.made, &decider, 1, &condition, branch.out(), nullptr, &conditional));
    REQUIRE_OK(gpo_template_bind_condition(built.made, decider, 0, built.made, conditional));
    built.put(branch, built.set, 3, 9);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_bind_condition(built.made, decider, 5, built.made, conditional));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_bind_condition(built.made, decider, 0, built.made, decider));
    // Two graphs: the second is built anew, with conditions of its own.
    Graph one = make_graph(built.made), two = make_graph(built.made);
    for (gpo_graph_t graph : {one.get(), two.get()}) {
        built.words[0] = 5;
        built.words[1] = built.words[3] = 0;
        built.words[2] = 1;
        built.run(graph);
        CHECK(read(built.words[1]) == 5);
        CHECK(read(built.words[3]) == 9);
        built.words[0] = 1;
        built.words[2] = built.words[3] = 0;
        built.run(graph);
        CHECK(read(built.words[1]) == 6);
        CHECK(read(built.words[3]) == 0);
    }
}

TEST_CASE("a graph is given a value while it runs behind its loop, and the next launch loops from the beginning" *
          gated) {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Kernel count_down = gpu.kernel(kConditions, "count_down"),
           hold = gpu.kernel(
               "extern \"C\" __global__ void hold(const volatile unsigned *open) { while (*open == 0) { } }\n", "hold");
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    uint64_t placeholder = 0, left = built.at(0), runs = built.at(1), open = built.at(2);
    const void *looping[] = {&placeholder, &left, &runs}, *holding[] = {&open};
    auto condition = sized<gpo_condition>();
    condition.initial = 1;
    Template body;
    uint32_t loop = 0, kernel = 0;
    const uint32_t first = built.put(built.made, built.set, 0, 3);
    REQUIRE_OK(gpo_template_add_parameter(built.made, "times", first, GPO_PARAMETER_ARGUMENT, 1));
    REQUIRE_OK(gpo_template_add_while(built.made, &first, 1, &condition, body.out(), &loop));
    REQUIRE_OK(gpo_template_add_kernel(body, nullptr, 0, count_down, &shape, looping, nullptr, 3, &kernel));
    REQUIRE_OK(gpo_template_bind_condition(body, kernel, 0, built.made, loop));
    REQUIRE_OK(gpo_template_add_kernel(built.made, &loop, 1, hold, &shape, holding, nullptr, 1, nullptr));
    Graph graph = make_graph(built.made);
    built.words[0] = 1;
    built.words[1] = 0;
    built.words[2] = 1;
    built.run(graph);   // once open, so that all is loaded
    built.words[1] = built.words[2] = 0;
    REQUIRE_OK(gpo_graph_launch(graph, built.stream));
    while (read(built.words[1]) != 3) {
    }
    const uint32_t times = 2;
    REQUIRE_OK(gpo_graph_set(graph, "times", &times, sizeof times));
    CHECK_OK(gpo_graph_launch(graph, built.stream));
    __atomic_store_n(&built.words[2], 1, __ATOMIC_SEQ_CST);
    CHECK_OK(gpo_stream_wait(built.stream, kPatience));
    CHECK(read(built.words[1]) == 5);
}

TEST_CASE("conditional nodes nest, and parameters of bodies are the template's") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Template outer, inner, odd;
    const gpo_condition rows = built.compare(GPO_COMPARE_LESS, 0, 3), columns = built.compare(GPO_COMPARE_LESS, 1, 4);
    uint32_t while_outer = 0, while_inner = 0;
    REQUIRE_OK(gpo_template_add_while(built.made, nullptr, 0, &rows, outer.out(), &while_outer));
    const uint32_t reset = built.put(outer, built.set, 1, 0);
    REQUIRE_OK(gpo_template_add_while(outer, &reset, 1, &columns, inner.out(), &while_inner));
    built.put(inner, built.add, 1, 1);
    const uint32_t total = built.put(inner, built.add, 2, 1);
    REQUIRE_OK(gpo_template_add_parameter(inner, "step", total, GPO_PARAMETER_ARGUMENT, 1));
    built.put(outer, built.add, 0, 1, while_inner);
    Graph graph = make_graph(built.made);
    built.run(graph);
    CHECK(read(built.words[2]) == 12);
    const uint32_t ten = 10;
    CHECK_OK(gpo_graph_set(graph, "step", &ten, sizeof ten));
    built.words[0] = built.words[2] = 0;
    built.run(graph);
    CHECK(read(built.words[2]) == 120);
    uint64_t iterations = 0;
    CHECK_OK(gpo_graph_get_loop(graph, outer, while_inner, &iterations, nullptr));
    CHECK(iterations == 4);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_add_empty(inner, nullptr, 0, nullptr));
}

TEST_CASE("a conditional takes its place in a recording, and its body is recorded") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Writer writer(gpu);
    REQUIRE_OK(gpo_template_begin(built.made, built.stream));
    CHECK_OK(writer.write(built.stream, &built.words[0], 0));
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_get_last_node(built.made, built.stream, &node));
    Template body;
    const gpo_condition condition = built.compare(GPO_COMPARE_LESS, 0, 8);
    REQUIRE_OK(gpo_template_add_while(built.made, &node, 1, &condition, body.out(), &node));
    REQUIRE_OK(gpo_template_set_last_node(built.made, built.stream, node));
    CHECK_OK(writer.add(built.stream, &built.words[1], &built.words[0], 100));
    Stream other = gpu.stream();
    REQUIRE_OK(gpo_template_begin(body, other));
    CHECK_OK(writer.add(other, &built.words[0], &built.words[0], 2));
    CHECK_OK(writer.add(other, &built.words[2], &built.words[0], 1));
    REQUIRE_OK(gpo_template_end(body));
    REQUIRE_OK(gpo_template_end(built.made));
    Graph graph = make_graph(built.made);
    built.run(graph);
    CHECK(read(built.words[1]) == 108);
    CHECK(read(built.words[2]) == 9);
}

TEST_CASE("what a body can't have is refused by name, and nothing is made of a body alone") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Event event = gpu.event();
    Template body, stays;
    const gpo_condition condition = built.compare(GPO_COMPARE_EQUAL, 0);
    REQUIRE_OK(gpo_template_add_if(built.made, nullptr, 0, &condition, body.out(), nullptr, nullptr));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_add_event_record(body, nullptr, 0, event, nullptr));
    CHECK(refusal().find("event") != std::string::npos);
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_template_add_host_call(body, nullptr, 0, [](void*) {}, nullptr, nullptr));
    CHECK(refusal().find("host call") != std::string::npos);
    Graph graph;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_graph_create(body, nullptr, graph.out()));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_clear(body));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_launch(body, built.stream, nullptr, 0, 0));
    built.put(body, built.set, 1, 3);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_begin(body, built.stream));
    graph = make_graph(built.made);
    built.run(graph);
    CHECK(read(built.words[1]) == 3);
    REQUIRE_OK(gpo_template_clear(built.made));
    graph.reset();
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_add_empty(body, nullptr, 0, nullptr));
}

TEST_CASE("conditions that can't be are refused") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    Template body;
    const auto refused = [&](const gpo_condition& condition) {
        CHECK_STATUS(GPO_INVALID_ARGUMENT,
                     gpo_template_add_if(built.made, nullptr, 0, &condition, body.out(), nullptr, nullptr));
    };
    refused(built.compare(77, 0));
    gpo_condition condition = built.compare(GPO_COMPARE_EQUAL, 0);
    condition.word += 2;
    refused(condition);
    condition.word = 0;
    refused(condition);
    uint32_t pageable = 0;
    condition.word = reinterpret_cast<uint64_t>(&pageable);
    refused(condition);
    refused(built.compare(GPO_COMPARE_EQUAL, 0, 0, 5));
    condition = built.compare(GPO_COMPARE_KERNEL, 0);
    refused(condition);
    CHECK_STATUS(GPO_INVALID_ARGUMENT,
                 gpo_template_add_switch(built.made, nullptr, 0, &condition, body.out(), 0, nullptr));
    auto statistics = sized<gpo_template_statistics>();
    REQUIRE_OK(gpo_template_get_statistics(built.made, &statistics));
    CHECK(statistics.nodes == 0);
}

TEST_CASE("a kernel launches a graph, and one launch too many is a status that the host reads") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    built.put(built.made, built.add, 0, 1);
    auto options = sized<gpo_graph_options>();
    options.flags = GPO_GRAPH_DEVICE_LAUNCH;
    Graph child;
    REQUIRE_OK(gpo_graph_create(built.made, &options, child.out()));
    struct { uint64_t graph, status; } handle = {};
    REQUIRE_OK(gpo_graph_get_device_handle(child, &handle.graph, &handle.status));
    Kernel launch = gpu.kernel(kConditions, "launch");
    Template parent;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, parent.out()));
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const uint32_t times = 1;
    const uint64_t failed = built.at(1);
    const void* arguments[] = {&handle, &times, &failed};
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_kernel(parent, nullptr, 0, launch, &shape, arguments, nullptr, 3, &node));
    REQUIRE_OK(gpo_template_add_parameter(parent, "times", node, GPO_PARAMETER_ARGUMENT, 1));
    Graph graph = make_graph(parent);
    built.run(graph);
    CHECK(read(built.words[0]) == 1);
    CHECK(read(built.words[1]) == 0);
    gpo_status status = GPO_INTERNAL;
    CHECK_OK(gpo_graph_get_device_status(child, &status));
    CHECK(status == GPO_SUCCESS);
    const uint32_t twice = 2;
    REQUIRE_OK(gpo_graph_set(graph, "times", &twice, sizeof twice));
    built.run(graph);
    CHECK(read(built.words[0]) == 2);
    CHECK(read(built.words[1]) == 1);
    CHECK_OK(gpo_graph_get_device_status(child, &status));
    CHECK(status == GPO_LIMIT_EXCEEDED);
    CHECK_OK(gpo_graph_get_device_status(child, &status));
    CHECK(status == GPO_SUCCESS);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_graph_get_device_handle(graph, &handle.graph, &handle.status));
}

TEST_CASE("graphs that kernels launch have kernels, copies and fills, and are not empty") {
    Gpu gpu;
    Built built(gpu);
    if (built.too_old()) return;
    auto options = sized<gpo_graph_options>();
    options.flags = GPO_GRAPH_DEVICE_LAUNCH;
    Graph graph;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_graph_create(built.made, &options, graph.out()));
    REQUIRE_OK(gpo_template_clear(built.made));
    uint32_t node = built.put(built.made, built.add, 0, 1);
    REQUIRE_OK(gpo_template_add_host_call(built.made, &node, 1, [](void*) {}, nullptr, nullptr));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_graph_create(built.made, &options, graph.out()));
    CHECK(refusal().find("node 2, host call") != std::string::npos);
}
