#include "stream/room.h"

#include <algorithm>
#include <cstring>

#include "stream/services.h"
#include "stream/work.h"
#include "trace/serialising.h"

namespace gpo {

namespace {

constexpr int64_t kSpareLanes = 32;   // in addition to the counted lanes
constexpr int64_t kBranches = 16;     // of a part of the graph that makes room
constexpr int64_t kNodes = 8;         // of a branch

// A driver graph and its executable graph, destroyed at the end of the scope.
class BriefGraph {
public:
    explicit BriefGraph(const driver::Table& table) noexcept : table_(table) {}
    ~BriefGraph() {
        if (exec) table_.cuGraphExecDestroy(exec);
        if (graph) table_.cuGraphDestroy(graph);
    }
    BriefGraph(const BriefGraph&) = delete;
    BriefGraph& operator=(const BriefGraph&) = delete;

    CUresult create() noexcept { return table_.cuGraphCreate(&graph, 0); }
    CUresult instantiate() noexcept { return table_.cuGraphInstantiateWithFlags(&exec, graph, 0); }
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;

private:
    const driver::Table& table_;
};

// Two bytes of device memory.
class ScratchMemory {
public:
    explicit ScratchMemory(Context& context) : context_(context) {
        const SerialisingScope serialising(context.runtime(), Serialising::device_allocation);
        context.check_allocation(context.table().cuMemAlloc(&address, 2), "cuMemAlloc",
                                 {Context::Wanted::Where::device, 2, {}});
    }
    ~ScratchMemory() { StreamServices::of(context_).blocking_calls().free_memory(address); }
    ScratchMemory(const ScratchMemory&) = delete;
    ScratchMemory& operator=(const ScratchMemory&) = delete;

    CUdeviceptr address = 0;

private:
    Context& context_;
};

}  // namespace

void Room::expect_resident_work() {
    std::lock_guard making(making_);
    if (counting()) return;
    make(kRoom);
    const auto largest = std::max_element(kernels_.begin(), kernels_.end(), [](const Kernel& one, const Kernel& other) {
        return one.local_bytes < other.local_bytes;
    });
    if (largest != kernels_.end()) make_local(*largest);
    std::lock_guard lock(lock_);
    counting_ = true;
}

Room::Share Room::take(Need need, const char* what) {
    if (!low())
        if (auto taken = try_take(need)) return std::move(*taken);
    std::lock_guard making(making_);
    const Need wanted{std::max(need.lanes, kRoom.lanes), std::max(need.nodes, kRoom.nodes)};
    replenish(wanted);
    for (;;) {
        if (auto taken = try_take(need)) return std::move(*taken);
        const std::string refused = text(what, ", for which the driver has no room left,");
        const BlockingCalls::Now now(context_, refused.c_str());
        make(wanted);
    }
}

bool Room::counting() noexcept {
    std::lock_guard lock(lock_);
    return counting_;
}

bool Room::low() noexcept {
    std::lock_guard lock(lock_);
    return counting_ && (free_.lanes < kRoom.lanes / 2 || free_.nodes < kRoom.nodes / 2);
}

// Under making_. Without effect beside resident work.
void Room::replenish(Need room) {
    if (!low()) return;
    BlockingCalls& calls = StreamServices::of(context_).blocking_calls();
    if (!calls.begin()) return;
    const struct End {
        ~End() { calls.end(); }
        BlockingCalls& calls;
    } end{calls};
    make(room);
}

std::optional<Room::Share> Room::try_take(Need need) noexcept {
    std::lock_guard lock(lock_);
    if (!counting_) return Share();
    if (free_.lanes < need.lanes || free_.nodes < need.nodes) return std::nullopt;
    free_.lanes -= need.lanes;
    free_.nodes -= need.nodes;
    return Share(*this, need, round_);
}

Room::Share Room::take_hidden() noexcept {
    std::lock_guard lock(lock_);
    if (!counting_) return {};
    --free_.lanes;
    return {*this, kStream, round_};
}

// Room of an earlier round isn't part of the newest room, and isn't counted.
void Room::give_back(Need taken, uint64_t round) noexcept {
    std::lock_guard lock(lock_);
    if (round != round_) return;
    free_.lanes += taken.lanes;
    free_.nodes += taken.nodes;
}

// No room is free meanwhile, so that other calls of take() wait.
void Room::make(Need room) {
    {
        std::lock_guard lock(lock_);
        free_ = {};
        ++round_;
    }
    const driver::Table& table = context_.table();
    const auto add = [&](CUgraph to, CUgraphNodeParams params, CUgraphNode after) {
        CUgraphNode node = nullptr;
        context_.check(table.cuGraphAddNode(&node, to, &after, after ? 1 : 0, &params), "cuGraphAddNode");
        return node;
    };
    const auto child = [](CUgraph graph) {
        CUgraphNodeParams params = node_of(CU_GRAPH_NODE_TYPE_GRAPH);
        params.graph.graph = graph;
        return params;
    };
    const ScratchMemory memory(context_);
    CUgraphNodeParams copy = node_of(CU_GRAPH_NODE_TYPE_MEMCPY);   // never run; on the device: others need no memory
    copy.memcpy.copyCtx = context_.native();
    CUDA_MEMCPY3D& params = copy.memcpy.copyParams;
    params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.srcDevice = memory.address;
    params.dstDevice = memory.address + 1;
    params.WidthInBytes = params.Height = params.Depth = params.srcPitch = params.dstPitch = 1;

    BriefGraph branch(table), part(table), whole(table);
    for (BriefGraph* graph : {&branch, &part, &whole}) context_.check(graph->create(), "cuGraphCreate");
    CUgraphNode last = nullptr;
    for (int64_t i = 0; i < kNodes; ++i) last = add(branch.graph, copy, last);
    for (int64_t i = 0; i < kBranches; ++i) add(part.graph, child(branch.graph), nullptr);
    // A driver that doesn't wait gets a small graph: counting is the same everywhere.
    const int64_t lanes =
        context_.driver().has_room ? kBranches : std::max(room.lanes, room.nodes / kNodes) + kSpareLanes;
    for (int64_t made = 0; made < lanes; made += kBranches) add(whole.graph, child(part.graph), nullptr);
    context_.check(whole.instantiate(), "cuGraphInstantiate");
    std::lock_guard lock(lock_);
    free_ = room;
}

void Room::add_kernel(CUfunction kernel, uint32_t local_bytes, uint32_t parameter_bytes) {
    std::lock_guard making(making_);
    kernels_.push_back({kernel, local_bytes, parameter_bytes});
    if (counting()) make_local(kernels_.back());
}

void Room::remove_kernel(CUfunction kernel) noexcept {
    std::lock_guard making(making_);
    std::erase_if(kernels_, [&](const Kernel& one) { return one.native == kernel; });
}

// If the driver refuses the graph, the kernel's launch reports why.
void Room::make_local(const Kernel& kernel) noexcept {
    if (kernel.local_bytes <= local_bytes_) return;
    try {
        std::vector<uint64_t> zeros(kernel.parameter_bytes / sizeof(uint64_t) + 1);
        size_t bytes = kernel.parameter_bytes;
        void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, zeros.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                         CU_LAUNCH_PARAM_END};
        CUgraphNodeParams added = node_of(CU_GRAPH_NODE_TYPE_KERNEL);   // never run
        CUDA_KERNEL_NODE_PARAMS_v3& params = added.kernel;
        params.func = kernel.native;
        params.gridDimX = params.gridDimY = params.gridDimZ = 1;
        params.blockDimX = params.blockDimY = params.blockDimZ = 1;
        params.extra = extra;
        const driver::Table& table = context_.table();
        BriefGraph graph(table);
        CUgraphNode node = nullptr;
        if (graph.create() != CUDA_SUCCESS ||
            table.cuGraphAddNode(&node, graph.graph, nullptr, 0, &added) != CUDA_SUCCESS ||
            graph.instantiate() != CUDA_SUCCESS)
            return;
        local_bytes_ = kernel.local_bytes;
    } catch (const std::bad_alloc&) {
    }
}

}  // namespace gpo
