// Frees of held memory while there is no host memory: a failed free has no effect, and an accepted free is done later,
// no matter how long the shortage lasts. The holder of the memory takes the place of a graph template.
#include <functional>

#include "core/runtime.h"
#include "driver/faults.h"
#include "faults/allocations.h"
#include "memory/holds.h"
#include "support/gpu.h"

using namespace gpo::test;

namespace {

class Holder final : public gpo::Object {
public:
    explicit Holder(gpo::Runtime& runtime) : Object(runtime, gpo::Type::kernel, "step") {}
};

gpo_memory_statistics figures_of(gpo_arena_t arena) {
    auto figures = sized<gpo_memory_statistics>();
    REQUIRE_OK(gpo_arena_get_statistics(arena, &figures));
    return figures;
}

gpo_memory_statistics figures_of(gpo_pool_t pool) {
    auto figures = sized<gpo_memory_statistics>();
    REQUIRE_OK(gpo_pool_get_statistics(pool, &figures));
    return figures;
}

/// A kind of held memory: how to take and free it, and whether the memory is still in use.
struct Kind {
    const char* name;
    std::function<uint64_t()> take;
    std::function<gpo_status(uint64_t)> free;
    std::function<bool(uint64_t)> in_use;
};

struct Kinds {
    explicit Kinds(Gpu& gpu) : stream(gpu.stream()) {
        REQUIRE_OK(gpo_arena_create(gpu.device, nullptr, arena.out()));
        REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
        const auto piece = [this] {
            void* memory = nullptr;
            REQUIRE_OK(gpo_arena_allocate(arena, 4096, 0, &memory));
            return reinterpret_cast<uint64_t>(memory);
        };
        const auto arena_used = [this](uint64_t) { return figures_of(arena).in_use != 0; };
        all = {
            {"device memory",
             [&gpu] {
                 uint64_t address = 0;
                 REQUIRE_OK(gpo_memory_allocate(gpu.device, 4096, nullptr, &address));
                 return address;
             },
             [&gpu](uint64_t address) { return gpo_memory_free(gpu.device, address); },
             [&gpu](uint64_t address) {
                 auto info = sized<gpo_memory_info>();
                 REQUIRE_OK(gpo_memory_describe(gpu.device, address, &info));
                 return info.kind == GPO_MEMORY_DEVICE;
             }},
            {"a piece of an arena", piece,
             [this](uint64_t address) { return gpo_arena_free(arena, reinterpret_cast<void*>(address)); }, arena_used},
            {"a piece of an arena, behind a stream", piece,
             [this](uint64_t address) { return gpo_arena_free_after(arena, reinterpret_cast<void*>(address), stream); },
             arena_used},
            {"a piece of a pool",
             [this] {
                 uint64_t address = 0;
                 REQUIRE_OK(gpo_pool_allocate(pool, stream, 4096, &address));
                 return address;
             },
             [this](uint64_t address) { return gpo_pool_free(pool, stream, address); },
             [this](uint64_t) { return figures_of(pool).in_use != 0; }}};
    }
    Stream stream;
    Arena arena;
    Pool pool;
    std::vector<Kind> all;
};

}  // namespace

TEST_CASE("a free of held memory for which there is no memory has no effect, and succeeds when it is tried again") {
    Gpu gpu;
    const gpo::Pin<gpo::Runtime> runtime(gpu.runtime);
    gpo::Holds& holds = gpo::Holds::of(*runtime);
    const auto holder = gpo::make<Holder>(*runtime);
    Kinds kinds(gpu);
    for (const Kind& kind : kinds.all) {
        CAPTURE(kind.name);
        uint64_t kth = 1;
        for (bool failed = true; failed; ++kth) {
            CAPTURE(kth);
            const uint64_t memory = kind.take();
            holds.hold(memory + 64, *holder);
            allocations::arm(kth, false);
            const gpo_status status = kind.free(memory);
            failed = allocations::failed() > 0;
            allocations::disarm();
            CHECK_STATUS(failed ? GPO_OUT_OF_MEMORY : GPO_SUCCESS, status);
            CHECK(holds.waiting_frees(*holder).frees == (failed ? 0 : 1));
            if (failed) CHECK_OK(kind.free(memory));
            CHECK_STATUS(GPO_INVALID_ARGUMENT, kind.free(memory));
            CHECK(kind.in_use(memory));
            holds.release(memory + 64, *holder);
            CHECK_OK(gpo_device_wait(gpu.device, kPatience));
            CHECK_FALSE(kind.in_use(memory));
        }
        CHECK(kth > 2);  // there is something to fail
    }
}

TEST_CASE("a free that waited is done, however long the library's threads find no memory for it") {
    Gpu gpu;
    const gpo::Pin<gpo::Runtime> runtime(gpu.runtime);
    gpo::Holds& holds = gpo::Holds::of(*runtime);
    const auto holder = gpo::make<Holder>(*runtime);
    Kinds kinds(gpu);
    for (const Kind& kind : kinds.all) {
        CAPTURE(kind.name);
        for (uint64_t kth = 1; kth <= 12; ++kth)
            for (const uint64_t spell_ns : {uint64_t{0}, uint64_t{3'000'000}}) {
                CAPTURE(kth);
                const uint64_t memory = kind.take();
                holds.hold(memory, *holder);
                REQUIRE_OK(kind.free(memory));
                allocations::arm_threads(kth, spell_ns);
                holds.release(memory, *holder);
                const gpo_status waited = gpo_device_wait(gpu.device, kPatience);
                allocations::disarm_threads();
                CHECK_OK(waited);
                CHECK_FALSE(kind.in_use(memory));
            }
    }
}

TEST_CASE("memory that was held is freed behind the work of other devices too") {
    Gpu gpu;
    Device second = gpu.second_device();
    if (!second) return;
    const gpo::Pin<gpo::Runtime> runtime(gpu.runtime);
    gpo::Holds& holds = gpo::Holds::of(*runtime);
    const auto holder = gpo::make<Holder>(*runtime);
    Kinds kinds(gpu);
    for (const Kind& kind : kinds.all) {
        CAPTURE(kind.name);
        Timeline timeline = gpu.timeline();
        Stream elsewhere;
        REQUIRE_OK(gpo_stream_create(second, nullptr, elsewhere.out()));
        const uint64_t memory = kind.take();
        holds.hold(memory, *holder);
        REQUIRE_OK(kind.free(memory));
        REQUIRE_OK(gpo_stream_wait_timeline(elsewhere, timeline, 1));
        holds.release(memory, *holder);
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 10'000'000));
        CHECK(kind.in_use(memory));
        REQUIRE_OK(gpo_timeline_signal(timeline, 1));
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
        CHECK_FALSE(kind.in_use(memory));
    }
}

TEST_CASE(
    "a struct for whose new addresses there is no memory keeps those before, and so does a graph that isn't made") {
    struct View {
        uint64_t words[2];
    };
    Gpu gpu;
    const Kernel kernel = gpu.kernel("struct view { unsigned* words[2]; };\n"
                                     "extern \"C\" __global__ void touch(view v) { if (v.words[0]) *v.words[0] = 1; }",
                                     "touch");
    const Memory first = gpu.memory(64), second = gpu.memory(64), third = gpu.memory(64);
    Template made;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, made.out()));
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const View before{{first, 0}}, after{{second, third}};
    const void* arguments[] = {&before};
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_kernel(made, nullptr, 0, kernel, &shape, arguments, nullptr, 1, &node));
    REQUIRE_OK(gpo_template_add_parameter(made, "view", node, GPO_PARAMETER_ARGUMENT, 0));
    const auto held = [&] {
        auto figures = sized<gpo_template_statistics>();
        CHECK_OK(gpo_template_get_statistics(made, &figures));
        return figures.held_words;
    };
    Graph graph;
    const auto until_it_succeeds = [&](uint64_t least, const auto& call, uint64_t held_before, uint64_t held_after) {
        uint64_t kth = 1;
        for (bool failed = true; failed; ++kth) {
            CAPTURE(kth);
            allocations::arm(kth, false);
            const gpo_status status = call();
            failed = allocations::failed() > 0;
            allocations::disarm();
            CHECK_STATUS(failed ? GPO_OUT_OF_MEMORY : GPO_SUCCESS, status);
            CHECK(held() == (failed ? held_before : held_after));
        }
        CHECK(kth > least);
    };
    until_it_succeeds(3, [&] { return gpo_graph_create(made, nullptr, graph.out()); }, 0, 1);
    until_it_succeeds(3, [&] { return gpo_graph_set(graph, "view", &after, sizeof after); }, 1, 2);
    graph.reset();
    CHECK(held() == 0);
}
