// Launches by kernels on the software GPU in cases that CUDA leaves undefined, or where threads race: nothing is lost,
// and nothing is used after its destruction.
#include <algorithm>

#include "support/explore.h"
#include "unit/softgpu/graph/graphs.h"

using namespace softgpu_test;

namespace {

struct LaunchGpu : GraphGpu {
    unsigned long long* graphs = pinned<unsigned long long>(8);
    int* answers = pinned<int>(8);

    /// An executable that launches `of`.
    CUgraphExec launcher(std::vector<CUgraphExec> of, unsigned how) {
        unsigned long long* own = pinned<unsigned long long>(of.size());
        std::transform(of.begin(), of.end(), own, number_of);
        const CUgraph made = graph();
        node(made, "launch_graphs", {}, own, unsigned(of.size()), how, answers);
        return instantiate(made);
    }
    /// A graph that kernels can launch. Its kernel adds `name` to the list `names`.
    CUgraphExec signs(uint32_t* names, unsigned name, CUstream stream) {
        const CUgraph made = graph();
        node(made, "sign", {}, names, name);
        return launchable(made, stream);
    }
};

}  // namespace

TEST_CASE("only a kernel in a graph launches one, not in a body, and only one that is made for it") {
    LaunchGpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* names = gpu.pinned(8);
    gpu.graphs[0] = number_of(gpu.signs(names, 1, stream));
    CHECK(gpu.launch(stream, "launch_graphs", gpu.graphs, 1u, unsigned(kFireAndForget), gpu.answers) ==
          CUDA_ERROR_NOT_SUPPORTED);
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(gpu.answers[0] == 0);

    const CUgraph conditional = gpu.graph();
    gpu.node(gpu.conditional(conditional, gpu.condition(conditional, 1), CU_GRAPH_COND_TYPE_IF), "launch_graphs", {},
             gpu.graphs, 1u, unsigned(kFireAndForget), gpu.answers);
    gpu.answers[0] = 0;
    OK(gpu.cu->cuGraphLaunch(gpu.instantiate(conditional), stream));
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(gpu.answers[0] == 801);

    const CUgraph plain = gpu.graph();
    gpu.node(plain, "sign", {}, names, 2u);
    const CUgraphExec not_launchable = gpu.instantiate(plain);
    OK(gpu.cu->cuGraphUpload(not_launchable, stream));
    for (const unsigned how : {unsigned(kFireAndForget), unsigned(kTail), unsigned(kSibling), 0u, 4u}) {
        CAPTURE(how);
        gpu.answers[0] = 0;
        OK(gpu.cu->cuGraphLaunch(gpu.launcher({not_launchable}, how), stream));
        OK(gpu.cu->cuStreamSynchronize(stream));
        CHECK(gpu.answers[0] == 1);
    }
    CHECK(names[0] == 0);
}

TEST_CASE("a stream's launch of what a kernel has launched waits until that is done") {
    LaunchGpu gpu;
    const CUstream first = gpu.stream(), second = gpu.stream();
    uint32_t* words = gpu.pinned(4);
    const CUgraph waits = gpu.graph();
    gpu.node(waits, "count", {gpu.node(waits, "wait_for", {}, words, words + 1)}, words + 2);
    const CUgraphExec child = gpu.launchable(waits, first), parent = gpu.launcher({child}, kFireAndForget);
    OK(gpu.cu->cuGraphLaunch(parent, first));
    await_nonzero(words);
    OK(gpu.cu->cuGraphLaunch(child, second));
    OK(gpu.launch(second, "count", words + 3));
    // Kernels can't launch a graph that a stream is running.
    const CUstream third = gpu.stream();
    OK(gpu.cu->cuGraphLaunch(gpu.launcher({child}, kTail), third));
    OK(gpu.cu->cuStreamSynchronize(third));
    CHECK(gpu.answers[0] == 1);
    CHECK(words[3] == 0);
    __atomic_store_n(words + 1, 1u, __ATOMIC_RELEASE);
    OK(gpu.cu->cuStreamSynchronize(first));
    OK(gpu.cu->cuStreamSynchronize(second));
    CHECK(words[2] == 2);
    CHECK(words[3] == 1);
}

TEST_CASE("what a kernel has launched can't be changed until it is done, and has to be uploaded then") {
    LaunchGpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* words = gpu.pinned(2);
    const CUgraph waits = gpu.graph();
    const CUgraphNode node = gpu.node(waits, "wait_for", {}, words, words + 1);
    const CUgraphExec child = gpu.launchable(waits, stream), parent = gpu.launcher({child}, kFireAndForget);
    OK(gpu.cu->cuGraphLaunch(parent, stream));
    await_nonzero(words);
    IS(gpu.cu->cuGraphNodeSetEnabled(child, node, 0), CUDA_ERROR_INVALID_VALUE);
    __atomic_store_n(words + 1, 1u, __ATOMIC_RELEASE);
    OK(gpu.cu->cuStreamSynchronize(stream));
    OK(gpu.cu->cuGraphNodeSetEnabled(child, node, 0));
    for (const int answer : {1, 0}) {
        OK(gpu.cu->cuGraphLaunch(parent, stream));
        OK(gpu.cu->cuStreamSynchronize(stream));
        CHECK(gpu.answers[0] == answer);
        OK(gpu.cu->cuGraphUpload(child, stream));
    }
}

TEST_CASE("a graph that waits as a tail runs though its executable is destroyed, and a failure drops it") {
    for (const bool fails : {false, true}) {
        CAPTURE(fails);
        LaunchGpu gpu;
        gpu.live = !fails;
        const CUstream stream = gpu.stream();
        uint32_t *names = gpu.pinned(8), *words = gpu.pinned(3);
        const CUgraphExec tail = gpu.signs(names, 1, stream), child = gpu.signs(names, 2, stream);
        gpu.graphs[0] = number_of(tail);
        gpu.graphs[1] = number_of(child);
        const CUgraph graph = gpu.graph();
        const CUgraphNode queued = gpu.node(graph, "launch_graphs", {}, gpu.graphs, 1u, unsigned(kTail), gpu.answers);
        const CUgraphNode launched =
            gpu.node(graph, "launch_graphs", {queued}, gpu.graphs + 1, 1u, unsigned(kFireAndForget), gpu.answers + 1);
        gpu.node(graph, "wait_for", {launched}, words, words + 1);
        OK(gpu.cu->cuGraphLaunch(gpu.instantiate(graph), stream));
        await_nonzero(words);
        CHECK(gpu.answers[0] == 0);
        CHECK(gpu.answers[1] == 0);
        OK(gpu.cu->cuGraphExecDestroy(tail));
        OK(gpu.cu->cuGraphExecDestroy(child));
        if (fails) {
            words[2] = 1;
            OK(gpu.launch(gpu.stream(), "fail_when", words + 2, int(CUDA_ERROR_LAUNCH_FAILED)));
            IS(gpu.cu->cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
            continue;
        }
        __atomic_store_n(words + 1, 1u, __ATOMIC_RELEASE);
        OK(gpu.cu->cuStreamSynchronize(stream));
        CHECK(std::vector<uint32_t>(names, names + 3) == std::vector<uint32_t>{2, 2, 1});
    }
}

TEST_CASE("launches by kernels are complete when their stream is, in every order of threads") {
    gpo::test::explore(200, [] {
        LaunchGpu gpu;
        const CUstream stream = gpu.stream(), other = gpu.stream();
        uint32_t *names = gpu.pinned(8), *others = gpu.pinned(8);
        std::vector<CUgraphExec> forgotten, tails, siblings;
        for (unsigned i = 0; i < 3; ++i) {
            forgotten.push_back(gpu.signs(names, 1, stream));
            tails.push_back(gpu.signs(names, 10 + i, stream));
            siblings.push_back(gpu.signs(others, 2, other));
        }
        const CUgraphExec parents[] = {gpu.launcher(forgotten, kFireAndForget), gpu.launcher(tails, kTail),
                                       gpu.launcher(siblings, kSibling)};
        OK(gpu.cu->cuGraphLaunch(parents[2], other));
        for (int i = 0; i < 2; ++i) OK(gpu.cu->cuGraphLaunch(parents[i], stream));
        OK(gpu.cu->cuStreamSynchronize(stream));
        CHECK(std::vector<uint32_t>(names, names + 7) == std::vector<uint32_t>{6, 1, 1, 1, 10, 11, 12});
        OK(gpu.cu->cuStreamSynchronize(other));
        CHECK(others[0] == 3);
    });
}
