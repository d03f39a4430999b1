// Pictures of templates: what is in them, by the text for Graphviz, whose labels are lines that end with "\l"; and when
// a template can be drawn. tests/process/check_pictures.py looks at them as their viewers do.
#include <cstdio>
#include <string>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

std::string picture_of(gpo_template_t of, uint32_t format = GPO_PICTURE_DOT) {
    std::string text(1 << 18, '\0');
    size_t needed = 0;
    REQUIRE_OK(gpo_template_get_picture(of, format, text.data(), text.size(), &needed));
    text.resize(needed - 1);
    return text;
}

size_t count_of(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
    return found;
}

std::string hex(uint64_t address) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

/// A template, and the memory and kernels of its nodes.
struct Drawn {
    explicit Drawn(Gpu& gpu, const char* label = "step") : gpu(gpu), memory(gpu, 1 << 16), stream(gpu.stream()) {
        auto options = sized<gpo_template_options>();
        options.label = label;
        REQUIRE_OK(gpo_template_create(gpu.device, &options, made.out()));
        REQUIRE_OK(gpo_module_load_builtin(gpu.device, module.out()));
        REQUIRE_OK(gpo_module_get_kernel(module, "gpo_fill_u32", kernel.out()));
    }
    uint32_t launch(gpo_template_t to, const char* label, uint32_t after = 0) {
        auto shape = sized<gpo_launch>();
        shape.grid[0] = 16;
        shape.block[0] = 32;
        shape.block[1] = 4;
        shape.label = label;
        const uint64_t where = memory, words = 64;
        const uint32_t value = 7;
        const void* arguments[] = {&where, &value, &words};
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_add_kernel(to, &after, after ? 1 : 0, kernel, &shape, arguments, nullptr, 3, &node));
        return node;
    }
    uint32_t fill(gpo_template_t to, uint32_t after = 0) {
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_add_fill(to, &after, after ? 1 : 0, memory, 42, 4, 16384, &node));
        return node;
    }
    void name(gpo_template_t in, const char* parameter, uint32_t node, uint32_t what, uint32_t index = 0) {
        REQUIRE_OK(gpo_template_add_parameter(in, parameter, node, what, index));
    }
    gpo_condition compare(uint32_t comparison, uint32_t constant = 0, uint64_t most = 0) const {
        auto condition = sized<gpo_condition>();
        condition.comparison = comparison;
        condition.word = comparison == GPO_COMPARE_KERNEL ? 0 : uint64_t{memory};
        condition.constant = constant;
        condition.max_iterations = most;
        return condition;
    }
    std::string picture() const { return picture_of(made); }
    bool shows(const std::string& words) const { return picture().find(words) != std::string::npos; }

    Gpu& gpu;
    Memory memory;
    Stream stream;
    Module module;
    Kernel kernel;
    Template made;
};

}  // namespace

TEST_CASE("a picture says of each node what it does, and which parameters it has") {
    Gpu gpu;
    Drawn drawn(gpu);
    Event event = gpu.event();
    auto copy = sized<gpo_copy>();
    copy.source = drawn.memory;
    copy.destination = drawn.memory + 4096;
    copy.bytes = 2048;
    const uint32_t kernel = drawn.launch(drawn.made, "scale"), fill = drawn.fill(drawn.made, kernel);
    uint32_t copied = 0, last = 0;
    REQUIRE_OK(gpo_template_add_copy(drawn.made, &fill, 1, &copy, &copied));
    REQUIRE_OK(gpo_template_add_event_record(drawn.made, &copied, 1, event, &last));
    REQUIRE_OK(gpo_template_add_event_wait(drawn.made, &last, 1, event, &last));
    REQUIRE_OK(gpo_template_add_empty(drawn.made, &last, 1, &last));
    REQUIRE_OK(gpo_template_add_host_call(
        drawn.made, &last, 1, [](void*) {}, nullptr, nullptr));
    drawn.name(drawn.made, "blocks", kernel, GPO_PARAMETER_GRID);
    drawn.name(drawn.made, "threads", kernel, GPO_PARAMETER_BLOCK);
    drawn.name(drawn.made, "room", kernel, GPO_PARAMETER_SHARED_BYTES);
    drawn.name(drawn.made, "runs", kernel, GPO_PARAMETER_ENABLED);
    drawn.name(drawn.made, "value", fill, GPO_PARAMETER_VALUE);
    drawn.name(drawn.made, "length", fill, GPO_PARAMETER_BYTES);
    drawn.name(drawn.made, "to", copied, GPO_PARAMETER_DESTINATION);
    drawn.name(drawn.made, "from", copied, GPO_PARAMETER_SOURCE);
    CHECK(drawn.shows("1  kernel\\lscale\\lgrid 16, block 32 × 4\\l"));
    CHECK(drawn.shows("\\lblocks → grid\\lthreads → block\\lroom → shared memory\\lruns → on or off\\l"));
    CHECK(drawn.shows("2  fill\\l16,384 × 0x2a (4 bytes)\\lat " + hex(drawn.memory) + "\\lvalue → value\\l"));
    CHECK(drawn.shows("length → length\\l"));
    CHECK(drawn.shows("3  copy\\l2,048 bytes\\l"));
    CHECK(drawn.shows(hex(drawn.memory) + "\\l"));
    CHECK(drawn.shows(hex(drawn.memory + 4096) + "\\l"));
    CHECK(drawn.shows("to → destination\\lfrom → source\\l"));
    CHECK(drawn.shows("4  record event\\l"));
    CHECK(drawn.shows("5  wait for event\\l"));
    CHECK(drawn.shows("6  empty node\\l"));
    CHECK(drawn.shows("7  host call\\lfunction at 0x"));
    CHECK(count_of(drawn.picture(), " -> ") == 6);
    CHECK(drawn.shows("7 nodes, 8 parameters; never launched"));
}

TEST_CASE("arguments of kernels are drawn with what they were recorded with, and the names that they have") {
    Gpu gpu;
    Drawn drawn(gpu);
    if (!tells_parameters(drawn.kernel)) return skip("the driver doesn't tell the sizes of arguments");
    drawn.name(drawn.made, "where", drawn.launch(drawn.made, "one"), GPO_PARAMETER_ARGUMENT, 0);
    drawn.name(drawn.made, "where", drawn.launch(drawn.made, "two"), GPO_PARAMETER_ARGUMENT, 0);
    CHECK(drawn.shows("arguments " + hex(drawn.memory) + ", 7, 64\\lwhere → argument 0\\l"));
    CHECK(count_of(drawn.picture(), "where → argument 0\\l") == 2);
    CHECK(drawn.shows("2 nodes, 1 parameter;"));
}

TEST_CASE("conditions are drawn in words") {
    Gpu gpu;
    Drawn drawn(gpu);
    const std::string word = "word at " + hex(drawn.memory);
    const auto add_if = [&](gpo_condition condition) {
        Template body;
        REQUIRE_OK(gpo_template_add_if(drawn.made, nullptr, 0, &condition, body.out(), nullptr, nullptr));
    };
    add_if(drawn.compare(GPO_COMPARE_EQUAL, 5));
    add_if(drawn.compare(GPO_COMPARE_NOT_EQUAL, 6));
    add_if(drawn.compare(GPO_COMPARE_LESS, 7));
    add_if(drawn.compare(GPO_COMPARE_GREATER_EQUAL, 8));
    add_if(drawn.compare(GPO_COMPARE_VALUE));
    add_if(drawn.compare(GPO_COMPARE_KERNEL));
    for (const char* condition : {" == 5", " != 6", " &lt; 7", " &gt;= 8", " != 0"}) {
        CAPTURE(condition);
        CHECK(drawn.shows("  if " + word + condition + "\\l"));
    }
    CHECK(drawn.shows("  if: a kernel decides (at first 0)\\l"));
    gpo_template_t cases[3] = {}, body = nullptr;
    gpo_condition condition = drawn.compare(GPO_COMPARE_VALUE);
    REQUIRE_OK(gpo_template_add_switch(drawn.made, nullptr, 0, &condition, cases, 3, nullptr));
    CHECK(drawn.shows("  switch by " + word + "\\l"));
    CHECK(drawn.shows("case 2"));
    condition = drawn.compare(GPO_COMPARE_LESS, 5, 1000);
    REQUIRE_OK(gpo_template_add_while(drawn.made, nullptr, 0, &condition, &body, nullptr));
    CHECK(drawn.shows("  while " + word + " &lt; 5, at most 1,000 times\\l"));
    for (const gpo_template_t each : {cases[0], cases[1], cases[2], body}) REQUIRE_OK(gpo_template_destroy(each));
}

TEST_CASE("bodies are drawn inside of their nodes, before the template has a graph and after, with their own numbers") {
    Gpu gpu;
    Drawn drawn(gpu);
    Template body, yes;
    uint32_t loop = 0;
    gpo_condition condition = drawn.compare(GPO_COMPARE_LESS, 5, 9);
    const uint32_t first = drawn.launch(drawn.made, "first");
    REQUIRE_OK(gpo_template_add_while(drawn.made, &first, 1, &condition, body.out(), &loop));
    drawn.launch(drawn.made, "last", loop);
    const uint32_t step = drawn.fill(body);
    drawn.name(body, "value", step, GPO_PARAMETER_VALUE);
    condition = drawn.compare(GPO_COMPARE_EQUAL, 3);
    REQUIRE_OK(gpo_template_add_if(body, &step, 1, &condition, yes.out(), nullptr, nullptr));
    drawn.launch(yes, "inside");
    Graph graph;
    for (const bool sealed : {false, true}) {
        CAPTURE(sealed);
        const std::string dot = drawn.picture();
        CHECK(count_of(dot, "subgraph cluster_b") == 2);
        CHECK(count_of(dot, "1  kernel\\lfirst\\l") == 1);
        CHECK(count_of(dot, "2  comparison\\lfor node 3\\l") == 2);  // of the while, and of the if in its body
        CHECK(count_of(dot, "3  while word at ") == 1);
        CHECK(count_of(dot, "4  kernel\\llast\\l") == 1);
        CHECK(count_of(dot, "1  fill\\l") == 1);
        CHECK(count_of(dot, "3  if word at ") == 1);
        CHECK(count_of(dot, "1  kernel\\linside\\l") == 1);
        CHECK(count_of(dot, "value → value\\l") == 1);
        // At its end the body of a while has a comparison once the template has a graph.
        CHECK(count_of(dot, "4  comparison\\lfor node 3 outside\\l") == (sealed ? 1 : 0));
        CHECK(count_of(dot, sealed ? "9 nodes, 1 parameter;" : "8 nodes, 1 parameter;") == 1);
        if (!sealed) REQUIRE_OK(gpo_graph_create(drawn.made, nullptr, graph.out()));
    }
    const std::string alone = picture_of(body);
    CHECK(count_of(alone, "body of a conditional node\\n") == 1);
    CHECK(count_of(alone, "1  fill\\l") == 1);
    CHECK(count_of(alone, "1  kernel\\linside\\l") == 1);
    CHECK(count_of(alone, "first") == 0);
    graph.reset();
    drawn.made.reset();
    CHECK(count_of(picture_of(body), "1  kernel\\linside\\l") == 1);  // the rest of a destroyed template
}

TEST_CASE("a kernel that decides is drawn with what it decides") {
    Gpu gpu;
    Kernel decide = gpu.kernel(
        "#include <gpuorch/device/graph.cuh>\n"
        "extern \"C\" __global__ void decide(gpo::condition which, unsigned again) {\n"
        "    gpo::set_condition(which, again); }\n",
        "decide");
    Drawn drawn(gpu);
    Template body;
    uint32_t loop = 0, kernel = 0;
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const uint64_t placeholder = 0;
    const uint32_t again = 0;
    const void* arguments[] = {&placeholder, &again};
    auto condition = sized<gpo_condition>();
    condition.initial = 1;
    REQUIRE_OK(gpo_template_add_while(drawn.made, nullptr, 0, &condition, body.out(), &loop));
    REQUIRE_OK(gpo_template_add_kernel(body, nullptr, 0, decide, &shape, arguments, nullptr, 2, &kernel));
    REQUIRE_OK(gpo_template_bind_condition(body, kernel, 0, drawn.made, loop));
    Graph graph;
    for (const bool sealed : {false, true}) {
        CAPTURE(sealed);
        CHECK(drawn.shows("1  count of runs\\lfor node 2\\l"));
        CHECK(drawn.shows("2  while: a kernel decides (at first 1)\\l"));
        CHECK(drawn.shows("sets the condition of node 2 outside\\l"));
        if (!sealed) REQUIRE_OK(gpo_graph_create(drawn.made, nullptr, graph.out()));
    }
}

TEST_CASE("nodes can still be added to a template that was drawn, and are in the next picture") {
    Gpu gpu;
    Drawn drawn(gpu, nullptr);
    CHECK(drawn.shows("graph template\\n0 nodes; never launched"));
    CHECK(picture_of(drawn.made, GPO_PICTURE_SVG).find("0 nodes; never launched") != std::string::npos);
    drawn.launch(drawn.made, "one");
    CHECK(drawn.shows("graph template\\n1 node; never launched"));
    drawn.launch(drawn.made, "two");
    CHECK(drawn.shows("two"));
    REQUIRE_OK(gpo_template_clear(drawn.made));
    CHECK(!drawn.shows("two"));
}

TEST_CASE("a picture says how often the template was launched, and how long the last took that a trace has timed") {
    Gpu gpu;
    Drawn drawn(gpu);
    drawn.fill(drawn.made);
    Graph graph;
    REQUIRE_OK(gpo_graph_create(drawn.made, nullptr, graph.out()));
    CHECK(drawn.shows("step\\n1 node; never launched\""));
    REQUIRE_OK(gpo_graph_launch(graph, drawn.stream));
    CHECK(drawn.shows("1 node; launched 1 time\""));
    REQUIRE_OK(gpo_trace_start(gpu.runtime, nullptr));
    REQUIRE_OK(gpo_graph_launch(graph, drawn.stream));
    REQUIRE_OK(gpo_stream_wait(drawn.stream, kPatience));
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    REQUIRE_OK(gpo_template_launch(drawn.made, drawn.stream, nullptr, 0, 0));
    CHECK(drawn.shows("1 node; launched 3 times, newest timed launch: "));
    CHECK(picture_of(drawn.made, GPO_PICTURE_SVG).find("launched 3 times, newest timed launch: ") != std::string::npos);
    REQUIRE_OK(gpo_stream_wait(drawn.stream, kPatience));
}

TEST_CASE("a template that is being recorded can't be drawn, nor can one with a body that is") {
    Gpu gpu;
    Drawn drawn(gpu);
    const auto asked = [](gpo_template_t of) {
        return gpo_template_get_picture(of, GPO_PICTURE_SVG, nullptr, 0, nullptr);
    };
    REQUIRE_OK(gpo_template_begin(drawn.made, drawn.stream));
    CHECK_STATUS(GPO_INVALID_STATE, asked(drawn.made));
    REQUIRE_OK(gpo_fill(drawn.stream, drawn.memory, 1, 4, 16));
    REQUIRE_OK(gpo_template_end(drawn.made));
    CHECK_OK(asked(drawn.made));
    Template body;
    const gpo_condition condition = drawn.compare(GPO_COMPARE_EQUAL, 5);
    REQUIRE_OK(gpo_template_add_if(drawn.made, nullptr, 0, &condition, body.out(), nullptr, nullptr));
    REQUIRE_OK(gpo_template_begin(body, drawn.stream));
    CHECK_STATUS(GPO_INVALID_STATE, asked(drawn.made));
    CHECK_STATUS(GPO_INVALID_STATE, asked(body));
    REQUIRE_OK(gpo_template_cancel(body));
    CHECK_OK(asked(drawn.made));
    CHECK_OK(asked(body));
}

TEST_CASE("a picture follows the rules of strings, and there are two formats") {
    Gpu gpu;
    Drawn drawn(gpu);
    drawn.fill(drawn.made);
    for (const uint32_t format : {GPO_PICTURE_DOT, GPO_PICTURE_SVG}) {
        size_t needed = 0;
        CHECK_OK(gpo_template_get_picture(drawn.made, format, nullptr, 0, &needed));
        const std::string whole = picture_of(drawn.made, format);
        CHECK(needed == whole.size() + 1);
        std::string room(needed, '#');
        CHECK_STATUS(GPO_BUFFER_TOO_SMALL,
                     gpo_template_get_picture(drawn.made, format, room.data(), needed - 1, nullptr));
        CHECK_OK(gpo_template_get_picture(drawn.made, format, room.data(), needed, nullptr));
        CHECK(room.c_str() == whole);
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_get_picture(drawn.made, format, nullptr, 7, nullptr));
    }
    for (const uint32_t format : {0u, 3u, UINT32_MAX})
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_get_picture(drawn.made, format, nullptr, 0, nullptr));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_template_get_picture(nullptr, GPO_PICTURE_DOT, nullptr, 0, nullptr));
    CHECK(picture_of(drawn.made, GPO_PICTURE_SVG).starts_with("<svg xmlns="));
    CHECK(drawn.picture().starts_with("digraph {"));
}
