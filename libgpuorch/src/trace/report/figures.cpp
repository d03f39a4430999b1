#include "trace/report/figures.h"

#include <algorithm>

#include "base/text.h"
#include "trace/report/words.h"

namespace gpo::trace {

namespace {

bool is_copy(size_t engine) noexcept {
    return engine == static_cast<size_t>(Engine::copy_in) || engine == static_cast<size_t>(Engine::copy_out) ||
           engine == static_cast<size_t>(Engine::copy_on_device);
}

std::string name_of(const char* kind, const char* label, const char* stream) {
    return text(named(kind, label), " on ", stream);
}

}  // namespace

void Figures::add(const Span& span) {
    DeviceFigures& device = devices_[span.device];
    Sweep& sweep = sweeps_[span.device];
    DeviceFigures::PerEngine& engine = device.engines[static_cast<size_t>(span.engine)];
    if (sweep.edges.capacity() - sweep.edges.size() < 4) sweep.edges.reserve(2 * sweep.edges.size() + 4);
    ++engine.spans;
    engine.bytes += span.bytes;
    engine.nodes += span.nodes;
    const auto edge = [&](uint64_t at, bool begin, bool submit) {
        sweep.edges.push_back(
            {std::max(at, sweep.now), begin, submit, span.engine, span.kind, span.label, span.stream, span.bytes});
    };
    edge(span.submitted, true, true);
    edge(span.begin, true, false);
    edge(span.end, false, false);
    edge(span.end, false, true);
}

void Figures::settle(uint64_t time) {
    for (auto& [number, sweep] : sweeps_) {
        // Begins come before ends: there is no gap where a span ends when another begins.
        std::sort(sweep.edges.begin(), sweep.edges.end(),
                  [](const Edge& a, const Edge& b) { return a.at != b.at ? a.at < b.at : a.begin > b.begin; });
        DeviceFigures& device = devices_[number];
        size_t done = 0;
        for (; done < sweep.edges.size() && sweep.edges[done].at <= time; ++done) {
            const Edge& edge = sweep.edges[done];
            pass(device, sweep, edge.at);
            if (edge.submit) {
                sweep.bytes += edge.begin ? edge.bytes : -edge.bytes;
                sweep.operations += edge.begin ? 1 : -1;
                on_its_way_(number, edge.at, sweep.bytes, sweep.operations);
                continue;
            }
            uint32_t& active = sweep.active[static_cast<size_t>(edge.engine)];
            if (edge.begin) {
                if (sweep.any && sweep.working == 0 && edge.at > sweep.last.at) note_gap(device, sweep.last, edge);
                if (!std::exchange(sweep.any, true)) device.begin = edge.at;
                ++active;
                ++sweep.working;
            } else {
                --active;
                --sweep.working;
                sweep.last = edge;
                device.end = std::max(device.end, edge.at);
            }
        }
        sweep.edges.erase(sweep.edges.begin(), sweep.edges.begin() + static_cast<std::ptrdiff_t>(done));
    }
}

// The time from `sweep.now` on, in which nothing changed.
void Figures::pass(DeviceFigures& device, Sweep& sweep, uint64_t to) {
    const uint64_t time = to - std::min(to, sweep.now);
    sweep.now = to;
    if (time == 0 || sweep.working == 0) return;
    device.any += time;
    const auto engines =
        static_cast<size_t>(std::count_if(sweep.active.begin(), sweep.active.end(), [](uint32_t n) { return n; }));
    for (size_t engine = 0; engine < kEngines; ++engine) {
        if (!sweep.active[engine]) continue;
        device.engines[engine].busy += time;
        if (!is_copy(engine)) continue;
        device.copying += time;
        if (engines > 1) device.hidden += time;
    }
}

void Figures::note_gap(DeviceFigures& device, const Edge& before, const Edge& after) {
    const uint64_t length = after.at - before.at;
    auto& gaps = device.gaps;
    if (gaps.size() == kGaps && gaps.back().end - gaps.back().begin >= length) return;
    const auto place =
        std::find_if(gaps.begin(), gaps.end(), [&](const Gap& gap) { return gap.end - gap.begin < length; });
    gaps.insert(place, {before.at, after.at, name_of(before.kind, before.label, before.stream),
                        name_of(after.kind, after.label, after.stream)});
    if (gaps.size() > kGaps) gaps.pop_back();
}

}  // namespace gpo::trace
