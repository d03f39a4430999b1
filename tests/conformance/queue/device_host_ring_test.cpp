// gpo::host_ring in kernels (gpuorch/device/queue.cuh). The test does the host's half, on pinned memory.
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "conformance/queue/queue_rig.h"

using namespace gpo::test;

namespace {

const char kServe[] = R"(
#include <gpuorch/device/queue.cuh>

enum { by_threads, by_warps, by_blocks, by_taker };

template <unsigned words>
struct request { unsigned id, rest[words - 1]; };
template <unsigned words>
struct reply { unsigned word[words]; };

struct ends { int *dispatcher, *workers; };

template <unsigned words, unsigned answer_words>
__device__ reply<answer_words> reply_to(const request<words> &asked) {
    unsigned sum = 0;
    for (unsigned i = 0; i < words - 1; ++i) sum = sum * 31 + asked.rest[i];
    reply<answer_words> out;
    for (unsigned i = 0; i < answer_words; ++i) out.word[i] = asked.id * 1000 + sum + i;
    return out;
}

// Tasks with an odd number fail, with a status of their own.
template <unsigned words, unsigned answer_words>
__global__ void serve(gpo::host_ring ring, int form, unsigned long long idle_ns, ends out) {
    __shared__ gpo::dispatch_memory memory;
    __shared__ gpo::block_task<gpo::host_task<request<words>>> block_memory;
    const gpo::bound idle = gpo::nanoseconds(idle_ns);
    gpo::host_task<request<words>> next;
    if (form == by_taker) {
        if (threadIdx.x >= 32) return;
        gpo::host_taker taker(ring);
        int status;
        while ((status = taker.take(next, idle)) == gpo::queue_success)
            gpo::warp_answer(ring, next.ticket, next.task.id % 2 ? 77 : 0, reply_to<words, answer_words>(next.task));
        if (threadIdx.x == 0) *out.dispatcher = status;
        return;
    }
    if (blockIdx.x == 0) {
        const int status = gpo::dispatch(ring, memory, idle);
        if (threadIdx.x == 0) *out.dispatcher = status;
        return;
    }
    for (;;) {
        const int status = form == by_threads ? gpo::pop(ring.tasks, next, idle)
                         : form == by_warps ? gpo::warp_pop(ring.tasks, next, idle)
                                            : gpo::block_pop(ring.tasks, block_memory, next, idle);
        if (status == gpo::queue_would_block) continue;
        if (status != gpo::queue_success) {
            if (threadIdx.x == 0) out.workers[blockIdx.x] = status;
            return;
        }
        const reply<answer_words> said = reply_to<words, answer_words>(next.task);
        const int how = next.task.id % 2 ? 77 : 0;
        if (form == by_threads) gpo::answer(ring, next.ticket, how, said);
        else if (form == by_warps) gpo::warp_answer(ring, next.ticket, how, said);
        else gpo::block_answer(ring, next.ticket, how, said);
    }
}

// Answers with no more than a status.
extern "C" __global__ void nod(gpo::host_ring ring, unsigned long long idle_ns) {
    __shared__ gpo::dispatch_memory memory;
    const gpo::bound idle = gpo::nanoseconds(idle_ns);
    if (blockIdx.x == 0) {
        gpo::dispatch(ring, memory, idle);
        return;
    }
    gpo::host_task<request<4>> next;
    for (;;) {
        const int status = gpo::pop(ring.tasks, next, idle);
        if (status == gpo::queue_success) gpo::answer(ring, next.ticket, (int)next.task.id);
        else if (status != gpo::queue_would_block) return;
    }
}

extern "C" __global__ void refused(gpo::host_ring ring, int *statuses) {
    __shared__ gpo::dispatch_memory memory;
    gpo::host_task<request<4>> next = {};
    gpo::host_taker taker(ring);
    const reply<2> said = {{1, 2}};
    int status[5] = {gpo::dispatch(ring, memory, gpo::polls(3)), taker.take(next, gpo::polls(3)),
                     gpo::answer(ring, 1, 0, said), gpo::warp_answer(ring, 1, 0, said),
                     gpo::block_answer(ring, 1, 0, said)};
    for (int i = 0; i < 5; ++i) atomicMax(&statuses[i], status[i]);
}
)";

enum ServeForm { kByThreads, kByWarps, kByBlocks, kByTaker };

/// Has the layout of the kernels' struct `ends`.
struct Ends {
    uint64_t dispatcher, workers;
};

struct HostAnswer {
    uint32_t ticket;
    int32_t status;
    std::vector<uint32_t> words;
};

/// The memory of a host ring, and the host's half: posting tasks and taking answers.
class HostRingMemory {
public:
    struct Options {
        uint32_t capacity_log2 = 6, task_words = 4, answer_words = 2, device_log2 = 6;
        bool answers = true;
        uint64_t start = 0;  // position of the first task and of the first answer
    };

    HostRingMemory(Gpu& gpu, gpo_stream_t stream, Options options)
        : options_(options), capacity_(uint64_t{1} << options.capacity_log2),
          ring_(gpu, stream, {.capacity_log2 = options.device_log2, .task_size = 16 + options.task_words * 4}),
          posted_(gpu.pinned<uint64_t>(capacity_ * (1 + options.task_words))),
          answers_(gpu.pinned<uint64_t>(capacity_ * (2 + options.answer_words))), control_(gpu.pinned<uint64_t>(64)),
          device_words_(gpu.memory(256)), posted_count_(options.start), answered_(options.start) {
        std::vector<uint64_t> words(32);
        words[0] = words[16] = options.start;
        REQUIRE_OK(gpo_copy_to_device(stream, device_words_, words.data(), 256));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        control_[16] = options.start;
        handle.tasks = ring_.handle;
        handle.posted_slots = posted_.address();
        handle.answer_slots = options.answers ? answers_.address() : 0;
        handle.control = control_.address();
        handle.device_words = device_words_;
        handle.task_words = 1 + options.task_words;
        handle.answer_words = options.answers ? 2 + options.answer_words : 0;
        handle.capacity_log2 = options.capacity_log2;
    }

    /// Posts a task. Returns false if all slots are in use. A slot becomes free when the task's answer is taken. In a
    /// ring without answers, a slot becomes free when the kernel has read the task.
    bool post(uint32_t ticket, const std::vector<uint32_t>& task) {
        const uint64_t without = options_.answers ? answered_ : consumed();
        if (posted_count_ - without >= capacity_) return false;
        const uint64_t flag = flag_of(posted_count_) << 32;
        uint64_t* slot = &posted_[posted_count_ % capacity_ * handle.task_words];
        store(slot[0], flag | ticket);
        for (uint32_t i = 0; i < options_.task_words; ++i) store(slot[1 + i], flag | task[i]);
        ++posted_count_;
        return true;
    }
    void close() {
        store(control_[1], posted_count_);
        __atomic_store_n(reinterpret_cast<uint32_t*>(&control_[0]), kClosed, __ATOMIC_RELEASE);
    }
    void abort() { __atomic_store_n(reinterpret_cast<uint32_t*>(&control_[0]), kIsAborted, __ATOMIC_RELEASE); }

    /// Takes the next answer. Returns false if the answer hasn't come yet.
    bool take(HostAnswer& out) {
        const uint64_t flag = flag_of(answered_);
        const uint64_t* slot = &answers_[answered_ % capacity_ * handle.answer_words];
        std::vector<uint32_t> data;
        for (uint32_t i = 0; i < handle.answer_words; ++i) {
            const uint64_t word = __atomic_load_n(&slot[i], __ATOMIC_RELAXED);
            if (word >> 32 != flag) return false;
            data.push_back(static_cast<uint32_t>(word));
        }
        ++answered_;
        out = {data[0], static_cast<int32_t>(data[1]), {data.begin() + 2, data.end()}};
        return true;
    }
    uint64_t consumed() const { return __atomic_load_n(&control_[16], __ATOMIC_RELAXED); }
    uint64_t unanswered() const { return posted_count_ - answered_; }
    const RingMemory& ring() const { return ring_; }

    DeviceHostRing handle;

private:
    uint64_t flag_of(uint64_t position) const { return position / capacity_ % 0xffffffff + 1; }
    static void store(uint64_t& word, uint64_t value) { __atomic_store_n(&word, value, __ATOMIC_RELAXED); }

    Options options_;
    uint64_t capacity_;
    RingMemory ring_;
    Pinned<uint64_t> posted_, answers_, control_;
    Memory device_words_;
    uint64_t posted_count_, answered_;
};

/// A position in the last lap of the ring before the flags begin again at 1.
uint64_t last_flag(uint32_t capacity_log2) { return (uint64_t{0xfffffffe} << capacity_log2) + 5; }

std::vector<uint32_t> request(uint32_t id, uint32_t words) {
    std::vector<uint32_t> task{id};
    for (uint32_t i = 1; i < words; ++i) task.push_back(id * 7 + i);
    return task;
}
std::vector<uint32_t> reply(uint32_t id, uint32_t words, uint32_t answer_words) {
    uint32_t sum = 0;
    for (uint32_t i = 1; i < words; ++i) sum = sum * 31 + (id * 7 + i);
    std::vector<uint32_t> answer;
    for (uint32_t i = 0; i < answer_words; ++i) answer.push_back(id * 1000 + sum + i);
    return answer;
}

constexpr uint64_t kIdle = 20'000'000'000;

struct Serve : Program {
    Serve()
        : Program(kServe, {"serve<4, 2>", "serve<16, 1>", "serve<64, 64>"}), dispatcher(gpu.pinned<int>(1)),
          workers(gpu.pinned<int>(16)) {}

    void start(const std::string& name, const HostRingMemory& ring, ServeForm form, uint32_t blocks,
               uint64_t idle = kIdle) {
        dispatcher[0] = -1;
        for (int& worker : workers) worker = -1;
        put(name, shape_of(blocks, 96), ring.handle, static_cast<int>(form), idle,
            Ends{dispatcher.address(), workers.address()});
    }
    void finish(int how, uint32_t blocks) {
        wait();
        CHECK(dispatcher[0] == how);
        for (uint32_t block = 1; block < blocks; ++block) CHECK(workers[block] == how);
    }

    Pinned<int> dispatcher, workers;
};

/// The answers that have not come yet, by ticket.
class Answers {
public:
    void expect(uint32_t ticket, uint32_t words, uint32_t answer_words) {
        open_[ticket] = reply(ticket - 5000, words, answer_words);
    }
    void take_all(HostRingMemory& ring) {
        for (HostAnswer answer; ring.take(answer);) {
            const auto expected = open_.find(answer.ticket);
            REQUIRE(expected != open_.end());
            CHECK(answer.status == (answer.ticket % 2 ? 77 : 0));
            CHECK(answer.words == expected->second);
            open_.erase(expected);
        }
    }
    size_t missing() const { return open_.size(); }

private:
    std::map<uint32_t, std::vector<uint32_t>> open_;
};

}  // namespace

TEST_CASE("what was posted before a kernel started is handed out, and each task gets its answer") {
    Serve serve;
    struct Kind {
        const char* name;
        uint32_t words, answer_words;
    };
    for (const Kind kind : {Kind{"serve<4, 2>", 4, 2}, Kind{"serve<16, 1>", 16, 1}, Kind{"serve<64, 64>", 64, 64}}) {
        for (const ServeForm form : {kByThreads, kByWarps, kByBlocks, kByTaker}) {
            for (const uint32_t tasks : {0u, 1u, 40u, 64u}) {
                CAPTURE(std::string(kind.name));
                CAPTURE(static_cast<int>(form));
                CAPTURE(tasks);
                HostRingMemory ring(serve.gpu, serve.stream,
                                    {.task_words = kind.words, .answer_words = kind.answer_words, .device_log2 = 3});
                Answers answers;
                for (uint32_t id = 0; id < tasks; ++id) {
                    REQUIRE(ring.post(5000 + id, request(id, kind.words)));
                    answers.expect(5000 + id, kind.words, kind.answer_words);
                }
                ring.close();
                const uint32_t blocks = form == kByTaker ? 1 : 4;
                serve.start(kind.name, ring, form, blocks);
                serve.finish(kQueueEnd, blocks);
                answers.take_all(ring);
                CHECK(answers.missing() == 0);
                CHECK(ring.unanswered() == 0);
                CHECK(ring.consumed() == tasks);
                CHECK(ring.ring().word(kDone) == tasks);
            }
        }
    }
}

TEST_CASE("tasks that are posted while the kernel stays, far more than there are slots, where flags begin anew" *
          gated) {
    Serve serve;
    for (const ServeForm form : {kByThreads, kByWarps, kByBlocks, kByTaker}) {
        CAPTURE(static_cast<int>(form));
        HostRingMemory ring(serve.gpu, serve.stream, {.capacity_log2 = 5, .start = last_flag(5)});
        const uint32_t blocks = form == kByTaker ? 1 : 3, tasks = 500;
        serve.start("serve<4, 2>", ring, form, blocks);
        Answers answers;
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        for (uint32_t id = 0; id < tasks && std::chrono::steady_clock::now() < patience;) {
            if (ring.post(5000 + id, request(id, 4)))
                answers.expect(5000 + id++, 4, 2);
            else
                std::this_thread::yield();
            answers.take_all(ring);
        }
        ring.close();
        serve.finish(kQueueEnd, blocks);
        answers.take_all(ring);
        CHECK(answers.missing() == 0);
        CHECK(ring.unanswered() == 0);
        CHECK(ring.consumed() == last_flag(5) + tasks);
    }
}

TEST_CASE("without answers, a slot may be used again when its task has been read" * gated) {
    Serve serve;
    HostRingMemory ring(serve.gpu, serve.stream, {.answers = false});
    serve.start("serve<4, 2>", ring, kByThreads, 3);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (uint32_t id = 0; id < 300 && std::chrono::steady_clock::now() < patience;)
        if (ring.post(id, request(id, 4)))
            ++id;
        else
            std::this_thread::yield();
    ring.close();
    serve.finish(kQueueEnd, 3);
    CHECK(ring.ring().word(kDone) == 300);
}

TEST_CASE("an answer may be a status alone") {
    Serve serve;
    HostRingMemory ring(serve.gpu, serve.stream, {});
    for (uint32_t id = 0; id < 30; ++id) REQUIRE(ring.post(id, request(100 + id, 4)));
    ring.close();
    serve.run("nod", shape_of(2, 32), ring.handle, kIdle);
    std::vector<bool> seen(30);
    for (HostAnswer answer; ring.take(answer);) {
        CHECK(answer.status == 100 + static_cast<int>(answer.ticket));
        CHECK(answer.words == std::vector<uint32_t>(2));
        seen[answer.ticket] = true;
    }
    CHECK(seen == std::vector<bool>(30, true));
}

TEST_CASE("a kernel ends when the host aborts, and when the host is gone for as long as it may be" * gated) {
    Serve serve;
    for (const ServeForm form : {kByThreads, kByBlocks, kByTaker}) {
        CAPTURE(static_cast<int>(form));
        const uint32_t blocks = form == kByTaker ? 1 : 3;
        HostRingMemory aborted(serve.gpu, serve.stream, {});
        REQUIRE(aborted.post(5000, request(0, 4)));
        serve.start("serve<4, 2>", aborted, form, blocks);
        HostAnswer answer;
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!aborted.take(answer) && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
        aborted.abort();
        serve.finish(kQueueAborted, blocks);
        CHECK(aborted.unanswered() == 0);

        HostRingMemory silent(serve.gpu, serve.stream, {});
        serve.start("serve<4, 2>", silent, form, blocks, 20'000'000);
        serve.finish(kQueueTimeout, blocks);
        // The next launch continues where this launch stopped.
        for (uint32_t id = 0; id < 10; ++id) REQUIRE(silent.post(5000 + id, request(id, 4)));
        silent.close();
        serve.start("serve<4, 2>", silent, form, blocks);
        serve.finish(kQueueEnd, blocks);
        Answers answers;
        for (uint32_t id = 0; id < 10; ++id) answers.expect(5000 + id, 4, 2);
        answers.take_all(silent);
        CHECK(answers.missing() == 0);
    }
}

TEST_CASE("a dispatcher whose workers are gone ends at its bound, and what it has handed out is in the ring") {
    Serve serve;
    HostRingMemory ring(serve.gpu, serve.stream, {.device_log2 = 3});
    for (uint32_t id = 0; id < 20; ++id) REQUIRE(ring.post(id, request(id, 4)));
    ring.close();
    serve.start("serve<4, 2>", ring, kByThreads, 1, 20'000'000);
    serve.finish(kQueueTimeout, 1);
    CHECK(ring.ring().word(kItems) == 8);
    CHECK(ring.consumed() == 8);
}

TEST_CASE("a handle that is no host ring, or for other tasks or answers, is refused") {
    Serve serve;
    const HostRingMemory ring(serve.gpu, serve.stream, {});
    const HostRingMemory others(serve.gpu, serve.stream, {.task_words = 8, .answer_words = 5});
    DeviceHostRing wrong[4] = {ring.handle, ring.handle, ring.handle, {}};
    wrong[0].magic = 0x49525247;
    wrong[1].version += 1;
    wrong[2].tasks.magic = 0;
    wrong[3].magic = 0;
    for (const DeviceHostRing& handle : wrong) {
        std::vector<int> statuses(5, -1);
        serve.run("refused", shape_of(1, 32), handle, statuses);
        CHECK(statuses == std::vector<int>(5, kQueueInvalid));
    }
    std::vector<int> statuses(5, -1);
    serve.run("refused", shape_of(1, 32), others.handle, statuses);
    CHECK(std::vector<int>(statuses.begin() + 1, statuses.end()) == std::vector<int>(4, kQueueInvalid));
    CHECK(statuses[0] == kQueueTimeout);
}
