// gpo::ring in kernels with many threads at once: no task is lost, none comes twice, and every wait ends.
#include <algorithm>
#include <string>
#include <vector>

#include "conformance/queue/queue_rig.h"

using namespace gpo::test;

namespace {

const char kTraffic[] = R"(
#include <gpuorch/device/queue.cuh>

enum { threads, warps, blocks, half_warps };

template <unsigned bytes>
struct task {
    unsigned id, rest[bytes / 4 - 1];

    __device__ void fill(unsigned number) {
        id = number;
        for (unsigned i = 0; i < bytes / 4 - 1; ++i) rest[i] = number * 2654435761u + i;
    }
    __device__ bool intact() const {
        for (unsigned i = 0; i < bytes / 4 - 1; ++i)
            if (rest[i] != id * 2654435761u + i) return false;
        return true;
    }
};

// Counters that all blocks of a launch share. `seen`: how often each task came. `faults`: damaged tasks, and statuses
// that must not occur.
struct record { unsigned *seen, *faults, *left; };

__device__ void expect(const record &out, bool holds, unsigned which) {
    if (!holds) atomicAdd(&out.faults[which], 1u);
}

template <unsigned bytes>
__device__ int push_as(int form, bool tries, const gpo::ring &ring, gpo::block_task<task<bytes>> &memory,
                       const task<bytes> &what, unsigned priority) {
    const gpo::bound limit = gpo::nanoseconds(20000000000ull);
    if (!tries) {
        if (form == warps) return gpo::warp_push(ring, what, limit, priority);
        if (form == blocks) return gpo::block_push(ring, memory, what, limit, priority);
        return gpo::push(ring, what, limit, priority);
    }
    int status;
    do {
        if (form == warps) status = gpo::warp_try_push(ring, what, priority);
        else if (form == blocks) status = gpo::block_try_push(ring, memory, what, priority);
        else status = gpo::try_push(ring, what, priority);
        if (status != gpo::queue_success) __nanosleep(100);
    } while (status == gpo::queue_would_block);
    return status;
}

template <unsigned bytes>
__device__ int pop_as(int form, bool tries, const gpo::ring &ring, gpo::block_task<task<bytes>> &memory,
                      task<bytes> &what) {
    const gpo::bound limit = gpo::nanoseconds(20000000000ull);
    if (!tries) {
        if (form == warps) return gpo::warp_pop(ring, what, limit);
        if (form == blocks) return gpo::block_pop(ring, memory, what, limit);
        return gpo::pop(ring, what, limit);
    }
    int status;
    if (form == warps) status = gpo::warp_try_pop(ring, what);
    else if (form == blocks) status = gpo::block_try_pop(ring, memory, what);
    else status = gpo::try_pop(ring, what);
    if (status != gpo::queue_success) __nanosleep(100);
    return status;
}

// Unit: who has one task; `speaks`: one thread of the unit.
__device__ bool speaks(int form) {
    return form == warps ? threadIdx.x % 32 == 0 : form == blocks ? threadIdx.x == 0 : true;
}
__device__ unsigned unit_of(int form) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    return form == warps ? thread / 32 : form == blocks ? blockIdx.x : thread;
}

// The first blocks push `each` tasks per unit, the others pop until the end. The last who pushes closes the ring.
template <unsigned bytes>
__device__ void work(gpo::ring ring, int form, bool tries, bool producer, unsigned each, const record &out) {
    __shared__ gpo::block_task<task<bytes>> memory;
    task<bytes> what;
    if (producer) {
        for (unsigned k = 0; k < each; ++k) {
            const unsigned id = unit_of(form) * each + k;
            what.fill(id);
            expect(out, push_as(form, tries, ring, memory, what, id % ring.priorities) == gpo::queue_success, 0);
        }
        if (speaks(form)) {
            __threadfence();
            if (atomicSub(out.left, 1u) == 1) expect(out, gpo::close(ring) == gpo::queue_success, 1);
        }
        return;
    }
    for (;;) {
        const int status = pop_as(form, tries, ring, memory, what);
        if (status == gpo::queue_success) {
            expect(out, what.intact(), 2);
            if (speaks(form)) atomicAdd(&out.seen[what.id], 1u);
            if (form == warps) gpo::warp_done(ring);
            else if (form == blocks) gpo::block_done(ring);
            else gpo::done(ring);
        } else if (status != gpo::queue_would_block) {
            expect(out, status == gpo::queue_end, 3);
            return;
        }
    }
}

template <unsigned bytes>
__global__ void traffic(gpo::ring ring, int form, int tries, unsigned producers, unsigned each, record out) {
    // In half warps the even lanes push and the odd lanes pop.
    const bool producer = form == half_warps ? threadIdx.x % 2 == 0 : blockIdx.x < producers;
    if (form == half_warps) {
        if (producer) work<bytes>(ring, threads, tries != 0, true, each, out);
        else work<bytes>(ring, threads, tries != 0, false, each, out);
    } else {
        work<bytes>(ring, form, tries != 0, producer, each, out);
    }
}

// With tickets: each pushes and pops in turn, so that a task comes for every pop.
extern "C" __global__ void in_turn(gpo::ring ring, int form, unsigned each, record out) {
    __shared__ gpo::block_task<task<16>> memory;
    task<16> what;
    for (unsigned k = 0; k < each; ++k) {
        what.fill(unit_of(form) * each + k);
        expect(out, push_as(form, false, ring, memory, what, 0) == gpo::queue_success, 0);
        expect(out, pop_as(form, false, ring, memory, what) == gpo::queue_success, 1);
        expect(out, what.intact(), 2);
        if (speaks(form)) atomicAdd(&out.seen[what.id], 1u);
    }
}

// Each task pushes two more, until they have numbers of `total` and above.
extern "C" __global__ void grow(gpo::ring ring, int form, unsigned total, record out) {
    __shared__ gpo::block_task<task<16>> memory;
    task<16> what;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        what.fill(0);
        expect(out, gpo::try_push(ring, what) == gpo::queue_success, 0);
        expect(out, gpo::close(ring) == gpo::queue_success, 1);
    }
    __syncthreads();
    for (;;) {
        const int status = pop_as(form, false, ring, memory, what);
        if (status == gpo::queue_success) {
            expect(out, what.intact(), 2);
            const unsigned id = what.id;
            if (speaks(form)) atomicAdd(&out.seen[id], 1u);
            for (unsigned child = 2 * id + 1; child <= 2 * id + 2 && child < total; ++child) {
                what.fill(child);
                expect(out, push_as(form, false, ring, memory, what, 0) == gpo::queue_success, 3);
            }
            if (form == warps) gpo::warp_done(ring);
            else if (form == blocks) gpo::block_done(ring);
            else gpo::done(ring);
        } else if (status != gpo::queue_would_block) {
            expect(out, status == gpo::queue_end, 4);
            return;
        }
    }
}

// All threads push, and none pops.
extern "C" __global__ void only_push(gpo::ring ring, int form, int time, record out) {
    __shared__ gpo::block_task<task<16>> memory;
    task<16> what;
    what.fill(unit_of(form));
    const gpo::bound limit = time ? gpo::nanoseconds(time) : gpo::polls(20);
    const int status = form == warps ? gpo::warp_push(ring, what, limit)
                     : form == blocks ? gpo::block_push(ring, memory, what, limit) : gpo::push(ring, what, limit);
    if (!speaks(form)) return;
    atomicAdd(&out.seen[what.id], status == gpo::queue_success ? 1u : 0u);
    if (status != gpo::queue_success) expect(out, status == gpo::queue_timeout, 1);
    atomicAdd(&out.faults[0], status == gpo::queue_timeout ? 1u : 0u);
}
extern "C" __global__ void collect(gpo::ring ring, record out) {
    task<16> what;
    for (int status; (status = gpo::try_pop(ring, what)) != gpo::queue_would_block;) {
        expect(out, status == gpo::queue_success && what.intact(), 2);
        if (status != gpo::queue_success) return;
        atomicAdd(&out.seen[what.id], 2u);
    }
}

// All blocks but the last wait. When all of them have begun, the last block aborts the ring.
extern "C" __global__ void abort_waits(gpo::ring ring, int form, int pushes, record out) {
    __shared__ gpo::block_task<task<16>> memory;
    task<16> what;
    what.fill(0);
    if (blockIdx.x + 1 < gridDim.x) {
        if (threadIdx.x == 0) atomicAdd(out.left, 1u);
        const int status = pushes ? push_as(form, false, ring, memory, what, 0)
                                  : pop_as(form, false, ring, memory, what);
        expect(out, status == gpo::queue_aborted, 0);
        if (speaks(form)) atomicAdd(out.seen, 1u);
    } else if (threadIdx.x == 0) {
        while (atomicAdd(out.left, 0u) + 1 < gridDim.x) __nanosleep(100);
        for (int i = 0; i < 20; ++i) __nanosleep(1000);
        expect(out, gpo::abort(ring) == gpo::queue_success, 1);
    }
}
)";

enum Form { kThreads, kWarps, kBlocks, kHalfWarps };
const char* const kFormNames[] = {"threads", "warps", "blocks", "half warps"};

/// Has the layout of the kernels' struct `record`.
struct Record {
    uint64_t seen, faults, left;
};

struct Traffic : Program {
    Traffic() : Program(kTraffic, {"traffic<16>", "traffic<32>", "traffic<48>", "traffic<112>", "traffic<256>"}) {}

    /// Launches a kernel once. Returns how often each of `tasks` tasks came, and sets `faults` for the caller to check.
    template <class... Arguments>
    std::vector<uint32_t> watch(const char* name, const gpo_launch& shape, uint32_t tasks, uint32_t left,
                                const Arguments&... arguments) {
        const Memory memory = gpu.memory((tasks + 32) * 4);
        std::vector<uint32_t> words(tasks + 32);
        words[16] = left;
        REQUIRE_OK(gpo_copy_to_device(stream, memory, words.data(), memory.bytes()));
        const Record record{memory + 128, memory, memory + 64};
        put(name, shape, arguments..., record);
        REQUIRE_OK(gpo_copy_to_host(stream, words.data(), memory, memory.bytes()));
        wait();
        faults.assign(words.begin(), words.begin() + 5);
        return {words.begin() + 32, words.end()};
    }
    static uint32_t units(Form form, uint32_t blocks, uint32_t threads) {
        return form == kWarps    ? blocks * threads / 32
               : form == kBlocks ? blocks
                                 : blocks * threads / (form == kHalfWarps ? 2 : 1);
    }
    void flows(const RingMemory& ring, const char* name, Form form, bool tries, uint32_t blocks, uint32_t producers,
               uint32_t threads, uint32_t each) {
        CAPTURE(std::string(name));
        CAPTURE(kFormNames[form]);
        CAPTURE(tries);
        CAPTURE(blocks);
        const uint32_t before = static_cast<uint32_t>(ring.word(kTail));
        const uint32_t pushing = units(form, producers, threads);
        // In half warps, only the even lanes push. Therefore every other group of `each` numbers is used.
        const uint32_t tasks = pushing * each * (form == kHalfWarps ? 2 : 1);
        std::vector<uint32_t> expected(tasks, 1);
        if (form == kHalfWarps)
            for (uint32_t i = 0; i < tasks; ++i) expected[i] = i / each % 2 == 0;
        CHECK(watch(name, shape_of(blocks, threads), tasks, pushing, ring.handle, static_cast<int>(form),
                    static_cast<int>(tries), producers, each) == expected);
        CHECK(faults == std::vector<uint32_t>(5));
        const uint32_t capacity = 1u << ring.handle.capacity_log2;
        for (uint32_t p = 0; p < ring.handle.priorities; ++p) {
            CHECK(ring.word(kRoom, p) == capacity);
            CHECK(ring.word(kItems, p) == 0);
            CHECK(ring.word(kHead, p) == ring.word(kTail, p));
        }
        if (ring.handle.priorities == 1) CHECK(static_cast<uint32_t>(ring.word(kTail)) - before == pushing * each);
    }

    std::vector<uint32_t> faults;
};

}  // namespace

TEST_CASE("many producers and consumers: no task is lost and none comes twice, in every form") {
    Traffic traffic;
    for (const Form form : {kThreads, kWarps, kBlocks}) {
        for (const bool tries : {false, true}) {
            // The ring has 64 slots, far fewer than there are tasks.
            const RingMemory one(traffic.gpu, traffic.stream, {});
            traffic.flows(one, "traffic<16>", form, tries, 4, 2, 64, form == kThreads ? 20 : 200);
            const RingMemory few(traffic.gpu, traffic.stream, {});
            traffic.flows(few, "traffic<16>", form, tries, 5, 4, 40 + 24 * (form != kThreads), 10);
            const RingMemory many(traffic.gpu, traffic.stream, {.capacity_log2 = 10});
            traffic.flows(many, "traffic<16>", form, tries, 5, 1, 96, 30);
        }
    }
}

TEST_CASE("tasks of all sizes arrive whole, where positions and sequence numbers wrap too") {
    Traffic traffic;
    const std::pair<const char*, uint32_t> sizes[] = {
        {"traffic<16>", 16}, {"traffic<32>", 32}, {"traffic<48>", 48}, {"traffic<112>", 112}, {"traffic<256>", 256}};
    for (const auto& [name, bytes] : sizes) {
        for (const Form form : {kThreads, kWarps, kBlocks}) {
            const RingMemory ring(traffic.gpu, traffic.stream,
                                  {.task_size = bytes, .start = ((uint64_t{1} << 31) - 1) * 64 + 7});
            traffic.flows(ring, name, form, false, 3, 1, 64, form == kBlocks ? 100 : 10);
        }
    }
}

TEST_CASE("tasks of several priorities all arrive") {
    Traffic traffic;
    for (const Form form : {kThreads, kWarps, kBlocks}) {
        const RingMemory ring(traffic.gpu, traffic.stream, {.priorities = 3, .start = (uint64_t{1} << 33) - 9});
        traffic.flows(ring, "traffic<16>", form, false, 4, 2, 64, 30);
    }
}

TEST_CASE("warps of which half the lanes push and the others pop, and of which some have ended") {
    Traffic traffic;
    for (const bool tries : {false, true}) {
        const RingMemory ring(traffic.gpu, traffic.stream, {});
        traffic.flows(ring, "traffic<16>", kHalfWarps, tries, 3, 3, 50, 20);
    }
}

TEST_CASE("with tickets, no task is lost and none comes twice") {
    Traffic traffic;
    for (const Form form : {kThreads, kWarps, kBlocks}) {
        CAPTURE(kFormNames[form]);
        const RingMemory ring(traffic.gpu, traffic.stream, {.capacity_log2 = 8, .flags = kRingTickets});
        const uint32_t tasks = Traffic::units(form, 4, 64) * 50;
        CHECK(traffic.watch("in_turn", shape_of(4, 64), tasks, 0, ring.handle, static_cast<int>(form), 50u) ==
              std::vector<uint32_t>(tasks, 1));
        CHECK(traffic.faults == std::vector<uint32_t>(5));
    }
}

TEST_CASE("tasks push tasks, and the ring ends when the last is done") {
    Traffic traffic;
    for (const Form form : {kThreads, kWarps, kBlocks}) {
        CAPTURE(kFormNames[form]);
        for (const uint32_t tasks : {1u, 2u, 1023u}) {
            const RingMemory ring(traffic.gpu, traffic.stream, {.capacity_log2 = 10});
            CHECK(traffic.watch("grow", shape_of(4, 64), tasks, 0, ring.handle, static_cast<int>(form), tasks) ==
                  std::vector<uint32_t>(tasks, 1));
            CHECK(traffic.faults == std::vector<uint32_t>(5));
            CHECK(ring.word(kDone) == tasks);
        }
    }
}

TEST_CASE("a ring too small for its producers: pushes end at their bound, and what was taken is there") {
    Traffic traffic;
    for (const Form form : {kThreads, kWarps, kBlocks}) {
        for (const int time : {0, 2'000'000}) {
            CAPTURE(kFormNames[form]);
            CAPTURE(time);
            const RingMemory ring(traffic.gpu, traffic.stream, {.capacity_log2 = 3});
            const uint32_t units = Traffic::units(form, 12, 64);
            const std::vector<uint32_t> taken =
                traffic.watch("only_push", shape_of(12, 64), units, 0, ring.handle, static_cast<int>(form), time);
            CHECK(std::count(taken.begin(), taken.end(), 1) == 8);
            CHECK(traffic.faults == std::vector<uint32_t>{units - 8, 0, 0, 0, 0});
            std::vector<uint32_t> there = traffic.watch("collect", shape_of(1, 40), units, 0, ring.handle);
            CHECK(traffic.faults == std::vector<uint32_t>(5));
            for (uint32_t& count : there) count /= 2;
            CHECK(there == taken);
        }
    }
}

TEST_CASE("an abort ends the waits of all threads, while the ring is empty and while it is full") {
    Traffic traffic;
    for (const uint32_t flags : {0u, kRingTickets}) {
        for (const Form form : {kThreads, kWarps, kBlocks}) {
            for (const bool full : {false, true}) {
                CAPTURE(flags);
                CAPTURE(kFormNames[form]);
                CAPTURE(full);
                const RingMemory ring(traffic.gpu, traffic.stream, {.flags = flags});
                if (full) {
                    const uint32_t units = Traffic::units(form, 64, 32);
                    // Fill the ring: each thread, warp or block pushes one task.
                    const gpo_launch fills = shape_of(form == kThreads ? 2 : 64, 32);
                    traffic.watch("only_push", fills, units, 0, ring.handle, static_cast<int>(form), 2'000'000'000);
                    CHECK(traffic.faults == std::vector<uint32_t>(5));
                }
                const std::vector<uint32_t> ended = traffic.watch("abort_waits", shape_of(4, 64), 1, 0, ring.handle,
                                                                  static_cast<int>(form), static_cast<int>(full));
                CHECK(ended[0] == Traffic::units(form, 3, 64));
                CHECK(traffic.faults == std::vector<uint32_t>(5));
            }
        }
    }
}
