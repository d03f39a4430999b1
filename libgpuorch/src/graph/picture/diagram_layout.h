// Where everything of a diagram is, in pixels. A conditional node is a box around its own text and the boxes of its
// bodies, which are beside each other below the text.
#pragma once

#include <vector>

#include "graph/picture/diagram.h"
#include "graph/picture/layered.h"

namespace gpo {

struct DiagramLayout {
    using Size = LayeredGraph::Size;
    using Point = LayeredPlaces::Point;
    struct Box {
        int x = 0, y = 0, width = 0, height = 0;
    };
    std::vector<Box> nodes, bodies;         // bodies[0]: the whole
    std::vector<std::vector<Point>> lines;  // as LayeredPlaces::lines
};

/// `texts` and `titles`: how much room the texts of nodes and the titles of bodies take. Throws std::bad_alloc.
DiagramLayout lay_out(const Diagram& diagram, const std::vector<DiagramLayout::Size>& texts,
                      const std::vector<DiagramLayout::Size>& titles);

/// Lines that pass many layers cost room. If too many layers would be passed, the lines that pass layers are left out,
/// and the nodes at their ends get a fact that names the earlier nodes.
void name_long_lines(Diagram& diagram);

inline constexpr int kLoopWidth = 20;  // beside a body that is run again and again, for the arrow back

}  // namespace gpo
