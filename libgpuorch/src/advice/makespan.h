// How long a GPU takes for tasks of known costs, by the way in which the tasks are handed out: a simulation.
//
// A *worker* (a resident warp or block) does one task after the other. A *unit* (a multiprocessor) has a number of
// workers, which share its arithmetic. While all of a unit's workers are busy, each has speed 1. A worker whose
// neighbours are idle is faster, up to the speed `lone`. *Costs* are nanoseconds at speed 1.
//
// Workers *claim* tasks by adding to a counter in memory, which serves one claim after the other. A worker's first
// batch needs no claim. The worker claims the next batch while it does the current batch. With *late* claims, the
// worker first ends the current batch, then claims the next and waits for the answer.
#pragma once

#include <cstdint>
#include <vector>

namespace gpo::advice {

struct Machine {
    uint32_t units = 132;
    uint32_t workers = 64;    // of a unit
    uint32_t group = 8;       // neighbours among the workers, which are on one unit: the warps of a block
    double lone = 1;          // greatest speed
    double claim_ns = 0.735;  // between two claims of one counter
    double answer_ns = 700;   // from a claim until its worker has the answer, if no other claim is in the way
    double batch_ns = 350;    // cost of a claimed batch to its worker, at speed 1
    double order_ns = 200;    // cost of finding a task in the order of costs, at speed 1
    double uneven = 1;        // the last worker's time over the mean time, for equal work

    uint32_t all_workers() const noexcept { return units * workers; }
};

/// The costs of tasks, in their order. A sample of the costs repeats until each task has a cost.
class TaskCosts {
public:
    /// `sample` isn't empty unless `count` is 0. Throws std::bad_alloc.
    TaskCosts(std::vector<double> sample, uint64_t count);

    uint64_t count() const noexcept { return count_; }
    double at(uint64_t task) const noexcept { return sample_[task % sample_.size()]; }
    /// Sum of the costs of `count` tasks, or as many as there are.
    double sum(uint64_t from, uint64_t count) const noexcept;
    double sum() const noexcept { return sum(0, count_); }
    double longest() const noexcept { return longest_; }
    double shortest() const noexcept { return shortest_; }
    /// Throws std::bad_alloc.
    TaskCosts longest_first() const;
    TaskCosts times(double factor) const;

private:
    double before(uint64_t task) const noexcept;  // cost of all tasks before `task`
    std::vector<double> sample_, sums_;           // sums_[i]: sum of the sample's first i
    uint64_t count_;
    double longest_ = 0, shortest_ = 0;
};

/// How tasks get to workers.
enum class HandOut : uint8_t {
    grid,     // a block for each group of tasks; the GPU starts the next block where one has ended
    chunks,   // each worker has as many neighbouring tasks as the others
    strided,  // each worker has every n-th task
    claimed,  // each worker claims the next batch when it is through with one
};

struct Plan {
    HandOut hand_out = HandOut::grid;
    uint32_t batch = 1;          // tasks of a claim
    bool longest_first = false;  // tasks are sorted by cost; with `claimed`
    bool late = false;           // with `claimed`
};

/// Nanoseconds from the first task's begin to the last task's end. Plans with at most 2^18 batches (blocks, for a grid)
/// are simulated, and so are chunks and strides; otherwise the time is estimated from sums. Throws std::bad_alloc.
double makespan(const TaskCosts& costs, const Plan& plan, const Machine& machine);

}  // namespace gpo::advice
