// Helpers for tests of graphs made by direct driver calls: words in device memory, kernels that change them, and owners
// of graphs and executable graphs.
#pragma once

#include <utility>
#include <vector>

#include "core/handles.h"
#include "foreign/raw.h"
#include "kernel/launch.h"

namespace gpo::test {

inline const char* const kGraphSource = R"(
extern "C" __global__ void add(unsigned *word, unsigned by) { *word += by; }
extern "C" __global__ void scale(unsigned *word, unsigned by) { *word = *word * 3 + by; }
)";

/// Words in device memory, and helpers that add nodes on these words to graphs.
struct GraphRig : Gpu {
    static constexpr uint32_t kWords = 64;

    GraphRig()
        : on(stream("graphs")), words(memory(4 * kWords)), out(pinned<uint32_t>(kWords)),
          add_kernel(kernel(kGraphSource, "add")), scale_kernel(kernel(kGraphSource, "scale")), pin_(on.get()),
          scope_(pin_->context()), cu(pin_->context().table()), native(pin_->expose()),
          add(gpo::Pin<gpo::Kernel>(add_kernel.get())->native()),
          scale(gpo::Pin<gpo::Kernel>(scale_kernel.get())->native()) {
        RAW_OK(cu.cuMemsetD32Async(words, 0, kWords, native));
        sync();
    }
    void sync() { RAW_OK(cu.cuStreamSynchronize(native)); }
    uint64_t word(uint32_t i) const { return words + 4 * i; }
    /// Captures the work that `record` puts on the stream.
    template <class Record>
    CUgraph capture(Record record) {
        CUgraph graph = nullptr;
        RAW_OK(cu.cuStreamBeginCapture(native, CU_STREAM_CAPTURE_MODE_RELAXED));
        record();
        RAW_OK(cu.cuStreamEndCapture(native, &graph));
        return graph;
    }
    CUgraphNodeType type_of(CUgraphNode node) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        RAW_OK(cu.cuGraphNodeGetType(node, &type));
        return type;
    }
    std::vector<CUgraphNode> dependencies_of(CUgraphNode node) {
        size_t count = 0;
        RAW_OK(cu.cuGraphNodeGetDependencies(node, nullptr, &count));
        std::vector<CUgraphNode> nodes(count);
        if (count) RAW_OK(cu.cuGraphNodeGetDependencies(node, nodes.data(), &count));
        return nodes;
    }
    /// A word's value, after all work of the stream.
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
        const auto describe = [&](auto& kernel) {
            kernel.func = function;
            kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
            kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
            kernel.kernelParams = arguments_;
        };
        describe(parameters.kernel);
        describe(kernel_);
    }
    KernelNode(const KernelNode&) = delete;
    KernelNode& operator=(const KernelNode&) = delete;

    CUgraphNodeParams parameters{};
    /// For functions that take only kernels.
    CUDA_KERNEL_NODE_PARAMS* kernel() noexcept { return &kernel_; }

private:
    CUDA_KERNEL_NODE_PARAMS kernel_{};
    uint64_t word_;
    uint32_t by_;
    void* arguments_[2] = {&word_, &by_};
};

/// `context`: needed for memory that a graph allocates.
inline CUgraphNodeParams fill_node(uint64_t address, uint32_t value, size_t count = 1, CUcontext context = nullptr) {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_MEMSET;
    parameters.memset.dst = address;
    parameters.memset.value = value;
    parameters.memset.elementSize = 4;
    parameters.memset.width = count;
    parameters.memset.height = 1;
    parameters.memset.ctx = context;
    return parameters;
}

/// A copy within the device.
inline CUDA_MEMCPY3D copy_within(uint64_t to, uint64_t from, size_t bytes) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.srcPitch = copy.dstPitch = copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    return copy;
}

inline CUgraphNodeParams copy_node(const CUDA_MEMCPY3D& copy) {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    parameters.memcpy.copyParams = copy;
    return parameters;
}

inline CUgraphNodeParams event_node(CUgraphNodeType type, CUevent event) {
    CUgraphNodeParams parameters{};
    parameters.type = type;
    (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ? parameters.eventRecord.event : parameters.eventWait.event) = event;
    return parameters;
}

inline CUgraphNodeParams child_node(CUgraph graph) {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_GRAPH;
    parameters.graph.graph = graph;
    return parameters;
}

inline CUgraphNodeParams empty_node() {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_EMPTY;
    return parameters;
}

class Made {
public:
    explicit Made(GraphRig& rig) : rig_(rig) { RAW_OK(rig.cu.cuGraphCreate(&graph_, 0)); }
    /// Takes ownership of the graph.
    Made(GraphRig& rig, CUgraph graph) : rig_(rig), graph_(graph) {}
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

    std::vector<CUgraphNode> nodes() const {
        size_t count = 0;
        RAW_OK(rig_.cu.cuGraphGetNodes(graph_, nullptr, &count));
        std::vector<CUgraphNode> all(count);
        RAW_OK(rig_.cu.cuGraphGetNodes(graph_, all.data(), &count));
        return all;
    }

private:
    GraphRig& rig_;
    CUgraph graph_ = nullptr;
};

class Executable {
public:
    Executable(GraphRig& rig, CUgraph graph, unsigned long long flags = 0) : rig_(rig) {
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
    GraphRig& rig_;
    CUgraphExec exec_ = nullptr;
};

}  // namespace gpo::test
