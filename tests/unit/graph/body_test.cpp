// Recordings of bodies, and children with conditional nodes: if a driver call fails halfway, the template stays
// unchanged.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>

#include "driver/faults.h"
#include "gpuorch/gpuorch.h"
#include "support/soft.h"

namespace {

namespace driver_faults = gpo::driver::faults;
using gpo::driver::Function;
using gpo::test::sized;

constexpr const char* kSource = R"(
#include <gpuorch/device/graph.cuh>
extern "C" __global__ void add(unsigned *to, unsigned value) { *to += value; }
extern "C" __global__ void decide(gpo::condition which, unsigned value) { gpo::set_condition(which, value); }
)";

/// A template with a kernel that decides, and behind it a while with an empty body.
struct World {
    World() {
        gpo::driver::set_interposer(driver_faults::wrap);
        runtime = gpo::test::make_soft_runtime();
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
        auto compile = sized<gpo_compile_options>();
        compile.source = kSource;
        REQUIRE(gpo_module_compile(device, &compile, &module) == GPO_SUCCESS);
        REQUIRE(gpo_module_get_kernel(module, "add", &add) == GPO_SUCCESS);
        REQUIRE(gpo_module_get_kernel(module, "decide", &decide) == GPO_SUCCESS);
        REQUIRE(gpo_arena_create(device, nullptr, &arena) == GPO_SUCCESS);
        void* memory = nullptr;
        REQUIRE(gpo_arena_allocate(arena, kWords * sizeof(uint32_t), GPO_AUTO, &memory) == GPO_SUCCESS);
        words = static_cast<uint32_t*>(memory);
        make();
    }
    void make() {
        REQUIRE(gpo_template_create(device, nullptr, &made) == GPO_SUCCESS);
        const uint32_t placeholder[2] = {};
        decider = put(made, decide, placeholder, sizeof placeholder, 1, 0);
        const gpo_condition again = compare(0, 3);
        REQUIRE(gpo_template_add_while(made, &decider, 1, &again, &body, nullptr) == GPO_SUCCESS);
    }
    void destroy() {
        for (gpo_template_t* each : {&made, &body, &inner})
            CHECK(gpo_template_destroy(std::exchange(*each, nullptr)) == GPO_SUCCESS);
    }
    ~World() {
        driver_faults::disarm();
        destroy();
        CHECK(gpo_arena_free(arena, words) == GPO_SUCCESS);
        CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000) == GPO_SUCCESS);
        gpo::driver::set_interposer(nullptr);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    static gpo_launch shape() {
        auto out = sized<gpo_launch>();
        out.grid[0] = out.block[0] = 1;
        return out;
    }
    gpo_condition compare(uint32_t word, uint32_t constant) const {
        auto out = sized<gpo_condition>();
        out.comparison = GPO_COMPARE_LESS;
        out.word = reinterpret_cast<uint64_t>(words + word);
        out.constant = constant;
        return out;
    }
    /// A kernel of two arguments.
    uint32_t put(gpo_template_t in, gpo_kernel_t kernel, const void* first, uint32_t bytes, uint32_t value,
                 uint32_t after) const {
        const gpo_launch launched = shape();
        const void* arguments[] = {first, &value};
        const uint32_t sizes[] = {bytes, sizeof value};
        uint32_t node = 0;
        REQUIRE(gpo_template_add_kernel(in, &after, after ? 1 : 0, kernel, &launched, arguments, sizes, 2, &node) ==
                GPO_SUCCESS);
        return node;
    }
    uint32_t put_add(gpo_template_t in, uint32_t word, uint32_t after = 0) const {
        const uint64_t to = reinterpret_cast<uint64_t>(words + word);
        return put(in, add, &to, sizeof to, 1, after);
    }
    /// From here on recordings are captures of the driver.
    void capture() {
        void* native = nullptr;
        REQUIRE(gpo_stream_get_native(stream, &native) == GPO_SUCCESS);
    }
    /// Records a body that adds 1 to word 0, and then twice 1 to word 1 if the kernel before the while decides so.
    /// `plan` is in force only while the recording ends.
    gpo_status record_body(const driver_faults::Plan& plan) {
        REQUIRE(gpo_template_begin(body, stream) == GPO_SUCCESS);
        const gpo_launch launched = shape();
        const uint64_t to = reinterpret_cast<uint64_t>(words);
        const uint32_t one = 1;
        const void* arguments[] = {&to, &one};
        REQUIRE(gpo_stream_launch_kernel(stream, add, &launched, arguments, nullptr, 2) == GPO_SUCCESS);
        uint32_t node = 0;
        REQUIRE(gpo_template_get_last_node(body, stream, &node) == GPO_SUCCESS);
        const auto decided = sized<gpo_condition>();
        if (inner) REQUIRE(gpo_template_destroy(inner) == GPO_SUCCESS);
        REQUIRE(gpo_template_add_if(body, &node, 1, &decided, &inner, nullptr, &node) == GPO_SUCCESS);
        REQUIRE(gpo_template_bind_condition(made, decider, 0, body, node) == GPO_SUCCESS);
        put_add(inner, 1, put_add(inner, 1));
        driver_faults::arm(plan);
        const gpo_status ended = gpo_template_end(body);
        driver_faults::disarm();
        return ended;
    }
    void run() {
        gpo_graph_t graph = nullptr;
        REQUIRE(gpo_graph_create(made, nullptr, &graph) == GPO_SUCCESS);
        words[0] = words[1] = 0;
        CHECK(gpo_graph_launch(graph, stream) == GPO_SUCCESS);
        CHECK(gpo_stream_wait(stream, 30'000'000'000) == GPO_SUCCESS);
        CHECK(gpo_graph_destroy(graph) == GPO_SUCCESS);
    }
    bool fails_whole(Function function, uint64_t kth);
    uint32_t nodes_of(gpo_template_t of) const {
        auto out = sized<gpo_template_statistics>();
        REQUIRE(gpo_template_get_statistics(of, &out) == GPO_SUCCESS);
        return out.nodes;
    }

    static constexpr uint64_t kWords = 8;
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_module_t module = nullptr;
    gpo_kernel_t add = nullptr, decide = nullptr;
    gpo_arena_t arena = nullptr;
    gpo_template_t made = nullptr, body = nullptr, inner = nullptr;
    uint32_t decider = 0;
    uint32_t* words = nullptr;
};

driver_faults::Plan at(std::optional<Function> function, uint64_t kth, CUresult result = CUDA_ERROR_OUT_OF_MEMORY) {
    return {function, kth, result, false};
}

/// The driver functions that read and add nodes. No step makes as many calls of one function as kMostCalls.
constexpr Function kFunctions[] = {Function::cuStreamEndCapture,
                                   Function::cuGraphGetNodes,
                                   Function::cuGraphNodeGetDependencies,
                                   Function::cuGraphKernelNodeGetParams,
                                   Function::cuGraphAddNode,
                                   Function::cuGraphConditionalHandleCreate,
                                   Function::cuGraphKernelNodeSetParams,
                                   Function::cuGraphKernelNodeCopyAttributes};
constexpr uint64_t kMostCalls = 12;

/// Records a body in a new template while this driver call fails. Returns whether the recording failed, and checks that
/// the template is unchanged then.
bool World::fails_whole(Function function, uint64_t kth) {
    destroy();
    make();
    const bool failed = record_body(at(function, kth)) != GPO_SUCCESS;
    if (failed) {
        CHECK(nodes_of(body) == 0);
        CHECK(gpo_template_add_empty(inner, nullptr, 0, nullptr) == GPO_INVALID_STATE);
        if (kth % 2) {   // built, and not recorded again
            put_add(body, 0);
            run();
            CHECK(words[0] == 3);
            CHECK(words[1] == 0);
            return true;
        }
        REQUIRE(record_body(at(function, UINT64_MAX)) == GPO_SUCCESS);
    }
    run();
    CHECK(words[0] == 3);
    CHECK(words[1] == 6);
    return failed;
}

std::string last_message() {
    auto error = sized<gpo_error>();
    gpo_last_error(&error);
    return error.message;
}

}  // namespace

TEST_CASE("bodies: a recording that fails at any call of the driver leaves the template as it was") {
    for (const bool captured : {false, true}) {
        CAPTURE(captured);
        World world;
        if (captured) world.capture();
        uint32_t failures = 0;
        for (const Function function : kFunctions) {
            CAPTURE(gpo::driver::function_name(function));
            for (uint64_t kth = 1; kth <= kMostCalls; ++kth) {
                CAPTURE(kth);
                failures += world.fails_whole(function, kth);
            }
        }
        CHECK(failures >= (captured ? 10 : 6));
    }
}

TEST_CASE("bodies: a conditional node is added with its decision or not at all, whatever fails") {
    World world;
    for (const bool loop : {false, true}) {
        CAPTURE(loop);
        uint32_t failures = 0;
        for (const Function function : kFunctions) {
            CAPTURE(gpo::driver::function_name(function));
            for (uint64_t kth = 1; kth <= kMostCalls; ++kth) {
                CAPTURE(kth);
                world.destroy();
                world.make();
                const gpo_condition condition = world.compare(2, 0);
                const uint32_t before = world.nodes_of(world.made);
                gpo_template_t added = nullptr;
                driver_faults::arm(at(function, kth));
                const gpo_status status =
                    loop ? gpo_template_add_while(world.made, nullptr, 0, &condition, &added, nullptr)
                         : gpo_template_add_if(world.made, nullptr, 0, &condition, &added, nullptr, nullptr);
                driver_faults::disarm();
                if (status == GPO_SUCCESS) {
                    CHECK(gpo_template_destroy(added) == GPO_SUCCESS);
                    break;   // the step made fewer calls
                }
                ++failures;
                CHECK(added == nullptr);
                CHECK(world.nodes_of(world.made) == before);
                world.put_add(world.body, 0);
                world.run();
                CHECK(world.words[0] == 3);
            }
        }
        CHECK(failures >= 3);   // the handle, the decision and the node
    }
}

TEST_CASE("bodies: a child with conditional nodes is added whole or not at all, whatever fails") {
    World world;
    uint32_t failures = 0;
    for (const Function function : kFunctions) {
        CAPTURE(gpo::driver::function_name(function));
        for (uint64_t kth = 1; kth <= kMostCalls; ++kth) {
            CAPTURE(kth);
            world.destroy();
            world.make();
            REQUIRE(world.record_body(at(function, UINT64_MAX)) == GPO_SUCCESS);
            gpo_template_t parent = nullptr;
            REQUIRE(gpo_template_create(world.device, nullptr, &parent) == GPO_SUCCESS);
            const uint32_t first = world.put_add(parent, 2);
            void* native = nullptr;
            REQUIRE(gpo_template_get_native(world.made, &native) == GPO_SUCCESS);   // it is sealed
            driver_faults::arm(at(function, kth));
            const gpo_status added = gpo_template_add_child(parent, &first, 1, world.made, nullptr, nullptr);
            driver_faults::disarm();
            if (added != GPO_SUCCESS) {
                ++failures;
                CHECK(world.nodes_of(parent) == 1);
                REQUIRE(gpo_template_add_child(parent, &first, 1, world.made, nullptr, nullptr) == GPO_SUCCESS);
            }
            REQUIRE(gpo_template_destroy(world.made) == GPO_SUCCESS);
            world.made = parent;
            world.words[2] = 0;
            world.run();
            CHECK(world.words[0] == 3);
            CHECK(world.words[1] == 6);
            CHECK(world.words[2] == 1);
        }
    }
    CHECK(failures >= 10);
}

TEST_CASE("bodies: what the driver doesn't show the order of is refused with its name, where it would be copied") {
    World world;
    world.capture();
    auto plan = at(Function::cuGraphNodeGetDependencies, 1, CUDA_ERROR_LOSSY_QUERY);
    CHECK(world.record_body(plan) == GPO_CAPTURE_REFUSED);
    CHECK(last_message().find("node 1, kernel `add`, can't be copied from the recording to the body") !=
          std::string::npos);
    gpo_template_t child = nullptr;
    REQUIRE(gpo_template_create(world.device, nullptr, &child) == GPO_SUCCESS);
    REQUIRE(gpo_template_begin(child, world.stream) == GPO_SUCCESS);
    REQUIRE(gpo_fill(world.stream, reinterpret_cast<uint64_t>(world.words), 1, 4, 1) == GPO_SUCCESS);
    driver_faults::arm(plan);
    REQUIRE(gpo_template_end(child) == GPO_SUCCESS);   // a graph of its own keeps the order
    driver_faults::disarm();
    CHECK(gpo_template_add_child(world.made, nullptr, 0, child, nullptr, nullptr) == GPO_NOT_SUPPORTED);
    CHECK(last_message().find("of the child, node 1, fill, can't be copied") != std::string::npos);
    CHECK(gpo_template_destroy(child) == GPO_SUCCESS);
}
