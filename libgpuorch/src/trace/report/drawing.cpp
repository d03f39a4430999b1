// Draws the SVG. Heights are in pixels. Everything along the time axis is in hundredths of a per cent of the width, so
// one file reads well on a phone and on a wide screen. A lane is an inner svg, stretched to the width, with the text
// beside it.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "base/xml.h"
#include "trace/report/picture.h"
#include "trace/report/words.h"

namespace gpo::trace {

namespace {

constexpr uint64_t kWide = 100'000;  // units of a lane's inner width
constexpr size_t kDrawn = 3'000;  // pieces
constexpr size_t kMarksDrawn = 300;
constexpr size_t kThreads = 8, kStreams = 24;

constexpr const char* kShapes = R"(
svg{font-family:system-ui,-apple-system,"Segoe UI",sans-serif}text{font-size:11px}
.h{font-size:16px;font-weight:600}.s{font-size:13px;font-weight:600}.e{text-anchor:end}.m{text-anchor:middle}
.g{stroke-width:1}.i{fill:none;stroke-dasharray:3 2}.i,.t,.b{vector-effect:non-scaling-stroke;stroke-width:1}
.j{shape-rendering:crispEdges}.k{vector-effect:non-scaling-stroke;stroke-width:1}.r{stroke-width:2}
.y{display:none}@media(max-width:700px){.x{display:none}.y{display:inline}.h{font-size:14px}}
)";

struct Colour {
    const char *light, *dark;
};
constexpr Colour kPage{"#fcfcfb", "#1a1a19"}, kInk{"#0b0b0b", "#ffffff"}, kSoft{"#52514e", "#c3c2b7"},
    kGrid{"#e1e0d9", "#383835"}, kLane{"#f1f0ec", "#242422"}, kBad{"#d03b3b", "#ee6666"};
constexpr Colour kWork[] = {   // as Picture::Look
    {"#2a78d6", "#4c94ea"}, {"#d9541e", "#ea7440"}, {"#4a3aa7", "#9085e9"}, {"#b5519b", "#d077b8"},
    {"#138a5f", "#23a878"}, {"#c98a00", "#e0a526"}, {"#8b8981", "#77756e"}, kBad,
    {"#5f7390", "#8699b6"}, {"#0f8b9d", "#35b5c8"}, {"#6b7a00", "#94a52a"}, {"#8a5a2b", "#c98f58"},
};

/// The colours' values: variables are known to hardly any viewer but browsers.
std::string colours(const char* Colour::* shade) {
    const auto of = [shade](const Colour& colour) { return colour.*shade; };
    std::string out = text("text{fill:", of(kSoft), "}.h,.s,.n{fill:", of(kInk), "}.w{fill:#ffffff}.p{fill:", of(kPage),
                           "}.l{fill:", of(kLane), "}.g{stroke:", of(kGrid), "}\n");
    for (size_t i = 0; i < std::size(kWork); ++i)
        out += text(".c", i, "{fill:", of(kWork[i]), ";stroke:", of(kWork[i]), "}");
    return text(out, "\n.i{stroke:", of(kBad), "}.b{stroke:", of(kLane), "}.o,.j{stroke:none}.k{stroke:", of(kSoft),
                "}.r{stroke:", of(kBad), "}\n");
}

std::string style() {
    return text(kShapes, colours(&Colour::light), "@media(prefers-color-scheme:dark){\n", colours(&Colour::dark),
                "}\n");
}

/// The label of a time on the axis, a round number.
std::string axis_text(double ns) {
    if (ns < 1e3) return ns == 0 ? "0" : formatted("%.0f ns", ns);
    if (ns < 1e6) return formatted("%g us", ns / 1e3);
    if (ns < 1e9) return formatted("%g ms", ns / 1e6);
    return formatted("%g s", ns / 1e9);
}

/// 0.01 % steps: "12.34%".
std::string per_cent(double share) {
    std::string out = formatted("%.2f", 100 * share);
    while (out.ends_with('0')) out.pop_back();
    if (out.ends_with('.')) out.pop_back();
    return out + "%";
}

}  // namespace

class Drawing {
public:
    Drawing(Picture& picture, const Picture::About& about) : picture_(picture), about_(about) {}
    std::string draw();

private:
    using Look = Picture::Look;
    using Piece = Picture::Piece;
    using Row = Picture::Row;
    static constexpr size_t kLooks = static_cast<size_t>(Look::count);
    static constexpr std::array<const char*, kLooks> kNames = {
        "copy in",     "copy out",      "copy on device", "fill",  "kernel",    "held on the host", "call",
        "failed call", "several kinds", "callback",       "graph", "collective"};
    static_assert(std::size(kWork) == kLooks);

    void find_range();
    std::string subtitle() const;
    void thin_out();
    double share(uint64_t at) const {
        return static_cast<double>(std::clamp(at, first_, last_) - first_) / static_cast<double>(last_ - first_);
    }
    uint64_t unit(uint64_t at) const { return static_cast<uint64_t>(share(at) * kWide + 0.5); }
    void space(int height) { y_ += height; }
    void say(const char* look, std::string_view x, std::string_view words) {
        body_ += text("<text class=\"", look, "\" x=\"", x, "\" y=\"", y_, "\">", xml_text(words), "</text>\n");
    }
    void label(std::string_view left, std::string_view right, bool heading = false);
    void open_lane(int height);
    void close_lane(int height);
    void piece(const Piece& piece, int height);
    static std::string of_template(const Piece& piece);
    std::string title_of(const Piece& piece) const;
    static bool has_name(Look look) {
        return look == Look::kernel || look == Look::graph || look == Look::collective;
    }
    void words_in(const Row& row, int height);
    void axis(int top);
    void devices();
    void idle(const DeviceFigures& figures);
    void threads();
    void marks();
    void legend();

    Picture& picture_;
    const Picture::About& about_;
    uint64_t first_ = 0, last_ = 1;
    int y_ = 0;
    std::string body_;
    std::array<bool, kLooks> seen_{};
    bool idle_seen_ = false, paler_seen_ = false, completions_seen_ = false, serialising_seen_ = false;
};

// From the first begin of GPU work to its last end, if there is any: earlier time, such as compiling kernels, would
// leave no room for the work.
void Drawing::find_range() {
    first_ = UINT64_MAX;
    last_ = 0;
    const auto look = [&](const Row& row) {
        for (const Piece& piece : row.pieces) {
            first_ = std::min(first_, piece.begin);
            last_ = std::max(last_, piece.end);
        }
    };
    for (const auto& [device, looks] : picture_.engines_)
        for (const auto& [kind, row] : looks) look(row);
    if (first_ > last_)
        for (const auto& [thread, row] : picture_.threads_) look(row);
    if (first_ > last_) {
        first_ = about_.start;
        last_ = about_.end;
    }
    const uint64_t margin = std::max<uint64_t>((last_ - first_) / 100, 1);
    first_ -= std::min(margin, first_ - std::min(about_.start, first_));
    last_ += margin;
}

std::string Drawing::subtitle() const {
    const auto all = static_cast<double>(about_.end - about_.start), shown = static_cast<double>(last_ - first_);
    std::string out = text(counts_text(about_.counts), " in ", time_text(all));
    if (shown < 0.9 * all) {
        const auto from = static_cast<double>(first_ - std::min(first_, about_.start));
        out += text(", shown: ", time_text(shown),
                    from > 0.01 * all ? text(" from ", time_text(from), " on") : std::string());
    }
    if (about_.counts.dropped) out += text(", ", about_.counts.dropped, " records lost");
    return out;
}

void Drawing::thin_out() {
    picture_.each([&](std::vector<Piece>& pieces) {
        std::erase_if(pieces, [&](const Piece& piece) { return piece.end < first_ || piece.begin > last_; });
    });
    // Joins pieces that are narrower than a third of a pixel on a wide screen. If more than kDrawn pieces are left,
    // joins wider pieces, up to a fiftieth of the width.
    size_t count = SIZE_MAX;
    for (uint64_t quantum = (last_ - first_) / 4000; count > kDrawn && quantum < (last_ - first_) / 50;
         quantum += quantum / 2 + 1) {
        count = 0;
        picture_.each([&](std::vector<Piece>& pieces) {
            Picture::join(pieces, quantum);
            count += pieces.size();
        });
    }
}

void Drawing::label(std::string_view left, std::string_view right, bool heading) {
    space(heading ? 20 : 15);
    say(heading ? "s" : "n", "0", left);
    if (!right.empty()) say("e", "100%", right);
    space(heading ? 4 : 3);
}

void Drawing::open_lane(int height) {
    body_ +=
        text("<svg y=\"", y_, "\" width=\"100%\" height=\"", height, "\" viewBox=\"0 0 ", kWide, " ", height,
             "\" preserveAspectRatio=\"none\">\n<rect class=\"l\" width=\"", kWide, "\" height=\"", height, "\"/>\n");
}

void Drawing::close_lane(int height) {
    body_ += "</svg>\n";
    space(height + 2);
}

// A graph without a label of its own has its template's label.
std::string Drawing::of_template(const Piece& piece) {
    if (!*piece.graph_template || std::string_view(piece.graph_template) == piece.label) return "";
    return text(" of ", named("template", piece.graph_template));
}

std::string Drawing::title_of(const Piece& piece) const {
    std::string out;
    if (piece.count > 1)
        out = text(piece.count, " x ", kNames[static_cast<size_t>(piece.look)], ", ",
                   time_text(static_cast<double>(piece.busy)), " of ",
                   time_text(static_cast<double>(piece.end - piece.begin)));
    else
        out = text(named(piece.kind, piece.label), of_template(piece), ", ",
                   time_text(static_cast<double>(piece.end - piece.begin)));
    if (piece.look == Look::held) return text(out, ", ", piece.bytes, " operations");
    if (piece.bytes && piece.look != Look::mixed)
        out += text(", ", bytes_text(static_cast<double>(piece.bytes)), ", ", speed_text(piece.bytes, piece.busy));
    if (piece.count == 1 && piece.look == Look::graph) out += text(", ", count_text(piece.nodes, "node"));
    if (piece.count == 1 && piece.number) out += text(", operation ", piece.number);
    return text(out, ", at ", time_text(static_cast<double>(piece.begin - std::min(piece.begin, about_.start))));
}

void Drawing::piece(const Piece& piece, int height) {
    const uint64_t from = unit(piece.begin), to = std::max(unit(piece.end), from + 8);
    seen_[static_cast<size_t>(piece.look)] = true;
    // The narrowest pieces get an outline of their own colour, or they would vanish. Wide pieces get an outline of the
    // background's colour, to separate neighbours. Joined pieces get no outline: no gap shows where two of them meet.
    const char* outline = to - from < 60 ? " t" : piece.count > 1 ? " j" : to - from < 2500 ? " o" : " b";
    const int top = piece.look == Look::held || piece.look == Look::callback ? height - 4 : 0;
    body_ += text("<rect class=\"c", static_cast<int>(piece.look), outline, "\" x=\"", from, "\"");
    if (top) body_ += text(" y=\"", top, "\"");
    body_ += text(" width=\"", to - from, "\" height=\"", height - top, "\"");
    const double busy =
        static_cast<double>(piece.busy) / static_cast<double>(std::max<uint64_t>(piece.end - piece.begin, 1));
    if (piece.count > 1 && busy < 0.9) {
        paler_seen_ = true;
        body_ += text(" opacity=\"", formatted("%.2f", 0.3 + 0.7 * busy), "\"");
    }
    body_ += text("><title>", xml_text(title_of(piece)), "</title></rect>\n");
}

// Names of kernels and graphs in pieces that have room for them.
void Drawing::words_in(const Row& row, int height) {
    for (const Piece& piece : row.pieces) {
        const double width = share(piece.end) - share(piece.begin);
        if (width < 0.08 || piece.count > 1) continue;
        body_ +=
            text("<svg x=\"", per_cent(share(piece.begin)), "\" y=\"", y_, "\" width=\"", per_cent(width),
                 "\" height=\"", height, "\" pointer-events=\"none\"><text class=\"w\" x=\"5\" y=\"", height / 2 + 4,
                 "\">", xml_text(*piece.label && has_name(piece.look) ? piece.label : piece.kind), "</text></svg>\n");
    }
}

void Drawing::axis(int top) {
    const double range = static_cast<double>(last_ - first_);
    double step = 1;
    while (step * 10 <= range / 4) step *= 10;
    for (const double factor : {5.0, 2.0})
        if (step * factor <= range / 4) {
            step *= factor;
            break;
        }
    const auto start = static_cast<double>(first_ - std::min(first_, about_.start));
    std::string lines;
    int count = 0;
    for (double at = std::ceil(start / step) * step; at <= start + range; at += step, ++count) {
        const double x = (at - start) / range;
        const char* anchor = x < 0.06 ? "" : x > 0.94 ? " e" : " m";
        lines += text("<line class=\"g\" x1=\"", per_cent(x), "\" x2=\"", per_cent(x), "\" y1=\"", top, "\" y2=\"", y_,
                      "\"/><text class=\"", count % 2 ? "x" : "z", anchor, "\" x=\"", per_cent(x), "\" y=\"", top - 4,
                      "\">", axis_text(at), "</text>\n");
    }
    body_ = lines + body_;
}

void Drawing::idle(const DeviceFigures& figures) {
    const uint64_t span = figures.end - figures.begin;
    if (figures.gaps.empty() || span == 0) return;
    label("no engine works", text(percent(span - figures.any, span), ", longest ",
                                  time_text(static_cast<double>(figures.gaps[0].end - figures.gaps[0].begin))));
    open_lane(10);
    for (const Gap& gap : figures.gaps) {
        const uint64_t from = unit(gap.begin), to = std::max(unit(gap.end), from + 8);
        idle_seen_ = true;
        body_ += text("<rect class=\"i\" x=\"", from, "\" y=\"1\" width=\"", to - from,
                      "\" height=\"8\" pointer-events=\"all\"><title>gap of ",
                      time_text(static_cast<double>(gap.end - gap.begin)), ", after ", xml_text(gap.before),
                      ", before ", xml_text(gap.after), "</title></rect>\n");
    }
    close_lane(10);
}

void Drawing::devices() {
    for (const auto& [device, looks] : picture_.engines_) {
        const auto name = about_.devices.find(device);
        const auto found = about_.figures->find(device);
        const DeviceFigures* figures = found == about_.figures->end() ? nullptr : &found->second;
        std::string hidden;
        if (figures && figures->copying)
            hidden = formatted("%.0f %% of copying hidden",
                               100.0 * static_cast<double>(figures->hidden) / static_cast<double>(figures->copying));
        label(text("GPU ", device, name == about_.devices.end() ? std::string() : text(": ", name->second)), hidden,
              true);
        constexpr std::pair<Engine, Look> kOrder[] = {{Engine::copy_in, Look::copy_in},
                                                      {Engine::kernel, Look::kernel},
                                                      {Engine::kernel, Look::collective},
                                                      {Engine::graph, Look::graph},
                                                      {Engine::copy_out, Look::copy_out},
                                                      {Engine::copy_on_device, Look::copy_on_device},
                                                      {Engine::fill, Look::fill}};
        for (const auto& [engine, look] : kOrder) {
            const auto row = looks.find(look);
            if (row == looks.end()) continue;
            std::string right;
            if (look == Look::collective) {   // the engine's figures include other kernels
                right = count_text(row->second.all.count, "timed operation");
            } else if (figures) {
                const auto& f = figures->engines[static_cast<size_t>(engine)];
                right = text(percent(f.busy, figures->end - figures->begin), " busy");
                if (f.bytes && engine != Engine::fill)
                    right += text(", ", bytes_text(static_cast<double>(f.bytes)), " at ", speed_text(f.bytes, f.busy));
                else right += ", " + count_text(f.spans, "timed operation");
            }
            label(kNames[static_cast<size_t>(look)], right);
            const int height = engine == Engine::fill ? 8 : 18;
            open_lane(height);
            for (const Piece& p : row->second.pieces) piece(p, height);
            if (look == Look::collective) {
                body_ += "</svg>\n";
                words_in(row->second, height);
                space(height + 2);
            } else {
                close_lane(height);
            }
        }
        if (figures) idle(*figures);
        size_t drawn = 0, left_out = 0;
        for (const auto& [number, row] : picture_.streams_) {
            if (row.device != device || (row.pieces.empty() && row.strip.empty())) continue;
            if (++drawn > kStreams) {
                ++left_out;
                continue;
            }
            label(row.name.starts_with("stream ") ? row.name : text("stream ", row.name),
                  count_text(row.all.count, "timed operation"));
            open_lane(18);
            for (const Piece& p : row.pieces) piece(p, 18);
            for (const Piece& p : row.strip) piece(p, 18);
            body_ += "</svg>\n";
            words_in(row, 18);
            space(20);
        }
        if (left_out) label(text(left_out, " more streams are in the trace"), "");
    }
}

void Drawing::threads() {
    std::vector<std::pair<uint64_t, const Row*>> all;
    for (const auto& [number, row] : picture_.threads_) {
        uint64_t busy = 0;
        for (const Piece& p : row.pieces) busy += p.busy;
        for (const Piece& p : row.strip) busy += p.busy;
        if (!row.pieces.empty() || !row.strip.empty()) all.emplace_back(busy, &row);
    }
    if (all.empty() && picture_.completions_.empty() && picture_.serialising_.empty()) return;
    label("Host", "calls of the library, all of the trace's", true);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    const auto figures = [](const Picture::Count& calls, const Picture::Count& callbacks) {
        const auto counted = [](const Picture::Count& all, const char* what) {
            return all.count ? text(count_text(all.count, what), ", ", time_text(static_cast<double>(all.busy)))
                             : std::string();
        };
        return text(counted(calls, "call"), calls.count && callbacks.count ? "; " : "", counted(callbacks, "callback"));
    };
    if (all.size() > kThreads) all.resize(kThreads);
    for (const auto& [busy, row] : all) {
        label(row->name, figures(row->all, row->all_of_strip));
        open_lane(12);
        for (const Piece& p : row->pieces) piece(p, 12);
        for (const Piece& p : row->strip) piece(p, 12);
        close_lane(12);
    }
    // Threads without a lane, or without anything in the shown time.
    size_t left_out = 0;
    Picture::Count calls, callbacks;
    for (const auto& [number, row] : picture_.threads_) {
        const bool shown =
            std::any_of(all.begin(), all.end(), [of = &row](const auto& each) { return each.second == of; });
        if (shown || (!row.all.count && !row.all_of_strip.count)) continue;
        ++left_out;
        calls += row.all;
        callbacks += row.all_of_strip;
    }
    if (left_out)
        label(text(count_text(left_out, "more thread"), left_out == 1 ? " is" : " are", " in the trace"),
              figures(calls, callbacks));
}

void Drawing::marks() {
    const auto lane = [&](const char* name, uint64_t count, const char* look, size_t size, const auto& at,
                          const auto& words, bool& seen) {
        size_t inside = 0;
        for (size_t i = 0; i < size; ++i) inside += at(i) >= first_ && at(i) <= last_;
        if (inside == 0) return;
        seen = true;
        label(name, text(count, inside < size ? " in the whole trace" : ""));
        open_lane(10);
        const size_t step = inside / kMarksDrawn + 1;
        for (size_t i = 0; i < size; i += step) {
            if (at(i) < first_ || at(i) > last_) continue;
            body_ += text("<line class=\"", look, "\" x1=\"", unit(at(i)), "\" x2=\"", unit(at(i)),
                          "\" y1=\"0\" y2=\"10\"><title>", xml_text(words(i)), "</title></line>\n");
        }
        close_lane(10);
    };
    lane(
        "completions", picture_.completion_count_, "k", picture_.completions_.size(),
        [&](size_t i) { return picture_.completions_[i]; },
        [&](size_t i) {
            return text("completion at ", time_text(static_cast<double>(picture_.completions_[i] - about_.start)));
        },
        completions_seen_);
    lane(
        "serialising calls", picture_.serialising_count_, "k r", picture_.serialising_.size(),
        [&](size_t i) { return picture_.serialising_[i].at; }, [&](size_t i) { return picture_.serialising_[i].text; },
        serialising_seen_);
}

void Drawing::legend() {
    struct Item {
        std::string swatch;
        const char* words;
    };
    std::vector<Item> items;
    const auto box = [&](std::string_view look, const char* words, std::string_view more = "") {
        items.push_back(
            {text("<rect class=\"", look, "\" x=\"1\" y=\"3\" width=\"12\" height=\"10\"", more, "/>"), words});
    };
    const auto tick = [&](std::string_view look, const char* words) {
        items.push_back({text("<line class=\"", look, "\" x1=\"7\" x2=\"7\" y1=\"3\" y2=\"13\"/>"), words});
    };
    const char* work = nullptr;  // the class of the paler example
    constexpr std::array<const char*, kLooks> kClasses = {"c0", "c1", "c2", "c3", "c4",  "c5",
                                                          "c6", "c7", "c8", "c9", "c10", "c11"};
    for (const Look look : {Look::kernel, Look::collective, Look::graph, Look::copy_in, Look::copy_out,
                            Look::copy_on_device, Look::fill, Look::mixed, Look::held, Look::call, Look::failed,
                            Look::callback}) {
        const auto at = static_cast<size_t>(look);
        if (!seen_[at]) continue;
        if (!work) work = kClasses[at];
        box(kClasses[at], kNames[at]);
    }
    if (paler_seen_ && work) box(work, "paler: many short ones, darker where they overlap", " opacity=\"0.5\"");
    if (idle_seen_) box("i", "longest gaps");
    if (completions_seen_) tick("k", "completion");
    if (serialising_seen_) tick("k r", "serialising call");
    if (items.empty()) return;
    space(14);
    const int top = y_;
    const auto grid = [&](const char* when, size_t columns) {
        body_ += text("<g class=\"", when, "\">\n");
        for (size_t i = 0; i < items.size(); ++i) {
            const std::string x = per_cent(static_cast<double>(i % columns) / static_cast<double>(columns));
            const int y = top + static_cast<int>(i / columns) * 18;
            body_ += text("<svg x=\"", x, "\" y=\"", y, "\" width=\"", per_cent(1.0 / static_cast<double>(columns)),
                          "\" height=\"16\">", items[i].swatch, "<text x=\"18\" y=\"12\">", items[i].words,
                          "</text></svg>\n");
        }
        body_ += "</g>\n";
    };
    grid("x", std::min<size_t>(items.size(), 7));
    constexpr size_t kNarrow = 2;
    grid("y", kNarrow);
    y_ = top + static_cast<int>((items.size() + kNarrow - 1) / kNarrow) * 18;
}

std::string Drawing::draw() {
    find_range();
    thin_out();
    space(18);
    say("h", "0", about_.title);
    space(17);
    say("", "0", subtitle());
    space(20);
    const int top = y_;
    devices();
    threads();
    marks();
    axis(top);
    space(2);
    legend();
    space(8);
    return text("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%\" height=\"", y_ + 16,
                "\" role=\"img\">\n<title>", xml_text(about_.title), "</title>\n<style>", style(),
                "</style>\n<rect class=\"p\" width=\"100%\" height=\"100%\"/>\n"
                "<svg x=\"1.5%\" y=\"8\" width=\"97%\" height=\"",
                y_, "\" overflow=\"visible\">\n", body_, "</svg>\n</svg>\n");
}

std::string Picture::draw(const About& about) { return Drawing(*this, about).draw(); }

}  // namespace gpo::trace
