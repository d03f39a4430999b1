#include "graph/memory_nodes.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "graph/recipe.h"
#include "memory/registry.h"

namespace gpo {

namespace {

CUgraphNodeParams memory_params(CUgraphNodeType type) noexcept {
    CUgraphNodeParams params;
    std::memset(&params, 0, sizeof params);  // the driver refuses reserved fields that aren't 0
    params.type = type;
    return params;
}

CUdevice device_with_pools(Context& context) {
    const driver::Table& table = context.table();
    CUdevice device = 0;
    int pools = 0;
    context.check(table.cuDeviceGet(&device, context.ordinal()), "cuDeviceGet");
    context.check(table.cuDeviceGetAttribute(&pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device),
                  "cuDeviceGetAttribute");
    if (!pools) fail(GPO_NOT_SUPPORTED, "the device has no memory pools, from which graphs allocate");
    return device;
}

const AllocationNode* allocation_of(const Node& node) noexcept { return std::get_if<AllocationNode>(&node.work); }

}  // namespace

uint32_t Recipe::add_allocation(uint64_t bytes, std::span<const uint32_t> after, uint64_t& address) {
    CUgraphNodeParams params = memory_params(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.alloc.poolProps.location.id = device_with_pools(*context_);
    params.alloc.bytesize = bytes;
    const uint32_t number = add_memory(params, EmptyNode{}, after);
    tree_.nodes[number].work = AllocationNode{params.alloc.dptr, bytes, false};
    know_memory(tree_.nodes[number]);
    address = params.alloc.dptr;
    return number;
}

uint32_t Recipe::add_free(uint64_t address, std::span<const uint32_t> after) {
    const uint32_t allocation = allocation_at(address);
    if (const uint32_t known = free_of(address); known != kNone)
        fail(GPO_INVALID_ARGUMENT, describe_node(tree_.nodes[known], known), ", frees the memory at ", hex(address),
             " already");
    if (!is_behind(allocation, after))
        fail(GPO_INVALID_ARGUMENT, "the free would not come after ", describe_node(tree_.nodes[allocation], allocation),
             ", which allocates the memory at ", hex(address), ": name that node or a later one in after");
    CUgraphNodeParams params = memory_params(CU_GRAPH_NODE_TYPE_MEM_FREE);
    params.free.dptr = address;
    return add_memory(params, FreeNode{address}, after);
}

// Nothing may fail after the driver has added the node: the node can't be taken out.
uint32_t Recipe::add_memory(CUgraphNodeParams& params, NodeWork work, std::span<const uint32_t> after) {
    const std::vector<CUgraphNode> before = natives_of(after);
    Node node{std::move(work), nullptr, {after.begin(), after.end()}, "", nullptr};
    if (tree_.nodes.size() == tree_.nodes.capacity()) tree_.nodes.reserve(2 * tree_.nodes.size() + 8);
    // For an allocation the driver looks for room at once.
    const uint64_t bytes = params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? params.alloc.bytesize : 0;
    context_->check_allocation(
        context_->table().cuGraphAddNode(&node.native, graph_, before.data(), before.size(), &params),
        "cuGraphAddNode", {Context::Wanted::Where::device, bytes, "a template's node"});
    traits_.fixed = true;
    tree_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(tree_.nodes.size() - 1);
}

// The node that allocates at the address. A recording's nodes of other libraries are unknown until this searches them.
uint32_t Recipe::allocation_at(uint64_t address) {
    const auto known = [&] {
        const auto found = std::find_if(tree_.nodes.begin(), tree_.nodes.end(), [&](const Node& node) {
            return allocation_of(node) && allocation_of(node)->address == address;
        });
        return found == tree_.nodes.end() ? kNone : static_cast<uint32_t>(found - tree_.nodes.begin());
    };
    if (const uint32_t number = known(); number != kNone) return number;
    for (const CUgraphNode native : native_nodes(*context_, graph_)) see_unlabelled(native);
    if (const uint32_t number = known(); number != kNone) return number;
    fail(GPO_INVALID_ARGUMENT, "no node of the template allocates memory at ", hex(address));
}

uint32_t Recipe::free_of(uint64_t address) const noexcept {
    for (uint32_t i = 0; i < tree_.nodes.size(); ++i)
        if (const auto* free = std::get_if<FreeNode>(&tree_.nodes[i].work); free && free->address == address) return i;
    return kNone;
}

// Whether a node behind `after` is also behind `number`. Asks the driver: a recording's dependencies aren't read yet.
// If the driver can't report them, the answer is true, and the order is the caller's responsibility.
bool Recipe::is_behind(uint32_t number, std::span<const uint32_t> after) const {
    std::set<CUgraphNode> met;
    std::vector<CUgraphNode> open;
    for (const uint32_t each : after) open.push_back(tree_.nodes[each].native);
    while (!open.empty()) {
        const CUgraphNode native = open.back();
        open.pop_back();
        if (native == tree_.nodes[number].native) return true;
        if (!met.insert(native).second) continue;
        const auto before = native_dependencies(*context_, native);
        if (!before) return true;
        open.insert(open.end(), before->begin(), before->end());
    }
    return false;
}

// The driver may know nothing of the memory until a graph has allocated it.
void Recipe::know_memory(const Node& node) noexcept {
    const AllocationNode* allocation = allocation_of(node);
    if (!allocation) return;
    try {
        Registry::of(context_->runtime())
            .insert_device({allocation->address, allocation->address + allocation->bytes, kGraphTag, this});
    } catch (const std::bad_alloc&) {
        // Without the entry, only the driver can describe the memory.
    }
}

void Recipe::forget_memory(const Node& node) noexcept {
    if (const AllocationNode* allocation = allocation_of(node))
        if (Registry* registry = context_->runtime().find_annex<Registry>())
            registry->device.erase(allocation->address, this);
}

void Recipe::check_frees() {
    for (uint32_t i = 0; i < tree_.nodes.size(); ++i) {
        const AllocationNode* allocation = allocation_of(tree_.nodes[i]);
        if (!allocation || free_of(allocation->address) != kNone) continue;
        if (!allocation->recorded)
            fail(GPO_INVALID_STATE, describe_node(tree_.nodes[i], i), ", allocates ", allocation->bytes, " bytes at ",
                 hex(allocation->address), " that no node frees: call gpo_template_add_free");
        traits_.leaves_memory = true;
    }
}

}  // namespace gpo
