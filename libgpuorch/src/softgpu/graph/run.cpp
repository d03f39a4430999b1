#include "softgpu/graph/run.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace gpo::softgpu {

namespace {

/// Numbers the nodes of a graph and of the graphs within it.
class Layout {
public:
    Layout(GraphShape& shape, std::vector<const Work*>& work) : shape_(shape), work_(work) {}

    uint32_t new_region(uint32_t decider) {
        shape_.regions.emplace_back();
        shape_.deciders.push_back(decider);
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
            case CommandKind::conditional: add_bodies(number, *node); break;
            case CommandKind::record:
            case CommandKind::wait: shape_.events.push_back(number); break;
            case CommandKind::allocation:
            case CommandKind::release: shape_.memory.push_back(number); break;
            default: break;
        }
        return number;
    }

    void add_bodies(uint32_t number, const GraphNode& node) {
        for (const Graph* body : node.inner) {
            const uint32_t region = new_region(number);
            shape_.nodes[number].bodies.push_back(region);
            const uint32_t level = add(*body, region);
            shape_.nodes[number].inner.push_back(level);
        }
    }

    /// Puts the child's nodes between the child graph's node and an extra node for its end.
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
    layout.add(graph, layout.new_region(GraphShape::kNone));
    std::sort(made->by_origin.begin(), made->by_origin.end());
    for (uint32_t i = 0; i < work.size(); ++i) {
        auto command = std::make_shared<Command>();
        if (work[i]) static_cast<Work&>(*command) = *work[i];
        command->node = i;
        const Conditional& decides = command->conditional;
        if (decides.handle) conditions.push_back({decides.handle, decides.initial, decides.assigned, decides.initial});
        commands.push_back(std::move(command));
    }
    std::sort(conditions.begin(), conditions.end(),
              [](const Condition& a, const Condition& b) { return a.handle < b.handle; });
    shape = std::move(made);
    disabled.resize(work.size());
    missing.resize(work.size());
    left.resize(shape->regions.size());
    startable.reserve(work.size());
}

GraphRun::GraphRun(const GraphRun& other)
    : shape(other.shape),
      commands(other.commands),
      disabled(other.disabled),
      launchable(other.launchable),
      missing(other.missing),
      left(other.left) {
    startable.reserve(commands.size());
    conditions.reserve(other.conditions.size());
    for (const Condition& condition : other.conditions) {
        // A kernel of the run that is copied may be setting it.
        const uint32_t value = std::atomic_ref(const_cast<uint32_t&>(condition.value)).load(std::memory_order_relaxed);
        conditions.push_back({condition.handle, condition.initial, condition.assigned, value});
    }
}

void GraphRun::begin(Command& by) noexcept {
    owner = &by;
    in_flight = lines = launched = queued = 0;
    moved = false;
    running = true;
    startable.clear();
    for (Condition& condition : conditions)
        if (condition.assigned) condition.value = condition.initial;
    for (const auto& command : commands) {
        command->run = this;
        command->stream = by.stream;
    }
    begin_region(0);
}

void GraphRun::begin_line(GraphRun* parent) noexcept {
    own_line.first = this;
    own_line.parent = parent;
    line = &own_line;
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

Condition* GraphRun::find_condition(CUgraphConditionalHandle handle) noexcept {
    const auto at = std::lower_bound(conditions.begin(), conditions.end(), handle,
                                     [](const Condition& condition, auto other) { return condition.handle < other; });
    return at != conditions.end() && at->handle == handle ? &*at : nullptr;
}

void GraphRun::set_condition(CUgraphConditionalHandle handle, uint32_t value) noexcept {
    if (Condition* condition = find_condition(handle))
        std::atomic_ref(condition->value).store(value, std::memory_order_release);
}

uint32_t GraphRun::chosen(uint32_t node) noexcept {
    const Conditional& decides = commands[node]->conditional;
    uint32_t body = std::atomic_ref(find_condition(decides.handle)->value).load(std::memory_order_acquire);
    if (decides.type != CU_GRAPH_COND_TYPE_SWITCH) body = body ? 0 : 1;   // a while has no body 1
    const std::vector<uint32_t>& bodies = shape->nodes[node].bodies;
    return body < bodies.size() ? bodies[body] : GraphShape::kNone;
}

void Tails::push(GraphRun& run) noexcept {
    run.next_tail = nullptr;
    (back ? back->next_tail : front) = &run;
    back = &run;
}

void Tails::put_first(Tails& others) noexcept {
    if (!others.front) return;
    others.back->next_tail = front;
    if (!front) back = others.back;
    front = others.front;
    others = Tails();
}

GraphRun* Tails::take() noexcept {
    GraphRun* taken = front;
    if (!taken) return nullptr;
    front = taken->next_tail;
    if (!front) back = nullptr;
    return taken;
}

Graph& graph_of(Graphs& graphs, const GraphRun& run) { return graph_of(graphs, run, run.shape->levels.front()); }

}  // namespace gpo::softgpu
