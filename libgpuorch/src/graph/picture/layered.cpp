#include "graph/picture/layered.h"

#include <algorithm>
#include <cstdlib>

namespace gpo {

namespace {

constexpr int kColumnGap = 22, kLayerGap = 34, kWidestLayerGap = 90, kLineWidth = 8;
constexpr int kSortingRounds = 12, kMovingRounds = 16, kLastRounds = 4;
constexpr double kLineWeight = 8;  // straight lines matter more than boxes in the middle

class LayeredPlacer {
public:
    explicit LayeredPlacer(const LayeredGraph& graph);
    LayeredPlaces places();

private:
    // The place of a node's box, or of a line that crosses the layer.
    struct Slot {
        uint32_t layer = 0;
        int width = 0, height = 0;
        double weight = 1;
        double x = 0;                        // its middle
        std::vector<uint32_t> above, below;  // slots of the next layers
    };
    uint32_t add(uint32_t layer, int width, int height, double weight);
    void link(uint32_t upper, uint32_t lower);
    void route(const LayeredGraph::Edge& edge);
    void sort_layer(uint32_t layer, bool by_above);
    void sort_layers();
    void move_layer(uint32_t layer, bool by_above, bool by_below);
    void move_layers();
    void find_heights();
    std::vector<LayeredPlaces::Point> line(const LayeredGraph::Edge& edge) const;
    double distance(uint32_t left, uint32_t right) const {
        return (slots_[left].width + slots_[right].width) / 2.0 + kColumnGap;
    }

    const LayeredGraph& graph_;
    std::vector<Slot> slots_;                    // the nodes' first
    std::vector<std::vector<uint32_t>> layers_;  // slots from left to right
    std::vector<std::vector<uint32_t>> ways_;    // by node: itself, and the slots below it of its longest line
    std::vector<int> top_, bottom_;              // by layer
};

uint32_t LayeredPlacer::add(uint32_t layer, int width, int height, double weight) {
    const auto made = static_cast<uint32_t>(slots_.size());
    slots_.push_back({layer, width, height, weight, 0, {}, {}});
    if (layers_.size() <= layer) layers_.resize(layer + 1);
    layers_[layer].push_back(made);
    return made;
}

void LayeredPlacer::link(uint32_t upper, uint32_t lower) {
    slots_[upper].below.push_back(lower);
    slots_[lower].above.push_back(upper);
}

void LayeredPlacer::route(const LayeredGraph::Edge& edge) {
    std::vector<uint32_t>& way = ways_[edge.from];
    const uint32_t from = slots_[edge.from].layer, length = slots_[edge.to].layer - from;
    while (way.size() < length) {
        const uint32_t next = add(from + static_cast<uint32_t>(way.size()), kLineWidth, 0, kLineWeight);
        link(way.back(), next);
        way.push_back(next);
    }
    link(way[length - 1], edge.to);
}

LayeredPlacer::LayeredPlacer(const LayeredGraph& graph) : graph_(graph), ways_(graph.nodes.size()) {
    const std::vector<uint32_t> layers = layers_of(graph.nodes.size(), graph.edges);
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
        add(layers[i], graph.nodes[i].width, graph.nodes[i].height, 1);
        ways_[i] = {i};
    }
    for (const LayeredGraph::Edge& edge : graph.edges) route(edge);
    sort_layers();
    move_layers();
    find_heights();
}

// --- from left to right: so that few lines cross ---

void LayeredPlacer::sort_layer(uint32_t layer, bool by_above) {
    std::vector<uint32_t>& slots = layers_[layer];
    std::vector<std::pair<double, uint32_t>> keys;
    for (size_t i = 0; i < slots.size(); ++i) {
        const std::vector<uint32_t>& others = by_above ? slots_[slots[i]].above : slots_[slots[i]].below;
        double sum = others.empty() ? static_cast<double>(i) : 0;
        for (const uint32_t other : others) sum += slots_[other].x;
        keys.emplace_back(sum / static_cast<double>(std::max<size_t>(others.size(), 1)), slots[i]);
    }
    std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < slots.size(); ++i) {
        slots[i] = keys[i].second;
        slots_[slots[i]].x = static_cast<double>(i);
    }
}

void LayeredPlacer::sort_layers() {
    const auto count = static_cast<uint32_t>(layers_.size());
    for (const std::vector<uint32_t>& layer : layers_)
        for (size_t i = 0; i < layer.size(); ++i) slots_[layer[i]].x = static_cast<double>(i);
    for (int round = 0; round < kSortingRounds; ++round)
        for (uint32_t i = 1; i < count; ++i) {
            const bool up = round % 2 != 0;
            sort_layer(up ? count - 1 - i : i, !up);
        }
}

// --- to where its neighbours above and below are ---

// Moves each slot as near as possible to the middle of its neighbours, by least squares, and keeps the order. Slots
// that would overlap move together.
void LayeredPlacer::move_layer(uint32_t layer, bool by_above, bool by_below) {
    struct Group {
        double weight, wanted;  // wanted: times the weight
        size_t slots;
        double middle() const { return wanted / weight; }
    };
    const std::vector<uint32_t>& slots = layers_[layer];
    std::vector<Group> groups;
    double offset = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
        const Slot& slot = slots_[slots[i]];
        if (i) offset += distance(slots[i - 1], slots[i]);
        double sum = 0;
        size_t count = 0;
        const auto look_at = [&](const std::vector<uint32_t>& others) {
            for (const uint32_t other : others) sum += slots_[other].x;
            count += others.size();
        };
        if (by_above) look_at(slot.above);
        if (by_below) look_at(slot.below);
        const double weight = count ? slot.weight : 0.01, wanted = count ? sum / static_cast<double>(count) : slot.x;
        groups.push_back({weight, weight * (wanted - offset), 1});
        while (groups.size() > 1 && groups[groups.size() - 2].middle() > groups.back().middle()) {
            const Group last = groups.back();
            groups.pop_back();
            groups.back() = {groups.back().weight + last.weight, groups.back().wanted + last.wanted,
                             groups.back().slots + last.slots};
        }
    }
    size_t at = 0;
    offset = 0;
    for (const Group& group : groups)
        for (size_t i = 0; i < group.slots; ++i, ++at) {
            if (at) offset += distance(slots[at - 1], slots[at]);
            slots_[slots[at]].x = group.middle() + offset;
        }
}

void LayeredPlacer::move_layers() {
    const auto count = static_cast<uint32_t>(layers_.size());
    for (const std::vector<uint32_t>& layer : layers_) {
        double x = 0;
        for (size_t i = 0; i < layer.size(); ++i) {
            if (i) x += distance(layer[i - 1], layer[i]);
            slots_[layer[i]].x = x;
        }
    }
    for (int round = 0; round < kMovingRounds; ++round) {
        const bool up = round % 2 != 0, both = round + kLastRounds >= kMovingRounds;
        for (uint32_t i = 0; i < count; ++i) move_layer(up ? count - 1 - i : i, both || !up, both || up);
    }
}

void LayeredPlacer::find_heights() {
    int y = 0;
    for (const std::vector<uint32_t>& layer : layers_) {
        int height = 0;
        double widest = 0;  // of the lines to the next layer
        for (const uint32_t slot : layer) {
            height = std::max(height, slots_[slot].height);
            for (const uint32_t below : slots_[slot].below)
                widest = std::max(widest, std::abs(slots_[below].x - slots_[slot].x));
        }
        top_.push_back(y);
        bottom_.push_back(y + height);
        y += height + std::min(kLayerGap + static_cast<int>(widest) / 12, kWidestLayerGap);
    }
}

// --- what comes out ---

std::vector<LayeredPlaces::Point> LayeredPlacer::line(const LayeredGraph::Edge& edge) const {
    const auto at = [&](uint32_t slot) { return static_cast<int>(slots_[slot].x + 0.5); };
    const Slot &from = slots_[edge.from], &to = slots_[edge.to];
    std::vector<LayeredPlaces::Point> out = {{at(edge.from), top_[from.layer] + from.height}};
    for (uint32_t i = 0; i < to.layer - from.layer; ++i) {
        const uint32_t slot = ways_[edge.from][i];
        if (i) out.push_back({at(slot), top_[from.layer + i]});
        out.push_back({at(slot), bottom_[from.layer + i]});
    }
    out.push_back({at(edge.to), top_[to.layer]});
    return out;
}

LayeredPlaces LayeredPlacer::places() {
    double left = 0, right = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        left = i ? std::min(left, slots_[i].x - slots_[i].width / 2.0) : slots_[i].x - slots_[i].width / 2.0;
        right = i ? std::max(right, slots_[i].x + slots_[i].width / 2.0) : slots_[i].x + slots_[i].width / 2.0;
    }
    for (Slot& slot : slots_) slot.x -= left;
    LayeredPlaces out;
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
        out.nodes.push_back({static_cast<int>(slots_[i].x - slots_[i].width / 2.0 + 0.5), top_[slots_[i].layer]});
    for (const LayeredGraph::Edge& edge : graph_.edges) out.lines.push_back(line(edge));
    out.size = {static_cast<int>(right - left + 0.5), bottom_.empty() ? 0 : bottom_.back()};
    return out;
}

}  // namespace

std::vector<uint32_t> layers_of(size_t nodes, std::span<const LayeredGraph::Edge> edges) {
    std::vector<std::vector<uint32_t>> next(nodes);
    std::vector<uint32_t> out(nodes), missing(nodes), ready;
    for (const LayeredGraph::Edge& edge : edges) {
        next[edge.from].push_back(edge.to);
        ++missing[edge.to];
    }
    const std::vector<uint32_t> before = missing;
    for (uint32_t i = 0; i < nodes; ++i)
        if (!missing[i]) ready.push_back(i);
    for (size_t at = 0; at < ready.size(); ++at)
        for (const uint32_t to : next[ready[at]]) {
            out[to] = std::max(out[to], out[ready[at]] + 1);
            if (--missing[to] == 0) ready.push_back(to);
        }
    // A node without predecessors is drawn just above the first node that needs it.
    for (uint32_t i = 0; i < nodes; ++i) {
        if (before[i] || next[i].empty()) continue;
        out[i] = UINT32_MAX;
        for (const uint32_t to : next[i]) out[i] = std::min(out[i], out[to] - 1);
    }
    return out;
}

LayeredPlaces place_layers(const LayeredGraph& graph) { return LayeredPlacer(graph).places(); }

}  // namespace gpo
