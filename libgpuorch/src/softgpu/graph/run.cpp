#include "softgpu/graph/run.h"

#include <algorithm>

namespace gpo::softgpu {

namespace {

/// Numbers the nodes of a graph and of the graphs within it.
class Layout {
public:
    Layout(GraphShape& shape, std::vector<const Work*>& work) : shape_(shape), work_(work) {}

    uint32_t new_region() {
        shape_.regions.emplace_back();
        return uint32_t(shape_.regions.size() - 1);
    }

    /// The graph's level.
    uint32_t add(const Graph& graph, uint32_t region) {
        const uint32_t level = uint32_t(shape_.levels.size());
        shape_.levels.emplace_back();
        GraphShape::Level numbers;
        for (const GraphNode* node : graph.nodes) numbers.push_back(add(node, region));
        for (const GraphNode* node : graph.nodes)
            for (const GraphNode* before : node->depends) {
                const uint32_t number = numbers[node->position];
                shape_.nodes[number].depends.push_back(numbers[before->position]);
                hold_up(shape_.nodes[numbers[before->position]].end, number);
            }
        shape_.levels[level] = std::move(numbers);
        return level;
    }

private:
    /// NULL: the end of a child graph.
    uint32_t new_node(const GraphNode* node, uint32_t region) {
        const uint32_t number = uint32_t(shape_.nodes.size());
        shape_.nodes.emplace_back();
        shape_.nodes[number].region = region;
        shape_.nodes[number].end = number;
        shape_.regions[region].push_back(number);
        work_.push_back(node ? &node->work : nullptr);
        if (node) {
            shape_.nodes[number].origin = node->as<CUgraphNode>();
            shape_.by_origin.emplace_back(node->as<CUgraphNode>(), number);
        }
        return number;
    }

    uint32_t add(const GraphNode* node, uint32_t region) {
        const uint32_t number = new_node(node, region);
        switch (node->work.kind) {
            case CommandKind::child: add_child(number, *node->inner.front(), region); break;
            case CommandKind::record:
            case CommandKind::wait: shape_.events.push_back(number); break;
            case CommandKind::allocation:
            case CommandKind::release: shape_.memory.push_back(number); break;
            default: break;
        }
        return number;
    }

    /// The child's nodes are between its node and one that stands for its end.
    void add_child(uint32_t begin, const Graph& child, uint32_t region) {
        const uint32_t level = add(child, region);
        const uint32_t end = new_node(nullptr, region);
        shape_.nodes[begin].inner.push_back(level);
        shape_.nodes[begin].end = end;
        hold_up(begin, end);
        for (uint32_t number : shape_.levels[level]) {
            if (shape_.nodes[number].depends.empty()) hold_up(begin, number);
            hold_up(shape_.nodes[number].end, end);
        }
    }

    void hold_up(uint32_t before, uint32_t number) {
        shape_.nodes[before].followers.push_back(number);
        ++shape_.nodes[number].holders;
    }

    GraphShape& shape_;
    std::vector<const Work*>& work_;
};

/// The graph of a level.
Graph& graph_of(Graphs& graphs, const GraphRun& run, const GraphShape::Level& level) {
    const GraphShape& shape = *run.shape;
    NewGraph made(graphs, graphs.create());
    std::vector<GraphNode*> nodes(shape.nodes.size());
    for (uint32_t number : level) {
        std::vector<GraphNode*> depends;
        for (uint32_t before : shape.nodes[number].depends) depends.push_back(nodes[before]);
        GraphNode& node = *(nodes[number] = &graphs.add(*made, *run.commands[number], std::move(depends)));
        node.inner.reserve(shape.nodes[number].inner.size());
        for (uint32_t within : shape.nodes[number].inner) {
            node.inner.push_back(&graph_of(graphs, run, shape.levels[within]));
            node.inner.back()->owner = &node;
        }
    }
    return made.release();
}

}  // namespace

uint32_t GraphShape::find(CUgraphNode origin) const noexcept {
    const auto at = std::lower_bound(by_origin.begin(), by_origin.end(), std::pair(origin, uint32_t{0}));
    return at != by_origin.end() && at->first == origin ? at->second : kNone;
}

GraphRun::GraphRun(const Graph& graph) {
    auto made = std::make_shared<GraphShape>();
    std::vector<const Work*> work;
    Layout layout(*made, work);
    layout.add(graph, layout.new_region());
    std::sort(made->by_origin.begin(), made->by_origin.end());
    for (uint32_t i = 0; i < work.size(); ++i) {
        auto command = std::make_shared<Command>();
        if (work[i]) static_cast<Work&>(*command) = *work[i];
        command->node = i;
        commands.push_back(std::move(command));
    }
    shape = std::move(made);
    disabled.resize(work.size());
    missing.resize(work.size());
    left.resize(shape->regions.size());
    startable.reserve(work.size());
}

GraphRun::GraphRun(const GraphRun& other)
    : shape(other.shape), commands(other.commands), disabled(other.disabled), missing(other.missing), left(other.left) {
    startable.reserve(commands.size());
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
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {  // the last is started first
        missing[*node] = shape->nodes[*node].holders;
        if (!missing[*node]) startable.push_back(*node);
    }
}

bool GraphRun::node_done(uint32_t done) noexcept {
    const GraphShape::Node& node = shape->nodes[done];
    for (uint32_t follower : node.followers)
        if (--missing[follower] == 0) startable.push_back(follower);
    return --left[node.region] == 0;
}

Graph& graph_of(Graphs& graphs, const GraphRun& run) { return graph_of(graphs, run, run.shape->levels.front()); }

}  // namespace gpo::softgpu
