#include "advice/trace_facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace gpo::advice {

namespace {

using Doing = trace::TraceRead::Doing;

constexpr size_t kSettled = 1 << 12;  // operations that the sweep holds
constexpr size_t kLookedAt = 8192, kLongestPeriod = 1024;
constexpr double kAlike = 0.95;  // share of operations that are like the operation a period before

struct Stretch {
    uint64_t begin, end;
};

/// The stretches' union, in order.
std::vector<Stretch> joined(std::vector<Stretch> stretches) {
    std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
    std::vector<Stretch> out;
    for (const Stretch& stretch : stretches)
        if (!out.empty() && stretch.begin <= out.back().end)
            out.back().end = std::max(out.back().end, stretch.end);
        else
            out.push_back(stretch);
    return out;
}

/// How much of a time lies in some stretches. Times are asked for in order.
class Cover {
public:
    explicit Cover(std::vector<Stretch> stretches) : stretches_(joined(std::move(stretches))) {}
    uint64_t of(uint64_t begin, uint64_t end) noexcept {
        while (at_ < stretches_.size() && stretches_[at_].end <= begin) ++at_;
        uint64_t covered = 0;
        for (size_t i = at_; i < stretches_.size() && stretches_[i].begin < end; ++i)
            covered += std::min(end, stretches_[i].end) - std::max(begin, stretches_[i].begin);
        return covered;
    }

private:
    const std::vector<Stretch> stretches_;
    size_t at_ = 0;
};

Cover cover(const trace::TraceRead& trace, std::initializer_list<Doing> doings) {
    std::vector<Stretch> found;
    for (const auto& span : trace.host)
        if (std::find(doings.begin(), doings.end(), span.doing) != doings.end())
            found.push_back({span.begin, span.end});
    return Cover(std::move(found));
}

/// Counts a GPU's idle time by the host's activity.
class IdleTime {
public:
    explicit IdleTime(const trace::TraceRead& trace)
        : serialising_(cover(trace, {Doing::serialising})),
          launching_(cover(trace, {Doing::serialising, Doing::launching})),
          waiting_(cover(trace, {Doing::serialising, Doing::launching, Doing::waiting})) {}

    Idle of(std::vector<const trace::Span*> spans) {
        std::sort(spans.begin(), spans.end(), [](const auto* a, const auto* b) { return a->begin < b->begin; });
        Idle idle;
        uint64_t busy_until = spans.front()->begin;
        for (const trace::Span* span : spans) {
            if (span->begin > busy_until) add(idle, busy_until, span->submitted, span->begin);
            busy_until = std::max(busy_until, span->end);
        }
        return idle;
    }

private:
    void add(Idle& idle, uint64_t begin, uint64_t submitted, uint64_t end) noexcept {
        if (submitted <= begin) {
            idle.queued += end - begin;
            return;
        }
        const uint64_t serialising = serialising_.of(begin, submitted), launching = launching_.of(begin, submitted),
                       waiting = waiting_.of(begin, submitted);
        idle.serialising += serialising;
        // Work takes a while from its launch to its begin.
        idle.launching += launching - serialising + (end - submitted);
        idle.waiting += waiting - launching;
        idle.host += submitted - begin - waiting;
        if (waiting > launching) ++idle.waits;
    }
    Cover serialising_, launching_, waiting_;
};

/// Two operations with equal values are alike.
struct Likeness {
    const char *kind, *label;
    uint64_t bytes;
    bool operator==(const Likeness& other) const noexcept {
        return kind == other.kind && label == other.label && bytes == other.bytes;
    }
};

/// The least period of the newest operations, in the order of their submission.
uint64_t period_of(const std::vector<const trace::Span*>& spans) {
    const size_t count = std::min(spans.size(), kLookedAt);
    std::vector<Likeness> newest;
    for (size_t i = spans.size() - count; i < spans.size(); ++i)
        newest.push_back({spans[i]->kind, spans[i]->label, spans[i]->bytes});
    for (size_t period = 1; period <= kLongestPeriod && 3 * period <= count; ++period) {
        const size_t compared = count - period;
        const auto allowed = static_cast<size_t>((1 - kAlike) * static_cast<double>(compared));
        size_t different = 0;
        for (size_t i = period; i < count && different <= allowed; ++i) different += !(newest[i] == newest[i - period]);
        if (different <= allowed) return period;
    }
    return 0;
}

void count(GpuFacts& facts, const trace::Span& span) {
    const auto took = span.end - span.begin;
    switch (span.engine) {
        case trace::Engine::kernel: ++facts.kernels, facts.kernel_time += took; break;
        case trace::Engine::graph: ++facts.graphs, facts.kernel_time += took; break;
        case trace::Engine::copy_in: ++facts.copies, facts.in_bytes += span.bytes; break;
        case trace::Engine::copy_out: ++facts.copies, facts.out_bytes += span.bytes; break;
        default: break;
    }
}

}  // namespace

std::vector<GpuFacts> facts_of(const trace::TraceRead& trace) {
    trace::Figures figures([](int, uint64_t, uint64_t, uint64_t) {});
    std::map<int, std::vector<const trace::Span*>> spans;
    for (size_t i = 0; i < trace.spans.size(); ++i) {
        figures.add(trace.spans[i]);
        if (i % kSettled == kSettled - 1) figures.settle(trace.spans[i].submitted);
        spans[trace.spans[i].device].push_back(&trace.spans[i]);
    }
    figures.settle(UINT64_MAX);
    std::vector<GpuFacts> out;
    for (const auto& [device, own] : spans) {
        GpuFacts facts;
        facts.device = device;
        facts.figures = figures.devices().at(device);
        facts.operations = own.size();
        std::set<uint32_t> lanes;
        for (const trace::Span* span : own) {
            count(facts, *span);
            if (span->engine == trace::Engine::kernel || span->engine == trace::Engine::graph) lanes.insert(span->lane);
        }
        facts.streams = lanes.size();
        facts.period = period_of(own);
        facts.idle = IdleTime(trace).of(own);
        out.push_back(std::move(facts));
    }
    return out;
}

}  // namespace gpo::advice
