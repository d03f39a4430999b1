#include "advice/probe.h"

#include <algorithm>
#include <cmath>

#include "kernel/module.h"
#include "memory/owned_memory.h"
#include "stream/streams.h"

namespace gpo::advice {

namespace {

constexpr int kTries = 5, kLaunches = 50, kTurns = 5, kNodes = 50, kGraphs = 4, kCopies = 8;
constexpr uint64_t kCopyBytes = 2 << 20, kSmallCopyBytes = 4;

/// A graph and its executable.
class ProbeGraph {
public:
    explicit ProbeGraph(Context& context) : context_(context) {
        context.check(context.table().cuGraphCreate(&graph_, 0), "cuGraphCreate");
    }
    ~ProbeGraph() {
        const DriverTry scope(context_);
        if (!scope.entered()) return;
        if (exec_) context_.table().cuGraphExecDestroy(exec_);
        context_.table().cuGraphDestroy(graph_);
    }
    ProbeGraph(const ProbeGraph&) = delete;
    ProbeGraph& operator=(const ProbeGraph&) = delete;

    /// A node that comes after the newest.
    void add(CUgraphNodeParams& params) {
        CUgraphNode made = nullptr;
        context_.check(context_.table().cuGraphAddNode(&made, graph_, &newest_, newest_ ? 1 : 0, &params),
                       "cuGraphAddNode");
        newest_ = made;
    }
    CUgraphExec instantiate(CUstream stream) {
        context_.check(context_.table().cuGraphInstantiateWithFlags(&exec_, graph_, 0), "cuGraphInstantiateWithFlags");
        context_.check(context_.table().cuGraphUpload(exec_, stream), "cuGraphUpload");
        return exec_;
    }

private:
    Context& context_;
    CUgraph graph_ = nullptr;
    CUgraphNode newest_ = nullptr;
    CUgraphExec exec_ = nullptr;
};

class Probe {
public:
    explicit Probe(Device& device)
        : context_(device.context()), table_(context_.table()), module_(builtin_module(device)),
          kernel_(module_->function("gpo_fill_u32").native), first_(context_), second_(context_),
          memory_(make_memory(device)) {
        device_memory_ = memory_->allocate(2 * kCopyBytes);
        host_memory_ = static_cast<std::byte*>(memory_->allocate_host(2 * kCopyBytes));
    }

    void run(gpo_costs& costs) {
        const DriverScope scope(context_);
        measure_launches(costs);
        measure_graphs(costs);
        measure_copies(costs);
        costs.measured = 1;
    }

private:
    static Ref<OwnedMemory> make_memory(Device& device) {
        return make<OwnedMemory>(device.context_ref(), fixed_text<96>("a probe of costs"));
    }

    void launch() {
        void* arguments[] = {&target_, &value_, &count_};
        context_.check(table_.cuLaunchKernel(kernel_, 1, 1, 1, 32, 1, 1, 0, first_->native(), arguments, nullptr),
                       "cuLaunchKernel");
    }
    void wait(const BorrowedStream& stream) {
        context_.check(table_.cuStreamSynchronize(stream->native()), "cuStreamSynchronize");
    }
    /// Nanoseconds of one of `times` calls of `work`, in the best of a few tries. `whole`: with the GPU's time.
    template <class Work>
    uint64_t least(int times, bool whole, const Work& work) {
        uint64_t found = UINT64_MAX;
        for (int i = 0; i < kTries; ++i) {
            const uint64_t begin = host::now();
            for (int n = 0; n < times; ++n) work();
            uint64_t end = host::now();
            wait(first_);
            if (whole) end = host::now();
            found = std::min(found, end - begin);
        }
        return std::max<uint64_t>(found / static_cast<uint64_t>(times), 1);
    }

    void measure_launches(gpo_costs& costs) {
        launch();
        wait(first_);
        costs.launch_ns = least(kLaunches, false, [&] { launch(); });
        costs.wait_ns = least(kTurns, false, [&] {
            launch();
            wait(first_);
        });
        costs.decision_ns = least(kTurns, false, [&] {
            launch();
            context_.check(table_.cuMemcpyDtoHAsync(host_memory_, device_memory_, kSmallCopyBytes, first_->native()),
                           "cuMemcpyDtoHAsync");
            wait(first_);
        });
    }

    void measure_graphs(gpo_costs& costs) {
        void* arguments[] = {&target_, &value_, &count_};
        CUgraphNodeParams params{};
        params.type = CU_GRAPH_NODE_TYPE_KERNEL;
        params.kernel.func = kernel_;
        params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
        params.kernel.blockDimX = 32;
        params.kernel.blockDimY = params.kernel.blockDimZ = 1;
        params.kernel.kernelParams = arguments;
        ProbeGraph one(context_), many(context_);
        one.add(params);
        for (int i = 0; i < kNodes; ++i) many.add(params);
        const CUgraphExec small = one.instantiate(first_->native()), large = many.instantiate(first_->native());
        const auto launch_graph = [&](CUgraphExec graph) {
            context_.check(table_.cuGraphLaunch(graph, first_->native()), "cuGraphLaunch");
        };
        wait(first_);
        costs.graph_launch_ns = least(kGraphs, false, [&] { launch_graph(small); });
        costs.graph_node_ns = std::max<uint64_t>(least(kGraphs, true, [&] { launch_graph(large); }) / kNodes, 1);
    }

    void copy_in(const BorrowedStream& stream, uint64_t bytes) {
        context_.check(table_.cuMemcpyHtoDAsync(device_memory_, host_memory_, bytes, stream->native()),
                       "cuMemcpyHtoDAsync");
    }
    void copy_out(const BorrowedStream& stream, uint64_t bytes) {
        context_.check(
            table_.cuMemcpyDtoHAsync(host_memory_ + kCopyBytes, device_memory_ + kCopyBytes, bytes, stream->native()),
            "cuMemcpyDtoHAsync");
    }
    static uint64_t rate(uint64_t bytes, uint64_t ns) noexcept {
        return static_cast<uint64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(ns));
    }

    void measure_copies(gpo_costs& costs) {
        costs.copy_ns = least(kCopies, true, [&] { copy_in(first_, kSmallCopyBytes); });
        costs.copy_in_rate = rate(kCopyBytes, least(kCopies, true, [&] { copy_in(first_, kCopyBytes); }));
        costs.copy_out_rate = rate(kCopyBytes, least(kCopies, true, [&] { copy_out(first_, kCopyBytes); }));
        const uint64_t both = least(1, true, [&] {
            for (int i = 0; i < kCopies; ++i) {
                copy_in(first_, kCopyBytes);
                copy_out(second_, kCopyBytes);
            }
            wait(second_);
        });
        costs.copy_both_rate = rate(2 * kCopyBytes * kCopies, both);
    }

    Context& context_;
    const driver::Table& table_;
    const Ref<Module> module_;
    const CUfunction kernel_;  // fills nothing
    const BorrowedStream first_, second_;
    const Ref<OwnedMemory> memory_;
    uint64_t device_memory_ = 0;
    std::byte* host_memory_ = nullptr;
    uint64_t target_ = 0, count_ = 0;
    uint32_t value_ = 0;
};

}  // namespace

void probe(Device& device, gpo_costs& costs) {
    gpo_costs measured = costs;
    Probe(device).run(measured);
    costs = measured;
}

}  // namespace gpo::advice
