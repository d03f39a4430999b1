// Layout and printing of pictures of graphs: boxes apart, lines around them, texts as their formats want them.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/text.h"
#include "graph/picture/dot.h"
#include "graph/picture/diagram_layout.h"
#include "graph/picture/svg.h"

using gpo::Diagram;
using gpo::LayeredGraph;
using gpo::LayeredPlaces;
using gpo::text;

namespace {

using Edges = std::vector<LayeredGraph::Edge>;

LayeredPlaces placed(size_t nodes, Edges edges) {
    return gpo::place_layers({std::vector<LayeredGraph::Size>(nodes, {100, 40}), std::move(edges)});
}

Diagram diagram_of(const std::vector<std::vector<uint32_t>>& after) {
    Diagram out;
    out.title = "a title";
    out.bodies.resize(1);
    for (uint32_t i = 0; i < after.size(); ++i) {
        Diagram::Node node;
        node.number = i + 1;
        node.kind = "kernel";
        node.after = after[i];
        out.nodes.push_back(node);
        out.bodies[0].nodes.push_back(i);
    }
    return out;
}

size_t found_in(const std::string& in, const std::string& part) {
    size_t found = 0;
    for (size_t at = in.find(part); at != std::string::npos; at = in.find(part, at + part.size())) ++found;
    return found;
}

}  // namespace

TEST_CASE("a node's layer is the longest way to it, and what comes after nothing is just above what needs it") {
    const Edges edges = {{0, 1}, {1, 2}, {0, 2}, {3, 2}};
    CHECK(gpo::layers_of(5, edges) == std::vector<uint32_t>{0, 1, 2, 1, 0});
}

TEST_CASE("a graph without nodes takes no room") {
    const LayeredPlaces places = placed(0, {});
    CHECK(places.nodes.empty());
    CHECK(places.size.width == 0);
    CHECK(places.size.height == 0);
}

TEST_CASE("a line that passes a node goes around it") {
    const LayeredPlaces places = placed(3, {{0, 1}, {1, 2}, {0, 2}});
    const std::vector<LayeredPlaces::Point>& line = places.lines[2];
    REQUIRE(line.size() == 5);  // begin, end of the first layer, both ends of the second, end
    for (const size_t passing : {2, 3}) {
        const bool left = line[passing].x<places.nodes[1].x, right = line[passing].x> places.nodes[1].x + 100;
        CHECK((left || right));
    }
    CHECK(line[2].y == places.nodes[1].y);
    CHECK(line[3].y == places.nodes[1].y + 40);
}

TEST_CASE("lines from one node share their way") {
    const LayeredPlaces places = placed(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 3}, {0, 4}});
    const auto same = [](const LayeredPlaces::Point& a, const LayeredPlaces::Point& b) {
        return a.x == b.x && a.y == b.y;
    };
    CHECK(std::equal(places.lines[4].begin(), places.lines[4].end() - 1, places.lines[5].begin(), same));
}

TEST_CASE("nodes of one layer stay apart however many there are") {
    Edges edges;
    for (uint32_t i = 1; i <= 40; ++i) edges.push_back({0, i});
    const LayeredPlaces places = placed(41, edges);
    std::vector<int> lefts;
    for (uint32_t i = 1; i <= 40; ++i) {
        CHECK(places.nodes[i].y == places.nodes[1].y);
        lefts.push_back(places.nodes[i].x);
    }
    std::sort(lefts.begin(), lefts.end());
    for (size_t i = 1; i < lefts.size(); ++i) CHECK(lefts[i] - lefts[i - 1] > 100);
    CHECK(lefts[0] >= 0);
    CHECK(places.size.width >= lefts.back() + 100);
}

TEST_CASE("where lines would pass too many nodes, nodes say what they come after instead") {
    std::vector<std::vector<uint32_t>> after(600);
    for (uint32_t i = 1; i < 600; ++i) after[i] = {i - 1};
    for (uint32_t i = 0; i < 598; ++i) after[599].push_back(i);
    Diagram diagram = diagram_of(after);
    gpo::name_long_lines(diagram);
    CHECK(diagram.nodes[599].after == std::vector<uint32_t>{598});
    CHECK(diagram.nodes[599].facts ==
          std::vector<std::string>{"also after 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 586 more"});
    CHECK(diagram.nodes[598].after == std::vector<uint32_t>{597});
    CHECK(diagram.nodes[598].facts.empty());
    const std::string svg = gpo::svg_of(diagram_of(after));
    CHECK(found_in(svg, "<path class=\"e\"") == 599);
    CHECK(found_in(svg, "also after 1, 2, ") == 1);
}

TEST_CASE("a long text is cut in its box, and whole in the box's title") {
    Diagram diagram = diagram_of({{}});
    diagram.nodes[0].label = std::string(30, 'a') + "\xc3\xa4" + std::string(30, 'b');
    const std::string svg = gpo::svg_of(diagram);
    CHECK(found_in(svg, diagram.nodes[0].label) == 1);
    CHECK(found_in(svg, text(">", std::string(30, 'a'), "\xc3\xa4", std::string(17, 'b'), "\xe2\x80\xa6</text>")) == 1);
    CHECK(found_in(gpo::dot_of(diagram), diagram.nodes[0].label) == 1);
}

TEST_CASE("what has a meaning for Graphviz or XML is written out") {
    Diagram diagram = diagram_of({{}});
    diagram.title = "\"<&>\" \\N \x01";
    diagram.nodes[0].label = "\\l\"";
    const std::string dot = gpo::dot_of(diagram), svg = gpo::svg_of(diagram);
    CHECK(found_in(dot, "label=\"&quot;&lt;&amp;&gt;&quot; \\\\N \xef\xbf\xbd\\n") == 1);
    CHECK(found_in(dot, "1  kernel\\l\\\\l&quot;\\l\"") == 1);
    CHECK(found_in(svg, "<title>&quot;&lt;&amp;&gt;&quot; \\N \xef\xbf\xbd</title>") == 1);
}

TEST_CASE("lines to and from a conditional node are those of its box") {
    Diagram diagram = diagram_of({{}, {0}, {1}});
    diagram.bodies.push_back({"then", false, {}});
    diagram.nodes[1].bodies = {1};
    const std::string dot = gpo::dot_of(diagram);
    CHECK(found_in(dot, "n0 -> n1 [lhead=cluster_n1];") == 1);
    CHECK(found_in(dot, "end1 -> n2 [ltail=cluster_n1];") == 1);
    CHECK(found_in(dot, "label=\"then\"") == 1);
}
