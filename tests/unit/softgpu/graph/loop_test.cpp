// Endless loops in graphs of the software GPU don't disturb the rest of the device, and end with their context or with
// the devices.
#include <functional>

#include "unit/softgpu/graph/graphs.h"

using namespace softgpu_test;

namespace {

/// Fills the body of a while whose condition stays 1.
using Body = std::function<void(GraphGpu&, CUgraph)>;

void nothing(GraphGpu&, CUgraph) {}
void empty_nodes(GraphGpu& gpu, CUgraph body) { gpu.empty(body, {gpu.empty(body)}); }
void another_endless_loop(GraphGpu& gpu, CUgraph body) {
    gpu.empty(gpu.conditional(body, gpu.condition(body, 1), CU_GRAPH_COND_TYPE_WHILE));
}
void a_body_that_never_runs(GraphGpu& gpu, CUgraph body) {
    gpu.node(gpu.conditional(body, gpu.condition(body, 0), CU_GRAPH_COND_TYPE_IF), "count", {}, gpu.pinned(1));
}
void a_kernel(GraphGpu& gpu, CUgraph body) { gpu.node(body, "count", {}, gpu.pinned(1)); }
void an_empty_body_beside_a_kernel(GraphGpu& gpu, CUgraph body) {
    gpu.conditional(body, gpu.condition(body, 1), CU_GRAPH_COND_TYPE_WHILE);
    gpu.node(body, "count", {}, gpu.pinned(1));
}

const struct {
    const char* name;
    Body fill;
} kBodies[] = {{"nothing", nothing},
               {"empty nodes", empty_nodes},
               {"another endless loop", another_endless_loop},
               {"a body that never runs", a_body_that_never_runs},
               {"a kernel", a_kernel},
               {"an empty body beside a kernel", an_empty_body_beside_a_kernel}};

/// Puts an endless loop on the stream.
void loop_on(GraphGpu& gpu, CUstream stream, const Body& fill) {
    const CUgraph graph = gpu.graph();
    fill(gpu, gpu.conditional(graph, gpu.condition(graph, 1), CU_GRAPH_COND_TYPE_WHILE));
    OK(gpu.cu->cuGraphLaunch(gpu.instantiate(graph), stream));
}

}  // namespace

TEST_CASE("an endless loop leaves other streams their work, and ends with the context") {
    for (const auto& body : kBodies) {
        INFO(body.name);
        GraphGpu gpu;
        const CUstream looping = gpu.stream(), other = gpu.stream();
        uint32_t* words = gpu.pinned(2);
        gpu.kernel("count");   // loading waits for what runs
        loop_on(gpu, looping, body.fill);
        for (int i = 0; i < 20; ++i) {
            OK(gpu.launch(other, "count", words));
            OK(gpu.cu->cuMemsetD32Async(gpu.memory(4), 1, 1, other));
            OK(gpu.cu->cuStreamSynchronize(other));
        }
        CHECK(words[0] == 20);
        IS(gpu.cu->cuStreamQuery(looping), CUDA_ERROR_NOT_READY);
        OK(gpu.launch(looping, "count", words + 1));  // never begins
    }
}

TEST_CASE("an endless loop ends when a kernel beside it fails") {
    for (const auto& body : kBodies) {
        INFO(body.name);
        GraphGpu gpu;
        gpu.live = false;
        const CUstream looping = gpu.stream(), bad = gpu.stream();
        uint32_t* go = gpu.pinned(1);
        *go = 1;
        gpu.kernel("fail_when");   // loading waits for what runs
        loop_on(gpu, looping, body.fill);
        OK(gpu.launch(bad, "fail_when", go, int(CUDA_ERROR_LAUNCH_FAILED)));
        IS(gpu.cu->cuStreamSynchronize(bad), CUDA_ERROR_LAUNCH_FAILED);
        IS(gpu.cu->cuStreamSynchronize(looping), CUDA_ERROR_LAUNCH_FAILED);
    }
}

TEST_CASE("a loop that runs often takes no place on a stack") {
    GraphGpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* left = gpu.pinned(1);
    *left = 100'000;
    const CUgraph graph = gpu.graph();
    const CUgraphConditionalHandle handle = gpu.condition(graph, 1);
    const CUgraph body = gpu.conditional(graph, handle, CU_GRAPH_COND_TYPE_WHILE);
    gpu.empty(body, {gpu.node(body, "count_down", {}, handle, left)});
    OK(gpu.cu->cuGraphLaunch(gpu.instantiate(graph), stream));
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(*left == 0);
}
