#include "advice/round.h"

#include <algorithm>

#include "advice/costs.h"

namespace gpo::advice {

namespace {

constexpr double kEventNs = 270;        // an event is recorded and waited for, on the host
constexpr double kGraphNodeHostNs = 7;  // a node of a graph, beyond the graph's launch
constexpr uint64_t kNear = 600;         // share of a limit, in thousandths, from which kernels count as bound by it

double ns(uint64_t time) noexcept { return static_cast<double>(time); }

uint64_t whole(double value) noexcept {
    return value <= 0 ? 0 : value >= 9e18 ? uint64_t{9'000'000'000'000'000'000} : static_cast<uint64_t>(value + 0.5);
}

}  // namespace

double Round::host() const noexcept { return calls * call_ns + events * kEventNs; }

double Round::copying() const noexcept { return overlapped ? std::max({in, out, both}) : in + out; }

double Round::gpu() const noexcept {
    const double computing = kernels / beside;
    return overlapped ? std::max(computing, copying()) : computing + copying();
}

double Round::time() const noexcept { return waiting() + std::max(host(), gpu() + waits * lead_ns); }

uint32_t Round::bound() const noexcept {
    const double computing = kernels / beside, longest = std::max({host(), computing, copying(), waiting(), idle});
    if (longest == 0 || longest == idle) return GPO_BOUND_IDLE;
    if (longest == waiting()) return GPO_BOUND_DECISION;
    if (longest == host()) return GPO_BOUND_LAUNCH;
    return longest == computing ? GPO_BOUND_KERNEL : GPO_BOUND_COPY;
}

Room room_of(const gpo_workload& workload, const gpo_costs& costs) noexcept {
    if (!workload.blocks) return {};
    const double room = std::clamp(ns(costs.multiprocessors) / workload.blocks, 1.0, 128.0);
    return {room, room};
}

Now round_now(const gpo_workload& workload, const gpo_costs& costs) noexcept {
    const auto has = [&](uint32_t flag) { return (workload.flags & flag) != 0; };
    const double launches = ns(workload.launches), node = ns(costs.graph_node_ns);
    const double ways = (workload.copy_in_bytes ? 1.0 : 0.0) + (workload.copy_out_bytes ? 1.0 : 0.0);
    const double copies = workload.copies ? std::max(ns(workload.copies), ways) : ways;
    Round round;
    round.calls = (has(GPO_WORKLOAD_DYNAMIC_PARALLELISM) ? std::min(launches, 1.0) : launches) + copies;
    round.call_ns = ns(costs.launch_ns);
    round.kernels = std::max(ns(workload.kernel_ns), launches * node);
    if (has(GPO_WORKLOAD_DYNAMIC_PARALLELISM) && launches > 1)
        round.kernels += (launches - 1) * ns(costs.device_launch_ns);
    const double streams = std::max(workload.streams, 1u);
    if (has(GPO_WORKLOAD_INDEPENDENT))
        round.beside = std::max(1.0, std::min({streams, room_of(workload, costs).most, std::max(launches, 1.0)}));
    else if (streams > 1)
        round.events = launches;
    const bool pageable = has(GPO_WORKLOAD_PAGEABLE);
    round.in = time_at(ns(workload.copy_in_bytes), pageable ? costs.pageable_in_rate : costs.copy_in_rate);
    round.out = time_at(ns(workload.copy_out_bytes), pageable ? costs.pageable_out_rate : costs.copy_out_rate);
    round.both = time_at(ns(workload.copy_in_bytes) + ns(workload.copy_out_bytes), costs.copy_both_rate);
    if (ways > 0) {
        const double all = copies * ns(costs.copy_ns);
        if (workload.copy_in_bytes) round.in += all / ways;
        if (workload.copy_out_bytes) round.out += all / ways;
    }
    round.overlapped = has(GPO_WORKLOAD_OVERLAPPED);
    if (has(GPO_WORKLOAD_IN_GRAPH)) {
        round.call_ns = (ns(costs.graph_launch_ns) + round.calls * kGraphNodeHostNs) / std::max(round.calls, 1.0);
        round.events = 0;
    }
    round.waits = ns(workload.decisions);
    const double turn = ns(costs.decision_ns), first = ns(costs.launch_ns);
    round.wait_ns = std::max(0.0, turn - first);
    if (has(GPO_WORKLOAD_ARRIVES) && round.waits == 0) {
        round.waits = 1;
        round.wait_ns = std::max(0.0, ns(costs.wait_ns) - first);
    }
    round.lead_ns = std::max(0.0, round.call_ns - node);
    Now now{round, 1};
    if (workload.round_ns) {
        const double known = ns(workload.round_ns), predicted = round.time();
        if (predicted > known)
            now.scale = known / predicted;
        else
            now.round.idle = known - predicted;
    }
    return now;
}

gpo_diagnosis diagnose(const gpo_workload& workload, const gpo_costs& costs, const Now& now) noexcept {
    gpo_diagnosis out{};
    const Round& round = now.round;
    const double time = now.time();
    const auto scaled = [&](double part) { return whole(part * now.scale); };
    out.struct_size = sizeof out;
    out.round_ns = whole(time);
    out.launch_ns = scaled(round.host());
    out.kernel_ns = scaled(round.kernels / round.beside);
    out.copy_ns = scaled(round.copying());
    out.decision_ns = scaled(round.waiting());
    out.idle_ns = whole(round.idle);
    const double memory = time_at(ns(workload.bytes), costs.memory_rate);
    const double operations = time_at(ns(workload.operations), costs.operation_rate);
    out.memory_ns = whole(memory);
    out.operations_ns = whole(operations);
    if (workload.bytes) out.intensity = whole(1e3 * ns(workload.operations) / ns(workload.bytes));
    out.ridge = whole(1e3 * ns(costs.operation_rate) / ns(std::max<uint64_t>(costs.memory_rate, 1)));
    if (workload.kernel_ns) out.roofline_share = whole(1e3 * std::max(memory, operations) / ns(workload.kernel_ns));
    if (time > 0) out.launch_share = whole(1e3 * round.host() * now.scale / time);
    out.bound = bound_of(round, out);
    return out;
}

uint32_t bound_of(const Round& round, const gpo_diagnosis& roofline) noexcept {
    const uint32_t bound = round.bound();
    if (bound != GPO_BOUND_KERNEL || roofline.roofline_share < kNear) return bound;
    return roofline.memory_ns >= roofline.operations_ns ? GPO_BOUND_MEMORY : GPO_BOUND_OPERATIONS;
}

}  // namespace gpo::advice
