// Keeping what is to be drawn, in bounded memory. How it is drawn is in drawing.cpp.
#include "trace/picture.h"

#include <algorithm>

#include "core/text.h"

namespace gpo::trace {

Picture::Look Picture::look_of(Engine engine) noexcept {
    switch (engine) {
        case Engine::copy_in: return Look::copy_in;
        case Engine::copy_out: return Look::copy_out;
        case Engine::copy_on_device: return Look::copy_on_device;
        case Engine::fill: return Look::fill;
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

void Picture::add(Row& row, const Piece& piece) {
    // Mostly in order; pieces of several threads on one row are not.
    auto place = row.pieces.end();
    while (place != row.pieces.begin() && std::prev(place)->begin > piece.begin) --place;
    row.pieces.insert(place, piece);
    if (++pieces_ > kPieces) coarsen();
}

void Picture::span(const Span& span) {
    const Piece piece{span.begin, span.end, span.end - span.begin, span.bytes, span.number, span.kind,
                      span.label, 1,        look_of(span.engine)};
    add(streams_[span.lane], piece);
    Row& engine = engines_[span.device][piece.look];
    engine.device = span.device;
    add(engine, piece);
}

void Picture::call(int thread, const Record& call) {
    const Look look = call.status >= 10 ? Look::failed : Look::call;
    add(threads_[thread], {call.begin, call.end, call.end - call.begin, 0, 0, call.name,
                           look == Look::failed ? gpo_status_name(call.status) : "", 1, look});
}

void Picture::held(const Record& held) {
    add(streams_[held.lane],
        {held.begin, held.end, held.end - held.begin, held.bytes, 0, "held on the host", "", 1, Look::held});
}

void Picture::serialising(int thread, const Record& mark) {
    static_cast<void>(thread);
    ++serialising_count_;
    if (serialising_.size() < kMarks)
        serialising_.push_back(
            {mark.begin, mark.bytes ? text(mark.name, ", ", mark.bytes, " bytes") : std::string(mark.name)});
}

void Picture::completion(const Record& completion) {
    ++completion_count_;
    // Every second one, and so on, when there are too many.
    if (completions_.size() == 2 * kMarks) {
        for (size_t i = 0; i < kMarks; ++i) completions_[i] = completions_[2 * i];
        completions_.resize(kMarks);
    }
    completions_.push_back(completion.begin);
}

// Joins neighbours that can't be told apart: a short one with the next, if hardly anything lies between.
void Picture::join(std::vector<Piece>& pieces, uint64_t quantum) {
    if (pieces.empty()) return;
    size_t kept = 0;
    for (size_t i = 1; i < pieces.size(); ++i) {
        Piece& last = pieces[kept];
        const Piece& next = pieces[i];
        const uint64_t gap = next.begin - std::min(next.begin, last.end);
        const bool shorts = std::min(last.end - last.begin, next.end - next.begin) < quantum;
        if (next.look != last.look || gap >= quantum || !shorts || next.end - last.begin >= 16 * quantum) {
            pieces[++kept] = next;
            continue;
        }
        last.end = std::max(last.end, next.end);
        last.busy += next.busy;
        last.bytes += next.bytes;
        last.count += next.count;
    }
    pieces.resize(kept + 1);
}

void Picture::coarsen() {
    uint64_t first = UINT64_MAX, last = 0;
    const auto all = [&](const auto& visit) {
        for (auto& [number, row] : streams_) visit(row);
        for (auto& [number, row] : threads_) visit(row);
        for (auto& [number, looks] : engines_)
            for (auto& [look, row] : looks) visit(row);
    };
    all([&](const Row& row) {
        if (row.pieces.empty()) return;
        first = std::min(first, row.pieces.front().begin);
        last = std::max(last, row.pieces.back().end);
    });
    if (quantum_ == 0) quantum_ = std::max<uint64_t>((last - first) / 8192, 1);
    do {
        quantum_ *= 2;
        pieces_ = 0;
        all([&](Row& row) {
            join(row.pieces, quantum_);
            pieces_ += row.pieces.size();
        });
    } while (pieces_ > kPieces / 2 && quantum_ < (last - first));
}

}  // namespace gpo::trace
