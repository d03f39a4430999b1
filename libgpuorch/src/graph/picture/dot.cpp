#include "graph/picture/dot.h"

#include <array>

#include "base/text.h"
#include "base/xml.h"

namespace gpo {

namespace {

/// For a label: Graphviz replaces XML's entities, and has escapes of its own, which begin with a backslash.
std::string dot_text(std::string_view words) {
    std::string out;
    for (const char c : xml_text(words)) {
        if (c == '\\') out += '\\';
        out += c;
    }
    return out;
}

constexpr const char* kPoint = " [style=invis, shape=point, width=0, height=0, label=\"\"];\n";

class DiagramDot {
public:
    explicit DiagramDot(const Diagram& diagram) : diagram_(diagram) {}
    std::string draw();

private:
    void body(uint32_t number);
    void node(uint32_t number);
    void conditional(uint32_t number);
    void inner_body(uint32_t number, uint32_t of);
    void edge(const std::string& from, const std::string& to, const std::string& attributes);
    void edges_to(uint32_t number);
    std::string end_of(uint32_t number) const;
    std::string label_of(const Diagram::Node& node) const;
    static const char* color_of(Diagram::Look look) noexcept;

    const Diagram& diagram_;
    std::string out_, edges_;  // edges come last: a cluster gets all nodes that it names
};

const char* DiagramDot::color_of(Diagram::Look look) noexcept {
    constexpr std::array kColors = {"#138a5f", "#2a78d6", "#b5519b", "#0f8b9d",
                                    "#c98a00", "#7a63c9", "#4a3aa7", "#8b8981"};
    return kColors[static_cast<size_t>(look)];
}

// Lines that begin at the left.
std::string DiagramDot::label_of(const Diagram::Node& node) const {
    std::string out = text(node.number, "  ", dot_text(node.kind), "\\l");
    if (!node.label.empty()) out += text(dot_text(node.label), "\\l");
    for (const std::string& fact : node.facts) out += text(dot_text(fact), "\\l");
    for (const std::string& parameter : node.parameters) out += text(dot_text(parameter), "\\l");
    return out;
}

void DiagramDot::node(uint32_t number) {
    const Diagram::Node& node = diagram_.nodes[number];
    if (!node.bodies.empty()) return conditional(number);
    out_ += text("n", number, " [label=\"", label_of(node), "\", color=\"", color_of(node.look), "\"];\n");
}

void DiagramDot::conditional(uint32_t number) {
    const Diagram::Node& node = diagram_.nodes[number];
    out_ += text("subgraph cluster_n", number, " {\nlabel=\"\"; style=rounded; color=\"", color_of(node.look), "\";\nn",
                 number, " [label=\"", label_of(node), "\", color=\"", color_of(node.look), "\"];\n");
    for (const uint32_t inner : node.bodies) inner_body(inner, number);
    out_ += text("end", number, kPoint, "}\n");
}

void DiagramDot::inner_body(uint32_t number, uint32_t of) {
    const Diagram::Body& body = diagram_.bodies[number];
    out_ += text("subgraph cluster_b", number, " {\nlabel=\"", dot_text(body.title),
                 body.repeats ? ", again and again" : "", "\"; style=\"rounded,dashed\"; color=\"#8b8981\";\nbegin",
                 number, kPoint);
    for (const uint32_t each : body.nodes) node(each);
    out_ += "}\n";
    edge(text("n", of), text("begin", number), text("style=dashed, lhead=cluster_b", number));
    edge(text("begin", number), text("end", of), "style=invis");
    for (const uint32_t each : body.nodes) {  // between the beginning and the end, in any order
        edge(text("begin", number), text("n", each), "style=invis");
        edge(end_of(each), text("end", of), "style=invis");
    }
}

std::string DiagramDot::end_of(uint32_t number) const {
    return text(diagram_.nodes[number].bodies.empty() ? "n" : "end", number);
}

void DiagramDot::edge(const std::string& from, const std::string& to, const std::string& attributes) {
    edges_ += text(from, " -> ", to, attributes.empty() ? "" : text(" [", attributes, "]"), ";\n");
}

// The lines of a conditional node begin and end at its box.
void DiagramDot::edges_to(uint32_t number) {
    const Diagram::Node& node = diagram_.nodes[number];
    for (const uint32_t before : node.after) {
        std::string attributes;
        if (!diagram_.nodes[before].bodies.empty()) attributes = text("ltail=cluster_n", before);
        if (!node.bodies.empty()) attributes += text(attributes.empty() ? "" : ", ", "lhead=cluster_n", number);
        edge(end_of(before), text("n", number), attributes);
    }
}

std::string DiagramDot::draw() {
    out_ = text("digraph {\ngraph [label=\"", dot_text(diagram_.title), "\\n", dot_text(diagram_.subtitle),
                "\", labelloc=t, compound=true, fontname=\"sans-serif\"];\n"
                "node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];\nedge [color=\"#8b8981\"];\n");
    for (const uint32_t each : diagram_.bodies[0].nodes) node(each);
    for (uint32_t each = 0; each < diagram_.nodes.size(); ++each) edges_to(each);
    return text(out_, edges_, "}\n");
}

}  // namespace

std::string dot_of(const Diagram& diagram) { return DiagramDot(diagram).draw(); }

}  // namespace gpo
