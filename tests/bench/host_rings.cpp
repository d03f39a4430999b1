// Tasks from the host to a kernel that stays on the GPU, and answers back: how many, and how soon, against a word in
// pinned memory by hand and against a launch for each task.
#include <algorithm>
#include <cstdint>
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

struct Task {
    uint32_t words[4];
};

/// A kernel that stays and serves a host ring, until this goes.
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

/// Far more tasks than there are places: the kernel has read all but the last ring of them when the last is posted.
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

/// One task to the kernel and its answer back; when the host knows of the answer.
double ask(gpo_queue_t ring) {
    const Task task{};
    uint64_t count = 0;
    CHECK_GPO(gpo_queue_post(ring, 0, &task, 1, 1, &count));
    auto answer = sized<gpo_answer>();
    do CHECK_GPO(gpo_queue_take(ring, 0, &answer, sizeof answer, nullptr, 1, &count));
    while (count == 0);
    return now_ns();
}

/// The same by a word in pinned memory, and a thread that looks at it.
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
    return bench.finish();
}
