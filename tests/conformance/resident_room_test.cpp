// Streams and graphs that are made while a kernel stays on the GPU: there is room for a number of them, and the driver
// would wait for the kernel to make more. Further ones are refused until some are destroyed or the kernel has ended.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "conditional_rig.h"
#include "resident_rig.h"
#include "template_rig.h"

using namespace gpo::test;

namespace {

constexpr size_t kRoom = 256, kNodes = 2048;   // stream.h

void check_refused(gpo_status status) {
    CHECK(std::string(gpo_status_name(status)) == "GPO_INVALID_STATE");
    CHECK(says(last_error().message, "no room left"));
    CHECK(says(last_error().message, "`server`"));
}

/// Makes objects until one is refused; the refused one's status is checked.
template <class Handle>
std::vector<Handle> fill_room(const std::function<gpo_status(Handle&)>& make) {
    std::vector<Handle> made;
    for (;;) {
        Handle one;
        if (const gpo_status status = make(one); status != GPO_SUCCESS) {
            check_refused(status);
            return made;
        }
        made.push_back(std::move(one));
        REQUIRE(made.size() <= kRoom);
    }
}

gpo_status make_stream(Gpu& gpu, Stream& stream) {
    const auto options = sized<gpo_stream_options>();
    return gpo_stream_create(gpu.device, &options, stream.out());
}

/// A template of `levels` times `width` kernels; each kernel is behind all of the level before, or behind one.
Template levels_of(WordsRig& rig, uint32_t levels, uint32_t width, bool behind_all) {
    Template made = make_template(rig);
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const uint64_t word = rig.at(0);
    const uint32_t number = 1;
    const void* arguments[] = {&word, &number};
    std::vector<uint32_t> before, now;
    for (uint32_t level = 0; level < levels; ++level, before.swap(now)) {
        now.clear();
        for (uint32_t i = 0; i < width; ++i) {
            const uint32_t* after = behind_all || before.empty() ? before.data() : &before[i];
            const uint32_t count = behind_all || before.empty() ? static_cast<uint32_t>(before.size()) : 1;
            now.push_back(0);
            REQUIRE_OK(gpo_template_add_kernel(made, after, count, rig.put, &shape, arguments, nullptr, 2,
                                               &now.back()));
        }
    }
    return made;
}

/// A kernel with two behind it, each with two behind it, and so on: 15 in all.
Template tree(WordsRig& rig) {
    Template made = make_template(rig);
    std::vector<uint32_t> before{rig.node(made, rig.put, rig.at(0), 1)}, now;
    for (int level = 1; level < 4; ++level, before.swap(now)) {
        now.clear();
        for (const uint32_t after : before)
            for (int i = 0; i < 2; ++i) now.push_back(rig.node(made, rig.put, rig.at(0), 1, {after}));
    }
    return made;
}

Template with_switch(WordsRig& rig) {
    Template made = make_template(rig);
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_VALUE;
    condition.word = rig.at(1);
    gpo_template_t bodies[4] = {};
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_switch(made, nullptr, 0, &condition, bodies, 4, &node));
    for (gpo_template_t body : bodies) {
        rig.node(body, rig.put, rig.at(0), 1);
        gpo_template_destroy(body);
    }
    return made;
}

}  // namespace

TEST_CASE("beside a resident kernel there is room for 256 streams, and more are refused" * gated) {
    Gpu gpu;
    Memory target = gpu.memory(64);
    ResidentKernel resident(gpu);
    std::vector<Stream> made = fill_room<Stream>([&](Stream& stream) { return make_stream(gpu, stream); });
    CHECK(made.size() == kRoom - 1);   // the resident stream has room, too
    for (Stream& stream : made) REQUIRE_OK(gpo_fill(stream, target, 1, 4, 16));
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));

    // Ten destroyed streams leave room for ten others.
    for (int i = 0; i < 10; ++i) made.pop_back();
    for (int i = 0; i < 10; ++i) {
        Stream stream;
        CHECK(comes_true([&] { return make_stream(gpu, stream) == GPO_SUCCESS; }));
        made.push_back(std::move(stream));
    }
    Stream refused;
    check_refused(make_stream(gpu, refused));
    auto resident_options = sized<gpo_stream_options>();
    resident_options.flags = GPO_STREAM_RESIDENT;
    check_refused(gpo_stream_create(gpu.device, &resident_options, refused.out()));
    DeviceQueue queue;
    auto queue_options = sized<gpo_queue_options>();
    queue_options.kind = GPO_QUEUE_RANGE;
    queue_options.count = 16;
    check_refused(gpo_queue_create(gpu.device, &queue_options, queue.out()));
    auto pool_options = sized<gpo_stream_pool_options>();
    pool_options.streams = 2;
    StreamPool pool;
    check_refused(gpo_stream_pool_create(gpu.device, &pool_options, pool.out()));
    CHECK(resident.stays());
    for (int i = 0; i < 10; ++i) made.pop_back();
    resident.end();

    // Beside the next resident kernel there is room for as many new streams. Streams from before take none of this
    // room, and destroying them adds none.
    ResidentKernel next(gpu);
    std::vector<Stream> later = fill_room<Stream>([&](Stream& stream) { return make_stream(gpu, stream); });
    CHECK(later.size() == kRoom - 1);
    made.clear();
    check_refused(make_stream(gpu, refused));
    CHECK(next.stays());
}

TEST_CASE("beside a resident kernel any number of streams and graphs are made one after the other" * gated) {
    WordsRig rig;
    Template of = levels_of(rig, 3, 4, false);
    ResidentKernel resident(rig);
    for (size_t i = 0; i < 2 * kRoom; ++i) {
        Stream stream;
        REQUIRE(comes_true([&] { return make_stream(rig, stream) == GPO_SUCCESS; }));
        Graph graph;
        REQUIRE(comes_true([&] { return gpo_graph_create(of, nullptr, graph.out()) == GPO_SUCCESS; }));
        REQUIRE_OK(gpo_graph_launch(graph, stream));
    }
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK(resident.stays());
}

TEST_CASE("beside a resident kernel graphs of any shape are made while there is room, and then refused" * gated) {
    WordsRig rig;
    if (rig.too_old()) return;
    struct Shape {
        const char* name;
        size_t lanes, nodes;   // that one graph needs
        Template made;
    };
    std::vector<Shape> shapes;
    shapes.push_back({"a kernel", 1, 1, levels_of(rig, 1, 1, false)});
    shapes.push_back({"a chain", 1, 200, levels_of(rig, 200, 1, false)});
    shapes.push_back({"branches", 8, 40, levels_of(rig, 5, 8, false)});
    shapes.push_back({"a mesh", 40, 40, levels_of(rig, 10, 4, true)});
    shapes.push_back({"a tree", 8, 15, tree(rig)});
    shapes.push_back({"many branches", 240, 240, levels_of(rig, 1, 240, true)});
    shapes.push_back({"switches", 5, 6, with_switch(rig)});
    Template parent = make_template(rig);
    uint32_t node = 0;
    for (int i = 0; i < 3; ++i)
        REQUIRE_OK(gpo_template_add_child(parent, nullptr, 0, shapes[2].made, nullptr, &node));
    shapes.push_back({"children", 24, 123, std::move(parent)});
    // Graphs from before take no room of it: here, as much as the driver has memory for at first.
    std::vector<Graph> early;
    for (int i = 0; i < 20; ++i) early.push_back(make_graph(shapes[1].made));
    for (Shape& shape : shapes) {
        INFO(std::string(shape.name));
        std::vector<Graph> made;
        {
            ResidentKernel resident(rig);
            made = fill_room<Graph>([&](Graph& graph) { return gpo_graph_create(shape.made, nullptr, graph.out()); });
            // The resident stream has room, too.
            CHECK(made.size() == std::min((kRoom - 1) / shape.lanes, kNodes / shape.nodes));
            for (Graph& graph : made) REQUIRE_OK(gpo_graph_launch(graph, rig.on));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK(resident.stays());
        }
        Graph later = make_graph(shape.made);
        rig.run(later);
        made.clear();
    }
}

TEST_CASE("a graph that is larger than the room is made before a resident kernel, and refused beside it" * gated) {
    WordsRig rig;
    Template wide = levels_of(rig, 1, 400, true);
    {
        ResidentKernel resident(rig);
        Graph refused;
        check_refused(gpo_graph_create(wide, nullptr, refused.out()));
        CHECK(resident.stays());
    }
    Graph before = make_graph(wide);
    ResidentKernel resident(rig);
    rig.run(before);
    CHECK(rig.word(0) == 1);
    // The refusal used up nothing.
    std::vector<Stream> streams(kRoom / 2);
    for (Stream& stream : streams) REQUIRE_OK(make_stream(rig, stream));
    CHECK(resident.stays());
}

TEST_CASE("an update that has to make a graph anew is refused where there is no room, and the graph stays" * gated) {
    WordsRig rig;
    Template of = make_template(rig);
    const auto record = [&](uint32_t kernels) {
        REQUIRE_OK(gpo_template_begin(of, rig.on));
        for (uint32_t i = 0; i < kernels; ++i) REQUIRE_OK(launch(rig.on, rig.add, 1, 1, rig.at(0), 1u));
        REQUIRE_OK(gpo_template_end(of));
    };
    record(1);
    Graph graph = make_graph(of);
    record(3);
    ResidentKernel resident(rig);
    std::vector<Stream> made = fill_room<Stream>([&](Stream& stream) { return make_stream(rig, stream); });
    auto report = sized<gpo_graph_update_report>();
    check_refused(gpo_graph_update(graph, &report));
    rig.run(graph);
    CHECK(rig.word(0) == 1);
    made.clear();
    CHECK(comes_true([&] { return gpo_graph_update(graph, &report) == GPO_SUCCESS; }));
    rig.run(graph);
    CHECK(rig.word(0) == 4);
    CHECK(resident.stays());
}

TEST_CASE("a stream that learns does its work where there is no room for what it would learn" * gated) {
    WordsRig rig;
    Stream learning = rig.stream("learning", GPO_STREAM_LEARNS);
    ResidentKernel resident(rig);
    std::vector<Stream> made = fill_room<Stream>([&](Stream& stream) { return make_stream(rig, stream); });
    const auto rounds = [&](uint32_t count) {
        for (uint32_t i = 0; i < count; ++i) {
            REQUIRE_OK(launch(learning, rig.add, 1, 1, rig.at(2), 1u));
            REQUIRE_OK(launch(learning, rig.add, 1, 1, rig.at(3), 2u));
            CHECK_OK(gpo_stream_wait(learning, kPatience));
        }
    };
    rounds(40);
    CHECK(rig.word(2) == 40);
    CHECK(rig.word(3) == 80);
    auto info = sized<gpo_stream_info>();
    REQUIRE_OK(gpo_stream_get_info(learning, &info));
    CHECK(info.learned == 0);
    CHECK(resident.stays());
}

TEST_CASE("a kernel that needs more local memory than any before begins beside a resident kernel" * gated) {
    static constexpr const char* kSource = R"(
template <int words> __device__ void work(unsigned *to, unsigned from) {
    volatile unsigned local[words];
    for (int i = 0; i < words; ++i) local[(i * 7 + from) % words] = i;
    unsigned sum = 0;
    for (int i = 0; i < words; ++i) sum += local[i];
    *to = sum;
}
extern "C" __global__ void some(unsigned *to, unsigned from) { work<600>(to, from); }
extern "C" __global__ void more(unsigned *to, unsigned from) { work<1200>(to, from); }
extern "C" __global__ void most(unsigned *to, unsigned from) { work<2000>(to, from); }
)";
    const auto sum_below = [](uint32_t n) { return n * (n - 1) / 2; };
    WordsRig rig;
    Kernel early = rig.kernel(kSource, "more");
    ResidentKernel resident(rig);
    REQUIRE_OK(launch(rig.on, early, 1, 1, rig.at(0), 0u));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(resident.stays());
    resident.tell();
    CHECK_OK(gpo_stream_wait(resident.stream, kPatience));

    Kernel smaller = rig.kernel(kSource, "some"), larger = rig.kernel(kSource, "most");
    ResidentKernel next(rig, "next");
    REQUIRE_OK(launch(rig.on, larger, 1, 1, rig.at(1), 0u));
    REQUIRE_OK(launch(rig.on, smaller, 1, 1, rig.at(2), 0u));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(next.stays());
    CHECK(rig.word(0) == sum_below(1200));
    CHECK(rig.word(1) == sum_below(2000));
    CHECK(rig.word(2) == sum_below(600));
}
