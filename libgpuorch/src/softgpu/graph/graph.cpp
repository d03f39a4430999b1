#include "softgpu/graph/graph.h"

#include <algorithm>
#include <utility>

namespace gpo::softgpu {

uint32_t GraphNodes::add(std::unique_ptr<Command> work, Context* context, std::vector<uint32_t> depends) {
    const uint32_t index = uint32_t(nodes.size());
    for (uint32_t before : depends) nodes[before].followers.reserve(nodes[before].followers.size() + 1);
    Node node;
    node.work = std::move(work);
    node.context = context;
    node.depends = std::move(depends);
    nodes.push_back(std::move(node));
    for (uint32_t before : nodes[index].depends) nodes[before].followers.push_back(index);
    return index;
}

uint32_t GraphNodes::find(CUgraphNode handle) const noexcept {
    for (uint32_t i = 0; i < nodes.size(); ++i)
        if (native(i) == handle) return i;
    return kNone;
}

void GraphNodes::remove(uint32_t removed) noexcept {
    nodes.erase(nodes.begin() + removed);
    for (Node& node : nodes)
        for (std::vector<uint32_t>* list : {&node.depends, &node.followers}) {
            std::erase(*list, removed);
            for (uint32_t& other : *list) other -= other > removed;
        }
}

std::shared_ptr<GraphNodes> GraphNodes::copy() const {
    auto out = std::make_shared<GraphNodes>();
    out->nodes.reserve(nodes.size());
    for (const Node& node : nodes) {
        Node own;
        own.work = std::make_unique<Command>();
        copy_work(*node.work, *own.work);
        own.work->launch = node.work->launch;
        own.context = node.context;
        own.depends = node.depends;
        own.followers = node.followers;
        out->nodes.push_back(std::move(own));
    }
    return out;
}

GraphRun::GraphRun(std::shared_ptr<const GraphNodes> graph, Command& command)
    : nodes(std::move(graph)), owner(command), commands(nodes->nodes.size()), missing(nodes->nodes.size()) {
    startable.reserve(commands.size());
    for (uint32_t i = 0; i < commands.size(); ++i) {
        const GraphNodes::Node& node = nodes->nodes[i];
        copy_work(*node.work, commands[i]);
        commands[i].run = this;
        commands[i].node = i;
        missing[i] = uint32_t(node.depends.size());
    }
}

}  // namespace gpo::softgpu
