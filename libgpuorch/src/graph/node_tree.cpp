#include "graph/node_tree.h"

#include <algorithm>
#include <cstring>

namespace gpo {

std::vector<uint32_t> begins_of(std::span<const Node> nodes, size_t sections) {
    std::vector<uint32_t> out(sections, static_cast<uint32_t>(nodes.size()));
    for (auto i = static_cast<uint32_t>(nodes.size()); i-- > 0;) out[nodes[i].section] = i;
    return out;
}

std::string describe_node(const NodeTree& tree, uint32_t number) {
    const Node& node = tree.nodes[number];
    if (!node.section) return describe_node(node, number);
    const uint32_t begin = begins_of(tree.nodes, tree.sections.size())[node.section];
    return text(describe_node(node, number - begin), ", in a body of ",
                describe_node(tree, tree.sections[node.section].node));
}

TreeCopy::TreeCopy(NodeTree from)
    : tree(std::move(from)), graphs(tree.sections.size()), done_(tree.nodes.size()) {
    added.reserve(tree.nodes.size());
}

void TreeCopy::add_to(Context& context, CUgraph graph, std::span<const CUgraphNode> behind) {
    graphs[0] = graph;
    add_section(context, 0, behind);
}

// Condition handles come first: kernels before the conditional node set them. Kernels further outside were added
// already, and are changed.
void TreeCopy::add_section(Context& context, uint32_t section, std::span<const CUgraphNode> behind) {
    make_handles(context, section);
    for (const uint32_t i : order(section)) {
        std::vector<CUgraphNode> after;
        for (const uint32_t before : tree.nodes[i].after) after.push_back(tree.nodes[before].native);
        if (after.empty()) after.assign(behind.begin(), behind.end());
        const CUgraphNode made = add_node(context, i, after);
        if (section == 0) added.push_back(made);
        done_[i] = true;
        give_attributes(context, tree.nodes[i], made);
        tree.nodes[i].native = made;
        if (!std::get_if<ConditionalNode>(&tree.nodes[i].work)) continue;
        for (uint32_t inner = section + 1; inner < tree.sections.size(); ++inner)
            if (tree.sections[inner].node == i) add_section(context, inner, {});
    }
}

void TreeCopy::make_handles(Context& context, uint32_t section) {
    for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
        auto* conditional =
            tree.nodes[i].section == section ? std::get_if<ConditionalNode>(&tree.nodes[i].work) : nullptr;
        if (!conditional) continue;
        context.check(context.table().cuGraphConditionalHandleCreate(&conditional->handle, graphs[section],
                                                                     context.native(), conditional->condition.initial,
                                                                     CU_GRAPH_COND_ASSIGN_DEFAULT),
                      "cuGraphConditionalHandleCreate");
        handles = true;
        for (const NodeTree::Bound& bound : tree.bound)
            if (bound.conditional == i) set_handle(context, bound, conditional->handle);
    }
}

void TreeCopy::set_handle(Context& context, const NodeTree::Bound& bound, CUgraphConditionalHandle handle) {
    Node& kernel = tree.nodes[bound.kernel];
    auto& work = std::get<KernelNode>(kernel.work);
    std::memcpy(work.argument(bound.argument), &handle, sizeof handle);
    if (!done_[bound.kernel]) return;   // the kernel will be added with the handle
    context.check(context.table().cuGraphKernelNodeSetParams(kernel.native, &work.params()),
                  "cuGraphKernelNodeSetParams");
}

CUgraphNode TreeCopy::add_node(Context& context, uint32_t number, std::span<const CUgraphNode> after) {
    const CUgraph graph = graphs[tree.nodes[number].section];
    const auto* conditional = std::get_if<ConditionalNode>(&tree.nodes[number].work);
    if (!conditional) return copy_node(context, tree.nodes[number].work, graph, after);
    std::vector<CUgraph> bodies;
    const CUgraphNode made = add_conditional(context, *conditional, graph, after, bodies);
    for (uint32_t inner = 1; inner < tree.sections.size(); ++inner)
        if (tree.sections[inner].node == number) graphs[inner] = bodies[tree.sections[inner].index];
    return made;
}

// The section's nodes in topological order.
std::vector<uint32_t> TreeCopy::order(uint32_t section) const {
    std::vector<uint32_t> out;
    std::vector<bool> placed(tree.nodes.size());
    for (bool found = true; found;) {
        found = false;
        for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
            const auto& after = tree.nodes[i].after;
            if (tree.nodes[i].section != section || placed[i] ||
                !std::all_of(after.begin(), after.end(), [&](uint32_t node) { return placed[node]; }))
                continue;
            placed[i] = found = true;
            out.push_back(i);
        }
    }
    return out;
}

}  // namespace gpo
