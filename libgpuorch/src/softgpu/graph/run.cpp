#include "softgpu/graph/run.h"

#include <algorithm>

namespace gpo::softgpu {

std::shared_ptr<const GraphShape> GraphShape::of(const Graph& graph) {
    auto shape = std::make_shared<GraphShape>();
    shape->nodes.resize(graph.nodes.size());
    shape->regions.resize(1);
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
        const GraphNode& node = *graph.nodes[i];
        shape->nodes[i].origin = node.as<CUgraphNode>();
        shape->by_origin.emplace_back(shape->nodes[i].origin, i);
        shape->regions[0].push_back(i);
        for (const GraphNode* before : node.depends) {
            shape->nodes[i].depends.push_back(before->position);
            shape->nodes[before->position].followers.push_back(i);
        }
    }
    std::sort(shape->by_origin.begin(), shape->by_origin.end());
    return shape;
}

uint32_t GraphShape::find(CUgraphNode origin) const noexcept {
    const auto at = std::lower_bound(by_origin.begin(), by_origin.end(), std::pair(origin, uint32_t{0}));
    return at != by_origin.end() && at->first == origin ? at->second : kNone;
}

GraphRun::GraphRun(const Graph& graph)
    : shape(GraphShape::of(graph)), missing(shape->nodes.size()), left(shape->regions.size()) {
    startable.reserve(shape->nodes.size());
    commands.reserve(shape->nodes.size());
    for (const GraphNode* node : graph.nodes) {
        auto command = std::make_shared<Command>();
        static_cast<Work&>(*command) = node->work;
        command->node = node->position;
        commands.push_back(std::move(command));
    }
}

void GraphRun::begin(Command& by) noexcept {
    owner = &by;
    in_flight = 0;
    startable.clear();
    for (const auto& command : commands) {
        command->run = this;
        command->stream = by.stream;
    }
    begin_region(0);
}

void GraphRun::begin_region(uint32_t region) noexcept {
    const std::vector<uint32_t>& nodes = shape->regions[region];
    left[region] = uint32_t(nodes.size());
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {   // the last is started first
        missing[*node] = uint32_t(shape->nodes[*node].depends.size());
        if (!missing[*node]) startable.push_back(*node);
    }
}

bool GraphRun::node_done(uint32_t done) noexcept {
    const GraphShape::Node& node = shape->nodes[done];
    for (uint32_t follower : node.followers)
        if (--missing[follower] == 0) startable.push_back(follower);
    return --left[node.region] == 0;
}

}  // namespace gpo::softgpu
