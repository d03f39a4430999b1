// The simulation that finds the best way to hand out tasks, compared with measurements on an H200 and an H100: 2^17
// tasks of arithmetic, one warp each, on 132 multiprocessors with 64 warps.
#include "advice/makespan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

using gpo::advice::HandOut;
using gpo::advice::Machine;
using gpo::advice::makespan;
using gpo::advice::Plan;
using gpo::advice::TaskCosts;

namespace {

constexpr double kTurn = 35;  // ns of a turn of the tasks' loop while 64 warps share a multiprocessor

Machine h200() {
    Machine machine;
    machine.lone = 2.8;
    machine.uneven = 1.1;
    return machine;
}

TaskCosts tasks(const std::function<double(size_t)>& turns) {
    std::vector<double> costs(1 << 17);
    for (size_t i = 0; i < costs.size(); ++i) costs[i] = kTurn * turns(i);
    return {std::move(costs), 1 << 17};
}

TaskCosts sawtooth() {
    return tasks([](size_t i) { return static_cast<double>(i % 256) * 16; });
}

TaskCosts one_in_64_is_long() {
    uint64_t random = 1;
    return tasks([&](size_t) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return random >> 58 == 0 ? 30'000 : 100;
    });
}

TaskCosts one_in_64_is_longer(double longer) {
    uint64_t random = 1;
    return tasks([&](size_t) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return random >> 58 == 0 ? longer * 64 : 64;
    });
}

TaskCosts hot_at_the_start() {
    return tasks([](size_t i) { return i < (1 << 13) ? 8000 : 100; });
}

/// Microseconds.
double us(const TaskCosts& costs, const Plan& plan) { return makespan(costs, plan, h200()) / 1e3; }

constexpr Plan kChunks{HandOut::chunks}, kStrided{HandOut::strided}, kClaimed{HandOut::claimed};
constexpr Plan kLate{HandOut::claimed, 1, false, true}, kLateBy8{HandOut::claimed, 8, false, true};
constexpr Plan kSorted{HandOut::claimed, 1, true};

}  // namespace

TEST_CASE("the simulation predicts what an H200 and an H100 measured, to a third") {
    struct Row {
        const char* tasks;
        TaskCosts costs;
        Plan plan;
        double measured;  // us
    };
    // H200: by a counter that a warp adds to when it ends a batch. H100: by ranges (tests/bench/queues.cpp).
    const std::vector<Row> rows = {
        {"sawtooth", sawtooth(), kChunks, 2056},
        {"sawtooth", sawtooth(), kStrided, 1732},
        {"sawtooth", sawtooth(), kLate, 1113},
        {"sawtooth", sawtooth(), kLateBy8, 1544},
        {"sawtooth, H100", sawtooth(), kClaimed, 1225},
        {"sawtooth, H100", sawtooth(), kSorted, 1174},
        {"1 in 64", one_in_64_is_long(), kChunks, 1374},
        {"1 in 64", one_in_64_is_long(), kStrided, 1421},
        {"1 in 64", one_in_64_is_long(), kLate, 747},
        {"1 in 64", one_in_64_is_long(), kLateBy8, 1461},
        {"1 in 64, H100", one_in_64_is_longer(300), kChunks, 1178},
        {"1 in 64, H100", one_in_64_is_longer(300), kClaimed, 799},
        {"1 in 64, H100", one_in_64_is_longer(300), kSorted, 385},
        {"hot start", hot_at_the_start(), kChunks, 1832},
        {"hot start", hot_at_the_start(), kStrided, 354},
        {"hot start", hot_at_the_start(), kLate, 396},
        {"uniform", tasks([](size_t) { return 500; }), kChunks, 314},
        {"uniform", tasks([](size_t) { return 500; }), kStrided, 307},
        {"uniform", tasks([](size_t) { return 500; }), kLate, 283},
        {"uniform", tasks([](size_t) { return 500; }), kLateBy8, 319},
        {"uniform, H100", tasks([](size_t) { return 500; }), kClaimed, 301},
    };
    for (const Row& row : rows) {
        const double predicted = us(row.costs, row.plan);
        INFO(row.tasks, ", hand-out ", static_cast<int>(row.plan.hand_out), ", batch ", row.plan.batch, ": ",
             predicted);
        CHECK(predicted > row.measured / 1.34);
        CHECK(predicted < row.measured * 1.34);
    }
}

TEST_CASE("large batches of uneven tasks are slow") {
    // An H200 took 3568 us for the sawtooth in batches of 32. There were so few batches that the warps that started
    // first, on half of the multiprocessors, claimed all of them.
    for (const bool late : {false, true}) {
        const double by_8 = us(sawtooth(), {HandOut::claimed, 8, false, late});
        const double by_128 = us(sawtooth(), {HandOut::claimed, 128, false, late});
        CHECK(us(sawtooth(), {HandOut::claimed, 32, false, late}) > us(sawtooth(), kLateBy8));
        CHECK(by_8 > 1.2 * us(sawtooth(), {HandOut::claimed, 1, false, late}));
        CHECK(by_128 > 2 * by_8);
    }
}

TEST_CASE("late claims gain where long tasks are few, and cost a little where tasks are alike") {
    CHECK(us(one_in_64_is_longer(3000), kLate) < 0.9 * us(one_in_64_is_longer(3000), kClaimed));
    CHECK(us(sawtooth(), kLate) < us(sawtooth(), kClaimed));
    const TaskCosts uniform = tasks([](size_t) { return 500; });
    CHECK(us(uniform, kLate) > us(uniform, kClaimed));
    CHECK(us(uniform, kLate) < 1.05 * us(uniform, kClaimed));
    // Three tasks for two workers: the third waits because the worker of the long task has claimed it.
    Machine two;
    two.units = 2;
    two.workers = two.group = 1;
    two.claim_ns = two.batch_ns = two.answer_ns = 0;
    const TaskCosts three({1000, 10, 100}, 3);
    CHECK(makespan(three, kClaimed, two) == 1100);
    CHECK(makespan(three, kLate, two) == 1000);
    two.answer_ns = 7;
    CHECK(makespan(TaskCosts({100, 100, 100, 100}, 4), kLate, two) == 207);
    CHECK(makespan(TaskCosts({100, 100, 100, 100}, 4), kClaimed, two) == 200);
}

TEST_CASE("no way to hand tasks out is faster than all of them shared evenly, or than the longest one alone") {
    const Machine machine = h200();
    for (const auto& costs :
         {TaskCosts({1e3, 2e3, 40e3}, 20'000), TaskCosts({5e3}, 20'000), TaskCosts({1e6, 1, 1}, 100)}) {
        for (const HandOut way : {HandOut::grid, HandOut::chunks, HandOut::strided, HandOut::claimed})
            for (const uint32_t batch : {1u, 8u, 128u}) {
                for (const bool late : {false, way == HandOut::claimed}) {
                    const double time = makespan(costs, {way, batch, false, late}, machine);
                    CHECK(time >= costs.sum() / machine.all_workers() * 0.999);
                    CHECK(time >= costs.longest() / machine.lone * 0.999);
                }
            }
    }
}

TEST_CASE("longest first gains where a long task would begin last") {
    std::vector<double> costs(20'000, 1e3);
    costs.back() = 1e6;
    const Plan as_they_come{HandOut::claimed}, sorted{HandOut::claimed, 1, true};
    const TaskCosts all(costs, costs.size());
    CHECK(makespan(all, sorted, h200()) < makespan(all, as_they_come, h200()));
}

TEST_CASE(
    "a counter serves so many claims a second and no more, whether the claims are simulated or too many for that") {
    Machine machine = h200();
    machine.batch_ns = 0;
    for (const uint64_t count : {uint64_t{200'000}, uint64_t{1} << 22}) {
        const TaskCosts costs({1.0}, count);  // ns: next to nothing
        const auto claims = static_cast<double>(count - machine.all_workers());
        const double time = makespan(costs, kClaimed, machine);
        CHECK(time >= claims * machine.claim_ns);
        CHECK(time <= claims * machine.claim_ns * 1.1);
        CHECK(makespan(costs, {HandOut::claimed, 16}, machine) < time / 10);
        CHECK(makespan(costs, kLate, machine) >= time * 0.999);
    }
}

TEST_CASE("what is simulated and what is estimated meet where the one ends and the other begins") {
    const std::vector<double> sample = {1e3, 2e3, 3e3, 10e3};
    for (const Plan& plan : {kClaimed, kLate}) {
        const double simulated = makespan(TaskCosts(sample, 1 << 18), plan, h200());
        const double estimated = makespan(TaskCosts(sample, (1 << 18) + 4), plan, h200());
        CHECK(estimated > simulated * 0.95);
        CHECK(estimated < simulated * 1.05);
    }
}

TEST_CASE("a sample of costs stands for all tasks") {
    const TaskCosts costs({1, 2, 3}, 8);
    CHECK(costs.sum() == 15);
    CHECK(costs.sum(2, 3) == 6);
    CHECK(costs.sum(7, 100) == 2);
    CHECK(costs.sum(9, 1) == 0);
    CHECK(costs.at(5) == 3);
    CHECK(costs.longest_first().at(2) == 2);
    CHECK(costs.longest_first().sum() == 15);
    CHECK(TaskCosts({1, 2, 3}, 3000).sum() == 6000);
    CHECK(costs.times(2).longest() == 6);
}

TEST_CASE("a simulation ends for any number of tasks, workers and costs") {
    for (const size_t count : {0, 1, 7, 8, 9, 1000})
        for (const uint32_t units : {1u, 3u, 132u})
            for (const uint32_t workers : {1u, 2u, 64u})
                for (const double cost : {0.0, 1e-30, 1.0, 1e30})
                    for (const HandOut way : {HandOut::grid, HandOut::chunks, HandOut::strided, HandOut::claimed}) {
                        Machine machine;
                        machine.units = units;
                        machine.workers = workers;
                        machine.group = workers > 1 ? 2 : 1;
                        machine.batch_ns = 0;
                        const TaskCosts costs(std::vector<double>(count, cost), count);
                        CHECK(std::isfinite(makespan(costs, {way, 3}, machine)));
                        CHECK(std::isfinite(makespan(costs, {way, 3, false, true}, machine)));
                    }
}
