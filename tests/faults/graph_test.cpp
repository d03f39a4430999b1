// Graphs with conditional nodes and launches by kernels: running them allocates no host memory.
#include <vector>

#include "faults/allocations.h"
#include "foreign/kernel_nodes.h"

using namespace gpo::test;

namespace {

const char* const kSource = R"(
#include <gpuorch/device/graph.cuh>
extern "C" __global__ void count_down(gpo::condition condition, unsigned *left) {
    *left -= 1;
    gpo::set_condition(condition, *left);
}
extern "C" __global__ void again(unsigned *count, unsigned until, gpo::device_graph child) {
    gpo::launch_fire_and_forget(child);
    if (++*count != until) gpo::relaunch_self();
}
)";

/// How many allocations the device's threads have made while `work` ran.
template <class Work>
uint64_t allocations_in(Work work) {
    allocations::arm_threads(UINT64_MAX, 0);
    work();
    return allocations::disarm_threads();
}

}  // namespace

TEST_CASE("a loop in a graph, and launches by kernels, take no memory of the host") {
    KernelRig rig(kSource);
    const CUfunction count_down = rig.function("count_down"), again = rig.function("again");
    Made loop(rig), scheduler(rig), work(rig);
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    parameters.conditional.size = 1;
    parameters.conditional.ctx = rig.context;
    CUgraphConditionalHandle& handle = parameters.conditional.handle;
    RAW_OK(rig.cu.cuGraphConditionalHandleCreate(&handle, loop, rig.context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNode node = nullptr;
    RAW_OK(rig.cu.cuGraphAddNode(&node, loop, nullptr, 0, &parameters));
    rig.kernel(parameters.conditional.phGraph_out[0], {}, count_down, handle, rig.word(0));
    work.kernel(rig.add, 1, 1);
    Executable looping(rig, loop), child(rig, work, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
    RAW_OK(rig.cu.cuGraphUpload(child, rig.native));
    const struct { uint64_t graph, status; } launched{reinterpret_cast<uintptr_t>(CUgraphExec(child)), 0};
    rig.kernel(scheduler, {}, again, rig.word(2), 100u, launched);
    Executable relaunching(rig, scheduler, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);

    const auto run = [&] {
        rig.fill(0, 100);
        rig.fill(2, 0);
        looping.launch();
        relaunching.launch();
        rig.sync();
    };
    run();  // the first run may load what is loaded late
    CHECK(allocations_in(run) == 0);
    CHECK(rig.value(0) == 0);
    CHECK(rig.value(1) == 200);
}
