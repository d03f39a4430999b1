// A kernel crashes while every operation waits at a place: each ends once, with the loss, and the process goes on.
// A crash takes the process's devices along, so each place has a child process, in which all operations share the
// crash.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "child.h"
#include "matrix.h"

namespace gpo::test::matrix {

namespace {

constexpr const char* kVariable = "GPUORCH_TEST_MATRIX_LOSS";
constexpr const char* kTest = "matrix: a crash ends what waits at each place";

/// Number of operations that wait at once. Each has a kernel that spins. A GPU has at most 32 queues that don't wait
/// for each other; graphs, the crash and the library's own fills need some.
size_t most_pending() {
    const char* device = std::getenv("GPUORCH_DEVICE");
    return device && std::string(device).rfind("cuda", 0) == 0 ? 12 : operations().size();
}

struct Pending {
    const Operation& operation;
    std::unique_ptr<Act> act;
    std::unique_ptr<Site> site;
};

/// With the operations from `first` on.
void lose_device_at(const Place& place, size_t first_operation) {
    // With attribution, the failure names only kernels that had begun. Streams learn only without attribution.
    const Setting attribute("GPUORCH_ATTRIBUTE", std::string(place.name) == "a stream that learns" ? "0" : "1");
    World world;
    uint32_t* const crash = world.word();
    Stream crashing = world.gpu.stream("crashing");
    Queue queue = world.gpu.queue();
    std::vector<Pending> all;
    uint64_t owed = 0;
    for (size_t i = first_operation; i < std::min(first_operation + most_pending(), operations().size()); ++i) {
        const Operation& operation = operations()[i];
        // Skip calls without a stream, which are never pending, and kernels that launch graphs: only a graph may have
        // them.
        if (operation.is(kNoStream | kOnlyInGraph) || expected(operation, place).kind != Expected::works) continue;
        if (operation.is(kOnlyNode)) {   // once, so that nothing is left to be loaded
            Act first(world);
            operation.make(world, first);
            REQUIRE_OK(first.prepare());
            first.open();
        }
        Pending made{operation, std::make_unique<Act>(world), nullptr};
        operation.make(world, *made.act);
        made.site = place.make(world, *made.act);
        all.push_back(std::move(made));
    }
    // Graphs are made, and destroyed objects freed, before a gate is closed: the driver waits for kernels in some calls
    // of cuGraphExecDestroy, and in cuGraphInstantiate once it has no room left (stream/room.h). Operations with a gate
    // of their own come last.
    const auto prepare = [&](bool has_gate) {
        for (const Pending& one : all) {
            if (static_cast<bool>(one.act->on_open) != has_gate) continue;
            REQUIRE_OK(one.act->prepare());
            one.site->prepare();
        }
    };
    prepare(false);
    world.wait_for_frees();
    prepare(true);
    REQUIRE_OK(world.gate(crashing, crash));
    REQUIRE_OK(gpo_stream_notify(crashing, queue, owed++));
    for (const Pending& one : all) {
        INFO(one.operation.name << "|" << place.name);
        if (std::getenv("GPUORCH_TEST_CELLS"))
            std::printf("%s|%s\n", one.operation.name, place.name), std::fflush(stdout);
        const Site::Calls calls = one.site->perform();
        REQUIRE_OK(calls.call);
        REQUIRE_OK(calls.end);
        REQUIRE_OK(gpo_stream_notify(one.site->on(), queue, owed++));
    }
    world.set(crash, kCrash);
    std::vector<int> came(owed);
    for (const gpo_completion& entry : take(queue, owed)) {
        CHECK(std::string(gpo_status_name(entry.status)) == "GPO_DEVICE_LOST");
        REQUIRE(entry.user_data < owed);
        ++came[entry.user_data];
    }
    for (const int times : came) CHECK(times == 1);
    CHECK(std::string(object_error(crashing).message).find("gate_word") != std::string::npos);
    for (const Pending& one : all) {
        CHECK_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(one.site->on(), kPatience));
        CHECK_FALSE(one.act->done());
    }
    auto figures = sized<gpo_cq_statistics>();
    CHECK_OK(gpo_cq_get_statistics(queue, &figures));
    CHECK(figures.delivered == owed);
    for (Pending& one : all) one.site->open();   // no wait is left
    world.wait_for_callbacks();
}

}  // namespace

TEST_CASE("matrix: a crash ends what waits at each place" * gated) {
    if (const char* given = std::getenv(kVariable)) {
        size_t place = 0, first = 0;
        REQUIRE(std::sscanf(given, "%zu:%zu", &place, &first) == 2);
        lose_device_at(places()[place], first);
        return;
    }
    const Setting queues("CUDA_DEVICE_MAX_CONNECTIONS", "32");
    for (size_t i = 0; i < places().size(); ++i) {
        // Nothing is pending inside a host node, and what stays beside the others crashes with them.
        if (places()[i].is(kDriverThread | kBesideResident)) continue;
        for (size_t first = 0; first < operations().size(); first += most_pending()) {
            const std::string which = std::to_string(i) + ":" + std::to_string(first);
            INFO(places()[i].name << ", operations from " << first);
            CHECK(wait_for_child(start_child(kTest, std::string(kVariable) + "=" + which)) == 0);
        }
    }
}

}  // namespace gpo::test::matrix
