// Graphs by the driver's own calls: what they hold and how they run. The software GPU answers as the real driver does.
#include <utility>
#include <vector>

#include "core/handles.h"
#include "foreign/raw.h"
#include "kernel/launch.h"

using namespace gpo::test;

namespace {

constexpr uint32_t kWords = 64;

const char* const kSource = R"(
extern "C" __global__ void add(unsigned *word, unsigned by) { *word += by; }
extern "C" __global__ void scale(unsigned *word, unsigned by) { *word = *word * 3 + by; }
extern "C" __global__ void copy_word(unsigned *to, const unsigned *from) { *to = *from; }
)";

/// Words in device memory, and what it takes to put nodes that change them into graphs.
struct Rig : Gpu {
    Rig()
        : on(stream("graphs")),
          words(memory(4 * kWords)),
          out(pinned<uint32_t>(kWords)),
          add_kernel(kernel(kSource, "add")),
          scale_kernel(kernel(kSource, "scale")),
          pin_(on.get()),
          scope_(pin_->context()),
          cu(pin_->context().table()),
          native(pin_->native()),
          add(gpo::Pin<gpo::Kernel>(add_kernel.get())->native()),
          scale(gpo::Pin<gpo::Kernel>(scale_kernel.get())->native()) {
        RAW_OK(cu.cuMemsetD32Async(words, 0, kWords, native));
        sync();
    }
    void sync() { RAW_OK(cu.cuStreamSynchronize(native)); }
    uint64_t word(uint32_t i) const { return words + 4 * i; }
    /// A word's value, when the stream has done what it has.
    uint32_t value(uint32_t i) {
        RAW_OK(cu.cuMemcpyDtoHAsync(out.data(), word(i), 4, native));
        sync();
        return out[0];
    }

    Stream on;
    Memory words;
    Pinned<uint32_t> out;
    Kernel add_kernel, scale_kernel;

private:
    gpo::Pin<gpo::Stream> pin_;
    gpo::DriverScope scope_;

public:
    const gpo::driver::Table& cu;
    const CUstream native;
    const CUfunction add, scale;
};

/// A node's parameters: a kernel with one thread, `f(word, by)`.
class KernelNode {
public:
    KernelNode(CUfunction function, uint64_t word, uint32_t by) : word_(word), by_(by) {
        parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
        CUDA_KERNEL_NODE_PARAMS_v3& kernel = parameters.kernel;
        kernel.func = function;
        kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
        kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
        kernel.kernelParams = arguments_;
    }
    KernelNode(const KernelNode&) = delete;
    KernelNode& operator=(const KernelNode&) = delete;

    CUgraphNodeParams parameters{};

private:
    uint64_t word_;
    uint32_t by_;
    void* arguments_[2] = {&word_, &by_};
};

class Made {
public:
    explicit Made(Rig& rig) : rig_(rig) { RAW_OK(rig.cu.cuGraphCreate(&graph_, 0)); }
    ~Made() {
        if (graph_) rig_.cu.cuGraphDestroy(graph_);
    }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    operator CUgraph() const noexcept { return graph_; }
    void destroy() { RAW_OK(rig_.cu.cuGraphDestroy(std::exchange(graph_, nullptr))); }

    CUgraphNode add(CUgraphNodeParams parameters, const std::vector<CUgraphNode>& after = {}) {
        CUgraphNode node = nullptr;
        RAW_OK(rig_.cu.cuGraphAddNode(&node, graph_, after.data(), after.size(), &parameters));
        return node;
    }
    CUgraphNode kernel(CUfunction function, uint32_t word, uint32_t by, const std::vector<CUgraphNode>& after = {}) {
        KernelNode node(function, rig_.word(word), by);
        return add(node.parameters, after);
    }

private:
    Rig& rig_;
    CUgraph graph_ = nullptr;
};

class Executable {
public:
    Executable(Rig& rig, CUgraph graph, unsigned long long flags = 0) : rig_(rig) {
        RAW_OK(rig.cu.cuGraphInstantiateWithFlags(&exec_, graph, flags));
    }
    ~Executable() {
        if (exec_) rig_.cu.cuGraphExecDestroy(exec_);
    }
    Executable(const Executable&) = delete;
    Executable& operator=(const Executable&) = delete;
    operator CUgraphExec() const noexcept { return exec_; }
    void destroy() { RAW_OK(rig_.cu.cuGraphExecDestroy(std::exchange(exec_, nullptr))); }
    void launch() { RAW_OK(rig_.cu.cuGraphLaunch(exec_, rig_.native)); }

private:
    Rig& rig_;
    CUgraphExec exec_ = nullptr;
};

}  // namespace

TEST_CASE("graphs: launches of one executable run one after the other, on whichever streams") {
    Rig rig;
    Made graph(rig);
    graph.kernel(rig.scale, 0, 1);
    Executable exec(rig, graph);
    std::vector<CUstream> streams(4);
    for (CUstream& stream : streams) RAW_OK(rig.cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    uint32_t expected = 0;
    for (int i = 0; i < 40; ++i) {
        expected = expected * 3 + 1;
        RAW_OK(rig.cu.cuGraphLaunch(exec, streams[size_t(i) % streams.size()]));
    }
    for (CUstream stream : streams) {
        RAW_OK(rig.cu.cuStreamSynchronize(stream));
        RAW_OK(rig.cu.cuStreamDestroy(stream));
    }
    CHECK(rig.value(0) == expected);
}

TEST_CASE("graphs: an executable and its graph may be destroyed while the graph runs" * gated) {
    Rig rig;
    Gate gate(rig);
    Made graph(rig);
    CUgraph captured = nullptr;
    RAW_OK(rig.cu.cuStreamBeginCapture(rig.native, CU_STREAM_CAPTURE_MODE_RELAXED));
    gate.put_on(rig.on);
    RAW_OK(rig.cu.cuStreamEndCapture(rig.native, &captured));
    KernelNode last(rig.add, rig.word(1), 5);
    CUgraphNode first = nullptr, node = nullptr;
    size_t count = 1;
    RAW_OK(rig.cu.cuGraphGetNodes(captured, &first, &count));
    RAW_OK(rig.cu.cuGraphAddNode(&node, captured, &first, 1, &last.parameters));
    Executable exec(rig, captured);
    exec.launch();
    exec.launch();
    exec.destroy();
    RAW_OK(rig.cu.cuGraphDestroy(captured));
    CHECK(rig.cu.cuStreamQuery(rig.native) == CUDA_ERROR_NOT_READY);
    gate.open();
    CHECK(rig.value(1) == 10);
}
