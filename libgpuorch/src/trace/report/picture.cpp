// Stores what is to be drawn, in bounded memory. drawing.cpp draws it.
#include "trace/report/picture.h"

#include <algorithm>

#include "base/text.h"
#include "trace/report/words.h"

namespace gpo::trace {

Picture::Look Picture::look_of(const Span& span) noexcept {
    if (span.collective) return Look::collective;
    switch (span.engine) {
        case Engine::copy_in: return Look::copy_in;
        case Engine::copy_out: return Look::copy_out;
        case Engine::copy_on_device: return Look::copy_on_device;
        case Engine::fill: return Look::fill;
        case Engine::graph: return Look::graph;
        default: return Look::kernel;
    }
}

void Picture::thread(int number, std::string_view name) {
    Row& row = threads_[number];
    row.name = name.empty() ? text("thread ", number) : text(name, " (", number, ")");
}

void Picture::lane(uint32_t lane, int device, std::string_view name) {
    Row& row = streams_[lane];
    row.name = name;
    row.device = device;
}

void Picture::add(std::vector<Piece>& pieces, const Piece& piece) {
    // Mostly in order; pieces of several threads on one row are not.
    auto place = pieces.end();
    while (place != pieces.begin() && std::prev(place)->begin > piece.begin) --place;
    pieces.insert(place, piece);
    if (++pieces_ > kPieces) coarsen();
}

void Picture::span(const Span& span) {
    const Piece piece{span.begin, span.end, span.end - span.begin, span.bytes, span.number,        span.kind,
                      span.label, 1,        look_of(span),         span.nodes, span.graph_template};
    Row& stream = streams_[span.lane];
    ++stream.all.count;
    add(stream.pieces, piece);
    Row& engine = engines_[span.device][piece.look];
    engine.device = span.device;
    ++engine.all.count;
    add(engine.pieces, piece);
}

void Picture::call(int thread, const Record& call) {
    Row& row = threads_[thread];
    ++row.all.count;
    if (call.inside_call) return;  // only the outer call is drawn
    row.all.busy += call.end - call.begin;
    const Look look = call.status >= 10 ? Look::failed : Look::call;
    add(row.pieces, {call.begin, call.end, call.end - call.begin, 0, 0, call.name,
                     look == Look::failed ? gpo_status_name(call.status) : "", 1, look});
}

void Picture::held(const Record& held) {
    add(streams_[held.lane].strip,
        {held.begin, held.end, held.end - held.begin, held.bytes, 0, "held on the host", "", 1, Look::held});
}

void Picture::callback(int thread, const Record& callback) {
    Row& row = threads_[thread];
    ++row.all_of_strip.count;
    row.all_of_strip.busy += callback.end - callback.begin;
    add(row.strip,
        {callback.begin, callback.end, callback.end - callback.begin, 0, 0, callback.name, "", 1, Look::callback});
}

void Picture::serialising(const Record& mark) {
    ++serialising_count_;
    if (serialising_.size() == kMarks) return;
    std::string words = mark.name;
    if (mark.bytes) words += text(", ", mark.bytes, " bytes");
    if (mark.end != mark.begin) words += text(", ", time_text(static_cast<double>(mark.end - mark.begin)));
    serialising_.push_back({mark.begin, std::move(words)});
}

void Picture::completion(const Record& completion) {
    ++completion_count_;
    // Too many: keeps every second completion.
    if (completions_.size() == 2 * kMarks) {
        for (size_t i = 0; i < kMarks; ++i) completions_[i] = completions_[2 * i];
        completions_.resize(kMarks);
    }
    completions_.push_back(completion.begin);
}

// Joins neighbours that can't be distinguished: a short piece with the next piece behind a short gap. Pieces of
// different kinds are joined if both are short.
void Picture::join(std::vector<Piece>& pieces, uint64_t quantum) {
    if (pieces.empty()) return;
    size_t kept = 0;
    for (size_t i = 1; i < pieces.size(); ++i) {
        Piece& last = pieces[kept];
        const Piece& next = pieces[i];
        const uint64_t gap = next.begin - std::min(next.begin, last.end);
        const auto [shorter, longer] = std::minmax({last.end - last.begin, next.end - next.begin});
        const bool joins = next.look == last.look ? shorter < quantum && next.end - last.begin < 16 * quantum
                                                  : longer < quantum && is_work(last.look) && is_work(next.look);
        if (gap >= quantum || !joins) {
            pieces[++kept] = next;
            continue;
        }
        if (next.look != last.look) last.look = Look::mixed;
        last.end = std::max(last.end, next.end);
        last.busy += next.busy;
        last.bytes += next.bytes;
        last.count += next.count;
    }
    pieces.resize(kept + 1);
}

void Picture::coarsen() {
    uint64_t first = UINT64_MAX, last = 0;
    each([&](const std::vector<Piece>& pieces) {
        if (pieces.empty()) return;
        first = std::min(first, pieces.front().begin);
        last = std::max(last, pieces.back().end);
    });
    if (quantum_ == 0) quantum_ = std::max<uint64_t>((last - first) / 8192, 1);
    do {
        quantum_ *= 2;
        pieces_ = 0;
        each([&](std::vector<Piece>& pieces) {
            join(pieces, quantum_);
            pieces_ += pieces.size();
        });
    } while (pieces_ > kPieces / 2 && quantum_ < (last - first));
}

}  // namespace gpo::trace
