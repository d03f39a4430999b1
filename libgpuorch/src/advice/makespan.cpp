#include "advice/makespan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

namespace gpo::advice {

namespace {

constexpr double kMostTurns = 1 << 18;  // simulated at most
constexpr double kNever = std::numeric_limits<double>::infinity();

bool is_fixed(const Plan& plan) noexcept {
    return plan.hand_out == HandOut::chunks || plan.hand_out == HandOut::strided;
}

/// A multiprocessor. Its busy workers progress alike: *progress* is what each would have done since the beginning.
class Unit {
public:
    struct Job {
        double until;  // the unit's progress when it is done
        uint32_t worker;
        bool operator>(const Job& other) const noexcept { return until > other.until; }
    };

    void begin(double now, uint32_t worker, double cost, const Machine& machine) {
        advance(now, machine);
        jobs_.push({progress_ + cost, worker});
    }
    /// When the unit's next job ends.
    double next(const Machine& machine) const noexcept {
        return jobs_.empty() ? kNever : now_ + (jobs_.top().until - progress_) / speed(machine);
    }
    /// Ends the next job; returns its worker.
    uint32_t end(double now, const Machine& machine) {
        advance(now, machine);
        const Job job = jobs_.top();
        progress_ = job.until;
        jobs_.pop();
        return job.worker;
    }

private:
    /// `lone` for few workers, 1 for all. In between, the wait for the own last result and the wait for the others meet
    /// like two legs of a right triangle: a sum would be too slow, and the longer of both too fast.
    double speed(const Machine& machine) const noexcept {
        const double own = 1 / (machine.lone * machine.lone);
        const double busy = static_cast<double>(jobs_.size()) / static_cast<double>(machine.workers);
        return 1 / std::sqrt(own + (1 - own) * busy * busy);
    }
    void advance(double now, const Machine& machine) noexcept {
        if (!jobs_.empty()) progress_ += (now - now_) * speed(machine);
        now_ = now;
    }
    std::priority_queue<Job, std::vector<Job>, std::greater<Job>> jobs_;
    double progress_ = 0, now_ = 0;
};

/// The earliest of several times. Each inner place of a binary tree has the earlier of its two children's times.
class Earliest {
public:
    explicit Earliest(uint32_t count) : leaves_(std::bit_ceil(count)), times_(2 * leaves_, kNever) {}
    double time() const noexcept { return times_[1]; }
    uint32_t which() const noexcept {
        uint32_t at = 1;
        while (at < leaves_) at = 2 * at + (times_[2 * at] == times_[at] ? 0 : 1);
        return at - leaves_;
    }
    void set(uint32_t which, double time) noexcept {
        uint32_t at = leaves_ + which;
        times_[at] = time;
        while (at /= 2) times_[at] = std::min(times_[2 * at], times_[2 * at + 1]);
    }

private:
    const uint32_t leaves_;
    std::vector<double> times_;
};

class Simulation {
public:
    Simulation(const TaskCosts& costs, const Plan& plan, const Machine& machine)
        : costs_(costs), plan_(plan), machine_(machine), units_(machine.units), ends_(machine.units) {}

    double run() {
        switch (plan_.hand_out) {
            case HandOut::grid: begin_grid(); break;
            case HandOut::chunks:
            case HandOut::strided: begin_fixed(); break;
            case HandOut::claimed: begin_claimed(); break;
        }
        for (;;) {
            const bool wakes = !asleep_.empty() && asleep_.top().at <= ends_.time();
            if (!wakes && ends_.time() == kNever) return now_;
            if (wakes) {
                const Sleeper sleeper = asleep_.top();
                asleep_.pop();
                now_ = sleeper.at;
                do_claimed(sleeper.worker);
            } else {
                const uint32_t unit = ends_.which();
                now_ = ends_.time();
                const uint32_t worker = units_[unit].end(now_, machine_);
                note(unit);
                ended(unit, worker);
            }
        }
    }

private:
    struct Sleeper {
        double at;
        uint32_t worker;
        bool operator>(const Sleeper& other) const noexcept { return at > other.at; }
    };

    uint32_t unit_of(uint32_t worker) const noexcept { return worker / machine_.group % machine_.units; }
    void note(uint32_t unit) { ends_.set(unit, units_[unit].next(machine_)); }
    void begin(uint32_t unit, uint32_t worker, double cost) {
        units_[unit].begin(now_, worker, cost, machine_);
        note(unit);
    }
    void ended(uint32_t unit, uint32_t worker) {
        if (plan_.hand_out == HandOut::grid && --left_[worker] == 0) next_block(unit);
        if (plan_.hand_out == HandOut::claimed) next_batch(worker);
    }

    // --- grid: a job's worker is the number of its block ---
    void begin_grid() {
        left_.resize((costs_.count() + machine_.group - 1) / machine_.group);
        const uint32_t slots = std::max(1u, machine_.workers / machine_.group);
        for (uint32_t slot = 0; slot < slots; ++slot)
            for (uint32_t unit = 0; unit < machine_.units; ++unit) next_block(unit);
    }
    void next_block(uint32_t unit) {
        if (taken_ >= costs_.count()) return;
        const auto block = static_cast<uint32_t>(taken_ / machine_.group);
        const uint64_t end = std::min<uint64_t>(costs_.count(), taken_ + machine_.group);
        left_[block] = static_cast<uint32_t>(end - taken_);
        const double start = now_ > 0 ? machine_.batch_ns : 0;
        while (taken_ < end) begin(unit, block, costs_.at(taken_++) + start);
    }

    // --- chunks and strided ---
    void begin_fixed() {
        const uint64_t workers = machine_.all_workers(), each = (costs_.count() + workers - 1) / workers;
        for (uint32_t worker = 0; worker < workers; ++worker) {
            double cost = 0;
            if (plan_.hand_out == HandOut::chunks)
                cost = costs_.sum(worker * each, each);
            else
                for (uint64_t task = worker; task < costs_.count(); task += workers) cost += costs_.at(task);
            if (cost > 0) begin(unit_of(worker), worker, cost);
        }
    }

    // --- claimed ---
    void begin_claimed() {
        batches_.assign(machine_.all_workers(), {});
        uint32_t first = 0;
        for (; first < machine_.all_workers() && taken_ < costs_.count(); ++first) batches_[first] = {true, take(), 0};
        for (uint32_t worker = 0; worker < first; ++worker) do_claimed(worker);
    }
    /// Begins a worker's batch, and claims its next one if claims are early.
    void do_claimed(uint32_t worker) {
        begin(unit_of(worker), worker, batches_[worker].cost);
        batches_[worker] = {};
        if (!plan_.late) claim(worker);
    }
    void claim(uint32_t worker) {
        if (taken_ >= costs_.count()) return;
        counter_free_ = std::max(now_, counter_free_) + machine_.claim_ns;
        batches_[worker] = {true, take() + machine_.batch_ns, counter_free_ + machine_.answer_ns};
    }
    void next_batch(uint32_t worker) {
        if (plan_.late) claim(worker);
        if (!batches_[worker].any) return;
        if (batches_[worker].there > now_)
            asleep_.push({batches_[worker].there, worker});
        else
            do_claimed(worker);
    }
    double take() {
        const uint64_t from = taken_;
        taken_ = std::min<uint64_t>(costs_.count(), taken_ + plan_.batch);
        return costs_.sum(from, plan_.batch) +
               (plan_.longest_first ? machine_.order_ns * static_cast<double>(taken_ - from) : 0);
    }

    const TaskCosts& costs_;
    const Plan& plan_;
    const Machine& machine_;
    std::vector<Unit> units_;
    Earliest ends_;  // by unit: when its next job ends
    double now_ = 0;
    uint64_t taken_ = 0;          // tasks that were handed out
    std::vector<uint32_t> left_;  // by block: tasks that aren't done
    struct Batch {
        bool any = false;
        double cost = 0, there = 0;  // there: when its claim is answered
    };
    std::vector<Batch> batches_;  // by worker: the next
    double counter_free_ = 0;
    std::priority_queue<Sleeper, std::vector<Sleeper>, std::greater<Sleeper>> asleep_;
};

/// How often a worker takes a batch, on average.
double turns_of(uint64_t tasks, const Plan& plan, const Machine& machine) noexcept {
    const double batch = plan.hand_out == HandOut::grid ? 1 : plan.batch;
    return static_cast<double>(tasks) / batch / machine.all_workers();
}

/// The factor by which unequal workers lengthen the time. It falls with the number of batches that each worker claims,
/// because faster workers claim more.
double unevenness(uint64_t tasks, const Plan& plan, const Machine& machine) noexcept {
    if (is_fixed(plan)) return machine.uneven;
    return 1 + (machine.uneven - 1) * std::min(1.0, 2 / turns_of(tasks, plan, machine));
}

/// For many turns, with all workers busy until the last long task has begun.
double estimate(const TaskCosts& costs, const Plan& plan, const Machine& machine) noexcept {
    const double batches = turns_of(costs.count(), plan, machine) * machine.all_workers();
    const double ordered = plan.longest_first ? static_cast<double>(costs.count()) * machine.order_ns : 0;
    const double working = (costs.sum() + ordered + batches * machine.batch_ns) / machine.all_workers();
    const double claiming = plan.hand_out == HandOut::claimed ? batches * machine.claim_ns : 0;
    const double waiting = plan.late ? working / machine.lone + batches * machine.answer_ns / machine.all_workers() : 0;
    return std::max({working, claiming, waiting}) + (plan.longest_first ? 0 : costs.longest() / machine.lone);
}

}  // namespace

TaskCosts::TaskCosts(std::vector<double> sample, uint64_t count) : sample_(std::move(sample)), count_(count) {
    sums_.reserve(sample_.size() + 1);
    sums_.push_back(0);
    for (const double cost : sample_) sums_.push_back(sums_.back() + cost);
    if (sample_.empty()) return;
    const auto [shortest, longest] = std::minmax_element(sample_.begin(), sample_.end());
    shortest_ = *shortest;
    longest_ = *longest;
}

double TaskCosts::before(uint64_t task) const noexcept {
    if (sample_.empty()) return 0;
    return static_cast<double>(task / sample_.size()) * sums_.back() + sums_[task % sample_.size()];
}

double TaskCosts::sum(uint64_t from, uint64_t count) const noexcept {
    from = std::min(from, count_);
    count = std::min(count, count_ - from);
    // Short sums are added up one by one: a difference of long sums would lose the small costs.
    if (count > 256) return before(from + count) - before(from);
    double all = 0;
    for (uint64_t i = 0; i < count; ++i) all += at(from + i);
    return all;
}

TaskCosts TaskCosts::longest_first() const {
    std::vector<double> sorted(count_);
    for (uint64_t i = 0; i < count_; ++i) sorted[i] = at(i);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    return {std::move(sorted), count_};
}

TaskCosts TaskCosts::times(double factor) const {
    std::vector<double> scaled = sample_;
    for (double& cost : scaled) cost *= factor;
    return {std::move(scaled), count_};
}

double makespan(const TaskCosts& costs, const Plan& plan, const Machine& machine) {
    const double turns = is_fixed(plan) ? 0 : turns_of(costs.count(), plan, machine) * machine.all_workers();
    if (turns > kMostTurns) return estimate(costs, plan, machine);
    const double time = plan.longest_first ? Simulation(costs.longest_first(), plan, machine).run()
                                           : Simulation(costs, plan, machine).run();
    return time * unevenness(costs.count(), plan, machine);
}

}  // namespace gpo::advice
