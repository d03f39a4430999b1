// The host's cost to put work on a stream: launches, event records, copies; from one thread and from eight. Further
// rows: times of kernels on the software GPU.
#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/crew.h"
#include "bench/gate.h"
#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"

using namespace gpo::bench;

namespace {

/// Figures of a loop that only submits; the wait for the work is outside the measured time.
template <class Submit, class Finish>
double host_cost(int count, Submit&& submit, Finish&& finish) {
    const double begin = now_ns();
    for (int i = 0; i < count; ++i) submit();
    const double end = now_ns();
    finish();
    return (end - begin) / count;
}

void launches(Row& row, bool with_context) {
    Gpu gpu;
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const CUfunction raw_kernel = raw.function(gpu, "empty");
    const Stream stream = gpu.stream();
    const Kernel kernel = gpu.kernel("empty");
    const gpo_launch one = shape(1, 1);
    unsigned* pointer = nullptr;
    unsigned value = 7;
    unsigned long long n = 0;
    const int count = row.size(500, 50);
    row.pairs(
        [&] {
            void* arguments[] = {&pointer, &value, &n};
            raw.make_current();
            return host_cost(
                count,
                [&] {
                    CHECK_CU(raw.cu.cuLaunchKernel(raw_kernel, 1, 1, 1, 1, 1, 1, 0, raw_stream, arguments, nullptr));
                },
                [&] { raw.finish(raw_stream); });
        },
        [&] {
            if (!with_context) raw.cu.cuCtxSetCurrent(nullptr);
            return host_cost(count, [&] { launch(stream, kernel, one, pointer, value, n); }, [&] { finish(stream); });
        });
}

void event_records(Row& row) {
    Gpu gpu;
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const CUevent raw_event = raw.event();
    const Stream stream = gpu.stream();
    const Event event = gpu.event();
    const int count = row.size(1000, 50);
    row.pairs(
        [&] {
            return host_cost(count, [&] { CHECK_CU(raw.cu.cuEventRecord(raw_event, raw_stream)); },
                             [&] { raw.finish(raw_stream); });
        },
        [&] {
            return host_cost(count, [&] { CHECK_GPO(gpo_event_record(event, stream)); }, [&] { finish(stream); });
        });
}

void copies(Row& row) {
    constexpr uint64_t bytes = 4096;
    Gpu gpu;
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const CUdeviceptr raw_device = raw.memory(bytes);
    void* const raw_host = raw.pinned(bytes);
    const Stream stream = gpu.stream();
    const Memory device(gpu, bytes);
    const Arena arena = gpu.arena(0);
    void* host = nullptr;
    CHECK_GPO(gpo_arena_allocate(arena, bytes, GPO_AUTO, &host));
    const int count = row.size(400, 50);
    row.pairs(
        [&] {
            return host_cost(
                count, [&] { CHECK_CU(raw.cu.cuMemcpyHtoDAsync(raw_device, raw_host, bytes, raw_stream)); },
                [&] { raw.finish(raw_stream); });
        },
        [&] {
            return host_cost(count, [&] { CHECK_GPO(gpo_copy_to_device(stream, device.address, host, bytes)); },
                             [&] { finish(stream); });
        });
    CHECK_GPO(gpo_arena_free(arena, host));
}

void eight_threads(Row& row) {
    constexpr int threads = 8;
    Gpu gpu;
    Raw raw(gpu);
    std::vector<CUstream> raw_streams;
    for (int i = 0; i < threads; ++i) raw_streams.push_back(raw.stream());
    const CUfunction raw_kernel = raw.function(gpu, "empty");
    const std::vector<Stream> streams = gpu.streams(threads);
    const Kernel kernel = gpu.kernel("empty");
    const gpo_launch one = shape(1, 1);
    const int count = row.size(500, 20);
    Crew crew(threads, [&] { raw.make_current(); });
    row.pairs(
        [&] {
            const double time = crew.run([&](int me) {
                unsigned* pointer = nullptr;
                unsigned value = 7;
                unsigned long long n = 0;
                void* arguments[] = {&pointer, &value, &n};
                for (int i = 0; i < count; ++i)
                    CHECK_CU(
                        raw.cu.cuLaunchKernel(raw_kernel, 1, 1, 1, 1, 1, 1, 0, raw_streams[me], arguments, nullptr));
            });
            for (const CUstream stream : raw_streams) raw.finish(stream);
            return time / (count * threads);
        },
        [&] {
            const double time = crew.run([&](int me) {
                unsigned* pointer = nullptr;
                unsigned value = 7;
                unsigned long long n = 0;
                for (int i = 0; i < count; ++i) launch(streams[me], kernel, one, pointer, value, n);
            });
            for (const Stream& stream : streams) finish(stream);
            return time / (count * threads);
        });
}

void busy_stream(Row& row) {
    Gpu gpu;
    Gate gate(gpu);
    const Stream stream = gpu.stream();
    const Kernel kernel = gpu.kernel("empty");
    const gpo_launch one = shape(1, 1);
    const int count = row.size(500, 50);
    row.alone([&] {
        gate.close(stream);
        unsigned* pointer = nullptr;
        return host_cost(count, [&] { launch(stream, kernel, one, pointer, 7u, 0ull); },
                         [&] {
                             gate.let_go();
                             finish(stream);
                         });
    });
}

/// Launches `pause` after the end of the previous kernel.
void idle_stream(Row& row, std::chrono::microseconds pause) {
    Gpu gpu;
    const Stream stream = gpu.stream();
    const Kernel kernel = gpu.kernel("empty");
    const gpo_launch one = shape(1, 1);
    const int count = row.size(100, 20);
    row.alone([&] {
        std::vector<double> times;
        for (int i = 0; i < count; ++i) {
            unsigned* pointer = nullptr;
            if (pause.count() != 0) std::this_thread::sleep_for(pause);
            const double begin = now_ns();
            launch(stream, kernel, one, pointer, 7u, 0ull);
            times.push_back(now_ns() - begin);
            finish(stream);
        }
        return median(times);
    });
}

/// A block whose threads only meet at barriers.
void barrier(Row& row) {
    constexpr unsigned threads = 256;
    Gpu gpu;
    const Stream stream = gpu.stream();
    const Kernel kernel = gpu.kernel("barriers");
    const unsigned count = row.size(2000u, 200u);
    const auto time = [&](unsigned barriers) {
        const double begin = now_ns();
        launch(stream, kernel, shape(1, threads), barriers);
        finish(stream);
        return now_ns() - begin;
    };
    // The difference of two lengths is the time of barriers alone.
    row.alone([&] { return (time(2 * count) - time(count)) / (static_cast<double>(count) * threads); });
}

/// The same arithmetic in many blocks and in a single block: a block runs on one core at a time.
void cores(Row& row) {
    constexpr unsigned threads = 64, per_core = 32;
    Gpu gpu;
    const Stream stream = gpu.stream();
    const Kernel kernel = gpu.kernel("mix");
    const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
    const unsigned blocks = processors * per_core, count = blocks * threads, rounds = row.size(10'000u, 200u);
    const Memory in_one(gpu, uint64_t{count} * 4), in_many(gpu, uint64_t{count} * 4);
    const auto time = [&](unsigned grid, const Memory& out) {
        const double begin = now_ns();
        launch(stream, kernel, shape(grid, threads), out.address, count, rounds);
        finish(stream);
        return (now_ns() - begin) / 1e6;
    };
    row.pairs([&] { return time(1, in_one); }, [&] { return time(blocks, in_many); });
    row.note(std::to_string(processors) + " cores");
    std::vector<unsigned> one(count), many(count);
    CHECK_GPO(gpo_copy_to_host(stream, one.data(), in_one.address, uint64_t{count} * 4));
    CHECK_GPO(gpo_copy_to_host(stream, many.data(), in_many.address, uint64_t{count} * 4));
    finish(stream);
    if (one != many || many[count - 1] == 0) throw std::runtime_error("one block and many have not the same answer");
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("submit", argc, argv);
    bench.row({.name = "launch", .what = "kernel launch with 3 arguments, host cost", .base = "cuLaunchKernel",
               .target = ratio_at_most(1.05, 100)},
              [](Row& row) { launches(row, true); });
    bench.row({.name = "launch_no_context", .what = "the same where the thread has no context current (raw: it has)",
               .base = "cuLaunchKernel"},
              [](Row& row) { launches(row, false); });
    bench.row({.name = "event_record", .what = "event record, host cost", .base = "cuEventRecord",
               .target = ratio_at_most(1.05, 100)},
              event_records);
    bench.row({.name = "copy_async", .what = "asynchronous copy of 4 KiB, pinned to device, host cost",
               .base = "cuMemcpyHtoDAsync", .target = ratio_at_most(1.05, 100)},
              copies);
    bench.row({.name = "launch_8_threads",
               .what = "eight threads launch one kernel on eight streams, per launch in all",
               .base = "cuLaunchKernel",
               .target = ratio_at_most(1.05)},
              eight_threads);
    bench.row({.name = "soft_enqueue_busy", .what = "launch onto a stream whose kernel still runs, host cost",
               .target = value_at_most(1000), .target_on = on_soft, .devices = on_soft},
              busy_stream);
    bench.row({.name = "soft_enqueue_idle",
               .what = "launch onto an idle stream, host cost, the kernel before has just ended",
               .target = value_at_most(5000),
               .target_on = on_soft,
               .devices = on_soft},
              [](Row& row) { idle_stream(row, std::chrono::microseconds(0)); });
    bench.row({.name = "soft_enqueue_asleep", .what = "the same a millisecond later: the software GPU sleeps",
               .target = value_at_most(5000), .target_on = on_soft, .devices = on_soft},
              [](Row& row) { idle_stream(row, std::chrono::milliseconds(1)); });
    bench.row({.name = "soft_barrier", .what = "a barrier of 256 threads, per thread", .target = value_at_most(20),
               .target_on = on_soft, .devices = on_soft},
              barrier);
    bench.row({.name = "soft_kernel_cores", .what = "a kernel of arithmetic, in 32 blocks for each core", .unit = "ms",
               .base = "the same in one block, which is one core's",
               .target = ratio_at_most(1.25 / std::max(1u, std::thread::hardware_concurrency())), .target_on = on_soft,
               .devices = on_soft},
              cores);
    return bench.finish();
}
