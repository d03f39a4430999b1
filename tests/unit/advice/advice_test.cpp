// Which form is advised for each workload, with the costs of an H200. If both forms were measured on an H200 with raw
// driver calls, the measured gain must be within the expected range.
#include "advice/ranked_forms.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "advice/costs.h"
#include "support/sized.h"

using gpo::advice::advise;
using gpo::advice::Answer;
using gpo::advice::default_costs;
using gpo::test::sized;

namespace {

constexpr uint64_t kUs = 1'000;

gpo_workload launching(uint64_t launches, uint64_t kernel_ns, uint32_t flags = 0) {
    auto workload = sized<gpo_workload>();
    workload.launches = launches;
    workload.kernel_ns = kernel_ns;
    workload.flags = flags;
    return workload;
}

gpo_workload with(gpo_workload workload, const std::function<void(gpo_workload&)>& change) {
    change(workload);
    return workload;
}

Answer ask(const gpo_workload& workload) { return advise(workload, default_costs()); }

const gpo_advice* form(const Answer& answer, uint32_t form) {
    const auto found = std::find_if(answer.ranked.begin(), answer.ranked.end(),
                                    [&](const gpo_advice& advice) { return advice.form == form; });
    return found == answer.ranked.end() ? nullptr : &*found;
}

std::string refusal(const gpo_workload& workload) {
    try {
        ask(workload);
        return "";
    } catch (const gpo::Failure& failure) {
        CHECK(failure.error()->status == GPO_INVALID_ARGUMENT);
        return failure.error()->message;
    }
}

/// The five mixes: 2^17 tasks of a warp each, by turns of a loop that takes 35 ns; and the text-book's kernel, 32 items
/// a warp, whose GPU starts a block for each 8 warps.
std::vector<float> mix(const std::function<double(size_t)>& turns, size_t count = 1 << 17) {
    std::vector<float> costs(count);
    for (size_t i = 0; i < count; ++i) costs[i] = static_cast<float>(turns(i));
    return costs;
}

gpo_workload of_tasks(const std::vector<float>& costs, uint32_t order, double turn_ns = 35) {
    auto workload = sized<gpo_workload>();
    double all = 0;
    for (const float cost : costs) all += static_cast<double>(cost);
    workload.launches = 1;
    workload.tasks = workload.cost_count = costs.size();
    workload.task_costs = costs.data();
    workload.cost_stride = sizeof(float);
    workload.task_ns = static_cast<uint64_t>(turn_ns * all / static_cast<double>(costs.size()));
    workload.kernel_ns = workload.task_ns * costs.size() / 8448;
    workload.order = order;
    return workload;
}

}  // namespace

TEST_CASE("each workload gets the form that fits, and the measured gain is within what is expected") {
    struct Row {
        const char* what;
        gpo_workload workload;
        uint32_t form;
        double measured;  // times faster, by raw driver calls; 0: not measured
    };
    const std::vector<Row> rows = {
        {"3 short kernels, the same every round", launching(3, 3'300, GPO_WORKLOAD_REPEATS), GPO_FORM_GRAPH,
         10.1 / 3.9},
        {"10 of them", launching(10, 11'000, GPO_WORKLOAD_REPEATS), GPO_FORM_GRAPH, 33 / 11.8},
        {"100 of them", launching(100, 109'000, GPO_WORKLOAD_REPEATS), GPO_FORM_GRAPH, 313.0 / 109},
        {"the same of varying shapes", launching(100, 109'000, GPO_WORKLOAD_REPEATS | GPO_WORKLOAD_SHAPES_VARY),
         GPO_FORM_BUCKETS, 0},
        {"one long kernel", launching(1, 5'000 * kUs, GPO_WORKLOAD_REPEATS), GPO_FORM_LEAVE, 0},
        {"ten long kernels", launching(10, 50'000 * kUs, GPO_WORKLOAD_REPEATS), GPO_FORM_LEAVE, 0},
        {"short kernels that are in a graph", launching(3, 60 * kUs, GPO_WORKLOAD_REPEATS | GPO_WORKLOAD_IN_GRAPH),
         GPO_FORM_LEAVE, 0},
        {"a loop that the host decides",
         with(launching(1000, 1'100 * kUs, GPO_WORKLOAD_REPEATS), [](gpo_workload& w) { w.decisions = 1000; }),
         GPO_FORM_WHILE, 10.8 / 4.2},
        {"1 GiB in, a kernel, 1 GiB out",
         with(launching(1, 500 * kUs), [](gpo_workload& w) { w.copy_in_bytes = w.copy_out_bytes = 1 << 30; }),
         GPO_FORM_PIPELINE, 39.6 / 22.3},
        {"the same from pageable memory",
         with(launching(1, 500 * kUs, GPO_WORKLOAD_PAGEABLE),
              [](gpo_workload& w) { w.copy_in_bytes = w.copy_out_bytes = 1 << 30; }),
         GPO_FORM_PIPELINE, 55.3 / 11.1},
        {"1024 copies of 64 KiB",
         with(sized<gpo_workload>(), [](gpo_workload& w) { w.copies = 1024, w.copy_in_bytes = 1024 << 16; }),
         GPO_FORM_BATCHED_COPIES, 40.6 / 17.0},
        {"requests that are answered one by one", launching(1, 1'100, GPO_WORKLOAD_ARRIVES), GPO_FORM_HOST_RING,
         8.5 / 2.84},
        {"requests that take a millisecond", launching(1, 1'000 * kUs, GPO_WORKLOAD_ARRIVES), GPO_FORM_LEAVE, 0},
        {"independent kernels of 4 blocks",
         with(launching(64, 64 * 50 * kUs, GPO_WORKLOAD_INDEPENDENT), [](gpo_workload& w) { w.blocks = 4; }),
         GPO_FORM_MORE_STREAMS, 0},
        {"independent kernels that fill the GPU",
         with(launching(64, 64 * 50 * kUs, GPO_WORKLOAD_INDEPENDENT), [](gpo_workload& w) { w.blocks = 1056; }),
         GPO_FORM_LEAVE, 0},
        {"dependent short kernels on 8 streams",
         with(launching(100, 100 * 3 * kUs), [](gpo_workload& w) { w.streams = 8; }), GPO_FORM_FEWER_STREAMS, 0},
        {"a frontier whose size the host reads in each of 20 levels",
         with(launching(20, 20 * 5 * kUs, GPO_WORKLOAD_SPAWNS),
              [](gpo_workload& w) { w.decisions = 20, w.tasks = 1 << 16; }),
         GPO_FORM_RING, 0},
        {"a kernel that launches two, which are waited for",
         with(launching(3, 3 * 1'100, GPO_WORKLOAD_DYNAMIC_PARALLELISM), [](gpo_workload& w) { w.decisions = 1; }),
         GPO_FORM_HOST_LAUNCHES, 32.9 / 16.5},
        {"nothing is known", sized<gpo_workload>(), GPO_FORM_LEAVE, 0},
    };
    for (const Row& row : rows) {
        const Answer answer = ask(row.workload);
        std::string all;
        for (const gpo_advice& advice : answer.ranked)
            all += std::to_string(advice.form) + ": " + std::to_string(advice.gain_low) + " to " +
                   std::to_string(advice.gain_high) + ", " + advice.reason + "\n";
        INFO(row.what << "\n" << all);
        CHECK(answer.ranked.front().form == row.form);
        CHECK(form(answer, GPO_FORM_LEAVE) != nullptr);
        if (row.measured == 0) continue;
        CHECK(answer.ranked.front().gain_low / 1e3 <= row.measured);
        CHECK(answer.ranked.front().gain_high / 1e3 >= row.measured);
    }
}

TEST_CASE("of the five mixes of tasks each gets the order that was the fastest on an H200") {
    struct Row {
        const char* what;
        std::vector<float> costs;
        uint32_t order_now;
        bool left;        // the current order was the fastest
        double measured;  // gain of claiming tasks one by one; for random tasks, gain of "longest first", on an H100
    };
    uint64_t random = 1;
    const std::vector<Row> rows = {
        {"(i mod 256) * 16", mix([](size_t i) { return static_cast<double>(i % 256) * 16; }), GPO_ORDER_CHUNKS, false,
         2056.0 / 1113},
        {"random, 1 in 64 is 300 times dearer", mix([&](size_t) {
             random = random * 6364136223846793005u + 1442695040888963407u;
             return random >> 58 == 0 ? 30'000.0 : 100.0;
         }),
         GPO_ORDER_CHUNKS, false, 1178.0 / 385},
        {"one hot sixteenth", mix([](size_t i) { return i < (1 << 13) ? 8000.0 : 100.0; }), GPO_ORDER_CHUNKS, false,
         1832.0 / 396},
        {"uniform", mix([](size_t) { return 500.0; }), GPO_ORDER_CHUNKS, false, 314.0 / 283},
        {"the text-book's, hoisted", mix([](size_t i) { return 31.0 + 32.0 * static_cast<double>(i % 8); }, 1 << 15),
         GPO_ORDER_GRID, true, 0},
    };
    for (const Row& row : rows) {
        const Answer answer = ask(of_tasks(row.costs, row.order_now));
        const gpo_advice& best = answer.ranked.front();
        INFO(row.what << ": order " << best.order << ", batch " << best.batch << ", gain " << best.gain_low << " to "
                      << best.gain_high << ", " << best.reason);
        if (row.left) {
            CHECK(best.form == GPO_FORM_LEAVE);
            continue;
        }
        CHECK(best.form == GPO_FORM_RANGE);
        CHECK((best.order == GPO_ORDER_CLAIMED || best.order == GPO_ORDER_CLAIMED_LATE ||
               best.order == GPO_ORDER_LONGEST_FIRST));
        CHECK(best.batch == 1);
        CHECK(best.gain_low / 1e3 <= row.measured);
        CHECK(best.gain_high / 1e3 >= row.measured / 1.15);
    }
}

TEST_CASE("late claims are advised for uneven tasks, and not where tasks are alike or batches are short") {
    const auto order = [](const std::vector<float>& costs, uint32_t now) {
        const Answer answer = ask(of_tasks(costs, now));
        CHECK(form(answer, GPO_FORM_RANGE) != nullptr);
        return form(answer, GPO_FORM_RANGE)->order;
    };
    const auto rising = mix([](size_t i) { return static_cast<double>(i % 256) * 16; });
    CHECK(order(rising, GPO_ORDER_CHUNKS) == GPO_ORDER_CLAIMED_LATE);
    CHECK(order(rising, GPO_ORDER_CLAIMED) == GPO_ORDER_CLAIMED_LATE);
    CHECK(order(mix([](size_t) { return 500.0; }), GPO_ORDER_CHUNKS) == GPO_ORDER_CLAIMED);
    CHECK(order(mix([](size_t) { return 500.0; }), GPO_ORDER_CLAIMED_LATE) == GPO_ORDER_CLAIMED);
    // If tasks are already claimed late, the advice is to leave them.
    CHECK(ask(of_tasks(rising, GPO_ORDER_CLAIMED_LATE)).ranked.front().form == GPO_FORM_LEAVE);
    // The simulation's figures are in the reason.
    const Answer answer = ask(of_tasks(rising, GPO_ORDER_CHUNKS));
    CHECK(std::string(answer.ranked.front().reason).find("claimed late by 1 ") != std::string::npos);
}

TEST_CASE("a hot part that is claimed already stays, and equal tasks that are strided need no queue if they are many") {
    const auto hot = mix([](size_t i) { return i < (1 << 13) ? 8000.0 : 100.0; });
    CHECK(ask(of_tasks(hot, GPO_ORDER_CLAIMED)).ranked.front().form == GPO_FORM_LEAVE);
    // If a task takes only nanoseconds, claiming it takes longer than running it.
    const auto tiny = mix([](size_t) { return 1.0; });
    CHECK(ask(of_tasks(tiny, GPO_ORDER_STRIDED)).ranked.front().form == GPO_FORM_LEAVE);
    auto slow = of_tasks(tiny, GPO_ORDER_CLAIMED);
    slow.kernel_ns = 100 * kUs;
    const Answer claimed = ask(slow);
    CHECK(claimed.ranked.front().form == GPO_FORM_RANGE);
    CHECK(claimed.ranked.front().batch != 1);
}

TEST_CASE("tasks of which only the spread is known get a queue where it is wide, and are left where it is narrow") {
    auto workload = launching(1, 1'000 * kUs);
    workload.tasks = 1 << 17;
    workload.order = GPO_ORDER_CHUNKS;
    workload.cost_deviation = 3'700;
    workload.cost_max = 30'000;
    CHECK(ask(workload).ranked.front().form == GPO_FORM_RANGE);
    workload.order = GPO_ORDER_CLAIMED;
    workload.cost_deviation = 10;
    workload.cost_max = 1'050;
    const Answer narrow = ask(workload);
    INFO(narrow.ranked.front().reason);
    CHECK(narrow.ranked.front().form == GPO_FORM_LEAVE);
}

TEST_CASE("a sample of the costs does as well as all of them, and may lie in structs") {
    struct Task {
        uint32_t first;
        float cost;
        uint64_t rest;
    };
    std::vector<Task> sample(256);
    for (size_t i = 0; i < sample.size(); ++i) sample[i].cost = static_cast<float>(i);
    auto workload = launching(1, 2'000 * kUs);
    workload.tasks = 1 << 20;
    workload.task_costs = &sample[0].cost;
    workload.cost_stride = sizeof(Task);
    workload.cost_count = sample.size();
    workload.order = GPO_ORDER_STRIDED;
    const gpo_advice best = ask(workload).ranked.front();
    CHECK(best.form == GPO_FORM_RANGE);
    CHECK(best.batch == 1);
    // More tasks in the same time: a claim for each would take longer than the tasks.
    workload.tasks = 1 << 24;
    CHECK(ask(workload).ranked.front().batch != 1);
}

TEST_CASE("dynamic parallelism is considered, and ranked behind what is faster") {
    auto workload = launching(20, 20 * 5 * kUs, GPO_WORKLOAD_SPAWNS);
    workload.decisions = 20;
    workload.tasks = 1000;
    const Answer answer = ask(workload);
    const gpo_advice* const dynamic = form(answer, GPO_FORM_DYNAMIC_PARALLELISM);
    REQUIRE(dynamic != nullptr);
    CHECK(dynamic > form(answer, GPO_FORM_RING));
    CHECK(dynamic->gain_low < 1000);
}

TEST_CASE("the diagnosis says what bounds a round, in the roofline's terms") {
    struct Row {
        const char* what;
        gpo_workload workload;
        uint32_t bound;
    };
    const auto kernel = [](uint64_t bytes, uint64_t operations) {
        return with(launching(1, 1'000 * kUs), [&](gpo_workload& w) { w.bytes = bytes, w.operations = operations; });
    };
    const std::vector<Row> rows = {
        {"reads and writes as fast as memory does", kernel(4'000'000'000, 1'000'000'000), GPO_BOUND_MEMORY},
        {"computes as fast as it can", kernel(100'000'000, 60'000'000'000), GPO_BOUND_OPERATIONS},
        {"is near neither", kernel(400'000'000, 1'000'000'000), GPO_BOUND_KERNEL},
        {"tells nothing", kernel(0, 0), GPO_BOUND_KERNEL},
        {"launches", launching(100, 109 * kUs), GPO_BOUND_LAUNCH},
        {"copies", with(launching(1, 100 * kUs), [](gpo_workload& w) { w.copy_in_bytes = 1 << 30; }), GPO_BOUND_COPY},
        {"waits", with(launching(10, 11 * kUs), [](gpo_workload& w) { w.decisions = 10; }), GPO_BOUND_DECISION},
        {"does something else", with(launching(1, 100 * kUs), [](gpo_workload& w) { w.round_ns = 1'000 * kUs; }),
         GPO_BOUND_IDLE},
    };
    for (const Row& row : rows) {
        INFO(row.what);
        CHECK(ask(row.workload).diagnosis.bound == row.bound);
    }
    const gpo_diagnosis memory = ask(rows[0].workload).diagnosis;
    CHECK(memory.intensity == 250);
    CHECK(memory.ridge == 15'929);
    CHECK(memory.memory_ns == 952'381);
    CHECK(memory.roofline_share == 952);
    CHECK(memory.round_ns == 1'000 * kUs);
    const gpo_diagnosis launches = ask(rows[4].workload).diagnosis;
    CHECK(launches.launch_ns == 330 * kUs);
    CHECK(launches.launch_share == 1000);
}

TEST_CASE("a reason names no figure that isn't known: operations a byte, where one of the two wasn't given") {
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{4'000'000'000}})
        for (const uint64_t operations : {uint64_t{0}, uint64_t{1'000'000'000}, uint64_t{60'000'000'000}}) {
            const auto workload = with(launching(1, 1'000 * kUs),
                                       [&](gpo_workload& w) { w.bytes = bytes, w.operations = operations; });
            const Answer answer = ask(workload);
            const bool roofline =
                answer.diagnosis.bound == GPO_BOUND_MEMORY || answer.diagnosis.bound == GPO_BOUND_OPERATIONS;
            CHECK((answer.diagnosis.intensity != 0) == (bytes && operations));
            for (const gpo_advice& advice : answer.ranked) {
                const std::string reason = advice.reason;
                INFO(bytes << " bytes, " << operations << " operations: " << reason);
                CHECK((reason.find("operations a byte") != std::string::npos) ==
                      (advice.form == GPO_FORM_LEAVE && roofline && bytes && operations));
            }
        }
}

TEST_CASE("a round's measured time is believed: what nothing explains makes a gain less sure") {
    auto workload = launching(100, 109'000, GPO_WORKLOAD_REPEATS);
    const gpo_advice modelled = ask(workload).ranked.front();
    workload.round_ns = 660 * kUs;
    const Answer slower = ask(workload);
    CHECK(slower.diagnosis.round_ns == 660 * kUs);
    CHECK(slower.diagnosis.idle_ns == 330 * kUs);
    REQUIRE(form(slower, GPO_FORM_GRAPH) != nullptr);
    CHECK(form(slower, GPO_FORM_GRAPH)->gain_low < modelled.gain_low);
    workload.round_ns = 165 * kUs;  // a host that is twice as fast
    const Answer faster = ask(workload);
    CHECK(faster.diagnosis.round_ns == 165 * kUs);
    CHECK(faster.diagnosis.idle_ns == 0);
}

TEST_CASE("a figure that can't be is refused by its name") {
    const auto refuses = [&](const char* word, const std::function<void(gpo_workload&)>& change) {
        const std::string message = refusal(with(launching(1, 1), change));
        INFO(word << ": " << message);
        CHECK(message.find(word) != std::string::npos);
    };
    float costs[3] = {1, 2, 3};
    const auto has = [&](gpo_workload& w, uint64_t count, uint64_t stride) {
        w.task_costs = costs, w.cost_count = count, w.cost_stride = stride;
    };
    refuses("workload.flags", [](gpo_workload& w) { w.flags = 512; });
    refuses("workload.order is 7", [](gpo_workload& w) { w.order = 7; });
    refuses("workload.workers", [](gpo_workload& w) { w.workers = UINT32_MAX; });
    refuses("workload.block_workers is 9", [](gpo_workload& w) { w.workers = 8, w.block_workers = 9; });
    refuses("workload.block_workers is 65", [](gpo_workload& w) { w.block_workers = 65; });
    refuses("workload.task_costs is NULL", [](gpo_workload& w) { w.cost_count = 1; });
    refuses("workload.cost_count", [&](gpo_workload& w) { has(w, (1 << 20) + 1, 4); });
    refuses("workload.cost_stride is 3", [&](gpo_workload& w) { has(w, 3, 3); });
    refuses("workload.cost_stride", [&](gpo_workload& w) { has(w, 3, UINT64_MAX / 2); });
    refuses("workload.task_costs[1] is -1", [&](gpo_workload& w) { costs[1] = -1, has(w, 3, 4); });
    refuses("workload.task_costs[1] is nan",
            [&](gpo_workload& w) { costs[1] = std::numeric_limits<float>::quiet_NaN(), has(w, 3, 4); });
    refuses("workload.task_costs[2] is inf",
            [&](gpo_workload& w) { costs[1] = 1, costs[2] = std::numeric_limits<float>::infinity(), has(w, 3, 4); });
}

TEST_CASE("whatever the figures are, the answer has figures that can be") {
    uint64_t random = 7;
    const auto next = [&] {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint64_t value = random >> 3;
        return value >> (value % 61);
    };
    for (int i = 0; i < 3000; ++i) {
        auto workload = sized<gpo_workload>();
        workload.flags = static_cast<uint32_t>(next() % 512);
        for (uint64_t* field :
             {&workload.launches, &workload.round_ns, &workload.kernel_ns, &workload.decisions, &workload.bytes,
              &workload.operations, &workload.copies, &workload.copy_in_bytes, &workload.copy_out_bytes})
            if (next() % 3) *field = i % 10 == 0 ? UINT64_MAX - next() % 3 : next();
        workload.streams = static_cast<uint32_t>(next());
        workload.blocks = static_cast<uint32_t>(next());
        if (i % 50 == 0) workload.tasks = next(), workload.task_ns = next(), workload.cost_max = next();
        const Answer answer = ask(workload);
        CHECK(form(answer, GPO_FORM_LEAVE) != nullptr);
        CHECK(answer.diagnosis.bound >= GPO_BOUND_LAUNCH);
        for (const gpo_advice& advice : answer.ranked) {
            INFO("form " << advice.form << " of workload " << i);
            CHECK(advice.gain_low <= advice.gain_high);
            CHECK(std::string(advice.reason).size() > 20);
            CHECK(std::string(advice.reason).find("nan") == std::string::npos);
        }
    }
}

TEST_CASE("costs that are given count, and the rest are the device's") {
    auto given = sized<gpo_costs>();
    given.launch_ns = 1'500;
    const gpo_costs costs = gpo::advice::completed(given, default_costs());
    CHECK(costs.launch_ns == 1'500);
    CHECK(costs.graph_node_ns == default_costs().graph_node_ns);
    const auto workload = launching(100, 109'000, GPO_WORKLOAD_REPEATS);
    CHECK(advise(workload, costs).ranked.front().gain_high < ask(workload).ranked.front().gain_high);

    auto device = sized<gpo_device_properties>();
    device.compute_capability_major = 8;
    device.multiprocessors = 108;
    device.clock_khz = 1'410'000;
    device.memory_clock_khz = 1'215'000;
    device.memory_bus_bits = 5120;
    const gpo_costs a100 = gpo::advice::costs_of(device);
    CHECK(a100.multiprocessors == 108);
    CHECK(a100.operation_rate / 1'000'000'000 == 19'491);
    CHECK(a100.memory_rate / 1'000'000'000 == 1'337);
}
