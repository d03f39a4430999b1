// Values that a graph carries over from the recording before: each goes to the field with the same meaning, or nowhere.
#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

template <class T>
gpo_status set(gpo_graph_t graph, const char* name, const T& value) {
    return gpo_graph_set(graph, name, &value, sizeof value);
}

template <class T>
T get(gpo_graph_t graph, const char* name) {
    T value{};
    CHECK_OK(gpo_graph_get(graph, name, &value, sizeof value));
    return value;
}

gpo_graph_update_report update(gpo_graph_t graph) {
    auto report = sized<gpo_graph_update_report>();
    CHECK_OK(gpo_graph_update(graph, &report));
    return report;
}

struct Rig : WordsRig {
    Rig()
        : device_words(memory(kWords * sizeof(uint32_t))), mix(kernel(kMix, "mix")),
          made(make_template(*this, "work")) {}

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
    Template loop(uint32_t counted = 1) {
        Template body;
        const gpo_condition condition = once();
        REQUIRE_OK(gpo_template_add_while(made, nullptr, 0, &condition, body.out(), nullptr));
        node(body, add, at(counted), 1);
        return body;
    }

    static constexpr const char* kMix =
        "extern \"C\" __global__ void mix(unsigned* word, unsigned a, unsigned b) { *word = a + 2 * b; }\n";
    Memory device_words;
    Kernel mix;
    Template made;
};

/// A node, its field that `p` names, and a value for the field.
struct Named {
    const char* is;
    uint32_t (*add)(Rig&, uint32_t variant);
    uint32_t what, index;
    std::vector<uint32_t> value;
};

std::vector<uint32_t> whole(uint64_t value) {
    return {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)};
}

uint32_t copy_node(Rig& rig, uint32_t variant) { return rig.copy(rig.made, rig.at(4 + variant), rig.device_words); }
uint32_t fill_node(Rig& rig, uint32_t variant) { return rig.fill(rig.made, rig.device_words, variant); }
uint32_t add_node(Rig& rig, uint32_t variant) { return rig.node(rig.made, rig.add, rig.at(2), variant); }
uint32_t mix_node(Rig& rig, uint32_t variant) {
    const uint64_t word = rig.at(3);
    const void* arguments[] = {&word, &variant, &variant};
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_kernel(rig.made, nullptr, 0, rig.mix, &shape, arguments, nullptr, 3, &node));
    return node;
}
uint32_t put_node(Rig& rig, uint32_t variant) { return rig.node(rig.made, rig.put, rig.at(2), variant); }

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
            rig.loop(5);   // at the same time
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
        CHECK(rig.word(1) == (way == 2 ? 3 * 2 : 0));
        CHECK(rig.word(5) == (way == 2 ? 3 * 2 : 0));
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

TEST_CASE("a value that was set stays where its parameter means the same, else it is dropped and named") {
    Rig rig;
    if (rig.too_old()) return;
    const std::vector<uint32_t> host = whole(rig.at(8)), device = whole(rig.device_words + 16);
    const Named all[] = {
        {"the destination of a copy", copy_node, GPO_PARAMETER_DESTINATION, 0, host},
        {"the source of a copy", copy_node, GPO_PARAMETER_SOURCE, 0, device},
        {"the length of a copy", copy_node, GPO_PARAMETER_BYTES, 0, whole(8)},
        {"the switch of a copy", copy_node, GPO_PARAMETER_ENABLED, 0, {0}},
        {"the destination of a fill", fill_node, GPO_PARAMETER_DESTINATION, 0, device},
        {"the length of a fill", fill_node, GPO_PARAMETER_BYTES, 0, whole(8)},
        {"the value of a fill", fill_node, GPO_PARAMETER_VALUE, 0, {7}},
        {"the switch of a fill", fill_node, GPO_PARAMETER_ENABLED, 0, {0}},
        {"argument 0 of kernel `add`", add_node, GPO_PARAMETER_ARGUMENT, 0, host},
        {"argument 1 of kernel `add`", add_node, GPO_PARAMETER_ARGUMENT, 1, {7}},
        {"the grid of kernel `add`", add_node, GPO_PARAMETER_GRID, 0, {2, 1, 1}},
        {"the block of kernel `add`", add_node, GPO_PARAMETER_BLOCK, 0, {2, 1, 1}},
        {"the shared memory of kernel `add`", add_node, GPO_PARAMETER_SHARED_BYTES, 0, {64}},
        {"the switch of kernel `add`", add_node, GPO_PARAMETER_ENABLED, 0, {0}},
        {"argument 1 of kernel `mix`", mix_node, GPO_PARAMETER_ARGUMENT, 1, {7}},
        {"argument 2 of kernel `mix`", mix_node, GPO_PARAMETER_ARGUMENT, 2, {7}},
        {"argument 0 of kernel `put`", put_node, GPO_PARAMETER_ARGUMENT, 0, host},
        {"argument 1 of kernel `put`", put_node, GPO_PARAMETER_ARGUMENT, 1, {7}},
        {"the grid of kernel `put`", put_node, GPO_PARAMETER_GRID, 0, {2, 1, 1}},
    };
    const auto make = [&](const Named& one, uint32_t variant) {
        CHECK_OK(gpo_template_clear(rig.made));
        rig.name(rig.made, "p", one.add(rig, variant), one.what, one.index);
    };
    const auto value_of = [&](gpo_graph_t graph, const Named& one) {
        std::vector<uint32_t> value(one.value.size());
        CHECK_OK(gpo_graph_get(graph, "p", value.data(), value.size() * sizeof(uint32_t)));
        return value;
    };
    uint64_t dropped = 0;
    for (const Named& before : all)
        for (const Named& after : all) {
            const std::string now = std::string(before.is) + ", then " + after.is;
            INFO(now);
            make(before, 0);
            Graph graph = make_graph(rig.made);
            CHECK_OK(gpo_graph_set(graph, "p", before.value.data(), before.value.size() * sizeof(uint32_t)));
            make(after, 1);
            const std::vector<uint32_t> recorded = value_of(make_graph(rig.made), after);
            const gpo_graph_update_report report = update(graph);
            const bool same = &before == &after;
            CHECK(value_of(graph, after) == (same ? before.value : recorded));
            CHECK(report.dropped == (same ? 0 : 1));
            CHECK(std::string(report.dropped_parameter) == (same ? "" : "p"));
            if (!same) CHECK(std::string(report.dropped_reason) == std::string("it was ") + before.is + ", and is " +
                                                                       after.is);
            dropped += report.dropped;
            CHECK(figures_of(rig.made).dropped == dropped);
            if (!same) CHECK(says(figures_of(rig.made).last_dropped, report.dropped_reason));
            rig.run(graph);
        }
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

TEST_CASE("a kernel is the same if its name and its arguments' sizes are, whichever module it is of") {
    Rig rig;
    if (rig.too_old()) return;
    const char* const same = "extern \"C\" __global__ void add(unsigned* word, unsigned by) { *word += 10 * by; }\n";
    const char* const longer =
        "extern \"C\" __global__ void add(unsigned* word, unsigned by, unsigned more) { *word += by + more; }\n";
    const uint32_t by = 2, more = 30;
    const auto make = [&](gpo_kernel_t kernel, uint32_t count) {
        CHECK_OK(gpo_template_clear(rig.made));
        const uint64_t word = rig.at(0);
        const void* arguments[] = {&word, &by, &more};
        auto shape = sized<gpo_launch>();
        shape.grid[0] = shape.block[0] = 1;
        shape.label = "told";   // the label doesn't identify the kernel
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_add_kernel(rig.made, nullptr, 0, kernel, &shape, arguments, nullptr, count, &node));
        rig.name(rig.made, "by", node, GPO_PARAMETER_ARGUMENT, 1);
    };
    make(rig.add, 2);
    Graph graph = make_graph(rig.made);
    CHECK_OK(set(graph, "by", 5u));
    make(rig.kernel(same, "add"), 2);
    CHECK(update(graph).dropped == 0);
    rig.run(graph);
    CHECK(rig.word(0) == 50);
    make(rig.kernel(longer, "add"), 3);
    CHECK(update(graph).dropped == 1);
    rig.run(graph);
    CHECK(rig.word(0) == 50 + by + more);
}

TEST_CASE("what a parameter names now has to mean what it named before, all of it") {
    Rig rig;
    if (rig.too_old()) return;
    // Numbers of copies, fills, and children with a copy, whose lengths are named `by`.
    const auto make = [&](int copies, int fills, int children) {
        CHECK_OK(gpo_template_clear(rig.made));
        for (int i = 0; i < copies; ++i)
            rig.name(rig.made, "a.by", rig.copy(rig.made, rig.at(4), rig.at(8)), GPO_PARAMETER_BYTES);
        for (int i = 0; i < fills; ++i)
            rig.name(rig.made, "a.by", rig.fill(rig.made, rig.device_words, 1), GPO_PARAMETER_BYTES);
        Template child = make_template(rig);
        rig.name(child, "by", rig.copy(child, rig.at(4), rig.at(8)), GPO_PARAMETER_BYTES);
        for (int i = 0; i < children; ++i)
            REQUIRE_OK(gpo_template_add_child(rig.made, nullptr, 0, child, "a.", nullptr));
    };
    struct Way {
        int before[3], after[3];
        bool stays;
    };
    const Way ways[] = {
        {{1, 0, 0}, {3, 0, 0}, true},  {{1, 1, 0}, {1, 0, 0}, true},  {{1, 1, 0}, {0, 1, 0}, true},
        {{1, 0, 0}, {1, 1, 0}, false}, {{0, 1, 0}, {1, 1, 0}, false}, {{0, 0, 1}, {0, 0, 2}, true},
        {{1, 0, 0}, {0, 0, 2}, true},  {{0, 1, 0}, {0, 0, 1}, false}, {{1, 1, 0}, {0, 0, 0}, false},
    };
    for (const Way& way : ways) {
        INFO("way " << &way - ways);
        make(way.before[0], way.before[1], way.before[2]);
        Graph graph = make_graph(rig.made);
        CHECK_OK(set(graph, "a.by", uint64_t{8}));
        make(way.after[0], way.after[1], way.after[2]);
        const gpo_graph_update_report report = update(graph);
        CHECK(report.dropped == !way.stays);
        uint64_t now = 0;
        const bool there = way.after[0] + way.after[1] + way.after[2] != 0;
        CHECK_STATUS((there ? GPO_SUCCESS : GPO_NOT_FOUND), gpo_graph_get(graph, "a.by", &now, sizeof now));
        if (there) CHECK(now == (way.stays ? 8 : 4));
        else CHECK(says(report.dropped_reason, "no such parameter"));
    }
}

TEST_CASE("a value that was dropped, or was never set, takes what each new recording has") {
    Rig rig;
    if (rig.too_old()) return;
    const auto make = [&](bool put, uint32_t value) {
        CHECK_OK(gpo_template_clear(rig.made));
        rig.name(rig.made, "x", rig.node(rig.made, put ? rig.put : rig.add, rig.at(2), value),
                 GPO_PARAMETER_ARGUMENT, 1);
        rig.name(rig.made, "y", rig.node(rig.made, rig.put, rig.at(3), value), GPO_PARAMETER_ARGUMENT, 1);
    };
    make(true, 10);
    Graph graph = make_graph(rig.made);
    CHECK_OK(set(graph, "x", 99u));
    make(false, 20);
    CHECK(update(graph).dropped == 1);
    CHECK(get<uint32_t>(graph, "x") == 20);
    make(false, 30);
    CHECK(update(graph).dropped == 0);   // the value no longer counts as set
    CHECK(get<uint32_t>(graph, "x") == 30);
    make(true, 40);
    CHECK(update(graph).dropped == 0);
    CHECK(get<uint32_t>(graph, "x") == 40);
    CHECK(get<uint32_t>(graph, "y") == 40);
}

TEST_CASE("values that the new node can't have are dropped, and say why") {
    Rig rig;
    Graph graph;
    const auto expect = [&](const char* why) {
        const gpo_graph_update_report report = update(graph);
        CHECK(report.dropped == 1);
        CHECK(says(report.dropped_reason, why));
        rig.run(graph);
    };
    rig.name(rig.made, "p", rig.fill(rig.made, rig.device_words, 1, 2, 2), GPO_PARAMETER_BYTES);
    graph = make_graph(rig.made);
    CHECK_OK(set(graph, "p", uint64_t{6}));
    CHECK_OK(gpo_template_clear(rig.made));
    rig.name(rig.made, "p", rig.fill(rig.made, rig.device_words, 1, 4, 1), GPO_PARAMETER_BYTES);
    expect("6 bytes are no whole elements of 4");

    CHECK_OK(gpo_template_clear(rig.made));
    rig.name(rig.made, "p", rig.fill(rig.made, rig.device_words, 1, 1, 2), GPO_PARAMETER_DESTINATION);
    CHECK(update(graph).dropped == 0);
    CHECK_OK(set(graph, "p", rig.device_words + 2));
    CHECK_OK(gpo_template_clear(rig.made));
    rig.name(rig.made, "p", rig.fill(rig.made, rig.device_words, 1, 4, 1), GPO_PARAMETER_DESTINATION);
    expect("is no multiple of the 4 bytes of an element");

    CHECK_OK(gpo_template_clear(rig.made));
    rig.name(rig.made, "p", rig.copy(rig.made, rig.at(4), rig.at(8)), GPO_PARAMETER_SOURCE);
    CHECK(update(graph).dropped == 0);
    CHECK_OK(set(graph, "p", rig.at(9)));
    CHECK_OK(gpo_template_clear(rig.made));
    rig.name(rig.made, "p", rig.copy(rig.made, rig.at(4), rig.device_words), GPO_PARAMETER_SOURCE);
    expect("is host memory, and the node was recorded with device memory there");
}

TEST_CASE("a held launch that comes after an update has the new recording, and of its values those that were set") {
    Rig rig;
    if (rig.too_old()) return;
    const auto make = [&](uint32_t recorded, bool other) {
        CHECK_OK(gpo_template_clear(rig.made));
        const char* const names[] = {"kept", "changed", "unset"};
        for (uint32_t i = 0; i < 3; ++i)
            rig.name(rig.made, names[i], rig.node(rig.made, other && i == 1 ? rig.add : rig.put, rig.at(i), recorded),
                     GPO_PARAMETER_ARGUMENT, 1);
    };
    for (const bool by_template : {false, true}) {
        INFO("of the template: " << by_template);
        std::fill(rig.words.begin(), rig.words.end(), 0);
        const uint64_t before = figures_of(rig.made).dropped;
        make(10, false);
        Graph graph = make_graph(rig.made);
        CHECK_OK(set(graph, "kept", 1u));
        CHECK_OK(set(graph, "changed", 2u));
        Timeline timeline = rig.timeline();
        REQUIRE_OK(gpo_stream_wait_timeline(rig.on, timeline, 1));
        if (by_template) {
            const uint32_t values[] = {1, 2};
            gpo_setting settings[2] = {sized<gpo_setting>(), sized<gpo_setting>()};
            for (int i = 0; i < 2; ++i) {
                settings[i].name = i ? "changed" : "kept";
                settings[i].value = &values[i];
                settings[i].bytes = sizeof values[i];
            }
            CHECK_OK(gpo_template_launch(rig.made, rig.on, settings, sizeof settings[0], 2));
            make(20, true);
            CHECK_OK(gpo_template_prepare(rig.made, 1, rig.on));   // the stream's graph is updated
        } else {
            CHECK_OK(gpo_graph_launch(graph, rig.on));
            CHECK_OK(set(graph, "kept", 5u));
            make(20, true);
            CHECK(update(graph).dropped == 1);
        }
        REQUIRE_OK(gpo_timeline_signal(timeline, 1));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK(rig.word(0) == 1);
        CHECK(rig.word(1) == 20);
        CHECK(rig.word(2) == 20);
        CHECK(figures_of(rig.made).dropped == before + (by_template ? 1 : 2));
        CHECK(says(figures_of(rig.made).last_dropped,
                   "parameter `changed`: it was argument 1 of kernel `put`, and is argument 1 of kernel `add`"));
    }
}

namespace {

gpo_setting setting_of_from(const uint64_t& address) {
    auto setting = sized<gpo_setting>();
    setting.name = "from";
    setting.value = &address;
    setting.bytes = sizeof address;
    return setting;
}

/// A launch that is held while the memory of its parameter `from` is unregistered.
void unregister_before_it_runs(Rig& rig, gpo_graph_t graph, char* page, bool by_template) {
    const auto registered = reinterpret_cast<uint64_t>(page);
    Stream held = rig.stream();
    Timeline timeline = rig.timeline();
    REQUIRE_OK(gpo_host_register(rig.device, page, 4096, 0));
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    CHECK_OK(set(graph, "from", registered));
    if (by_template) {
        const gpo_setting setting = setting_of_from(registered);
        CHECK_OK(gpo_template_launch(rig.made, held, &setting, sizeof setting, 1));
    } else {
        CHECK_OK(gpo_graph_launch(graph, held));
    }
    CHECK_OK(gpo_host_unregister(rig.device, page));
    CHECK_OK(set(graph, "from", rig.at(5)));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_wait(held, kPatience));
    auto error = sized<gpo_error>();
    CHECK_OK(gpo_object_get_error(held, &error));
    CHECK(says(error.message, "parameter `from`: "));
    rig.run(graph);
}

}  // namespace

TEST_CASE("an address without memory behind it is refused wherever it goes to the driver, by the parameter's name") {
    Rig rig;
    std::vector<char> room(3 * 4096);
    auto* const page = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(room.data()) + 4095) / 4096 * 4096);
    const auto registered = reinterpret_cast<uint64_t>(page);
    rig.name(rig.made, "from", rig.copy(rig.made, rig.device_words, rig.at(4)), GPO_PARAMETER_SOURCE);
    Graph graph = make_graph(rig.made);
    const auto refused = [&](gpo_status status) {
        CHECK_STATUS(GPO_INVALID_ARGUMENT, status);
        CHECK(says(refusal(), "parameter `from`: "));
    };
    uint64_t freed = 0;
    REQUIRE_OK(gpo_memory_allocate(rig.device, 64, nullptr, &freed));
    CHECK_OK(gpo_memory_free(rig.device, freed));
    REQUIRE_OK(gpo_device_wait(rig.device, kPatience));
    for (const uint64_t wrong : {uint64_t{0}, uint64_t{64}, registered, freed, uint64_t{rig.device_words}}) {
        INFO("address " << wrong);
        refused(set(graph, "from", wrong));
        const gpo_setting setting = setting_of_from(wrong);
        refused(gpo_graph_set_all(graph, &setting, sizeof setting, 1));
        refused(gpo_template_launch(rig.made, rig.on, &setting, sizeof setting, 1));
    }
    // Memory that existed when the address was set.
    REQUIRE_OK(gpo_host_register(rig.device, page, 4096, 0));
    CHECK_OK(set(graph, "from", registered));
    CHECK_OK(gpo_host_unregister(rig.device, page));
    refused(gpo_graph_launch(graph, rig.on));
    refused(gpo_graph_upload(graph, rig.on));
    void* native = nullptr;
    refused(gpo_graph_get_native(graph, &native));
    CHECK_OK(set(graph, "from", rig.at(5)));
    rig.run(graph);
    // Memory that existed when the launch was accepted.
    for (const bool by_template : {false, true}) {
        INFO("of the template: " << by_template);
        unregister_before_it_runs(rig, graph, page, by_template);
    }
    // Memory that existed when the graph is updated to a new recording.
    REQUIRE_OK(gpo_host_register(rig.device, page, 4096, 0));
    CHECK_OK(set(graph, "from", registered));
    CHECK_OK(gpo_host_unregister(rig.device, page));
    CHECK_OK(gpo_template_clear(rig.made));
    rig.name(rig.made, "from", rig.copy(rig.made, rig.device_words, rig.at(6)), GPO_PARAMETER_SOURCE);
    const gpo_graph_update_report report = update(graph);
    CHECK(report.dropped == 1);
    CHECK(says(report.dropped_reason, "there is no memory that the GPU can use"));
    rig.run(graph);
    CHECK(get<uint64_t>(graph, "from") == rig.at(6));
}
