// gpo::range in kernels (gpuorch/device/queue.cuh): every number is handed out exactly once, launch after launch.
#include <algorithm>
#include <string>
#include <vector>

#include "conformance/queue/queue_rig.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

/// Kernels that count how often each number is handed out, and note the last status of each thread.
const char kRangeKernels[] = R"(
#include <gpuorch/device/queue.cuh>

__device__ void hand(unsigned *seen, unsigned long long number, unsigned *when, unsigned *clock) {
    atomicAdd(&seen[number], 1u);
    if (when) when[number] = atomicAdd(clock, 1u);
}

extern "C" __global__ void by_threads(gpo::range rows, unsigned *seen, int *ends, unsigned *when, unsigned *clock) {
    gpo::thread_range mine(rows);
    unsigned long long first, last;
    int status;
    while ((status = mine.next(first, last)) == gpo::queue_success)
        for (unsigned long long i = first; i < last; ++i) hand(seen, mine.number(i), when, clock);
    if (mine.next(first, last) != status) status = -1;
    if (ends) ends[blockIdx.x * blockDim.x + threadIdx.x] = status;
}

extern "C" __global__ void by_warps(gpo::range rows, unsigned *seen, int *ends, unsigned *when, unsigned *clock) {
    gpo::warp_range mine(rows);
    unsigned long long first, last;
    int status;
    while ((status = mine.next(first, last)) == gpo::queue_success)
        for (unsigned long long i = first; i < last; ++i)
            if (threadIdx.x % 32 == 0) hand(seen, mine.number(i), when, clock);
    if (mine.next(first, last) != status) status = -1;
    if (ends) ends[blockIdx.x * blockDim.x + threadIdx.x] = status;
}

// The lower half of each warp works, and the upper half does something else.
extern "C" __global__ void by_half_warps(gpo::range rows, unsigned *seen, int *ends, unsigned *when, unsigned *clock) {
    int status = -2;
    if (threadIdx.x % 32 < 16) {
        gpo::warp_range mine(rows);
        unsigned long long first, last;
        while ((status = mine.next(first, last)) == gpo::queue_success)
            for (unsigned long long i = first; i < last; ++i)
                if (threadIdx.x % 32 == 0) hand(seen, mine.number(i), when, clock);
    } else {
        for (int i = 0; i < 100; ++i) atomicAdd(&clock[1], 1u);
        status = gpo::queue_end;
    }
    if (ends) ends[blockIdx.x * blockDim.x + threadIdx.x] = status;
}

extern "C" __global__ void by_blocks(gpo::range rows, unsigned *seen, int *ends, unsigned *when, unsigned *clock) {
    __shared__ gpo::block_range_memory memory;
    gpo::block_range mine(rows, memory);
    unsigned long long first, last;
    int status;
    while ((status = mine.next(first, last)) == gpo::queue_success)
        for (unsigned long long i = first + threadIdx.x; i < last; i += blockDim.x)
            hand(seen, mine.number(i), when, clock);
    if (mine.next(first, last) != status) status = -1;
    if (ends) ends[blockIdx.x * blockDim.x + threadIdx.x] = status;
}

extern "C" __global__ void by_shared(gpo::range rows, unsigned *seen, int *ends, unsigned *when, unsigned *clock) {
    __shared__ gpo::shared_range_memory memory;
    gpo::shared_range mine(rows, memory, 4);
    unsigned long long first, last;
    int status;
    while ((status = mine.next(first, last)) == gpo::queue_success)
        for (unsigned long long i = first; i < last; ++i)
            if (threadIdx.x % 32 == 0) hand(seen, mine.number(i), when, clock);
    if (mine.next(first, last) != status) status = -1;
    if (ends) ends[blockIdx.x * blockDim.x + threadIdx.x] = status;
}

// Stops as soon as a worker gets `at`. Numbers that were handed out earlier are finished.
template <class Range>
__device__ void look_for(Range &mine, unsigned *seen, unsigned long long at, bool counts) {
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success) {
        bool found = false;
        for (unsigned long long i = first; i < last; ++i) {
            if (counts) atomicAdd(&seen[i], 1u);
            found = found || i == at;
        }
        if (found) {
            mine.stop();
            return;
        }
    }
}
extern "C" __global__ void stops(gpo::range rows, unsigned *seen, unsigned long long at, int form) {
    __shared__ gpo::block_range_memory memory;
    __shared__ gpo::shared_range_memory shared;
    if (form == 0) {
        gpo::thread_range mine(rows);
        look_for(mine, seen, at, true);
    } else if (form == 1) {
        gpo::warp_range mine(rows);
        look_for(mine, seen, at, threadIdx.x % 32 == 0);
    } else if (form == 2) {
        gpo::block_range mine(rows, memory);
        look_for(mine, seen, at, threadIdx.x == 0);
    } else {
        gpo::shared_range mine(rows, shared, 4);
        look_for(mine, seen, at, threadIdx.x % 32 == 0);
    }
}

// Only the even warps take part. Each of these warps gives its index, and the number of all of them.
extern "C" __global__ void by_even_warps(gpo::range rows, unsigned *seen) {
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (warp % 2) return;
    gpo::warp_range mine(rows, warp / 2, gridDim.x * blockDim.x / 64);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success)
        for (unsigned long long i = first; i < last; ++i)
            if (threadIdx.x % 32 == 0) atomicAdd(&seen[i], 1u);
}

// The worker that gets number 0 begins it, and waits until all other numbers were handed out. Two blocks.
template <class Range>
__device__ void hold(Range &mine, unsigned *seen, unsigned *others, unsigned count, bool counts, int *held) {
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success) {
        if (counts && first != 0) atomicAdd(others, (unsigned)(last - first));
        for (unsigned long long i = first; counts && i < last; ++i) atomicAdd(&seen[i], 1u);
        if (first != 0) continue;
        const unsigned long long begin = gpo::atomic::now();
        while (*(volatile unsigned *)others < count - (unsigned)last && gpo::atomic::now() - begin < 10000000000ull)
            gpo::atomic::pause(100);
        if (counts) *held = *(volatile unsigned *)others == count - (unsigned)last;
    }
}
extern "C" __global__ void holds(gpo::range rows, unsigned *seen, unsigned *others, int *held, int form) {
    __shared__ gpo::block_range_memory memory;
    __shared__ gpo::shared_range_memory shared;
    const unsigned count = (unsigned)rows.count;
    if (form == 0) {
        gpo::thread_range mine(rows);
        hold(mine, seen, others, count, true, held);
    } else if (form == 1) {
        gpo::warp_range mine(rows);
        hold(mine, seen, others, count, threadIdx.x % 32 == 0, held);
    } else if (form == 2) {
        gpo::block_range mine(rows, memory);
        hold(mine, seen, others, count, threadIdx.x == 0, held);
    } else {
        gpo::shared_range mine(rows, shared, 1);
        hold(mine, seen, others, count, threadIdx.x % 32 == 0, held);
    }
}

extern "C" __global__ void fewer(gpo::range rows, unsigned *seen, unsigned long long count) {
    rows.count = count;
    gpo::warp_range mine(rows);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success)
        for (unsigned long long i = first; i < last; ++i)
            if (threadIdx.x % 32 == 0) atomicAdd(&seen[i], 1u);
}

// Only the sums, for counts without memory for each number.
extern "C" __global__ void far(gpo::range rows, unsigned long long *sum, unsigned long long *numbers) {
    gpo::warp_range mine(rows);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success)
        if (threadIdx.x % 32 == 0) {
            atomicAdd(sum, first);
            atomicAdd(numbers, last - first);
        }
}
)";

const char* const kForms[] = {"by_threads", "by_warps", "by_half_warps", "by_blocks", "by_shared"};
constexpr uint32_t kClaims[] = {0, kRangeLateClaims};  // flags for early and for late claims

struct RangeProgram : Program {
    RangeProgram() : Program(kRangeKernels) {}

    /// Launches a kernel once. Returns how often each number was handed out.
    std::vector<uint32_t> launch(const std::string& form, const RangeMemory& range, const gpo_launch& shape) {
        std::vector<uint32_t> seen(range.handle.count + 1), clock(2);
        const uint32_t threads = shape.grid[0] * shape.block[0];
        std::vector<int> ends(threads, -2);
        run(form, shape, range.handle, seen, ends, uint64_t{0}, clock);
        CHECK(ends == std::vector<int>(threads, kQueueEnd));
        CHECK(range.claims() == 0);
        seen.pop_back();
        return seen;
    }
};

}  // namespace

TEST_CASE("a range hands out every number exactly once: all forms, grids and batches, three launches in a row") {
    RangeProgram program;
    struct Shape {
        uint32_t blocks, threads;
        uint64_t count;
        uint32_t batch;
    };
    const Shape shapes[] = {
        {1, 1, 100, 1},  {1, 32, 1000, 1},    {3, 96, 1000, 1}, {7, 40, 999, 3}, {2, 256, 4096, 16}, {16, 64, 500, 7},
        {5, 33, 64, 64}, {4, 128, 100, 1000}, {6, 64, 12, 1},   {6, 64, 13, 1},  {3, 64, 6, 1},      {3, 64, 7, 1},
        {2, 32, 1, 1},   {2, 96, 0, 1},       {1, 64, 2, 1},    {1, 1, 2, 1},    {9, 64, 72, 4},     {9, 64, 73, 4},
    };
    for (const char* form : kForms)
        for (const uint32_t claims : kClaims)
            for (const Shape& shape : shapes) {
                CAPTURE(std::string(form));
                CAPTURE(claims);
                CAPTURE(shape.blocks);
                CAPTURE(shape.threads);
                CAPTURE(shape.count);
                CAPTURE(shape.batch);
                const RangeMemory range(program.gpu, program.stream, shape.count, shape.batch, {}, claims);
                for (int launch = 0; launch < 3; ++launch)
                    CHECK(program.launch(form, range, shape_of(shape.blocks, shape.threads)) ==
                          std::vector<uint32_t>(shape.count, 1));
            }
}

TEST_CASE("one range serves launches of different forms and grids, one after the other") {
    RangeProgram program;
    RangeMemory range(program.gpu, program.stream, 777, 2);
    for (uint32_t blocks = 1; blocks <= 4; ++blocks)
        for (const char* form : kForms)
            for (const uint32_t claims : kClaims) {
                range.handle.flags = claims;
                CHECK(program.launch(form, range, shape_of(blocks, 96)) == std::vector<uint32_t>(777, 1));
            }
}

TEST_CASE("a range in a grid and blocks of three dimensions") {
    RangeProgram program;
    const RangeMemory range(program.gpu, program.stream, 1000, 3);
    std::vector<uint32_t> seen(1000), clock(2);
    for (const char* form : {"by_threads", "by_warps", "by_shared"}) {
        // by_warps computes the lane from threadIdx.x alone, so blocks have 32 threads in x.
        program.run(form, shape_of({2, 3, 2}, {32, 2, 2}), range.handle, seen, uint64_t{0}, uint64_t{0}, clock);
        CHECK(range.claims() == 0);
    }
    CHECK(seen == std::vector<uint32_t>(1000, 3));
}

TEST_CASE("replays of a graph need no reset of a range in between") {
    RangeProgram program;
    const RangeMemory range(program.gpu, program.stream, 500, 1);
    const Memory seen = program.gpu.memory(500 * 4);
    REQUIRE_OK(gpo_fill(program.stream, seen, 0, 4, 500));
    const Memory clock = program.gpu.memory(8);
    const Kernel kernel = program.kernel("by_warps");
    auto options = sized<gpo_template_options>();
    Template recorded;
    REQUIRE_OK(gpo_template_create(program.gpu.device, &options, recorded.out()));
    const gpo_launch shape = shape_of(3, 64);
    const uint64_t none = 0, seen_at = seen, clock_at = clock;
    const void* arguments[] = {&range.handle, &seen_at, &none, &none, &clock_at};
    uint32_t first = 0, second = 0;
    REQUIRE_OK(gpo_template_add_kernel(recorded, nullptr, 0, kernel, &shape, arguments, nullptr, 5, &first));
    REQUIRE_OK(gpo_template_add_kernel(recorded, &first, 1, kernel, &shape, arguments, nullptr, 5, &second));
    Graph graph;
    REQUIRE_OK(gpo_graph_create(recorded, nullptr, graph.out()));
    for (int replay = 0; replay < 5; ++replay) REQUIRE_OK(gpo_graph_launch(graph, program.stream));
    std::vector<uint32_t> counts(500);
    REQUIRE_OK(gpo_copy_to_host(program.stream, counts.data(), seen, 500 * 4));
    REQUIRE_OK(gpo_stream_wait(program.stream, kPatience));
    CHECK(counts == std::vector<uint32_t>(500, 10));
    CHECK(range.claims() == 0);
}

TEST_CASE("an order is kept: each batch holds the next numbers of the order, and every number comes once") {
    RangeProgram program;
    std::vector<uint32_t> order(300);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [](uint32_t a, uint32_t b) { return a * 7919 % 300 > b * 7919 % 300; });
    for (const uint32_t claims : kClaims) {
        const RangeMemory range(program.gpu, program.stream, 300, 3, order, claims);
        for (const char* form : kForms)
            CHECK(program.launch(form, range, shape_of(3, 64)) == std::vector<uint32_t>(300, 1));
        // A single worker gets all numbers, so the times show the order.
        std::vector<uint32_t> seen(300), when(300), clock(2);
        program.run("by_warps", shape_of(1, 32), range.handle, seen, uint64_t{0}, when, clock);
        for (uint32_t i = 0; i < 300; ++i) CHECK(when[order[i]] == i);
    }
}

TEST_CASE("a worker that stops ends the range for all, and the next launch has it whole") {
    RangeProgram program;
    for (int form = 0; form < 8; ++form) {
        const uint32_t claims = kClaims[form / 4];
        CAPTURE(form % 4);
        CAPTURE(claims);
        const RangeMemory range(program.gpu, program.stream, 5000, 2, {}, claims);
        for (const uint64_t at : {0u, 1u, 40u, 600u, 4999u}) {
            CAPTURE(at);
            std::vector<uint32_t> seen(5000);
            program.run("stops", shape_of(4, 64), range.handle, seen, at, form % 4);
            CHECK(seen[at] == 1);
            CHECK(*std::max_element(seen.begin(), seen.end()) == 1);
            CHECK(range.claims() == 0);
        }
        std::vector<uint32_t> seen(5000);
        program.run("stops", shape_of(4, 64), range.handle, seen, uint64_t{9999}, form % 4);
        CHECK(seen == std::vector<uint32_t>(5000, 1));
    }
}

TEST_CASE("with late claims, others get all numbers that a worker hasn't begun" * gated) {
    RangeProgram program;
    for (int form = 0; form < 4; ++form) {
        CAPTURE(form);
        const RangeMemory range(program.gpu, program.stream, 200, 2, {}, kRangeLateClaims);
        const gpo_launch shape = shape_of(2, form == 0 ? 1 : form == 2 ? 64 : 32);
        for (int launch = 0; launch < 2; ++launch) {
            std::vector<uint32_t> seen(200), others(1);
            std::vector<int> held(1);
            program.run("holds", shape, range.handle, seen, others, held, form);
            CHECK(held[0] == 1);
            CHECK(seen == std::vector<uint32_t>(200, 1));
            CHECK(range.claims() == 0);
        }
    }
}

TEST_CASE("a kernel says which of its warps work on a range, and may lower the count") {
    RangeProgram program;
    for (const uint32_t claims : kClaims) {
        const RangeMemory range(program.gpu, program.stream, 1000, 1, {}, claims);
        std::vector<uint32_t> seen(1000);
        program.run("by_even_warps", shape_of(3, 128), range.handle, seen);
        CHECK(seen == std::vector<uint32_t>(1000, 1));
        for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{999}}) {
            std::fill(seen.begin(), seen.end(), 0);
            program.run("fewer", shape_of(3, 128), range.handle, seen, count);
            std::vector<uint32_t> expected(1000);
            std::fill_n(expected.begin(), count, 1);
            CHECK(seen == expected);
            CHECK(range.claims() == 0);
        }
    }
}

TEST_CASE("a range of 2^48 numbers in few batches") {
    RangeProgram program;
    const uint64_t count = (uint64_t{1} << 48) - 3, batch = uint64_t{1} << 31;
    const RangeMemory range(program.gpu, program.stream, count, static_cast<uint32_t>(batch));
    std::vector<uint64_t> sum(1), numbers(1);
    program.run("far", shape_of(4, 64), range.handle, sum, numbers);
    CHECK(numbers[0] == count);
    const uint64_t batches = (count + batch - 1) / batch;
    CHECK(sum[0] == batch * (batches * (batches - 1) / 2));
    CHECK(range.claims() == 0);
}

TEST_CASE("a source that is compiled with macros of its own may include the header") {
    Program program(
        "#include <gpuorch/device/queue.cuh>\n"
        "extern \"C\" __global__ void count(gpo::range rows, unsigned *seen) {\n"
        "    gpo::thread_range mine(rows);\n"
        "    unsigned long long first, last;\n"
        "    while (mine.next(first, last) == gpo::queue_success) atomicAdd(&seen[first], STEP);\n"
        "}\n",
        {}, {"-DSTEP=5"});
    const RangeMemory range(program.gpu, program.stream, 100, 1);
    std::vector<uint32_t> seen(100);
    program.run("count", shape_of(2, 32), range.handle, seen);
    CHECK(seen == std::vector<uint32_t>(100, 5));
}

TEST_CASE("a handle that is no range, or of another version, hands out nothing") {
    RangeProgram program;
    const RangeMemory range(program.gpu, program.stream, 100, 1);
    DeviceRange wrong[4] = {range.handle, range.handle, range.handle, {}};
    wrong[0].magic = 0x49525247;
    wrong[1].version += 1;
    wrong[2].batch = 0;
    wrong[3].magic = 0;
    for (const DeviceRange& handle : wrong)
        for (const char* form : {"by_threads", "by_warps", "by_blocks", "by_shared"}) {
            std::vector<uint32_t> seen(101), clock(2);
            std::vector<int> ends(64);
            program.run(form, shape_of(2, 32), handle, seen, ends, uint64_t{0}, clock);
            CHECK(ends == std::vector<int>(64, kQueueInvalid));
            CHECK(seen == std::vector<uint32_t>(101));
        }
    CHECK(range.claims() == 0);
}
