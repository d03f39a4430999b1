// Places for the boxes of a graph and lines between them, layer by layer from above.
//
// A node's *layer* is the length of the longest way to it. A line that passes layers has a *slot* of its own in each,
// as a box has: so no line crosses a box. Between two layers lines only curve from slot to slot. Lines that begin at
// one box share slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpo {

struct LayeredGraph {
    struct Size {
        int width = 0, height = 0;
    };
    struct Edge {
        uint32_t from, to;
    };
    std::vector<Size> nodes;
    std::vector<Edge> edges;  // without cycles
};

struct LayeredPlaces {
    struct Point {
        int x, y;
    };
    std::vector<Point> nodes;  // upper left corners
    /// By edge: from the lower edge of a box to the upper edge of another, in turn straight down and in a curve.
    std::vector<std::vector<Point>> lines;
    LayeredGraph::Size size;
};

/// By node. Throws std::bad_alloc, as all here.
std::vector<uint32_t> layers_of(size_t nodes, std::span<const LayeredGraph::Edge> edges);
LayeredPlaces place_layers(const LayeredGraph& graph);

}  // namespace gpo
