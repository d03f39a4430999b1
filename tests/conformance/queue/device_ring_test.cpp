// gpo::ring in kernels (gpuorch/device/queue.cuh): the result of each call, of one thread, warp or block.
// device_ring_traffic_test.cpp tests calls of many threads at once.
#include <vector>

#include "conformance/queue/queue_rig.h"

using namespace gpo::test;

namespace {

/// In the kernel `script`, a single thread makes the calls of a script, one after the other.
const char kScript[] = R"(
#include <gpuorch/device/queue.cuh>

struct call { int what; unsigned value, priority; };
struct answer { int status; unsigned value; };
struct task { unsigned value, rest[3]; };
struct wide { unsigned value, rest[7]; };
struct odd { unsigned char byte[21]; };

extern "C" __global__ void script(gpo::ring ring, const call *calls, answer *answers, int count) {
    for (int i = 0; i < count; ++i) {
        const call c = calls[i];
        task t = {c.value, {c.value + 1, c.value + 2, c.value + 3}};
        int status = -1;
        switch (c.what) {
            case 0: status = gpo::try_push(ring, t, c.priority); break;
            case 1: status = gpo::try_pop(ring, t); break;
            case 2: status = gpo::push(ring, t, gpo::polls(c.value), c.priority); break;
            case 3: status = gpo::pop(ring, t, gpo::polls(c.value)); break;
            case 4: status = gpo::push(ring, t, gpo::nanoseconds(c.value), c.priority); break;
            case 5: status = gpo::pop(ring, t, gpo::nanoseconds(c.value)); break;
            case 6: status = gpo::done(ring); break;
            case 7: status = gpo::close(ring); break;
            case 8: status = gpo::abort(ring); break;
            case 9: status = gpo::done_many(ring, c.value); break;
        }
        answers[i].status = status;
        answers[i].value = t.rest[2] == t.value + 3 ? t.value : ~0u;
    }
}

// The calls of warps and of blocks.
extern "C" __global__ void others(gpo::ring ring, int *statuses) {
    __shared__ gpo::block_task<task> memory;
    task t = {7, {8, 9, 10}};
    int status[12];
    for (int i = 0; i < 12; ++i) status[i] = -1;
    status[0] = gpo::warp_try_push(ring, t);
    status[1] = gpo::warp_try_pop(ring, t);
    status[2] = gpo::warp_push(ring, t, gpo::polls(10));
    status[3] = gpo::warp_pop(ring, t, gpo::polls(10));
    status[4] = gpo::warp_done(ring);
    status[5] = gpo::block_try_push(ring, memory, t);
    status[6] = gpo::block_try_pop(ring, memory, t);
    status[7] = gpo::block_push(ring, memory, t, gpo::polls(10));
    status[8] = gpo::block_pop(ring, memory, t, gpo::polls(10));
    status[9] = gpo::block_done(ring);
    for (int i = 0; i < 12; ++i)
        if (status[i] != -1) atomicMax(&statuses[i], status[i]);
}

extern "C" __global__ void sizes(gpo::ring ring, int *statuses) {
    wide w = {};
    odd o = {};
    statuses[0] = gpo::try_push(ring, w);
    statuses[1] = gpo::try_pop(ring, w);
    for (int i = 0; i < 21; ++i) o.byte[i] = (unsigned char)(3 * i + 1);
    statuses[2] = gpo::push(ring, o, gpo::polls(1));
    for (int i = 0; i < 21; ++i) o.byte[i] = 0;
    statuses[3] = gpo::pop(ring, o, gpo::polls(1));
    statuses[4] = 0;
    for (int i = 0; i < 21; ++i) statuses[4] += o.byte[i] != (unsigned char)(3 * i + 1);
}
)";

enum What { kTryPush, kTryPop, kPush, kPop, kPushFor, kPopFor, kDone1, kClose, kAbort, kDoneMany };
struct Call {
    What what;
    uint32_t value = 0, priority = 0;
};
struct Answer {
    int status;
    uint32_t value;
    bool operator==(const Answer& other) const { return status == other.status && value == other.value; }
};

struct Script : Program {
    Script() : Program(kScript) {}

    std::vector<Answer> play(const DeviceRing& ring, const std::vector<Call>& calls) {
        std::vector<Answer> answers(calls.size());
        run("script", single(), ring, calls, answers, static_cast<int>(calls.size()));
        return answers;
    }
    int one(const DeviceRing& ring, What what, uint32_t value = 0, uint32_t priority = 0) {
        return play(ring, {{what, value, priority}})[0].status;
    }
    /// Pops until a pop fails, 300 times at most. Returns the values, and the status of the failed pop.
    std::pair<std::vector<uint32_t>, int> drain(const DeviceRing& ring) {
        std::vector<uint32_t> values;
        for (const Answer& answer : play(ring, std::vector<Call>(300, {kTryPop}))) {
            if (answer.status != kQueueSuccess) return {values, answer.status};
            values.push_back(answer.value);
        }
        return {values, kQueueSuccess};
    }
};

std::vector<uint32_t> numbers(uint32_t first, uint32_t count) {
    std::vector<uint32_t> all(count);
    std::iota(all.begin(), all.end(), first);
    return all;
}

std::vector<Call> pushes(uint32_t first, uint32_t count, uint32_t priority = 0) {
    std::vector<Call> calls;
    for (const uint32_t value : numbers(first, count)) calls.push_back({kTryPush, value, priority});
    return calls;
}

}  // namespace

TEST_CASE("a ring gives tasks back in their order, takes no more than its capacity, and has none when it is empty") {
    Script script;
    const RingMemory ring(script.gpu, script.stream, {});
    CHECK(script.one(ring.handle, kTryPop) == kQueueWouldBlock);
    for (int round = 0; round < 3; ++round) {
        const auto answers = script.play(ring.handle, pushes(100, 66));
        for (uint32_t i = 0; i < 66; ++i) CHECK(answers[i].status == (i < 64 ? kQueueSuccess : kQueueWouldBlock));
        CHECK(ring.word(kItems) == 64);
        CHECK(ring.word(kRoom) == 0);
        const auto [values, last] = script.drain(ring.handle);
        CHECK(values == numbers(100, 64));
        CHECK(last == kQueueWouldBlock);
    }
    CHECK(ring.word(kTail) == 192);
    CHECK(ring.word(kHead) == 192);
    CHECK(ring.word(kRoom) == 64);
}

TEST_CASE("positions pass 2^33, and sequence numbers pass 2^32") {
    Script script;
    for (const uint64_t start : {(uint64_t{1} << 33) - 5, ((uint64_t{1} << 31) - 1) * 64 + 3, uint64_t{1} << 37}) {
        CAPTURE(start);
        const RingMemory ring(script.gpu, script.stream, {.start = start});
        for (int round = 0; round < 4; ++round) {
            for (const Answer& answer : script.play(ring.handle, pushes(1000 * round, 50)))
                CHECK(answer.status == kQueueSuccess);
            CHECK(script.drain(ring.handle).first == numbers(1000 * round, 50));
        }
        CHECK(ring.word(kTail) == start + 200);
    }
}

TEST_CASE("pops take tasks of a higher priority first, and each priority has room of its own") {
    Script script;
    const RingMemory ring(script.gpu, script.stream, {.priorities = 3});
    std::vector<Call> calls = pushes(300, 5, 2);
    for (const Call& call : pushes(100, 64, 0)) calls.push_back(call);
    for (const Call& call : pushes(200, 5, 1)) calls.push_back(call);
    for (const Answer& answer : script.play(ring.handle, calls)) CHECK(answer.status == kQueueSuccess);
    CHECK(script.one(ring.handle, kTryPush, 1, 0) == kQueueWouldBlock);
    CHECK(script.one(ring.handle, kTryPush, 205, 1) == kQueueSuccess);
    CHECK(script.one(ring.handle, kTryPush, 1, 3) == kQueueInvalid);
    std::vector<uint32_t> expected = numbers(100, 64);
    for (const uint32_t value : numbers(200, 6)) expected.push_back(value);
    for (const uint32_t value : numbers(300, 5)) expected.push_back(value);
    CHECK(script.drain(ring.handle).first == expected);
}

TEST_CASE("a wait for room or for a task ends at its bound, and the ring works on") {
    Script script;
    const RingMemory ring(script.gpu, script.stream, {});
    for (const What pop : {kPop, kPopFor}) {
        CHECK(script.one(ring.handle, pop, 0) == kQueueTimeout);
        CHECK(script.one(ring.handle, pop, 50) == kQueueTimeout);
        CHECK(script.one(ring.handle, pop, pop == kPop ? 500 : 3'000'000) == kQueueTimeout);
    }
    script.play(ring.handle, pushes(0, 64));
    for (const What push : {kPush, kPushFor}) {
        CHECK(script.one(ring.handle, push, 0) == kQueueTimeout);
        CHECK(script.one(ring.handle, push, 50) == kQueueTimeout);
    }
    CHECK(script.drain(ring.handle).first == numbers(0, 64));
    CHECK(script.play(ring.handle, {{kPush, 40}, {kPop, 1}})[1] == Answer{kQueueSuccess, 40});
}

TEST_CASE("a ring ends when it is closed and all its tasks are done, and not before") {
    Script script;
    SUBCASE("closed while it is empty") {
        const RingMemory ring(script.gpu, script.stream, {});
        CHECK(script.one(ring.handle, kClose) == kQueueSuccess);
        CHECK(script.one(ring.handle, kTryPop) == kQueueEnd);
        CHECK(script.one(ring.handle, kPop, 1000) == kQueueEnd);
    }
    SUBCASE("closed while it is full") {
        const RingMemory ring(script.gpu, script.stream, {});
        script.play(ring.handle, pushes(0, 64));
        CHECK(script.one(ring.handle, kClose) == kQueueSuccess);
        CHECK(script.one(ring.handle, kTryPush, 1) == kQueueWouldBlock);
        CHECK(script.drain(ring.handle) == std::pair{numbers(0, 64), int{kQueueWouldBlock}});
        CHECK(script.one(ring.handle, kPop, 10) == kQueueTimeout);
        CHECK(script.one(ring.handle, kDoneMany, 63) == kQueueSuccess);
        CHECK(script.one(ring.handle, kTryPop) == kQueueWouldBlock);
        // The last task isn't done yet, and pushes another task.
        CHECK(script.one(ring.handle, kTryPush, 9) == kQueueSuccess);
        CHECK(script.one(ring.handle, kDone1) == kQueueSuccess);
        CHECK(script.play(ring.handle, {{kPop, 10}})[0] == Answer{kQueueSuccess, 9});
        CHECK(script.one(ring.handle, kTryPop) == kQueueWouldBlock);
        CHECK(script.one(ring.handle, kDone1) == kQueueSuccess);
        CHECK(script.one(ring.handle, kTryPop) == kQueueEnd);
        CHECK(script.one(ring.handle, kPopFor, 1000) == kQueueEnd);
    }
    SUBCASE("tasks of all priorities count") {
        const RingMemory ring(script.gpu, script.stream, {.priorities = 2, .start = 77});
        CHECK(script.one(ring.handle, kTryPush, 5, 1) == kQueueSuccess);
        CHECK(script.one(ring.handle, kClose) == kQueueSuccess);
        CHECK(script.one(ring.handle, kTryPop) == kQueueSuccess);
        CHECK(script.one(ring.handle, kTryPop) == kQueueWouldBlock);
        CHECK(script.one(ring.handle, kDone1) == kQueueSuccess);
        CHECK(script.one(ring.handle, kTryPop) == kQueueEnd);
    }
}

TEST_CASE("an aborted ring refuses all calls, and its tasks stay where they are") {
    Script script;
    for (const uint32_t tasks : {0u, 10u, 64u}) {
        CAPTURE(tasks);
        const RingMemory ring(script.gpu, script.stream, {});
        if (tasks != 0) script.play(ring.handle, pushes(0, tasks));
        CHECK(script.one(ring.handle, kAbort) == kQueueSuccess);
        for (const What what : {kTryPush, kTryPop, kPush, kPop, kPushFor, kPopFor, kClose})
            CHECK(script.one(ring.handle, what, 1000) == kQueueAborted);
        CHECK(ring.word(kItems) == tasks);
        CHECK(ring.word(kRoom) == 64 - tasks);
        CHECK(ring.word(kTail) == tasks);
        CHECK(ring.word(kHead) == 0);
    }
}

TEST_CASE("with tickets, calls that would give up are refused, and a wait beyond its bound aborts the ring") {
    Script script;
    for (const bool full : {false, true}) {
        const RingMemory ring(script.gpu, script.stream, {.flags = kRingTickets});
        CHECK(script.one(ring.handle, kTryPush, 1) == kQueueInvalid);
        CHECK(script.one(ring.handle, kTryPop) == kQueueInvalid);
        CHECK(script.play(ring.handle, {{kPush, 64}, {kPop, 64}})[1] == Answer{kQueueSuccess, 64});
        if (full) {
            for (const Answer& answer : script.play(ring.handle, std::vector<Call>(64, {kPush, 100})))
                CHECK(answer.status == kQueueSuccess);
            CHECK(script.one(ring.handle, kPush, 200) == kQueueTimeout);
        } else {
            CHECK(script.one(ring.handle, kPopFor, 2'000'000) == kQueueTimeout);
        }
        CHECK(static_cast<uint32_t>(ring.word(kState)) == kIsAborted);
        CHECK(script.one(ring.handle, kPop, 100'000) == (full ? kQueueSuccess : kQueueAborted));
        CHECK(script.one(ring.handle, kClose) == kQueueAborted);
    }
    const RingMemory ring(script.gpu, script.stream, {.flags = kRingTickets});
    CHECK(script.one(ring.handle, kPush, 64) == kQueueSuccess);
    CHECK(script.one(ring.handle, kClose) == kQueueSuccess);
    CHECK(script.one(ring.handle, kPop, 64) == kQueueSuccess);
    CHECK(script.one(ring.handle, kDone1) == kQueueSuccess);
    CHECK(script.one(ring.handle, kPop, 100'000) == kQueueEnd);
    CHECK(script.one(ring.handle, kPopFor, 2'000'000'000) == kQueueEnd);
}

TEST_CASE("a handle that is no ring, of another version, or for other tasks is refused by every call") {
    Script script;
    const RingMemory ring(script.gpu, script.stream, {});
    DeviceRing wrong[3] = {ring.handle, ring.handle, {}};
    wrong[0].magic = 0x52415247;
    wrong[1].version += 1;
    wrong[2].magic = 0;
    for (const DeviceRing& handle : wrong) {
        for (const What what : {kTryPush, kTryPop, kPush, kPop, kPushFor, kPopFor, kDone1, kClose, kAbort, kDoneMany})
            CHECK(script.one(handle, what, 10) == kQueueInvalid);
        std::vector<int> statuses(12, -1);
        script.run("others", shape_of(1, 64), handle, statuses);
        for (int i = 0; i < 10; ++i) CHECK(statuses[i] == kQueueInvalid);
    }
    std::vector<int> statuses(5, -1);
    script.run("sizes", single(), ring.handle, statuses);
    for (int i = 0; i < 4; ++i) CHECK(statuses[i] == kQueueInvalid);
    CHECK(ring.word(kTail) == 0);
}

TEST_CASE("a task's type may fill the last 16 bytes in part, and needs no alignment") {
    Script script;
    const RingMemory ring(script.gpu, script.stream, {.task_size = 32});
    std::vector<int> statuses(5, -1);
    script.run("sizes", single(), ring.handle, statuses);
    CHECK(statuses == std::vector<int>(5, kQueueSuccess));
}

TEST_CASE("warps and blocks get the statuses that threads get") {
    Script script;
    const RingMemory open(script.gpu, script.stream, {});
    std::vector<int> statuses(12, -1);
    script.run("others", shape_of(1, 32), open.handle, statuses);
    CHECK(std::vector<int>(statuses.begin(), statuses.begin() + 10) == std::vector<int>(10, kQueueSuccess));
    CHECK(open.word(kDone) == 2);
    CHECK(script.one(open.handle, kAbort) == kQueueSuccess);
    std::fill(statuses.begin(), statuses.end(), -1);
    script.run("others", shape_of(1, 32), open.handle, statuses);
    for (const int i : {0, 1, 2, 3, 5, 6, 7, 8}) CHECK(statuses[i] == kQueueAborted);
}
