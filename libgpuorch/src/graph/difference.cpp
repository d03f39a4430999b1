#include "graph/difference.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace gpo {

namespace {

enum class Difference { none, patchable, other };

template <class Params>
Difference compare_bytes(const Params& was, const Params& is, bool patchable) noexcept {
    if (std::memcmp(&was, &is, sizeof was) == 0) return Difference::none;
    return patchable ? Difference::patchable : Difference::other;
}

bool same_shape(const CUDA_KERNEL_NODE_PARAMS& a, const CUDA_KERNEL_NODE_PARAMS& b) noexcept {
    return a.gridDimX == b.gridDimX && a.gridDimY == b.gridDimY && a.gridDimZ == b.gridDimZ &&
           a.blockDimX == b.blockDimX && a.blockDimY == b.blockDimY && a.blockDimZ == b.blockDimZ &&
           a.sharedMemBytes == b.sharedMemBytes;
}

bool same_arguments(const KernelNode& a, const KernelNode& b) noexcept {
    for (uint32_t i = 0; i < a.arguments(); ++i)
        if (std::memcmp(a.argument(i), b.argument(i), a.argument_bytes(i)) != 0) return false;
    return true;
}

Difference compare(const KernelNode& was, const KernelNode& is) noexcept {
    const CUDA_KERNEL_NODE_PARAMS &a = was.params(), &b = is.params();
    if (!was.arguments_known() || !is.arguments_known() || !a.func || a.func != b.func || a.ctx != b.ctx)
        return Difference::other;
    return same_shape(a, b) && same_arguments(was, is) ? Difference::none : Difference::patchable;
}

Difference compare(const CopyNode& was, const CopyNode& is) noexcept {
    const auto patchable = [](const CopyNode& node) { return node.plain() && node.one_row(); };
    return compare_bytes(was.params, is.params,
                         patchable(was) && patchable(is) && was.params.srcMemoryType == is.params.srcMemoryType &&
                             was.params.dstMemoryType == is.params.dstMemoryType);
}

Difference compare(const FillWork& was, const FillWork& is) noexcept {
    if (was == is) return Difference::none;
    return was.rows <= 1 && is.rows <= 1 ? Difference::patchable : Difference::other;
}

Difference compare(const HostNode& was, const HostNode& is) noexcept {
    return was.params.fn == is.params.fn && was.params.userData == is.params.userData ? Difference::none
                                                                                      : Difference::other;
}

Difference compare(const EventWork& was, const EventWork& is) noexcept {
    return was == is ? Difference::none : Difference::other;
}

Difference compare(const EmptyNode&, const EmptyNode&) noexcept { return Difference::none; }

// The rest of the condition is arguments of a kernel before the node.
Difference compare(const ConditionalNode& was, const ConditionalNode& is) noexcept {
    return was.type == is.type && was.bodies == is.bodies && was.condition.initial == is.condition.initial &&
                   was.loop == is.loop
               ? Difference::none
               : Difference::other;
}

// Nodes that aren't understood, or nodes of two kinds.
template <class One, class Other>
Difference compare(const One&, const Other&) noexcept {
    return Difference::other;
}

bool same_place(const Node& a, const Node& b) noexcept { return a.section == b.section && a.after == b.after; }

bool same_attributes(const Node& a, const Node& b) noexcept {
    return !std::get_if<KernelNode>(&b.work) || (a.attributes && b.attributes && *a.attributes == *b.attributes);
}

// Whether the same kernels set the same conditions, and bodies are of the same nodes.
bool same_conditions(const Recipe& a, const Recipe& b) {
    const auto bound_of = [](const Recipe& recipe) {
        std::vector<std::array<uint32_t, 3>> out;
        for (const NodeTree::Bound& bound : recipe.tree().bound)
            out.push_back({bound.kernel, bound.argument, bound.conditional});
        std::sort(out.begin(), out.end());
        return out;
    };
    return bound_of(a) == bound_of(b) &&
           std::equal(a.tree().sections.begin(), a.tree().sections.end(), b.tree().sections.begin(),
                      b.tree().sections.end(),
                      [](const auto& one, const auto& other) {
                          return one.node == other.node && one.index == other.index;
                      });
}

}  // namespace

Works::Works(const Recipe& recipe, const Recipe& built) : recipe_(recipe) {
    if (&recipe == &built || !same_conditions(recipe, built)) return;
    for (const NodeTree::Bound& bound : recipe.tree().bound) {
        const auto* from = std::get_if<KernelNode>(&built.nodes()[bound.kernel].work);
        if (!from || bound.argument >= from->arguments() ||
            from->argument_bytes(bound.argument) != sizeof(CUgraphConditionalHandle))
            continue;   // another kernel: the graph can't be patched
        NodeWork& to = changed_.try_emplace(bound.kernel, recipe.nodes()[bound.kernel].work).first->second;
        std::memcpy(std::get<KernelNode>(to).argument(bound.argument), from->argument(bound.argument),
                    sizeof(CUgraphConditionalHandle));
    }
}

const NodeWork& Works::operator[](uint32_t node) const noexcept {
    const auto changed = changed_.find(node);
    return changed == changed_.end() ? recipe_.nodes()[node].work : changed->second;
}

std::optional<std::vector<uint32_t>> patchable_differences(const Recipe& was, const Recipe& is,
                                                           std::span<const NodeWork* const> now, const Works& next) {
    if (was.nodes().size() != is.nodes().size() || !same_conditions(was, is)) return std::nullopt;
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < is.nodes().size(); ++i) {
        const Node &one = was.nodes()[i], &other = is.nodes()[i];
        if (!same_place(one, other) || !same_attributes(one, other)) return std::nullopt;
        switch (std::visit([](const auto& a, const auto& b) { return compare(a, b); }, *now[i], next[i])) {
            case Difference::none: break;
            case Difference::patchable: out.push_back(i); break;
            case Difference::other: return std::nullopt;
        }
    }
    return out;
}

}  // namespace gpo
