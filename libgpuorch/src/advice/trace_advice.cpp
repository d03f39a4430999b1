#include "advice/trace_advice.h"

#include <algorithm>

#include "base/text.h"
#include "advice/ranked_forms.h"
#include "advice/costs.h"
#include "trace/report/words.h"

namespace gpo::advice {

namespace {

constexpr uint64_t kEnough = 8;  // launches or waits for a usable mean
constexpr uint64_t kEnoughBytes = 1 << 20;
constexpr uint64_t kLeastLaunch = 200;  // ns
constexpr size_t kShownGaps = 3, kShownForms = 4;

std::string duration(uint64_t ns) { return time_text(static_cast<double>(ns)); }

uint64_t of_a_round(uint64_t all, uint64_t rounds) noexcept { return all / rounds + (all % rounds != 0); }

uint64_t rounds_of(const GpuFacts& facts) noexcept {
    return facts.period ? std::max<uint64_t>(1, facts.operations / facts.period) : 1;
}

const trace::DeviceFigures::PerEngine& engine(const GpuFacts& facts, trace::Engine which) noexcept {
    return facts.figures.engines[static_cast<size_t>(which)];
}

/// Bytes per second of an engine's copies; 0: too few for that.
uint64_t rate_of(const trace::DeviceFigures::PerEngine& copies) noexcept {
    if (copies.bytes < kEnoughBytes || copies.busy == 0) return 0;
    return static_cast<uint64_t>(static_cast<double>(copies.bytes) * 1e9 / static_cast<double>(copies.busy));
}

void take_rates(gpo_costs& costs, const GpuFacts& facts, bool pageable) noexcept {
    const uint64_t in = rate_of(engine(facts, trace::Engine::copy_in)),
                   out = rate_of(engine(facts, trace::Engine::copy_out));
    if (in) (pageable ? costs.pageable_in_rate : costs.copy_in_rate) = in;
    if (out) (pageable ? costs.pageable_out_rate : costs.copy_out_rate) = out;
    if (pageable || (!in && !out)) return;
    // For both together, the same share as on the machine of default_costs().
    const gpo_costs usual = default_costs();
    const double share =
        static_cast<double>(usual.copy_both_rate) / static_cast<double>(usual.copy_in_rate + usual.copy_out_rate);
    costs.copy_both_rate =
        static_cast<uint64_t>(share * static_cast<double>(costs.copy_in_rate + costs.copy_out_rate)) + 1;
}

/// The costs of launches, waits and copies, without the cost of recording.
gpo_costs costs_in(const trace::TraceRead& trace, const GpuFacts& facts, bool pageable) noexcept {
    gpo_costs costs = default_costs();
    if (trace.launches >= kEnough) {
        const uint64_t mean = trace.launch_time / trace.launches, recording = trace.call_cost + trace.operation_cost;
        costs.launch_ns = std::max(mean - std::min(mean, recording), kLeastLaunch);
    }
    if (facts.idle.waits >= kEnough) costs.decision_ns = costs.launch_ns + facts.idle.waiting / facts.idle.waits;
    take_rates(costs, facts, pageable);
    return costs;
}

struct Share {
    const char* what;
    uint64_t time;
};

constexpr const char* kOwnCode = "other work of the host";

/// Where most of the GPU's time went.
const char* bound_in(const GpuFacts& facts) noexcept {
    const trace::DeviceFigures& figures = facts.figures;
    const uint64_t bare_copies = figures.copying - std::min(figures.copying, figures.hidden);
    const Share shares[] = {{"kernels", figures.any - std::min(figures.any, bare_copies)},
                            {"copies", bare_copies},
                            {"launches of the host", facts.idle.launching},
                            {"waits of the host", facts.idle.waiting},
                            {"serialising calls", facts.idle.serialising},
                            {kOwnCode, facts.idle.host},
                            {"queued work that could not begin", facts.idle.queued}};
    return std::max_element(std::begin(shares), std::end(shares),
                            [](const Share& a, const Share& b) { return a.time < b.time; })
        ->what;
}

std::string shares_text(const GpuFacts& facts) {
    const trace::DeviceFigures& figures = facts.figures;
    const uint64_t time = facts.time(), computing = engine(facts, trace::Engine::kernel).busy;
    const auto share = [&](uint64_t part) { return trace::percent(part, time); };
    std::string out = text("  some engine worked ", share(figures.any), " of the time: kernels ", share(computing));
    if (facts.graphs) out += text(", graphs ", share(engine(facts, trace::Engine::graph).busy));
    if (figures.copying)
        out += text(", copies ", share(figures.copying), " (", trace::percent(figures.hidden, figures.copying),
                    " of that beside other work)");
    const Idle& idle = facts.idle;
    out += text("\n  no engine worked ", share(idle.all()), " of the time: the host launched ", share(idle.launching),
                ", waited for the GPU ", share(idle.waiting), ", was in serialising calls ", share(idle.serialising),
                ", did other things ", share(idle.host), "; work was queued and could not begin ", share(idle.queued),
                "\n");
    return out;
}

std::string gaps_text(const GpuFacts& facts) {
    std::string out;
    for (size_t i = 0; i < std::min(kShownGaps, facts.figures.gaps.size()); ++i) {
        const trace::Gap& gap = facts.figures.gaps[i];
        out += text("  gap of ", duration(gap.end - gap.begin), " at ", duration(gap.begin), ", after ", gap.before,
                    ", before ", gap.after, "\n");
    }
    return out;
}

const char* form_name(uint32_t form) noexcept {
    switch (form) {
        case GPO_FORM_MORE_STREAMS: return "more streams";
        case GPO_FORM_FEWER_STREAMS: return "fewer streams";
        case GPO_FORM_GRAPH: return "a graph template";
        case GPO_FORM_BUCKETS: return "shape buckets";
        case GPO_FORM_WHILE: return "a graph template with a while node";
        case GPO_FORM_RANGE: return "a range queue";
        case GPO_FORM_RING: return "a ring on the GPU";
        case GPO_FORM_HOST_RING: return "a resident kernel with a host ring";
        case GPO_FORM_DYNAMIC_PARALLELISM: return "dynamic parallelism";
        case GPO_FORM_HOST_LAUNCHES: return "launches by the host";
        case GPO_FORM_FUSE: return "fewer kernels that do more each";
        case GPO_FORM_PIPELINE: return "a pipeline";
        case GPO_FORM_BATCHED_COPIES: return "copies in batches";
        default: return "leave it";
    }
}

std::string times_text(uint32_t thousandths) { return formatted("%.2f", static_cast<double>(thousandths) / 1e3); }

/// For a GPU that mostly idles while the program does other things: no other form of the GPU's work helps.
std::string own_code_text(const GpuFacts& facts) {
    const auto time = static_cast<double>(std::max<uint64_t>(facts.time(), 1));
    const auto own = static_cast<double>(facts.idle.host), rest = std::max(time - own, 1.0);
    const auto times = [&](double left) { return formatted("%.2f", time / left); };
    return text("the host's own code: no engine works while it runs, ", trace::percent(facts.idle.host, facts.time()),
                " of the time. Beside the GPU's work (the next round is submitted first) all would take as long as the "
                "longer of the two: ",
                times(std::max(own, rest)), " times as fast; without that code ", times(rest), " times.\n");
}

std::string forms_text(const GpuFacts& facts, const gpo_workload& workload, const gpo_costs& costs) {
    std::string out;
    if (facts.period)
        out += text("  the sequence of ", count_text(facts.period, "operation"), " repeats, ", rounds_of(facts),
                    " times; what follows is of one turn\n");
    out += "  what would change it:\n";
    const Answer answer = advise(workload, costs);
    size_t shown = 0;
    const bool own_code = bound_in(facts) == kOwnCode;
    if (own_code) out += text("    ", ++shown, ". ", own_code_text(facts));
    for (const gpo_advice& form : answer.ranked) {
        if (shown == kShownForms) break;
        if (form.form == GPO_FORM_LEAVE && own_code) return out;
        out += text("    ", ++shown, ". ", form_name(form.form));
        if (form.form == GPO_FORM_LEAVE) return out + text(": ", form.reason, "\n");
        out += text(": ", times_text(form.gain_low), " to ", times_text(form.gain_high), " times as fast. ",
                    form.reason, "\n");
    }
    return out;
}

}  // namespace

gpo_workload workload_of(const GpuFacts& facts, const trace::TraceRead& trace) noexcept {
    gpo_workload out{};
    out.struct_size = sizeof out;
    const uint64_t rounds = rounds_of(facts), launches = facts.kernels + facts.graphs;
    if (facts.period && rounds > 1) out.flags |= GPO_WORKLOAD_REPEATS;
    const bool in_graphs = 2 * facts.graphs > launches;
    if (in_graphs) out.flags |= GPO_WORKLOAD_IN_GRAPH;
    out.launches = of_a_round(in_graphs ? facts.kernels + engine(facts, trace::Engine::graph).nodes : launches, rounds);
    out.round_ns = of_a_round(facts.time(), rounds);
    out.kernel_ns = of_a_round(facts.kernel_time, rounds);
    out.decisions = (facts.idle.waits + rounds / 2) / rounds;
    out.streams = static_cast<uint32_t>(std::min<uint64_t>(facts.streams, UINT32_MAX));
    out.copies = of_a_round(facts.copies, rounds);
    out.copy_in_bytes = of_a_round(facts.in_bytes, rounds);
    out.copy_out_bytes = of_a_round(facts.out_bytes, rounds);
    const auto pageable = trace.serialised.find("pageable copy");
    if (pageable != trace.serialised.end() && 2 * pageable->second >= facts.copies && facts.copies)
        out.flags |= GPO_WORKLOAD_PAGEABLE;
    if (facts.copies && 2 * facts.figures.hidden >= facts.figures.copying) out.flags |= GPO_WORKLOAD_OVERLAPPED;
    return out;
}

TraceAdvice advise_trace(const trace::TraceRead& trace) {
    TraceAdvice out;
    out.workload.struct_size = sizeof out.workload;
    out.text =
        text("trace of ", trace.program, ": ", duration(trace.end),
             trace.whole ? "" : "; it ends early, before the trace was stopped",
             trace.dropped ? text("; ", count_text(trace.dropped, "record"), " were lost") : std::string(), "\n");
    uint64_t busiest = 0;
    for (const GpuFacts& facts : facts_of(trace)) {
        const gpo_workload workload = workload_of(facts, trace);
        if (facts.figures.any > busiest) {
            busiest = facts.figures.any;
            out.workload = workload;
        }
        const auto name = trace.devices.find(facts.device);
        out.text +=
            text(name == trace.devices.end() || name->second.empty() ? text("GPU ", facts.device) : name->second, ": ",
                 duration(facts.time()), " from the first operation to the last, most of it ", bound_in(facts), "\n",
                 shares_text(facts), gaps_text(facts),
                 forms_text(facts, workload, costs_in(trace, facts, (workload.flags & GPO_WORKLOAD_PAGEABLE) != 0)));
    }
    if (busiest == 0) out.text += "no GPU's work has times in it\n";
    for (const auto& [what, calls] : trace.serialised) out.text += text("serialising: ", calls, " x ", what, "\n");
    return out;
}

}  // namespace gpo::advice
