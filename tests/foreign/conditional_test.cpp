// Conditional nodes, made by direct driver calls: decisions that kernels make in a graph, and calls that the driver
// refuses. The software GPU must behave like the real driver.
#include <string>
#include <vector>

#include "foreign/kernel_nodes.h"

using namespace gpo::test;

namespace {

const char* const kSource = R"(
#include <gpuorch/device/graph.cuh>

extern "C" __global__ void add(unsigned *word, unsigned by) { *word += by; }
extern "C" __global__ void copy_word(unsigned *to, const unsigned *from) { *to = *from; }
extern "C" __global__ void set(gpo::condition condition, unsigned value) { gpo::set_condition(condition, value); }
extern "C" __global__ void set_to_word(gpo::condition condition, const unsigned *word) {
    gpo::set_condition(condition, *word);
}
extern "C" __global__ void count_down(gpo::condition condition, unsigned *left, unsigned *runs) {
    *runs += 1;
    *left -= 1;
    gpo::set_condition(condition, *left);
}
extern "C" __global__ void until_set(gpo::condition condition, const volatile unsigned *word) {
    gpo::set_condition(condition, *word == 0);
}
)";

struct ConditionalRig : KernelRig {
    ConditionalRig()
        : KernelRig(kSource), add(function("add")), copy_word(function("copy_word")), set(function("set")),
          set_to_word(function("set_to_word")), count_down(function("count_down")) {}
    CUgraphConditionalHandle condition(CUgraph graph, uint32_t initial = 0,
                                       unsigned flags = CU_GRAPH_COND_ASSIGN_DEFAULT) {
        CUgraphConditionalHandle made = 0;
        RAW_OK(cu.cuGraphConditionalHandleCreate(&made, graph, context, initial, flags));
        return made;
    }
    CUgraphNodeParams parameters(CUgraphConditionalHandle handle, CUgraphConditionalNodeType type, unsigned size) {
        CUgraphNodeParams made{};
        made.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        made.conditional.handle = handle;
        made.conditional.type = type;
        made.conditional.size = size;
        made.conditional.ctx = context;
        return made;
    }

    const CUfunction add, copy_word, set, set_to_word, count_down;
};

struct ConditionalNode {
    CUgraphNode node = nullptr;
    std::vector<CUgraph> bodies;
};

ConditionalNode conditional(ConditionalRig& rig, CUgraph graph, CUgraphConditionalHandle handle,
                            CUgraphConditionalNodeType type, unsigned size,
                            const std::vector<CUgraphNode>& after = {}) {
    ConditionalNode made;
    CUgraphNodeParams parameters = rig.parameters(handle, type, size);
    RAW_OK(rig.cu.cuGraphAddNode(&made.node, graph, after.data(), after.size(), &parameters));
    made.bodies.assign(parameters.conditional.phGraph_out, parameters.conditional.phGraph_out + size);
    return made;
}

/// Instantiates a graph, which has to fail; returns the parameters with the driver's reasons.
CUDA_GRAPH_INSTANTIATE_PARAMS refused(KernelRig& rig, CUgraph graph, unsigned long long flags = 0) {
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    parameters.flags = flags;
    CUgraphExec exec = nullptr;
    CHECK(rig.cu.cuGraphInstantiateWithParams(&exec, graph, &parameters) == CUDA_ERROR_INVALID_VALUE);
    return parameters;
}

}  // namespace

TEST_CASE("conditional nodes: an if runs its body when the condition isn't 0, else the other one") {
    ConditionalRig rig;
    Made graph(rig);
    const auto handle = rig.condition(graph);
    const CUgraphNode decide = rig.kernel(graph, {}, rig.set_to_word, handle, rig.word(0));
    const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_IF, 2, {decide});
    rig.kernel(node.bodies[0], {}, rig.add, rig.word(1), 1u);
    rig.kernel(node.bodies[1], {}, rig.add, rig.word(2), 1u);
    // A node behind the conditional node runs after its body.
    rig.kernel(graph, {node.node}, rig.copy_word, rig.word(3), rig.word(1));
    Executable exec(rig, graph);
    for (const uint32_t value : {1u, 0u, 7u, 0u, 0u}) {
        rig.fill(0, value);
        exec.launch();
    }
    CHECK(rig.value(1) == 2);
    CHECK(rig.value(2) == 3);
    CHECK(rig.value(3) == 2);
}

TEST_CASE("conditional nodes: a condition has its default value again at each start of the graph") {
    ConditionalRig rig;
    Made graph(rig);
    const auto handle = rig.condition(graph, 5);
    const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_IF, 1);
    const CUgraphNode first = rig.kernel(node.bodies[0], {}, rig.add, rig.word(0), 1u);
    rig.kernel(node.bodies[0], {first}, rig.set, handle, 0u);
    Executable exec(rig, graph);
    for (int i = 0; i < 3; ++i) exec.launch();
    CHECK(rig.value(0) == 3);
}

TEST_CASE("conditional nodes: a while runs its body until a kernel in it says no, and again with the next launch") {
    ConditionalRig rig;
    Made graph(rig);
    const auto handle = rig.condition(graph, 1);
    const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    rig.kernel(node.bodies[0], {}, rig.count_down, handle, rig.word(0), rig.word(1));
    Executable exec(rig, graph);
    uint32_t runs = 0;
    for (const uint32_t times : {1u, 1000u, 3u}) {
        CAPTURE(times);
        rig.fill(0, times);
        exec.launch();
        CHECK(rig.value(1) == (runs += times));
    }
}

TEST_CASE("conditional nodes: a while whose condition is 0 at first doesn't run its body") {
    ConditionalRig rig;
    Made graph(rig);
    const auto handle = rig.condition(graph, 0);
    const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    rig.kernel(node.bodies[0], {}, rig.count_down, handle, rig.word(0), rig.word(1));
    rig.kernel(graph, {node.node}, rig.add, rig.word(2), 1u);
    Executable(rig, graph).launch();
    CHECK(rig.value(1) == 0);
    CHECK(rig.value(2) == 1);
}

TEST_CASE("conditional nodes: a switch runs the body whose number the condition is, or none") {
    ConditionalRig rig;
    constexpr uint32_t kBodies = 5;
    Made graph(rig);
    const auto handle = rig.condition(graph);
    const CUgraphNode decide = rig.kernel(graph, {}, rig.set_to_word, handle, rig.word(0));
    const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_SWITCH, kBodies, {decide});
    for (uint32_t i = 0; i < kBodies; ++i) rig.kernel(node.bodies[i], {}, rig.add, rig.word(1), 1u << 4 * i);
    Executable exec(rig, graph);
    for (const uint32_t value : {0u, 4u, 2u, 5u, 4u, 0xffffffffu}) {
        rig.fill(0, value);
        exec.launch();
    }
    CHECK(rig.value(1) == 0x20101);
}

TEST_CASE("conditional nodes: bodies have conditional nodes, child graphs, copies, fills and empty nodes") {
    ConditionalRig rig;
    Made graph(rig), child(rig);
    rig.kernel(child, {}, rig.add, rig.word(5), 1u);
    const auto outer = rig.condition(graph, 1), inner = rig.condition(graph);
    const ConditionalNode each = conditional(rig, graph, outer, CU_GRAPH_COND_TYPE_WHILE, 1);
    const CUgraph body = each.bodies[0];
    // The outer loop runs word 0 times. Each time it sets word 2 to 4, counts word 2 down to 0 in an inner loop, and
    // then runs the child graph once.
    CUgraphNodeParams four{};
    four.type = CU_GRAPH_NODE_TYPE_MEMSET;
    four.memset = {rig.word(2), 0, 4, 4, 1, 1, rig.context};
    CUgraphNodeParams empty{};
    empty.type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUgraphNodeParams embedded{};
    embedded.type = CU_GRAPH_NODE_TYPE_GRAPH;
    embedded.graph.graph = child;
    const CUgraphNode begin = rig.kernel(body, {}, rig.set, inner, 1u);
    const CUgraphNode filled = rig.add_node(body, {begin}, four);
    const CUgraphNode joined = rig.add_node(body, {filled, begin}, empty);
    const ConditionalNode loop = conditional(rig, body, inner, CU_GRAPH_COND_TYPE_WHILE, 1, {joined});
    rig.kernel(loop.bodies[0], {}, rig.count_down, inner, rig.word(2), rig.word(3));
    const CUgraphNode once = rig.add_node(body, {loop.node}, embedded);
    rig.kernel(body, {once}, rig.count_down, outer, rig.word(0), rig.word(4));
    Executable exec(rig, graph);
    for (int launches = 1; launches <= 2; ++launches) {
        rig.fill(0, 3);
        exec.launch();
        CHECK(rig.value(3) == 12u * launches);
        CHECK(rig.value(4) == 3u * launches);
        CHECK(rig.value(5) == 3u * launches);
    }
}

TEST_CASE("conditional nodes: two loops of one graph run side by side") {
    ConditionalRig rig;
    Made graph(rig);
    std::vector<CUgraphNode> ends;
    for (uint32_t i = 0; i < 2; ++i) {
        const auto handle = rig.condition(graph, 1);
        const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
        rig.kernel(node.bodies[0], {}, rig.count_down, handle, rig.word(2 * i), rig.word(2 * i + 1));
        ends.push_back(node.node);
    }
    rig.kernel(graph, ends, rig.copy_word, rig.word(4), rig.word(3));
    Executable exec(rig, graph);
    rig.fill(0, 50);
    rig.fill(2, 80);
    exec.launch();
    CHECK(rig.value(1) == 50);
    CHECK(rig.value(4) == 80);
}

TEST_CASE("conditional nodes: other streams go on beside a while that waits for the host" * gated) {
    ConditionalRig rig;
    Pinned<uint32_t> go = rig.pinned<uint32_t>(1);
    Stream beside = rig.stream("beside");
    void* native = nullptr;
    REQUIRE_OK(gpo_stream_get_native(beside, &native));
    Made graph(rig);
    const auto handle = rig.condition(graph, 1);
    const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    rig.kernel(node.bodies[0], {}, rig.function("until_set"), handle, go.address());
    Executable exec(rig, graph);
    exec.launch();
    RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 9, 1, static_cast<CUstream>(native)));
    RAW_OK(rig.cu.cuStreamSynchronize(static_cast<CUstream>(native)));
    CHECK(rig.cu.cuStreamQuery(rig.native) == CUDA_ERROR_NOT_READY);
    *const_cast<volatile uint32_t*>(go.data()) = 1;
    CHECK(rig.value(0) == 9);
}

TEST_CASE("conditional nodes: a graph with one has one executable at a time, no copy, and is in no other graph") {
    ConditionalRig rig;
    Made graph(rig), other(rig);
    const auto handle = rig.condition(graph, 1);
    const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_IF, 1);
    rig.kernel(node.bodies[0], {}, rig.add, rig.word(0), 1u);
    Executable first(rig, graph);
    CUgraphExec exec = nullptr;
    CHECK(rig.cu.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_ERROR_NOT_SUPPORTED);
    first.launch();
    CHECK(rig.value(0) == 1);
    first.destroy();
    Executable second(rig, graph);
    second.launch();
    CHECK(rig.value(0) == 2);

    for (CUgraph within : {CUgraph(graph), node.bodies[0]}) {
        CUgraph copy = nullptr;
        CHECK(rig.cu.cuGraphClone(&copy, within) == CUDA_ERROR_NOT_SUPPORTED);
        CUgraphNodeParams child{};
        child.type = CU_GRAPH_NODE_TYPE_GRAPH;
        child.graph.graph = within;
        CUgraphNode made = nullptr;
        CHECK(rig.cu.cuGraphAddNode(&made, other, nullptr, 0, &child) == CUDA_ERROR_NOT_SUPPORTED);
    }
    CHECK(rig.cu.cuGraphInstantiateWithFlags(&exec, node.bodies[0], 0) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(rig.cu.cuGraphDestroy(node.bodies[0]) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("conditional nodes: a condition decides one node, and a graph whose condition decides none is refused") {
    ConditionalRig rig;
    Made graph(rig);
    const auto handle = rig.condition(graph, 1);
    rig.kernel(graph, {}, rig.add, rig.word(0), 1u);
    CHECK(refused(rig, graph).result_out == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
    const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_IF, 1);
    CUgraphNode made = nullptr;
    CUgraphNodeParams again = rig.parameters(handle, CU_GRAPH_COND_TYPE_IF, 1);
    CHECK(rig.cu.cuGraphAddNode(&made, graph, nullptr, 0, &again) == CUDA_ERROR_INVALID_VALUE);
    { Executable exec(rig, graph); }
    // When the node is destroyed, another node may use the condition.
    RAW_OK(rig.cu.cuGraphDestroyNode(node.node));
    CHECK(refused(rig, graph).result_out == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
    const ConditionalNode second = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    rig.kernel(second.bodies[0], {}, rig.count_down, handle, rig.word(1), rig.word(2));
    rig.fill(1, 2);
    Executable(rig, graph).launch();
    CHECK(rig.value(2) == 2);
}

TEST_CASE(
    "conditional nodes: a kernel outside sets a body's condition, the handle of which it got after it was added") {
    ConditionalRig rig;
    Made graph(rig);
    const auto outer = rig.condition(graph, 1);
    const CUgraphNode decider = rig.kernel(graph, {}, rig.set_to_word, outer, rig.word(0));
    const ConditionalNode loop = conditional(rig, graph, outer, CU_GRAPH_COND_TYPE_IF, 1, {decider});
    // The conditional node in the body uses a condition that belongs to the body's graph.
    const auto inner = rig.condition(loop.bodies[0]);
    const ConditionalNode branch = conditional(rig, loop.bodies[0], inner, CU_GRAPH_COND_TYPE_IF, 1);
    rig.kernel(branch.bodies[0], {}, rig.add, rig.word(1), 1u);
    CUDA_KERNEL_NODE_PARAMS parameters{};
    RAW_OK(rig.cu.cuGraphKernelNodeGetParams(decider, &parameters));
    CUgraphConditionalHandle decided = inner;
    uint64_t word = rig.word(0);
    void* arguments[] = {&decided, &word};
    parameters.kernelParams = arguments;
    RAW_OK(rig.cu.cuGraphKernelNodeSetParams(decider, &parameters));
    Executable exec(rig, graph);
    for (const uint32_t value : {1u, 0u, 1u}) {
        rig.fill(0, value);
        exec.launch();
    }
    CHECK(rig.value(1) == 2);
}

TEST_CASE("conditional nodes: nodes are taken out of a body again, conditional ones with their own bodies") {
    ConditionalRig rig;
    Made graph(rig);
    const auto outer = rig.condition(graph, 1);
    const ConditionalNode node = conditional(rig, graph, outer, CU_GRAPH_COND_TYPE_IF, 1);
    const CUgraph body = node.bodies[0];
    const CUgraphNode stays = rig.kernel(body, {}, rig.add, rig.word(0), 1u);
    const auto inner = rig.condition(body, 1);
    const ConditionalNode within = conditional(rig, body, inner, CU_GRAPH_COND_TYPE_IF, 1, {stays});
    rig.kernel(within.bodies[0], {}, rig.add, rig.word(1), 1u);
    const CUgraphNode behind = rig.kernel(body, {within.node}, rig.add, rig.word(1), 1u);
    RAW_OK(rig.cu.cuGraphDestroyNode(behind));
    RAW_OK(rig.cu.cuGraphDestroyNode(within.node));
    size_t nodes = 0;
    RAW_OK(rig.cu.cuGraphGetNodes(body, nullptr, &nodes));
    CHECK(nodes == 1);
    // The handle of the body's graph still exists, but no node uses it.
    CHECK(refused(rig, graph).result_out == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
    const ConditionalNode again = conditional(rig, body, inner, CU_GRAPH_COND_TYPE_IF, 1);
    rig.kernel(again.bodies[0], {}, rig.add, rig.word(2), 1u);
    Executable(rig, graph).launch();
    CHECK(rig.value(0) == 1);
    CHECK(rig.value(1) == 0);
    CHECK(rig.value(2) == 1);
}

TEST_CASE("conditional nodes: in a graph that is being captured, and with a body that is filled with copies of nodes") {
    ConditionalRig rig;
    CUgraphConditionalHandle handle = 0;
    CUgraph body = nullptr;
    Made recorded(rig, rig.capture([&] { RAW_OK(rig.cu.cuMemsetD32Async(rig.word(0), 7, 1, rig.native)); }));
    const CUgraphNode original = rig.kernel(recorded, {}, rig.add, rig.word(1), 1u);
    Made graph(rig, rig.capture([&] {
        CUstreamCaptureStatus status{};
        CUgraph captured = nullptr;
        const CUgraphNode* after = nullptr;
        size_t count = 0;
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(2), 1, 1, rig.native));
        RAW_OK(rig.cu.cuStreamGetCaptureInfo(rig.native, &status, nullptr, &captured, &after, &count));
        handle = rig.condition(captured, 1);
        const ConditionalNode node =
            conditional(rig, captured, handle, CU_GRAPH_COND_TYPE_IF, 1, {after, after + count});
        body = node.bodies[0];
        // The body can get nodes while the capture continues, with attributes copied from a node of another graph.
        const CUgraphNode copy = rig.kernel(body, {}, rig.add, rig.word(1), 1u);
        RAW_OK(rig.cu.cuGraphKernelNodeCopyAttributes(copy, original));
        CUgraphNode last = node.node;
        RAW_OK(rig.cu.cuStreamUpdateCaptureDependencies(rig.native, &last, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
        RAW_OK(rig.cu.cuMemsetD32Async(rig.word(2), 3, 1, rig.native));
    }));
    rig.kernel(body, {}, rig.add, rig.word(3), 1u);
    recorded.destroy();
    Executable(rig, graph).launch();
    CHECK(rig.value(1) == 1);
    CHECK(rig.value(2) == 3);
    CHECK(rig.value(3) == 1);
}

TEST_CASE("conditional nodes: bad conditions, types and counts of bodies are refused") {
    ConditionalRig rig;
    Made graph(rig);
    CUgraphConditionalHandle made = 0;
    CHECK(rig.cu.cuGraphConditionalHandleCreate(&made, graph, rig.context, 0, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(rig.cu.cuGraphConditionalHandleCreate(&made, graph, nullptr, 0, 0) == CUDA_ERROR_INVALID_CONTEXT);
    const auto handle = rig.condition(graph);
    const struct {
        CUgraphConditionalHandle handle;
        CUgraphConditionalNodeType type;
        unsigned size;
    } kBad[] = {{handle, CU_GRAPH_COND_TYPE_IF, 0},
                {handle, CU_GRAPH_COND_TYPE_IF, 3},
                {handle, CU_GRAPH_COND_TYPE_WHILE, 2},
                {handle, CU_GRAPH_COND_TYPE_SWITCH, 0},
                {12345, CU_GRAPH_COND_TYPE_IF, 1}};
    for (const auto& bad : kBad) {
        CAPTURE(int(bad.type));
        CAPTURE(bad.size);
        CUgraphNodeParams parameters = rig.parameters(bad.handle, bad.type, bad.size);
        CUgraphNode node = nullptr;
        CHECK(rig.cu.cuGraphAddNode(&node, graph, nullptr, 0, &parameters) == CUDA_ERROR_INVALID_VALUE);
    }
    size_t nodes = 1;
    RAW_OK(rig.cu.cuGraphGetNodes(graph, nullptr, &nodes));
    CHECK(nodes == 0);
}

TEST_CASE("conditional nodes: what a body can't have is found when the graph is instantiated, and named") {
    ConditionalRig rig;
    Made graph(rig);
    const auto handle = rig.condition(graph, 1), within = rig.condition(graph, 1);
    const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_IF, 1);
    const ConditionalNode deeper = conditional(rig, node.bodies[0], within, CU_GRAPH_COND_TYPE_WHILE, 1);
    CUgraphNodeParams call{};
    call.type = CU_GRAPH_NODE_TYPE_HOST;
    call.host.fn = [](void*) {};
    const CUgraphNode culprit = rig.add_node(deeper.bodies[0], {}, call);
    const auto said = refused(rig, graph);
    CHECK(said.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
    CHECK(said.hErrNode_out != nullptr);
    RAW_OK(rig.cu.cuGraphDestroyNode(culprit));
    { Executable exec(rig, graph); }
    CHECK(refused(rig, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH).result_out ==
          CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
}

TEST_CASE("conditional nodes: a loop runs to its end though its executable and its graph are destroyed") {
    ConditionalRig rig;
    Made graph(rig);
    const auto handle = rig.condition(graph, 1);
    const ConditionalNode node = conditional(rig, graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    rig.kernel(node.bodies[0], {}, rig.count_down, handle, rig.word(1), rig.word(2));
    rig.kernel(graph, {node.node}, rig.add, rig.word(0), 4u);
    Executable exec(rig, graph);
    rig.fill(1, 2000);
    exec.launch();
    exec.destroy();  // the real driver waits here for the loop's end
    graph.destroy();
    CHECK(rig.value(0) == 4);
    CHECK(rig.value(2) == 2000);
}
