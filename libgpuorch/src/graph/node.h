// A node of a graph as the driver has it: work, dependencies and label; and functions to read, copy and patch nodes.
//
// Whether a node was recorded on a stream, added by itself or made by another library, it is read back from the driver
// in the same form: as a record (stream/work.h), or in a form that can say more. Kernels own their arguments, and may
// be a library's (CUkernel); copies may have arrays as their ends, and three dimensions. A node that isn't fully
// understood stays with the driver, and can't be changed or copied.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "device/context.h"
#include "gpuorch/template.h"
#include "stream/arguments.h"
#include "stream/work.h"

namespace gpo {

class Kernel;

/// A kernel with its arguments. Each object has its own copy of the arguments.
class KernelNode {
public:
    /// Copies the arguments of `params`, unless their number and sizes aren't known.
    KernelNode(const CUDA_KERNEL_NODE_PARAMS& params, std::span<const uint32_t> argument_bytes, bool arguments_known);
    KernelNode(const CUDA_KERNEL_NODE_PARAMS& params, Arguments arguments) noexcept;
    KernelNode(const KernelNode& other);
    KernelNode(KernelNode&&) noexcept = default;
    KernelNode& operator=(KernelNode other) noexcept;

    /// To give to the driver.
    const CUDA_KERNEL_NODE_PARAMS& params() const noexcept { return params_; }
    CUDA_KERNEL_NODE_PARAMS& params() noexcept { return params_; }
    /// False: the driver can't report the number and sizes of the arguments, so the node can't be changed.
    bool arguments_known() const noexcept { return known_; }
    uint32_t arguments() const noexcept { return arguments_.count(); }
    uint32_t argument_bytes(uint32_t index) const noexcept { return arguments_.bytes()[index]; }
    void* argument(uint32_t index) const noexcept { return params_.kernelParams[index]; }

private:
    Arguments arguments_;
    CUDA_KERNEL_NODE_PARAMS params_;
    bool known_;
};

struct CopyNode {
    CUDA_MEMCPY3D params;
    /// True if source and destination are addresses, and neither is a CUDA array.
    bool plain() const noexcept {
        return params.srcMemoryType != CU_MEMORYTYPE_ARRAY && params.dstMemoryType != CU_MEMORYTYPE_ARRAY;
    }
    bool one_row() const noexcept { return params.Height <= 1 && params.Depth <= 1; }
    uint64_t destination() const noexcept;
    uint64_t source() const noexcept;
    void set_destination(uint64_t address) noexcept;
    void set_source(uint64_t address) noexcept;
};

struct HostNode {
    CUDA_HOST_NODE_PARAMS params;
};

struct EmptyNode {};

/// An if, while or switch. Its bodies are graphs of their own.
struct ConditionalNode {
    CUgraphConditionalNodeType type;
    CUgraphConditionalHandle handle;
    uint32_t bodies;
    gpo_condition condition;       // as requested
    uint32_t loop;                 // number of a while in its template, from 0; 0 for other types
};

/// Allocates device memory, in each run at the same address.
struct AllocationNode {
    uint64_t address, bytes;
    bool recorded;                 // by a call of another library
};

/// Frees the memory of an AllocationNode.
struct FreeNode {
    uint64_t address;
};

/// A node of another library. It can be launched, but can't be changed or copied.
struct OtherNode {
    CUgraphNodeType type;
};

using NodeWork = std::variant<EmptyNode, KernelNode, CopyNode, FillWork, HostNode, EventWork, ConditionalNode,
                              AllocationNode, FreeNode, OtherNode>;

/// How a kernel is launched, besides what its node's parameters say.
struct LaunchAttributes {
    std::array<uint32_t, 3> cluster;   // all 0: no clusters
    bool cooperative;
    int32_t priority;
    bool operator==(const LaunchAttributes&) const = default;
};

struct Node {
    NodeWork work;
    CUgraphNode native = nullptr;          // in the graph where the node was recorded
    std::vector<uint32_t> after;           // nodes of the same graph, from 0
    const char* label = "";                // interned
    Ref<const Counted> owner;              // kept while the node may be launched: a kernel or an event
    uint32_t section = 0;                  // 0: the graph itself; else a body (graph/recipe.h)
    std::optional<LaunchAttributes> attributes{};   // of a kernel; nullopt: unknown
    bool order_known = true;               // false: `after` is incomplete
    bool attributes_due = false;           // the native node lacks its launch attributes
};

/// Whether the driver's graph with such a node can't be copied, has one executable at a time, and keeps all its nodes.
inline bool is_memory(const NodeWork& work) noexcept {
    return std::holds_alternative<AllocationNode>(work) || std::holds_alternative<FreeNode>(work);
}
/// "kernel", "copy", …
const char* kind_of(const NodeWork& work) noexcept;
/// "node 3, kernel `scale`"; `number` is from 0.
std::string describe_node(const Node& node, uint32_t number);
/// The number, from 0, of the node with this label. Throws Failure(GPO_NOT_FOUND, GPO_INVALID_ARGUMENT).
uint32_t node_called(std::span<const Node> nodes, std::string_view label);
/// Turn the caller's numbers, from 1, into numbers from 0. Throw Failure(GPO_INVALID_ARGUMENT) for numbers without a
/// node, and for repeats.
uint32_t checked_node(std::span<const Node> nodes, uint32_t number, const char* what);
std::vector<uint32_t> checked_nodes(std::span<const Node> nodes, std::span<const uint32_t> after);

// Inside a DriverScope of the context. Throw Failure, std::bad_alloc.

/// A graph's nodes, in the driver's order.
std::vector<CUgraphNode> native_nodes(Context& context, CUgraph graph);
CUgraphNodeType native_type(Context& context, CUgraphNode native);
/// The nodes before a node; nullopt if the driver can't list them, because an edge is a programmatic launch's.
std::optional<std::vector<CUgraphNode>> native_dependencies(Context& context, CUgraphNode native);
/// A node's work as the driver has it. `kernel`: the kernel that the node launches, if known.
NodeWork read_node(Context& context, CUgraphNode native, const Kernel* kernel);
/// The label of a node without one of ours: a kernel's name, interned; else "".
const char* native_label(Context& context, const NodeWork& work);
/// The driver's name of a kernel's function. If the driver can't report it: the function's handle, in base 16. Throws
/// std::bad_alloc.
std::string native_name(Context& context, const KernelNode& kernel);
/// Why a node can't be copied into another graph; "" if it can.
std::string why_not_copied(const Node& node);
/// Which end of a copy or fill goes beyond its memory, with sizes; "" if none does, or the memory isn't known.
std::string reach_beyond_memory(Context& context, const NodeWork& work);
/// How a kernel is launched where nothing else says so. nullopt: the record is no kernel's.
template <class Work>
std::optional<LaunchAttributes> attributes_of(const Work&) noexcept {
    return std::nullopt;
}
std::optional<LaunchAttributes> attributes_of(const KernelWork& work, int32_t priority = 0) noexcept;
/// A node's work, from a record.
NodeWork node_work(const KernelWork& work, Arguments arguments) noexcept;
NodeWork node_work(Context& context, const RowsWork& work) noexcept;
NodeWork node_work(const FillWork& work) noexcept;
/// A copy of a node in `to`, without launch attributes.
CUgraphNode copy_node(Context& context, const NodeWork& work, CUgraph to, std::span<const CUgraphNode> after);
/// `original` NULL: there are no attributes. Doesn't throw: returns the driver's result.
CUresult copy_attributes(Context& context, const NodeWork& work, CUgraphNode original, CUgraphNode to) noexcept;
/// Gives `to` the launch attributes of `node`: those of the native node, or the known ones if no native node has them.
/// Throws.
void give_attributes(Context& context, const Node& node, CUgraphNode to);
/// Adds to `graph` all nodes from `first` on that have no native node: nodes that were recorded without the driver,
/// with work, launch attributes and dependencies. Throws Failure with the description of a node. The graph has the
/// nodes before that one then, and the next call goes on there.
void add_recorded(Context& context, std::span<Node> nodes, size_t first, CUgraph graph);
/// Adds a conditional node to `to`. The handle in `work` must be of `to`. `bodies` gets the graphs of the bodies, which
/// the driver owns.
CUgraphNode add_conditional(Context& context, const ConditionalNode& work, CUgraph to,
                            std::span<const CUgraphNode> after, std::vector<CUgraph>& bodies);
/// Gives the node of an executable graph this work. Doesn't throw: returns the driver's result.
CUresult patch_node(Context& context, CUgraphExec exec, CUgraphNode native, const NodeWork& work) noexcept;

}  // namespace gpo
