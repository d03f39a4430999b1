// Places for the boxes of a graph and lines between them, layer by layer from above.
//
// A node's *layer* is the length of the longest path to the node. A box has a *slot* in its layer, and a line has a
// slot in each layer that it crosses, so no line crosses a box. Between two layers a line curves from slot to slot.
// Lines that begin at the same box share slots.
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
    /// A line for each edge, from the bottom of a box to the top of another. Straight and curved pieces alternate.
    std::vector<std::vector<Point>> lines;
    LayeredGraph::Size size;
};

/// By node. Throws std::bad_alloc, as all here.
std::vector<uint32_t> layers_of(size_t nodes, std::span<const LayeredGraph::Edge> edges);
LayeredPlaces place_layers(const LayeredGraph& graph);

}  // namespace gpo
