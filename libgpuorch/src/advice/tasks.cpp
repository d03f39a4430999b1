#include "advice/tasks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "base/quantities.h"
#include "base/text.h"
#include "core/error.h"

namespace gpo::advice {

namespace {

constexpr uint64_t kMostCosts = 1 << 20;
constexpr uint64_t kMostTasks = 1 << 22;  // in the comparison: more tasks only repeat these
constexpr uint64_t kSample = 1 << 17;     // made-up costs, where only their spread is known
constexpr double kUnknownTask = 5'000;    // ns, if the time of tasks isn't known
constexpr double kWorthSorting = 1.05;    // gain from which sorting the tasks is worth its cost

// Fitted to an H200, on which 64 warps of each multiprocessor did tasks of arithmetic. A lone warp was as fast as 2.8
// shared warps. Fixed shares of equal tasks took a tenth longer than claimed tasks.
constexpr double kLone = 2.8, kUneven = 1.1, kBatch = 350;

double cost_at(const gpo_workload& workload, uint64_t i) noexcept {
    float cost;
    std::memcpy(&cost, reinterpret_cast<const std::byte*>(workload.task_costs) + i * workload.cost_stride, sizeof cost);
    return static_cast<double>(cost);
}

void check_costs(const gpo_workload& workload) {
    if (workload.cost_count == 0) return;
    if (!workload.task_costs)
        fail(GPO_INVALID_ARGUMENT, "workload.task_costs is NULL and workload.cost_count is ", workload.cost_count);
    if (workload.cost_count > kMostCosts)
        fail(GPO_INVALID_ARGUMENT, "workload.cost_count is ", workload.cost_count, ", more than ", kMostCosts);
    if (workload.cost_stride < sizeof(float))
        fail(GPO_INVALID_ARGUMENT, "workload.cost_stride is ", workload.cost_stride, ", less than ", sizeof(float));
    uint64_t span = 0;
    if (__builtin_mul_overflow(workload.cost_stride, workload.cost_count, &span) ||
        span > UINT64_MAX - reinterpret_cast<uint64_t>(workload.task_costs))
        fail(GPO_INVALID_ARGUMENT, "workload.cost_stride is ", workload.cost_stride, ": ", workload.cost_count,
             " costs run past the end of addresses");
    for (uint64_t i = 0; i < workload.cost_count; ++i)
        if (const double cost = cost_at(workload, i); !std::isfinite(cost) || cost < 0)
            fail(GPO_INVALID_ARGUMENT, "workload.task_costs[", i, "] is ", formatted("%g", cost));
}

void check_workers(const gpo_workload& workload) {
    if (workload.order > GPO_ORDER_CLAIMED_LATE)
        fail(GPO_INVALID_ARGUMENT, "workload.order is ", workload.order, ", none of GPO_ORDER_*");
    if (workload.workers > kMostCosts)
        fail(GPO_INVALID_ARGUMENT, "workload.workers is ", workload.workers, ", more than ", kMostCosts);
    const uint32_t workers = workload.workers ? workload.workers : 64;
    if (workload.block_workers > workers)
        fail(GPO_INVALID_ARGUMENT, "workload.block_workers is ", workload.block_workers, ", more than the ", workers,
             workload.workers ? " of workload.workers" : " warps of a multiprocessor");
}

Machine machine_of(const gpo_workload& workload, const gpo_costs& costs) noexcept {
    Machine machine;
    machine.units = std::clamp(costs.multiprocessors, 1u, 4096u);
    machine.workers = 64;
    if (workload.workers) {
        machine.units = std::min(machine.units, workload.workers);
        machine.workers = (workload.workers + machine.units - 1) / machine.units;
    }
    machine.group = workload.block_workers ? workload.block_workers : workload.workers ? 1 : 8;
    machine.workers = std::max(machine.group, machine.workers / machine.group * machine.group);
    machine.lone = std::min(kLone, static_cast<double>(machine.workers));
    machine.claim_ns = time_at(1, costs.claims_per_second);
    machine.batch_ns = kBatch;
    machine.uneven = kUneven;
    return machine;
}

/// Costs of two sizes, in a pseudo-random order, with the mean 1 and the known deviation and maximum.
std::vector<double> of_two_sizes(uint64_t tasks, double deviation, double longest) {
    // If only the deviation or the maximum is known, one in 64 tasks is long.
    if (longest <= 1 && deviation > 0) longest = 1 + deviation * std::sqrt(63.0);
    if (longest <= 1) return std::vector<double>(tasks, 1.0);
    const double above = longest - 1;
    double share = deviation > 0 ? deviation * deviation / (deviation * deviation + above * above) : 1.0 / 64;
    share = std::min(share, 1 / longest);
    const double shorter = std::max(0.0, (1 - share * longest) / (1 - share));
    std::vector<double> costs(tasks);
    uint64_t random = 1;
    for (double& cost : costs) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        cost = static_cast<double>(random >> 11) * 0x1p-53 < share ? longest : shorter;
    }
    return costs;
}

/// The tasks' costs, in the caller's unit.
TaskCosts costs_of_tasks(const gpo_workload& workload) {
    const uint64_t tasks = std::min(workload.tasks ? workload.tasks : workload.cost_count, kMostTasks);
    if (workload.cost_count == 0)
        return {of_two_sizes(std::min(tasks, kSample), static_cast<double>(workload.cost_deviation) / 1e3,
                             static_cast<double>(workload.cost_max) / 1e3),
                tasks};
    std::vector<double> sample(std::min(tasks, workload.cost_count));
    for (uint64_t i = 0; i < sample.size(); ++i) sample[i] = cost_at(workload, i);
    return {std::move(sample), tasks};
}

struct Arm {
    uint32_t order, batch;
    Plan plan;
    const char* name;
};

constexpr Arm kArms[] = {
    {GPO_ORDER_GRID, 0, {HandOut::grid, 1, false}, "a block for each group"},
    {GPO_ORDER_CHUNKS, 0, {HandOut::chunks, 1, false}, "chunks"},
    {GPO_ORDER_STRIDED, 0, {HandOut::strided, 1, false}, "strided"},
    {GPO_ORDER_CLAIMED, 1, {HandOut::claimed, 1, false}, "claimed by 1"},
    {GPO_ORDER_CLAIMED, 8, {HandOut::claimed, 8, false}, "by 8"},
    {GPO_ORDER_CLAIMED, 32, {HandOut::claimed, 32, false}, "by 32"},
    {GPO_ORDER_CLAIMED, 128, {HandOut::claimed, 128, false}, "by 128"},
    {GPO_ORDER_CLAIMED_LATE, 1, {HandOut::claimed, 1, false, true}, "claimed late by 1"},
    {GPO_ORDER_CLAIMED_LATE, 8, {HandOut::claimed, 8, false, true}, "late by 8"},
};
constexpr Arm kSorted{GPO_ORDER_LONGEST_FIRST, 1, {HandOut::claimed, 1, true}, "longest first"};

const Arm& arm_of(uint32_t order) noexcept {
    if (order == GPO_ORDER_LONGEST_FIRST) return kSorted;
    return *std::find_if(std::begin(kArms), std::end(kArms),
                         [&](const Arm& arm) { return arm.order == (order ? order : GPO_ORDER_GRID); });
}

class Comparison {
public:
    Comparison(const gpo_workload& workload, const TaskCosts& tasks, const Machine& machine)
        : machine_(machine), now_(&arm_of(workload.order)),
          tasks_(tasks.times(nanoseconds(workload, tasks, now_->plan, machine))) {}

    TaskAdvice run() {
        const double now = try_arm(*now_);
        const Arm* best = now_;
        double least = now;
        for (const Arm& arm : kArms) {
            // A grid is only compared if it is the present form: how tasks would make blocks isn't known.
            if (&arm == now_ || arm.order == GPO_ORDER_GRID) continue;
            if (arm.batch > 1 && arm.batch * uint64_t{machine_.all_workers()} > 2 * tasks_.count()) continue;
            const double time = try_arm(arm);
            if (time >= least) continue;
            best = &arm;
            least = time;
        }
        if (now_ != &kSorted && uneven())
            if (const double time = try_arm(kSorted); time * kWorthSorting < least) {
                best = &kSorted;
                least = time;
            }
        advice_.known = true;
        advice_.order = best->order;
        advice_.batch = best->batch;
        advice_.ratio = least / now;
        advice_.idle_now = std::max(0.0, 1 - tasks_.sum() / (now * machine_.all_workers()));
        advice_.longest = tasks_.longest() * static_cast<double>(tasks_.count()) / tasks_.sum();
        return std::move(advice_);
    }

private:
    /// Nanoseconds of a unit of the caller's costs.
    static double nanoseconds(const gpo_workload& workload, const TaskCosts& tasks, const Plan& plan,
                              const Machine& machine) {
        const auto count = static_cast<double>(tasks.count());
        if (workload.task_ns || !workload.kernel_ns)
            return (workload.task_ns ? static_cast<double>(workload.task_ns) : kUnknownTask) * count / tasks.sum();
        Machine free = machine;
        free.claim_ns = free.answer_ns = free.batch_ns = free.order_ns = 0;
        const double part = count / static_cast<double>(std::max(workload.tasks, tasks.count()));
        return static_cast<double>(workload.kernel_ns) * part / makespan(tasks, plan, free);
    }
    bool uneven() const noexcept { return tasks_.longest() > tasks_.shortest() * 1.1; }
    double try_arm(const Arm& arm) {
        const double time = makespan(tasks_, arm.plan, machine_);
        advice_.tried += text(advice_.tried.empty() ? "" : ", ", arm.name, " ", time_text(time));
        return time;
    }

    const Machine machine_;
    const Arm* const now_;
    const TaskCosts tasks_;
    TaskAdvice advice_;
};

}  // namespace

TaskAdvice advise_tasks(const gpo_workload& workload, const gpo_costs& costs) {
    check_costs(workload);
    check_workers(workload);
    if (workload.cost_count == 0 && workload.tasks == 0) return {};
    const TaskCosts tasks = costs_of_tasks(workload);
    if (tasks.sum() == 0) return {};
    return Comparison(workload, tasks, machine_of(workload, costs)).run();
}

}  // namespace gpo::advice
