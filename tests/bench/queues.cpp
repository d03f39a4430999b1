// Device queues against code written by hand: a counter and an atomicAdd for each warp, tasks shared out before they
// begin, a ring of tickets, a ring with counts of room and tasks.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/device_queues.h"

using namespace gpo::bench;

namespace {

// In both arms a task runs the same code, `burn`. The raw rings are minimal: no end, no bound, one size of tasks.
const char* const kSource = R"(
#include <gpuorch/device/queue.cuh>

typedef unsigned long long u64;

static __device__ float burn(unsigned turns, float x) {
#pragma unroll 1
    for (unsigned i = 0; i < turns; ++i) x = x * 1.0001f + 0.5f;
    return x;
}

// --- ranges ---

extern "C" __global__ void raw_pops(u64 *next, u64 count, u64 *popped) {
    const unsigned lane = threadIdx.x & 31;
    u64 n = 0;
    for (;;) {
        u64 at = 0;
        if (lane == 0) at = atomicAdd(next, 1ull);
        at = __shfl_sync(~0u, at, 0);
        if (at >= count) break;
        ++n;
    }
    if (lane == 0) atomicAdd(popped, n);
}
extern "C" __global__ void pops(gpo::range numbers, u64 *popped) {
    u64 n = 0, first, last;
    gpo::warp_range worker(numbers);
    while (worker.next(first, last) == gpo::queue_success) n += last - first;
    if ((threadIdx.x & 31) == 0) atomicAdd(popped, n);
}

static __device__ void task(u64 i, const unsigned *costs, float *out) {
    const float x = burn(costs[i], (float)(threadIdx.x & 31));
    if ((threadIdx.x & 31) == 0) out[i] = x;
}
// Each warp has the same number of neighbouring tasks.
extern "C" __global__ void in_blocks(const unsigned *costs, float *out, u64 count) {
    const u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = (u64)gridDim.x * blockDim.x / 32;
    const u64 each = (count + warps - 1) / warps, end = (warp + 1) * each < count ? (warp + 1) * each : count;
    for (u64 i = warp * each; i < end; ++i) task(i, costs, out);
}
// Each warp has every so-manyth task.
extern "C" __global__ void strided(const unsigned *costs, float *out, u64 count) {
    const u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = (u64)gridDim.x * blockDim.x / 32;
    for (u64 i = warp; i < count; i += warps) task(i, costs, out);
}
extern "C" __global__ void handed_out(gpo::range numbers, const unsigned *costs, float *out) {
    u64 first, last;
    gpo::warp_range worker(numbers);
    while (worker.next(first, last) == gpo::queue_success)
        for (; first < last; ++first) task(worker.number(first), costs, out);
}

// --- rings; a task is 16 bytes, a warp moves 32 at a time ---

#if defined(__GPUORCH_SOFT__)
static __device__ unsigned acquire(const unsigned *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
static __device__ void release(unsigned *at, unsigned value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
#else
static __device__ unsigned acquire(const unsigned *at) {
    unsigned value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
static __device__ void release(unsigned *at, unsigned value) {
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
#endif

struct raw_ring {
    unsigned *sequence;
    uint4 *tasks;
    unsigned log2, mask;
    u64 *tail, *head;
    int *room, *items;
};
static __device__ void put(const raw_ring &ring, u64 at, uint4 task) {
    const unsigned slot = (unsigned)at & ring.mask, lap = (unsigned)(at >> ring.log2);
    while (acquire(&ring.sequence[slot]) != 2 * lap);
    ring.tasks[slot] = task;
    release(&ring.sequence[slot], 2 * lap + 1);
}
static __device__ uint4 get(const raw_ring &ring, u64 at) {
    const unsigned slot = (unsigned)at & ring.mask, lap = (unsigned)(at >> ring.log2);
    while (acquire(&ring.sequence[slot]) != 2 * lap + 1);
    const uint4 task = ring.tasks[slot];
    release(&ring.sequence[slot], 2 * lap + 2);
    return task;
}
static __device__ u64 places(u64 *of) {
    u64 at = 0;
    if ((threadIdx.x & 31) == 0) at = atomicAdd(of, 32ull);
    return __shfl_sync(~0u, at, 0) + (threadIdx.x & 31);
}
// Whether all 32 were counted off.
static __device__ bool counted(int *of) {
    int before = 0;
    if ((threadIdx.x & 31) == 0) {
        before = atomicSub(of, 32);
        if (before < 32) atomicAdd(of, 32);
    }
    return __shfl_sync(~0u, before, 0) >= 32;
}
static __device__ void give(int *to) {
    __syncwarp();
    if ((threadIdx.x & 31) == 0) atomicAdd(to, 32);
}

// Each warp pushes 32 tasks and pops 32, so many times. `sum` gets the sum of all that was popped.
extern "C" __global__ void raw_tickets(raw_ring ring, u64 rounds, u64 *sum) {
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    u64 mine = 0;
    for (u64 round = 0; round < rounds; ++round) {
        put(ring, places(ring.tail), make_uint4(id, (unsigned)round, 1, 2));
        __syncwarp();
        const uint4 task = get(ring, places(ring.head));
        mine += task.x + task.y;
        __syncwarp();
    }
    atomicAdd(sum, mine);
}
extern "C" __global__ void raw_counts(raw_ring ring, u64 rounds, u64 *sum) {
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    u64 mine = 0;
    for (u64 round = 0; round < rounds; ++round) {
        while (!counted(ring.room));
        put(ring, places(ring.tail), make_uint4(id, (unsigned)round, 1, 2));
        give(ring.items);
        while (!counted(ring.items));
        const uint4 task = get(ring, places(ring.head));
        mine += task.x + task.y;
        give(ring.room);
    }
    atomicAdd(sum, mine);
}
extern "C" __global__ void tickets(gpo::ring ring, u64 rounds, u64 *sum) {
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    u64 mine = 0;
    for (u64 round = 0; round < rounds; ++round) {
        uint4 task = make_uint4(id, (unsigned)round, 1, 2);
        if (gpo::push(ring, task, gpo::polls(1u << 30)) != gpo::queue_success) return;
        if (gpo::pop(ring, task, gpo::polls(1u << 30)) != gpo::queue_success) return;
        mine += task.x + task.y;
    }
    atomicAdd(sum, mine);
}
extern "C" __global__ void counts(gpo::ring ring, u64 rounds, u64 *sum) {
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    u64 mine = 0;
    for (u64 round = 0; round < rounds; ++round) {
        uint4 task = make_uint4(id, (unsigned)round, 1, 2);
        while (gpo::try_push(ring, task) != gpo::queue_success);
        while (gpo::try_pop(ring, task) != gpo::queue_success);
        mine += task.x + task.y;
    }
    atomicAdd(sum, mine);
}
)";

gpo_queue_options range_of(uint64_t count, uint32_t batch, uint32_t flags = 0) {
    auto options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_RANGE;
    options.count = count;
    options.batch = batch;
    options.flags = flags;
    return options;
}

// --- ranges ---

void pops(Row& row) {
    Both both(kSource);
    const uint64_t count = row.size(uint64_t{1} << 23, uint64_t{1} << 10);
    const CUdeviceptr next = both.base.memory(128);
    const DeviceQueue range(both.gpu, range_of(count, 1));
    const auto numbers = range.argument<RangeHandle>();
    const Kernel kernel = both.gpu.kernel("pops");
    const auto block = [&](auto run) {
        both.clear(both.word, 8);
        const double ns = run();
        Both::require(both.read(both.word) == count, "a number was lost or handed out twice");
        return million_per_second(count, ns);
    };
    row.pairs(
        [&] {
            both.clear(next, 8);
            return block([&] { return both.raw("raw_pops", next, count, both.word); });
        },
        [&] { return block([&] { return both.ours(kernel, numbers, both.word); }); });
}

/// A function that makes the costs of a mix of tasks. A cost is a number of iterations of the task's loop.
using Costs = std::vector<uint32_t> (*)(size_t count);

std::vector<uint32_t> rising(size_t count) {   // over and over again
    std::vector<uint32_t> costs(count);
    for (size_t i = 0; i < count; ++i) costs[i] = uint32_t(i % 256) * 16;
    return costs;
}
std::vector<uint32_t> rare(size_t count) {   // one in 64 is 300 times dearer
    std::mt19937 random(7);
    std::vector<uint32_t> costs(count);
    for (uint32_t& cost : costs) cost = random() % 64 == 0 ? 300 * 64 : 64;
    return costs;
}
std::vector<uint32_t> hot(size_t count) {   // the first sixteenth is 60 times dearer
    std::vector<uint32_t> costs(count, 64);
    std::fill(costs.begin(), costs.begin() + static_cast<ptrdiff_t>(count / 16), 64 * 60);
    return costs;
}
std::vector<uint32_t> uniform(size_t count) { return std::vector<uint32_t>(count, 500); }
std::vector<uint32_t> hot_end(size_t count) {
    std::vector<uint32_t> costs = hot(count);
    std::reverse(costs.begin(), costs.end());
    return costs;
}
std::vector<uint32_t> varied(size_t count) {
    std::mt19937 random(7);
    std::vector<uint32_t> costs(count);
    for (uint32_t& cost : costs) cost = 50 + random() % 500;
    return costs;
}
std::vector<uint32_t> tiny(size_t count) { return std::vector<uint32_t>(count, 4); }
std::vector<uint32_t> few(size_t count) { return rare(count / 8); }

/// Tasks of uneven cost by one kernel or another.
class Mix : public Both {
public:
    Mix(const Row& row, Costs costs)
        : Both(kSource), costs_(costs(row.size(size_t{1} << 17, size_t{1} << 9))), count_(costs_.size()),
          there_(base.memory(count_ * 4)), out_(base.memory(count_ * 4)) {
        CHECK_CU(base.cu.cuMemcpyHtoDAsync(there_, costs_.data(), count_ * 4, base_stream));
        base.finish(base_stream);
    }
    double by_hand(const char* kernel) { return raw(kernel, there_, out_, uint64_t{count_}) * 1e-6; }
    void hand_out(uint32_t batch, bool longest_first, uint32_t flags = 0) {
        range_.reset();   // frees its memory first
        range_ = std::make_unique<DeviceQueue>(gpu, range_of(count_, batch, flags));
        const std::vector<float> expected = this->expected();
        if (longest_first) CHECK_GPO(gpo_queue_set_costs(*range_, stream, expected.data(), expected.size()));
        finish(stream);
        numbers_ = range_->argument<RangeHandle>();
    }
    double by_range() { return ours(kernel_, numbers_, there_, out_) * 1e-6; }
    std::vector<float> expected() const { return {costs_.begin(), costs_.end()}; }

private:
    const std::vector<uint32_t> costs_;
    const size_t count_;
    const CUdeviceptr there_, out_;
    const Kernel kernel_ = gpu.kernel("handed_out");
    std::unique_ptr<DeviceQueue> range_;
    RangeHandle numbers_{};
};

void against(Row& row, Costs costs, const char* kernel, bool longest_first, uint32_t flags) {
    Mix mix(row, costs);
    mix.hand_out(1, longest_first, flags);
    row.pairs([&] { return mix.by_hand(kernel); }, [&] { return mix.by_range(); });
}

// --- advice ---

/// A way to hand out tasks, named as by gpo_advise.
struct Way {
    const char* name;
    uint32_t order, batch;
};
constexpr Way kWays[] = {{"chunks", GPO_ORDER_CHUNKS, 0},
                         {"strided", GPO_ORDER_STRIDED, 0},
                         {"claimed by 1", GPO_ORDER_CLAIMED, 1},
                         {"claimed by 8", GPO_ORDER_CLAIMED, 8},
                         {"claimed by 32", GPO_ORDER_CLAIMED, 32},
                         {"claimed by 128", GPO_ORDER_CLAIMED, 128},
                         {"claimed late by 1", GPO_ORDER_CLAIMED_LATE, 1},
                         {"claimed late by 8", GPO_ORDER_CLAIMED_LATE, 8},
                         {"longest first", GPO_ORDER_LONGEST_FIRST, 1}};

/// A mix of tasks that workers get in the way `way`.
class InAWay : public Mix {
public:
    InAWay(const Row& row, Costs costs, const Way& way) : Mix(row, costs), way_(way) {
        if (way.batch != 0)
            hand_out(way.batch, way.order == GPO_ORDER_LONGEST_FIRST,
                     way.order == GPO_ORDER_CLAIMED_LATE ? GPO_QUEUE_LATE_CLAIMS : 0);
    }
    double run() {
        if (way_.batch != 0) return by_range();
        return by_hand(way_.order == GPO_ORDER_STRIDED ? "strided" : "in_blocks");
    }
    /// Milliseconds.
    double typical() {
        run();
        return median({run(), run(), run()});
    }

private:
    const Way way_;
};

/// gpo_advise()'s answer for a program that uses chunks.
const Way& advised_way(const Gpu& gpu, const std::vector<float>& costs, double chunks_ms) {
    auto workload = sized<gpo_workload>();
    workload.launches = 1;
    workload.kernel_ns = static_cast<uint64_t>(chunks_ms * 1e6);
    workload.tasks = workload.cost_count = costs.size();
    workload.task_costs = costs.data();
    workload.cost_stride = sizeof(float);
    workload.order = GPO_ORDER_CHUNKS;
    auto best = sized<gpo_advice>();
    uint64_t count = 0;
    CHECK_GPO(gpo_advise(gpu.device, &workload, nullptr, &best, sizeof best, 1, &count));
    if (best.form == GPO_FORM_RANGE)
        for (const Way& way : kWays)
            if (way.order == best.order && way.batch == best.batch) return way;
    return kWays[0];
}

void advised(Row& row, Costs costs) {
    const Way* best = nullptr;
    double least = 0, chunks = 0;
    for (const Way& way : kWays) {
        const double time = InAWay(row, costs, way).typical();
        if (way.order == GPO_ORDER_CHUNKS) chunks = time;
        if (!best || time < least) best = &way, least = time;
    }
    InAWay fastest(row, costs, *best);
    const Way& way = advised_way(fastest.gpu, fastest.expected(), chunks);
    InAWay ours(row, costs, way);
    row.pairs([&] { return fastest.run(); }, [&] { return ours.run(); });
    row.note(std::string("advised: ") + way.name + ", best: " + best->name);
}

// --- rings ---

struct RawRing {
    CUdeviceptr sequence, tasks;
    uint32_t log2, mask;
    CUdeviceptr tail, head, room, items;
};

void rings(Row& row, const char* base, const char* ours, uint32_t flags) {
    constexpr uint32_t kLog2 = 18;
    constexpr uint64_t kSlots = uint64_t{1} << kLog2;
    Both both(kSource);
    const uint64_t rounds = row.size(uint64_t{2000}, uint64_t{2});
    const uint64_t threads = uint64_t{both.grid.blocks} * Grid::kThreads;
    const uint64_t sum = rounds * (threads * (threads - 1) / 2) + threads * (rounds * (rounds - 1) / 2);
    const CUdeviceptr words = both.base.memory(4 * 128);
    const RawRing raw{both.base.memory(kSlots * 4), both.base.memory(kSlots * 16), kLog2, uint32_t(kSlots - 1),
                      words, words + 128, words + 256, words + 384};
    auto options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_RING;
    options.flags = flags;
    options.capacity = kSlots;
    options.task_size = 16;
    const DeviceQueue queue(both.gpu, options);
    const auto ring = queue.argument<RingHandle>();
    const Kernel kernel = both.gpu.kernel(ours);
    const auto block = [&](auto run) {
        both.clear(both.word, 8);
        const double ns = run();
        Both::require(both.read(both.word) == sum, "a task was lost or came twice");
        return million_per_second(threads * rounds, ns);
    };
    row.pairs(
        [&] {
            both.clear(raw.sequence, kSlots * 4);
            both.clear(words, 4 * 128);
            CHECK_CU(both.base.cu.cuMemsetD32Async(raw.room, uint32_t(kSlots), 1, both.base_stream));
            return block([&] { return both.raw(base, raw, rounds, both.word); });
        },
        [&] { return block([&] { return both.ours(kernel, ring, rounds, both.word); }); });
}

// --- rows ---

void range_rows(Bench& bench) {
    bench.row({.name = "range_pops",
               .what = "numbers of a range, one at a time to each warp of all multiprocessors",
               .unit = "M/s",
               .base = "an atomicAdd of each warp on one counter",
               .target = ratio_at_least(0.95)},
              pops);
    struct Comparison {
        const char *name, *what, *base, *kernel;
        Costs costs;
        bool longest_first;
        uint32_t flags;
        double target;
    };
    static constexpr const char *kNeighbours = "neighbouring tasks to each warp", *kLate = "the same, claimed late";
    static constexpr uint32_t kLateClaims = GPO_QUEUE_LATE_CLAIMS;
    static constexpr Comparison kComparisons[] = {
        {"range_rising", "2^17 tasks of (i mod 256) * 16 turns, by a range", kNeighbours, "in_blocks", rising, false, 0,
         1 / 1.85},
        {"range_rising_late", kLate, kNeighbours, "in_blocks", rising, false, kLateClaims, 1 / 1.85},
        {"range_rising_longest", "the same, the longest first", kNeighbours, "in_blocks", rising, true, 0, 1 / 1.85},
        {"range_rare", "2^17 tasks of which one in 64 takes 300 times as long, by a range", kNeighbours, "in_blocks",
         rare, false, 0, 1 / 1.85},
        {"range_rare_late", kLate, kNeighbours, "in_blocks", rare, false, kLateClaims, 1 / 1.85},
        {"range_rare_longest", "the same, the longest first", kNeighbours, "in_blocks", rare, true, 0, 1 / 1.85},
        {"range_uniform", "2^17 tasks that all take as long, by a range", kNeighbours, "in_blocks", uniform, false, 0,
         1 / 0.98},
        {"range_uniform_late", kLate, kNeighbours, "in_blocks", uniform, false, kLateClaims, 0},
        {"range_hot", "2^17 tasks of which the first sixteenth takes 60 times as long, by a range, longest first",
         kNeighbours, "in_blocks", hot, true, 0, 0},
        {"range_hot_late", "the same in their own order, claimed late", kNeighbours, "in_blocks", hot, false,
         kLateClaims, 0},
        {"range_hot_strided", "the same, longest first", "every so-manyth task to each warp", "strided", hot, true, 0,
         0},
    };
    for (const Comparison& each : kComparisons)
        bench.row({.name = each.name,
                   .what = each.what,
                   .unit = "ms",
                   .base = each.base,
                   .target = each.target != 0 ? ratio_at_most(each.target) : Target{}},
                  [&](Row& row) { against(row, each.costs, each.kernel, each.longest_first, each.flags); });
}

void advice_rows(Bench& bench) {
    struct Advised {
        const char *name, *what;
        Costs costs;
    };
    static constexpr Advised kAdvised[] = {
        {"advice_rising", "2^17 tasks of (i mod 256) * 16 turns, handed out as gpo_advise says", rising},
        {"advice_rare", "the same of tasks of which one in 64 takes 300 times as long", rare},
        {"advice_hot", "the same of tasks of which the first sixteenth takes 60 times as long", hot},
        {"advice_hot_end", "the same, the last sixteenth", hot_end},
        {"advice_uniform", "the same of tasks that all take as long", uniform},
        {"advice_varied", "the same of tasks of 50 to 549 turns", varied},
        {"advice_tiny", "the same of tasks of 4 turns", tiny},
        {"advice_few", "the same of 2^14 tasks of which one in 64 takes 300 times as long", few},
    };
    for (const Advised& each : kAdvised)
        bench.row({.name = each.name,
                   .what = each.what,
                   .unit = "ms",
                   .base = "the fastest of chunks, strided, and ranges in several ways",
                   .target = ratio_at_most(1.05)},
                  [&](Row& row) { advised(row, each.costs); });
}

void ring_rows(Bench& bench) {
    bench.row({.name = "ring_tickets",
               .what = "tasks of 16 bytes pushed and popped by all multiprocessors, on a ring with tickets",
               .unit = "M/s",
               .base = "a ring of tickets written by hand, 32 tasks an atomicAdd",
               .target = ratio_at_least(0.9)},
              [](Row& row) { rings(row, "raw_tickets", "tickets", GPO_QUEUE_TICKETS); });
    bench.row({.name = "ring_counts",
               .what = "the same on a ring whose calls don't wait",
               .unit = "M/s",
               .base = "a ring with counts of room and tasks written by hand, 32 tasks an atomicAdd",
               .target = ratio_at_least(0.9)},
              [](Row& row) { rings(row, "raw_counts", "counts", 0); });
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("queues", argc, argv);
    range_rows(bench);
    advice_rows(bench);
    ring_rows(bench);
    return bench.finish();
}
