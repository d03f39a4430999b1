// Memory owned by a template: lifetime, frees, and uses.
#include <algorithm>
#include <cstring>

#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

uint64_t allocate(gpo_template_t from, uint64_t bytes) {
    uint64_t address = 0;
    REQUIRE_OK(gpo_template_allocate(from, bytes, &address));
    REQUIRE(address != 0);
    return address;
}

uint32_t* allocate_host(gpo_template_t from, uint64_t words) {
    void* memory = nullptr;
    REQUIRE_OK(gpo_template_allocate_host(from, words * sizeof(uint32_t), &memory));
    std::memset(memory, 0, words * sizeof(uint32_t));
    return static_cast<uint32_t*>(memory);
}

uint64_t address_of(const uint32_t* word) { return reinterpret_cast<uint64_t>(word); }

gpo_memory_info info_of(const Gpu& gpu, uint64_t address) {
    auto info = sized<gpo_memory_info>();
    CHECK_OK(gpo_memory_describe(gpu.device, address, &info));
    return info;
}

bool is_allocated(const Gpu& gpu, uint64_t address) { return info_of(gpu, address).kind != GPO_MEMORY_PAGEABLE; }

/// A template that writes 5 into its device memory and copies the word to its host memory. A kernel adds 0 there, and
/// then the device memory is copied to word 0. (A launch with a copy from host to host may block in the driver.)
struct Owner {
    explicit Owner(WordsRig& rig) : rig(rig), made(make_template(rig, "owner")) {
        device = allocate(made, 4096);
        host = allocate_host(made, 4);
        const uint32_t put = rig.node(made, rig.put, device, 5);
        const uint32_t copy = rig.copy(made, address_of(host), device, {put});
        rig.copy(made, rig.at(0), device, {rig.node(made, rig.add, address_of(host), 0, {copy})});
    }
    bool exists() const {
        const bool there = is_allocated(rig, device);
        CHECK(is_allocated(rig, address_of(host)) == there);
        return there;
    }
    WordsRig& rig;
    Template made;
    uint64_t device = 0;
    uint32_t* host = nullptr;
};

}  // namespace

TEST_CASE("memory of a template is what its nodes can use, and what it says it is") {
    WordsRig rig;
    Owner owner(rig);
    const gpo_memory_info device = info_of(rig, owner.device), host = info_of(rig, address_of(owner.host));
    CHECK(device.kind == GPO_MEMORY_DEVICE);
    CHECK(device.start == owner.device);
    CHECK(device.bytes >= 4096);
    CHECK(host.kind == GPO_MEMORY_PINNED);
    CHECK(host.bytes == 16);
    CHECK(owner.device % 256 == 0);
    Graph graph = make_graph(owner.made);
    rig.run(graph);
    CHECK(read(*owner.host) == 5);
    CHECK(rig.word(0) == 5);
    uint64_t address = 0;
    void* memory = nullptr;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_allocate(owner.made, 0, &address));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_allocate_host(owner.made, 0, &memory));
    CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_template_allocate(owner.made, 1ull << 60, &address));
    CHECK(address == 0);
}

TEST_CASE("nobody else frees a template's memory, and who tries is told whose it is") {
    WordsRig rig;
    Owner owner(rig);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_memory_free(rig.device, owner.device));
    CHECK(says(refusal(), "`owner`"));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_memory_free(rig.device, address_of(owner.host)));
    CHECK(says(refusal(), "`owner`"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(rig.device, owner.device + 256));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_free(rig.arena(), owner.host));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_host_register(rig.device, owner.host, 16, 0));
    CHECK(owner.exists());
    Graph graph = make_graph(owner.made);
    rig.run(graph);
    CHECK(rig.word(0) == 5);
}

TEST_CASE("memory of a template goes with the last of its handle and its graphs, in whichever order they go") {
    for (const bool template_first : {true, false}) {
        CAPTURE(template_first);
        WordsRig rig;
        Owner owner(rig);
        Graph one = make_graph(owner.made), two = make_graph(owner.made);
        one.reset();
        template_first ? owner.made.reset() : two.reset();
        CHECK_OK(gpo_device_wait(rig.device, kPatience));
        CHECK(owner.exists());
        if (two) rig.run(two);
        owner.made.reset();
        two.reset();
        CHECK_OK(gpo_device_wait(rig.device, kPatience));
        CHECK_FALSE(owner.exists());
        CHECK(rig.word(0) == (template_first ? 5 : 0));
    }
}

TEST_CASE("memory of a template stays until the launches of its graphs are done, held ones too" * gated) {
    for (const bool held : {true, false}) {
        CAPTURE(held);
        WordsRig rig;
        Owner owner(rig);
        Timeline go = rig.timeline();
        Gate gate(rig);
        Graph graph = make_graph(owner.made);
        if (held)
            REQUIRE_OK(gpo_stream_wait_timeline(rig.on, go, 1));
        else
            gate.put_on(rig.on);
        REQUIRE_OK(gpo_graph_launch(graph, rig.on));
        graph.reset();
        owner.made.reset();
        CHECK(owner.exists());
        gate.open();
        CHECK_OK(gpo_timeline_signal(go, 1));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK_OK(gpo_device_wait(rig.device, kPatience));
        CHECK(rig.word(0) == 5);
        CHECK_FALSE(owner.exists());
    }
}

TEST_CASE("memory of a template has one address, however often the template is recorded anew") {
    WordsRig rig;
    Owner owner(rig);
    REQUIRE_OK(gpo_template_clear(owner.made));
    for (uint32_t value = 6; value <= 7; ++value) {
        REQUIRE_OK(gpo_template_begin(owner.made, rig.on));
        const uint64_t more = allocate(owner.made, 64);
        CHECK_OK(launch(rig.on, rig.put, 1, 1, owner.device, value));
        CHECK_OK(gpo_copy_on_device(rig.on, more, owner.device, 4));
        CHECK_OK(gpo_copy_to_host(rig.on, owner.host, more, 4));
        REQUIRE_OK(gpo_template_end(owner.made));
        REQUIRE_OK(gpo_template_launch(owner.made, rig.on, nullptr, 0, 0));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK(read(*owner.host) == value);
    }
}

TEST_CASE("a template keeps the memory of its children, and of theirs") {
    WordsRig rig;
    if (rig.too_old()) return;
    Owner owner(rig);
    Template middle = make_template(rig), outer = make_template(rig), unrelated = make_template(rig);
    REQUIRE_OK(gpo_template_add_child(middle, nullptr, 0, owner.made, nullptr, nullptr));
    REQUIRE_OK(gpo_template_add_child(outer, nullptr, 0, middle, nullptr, nullptr));
    owner.made.reset();
    middle.reset();
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK(owner.exists());
    Graph graph = make_graph(outer);
    rig.run(graph);
    CHECK(rig.word(0) == 5);
    REQUIRE_OK(gpo_template_clear(outer));
    CHECK(owner.exists());
    graph.reset();
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK_FALSE(owner.exists());
}

TEST_CASE("memory of a body is its template's, and stays for as long as that") {
    WordsRig rig;
    if (rig.too_old()) return;
    Template deciding = make_template(rig);
    uint64_t device = 0;
    {
        Template body;
        auto condition = sized<gpo_condition>();
        condition.comparison = GPO_COMPARE_EQUAL;
        condition.word = rig.at(1);
        REQUIRE_OK(gpo_template_add_if(deciding, nullptr, 0, &condition, body.out(), nullptr, nullptr));
        device = allocate(body, 64);
        rig.copy(body, rig.at(0), device, {rig.node(body, rig.put, device, 8)});
    }
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK(is_allocated(rig, device));
    Graph graph = make_graph(deciding);
    deciding.reset();
    rig.run(graph);
    CHECK(rig.word(0) == 8);
    graph.reset();
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK_FALSE(is_allocated(rig, device));
}

TEST_CASE("memory of a template that another template's graph was set to stays until that is set to something else") {
    WordsRig rig;
    if (rig.too_old()) return;
    Template user = make_template(rig);
    uint32_t node = rig.node(user, rig.put, rig.at(0), 3);
    REQUIRE_OK(gpo_template_add_parameter(user, "word", node, GPO_PARAMETER_ARGUMENT, 0));
    Graph graph = make_graph(user);
    Owner owner(rig);
    REQUIRE_OK(gpo_graph_set(graph, "word", &owner.device, sizeof owner.device));
    owner.made.reset();
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK(is_allocated(rig, owner.device));
    CHECK(figures_of(user).waiting_frees == 1);
    rig.run(graph);
    const uint64_t word = rig.at(1);
    REQUIRE_OK(gpo_graph_set(graph, "word", &word, sizeof word));
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK_FALSE(is_allocated(rig, owner.device));
    CHECK(figures_of(user).waiting_frees == 0);
}

TEST_CASE("a runtime that shuts down frees the memory of its templates, and reports no leak") {
    std::vector<std::string> lines;
    auto options = sized<gpo_runtime_options>();
    options.log = [](void* user, int32_t, const char* line) {
        static_cast<std::vector<std::string>*>(user)->push_back(line);
    };
    options.log_user = &lines;
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_template_t made = nullptr;
    REQUIRE_OK(gpo_runtime_create(&options, &runtime));
    REQUIRE_OK(gpo_device_open(runtime, nullptr, &device));
    REQUIRE_OK(gpo_template_create(device, nullptr, &made));
    allocate(made, 4096);
    allocate_host(made, 4);
    REQUIRE_OK(gpo_runtime_shutdown(runtime, kPatience));
    CHECK(std::none_of(lines.begin(), lines.end(), [](const std::string& line) { return says(line, "never freed"); }));
}
