// Tasks from the host to a kernel that stays on the GPU, and answers back: throughput and delay, against a word in
// pinned memory by hand and against a launch for each task. Tasks with many steps run against a host that launches
// each step.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <thread>

#include "bench/crew.h"
#include "bench/gpu.h"
#include "bench/latency.h"
#include "bench/pairs.h"
#include "bench/raw.h"

using namespace gpo::bench;

namespace {

const char* const kSource = R"(
#include <gpuorch/device/queue.cuh>

struct task { unsigned words[4]; };

static __device__ gpo::bound minutes() { return gpo::nanoseconds(600000000000ull); }

// Block 0 hands out; the threads of the others take.
extern "C" __global__ void drain(gpo::host_ring requests) {
    __shared__ gpo::dispatch_memory memory;
    if (blockIdx.x == 0) {
        gpo::dispatch(requests, memory, minutes());
        return;
    }
    gpo::host_task<task> next;
    for (;;) {
        const int status = gpo::pop(requests.tasks, next, minutes());
        if (status == gpo::queue_would_block) continue;
        if (status != gpo::queue_success) break;
        gpo::answer(requests, next.ticket, 0);
    }
}

// One thread, without a dispatcher.
extern "C" __global__ void reply(gpo::host_ring requests) {
    gpo::host_taker taker(requests);
    gpo::host_task<task> next;
    while (taker.take(next, minutes()) == gpo::queue_success) gpo::answer(requests, next.ticket, 0);
}

// Echoes the number of the bell, until that is 0xffffffff.
extern "C" __global__ void echo(const unsigned *bell, unsigned *back) {
    unsigned last = 0;
    while (last != ~0u) {
        const unsigned now = gpo::atomic::load_relaxed_system(bell);
        if (now == last) {
#if defined(__GPUORCH_SOFT__)
            __nanosleep(0);
#endif
            continue;
        }
        last = now;
        gpo::atomic::store_relaxed_system(back, now);
    }
}

extern "C" __global__ void empty() {}
)";

// A request is a chain of tokens, like a decoder's with a small model: each token follows from its predecessor.
const char* const kDecodeSource = R"(
#include <gpuorch/device/scheduler.cuh>

struct request { unsigned handler, number, made, tokens; };
struct reply { unsigned made, last; };
struct model { unsigned last[64], weights[256]; };

// A warp makes a token.
static __device__ unsigned next_token(const model *with, unsigned last) {
    unsigned best = 0;
    for (unsigned i = threadIdx.x & 31; i < 256; i += 32) {
        const unsigned score = (last ^ with->weights[i]) * 2654435761u;
        best = score > best ? score : best;
    }
    for (unsigned part = 16; part; part /= 2) {
        const unsigned other = __shfl_xor_sync(0xffffffffu, best, part);
        best = other > best ? other : best;
    }
    return best;
}

__device__ int decode(gpo::task_context &at, const request &task) {
    model *const with = at.argument<model>();
    const unsigned last = next_token(with, task.made == 0 ? task.number : with->last[task.number]);
    if (task.made + 1 == task.tokens) return at.answer(reply{task.tokens, last});
    __syncwarp();
    if (at.thread() == 0) with->last[task.number] = last;
    return at.again(request{0, task.number, task.made + 1, task.tokens});
}

// A token for each of some requests, a warp for each. The host sees the tokens in `seen`, pinned memory.
extern "C" __global__ void token(model *with, unsigned number, unsigned made, unsigned *seen) {
    number += blockIdx.x;
    const unsigned last = next_token(with, made == 0 ? number : with->last[number]);
    __syncwarp();
    if (threadIdx.x == 0) seen[number] = with->last[number] = last;
}
)";

struct Task {
    uint32_t words[4];
};

/// A kernel that stays and serves a host ring during this object's life.
class Served {
public:
    Served(Gpu& gpu, const char* kernel, const gpo_launch& launch, uint32_t flags, uint64_t capacity)
        : kernel_(gpu.kernel(kernel)) {
        auto on = sized<gpo_stream_options>();
        on.flags = GPO_STREAM_RESIDENT;
        CHECK_GPO(gpo_stream_create(gpu.device, &on, stream_.out()));
        auto options = sized<gpo_queue_options>();
        options.kind = GPO_QUEUE_HOST_RING;
        options.flags = flags;
        options.task_size = sizeof(Task);
        options.capacity = capacity;
        options.stream = stream_;
        CHECK_GPO(gpo_queue_create(gpu.device, &options, &ring_));
        struct {
            uint64_t words[24];
        } handle;
        CHECK_GPO(gpo_queue_get_device_handle(ring_, &handle, sizeof handle, nullptr));
        gpo::bench::launch(stream_, kernel_, launch, handle);
    }
    ~Served() {
        gpo_queue_close(ring_);
        gpo_stream_wait(stream_, -1);
        gpo_queue_destroy(ring_);
    }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;
    operator gpo_queue_t() const { return ring_; }

private:
    const Kernel kernel_;
    Stream stream_;
    gpo_queue_t ring_ = nullptr;
};

void post_all(gpo_queue_t ring, uint64_t count) {
    constexpr uint64_t kBatch = 64;
    const Task tasks[kBatch] = {};
    for (uint64_t i = 0; i < count;) {
        uint64_t posted = 0;
        const gpo_status status = gpo_queue_post(ring, 0, tasks, std::min(kBatch, count - i), i, &posted);
        if (status == GPO_WOULD_BLOCK)
            std::this_thread::yield();
        else
            check_call("gpo_queue_post", status);
        i += posted;
    }
}

/// Far more tasks than places: when the last task is posted, the kernel has read all but the last ring's content.
void posts(Row& row, int threads) {
    Gpu gpu;
    gpu.use_source(kSource);
    const uint64_t each = row.size(uint64_t{1} << 21, uint64_t{1} << 11) / static_cast<uint64_t>(threads);
    const uint64_t capacity = row.size(uint64_t{1} << 14, uint64_t{1} << 8);
    Served ring(gpu, "drain", shape(row.size(33u, 2u), row.size(512u, 64u)), GPO_QUEUE_NO_ANSWERS, capacity);
    Crew crew(threads);
    row.alone([&] {
        const double ns = crew.run([&](int) { post_all(ring, each); });
        return million_per_second(each * static_cast<uint64_t>(threads), ns);
    });
}

/// Sends a task to the kernel and waits for the answer; returns the time when the host knows the answer.
double ask(gpo_queue_t ring) {
    const Task task{};
    uint64_t count = 0;
    CHECK_GPO(gpo_queue_post(ring, 0, &task, 1, 1, &count));
    auto answer = sized<gpo_answer>();
    do CHECK_GPO(gpo_queue_take(ring, 0, &answer, sizeof answer, nullptr, 1, &count));
    while (count == 0);
    return now_ns();
}

/// Like ask(), by a word in pinned memory, and a thread that polls the word.
class Bell {
public:
    Bell(Gpu& gpu, Raw& raw)
        : raw_(raw), stream_(raw.stream()), bell_(static_cast<uint32_t*>(raw.pinned(256))), back_(bell_ + 32) {
        *bell_ = *back_ = 0;
        void* arguments[] = {&bell_, &back_};
        CHECK_CU(raw.cu.cuLaunchKernel(raw.function(gpu, "echo"), 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr));
    }
    ~Bell() {
        __atomic_store_n(bell_, ~0u, __ATOMIC_RELEASE);
        raw_.cu.cuStreamSynchronize(stream_);
    }
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;
    double ring() {
        __atomic_store_n(bell_, ++number_, __ATOMIC_RELEASE);
        while (__atomic_load_n(back_, __ATOMIC_ACQUIRE) != number_) {
        }
        return now_ns();
    }

private:
    const Raw& raw_;
    const CUstream stream_;
    uint32_t* bell_;
    uint32_t* back_;
    uint32_t number_ = 0;
};

void doorbell(Row& row) {
    Gpu gpu(GPO_COMPLETION_LATENCY);
    gpu.use_source(kSource);
    Raw raw(gpu);
    static_cast<void>(raw.function(gpu, "echo"));   // loading may wait for kernels that stay
    const Served ring(gpu, "reply", shape(1, 1), 0, 64);
    Bell bell(gpu, raw);
    latency_pairs(
        row, row.size(1000, 20), pause_5_us, [&] { return bell.ring(); }, [&] { return ask(ring); });
}

void answers(Row& row) {
    Gpu gpu(GPO_COMPLETION_LATENCY);
    gpu.use_source(kSource);
    const Kernel empty = gpu.kernel("empty");
    const Stream stream = gpu.stream();
    const Queue cq = gpu.queue(64);
    const gpo_launch one = shape(1, 1);
    const Served ring(gpu, "reply", shape(1, 1), 0, 64);
    latency_pairs(
        row, row.size(1000, 20), pause_5_us,
        [&] {
            check_call("gpo_stream_launch_kernel",
                       gpo_stream_launch_kernel(stream, empty, &one, nullptr, nullptr, 0));
            CHECK_GPO(gpo_stream_notify(stream, cq, 1));
            take(cq, 1);
            return now_ns();
        },
        [&] { return ask(ring); });
}

// --- a decode loop ---

struct Request {
    uint32_t handler, number, made, tokens;
};
struct Reply {
    uint32_t made, last;
};
struct Model {
    static constexpr uint32_t kRequests = 64;
    uint32_t last[kRequests], weights[256];
};

class Decoder {
public:
    explicit Decoder(const Row& row) : requests_(row.size(Model::kRequests, 4u)), tokens_(row.size(64u, 4u)) {
        gpu_.use_source(kDecodeSource);
        kernel_ = raw_.function(gpu_, "token");
        seen_ = static_cast<uint32_t*>(raw_.pinned(sizeof(Model::last)));
        base_model_ = raw_.memory(sizeof(Model));
        Model model{};
        for (uint32_t i = 0; i < std::size(model.weights); ++i) model.weights[i] = (i + 1) * 0x9e3779b9u;
        CHECK_CU(raw_.cu.cuMemcpyHtoDAsync(base_model_, &model, sizeof model, base_stream_));
        raw_.finish(base_stream_);
        CHECK_GPO(gpo_copy_to_device(stream_, model_.address, &model, sizeof model));
        finish(stream_);
        make_scheduler();
    }

    /// Makes tokens of `together` requests at a time, each by a launch with a wait. Millions per second.
    double by_host(uint32_t together) {
        const double begin = now_ns();
        for (uint32_t number = 0; number < requests_; number += together) {
            for (uint32_t made = 0; made < tokens_; ++made) {
                void* arguments[] = {&base_model_, &number, &made, &seen_};
                CHECK_CU(raw_.cu.cuLaunchKernel(kernel_, together, 1, 1, 32, 1, 1, 0, base_stream_, arguments,
                                                nullptr));
                raw_.finish(base_stream_);
            }
        }
        return million_per_second(uint64_t{requests_} * tokens_, now_ns() - begin);
    }
    /// Keeps four requests in flight: each answer brings another request.
    double by_scheduler() {
        CHECK_GPO(gpo_scheduler_start(scheduler_));
        std::fill_n(replies_, Model::kRequests, 0);
        const double begin = now_ns();
        uint32_t posted = 0;
        for (uint32_t done = 0; done < requests_; done += take()) {
            for (; posted < requests_ && posted < done + kTogether; ++posted) post(posted, tokens_);
        }
        const double ns = now_ns() - begin;
        CHECK_GPO(gpo_scheduler_drain(scheduler_, kPatience));
        return million_per_second(uint64_t{requests_} * tokens_, ns);
    }
    /// Called after both arms have run. Compares the last tokens, which depend on all earlier tokens.
    void compare() const {
        for (uint32_t i = 0; i < requests_; ++i)
            if (seen_[i] != replies_[i])
                throw std::runtime_error("the host's loop and the scheduler differ in request " + std::to_string(i));
    }
    /// The host's calls for each token of a request beyond the first tokens.
    double calls_per_token() {
        CHECK_GPO(gpo_scheduler_start(scheduler_));
        const auto calls = [&](uint32_t tokens) {
            const uint64_t before = calls_;
            post(0, tokens);
            while (take() == 0) {}
            return calls_ - before;
        };
        const uint64_t one = calls(1), all = calls(tokens_);
        CHECK_GPO(gpo_scheduler_drain(scheduler_, kPatience));
        return (static_cast<double>(all) - static_cast<double>(one)) / (tokens_ - 1);
    }

    static constexpr uint32_t kTogether = 4;

private:
    using Ring = gpo::test::DeviceQueue;
    using Scheduler = gpo::test::Owned<gpo_scheduler_t, gpo_scheduler_destroy>;
    static constexpr int64_t kPatience = 60'000'000'000;

    void make_scheduler() {
        auto on = sized<gpo_stream_options>();
        on.flags = GPO_STREAM_RESIDENT;
        CHECK_GPO(gpo_stream_create(gpu_.device, &on, resident_.out()));
        auto ring = sized<gpo_queue_options>();
        ring.kind = GPO_QUEUE_HOST_RING;
        ring.capacity = 64;
        ring.task_size = sizeof(Request);
        ring.answer_size = sizeof(Reply);
        ring.stream = resident_;
        CHECK_GPO(gpo_queue_create(gpu_.device, &ring, ring_.out()));
        auto handler = sized<gpo_handler>();
        handler.name = "decode";
        auto options = sized<gpo_scheduler_options>();
        options.form = GPO_SCHEDULER_RESIDENT;
        options.queue = ring_;
        options.source = kDecodeSource;
        options.multiprocessors = 1;
        options.argument = model_.address;
        options.label = "decode";
        CHECK_GPO(gpo_scheduler_create(gpu_.device, &options, &handler, sizeof handler, 1, scheduler_.out()));
    }
    void post(uint32_t number, uint32_t tokens) {
        const Request request{0, number, 0, tokens};
        uint64_t posted = 0;
        ++calls_;
        CHECK_GPO(gpo_queue_post(ring_, 0, &request, 1, number, &posted));
        if (posted != 1) throw std::runtime_error("gpo_queue_post left a request out");
    }
    uint32_t take() {
        gpo_answer entries[kTogether];
        Reply replies[kTogether];
        uint64_t count = 0;
        calls_ += 2;
        CHECK_GPO(gpo_queue_wait(ring_, 0, kPatience));
        CHECK_GPO(gpo_queue_take(ring_, 0, entries, sizeof entries[0], replies, kTogether, &count));
        for (uint64_t i = 0; i < count; ++i) {
            check_call("a request", entries[i].status);
            replies_[entries[i].user_data] = replies[i].last;
        }
        return static_cast<uint32_t>(count);
    }

    const uint32_t requests_, tokens_;
    Gpu gpu_{GPO_COMPLETION_LATENCY};
    Raw raw_{gpu_};
    const CUstream base_stream_ = raw_.stream();
    CUfunction kernel_ = nullptr;
    CUdeviceptr base_model_ = 0;
    uint32_t* seen_ = nullptr;
    const Memory model_{gpu_, sizeof(Model)};
    const Stream stream_ = gpu_.stream();
    Stream resident_;
    Ring ring_;
    Scheduler scheduler_;
    uint32_t replies_[Model::kRequests] = {};
    uint64_t calls_ = 0;
};

void decode(Row& row, uint32_t together) {
    Decoder decoder(row);
    row.pairs([&] { return decoder.by_host(together); }, [&] { return decoder.by_scheduler(); });
    decoder.compare();
    const double calls = decoder.calls_per_token();
    if (calls != 0) throw std::runtime_error("a token has the host call " + std::to_string(calls) + " times");
    row.note("the host calls 0 times for a token, in the base's loop 2 times for " + std::to_string(together));
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("host_rings", argc, argv);
    bench.row({.name = "host_ring_posts_1",
               .what = "tasks of 16 bytes from one thread of the host to a kernel that stays, 64 a call",
               .unit = "M/s",
               .target = value_at_least(15)},
              [](Row& row) { posts(row, 1); });
    bench.row({.name = "host_ring_posts_4",
               .what = "the same from four threads",
               .unit = "M/s",
               .target = value_at_least(30)},
              [](Row& row) { posts(row, 4); });
    bench.row({.name = "host_ring_doorbell",
               .what = "a task to a kernel that stays and its answer, round trip",
               .base = "a word in pinned memory that a kernel echoes",
               .target = ratio_at_most(1.1)},
              doorbell);
    bench.row({.name = "host_ring_answer",
               .what = "the same",
               .base = "the launch of an empty kernel, and a notify, until its entry has come",
               .target = ratio_at_most(1 / 2.5)},
              answers);
    bench.row({.name = "decode_loop",
               .what = "64 requests of 64 tokens, four at a time, by a scheduler of one multiprocessor",
               .unit = "M/s",
               .base = "a launch for each token, and the host waits for the token",
               .target = ratio_at_least(2.5),
               .limit_seconds = 300},
              [](Row& row) { decode(row, 1); });
    bench.row({.name = "decode_loop_together",
               .what = "the same",
               .unit = "M/s",
               .base = "a launch for a token of each of four requests, and the host waits for the four",
               .limit_seconds = 300},
              [](Row& row) { decode(row, Decoder::kTogether); });
    return bench.finish();
}
