#include "advice/forms.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/quantities.h"
#include "base/text.h"
#include "advice/costs.h"

namespace gpo::advice {

namespace {

constexpr double kGraphNodeHost = 7;    // ns of the host for a node of a graph, beyond the graph's launch
constexpr double kFewCopies = 4;        // fewer make no batch
constexpr double kSmallCopy = 1 << 20;  // bytes: the cost of larger copies depends on their bytes alone
constexpr double kChunk = 1 << 20;      // bytes: smaller chunks make copies slow
constexpr double kMostChunks = 32;
constexpr double kPipelineLoss = 0.97;  // share of the bound that a pipeline reaches
constexpr double kPaddedShapes = 1.33;  // work of a bucket over that of its requests, where shapes double
constexpr double kLaunchesToHide = 20;  // launches that a fused kernel should last
constexpr double kNewKernels = 4;       // effort: the kernels are to be written anew
constexpr double kStagedRate = 55.3;    // bytes per ns that a pipeline's threads move from and to pageable memory
constexpr uint32_t kRingBatch = 32;     // tasks that a warp pushes or pops by one ticket

double of(uint64_t time) noexcept { return static_cast<double>(time); }
std::string per_cent(double share) { return formatted("%.0f %%", 100 * std::clamp(share, 0.0, 1.0)); }
std::string us(double time) { return time_text(time); }
std::string number(double count) { return formatted("%.0f", count); }

using Candidate = std::optional<Form>;

Form changed(const Facts& facts, uint32_t form) {
    Form out;
    out.form = form;
    out.round = facts.now.round;
    return out;
}

/// The launches of a round become graphs, one for each part between two waits.
void make_graphs(const Facts& facts, Round& round) {
    const double nodes = round.calls, graphs = std::max(1.0, round.waits);
    round.calls = graphs;
    round.call_ns = of(facts.costs.graph_launch_ns) + nodes / graphs * kGraphNodeHost;
    round.events = 0;
    round.lead_ns = std::min(round.lead_ns, std::max(0.0, round.call_ns - of(facts.costs.graph_node_ns)));
    if (facts.has(GPO_WORKLOAD_INDEPENDENT))
        round.beside =
            std::max(round.beside, std::min(room_of(facts.workload, facts.costs).least, std::max(nodes, 1.0)));
}

std::string launches_text(const Facts& facts) {
    const Round& now = facts.now.round;
    return text(number(now.calls), " calls take the host ", us(now.host()), ", their work takes the GPU ",
                us(now.gpu()));
}

std::string bound_text(const Facts& facts) {
    const gpo_diagnosis& now = facts.diagnosis;
    const std::string intensity =
        now.intensity ? text(" at ", formatted("%.2f", of(now.intensity) / 1e3), " operations a byte") : std::string();
    const auto share = [&](uint64_t part) { return per_cent(of(part) / std::max(1.0, of(now.round_ns))); };
    switch (now.bound) {
        case GPO_BOUND_LAUNCH: return text("launches bound it: ", share(now.launch_ns), " of the round");
        case GPO_BOUND_MEMORY:
            return text("memory bounds it: kernels reach ", per_cent(of(now.roofline_share) / 1e3),
                        " of the memory's rate", intensity, "; only fewer bytes help");
        case GPO_BOUND_OPERATIONS:
            return text("arithmetic bounds it: kernels reach ", per_cent(of(now.roofline_share) / 1e3),
                        " of its rate", intensity);
        case GPO_BOUND_KERNEL:
            return text("kernels take ", share(now.kernel_ns), " of the round",
                        now.roofline_share ? text(", at ", per_cent(of(now.roofline_share) / 1e3),
                                                  " of what memory and arithmetic allow: make these faster")
                                           : std::string());
        case GPO_BOUND_COPY: return text("copies bound it: ", share(now.copy_ns), " of the round");
        case GPO_BOUND_DECISION: return text("waits for results bound it: ", share(now.decision_ns), " of the round");
        default: return text("nothing that was described explains ", share(now.idle_ns), " of the round");
    }
}

// --- forms, each with its conditions ---

Form leave(const Facts& facts) {
    Form out = changed(facts, GPO_FORM_LEAVE);
    out.reason = text("As it is, ", bound_text(facts), '.');
    return out;
}

Candidate graph(const Facts& facts) {
    const double calls = facts.now.round.calls;
    if (facts.has(GPO_WORKLOAD_IN_GRAPH) || !facts.has(GPO_WORKLOAD_REPEATS) || calls < 1) return {};
    if (facts.has(GPO_WORKLOAD_SHAPES_VARY) || facts.has(GPO_WORKLOAD_SPAWNS)) return {};
    if (facts.has(GPO_WORKLOAD_DYNAMIC_PARALLELISM)) return {};
    Form out = changed(facts, GPO_FORM_GRAPH);
    make_graphs(facts, out.round);
    out.reason = text("Every round is the same: ", launches_text(facts), ". A graph of them costs the host ",
                      us(out.round.host()), ", and a node the GPU ", us(of(facts.costs.graph_node_ns)), " at least.");
    return out;
}

Candidate buckets(const Facts& facts) {
    if (facts.has(GPO_WORKLOAD_IN_GRAPH) || !facts.has(GPO_WORKLOAD_SHAPES_VARY) || facts.now.round.calls < 1)
        return {};
    if (facts.has(GPO_WORKLOAD_SPAWNS) || facts.has(GPO_WORKLOAD_DYNAMIC_PARALLELISM)) return {};
    Form out = changed(facts, GPO_FORM_BUCKETS);
    make_graphs(facts, out.round);
    out.surely = kPaddedShapes;
    out.effort = 1.02;
    out.reason = text("Rounds differ by their sizes only: ", launches_text(facts),
                      ". A graph for each of a few shapes costs the host ", us(out.round.host()),
                      "; padding to shapes that double adds up to a third of the kernels' time.");
    return out;
}

Candidate while_template(const Facts& facts) {
    const Round& now = facts.now.round;
    if (!facts.has(GPO_WORKLOAD_REPEATS) || facts.has(GPO_WORKLOAD_SHAPES_VARY) || now.waits < 1) return {};
    if (facts.has(GPO_WORKLOAD_ARRIVES) || facts.has(GPO_WORKLOAD_DYNAMIC_PARALLELISM)) return {};
    Form out = changed(facts, GPO_FORM_WHILE);
    const double turn = of(facts.costs.while_turn_ns), node = of(facts.costs.graph_node_ns);
    out.round.kernels += now.waits * std::max(0.0, turn - node) * out.round.beside;
    out.round.calls = 1;
    out.round.call_ns = of(facts.costs.graph_launch_ns) + now.calls / now.waits * kGraphNodeHost;
    // If a round has a single wait, the while node runs all rounds, one in each iteration, and the host doesn't wait.
    out.round.waits = now.waits < 2 ? 0 : 1;
    out.round.lead_ns = 0;
    out.round.events = 0;
    out.effort = 1.03;
    out.reason = text("The host waits for results ", number(now.waits), now.waits < 2 ? " time" : " times",
                      " a round, and a turn with such a wait costs ", us(of(facts.costs.decision_ns)),
                      " beside its kernels. A while node decides on the GPU: ", us(turn), " a turn, and one launch.");
    return out;
}

Candidate more_streams(const Facts& facts) {
    const Round& now = facts.now.round;
    if (!facts.has(GPO_WORKLOAD_INDEPENDENT) || facts.has(GPO_WORKLOAD_IN_GRAPH) || facts.workload.launches < 2)
        return {};
    const Room room = room_of(facts.workload, facts.costs);
    const double most = std::min({room.most, of(facts.workload.launches), 32.0});
    Form out = changed(facts, GPO_FORM_MORE_STREAMS);
    const auto with = [&](double streams) {
        Round round = now;
        round.beside = streams;
        return round.time();
    };
    // The fewest streams within a twentieth of the time of most streams.
    double streams = std::max(facts.workload.streams, 1u);
    while (streams < most && with(streams) > with(most) * 1.05) streams = std::min(streams * 2, most);
    streams = std::floor(streams);
    if (streams <= std::max(facts.workload.streams, 1u)) return {};
    out.round.beside = streams;
    out.streams = static_cast<uint32_t>(streams);
    out.surely = std::max(1.1, std::min(streams, room.most / room.least));
    out.reason = text("The launches don't need each other, and ",
                      facts.workload.blocks ? text(facts.workload.blocks, " blocks leave room on ",
                                                   facts.costs.multiprocessors, " multiprocessors")
                                            : std::string("may leave room beside each other (set `blocks` to know)"),
                      ". One after the other the kernels take ", us(now.kernels), "; the host's calls take ",
                      us(now.host()), ", whatever the number of streams.");
    return out;
}

Candidate fewer_streams(const Facts& facts) {
    const uint32_t streams = facts.workload.streams;
    if (streams < 2 || facts.has(GPO_WORKLOAD_IN_GRAPH)) return {};
    Form out = changed(facts, GPO_FORM_FEWER_STREAMS);
    if (!facts.has(GPO_WORKLOAD_INDEPENDENT)) {
        out.round.events = 0;
        out.streams = 1;
        out.reason =
            text("The launches need each other's results: ", streams,
                 " streams run nothing at the same time, and cost an event and a wait for each change of stream (",
                 us(facts.now.round.host() - out.round.host()), " of the host's time).");
        return out;
    }
    const double room = std::max(1.0, std::floor(room_of(facts.workload, facts.costs).most));
    if (!facts.workload.blocks || streams <= room) return {};
    out.streams = static_cast<uint32_t>(room);
    out.reason = text("Launches of ", facts.workload.blocks, " blocks leave room for ", number(room), " at a time on ",
                      facts.costs.multiprocessors, " multiprocessors: more streams than that run nothing earlier.");
    return out;
}

Candidate range(const Facts& facts) {
    if (!facts.tasks.known || facts.tasks.ratio >= 1) return {};
    Form out = changed(facts, GPO_FORM_RANGE);
    out.round.kernels *= facts.tasks.ratio;
    out.order = facts.tasks.order;
    out.batch = facts.tasks.batch;
    // Resident kernels are new kernels.
    if (facts.workload.order <= GPO_ORDER_GRID) out.effort = 1.1;
    out.reason =
        text("The longest task costs ", formatted("%.1f", facts.tasks.longest), " times the mean, and workers idle ",
             per_cent(facts.tasks.idle_now), " of the time. Simulated: ", facts.tasks.tried, '.');
    return out;
}

Candidate ring(const Facts& facts) {
    if (!facts.has(GPO_WORKLOAD_SPAWNS)) return {};
    const Round& now = facts.now.round;
    Form out = changed(facts, GPO_FORM_RING);
    out.round.calls = 1;
    out.round.call_ns = of(facts.costs.launch_ns);
    out.round.waits = std::min(now.waits, 1.0);
    out.round.lead_ns = std::max(0.0, out.round.call_ns - of(facts.costs.graph_node_ns));
    out.round.events = 0;
    if (facts.has(GPO_WORKLOAD_DYNAMIC_PARALLELISM) && facts.workload.launches > 1)
        out.round.kernels -= (of(facts.workload.launches) - 1) * of(facts.costs.device_launch_ns);
    const double tasks = of(facts.workload.tasks);
    out.round.kernels += time_at(tasks, facts.costs.ring_tasks_per_second);
    out.order = GPO_ORDER_CLAIMED;
    out.batch = kRingBatch;
    out.surely = 1.3;
    out.effort = 1.05;
    out.reason =
        text("Only the GPU knows which tasks come: ", number(now.waits), " waits of the host and ", number(now.calls),
             " calls a round. A ring on the GPU needs one launch; ", number(tasks), " tasks take ",
             us(time_at(tasks, facts.costs.ring_tasks_per_second)), " to be pushed and popped.");
    return out;
}

Candidate host_ring(const Facts& facts) {
    if (!facts.has(GPO_WORKLOAD_ARRIVES)) return {};
    const Round& now = facts.now.round;
    Form out = changed(facts, GPO_FORM_HOST_RING);
    const double launches = std::max(of(facts.workload.launches), 1.0), node = of(facts.costs.graph_node_ns);
    out.round.calls = 1;
    out.round.call_ns = time_at(1, facts.costs.host_tasks_per_second);
    out.round.kernels = std::max(0.0, now.kernels - launches * node) + (launches - 1) * node;
    out.round.waits = 1;
    out.round.wait_ns = of(facts.costs.doorbell_ns);
    out.round.lead_ns = 0;
    out.surely = 1.1;
    out.effort = 1.05;
    out.reason =
        text("Each task is answered after ", us(facts.now.time()), ", of which its kernels are ", us(now.kernels),
             ". A resident kernel that takes tasks from a ring answers ", us(of(facts.costs.doorbell_ns)),
             " after the host has posted, and occupies multiprocessors all the time.");
    return out;
}

Candidate dynamic_parallelism(const Facts& facts) {
    const bool asked = facts.has(GPO_WORKLOAD_SPAWNS) || facts.now.round.waits >= 1;
    if (facts.has(GPO_WORKLOAD_DYNAMIC_PARALLELISM) || facts.has(GPO_WORKLOAD_ARRIVES) || !asked) return {};
    const double launches = of(facts.workload.launches);
    if (launches < 2) return {};
    Form out = changed(facts, GPO_FORM_DYNAMIC_PARALLELISM);
    out.round.calls -= launches - 1;
    out.round.kernels += (launches - 1) * of(facts.costs.device_launch_ns);
    out.round.waits = std::min(out.round.waits, 1.0);
    out.surely = 1.1;
    out.effort = 1.1;
    out.reason = text("A kernel that launches kernels spares the host's waits, and each launch takes the GPU ",
                      us(of(facts.costs.device_launch_ns)), ", against ", us(of(facts.costs.launch_ns)),
                      " on the host and ", us(of(facts.costs.decision_ns)), " for a turn in which the host decides.");
    return out;
}

Candidate host_launches(const Facts& facts) {
    const double launches = of(facts.workload.launches);
    if (!facts.has(GPO_WORKLOAD_DYNAMIC_PARALLELISM) || launches < 2) return {};
    Form out = changed(facts, GPO_FORM_HOST_LAUNCHES);
    out.round.calls += launches - 1;
    out.round.kernels -= (launches - 1) * of(facts.costs.device_launch_ns);
    const bool decides = facts.has(GPO_WORKLOAD_SPAWNS);
    if (decides) {
        ++out.round.waits;
        out.round.wait_ns = std::max(out.round.wait_ns, of(facts.costs.decision_ns) - of(facts.costs.launch_ns));
    }
    out.reason = text(
        "A launch by a kernel takes the GPU ", us(of(facts.costs.device_launch_ns)), ", ", number(launches - 1),
        " times a round. A launch by the host takes ", us(of(facts.costs.launch_ns)),
        decides ? text(", with a wait of ", us(out.round.wait_ns), " to learn what to launch.") : std::string("."));
    return out;
}

Candidate fuse(const Facts& facts) {
    const Round& now = facts.now.round;
    const double launches = of(facts.workload.launches), node = of(facts.costs.graph_node_ns);
    if (launches < 2 || facts.has(GPO_WORKLOAD_DYNAMIC_PARALLELISM) || facts.has(GPO_WORKLOAD_ARRIVES)) return {};
    const double enough = std::ceil(now.kernels / (kLaunchesToHide * of(facts.costs.launch_ns)));
    const double fused = std::max({1.0, enough, now.waits});
    if (fused >= launches) return {};
    Form out = changed(facts, GPO_FORM_FUSE);
    out.round.calls -= std::min(out.round.calls, launches - fused);
    if (facts.has(GPO_WORKLOAD_IN_GRAPH)) out.round.calls = now.calls;
    out.round.events = std::min(now.events, fused);
    // Each saved launch saves an empty kernel's time, at most the kernel's own.
    const double spared = (launches - fused) * std::min(node, now.kernels / launches) * 0.8;
    out.round.kernels -= spared;
    out.surely = out.round.kernels > 0 ? std::min(2.0, now.kernels / out.round.kernels) : 2.0;
    out.effort = kNewKernels;
    out.reason = text(number(launches), " kernels of ", us(now.kernels / launches),
                      " each, where a launch costs the host ", us(of(facts.costs.launch_ns)), " and the GPU ", us(node),
                      ". ", number(fused), fused == 1 ? " kernel" : " kernels",
                      " would hide that, and needn't write and read again what they pass on.");
    return out;
}

Candidate pipeline(const Facts& facts) {
    const gpo_workload& workload = facts.workload;
    const double bytes = of(workload.copy_in_bytes) + of(workload.copy_out_bytes);
    if (facts.has(GPO_WORKLOAD_OVERLAPPED) || bytes == 0 || facts.has(GPO_WORKLOAD_ARRIVES)) return {};
    const double largest = of(std::max(workload.copy_in_bytes, workload.copy_out_bytes));
    const double chunks = std::min(kMostChunks, std::floor(largest / kChunk));
    if (chunks < 2 || bytes / std::max(of(workload.copies), 1.0) < kSmallCopy) return {};
    const Round& now = facts.now.round;
    Form out = changed(facts, GPO_FORM_PIPELINE);
    Round& round = out.round;
    round.in = time_at(of(workload.copy_in_bytes), facts.costs.copy_in_rate);
    round.out = time_at(of(workload.copy_out_bytes), facts.costs.copy_out_rate);
    if (facts.has(GPO_WORKLOAD_PAGEABLE)) round.both = std::max(round.both, bytes / kStagedRate);
    const double together = std::max({round.in, round.out, round.both, now.kernels / now.beside});
    const double one_by_one = round.in + round.out + now.kernels / now.beside;
    // The first and the last chunk overlap with nothing.
    const double time = together / kPipelineLoss + (one_by_one - together) / chunks;
    if (time >= now.gpu()) return {};
    round.overlapped = true;
    round.both = std::max(round.both, time);
    round.calls = std::min(now.calls, 3 * chunks);
    out.reason = text("Copies take ", us(now.copying()), " and kernels ", us(now.kernels / now.beside),
                      ", one after the other. In ", number(chunks), " chunks they run beside each other, bound by ",
                      us(together), facts.has(GPO_WORKLOAD_PAGEABLE) ? ", staged through pinned memory" : "",
                      ". The chunks have to be independent.");
    return out;
}

Candidate batched_copies(const Facts& facts) {
    const double copies = of(facts.workload.copies);
    const double bytes = of(facts.workload.copy_in_bytes) + of(facts.workload.copy_out_bytes);
    if (copies < kFewCopies || bytes / copies >= kSmallCopy || facts.has(GPO_WORKLOAD_IN_GRAPH)) return {};
    const Round& now = facts.now.round;
    Form out = changed(facts, GPO_FORM_BATCHED_COPIES);
    const double ways = (facts.workload.copy_in_bytes ? 1.0 : 0.0) + (facts.workload.copy_out_bytes ? 1.0 : 0.0);
    if (ways == 0) return {};
    const double spared = copies * of(facts.costs.copy_ns) * 5 / 6 / ways;
    if (facts.workload.copy_in_bytes) out.round.in -= spared;
    if (facts.workload.copy_out_bytes) out.round.out -= spared;
    const double each = of(facts.costs.copy_ns) / 6;
    const double calls = std::max(0.0, now.calls - copies) + ways;
    out.round.call_ns = (calls * now.call_ns + copies * each) / calls;
    out.round.calls = calls;
    out.reason = text(number(copies), " copies of ", bytes_text(bytes / copies), " each: ", us(of(facts.costs.copy_ns)),
                      " of each don't depend on its bytes. In a batch that is ", us(each), '.');
    return out;
}

}  // namespace

std::vector<Form> forms_of(const Facts& facts) {
    std::vector<Form> out{leave(facts)};
    for (const auto& make : {graph, buckets, while_template, more_streams, fewer_streams, range, ring, host_ring,
                             dynamic_parallelism, host_launches, fuse, pipeline, batched_copies})
        if (Candidate form = make(facts)) out.push_back(std::move(*form));
    return out;
}

}  // namespace gpo::advice
