#include "softgpu/api/graph_update.h"

#include <algorithm>
#include <utility>

namespace gpo::softgpu {

namespace {

bool same(const gpo_soft_dim3& a, const gpo_soft_dim3& b) noexcept { return a.x == b.x && a.y == b.y && a.z == b.z; }

bool same(const KernelLaunch& a, const KernelLaunch& b) noexcept {
    return a.kernel == b.kernel && same(a.grid, b.grid) && same(a.block, b.block) && same(a.cluster, b.cluster) &&
           a.dynamic_shared_bytes == b.dynamic_shared_bytes && a.cooperative == b.cooperative &&
           a.priority == b.priority && a.arguments == b.arguments;
}

/// Whether two nodes of one kind do the same.
bool same(const Work& a, const Work& b) noexcept {
    return a.context == b.context && a.function == b.function && same(a.launch, b.launch) && a.copy == b.copy &&
           a.pieces == b.pieces && a.fill == b.fill && a.host_function == b.host_function &&
           a.user_data == b.user_data && a.address == b.address && a.value == b.value && a.event == b.event &&
           a.memory == b.memory && a.keeps == b.keeps;
}

CUgraphExecUpdateResult kernel_obstacle(const Work& was, const Work& is, uint64_t flags) noexcept {
    const uint32_t added = is.launch.kernel->flags & ~was.launch.kernel->flags;
    if (was.context != is.context || (added & GPO_SOFT_KERNEL_LAUNCHES))
        return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    if (was.launch.cooperative != is.launch.cooperative) return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) && was.launch.priority != is.launch.priority)
        return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/// Only a single row may become another one, between the same places.
bool can_become(const Copy& was, const Copy& is) noexcept {
    return was == is || (was.to.may_become(is.to) && was.from.may_become(is.from) && was.height == 1 && is.height == 1);
}

/// If a fill has several rows, only its address and value may change.
bool can_become(const Fill& was, const Fill& is) noexcept {
    if (!was.to.may_become(is.to) || was.height != is.height) return false;
    return was.height == 1 || (was.width == is.width && was.pitch == is.pitch && was.element == is.element);
}

/// Pairs the nodes of a graph with an executable's nodes by CUDA's rule: first the nodes without dependents, in their
/// order, then the dependencies of paired nodes, in their order.
class Pairing {
public:
    explicit Pairing(const GraphRun& run) : run_(run), partners_(run.shape->nodes.size()) {}

    /// Pairs the nodes of inner graphs, too.
    CUgraphExecUpdateResultInfo pair(const GraphShape::Level& level, const Graph& graph) {
        if (level.size() != graph.nodes.size()) return topology(nullptr);
        const std::vector<uint32_t> exits = exits_of(level);
        const std::vector<const GraphNode*> wanted = exits_of(graph);
        if (exits.size() != wanted.size()) return topology(wanted.empty() ? nullptr : wanted.back());
        numbers_.assign(graph.nodes.size(), GraphShape::kNone);
        std::vector<std::pair<uint32_t, const GraphNode*>> open;
        for (size_t i = 0; i < exits.size(); ++i)
            if (!meet(exits[i], *wanted[i], open)) return topology(wanted[i]);
        while (!open.empty()) {
            const auto [number, node] = open.back();
            open.pop_back();
            const std::vector<uint32_t>& depends = run_.shape->nodes[number].depends;
            if (depends.size() != node->depends.size()) return topology(node);
            for (size_t i = 0; i < depends.size(); ++i)
                if (!meet(depends[i], *node->depends[i], open)) return topology(node, node->depends[i]);
        }
        return pair_inner(level);
    }

    /// By the executable's numbers; NULL: the end of a child graph.
    const std::vector<const GraphNode*>& partners() const noexcept { return partners_; }

private:
    static CUgraphExecUpdateResultInfo topology(const GraphNode* node, const GraphNode* from = nullptr) noexcept {
        return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node ? node->as<CUgraphNode>() : nullptr,
                from ? from->as<CUgraphNode>() : nullptr};
    }

    std::vector<uint32_t> exits_of(const GraphShape::Level& level) const {
        std::vector<bool> needed(run_.shape->nodes.size());
        for (uint32_t number : level)
            for (uint32_t before : run_.shape->nodes[number].depends) needed[before] = true;
        std::vector<uint32_t> exits;
        for (uint32_t number : level)
            if (!needed[number]) exits.push_back(number);
        return exits;
    }

    static std::vector<const GraphNode*> exits_of(const Graph& graph) {
        std::vector<bool> needed(graph.nodes.size());
        for (const GraphNode* node : graph.nodes)
            for (const GraphNode* before : node->depends) needed[before->position] = true;
        std::vector<const GraphNode*> exits;
        for (const GraphNode* node : graph.nodes)
            if (!needed[node->position]) exits.push_back(node);
        return exits;
    }

    /// False: one of them has another partner already.
    bool meet(uint32_t number, const GraphNode& node, std::vector<std::pair<uint32_t, const GraphNode*>>& open) {
        if (partners_[number] || numbers_[node.position] != GraphShape::kNone)
            return partners_[number] == &node && numbers_[node.position] == number;
        partners_[number] = &node;
        numbers_[node.position] = number;
        open.emplace_back(number, &node);
        return true;
    }

    CUgraphExecUpdateResultInfo pair_inner(const GraphShape::Level& level) {
        for (uint32_t number : level) {
            const GraphNode& node = *partners_[number];
            if (run_.commands[number]->kind != node.work.kind)
                return {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, node.as<CUgraphNode>(), nullptr};
            const std::vector<uint32_t>& inner = run_.shape->nodes[number].inner;
            if (inner.size() != node.inner.size())
                return {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, node.as<CUgraphNode>(), nullptr};
            for (size_t i = 0; i < inner.size(); ++i) {
                const CUgraphExecUpdateResultInfo info = pair(run_.shape->levels[inner[i]], *node.inner[i]);
                if (info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return info;
            }
        }
        return {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
    }

    const GraphRun& run_;
    std::vector<const GraphNode*> partners_;
    std::vector<uint32_t> numbers_;  // of the graph being paired, by its nodes' positions
};

}  // namespace

CUgraphExecUpdateResult obstacle(const Work& was, const Work& is, uint64_t flags) noexcept {
    const auto unless = [](bool can) {
        return can ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    };
    switch (was.kind) {
        case CommandKind::kernel: return kernel_obstacle(was, is, flags);
        case CommandKind::copy: return unless(was.context == is.context && can_become(was.copy, is.copy));
        case CommandKind::fill: return unless(was.context == is.context && can_become(was.fill, is.fill));
        case CommandKind::allocation:
        case CommandKind::release: return unless(was.memory == is.memory);
        case CommandKind::conditional:
            return unless(was.conditional.handle == is.conditional.handle &&
                          was.conditional.type == is.conditional.type);
        default: return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    }
}

std::shared_ptr<Command> prepared_node(Machine& machine, uint32_t number, Work work) {
    auto command = std::make_shared<Command>();
    static_cast<Work&>(*command) = std::move(work);
    command->node = number;
    machine.prepare_node(*command);
    return command;
}

void begin_change(GraphExec& exec) {
    require(!exec.run->keeps);
    exec.uploaded = false;
}

GraphRun& own_run(GraphExec& exec) {
    begin_change(exec);
    if (exec.run.use_count() > 1) exec.run = std::make_shared<GraphRun>(*exec.run);
    return *exec.run;
}

CUgraphExecUpdateResultInfo update(Machine& machine, GraphExec& exec, const Graph& graph) {
    Pairing pairing(*exec.run);
    CUgraphExecUpdateResultInfo info = pairing.pair(exec.run->shape->levels.front(), graph);
    if (info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return info;
    auto next = std::make_shared<GraphRun>(*exec.run);
    for (uint32_t number = 0; number < next->commands.size(); ++number) {
        const GraphNode* node = pairing.partners()[number];
        if (!node) continue;
        info.result = obstacle(*next->commands[number], node->work, exec.flags);
        if (info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
            info.errorNode = node->as<CUgraphNode>();
            return info;
        }
        if (!same(*next->commands[number], node->work))
            next->commands[number] = prepared_node(machine, number, node->work);
        if (Condition* condition = next->find_condition(node->work.conditional.handle)) {
            condition->initial = node->work.conditional.initial;
            condition->assigned = node->work.conditional.assigned;
        }
    }
    begin_change(exec);
    exec.run = std::move(next);
    return info;
}

}  // namespace gpo::softgpu
