#include "graph/node.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "core/error.h"
#include "kernel/kernel.h"
#include "memory/place.h"
#include "stream/work.h"

namespace gpo {

namespace {

template <class... Each>
struct Overloaded : Each... {
    using Each::operator()...;
};
template <class... Each>
Overloaded(Each...) -> Overloaded<Each...>;

template <class Params>
Params zeroed() noexcept {
    Params params;
    std::memset(&params, 0, sizeof params);   // the driver refuses reserved fields that aren't 0
    return params;
}

// A kernel of a library (CUlibrary) has a function in each context. NULL if the driver can't report the function.
CUfunction function_of(Context& context, const CUDA_KERNEL_NODE_PARAMS& params) noexcept {
    if (params.func || !params.kern) return params.func;
    CUfunction function = nullptr;
    return context.table().cuKernelGetFunction(&function, params.kern) == CUDA_SUCCESS ? function : nullptr;
}

// The sizes of a function's parameters; false if the driver can't report them.
bool sizes_of(Context& context, const CUDA_KERNEL_NODE_PARAMS& params, const Kernel* kernel,
              std::vector<uint32_t>& bytes) {
    if (kernel && kernel->function().parameters_known) {
        for (const Function::Parameter& parameter : kernel->function().parameters) bytes.push_back(parameter.bytes);
        return true;
    }
    const auto info = context.table().cuFuncGetParamInfo;
    const CUfunction function = info && !params.extra ? function_of(context, params) : nullptr;
    if (!function) return false;
    for (size_t i = 0;; ++i) {
        size_t offset = 0, size = 0;
        const CUresult result = info(function, i, &offset, &size);
        if (result == CUDA_ERROR_INVALID_VALUE) return true;   // no parameter i: the list is complete
        if (result != CUDA_SUCCESS) return false;
        bytes.push_back(static_cast<uint32_t>(size));
    }
}

NodeWork read_kernel(Context& context, CUgraphNode native, const Kernel* kernel) {
    auto params = zeroed<CUDA_KERNEL_NODE_PARAMS>();
    context.check(context.table().cuGraphKernelNodeGetParams(native, &params), "cuGraphKernelNodeGetParams");
    std::vector<uint32_t> bytes;
    const bool known = sizes_of(context, params, kernel, bytes) && (bytes.empty() || params.kernelParams);
    if (!known) bytes.clear();
    return KernelNode(params, bytes, known);
}

NodeWork read_allocation(Context& context, CUgraphNode native) {
    auto params = zeroed<CUDA_MEM_ALLOC_NODE_PARAMS>();
    context.check(context.table().cuGraphMemAllocNodeGetParams(native, &params), "cuGraphMemAllocNodeGetParams");
    return AllocationNode{params.dptr, params.bytesize, true};
}

NodeWork read_free(Context& context, CUgraphNode native) {
    CUdeviceptr address = 0;
    context.check(context.table().cuGraphMemFreeNodeGetParams(native, &address), "cuGraphMemFreeNodeGetParams");
    return FreeNode{address};
}

NodeWork read_event(Context& context, CUgraphNode native, bool wait) {
    EventWork node{nullptr, wait};
    const driver::Table& table = context.table();
    context.check(wait ? table.cuGraphEventWaitNodeGetEvent(native, &node.event)
                       : table.cuGraphEventRecordNodeGetEvent(native, &node.event),
                  wait ? "cuGraphEventWaitNodeGetEvent" : "cuGraphEventRecordNodeGetEvent");
    return node;
}

CUgraphNodeParams params_of(const KernelNode& node) noexcept {
    auto params = zeroed<CUgraphNodeParams>();
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    const CUDA_KERNEL_NODE_PARAMS& kernel = node.params();
    params.kernel.func = kernel.func;
    params.kernel.gridDimX = kernel.gridDimX;
    params.kernel.gridDimY = kernel.gridDimY;
    params.kernel.gridDimZ = kernel.gridDimZ;
    params.kernel.blockDimX = kernel.blockDimX;
    params.kernel.blockDimY = kernel.blockDimY;
    params.kernel.blockDimZ = kernel.blockDimZ;
    params.kernel.sharedMemBytes = kernel.sharedMemBytes;
    params.kernel.kernelParams = kernel.kernelParams;
    params.kernel.kern = kernel.kern;
    params.kernel.ctx = kernel.ctx;
    return params;
}

CUgraphNodeParams params_of(const Context& context, const NodeWork& work) {
    auto params = zeroed<CUgraphNodeParams>();
    params.type = CU_GRAPH_NODE_TYPE_EMPTY;
    std::visit(Overloaded{
                   [](const EmptyNode&) {},
                   [&](const KernelNode& node) { params = params_of(node); },
                   [&](const CopyNode& node) {
                       params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
                       params.memcpy.copyParams = node.params;
                       params.memcpy.copyCtx = context.native();
                   },
                   [&](const FillWork& fill) { params = gpo::params_of(context, fill); },
                   [&](const HostNode& node) {
                       params.type = CU_GRAPH_NODE_TYPE_HOST;
                       params.host.fn = node.params.fn;
                       params.host.userData = node.params.userData;
                   },
                   [&](const EventWork& event) { params = gpo::params_of(event); },
                   [](const ConditionalNode&) { fail(GPO_INTERNAL, "a conditional node is copied with its bodies"); },
                   [](const AllocationNode&) { fail(GPO_INTERNAL, "an allocation was to be copied"); },
                   [](const FreeNode&) { fail(GPO_INTERNAL, "a free was to be copied"); },
                   [](const OtherNode&) { fail(GPO_INTERNAL, "a node that can't be copied was to be copied"); },
               },
               work);
    return params;
}

const char* name_of(CUgraphNodeType type) noexcept {
    switch (type) {
        case CU_GRAPH_NODE_TYPE_GRAPH: return "child graph";
        case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: return "signal of an external semaphore";
        case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return "wait for an external semaphore";
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return "allocation";
        case CU_GRAPH_NODE_TYPE_MEM_FREE: return "free";
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return "memory operation";
        case CU_GRAPH_NODE_TYPE_CONDITIONAL: return "conditional";
        default: return "node of an unknown kind";
    }
}

}  // namespace

KernelNode::KernelNode(const CUDA_KERNEL_NODE_PARAMS& params, Arguments arguments) noexcept
    : arguments_(std::move(arguments)), params_(params), known_(true) {
    params_.kernelParams = arguments_.pointers();
}

KernelNode::KernelNode(const CUDA_KERNEL_NODE_PARAMS& params, std::span<const uint32_t> argument_bytes,
                       bool arguments_known)
    : arguments_(argument_bytes), params_(params), known_(arguments_known) {
    for (uint32_t i = 0; i < arguments_.count(); ++i) arguments_.copy(i, params.kernelParams[i]);
    if (known_) params_.kernelParams = arguments_.pointers();
}

KernelNode::KernelNode(const KernelNode& other)
    : KernelNode(other.params_, {other.arguments_.bytes(), other.arguments_.count()}, other.known_) {}

KernelNode& KernelNode::operator=(KernelNode other) noexcept {
    arguments_ = std::move(other.arguments_);   // what pointers() points to doesn't move
    params_ = other.params_;
    known_ = other.known_;
    return *this;
}

uint64_t CopyNode::destination() const noexcept {
    return params.dstMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(params.dstHost) : params.dstDevice;
}

uint64_t CopyNode::source() const noexcept {
    return params.srcMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(params.srcHost) : params.srcDevice;
}

void CopyNode::set_destination(uint64_t address) noexcept {
    if (params.dstMemoryType == CU_MEMORYTYPE_HOST) params.dstHost = reinterpret_cast<void*>(address);
    else params.dstDevice = address;
}

void CopyNode::set_source(uint64_t address) noexcept {
    if (params.srcMemoryType == CU_MEMORYTYPE_HOST) params.srcHost = reinterpret_cast<const void*>(address);
    else params.srcDevice = address;
}

const char* kind_of(const NodeWork& work) noexcept {
    return std::visit(Overloaded{
                          [](const EmptyNode&) { return "empty node"; },
                          [](const KernelNode&) { return "kernel"; },
                          [](const CopyNode&) { return "copy"; },
                          [](const FillWork& fill) { return name(fill); },
                          [](const HostNode&) { return "host call"; },
                          [](const EventWork& event) { return name(event); },
                          [](const ConditionalNode& node) {
                              return node.type == CU_GRAPH_COND_TYPE_IF      ? "if"
                                     : node.type == CU_GRAPH_COND_TYPE_WHILE ? "while"
                                                                             : "switch";
                          },
                          [](const AllocationNode&) { return name_of(CU_GRAPH_NODE_TYPE_MEM_ALLOC); },
                          [](const FreeNode&) { return name_of(CU_GRAPH_NODE_TYPE_MEM_FREE); },
                          [](const OtherNode& node) { return name_of(node.type); },
                      },
                      work);
}

std::string describe_node(const Node& node, uint32_t number) {
    if (!*node.label) return text("node ", number + 1, ", ", kind_of(node.work));
    return text("node ", number + 1, ", ", kind_of(node.work), " `", node.label, "`");
}

std::vector<CUgraphNode> native_nodes(Context& context, CUgraph graph) {
    const driver::Table& table = context.table();
    size_t count = 0;
    context.check(table.cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes");
    std::vector<CUgraphNode> all(count);
    if (count) context.check(table.cuGraphGetNodes(graph, all.data(), &count), "cuGraphGetNodes");
    return all;
}

CUgraphNodeType native_type(Context& context, CUgraphNode native) {
    CUgraphNodeType type{};
    context.check(context.table().cuGraphNodeGetType(native, &type), "cuGraphNodeGetType");
    return type;
}

std::optional<std::vector<CUgraphNode>> native_dependencies(Context& context, CUgraphNode native) {
    const driver::Table& table = context.table();
    size_t count = 0;
    const CUresult result = table.cuGraphNodeGetDependencies(native, nullptr, &count);
    if (result == CUDA_ERROR_LOSSY_QUERY) return std::nullopt;
    context.check(result, "cuGraphNodeGetDependencies");
    std::vector<CUgraphNode> before(count);
    if (count)
        context.check(table.cuGraphNodeGetDependencies(native, before.data(), &count), "cuGraphNodeGetDependencies");
    return before;
}

// NULL if the driver can't report the name.
static const char* name_in_driver(Context& context, const KernelNode& kernel) noexcept {
    const auto name_of = context.table().cuFuncGetName;
    const CUfunction function = name_of ? function_of(context, kernel.params()) : nullptr;
    const char* name = nullptr;
    return function && name_of(&name, function) == CUDA_SUCCESS ? name : nullptr;
}

const char* native_label(Context& context, const NodeWork& work) {
    const auto* kernel = std::get_if<KernelNode>(&work);
    const char* name = kernel ? name_in_driver(context, *kernel) : nullptr;
    return name ? context.runtime().intern(name) : "";
}

std::string native_name(Context& context, const KernelNode& kernel) {
    if (const char* name = name_in_driver(context, kernel)) return name;
    const CUDA_KERNEL_NODE_PARAMS& params = kernel.params();
    return hex(params.func ? reinterpret_cast<uint64_t>(params.func) : reinterpret_cast<uint64_t>(params.kern));
}

NodeWork read_node(Context& context, CUgraphNode native, const Kernel* kernel) {
    const driver::Table& table = context.table();
    const CUgraphNodeType type = native_type(context, native);
    switch (type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: return read_kernel(context, native, kernel);
        case CU_GRAPH_NODE_TYPE_MEMCPY: {
            auto node = zeroed<CopyNode>();
            context.check(table.cuGraphMemcpyNodeGetParams(native, &node.params), "cuGraphMemcpyNodeGetParams");
            return node;
        }
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            auto params = zeroed<CUDA_MEMSET_NODE_PARAMS>();
            context.check(table.cuGraphMemsetNodeGetParams(native, &params), "cuGraphMemsetNodeGetParams");
            return FillWork{params.dst, params.width, params.height, params.pitch, params.value, params.elementSize};
        }
        case CU_GRAPH_NODE_TYPE_HOST: {
            auto node = zeroed<HostNode>();
            context.check(table.cuGraphHostNodeGetParams(native, &node.params), "cuGraphHostNodeGetParams");
            return node;
        }
        case CU_GRAPH_NODE_TYPE_EMPTY: return EmptyNode{};
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return read_event(context, native, true);
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return read_event(context, native, false);
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return read_allocation(context, native);
        case CU_GRAPH_NODE_TYPE_MEM_FREE: return read_free(context, native);
        default: return OtherNode{type};
    }
}

std::optional<LaunchAttributes> attributes_of(const KernelWork& work, int32_t priority) noexcept {
    return LaunchAttributes{{work.cluster[0], work.cluster[1], work.cluster[2]},
                            work.cooperative,
                            work.has_priority ? work.priority : priority};
}

NodeWork node_work(const KernelWork& work, Arguments arguments) noexcept {
    return KernelNode(params_of(work), std::move(arguments));
}

NodeWork node_work(Context& context, const RowsWork& work) noexcept {
    return CopyNode{params_of(context, work).memcpy.copyParams};
}

NodeWork node_work(const FillWork& work) noexcept {
    FillWork fill = work;
    fill.value = element_of(work);
    return fill;
}

std::string why_not_copied(const Node& node) {
    if (!node.order_known) return "it comes after a node by a programmatic launch, which the driver doesn't show";
    if (const auto* kernel = std::get_if<KernelNode>(&node.work); kernel && !kernel->arguments_known())
        return "this driver can't tell the sizes of its arguments";
    if (is_memory(node.work)) return "the memory has one address, and one graph that allocates or frees it";
    if (std::get_if<OtherNode>(&node.work)) return "the driver has no way to copy a node of this kind by itself";
    return "";
}

std::string reach_beyond_memory(Context& context, const NodeWork& work) {
    const auto beyond = [&](const char* role, uint64_t address, uint64_t pitch, uint64_t width, uint64_t height) {
        uint64_t bytes = 0;
        if (!span_of_rows(pitch, width, std::max<uint64_t>(height, 1), &bytes)) return std::string();
        return lack_of_room(role, place_of(context, address), address, bytes);
    };
    if (const auto* copy = std::get_if<CopyNode>(&work); copy && copy->plain() && copy->params.Depth <= 1) {
        const CUDA_MEMCPY3D& of = copy->params;
        const std::string to = beyond("destination", copy->destination(), of.dstPitch, of.WidthInBytes, of.Height);
        return to.empty() ? beyond("source", copy->source(), of.srcPitch, of.WidthInBytes, of.Height) : to;
    }
    if (const auto* fill = std::get_if<FillWork>(&work)) {
        return beyond("destination", fill->destination, fill->pitch, fill->count * fill->element_bytes, fill->rows);
    }
    return {};
}

CUgraphNode copy_node(Context& context, const NodeWork& work, CUgraph to, std::span<const CUgraphNode> after) {
    const driver::Table& table = context.table();
    CUgraphNodeParams params = params_of(context, work);
    CUgraphNode made = nullptr;
    context.check(table.cuGraphAddNode(&made, to, after.data(), after.size(), &params), "cuGraphAddNode");
    return made;
}

CUgraphNode add_conditional(Context& context, const ConditionalNode& work, CUgraph to,
                            std::span<const CUgraphNode> after, std::vector<CUgraph>& bodies) {
    auto params = zeroed<CUgraphNodeParams>();
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.handle = work.handle;
    params.conditional.type = work.type;
    params.conditional.size = work.bodies;
    params.conditional.ctx = context.native();
    bodies.reserve(work.bodies);
    CUgraphNode made = nullptr;
    const CUresult result = context.table().cuGraphAddNode(&made, to, after.data(), after.size(), &params);
    if (result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_INVALID_VALUE)
        fail(GPO_NOT_SUPPORTED, "this driver has no ", kind_of(NodeWork(work)), " with ", work.bodies, " bodies");
    context.check(result, "cuGraphAddNode");
    bodies.assign(params.conditional.phGraph_out, params.conditional.phGraph_out + work.bodies);
    return made;
}

CUresult copy_attributes(Context& context, const NodeWork& work, CUgraphNode original, CUgraphNode to) noexcept {
    return original && std::get_if<KernelNode>(&work) ? context.table().cuGraphKernelNodeCopyAttributes(to, original)
                                                      : CUDA_SUCCESS;
}

void give_attributes(Context& context, const Node& node, CUgraphNode to) {
    const bool in_native = node.native && !node.attributes_due;
    const bool known = !in_native && node.attributes && std::get_if<KernelNode>(&node.work);
    KernelWork work;
    if (known) {
        std::copy(node.attributes->cluster.begin(), node.attributes->cluster.end(), work.cluster);
        work.cooperative = node.attributes->cooperative;
        work.priority = node.attributes->priority;
        work.has_priority = work.priority != 0;
    }
    const auto give = [&]() -> Issued {
        if (known) return set_attributes(context, to, work);
        return {copy_attributes(context, node.work, node.native, to), "cuGraphKernelNodeCopyAttributes"};
    };
    Issued given = give();
    if (given.result != CUDA_SUCCESS) given = give();   // one more try: a graph with memory nodes keeps the node
    context.check(given.result, given.function);
}

void add_recorded(Context& context, std::span<Node> nodes, size_t first, CUgraph graph) {
    for (size_t i = first; i < nodes.size(); ++i) {
        Node& node = nodes[i];
        if (node.native && !node.attributes_due) continue;
        std::vector<CUgraphNode> after;
        for (const uint32_t before : node.after) after.push_back(nodes[before].native);
        try {
            if (!node.native) node.native = copy_node(context, node.work, graph, after);
            node.attributes_due = true;
            give_attributes(context, node, node.native);
            node.attributes_due = false;
        } catch (const Failure& failure) {
            auto error = std::make_shared<Error>(*failure.error());
            error->message = text(describe_node(node, static_cast<uint32_t>(i)), ": ", error->message);
            throw Failure(std::move(error));
        }
    }
}

CUresult patch_node(Context& context, CUgraphExec exec, CUgraphNode native, const NodeWork& work) noexcept {
    const driver::Table& table = context.table();
    if (const auto* kernel = std::get_if<KernelNode>(&work))
        return table.cuGraphExecKernelNodeSetParams(exec, native, &kernel->params());
    if (const auto* copy = std::get_if<CopyNode>(&work))
        return table.cuGraphExecMemcpyNodeSetParams(exec, native, &copy->params, context.native());
    if (const auto* fill = std::get_if<FillWork>(&work))
        return change(context, exec, native, *fill).result;
    return CUDA_SUCCESS;   // nodes of other kinds can't be changed
}

uint32_t node_called(std::span<const Node> nodes, std::string_view label) {
    std::optional<uint32_t> found;
    label = Runtime::cut_label(label);
    for (uint32_t i = 0; i < nodes.size(); ++i) {
        if (label != nodes[i].label) continue;
        if (found)
            fail(GPO_INVALID_ARGUMENT, "several nodes are called `", label, "`: nodes ", *found + 1, " and ", i + 1);
        found = i;
    }
    if (!found || label.empty()) fail(GPO_NOT_FOUND, "no node is called `", label, "`");
    return *found;
}

uint32_t checked_node(std::span<const Node> nodes, uint32_t number, const char* what) {
    if (number == 0 || number > nodes.size())
        fail(GPO_INVALID_ARGUMENT, what, " is ", number, ": the template has ", nodes.size(), " nodes");
    return number - 1;
}

std::vector<uint32_t> checked_nodes(std::span<const Node> nodes, std::span<const uint32_t> after) {
    std::vector<uint32_t> out;
    out.reserve(after.size());
    for (const uint32_t node : after) {
        const uint32_t number = checked_node(nodes, node, "a node of after");
        if (std::find(out.begin(), out.end(), number) != out.end())
            fail(GPO_INVALID_ARGUMENT, "node ", node, " is named twice in after");
        out.push_back(number);
    }
    return out;
}

}  // namespace gpo
