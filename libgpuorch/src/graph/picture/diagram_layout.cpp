#include "graph/picture/diagram_layout.h"

#include <algorithm>

#include "base/text.h"

namespace gpo {

namespace {

constexpr int kBoxPadding = 14, kBodyGap = 14;
constexpr uint64_t kMostPassed = 20'000;  // layers that lines pass, of a body
constexpr size_t kMostNamed = 12;

std::vector<LayeredGraph::Edge> edges_of(const Diagram& diagram, const Diagram::Body& body) {
    std::vector<uint32_t> place_of(diagram.nodes.size());
    for (uint32_t i = 0; i < body.nodes.size(); ++i) place_of[body.nodes[i]] = i;
    std::vector<LayeredGraph::Edge> out;
    for (uint32_t i = 0; i < body.nodes.size(); ++i)
        for (const uint32_t before : diagram.nodes[body.nodes[i]].after) out.push_back({place_of[before], i});
    return out;
}

class DiagramMeasure {
public:
    DiagramMeasure(const Diagram& diagram, const std::vector<DiagramLayout::Size>& texts,
                   const std::vector<DiagramLayout::Size>& titles)
        : diagram_(diagram), texts_(texts), titles_(titles), places_(diagram.bodies.size()) {
        out_.nodes.resize(diagram.nodes.size());
        out_.bodies.resize(diagram.bodies.size());
    }
    DiagramLayout laid_out() {
        measure_body(0);
        put_body(0, 0, 0);
        return std::move(out_);
    }

private:
    // Sizes, from the inside to the outside.
    void measure_body(uint32_t number) {
        const Diagram::Body& body = diagram_.bodies[number];
        LayeredGraph graph;
        for (const uint32_t node : body.nodes) {
            measure_node(node);
            graph.nodes.push_back({out_.nodes[node].width, out_.nodes[node].height});
        }
        graph.edges = edges_of(diagram_, body);
        places_[number] = place_layers(graph);
        const DiagramLayout::Size inner = places_[number].size, title = titles_[number];
        out_.bodies[number].width = std::max(inner.width, title.width) + 2 * kBoxPadding;
        out_.bodies[number].height = inner.height + title.height + 2 * kBoxPadding;
    }
    void measure_node(uint32_t number) {
        DiagramLayout::Box& box = out_.nodes[number];
        box.width = texts_[number].width;
        box.height = texts_[number].height;
        int width = kBoxPadding, height = 0;
        for (const uint32_t body : diagram_.nodes[number].bodies) {
            measure_body(body);
            width += width_of(body) + kBodyGap;
            height = std::max(height, out_.bodies[body].height);
        }
        if (diagram_.nodes[number].bodies.empty()) return;
        box.width = std::max(box.width, width + kBoxPadding - kBodyGap);
        box.height += height + kBoxPadding;
    }
    int width_of(uint32_t body) const {
        return out_.bodies[body].width + (diagram_.bodies[body].repeats ? kLoopWidth : 0);
    }

    // Places, from the outside to the inside.
    void put_body(uint32_t number, int x, int y) {
        DiagramLayout::Box& box = out_.bodies[number];
        box.x = x;
        box.y = y;
        const LayeredPlaces& places = places_[number];
        const int left = x + (box.width - places.size.width) / 2, top = y + titles_[number].height + kBoxPadding;
        const std::vector<uint32_t>& nodes = diagram_.bodies[number].nodes;
        for (size_t i = 0; i < nodes.size(); ++i) put_node(nodes[i], left + places.nodes[i].x, top + places.nodes[i].y);
        for (std::vector<DiagramLayout::Point> line : places.lines) {
            for (DiagramLayout::Point& point : line) point = {point.x + left, point.y + top};
            out_.lines.push_back(std::move(line));
        }
    }
    void put_node(uint32_t number, int x, int y) {
        DiagramLayout::Box& box = out_.nodes[number];
        box.x = x;
        box.y = y;
        const std::vector<uint32_t>& bodies = diagram_.nodes[number].bodies;
        int width = -kBodyGap;
        for (const uint32_t body : bodies) width += width_of(body) + kBodyGap;
        int left = x + (box.width - width) / 2;
        for (const uint32_t body : bodies) {
            put_body(body, left, y + texts_[number].height);
            left += width_of(body) + kBodyGap;
        }
    }

    const Diagram& diagram_;
    const std::vector<DiagramLayout::Size>&texts_, &titles_;
    std::vector<LayeredPlaces> places_;  // by body
    DiagramLayout out_;
};

uint64_t layers_passed(const std::vector<LayeredGraph::Edge>& edges, const std::vector<uint32_t>& layers) {
    std::vector<uint32_t> longest(layers.size());  // lines that begin at one node share their way
    for (const LayeredGraph::Edge& edge : edges)
        longest[edge.from] = std::max(longest[edge.from], layers[edge.to] - layers[edge.from] - 1);
    uint64_t sum = 0;
    for (const uint32_t length : longest) sum += length;
    return sum;
}

std::string names_of(const Diagram& diagram, const std::vector<uint32_t>& nodes) {
    std::string out = "also after ";
    for (size_t i = 0; i < std::min(nodes.size(), kMostNamed); ++i)
        out += text(i ? ", " : "", diagram.nodes[nodes[i]].number);
    if (nodes.size() > kMostNamed) out += text(" and ", nodes.size() - kMostNamed, " more");
    return out;
}

}  // namespace

DiagramLayout lay_out(const Diagram& diagram, const std::vector<DiagramLayout::Size>& texts,
                      const std::vector<DiagramLayout::Size>& titles) {
    return DiagramMeasure(diagram, texts, titles).laid_out();
}

void name_long_lines(Diagram& diagram) {
    for (const Diagram::Body& body : diagram.bodies) {
        std::vector<LayeredGraph::Edge> edges = edges_of(diagram, body);
        std::vector<std::vector<uint32_t>> left_out(body.nodes.size());
        for (;;) {  // without some lines there are other layers
            const std::vector<uint32_t> layers = layers_of(body.nodes.size(), edges);
            if (layers_passed(edges, layers) <= kMostPassed) break;
            std::erase_if(edges, [&](const LayeredGraph::Edge& edge) {
                if (layers[edge.to] - layers[edge.from] <= 1) return false;
                left_out[edge.to].push_back(body.nodes[edge.from]);
                return true;
            });
        }
        for (size_t i = 0; i < left_out.size(); ++i) {
            if (left_out[i].empty()) continue;
            diagram.nodes[body.nodes[i]].after.clear();
            diagram.nodes[body.nodes[i]].facts.push_back(names_of(diagram, left_out[i]));
        }
        for (const LayeredGraph::Edge& edge : edges)
            if (!left_out[edge.to].empty()) diagram.nodes[body.nodes[edge.to]].after.push_back(body.nodes[edge.from]);
    }
}

}  // namespace gpo
