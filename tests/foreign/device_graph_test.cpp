// Graphs that kernels launch, by direct driver calls and gpuorch/device/graph.cuh: which launches are allowed, which
// graphs wait for each other, and in which order graphs run. The software GPU must behave like the real driver.
#include <memory>
#include <vector>

#include "foreign/kernel_nodes.h"

using namespace gpo::test;

namespace {

const char* const kSource = R"(
#include <gpuorch/device/graph.cuh>

__device__ int launched(gpo::device_graph graph, unsigned how) {
    return how == 1 ? gpo::launch_tail(graph)
                    : how == 2 ? gpo::launch_fire_and_forget(graph) : gpo::launch_sibling(graph);
}
__device__ void note_in(unsigned *log, unsigned what) { log[1 + atomicAdd(log, 1)] = what; }

extern "C" __global__ void add(unsigned *word, unsigned by) { atomicAdd(word, by); }
extern "C" __global__ void note(unsigned *log, unsigned what) { note_in(log, what); }
// Launches `count` graphs, and has a launch's answer follow its number.
extern "C" __global__ void launch(const unsigned long long *graphs, unsigned count, unsigned how, unsigned *answers,
                                  unsigned *status) {
    for (unsigned i = 0; i < count; ++i) {
        gpo::device_graph graph = {graphs[i], (unsigned long long)status};
        answers[i] = launched(graph, how);
    }
}
extern "C" __global__ void note_and_launch(unsigned *log, unsigned what, gpo::device_graph first, unsigned how,
                                           gpo::device_graph second, unsigned how_second) {
    note_in(log, what);
    if (first.graph) launched(first, how);
    if (second.graph) launched(second, how_second);
}
extern "C" __global__ void again(unsigned *count, unsigned until, unsigned *answers, unsigned long long *current) {
    *current = gpo::current_graph();
    if (++*count == until) return;
    answers[0] = gpo::relaunch_self();
    answers[1] = gpo::relaunch_self();
    answers[2] = gpo::launch_fire_and_forget({gpo::current_graph(), 0});
}
// Waits for the word, but not for ever.
extern "C" __global__ void await(unsigned *word, unsigned *seen) {
    const long long begin = clock64();
    while (clock64() - begin < 40000000000ll) {
        if (atomicAdd(word, 0u) != 0) {
            *seen = 1;
            return;
        }
        __nanosleep(100);
    }
}
)";

constexpr uint32_t kTail = 1, kFireAndForget = 2, kSibling = 3;

// gpo::launch_…, as the header has them.
constexpr uint32_t kSuccess = 0, kInvalidArgument = 10, kLimitExceeded = 31;

struct DeviceGraph {
    uint64_t graph = 0, status = 0;
};

struct LaunchRig : KernelRig {
    LaunchRig()
        : KernelRig(kSource), add(function("add")), note(function("note")), launch(function("launch")),
          note_and_launch(function("note_and_launch")), graphs(pinned<uint64_t>(kMost)),
          answers(pinned<uint32_t>(kMost)), status(pinned<uint32_t>(1)) {}

    /// A graph that launches the first `count` of `graphs`, for `answers`.
    void launches(CUgraph graph, uint32_t count, uint32_t how) {
        kernel(graph, {}, launch, graphs.address(), count, how, answers.address(), status.address());
    }
    void upload(CUgraphExec exec) {
        RAW_OK(cu.cuGraphUpload(exec, native));
        sync();
    }

    static constexpr uint32_t kMost = 300;
    const CUfunction add, note, launch, note_and_launch;
    Pinned<uint64_t> graphs;
    Pinned<uint32_t> answers, status;
};

/// An executable graph that is uploaded, so that kernels can launch it.
class Launchable {
public:
    Launchable(LaunchRig& rig, CUgraph graph) : exec_(rig, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
        rig.upload(exec_);
    }
    operator CUgraphExec() const noexcept { return exec_; }
    DeviceGraph handle() const { return {number(), 0}; }
    uint64_t number() const { return reinterpret_cast<uintptr_t>(CUgraphExec(exec_)); }
    void launch() { exec_.launch(); }
    void destroy() { exec_.destroy(); }

private:
    Executable exec_;
};

CUDA_GRAPH_INSTANTIATE_PARAMS refused(KernelRig& rig, CUgraph graph) {
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    CUgraphExec exec = nullptr;
    CHECK(rig.cu.cuGraphInstantiateWithParams(&exec, graph, &parameters) == CUDA_ERROR_INVALID_VALUE);
    return parameters;
}

}  // namespace

TEST_CASE("device launches: what a graph's kernels launch and forget is done when the graph is") {
    LaunchRig rig;
    std::vector<std::unique_ptr<Made>> made;
    std::vector<std::unique_ptr<Launchable>> children;
    for (uint32_t i = 0; i < 20; ++i) {
        made.push_back(std::make_unique<Made>(rig));
        CUgraphNode before = nullptr;
        for (int nodes = 0; nodes < 4; ++nodes)
            before = rig.kernel(*made.back(), before ? std::vector{before} : std::vector<CUgraphNode>{}, rig.add,
                                rig.word(0), 1u);
        children.push_back(std::make_unique<Launchable>(rig, *made.back()));
        rig.graphs[i] = children.back()->number();
    }
    Made graph(rig);
    rig.launches(graph, 20, kFireAndForget);
    Executable parent(rig, graph);
    for (uint32_t launches = 1; launches <= 3; ++launches) {
        parent.launch();
        CHECK(rig.value(0) == 80 * launches);  // a copy behind the parent sees all of it
        for (uint32_t i = 0; i < 20; ++i) CHECK(rig.answers[i] == kSuccess);
    }
}

TEST_CASE("device launches: tails run in their order, and those of a tail before those that wait") {
    LaunchRig rig;
    Made second(rig), fourth(rig), third(rig), first(rig), child(rig);
    rig.kernel(second, {}, rig.note, rig.word(0), 2u);
    rig.kernel(fourth, {}, rig.note, rig.word(0), 4u);
    rig.kernel(child, {}, rig.note, rig.word(0), 5u);
    Launchable two(rig, second), four(rig, fourth), five(rig, child);
    rig.kernel(third, {}, rig.note_and_launch, rig.word(0), 3u, four.handle(), kTail, five.handle(), kFireAndForget);
    Launchable three(rig, third);
    rig.kernel(first, {}, rig.note_and_launch, rig.word(0), 1u, three.handle(), kTail, two.handle(), kTail);
    Executable one(rig, first);
    for (int launches = 0; launches < 2; ++launches) {
        rig.fill(0, 0);
        one.launch();
        CHECK(rig.values(0, 6) == std::vector<uint32_t>{5, 1, 3, 5, 4, 2});
    }
}

TEST_CASE("device launches: a tail waits for what was launched and forgotten, and not for a sibling") {
    LaunchRig rig;
    const CUfunction await = rig.function("await");
    Made waits(rig), sets(rig), first(rig), host(rig);
    // The sibling waits for a word that the tail writes. In one environment, the tail would wait for the sibling too.
    rig.kernel(waits, {}, await, rig.word(0), rig.word(1));
    rig.kernel(sets, {}, rig.add, rig.word(0), 1u);
    Launchable waiting(rig, waits), setting(rig, sets);
    rig.kernel(first, {}, rig.note_and_launch, rig.word(10), 1u, waiting.handle(), kSibling, setting.handle(), kTail);
    Launchable scheduler(rig, first);
    // The scheduler, and thus the sibling, run in the environment of the graph that the host launches.
    rig.kernel(host, {}, rig.note_and_launch, rig.word(10), 0u, scheduler.handle(), kFireAndForget, DeviceGraph{}, 0u);
    Executable exec(rig, host);
    exec.launch();
    CHECK(rig.value(1) == 1);
    rig.fill(0, 0);
    rig.fill(1, 0);
    scheduler.launch();  // the host also launches the scheduler directly
    CHECK(rig.value(1) == 1);
}

TEST_CASE("device launches: a graph launches itself as its tail, once in a run, and in no other way") {
    LaunchRig rig;
    const CUfunction again = rig.function("again");
    Pinned<uint64_t> current = rig.pinned<uint64_t>(1);
    Made graph(rig);
    rig.kernel(graph, {}, again, rig.word(0), 200u, rig.answers.address(), current.address());
    Launchable exec(rig, graph);
    exec.launch();
    CHECK(rig.value(0) == 200);
    CHECK(rig.answers[0] == kSuccess);
    CHECK(rig.answers[1] == kLimitExceeded);
    CHECK(rig.answers[2] == kLimitExceeded);
    CHECK(current[0] == exec.number());
    // In a graph that kernels can't launch, the kernel's current graph is 0, and launching it fails.
    Made plain(rig);
    rig.kernel(plain, {}, again, rig.word(1), 2u, rig.answers.address(), current.address());
    Executable(rig, plain).launch();
    CHECK(rig.value(1) == 1);
    CHECK(current[0] == 0);
    CHECK(rig.answers[0] == kInvalidArgument);
}

TEST_CASE("device launches: the 121st that is forgotten and the 256th tail are refused, and harm nothing") {
    LaunchRig rig;
    Made work(rig);
    rig.kernel(work, {}, rig.add, rig.word(0), 1u);
    std::vector<std::unique_ptr<Launchable>> children;
    for (uint32_t i = 0; i < LaunchRig::kMost; ++i) {
        children.push_back(std::make_unique<Launchable>(rig, work));
        rig.graphs[i] = children.back()->number();
    }
    for (const uint32_t how : {kFireAndForget, kTail, kSibling}) {
        CAPTURE(how);
        const uint32_t limit = how == kTail ? 255 : 120;
        Made graph(rig);
        rig.launches(graph, limit + 5, how);
        Executable parent(rig, graph);
        for (int launches = 0; launches < 2; ++launches) {
            rig.fill(0, 0);
            rig.status[0] = 0;
            parent.launch();
            CHECK(rig.value(0) == limit);
            for (uint32_t i = 0; i < limit + 5; ++i) {
                CAPTURE(i);
                CHECK(rig.answers[i] == (i < limit ? kSuccess : kLimitExceeded));
            }
            CHECK(rig.status[0] == kLimitExceeded);
        }
    }
}

TEST_CASE("device launches: a graph that runs, or waits as a tail, can't be launched once more") {
    LaunchRig rig;
    const CUfunction await = rig.function("await");
    Made waits(rig);
    rig.kernel(waits, {}, await, rig.word(0), rig.word(1));
    Launchable waiting(rig, waits);
    rig.graphs[0] = rig.graphs[1] = waiting.number();
    for (const uint32_t how : {kFireAndForget, kTail, kSibling}) {
        CAPTURE(how);
        rig.fill(0, how == kTail);
        rig.fill(1, 0);
        Made graph(rig);
        const CUgraphNode launches = rig.kernel(graph, {}, rig.launch, rig.graphs.address(), 2u, how,
                                                rig.answers.address(), rig.status.address());
        rig.kernel(graph, {launches}, rig.add, rig.word(0), 1u);
        Executable(rig, graph).launch();
        CHECK(rig.value(1) == 1);
        CHECK(rig.answers[0] == kSuccess);
        CHECK(rig.answers[1] == kLimitExceeded);
    }
}

TEST_CASE("device launches: a graph has to be uploaded, or launched by the host, before kernels launch it") {
    LaunchRig rig;
    Made work(rig), graph(rig);
    const CUgraphNode node = rig.kernel(work, {}, rig.add, rig.word(0), 1u);
    Executable first(rig, work, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH),
        second(rig, work, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
    rig.launches(graph, 1, kFireAndForget);
    Executable parent(rig, graph);
    const auto run = [&](CUgraphExec exec) {
        rig.graphs[0] = reinterpret_cast<uintptr_t>(exec);
        rig.fill(0, 0);
        parent.launch();
        return rig.value(0);
    };
    CHECK(run(first) == 0);
    CHECK(rig.answers[0] != kSuccess);
    rig.upload(first);
    CHECK(run(first) == 1);
    CHECK(rig.answers[0] == kSuccess);
    CHECK(run(second) == 0);
    second.launch();
    CHECK(run(second) == 1);

    // When kernels launch a graph, changed parameters take effect only after the next upload.
    CUDA_KERNEL_NODE_PARAMS parameters{};
    RAW_OK(rig.cu.cuGraphKernelNodeGetParams(node, &parameters));
    uint64_t word = rig.word(0);
    uint32_t by = 7;
    void* arguments[] = {&word, &by};
    parameters.kernelParams = arguments;
    RAW_OK(rig.cu.cuGraphExecKernelNodeSetParams(first, node, &parameters));
    rig.upload(first);
    CHECK(run(first) == 7);
    // An upload during the instantiation.
    CUDA_GRAPH_INSTANTIATE_PARAMS made{};
    made.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    made.hUploadStream = rig.native;
    CUgraphExec third = nullptr;
    RAW_OK(rig.cu.cuGraphInstantiateWithParams(&third, work, &made));
    rig.sync();
    CHECK(run(third) == 1);
    RAW_OK(rig.cu.cuGraphExecDestroy(third));
}

TEST_CASE("device launches: what kernels can't launch is refused when it is instantiated, and named") {
    LaunchRig rig;
    Pinned<uint32_t> pinned = rig.pinned<uint32_t>(16);
    static uint32_t pageable[16];
    CUgraphNodeParams call{}, empty{}, copy{};
    call.type = CU_GRAPH_NODE_TYPE_HOST;
    call.host.fn = [](void*) {};
    empty.type = CU_GRAPH_NODE_TYPE_EMPTY;
    copy.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    copy.memcpy.copyCtx = rig.context;
    CUDA_MEMCPY3D& description = copy.memcpy.copyParams;
    description.srcMemoryType = CU_MEMORYTYPE_HOST;
    description.srcHost = pageable;
    description.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    description.dstDevice = rig.word(0);
    description.WidthInBytes = sizeof pageable;
    description.Height = description.Depth = 1;
    // If the graph has a kernel, the real driver reports pageable memory as memory of another context.
    const auto is_named = [&](CUgraphInstantiateResult result, const CUgraphNodeParams& bad) {
        return result == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED ||
               (&bad == &copy && result == CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED);
    };
    for (CUgraphNodeParams* bad : {&call, &empty, &copy}) {
        CAPTURE(int(bad->type));
        Made graph(rig), outer(rig);
        rig.kernel(graph, {}, rig.add, rig.word(0), 1u);
        const CUgraphNode culprit = rig.add_node(graph, {}, *bad);
        const auto said = refused(rig, graph);
        CHECK(is_named(said.result_out, *bad));
        CHECK(said.hErrNode_out == culprit);
        CUgraphNodeParams child{};
        child.type = CU_GRAPH_NODE_TYPE_GRAPH;
        child.graph.graph = graph;
        rig.add_node(outer, {}, child);
        CHECK(is_named(refused(rig, outer).result_out, *bad));
    }
    Made nothing(rig), nothing_inside(rig);
    CHECK(refused(rig, nothing).result_out == CUDA_GRAPH_INSTANTIATE_ERROR);
    CUgraphNodeParams child{};
    child.type = CU_GRAPH_NODE_TYPE_GRAPH;
    child.graph.graph = nothing;
    rig.add_node(nothing_inside, {}, child);
    CHECK(refused(rig, nothing_inside).result_out == CUDA_GRAPH_INSTANTIATE_ERROR);

    description.srcHost = pinned.data();
    pinned[3] = 17;
    Made good(rig), launches(rig);
    rig.add_node(good, {}, copy);
    Launchable exec(rig, good);
    rig.graphs[0] = exec.number();
    rig.launches(launches, 1, kTail);
    Executable(rig, launches).launch();
    CHECK(rig.value(3) == 17);
}

TEST_CASE("device launches: a handle that names no graph is refused, and the failure is in its word") {
    LaunchRig rig;
    Made graph(rig);
    rig.graphs[0] = 0;
    rig.launches(graph, 1, kFireAndForget);
    Executable(rig, graph).launch();
    rig.sync();
    CHECK(rig.answers[0] == kInvalidArgument);
    CHECK(rig.status[0] == kInvalidArgument);
}
