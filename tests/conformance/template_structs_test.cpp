// Addresses of memory inside struct arguments of kernels: which memory graphs hold, and which not.
#include <algorithm>
#include <functional>

#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

/// An argument of 24 bytes: its word 1 is an address.
struct View {
    uint32_t count = 1, tag = 0;
    uint64_t words = 0;
    uint64_t other = 0;
};

/// The address isn't at a multiple of 8.
struct __attribute__((packed)) Packed {
    uint32_t tag = 0;
    uint64_t words = 0;
    uint32_t more = 0;
};

const char* const kViews = R"(
struct view { unsigned count, tag; unsigned* words; unsigned long long other; };
struct __attribute__((packed)) packed { unsigned tag; unsigned* words; unsigned more; };
extern "C" __global__ void put_viewed(view v, unsigned value) {
    for (unsigned i = 0; i < v.count; ++i) v.words[i] = value;
}
extern "C" __global__ void put_packed(packed v, unsigned value) {
    if (v.words) *v.words = value;
}
)";

/// Kernels that write a value to the address in a struct argument, and a log.
struct ViewsRig : WordsRig {
    explicit ViewsRig(const gpo_runtime_options& options = sized<gpo_runtime_options>())
        : WordsRig(options), viewed(kernel(kViews, "put_viewed")), packed(kernel(kViews, "put_packed")) {}

    template <class Struct>
    uint32_t node(gpo_template_t in, gpo_kernel_t kernel, const Struct& argument, uint32_t value) {
        auto shape = sized<gpo_launch>();
        shape.grid[0] = shape.block[0] = 1;
        const void* arguments[] = {&argument, &value};
        uint32_t made = 0;
        REQUIRE_OK(gpo_template_add_kernel(in, nullptr, 0, kernel, &shape, arguments, nullptr, 2, &made));
        return made;
    }
    uint64_t memory() {
        uint64_t address = 0;
        REQUIRE_OK(gpo_memory_allocate(device, 4096, "viewed", &address));
        return address;
    }
    /// Waits until all work is done.
    bool stays(uint64_t address) {
        CHECK_OK(gpo_device_wait(device, kPatience));
        auto info = sized<gpo_memory_info>();
        CHECK_OK(gpo_memory_describe(device, address, &info));
        return info.kind != GPO_MEMORY_PAGEABLE;
    }
    /// A node that writes to an address, its parameter `view`.
    Template set_later(uint64_t address) {
        Template made = make_template(*this, "viewing");
        const uint32_t put = node(made, viewed, View{1, 0, address, 0}, 3);
        REQUIRE_OK(gpo_template_add_parameter(made, "view", put, GPO_PARAMETER_ARGUMENT, 0));
        return made;
    }

    Kernel viewed, packed;
};

gpo_setting setting_of(const char* name, const View& view) {
    auto setting = sized<gpo_setting>();
    setting.name = name;
    setting.value = &view;
    setting.bytes = sizeof view;
    return setting;
}

}  // namespace

TEST_CASE("memory whose address stands in a struct argument stays for as long as a graph may use it") {
    ViewsRig rig;
    if (rig.too_old()) return;
    Pool pool;
    REQUIRE_OK(gpo_pool_create(rig.device, nullptr, pool.out()));
    Template other = make_template(rig, "other");
    const auto piece_of_pool = [&] {
        uint64_t address = 0;
        REQUIRE_OK(gpo_pool_allocate(pool, rig.on, 4096, &address));
        return address;
    };
    const auto piece_of_arena = [&] {
        void* memory = nullptr;
        REQUIRE_OK(gpo_arena_allocate(rig.arena(), 4096, 0, &memory));
        return reinterpret_cast<uint64_t>(memory);
    };
    const auto of_template = [&] {
        uint64_t address = 0;
        REQUIRE_OK(gpo_template_allocate(other, 4096, &address));
        return address;
    };
    struct Way {
        const char* of;
        std::function<uint64_t()> allocate;
        std::function<gpo_status(uint64_t)> free;
    };
    const Way ways[] = {
        {"the device", [&] { return rig.memory(); }, [&](uint64_t at) { return gpo_memory_free(rig.device, at); }},
        {"a pool", piece_of_pool, [&](uint64_t at) { return gpo_pool_free(pool, rig.on, at); }},
        {"an arena", piece_of_arena,
         [&](uint64_t at) { return gpo_arena_free(rig.arena(), reinterpret_cast<void*>(at)); }},
        {"a template", of_template,
         [&](uint64_t) {
             other.reset();
             return GPO_SUCCESS;
         }},
    };
    for (const Way& way : ways) {
        CAPTURE(way.of);
        const uint64_t address = way.allocate() + 64;   // somewhere in the memory
        Template made = make_template(rig, "viewing");
        rig.node(made, rig.viewed, View{1, 0, address, 0}, 7);
        rig.copy(made, rig.at(0), address, {1});
        CHECK(figures_of(made).held_words == 0);
        Graph graph = make_graph(made);
        CHECK(figures_of(made).held_words == 1);
        CHECK_OK(way.free(address - 64));
        CHECK_OK(gpo_device_wait(rig.device, kPatience));
        CHECK(figures_of(made).waiting_frees == 1);
        CHECK(figures_of(made).waiting_for_words == 0);   // the copy refers to it too
        rig.run(graph);
        CHECK(rig.word(0) == 7);
        graph.reset();
        CHECK_OK(gpo_device_wait(rig.device, kPatience));
        CHECK(figures_of(made).waiting_frees == 0);
        CHECK(figures_of(made).held_words == 0);
        std::fill(rig.words.begin(), rig.words.end(), 0);
    }
}

TEST_CASE("a free that waits for a word of a struct says for which") {
    std::vector<std::string> lines;
    auto options = sized<gpo_runtime_options>();
    options.log_level = GPO_LOG_INFO;
    options.log = [](void* user, int32_t, const char* line) {
        static_cast<std::vector<std::string>*>(user)->push_back(line);
    };
    options.log_user = &lines;
    ViewsRig rig(options);
    if (rig.too_old()) return;
    const uint64_t address = rig.memory();
    Template made = make_template(rig, "viewing");
    rig.node(made, rig.viewed, View{1, 0, address + 8, 0}, 7);
    Graph graph = make_graph(made);
    CHECK_OK(gpo_memory_free(rig.device, address));
    CHECK(figures_of(made).waiting_frees == 1);
    CHECK(figures_of(made).waiting_for_words == 1);
    const auto tells = [](const std::string& line) {
        return says(line, "is freed when template `viewing` no longer refers to it (held by argument 0, word 1, of "
                          "kernel `put_viewed`)");
    };
    CHECK(std::count_if(lines.begin(), lines.end(), tells) == 1);
}

TEST_CASE("a number in a struct that is no address of the library's memory holds nothing") {
    ViewsRig rig;
    if (rig.too_old()) return;
    const uint64_t address = rig.memory();
    Template made = make_template(rig);
    rig.node(made, rig.viewed, View{0, 0, 0x3f80'0000'3f80'0000, address + 4096}, 7);
    rig.node(made, rig.packed, Packed{0, address, 0}, 7);   // its address isn't looked for
    Graph graph = make_graph(made);
    CHECK(figures_of(made).held_words == 0);
    CHECK_OK(gpo_memory_free(rig.device, address));
    CHECK_FALSE(rig.stays(address));
    CHECK(figures_of(made).waiting_frees == 0);
}

TEST_CASE("a struct that is set to another address holds that, and no longer the one before") {
    ViewsRig rig;
    if (rig.too_old()) return;
    const uint64_t first = rig.memory(), second = rig.memory(), third = rig.memory();
    Template made = rig.set_later(first);
    const uint32_t again = rig.node(made, rig.viewed, View{0, 0, 0, 0}, 3);
    REQUIRE_OK(gpo_template_add_parameter(made, "again", again, GPO_PARAMETER_ARGUMENT, 0));
    Graph graph = make_graph(made);
    const View at_second{1, 0, second, 0}, at_third{1, 0, third, second}, nowhere{};
    REQUIRE_OK(gpo_graph_set(graph, "view", &at_second, sizeof at_second));
    CHECK_OK(gpo_memory_free(rig.device, first));
    CHECK_FALSE(rig.stays(first));
    // Two settings at once, with one twice: the last setting holds.
    const gpo_setting settings[] = {setting_of("view", nowhere), setting_of("again", at_third),
                                    setting_of("view", at_third)};
    REQUIRE_OK(gpo_graph_set_all(graph, settings, sizeof settings[0], 3));
    CHECK(figures_of(made).held_words == 4);
    CHECK_OK(gpo_memory_free(rig.device, second));
    CHECK_OK(gpo_memory_free(rig.device, third));
    CHECK(rig.stays(second));
    CHECK(rig.stays(third));
    CHECK(figures_of(made).waiting_for_words == 2);
    rig.run(graph);
    REQUIRE_OK(gpo_graph_set(graph, "view", &nowhere, sizeof nowhere));
    CHECK(rig.stays(third));
    REQUIRE_OK(gpo_graph_set(graph, "again", &nowhere, sizeof nowhere));
    CHECK_FALSE(rig.stays(second));
    CHECK_FALSE(rig.stays(third));
    CHECK(figures_of(made).held_words == 0);
}

TEST_CASE("an update holds what the structs of the new recording refer to, and drops what those before did") {
    ViewsRig rig;
    if (rig.too_old()) return;
    const uint64_t first = rig.memory(), second = rig.memory();
    Template made = make_template(rig);
    rig.node(made, rig.viewed, View{1, 0, first, 0}, 3);
    Graph graph = make_graph(made);
    REQUIRE_OK(gpo_template_clear(made));
    rig.node(made, rig.viewed, View{1, 0, second, 0}, 3);
    REQUIRE_OK(gpo_graph_update(graph, nullptr));
    CHECK_OK(gpo_memory_free(rig.device, first));
    CHECK_OK(gpo_memory_free(rig.device, second));
    CHECK_FALSE(rig.stays(first));
    CHECK(rig.stays(second));
    rig.run(graph);
}

TEST_CASE("structs in a child, a body and a recording hold, and so do graphs of a template's launches") {
    ViewsRig rig;
    if (rig.too_old()) return;
    const uint64_t in_child = rig.memory(), in_body = rig.memory(), recorded = rig.memory();
    Template child = make_template(rig), made = make_template(rig);
    rig.node(child, rig.viewed, View{1, 0, in_child, 0}, 1);
    REQUIRE_OK(gpo_template_begin(made, rig.on));
    CHECK_OK(launch(rig.on, rig.viewed, 1, 1, View{1, 0, recorded, 0}, 2u));
    REQUIRE_OK(gpo_template_end(made));
    REQUIRE_OK(gpo_template_add_child(made, nullptr, 0, child, nullptr, nullptr));
    Template body;
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_EQUAL;
    condition.word = rig.at(1);
    REQUIRE_OK(gpo_template_add_if(made, nullptr, 0, &condition, body.out(), nullptr, nullptr));
    rig.node(body, rig.viewed, View{1, 0, in_body, 0}, 4);
    body.reset();
    REQUIRE_OK(gpo_template_launch(made, rig.on, nullptr, 0, 0));
    const uint64_t all[] = {in_child, in_body, recorded};
    for (const uint64_t address : all) CHECK_OK(gpo_memory_free(rig.device, address));
    for (const uint64_t address : all) CHECK(rig.stays(address));
    CHECK(figures_of(made).waiting_for_words == 3);
    REQUIRE_OK(gpo_template_launch(made, rig.on, nullptr, 0, 0));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    made.reset();
    for (const uint64_t address : all) CHECK_FALSE(rig.stays(address));
}
