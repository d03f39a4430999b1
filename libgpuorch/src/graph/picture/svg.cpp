#include "graph/picture/svg.h"

#include <algorithm>

#include "base/text.h"
#include "base/xml.h"
#include "graph/picture/diagram_layout.h"

namespace gpo {

namespace {

// Colours twice, and no variables: converters to other formats know none.
constexpr const char* kDiagramStyle = R"(
text{font-family:system-ui,-apple-system,"Segoe UI",sans-serif;font-size:11px;fill:#52514e}
.h{font-size:16px;font-weight:600}.h,.l,.t{fill:#0b0b0b}.l{font-size:13px;font-weight:600}.t{font-weight:600}
.q{fill:#9a5300}.p{fill:#fcfcfb}.n{fill:#fff;stroke:#d5d3ca}.b{fill:#f4f3ef;stroke:#e1e0d9}
.e,.r{fill:none;stroke:#8b8981;stroke-width:1.3}.r{stroke-dasharray:4 3}.a{fill:#8b8981}
.c0{fill:#138a5f}.c1{fill:#2a78d6}.c2{fill:#b5519b}.c3{fill:#0f8b9d}.c4{fill:#c98a00}.c5{fill:#7a63c9}.c6{fill:#4a3aa7}
.c7{fill:#8b8981}
@media(prefers-color-scheme:dark){text{fill:#c3c2b7}.h,.l,.t{fill:#fff}.q{fill:#f0ab5c}.p{fill:#1a1a19}
.n{fill:#242422;stroke:#4a4a46}.b{fill:#1f1f1e;stroke:#383835}.e,.r{stroke:#8b8981}
.c0{fill:#23a878}.c1{fill:#4c94ea}.c2{fill:#d077b8}.c3{fill:#35b5c8}.c4{fill:#e0a526}.c5{fill:#a393e8}.c6{fill:#9085e9}}
)";

constexpr int kMargin = 14, kStripe = 5, kInset = 12, kTextLine = 15, kLabelLine = 18, kTitleLine = 16;
constexpr int kSmallText = 11, kLabelSize = 13, kHeadSize = 16;
constexpr size_t kLongestText = 48;  // characters of a text in a box

/// How wide a text is at most, in a font that isn't known: letters are as wide as those of DejaVu Sans.
int width_of(std::string_view words, int size) {
    double width = 0;
    for (size_t at = 0; at < words.size();) {
        const auto bytes = std::max<size_t>(utf8_bytes(words, at), 1);
        const char c = words[at];
        if (bytes > 2)
            width += 1.05;
        else if (std::string_view(" .,:;'`|!ijlI()[]/").find(c) != std::string_view::npos)
            width += 0.40;
        else if (std::string_view("mwMW@%").find(c) != std::string_view::npos)
            width += 1.0;
        else
            width += (c >= 'A' && c <= 'Z') ? 0.75 : 0.64;
        at += bytes;
    }
    return static_cast<int>(width * size) + 1;
}

std::string shortened(const std::string& words) {
    size_t at = 0;
    for (size_t count = 0; count < kLongestText && at < words.size(); ++count)
        at += std::max<size_t>(utf8_bytes(words, at), 1);
    return at < words.size() ? words.substr(0, at) + "…" : words;
}

/// Bold letters are wider.
int bold(int width) { return width + width / 8; }

class DiagramSvg {
public:
    explicit DiagramSvg(const Diagram& diagram) : diagram_(diagram) {}
    std::string draw();

private:
    static DiagramLayout::Size size_of(const Diagram::Node& node);
    static DiagramLayout::Size size_of(const Diagram::Body& body);
    void say(const char* look, int x, int y, const std::string& words) {
        out_ += text("<text class=\"", look, "\" x=\"", x, "\" y=\"", y, "\">", xml_text(words), "</text>\n");
    }
    void box(const char* look, const DiagramLayout::Box& box) {
        out_ += text("<rect class=\"", look, "\" x=\"", box.x, "\" y=\"", box.y, "\" width=\"", box.width,
                     "\" height=\"", box.height, "\" rx=\"5\"/>\n");
    }
    void body(uint32_t number);
    void node(uint32_t number);
    void line(const std::vector<DiagramLayout::Point>& line);
    void loop(const DiagramLayout::Box& body);

    const Diagram& diagram_;
    DiagramLayout layout_;
    std::string out_;
};

DiagramLayout::Size DiagramSvg::size_of(const Diagram::Node& node) {
    int width = bold(width_of(text(node.number, "  ", node.kind), kSmallText)), height = 9 + kTextLine;
    const auto add = [&](const std::string& words, int size, int line) {
        width = std::max(width, width_of(shortened(words), size));
        height += line;
    };
    if (!node.label.empty()) add(node.label, kLabelSize + 2, kLabelLine);
    for (const std::string& fact : node.facts) add(fact, kSmallText, kTextLine);
    for (const std::string& parameter : node.parameters) add(parameter, kSmallText, kTextLine);
    return {width + kStripe + 2 * kInset, height};
}

DiagramLayout::Size DiagramSvg::size_of(const Diagram::Body& body) {
    return {bold(width_of(body.title, kSmallText)), body.title.empty() ? 0 : kTitleLine};
}

std::string title_of(const Diagram::Node& node) {
    return text("node ", node.number, ", ", node.kind, node.label.empty() ? "" : text(" `", node.label, "`"));
}

void DiagramSvg::node(uint32_t number) {
    const Diagram::Node& node = diagram_.nodes[number];
    const DiagramLayout::Box& at = layout_.nodes[number];
    const std::string look = text("c", static_cast<int>(node.look));
    out_ += text("<g><title>", xml_text(title_of(node)), "</title>\n");
    box("n", at);
    out_ += text("<rect class=\"", look, "\" x=\"", at.x, "\" y=\"", at.y, "\" width=\"", kStripe, "\" height=\"",
                 at.height, "\" rx=\"2\"/>\n");
    const int x = at.x + kStripe + kInset;
    int y = at.y + kTextLine + 1;
    out_ += text("<text class=\"", node.bodies.empty() ? "k" : "t", "\" x=\"", x, "\" y=\"", y, "\"><tspan class=\"t ",
                 look, "\">", node.number, "</tspan>&#160; ", xml_text(node.kind), "</text>\n");
    if (!node.label.empty()) say("l", x, y += kLabelLine - 1, shortened(node.label));
    for (const std::string& fact : node.facts) say("f", x, y += kTextLine, shortened(fact));
    for (const std::string& parameter : node.parameters) say("q", x, y += kTextLine, shortened(parameter));
    for (const uint32_t inner : node.bodies) body(inner);
    out_ += "</g>\n";
}

void DiagramSvg::body(uint32_t number) {
    const Diagram::Body& body = diagram_.bodies[number];
    const DiagramLayout::Box& at = layout_.bodies[number];
    if (number) box("b", at);
    if (!body.title.empty()) say("t", at.x + kInset, at.y + kTitleLine, body.title);
    if (body.repeats) loop(at);
    for (const uint32_t each : body.nodes) node(each);
}

// From the end of a body back to its beginning.
void DiagramSvg::loop(const DiagramLayout::Box& body) {
    const int right = body.x + body.width, top = body.y + 12, bottom = body.y + std::max(body.height - 12, 18);
    out_ += text("<path class=\"r\" d=\"M ", right, " ", bottom, " h 8 q 5 0 5 -5 V ", top + 5,
                 " q 0 -5 -5 -5 h -3\"/>\n", "<path class=\"a\" d=\"M ", right, " ", top, " l 7 -4 v 8 z\"/>\n");
}

void DiagramSvg::line(const std::vector<DiagramLayout::Point>& line) {
    out_ += text("<path class=\"e\" d=\"M ", line[0].x, " ", line[0].y);
    for (size_t i = 1; i < line.size(); ++i) {
        const DiagramLayout::Point &from = line[i - 1], &to = line[i];
        if (i % 2) {
            if (to.y != from.y) out_ += text(" V ", to.y);
            continue;
        }
        const int end = i + 1 == line.size() ? to.y - 5 : to.y;  // the arrow's tip is at its end
        if (to.x == from.x)
            out_ += text(" V ", end);
        else
            out_ +=
                text(" C ", from.x, " ", (from.y + end) / 2, " ", to.x, " ", (from.y + end) / 2, " ", to.x, " ", end);
    }
    out_ += text("\"/>\n<path class=\"a\" d=\"M ", line.back().x, " ", line.back().y, " l -4 -7 h 8 z\"/>\n");
}

std::string DiagramSvg::draw() {
    std::vector<DiagramLayout::Size> texts, titles;
    for (const Diagram::Node& node : diagram_.nodes) texts.push_back(size_of(node));
    for (const Diagram::Body& body : diagram_.bodies) titles.push_back(size_of(body));
    layout_ = lay_out(diagram_, texts, titles);
    constexpr int kHead = 44;
    const std::string title = shortened(diagram_.title);
    const int width =
        std::max({layout_.bodies[0].width, bold(width_of(title, kHeadSize)), width_of(diagram_.subtitle, kSmallText)}) +
        2 * kMargin;
    const int height = layout_.bodies[0].height + kHead + kMargin;
    out_ =
        text("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height, "\" viewBox=\"0 0 ",
             width, " ", height, "\" role=\"img\">\n<title>", xml_text(diagram_.title), "</title>\n<style>",
             kDiagramStyle, "</style>\n<rect class=\"p\" width=\"", width, "\" height=\"", height, "\"/>\n");
    say("h", kMargin, 24, title);
    say("s", kMargin, 42, diagram_.subtitle);
    out_ += text("<g transform=\"translate(", (width - layout_.bodies[0].width) / 2, " ", kHead, ")\">\n");
    body(0);
    for (const std::vector<DiagramLayout::Point>& each : layout_.lines) line(each);
    out_ += "</g>\n</svg>\n";
    return std::move(out_);
}

}  // namespace

std::string svg_of(Diagram diagram) {
    name_long_lines(diagram);
    return DiagramSvg(diagram).draw();
}

}  // namespace gpo
