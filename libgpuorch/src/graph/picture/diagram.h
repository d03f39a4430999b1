// The content of a graph template's picture: texts, dependencies, and the bodies of nodes. layout.h finds the places;
// dot.h and svg.h print the formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpo {

struct Diagram {
    /// What a node does: decides its colour.
    enum class Look : uint8_t { kernel, copy, fill, host_call, event, comparison, conditional, other };
    struct Node {
        uint32_t number = 0;  // in its template or body, from 1
        Look look = Look::other;
        std::string kind, label;              // "kernel", "scale"; of a conditional node, `kind` is the condition
        std::vector<std::string> facts;       // "grid 16, block 256"
        std::vector<std::string> parameters;  // "factor → argument 1"
        std::vector<uint32_t> after;          // nodes of the same body
        std::vector<uint32_t> bodies;         // of a conditional node
    };
    struct Body {
        std::string title;     // "then", "case 2"
        bool repeats = false;  // of a while
        std::vector<uint32_t> nodes;
    };
    std::string title, subtitle;
    std::vector<Node> nodes;
    std::vector<Body> bodies;  // the first is the template itself
};

}  // namespace gpo
