// The cost and the delay of learning that work is done. Rows with notify run with the scanner awake, unless the row's
// text differs.
#include <atomic>
#include <chrono>
#include <thread>

#include "bench/crew.h"
#include "bench/gate.h"
#include "bench/gpu.h"
#include "bench/latency.h"
#include "bench/pairs.h"
#include "bench/raw.h"

using namespace gpo::bench;

namespace {

/// Wakes the scanner.
void wake_scanner(gpo_stream_t stream, gpo_cq_t cq) {
    CHECK_GPO(gpo_stream_notify(stream, cq, 0));
    take(cq, 1);
}

/// The cost of a mark behind work: before each mark the stream gets work (an event record, the cheapest), and only the
/// mark's own time counts.
void host_cost(Row& row, uint32_t mode) {
    Gpu gpu(mode);
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const CUevent raw_event = raw.event(), raw_work = raw.event();
    const Stream stream = gpu.stream();
    const Event work = gpu.event(0);
    const Queue cq = gpu.queue(1 << 16);
    const int count = row.size(1000, 100);
    const auto block = [&](auto put_work, auto put_mark) {
        double time = 0;
        for (int i = 0; i < count; ++i) {
            put_work();
            const double begin = now_ns();
            put_mark();
            time += now_ns() - begin;
        }
        return time / count;
    };
    row.pairs(
        [&] {
            const double time = block([&] { CHECK_CU(raw.cu.cuEventRecord(raw_work, raw_stream)); },
                                      [&] { CHECK_CU(raw.cu.cuEventRecord(raw_event, raw_stream)); });
            raw.finish(raw_stream);
            return time;
        },
        [&] {
            wake_scanner(stream, cq);
            const double time = block([&] { CHECK_GPO(gpo_event_record(work, stream)); },
                                      [&] { CHECK_GPO(gpo_stream_notify(stream, cq, 1)); });
            take(cq, static_cast<uint64_t>(count));
            return time;
        });
}

/// The cost of the first mark after 3 idle ms: the scanner is parked, and the marking thread has to wake it.
void host_cost_after_idling(Row& row) {
    Gpu gpu;
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const CUevent raw_event = raw.event(), raw_work = raw.event();
    const Stream stream = gpu.stream();
    const Event work = gpu.event(0);
    const Queue cq = gpu.queue(64);
    const int count = row.size(7, 3);
    Latencies raw_times, our_times;
    const auto block = [&](Latencies& times, auto put_work, auto put_mark, auto settle) {
        return times.block(count, [&] {
            pause_3_ms();
            put_work();
            const double begin = now_ns();
            put_mark();
            const double time = now_ns() - begin;
            settle();
            return time;
        });
    };
    row.pairs(
        [&] {
            return block(
                raw_times, [&] { CHECK_CU(raw.cu.cuEventRecord(raw_work, raw_stream)); },
                [&] { CHECK_CU(raw.cu.cuEventRecord(raw_event, raw_stream)); }, [&] { raw.finish(raw_stream); });
        },
        [&] {
            return block(our_times, [&] { CHECK_GPO(gpo_event_record(work, stream)); },
                         [&] { CHECK_GPO(gpo_stream_notify(stream, cq, 1)); }, [&] { take(cq, 1); });
        });
    char text[64];
    std::snprintf(text, sizeof text, "p99 %.1f against %.1f us", our_times.p99_us(), raw_times.p99_us());
    row.note(text);
}

/// Marks without work in between: the driver sees only the first.
void host_cost_again(Row& row) {
    Gpu gpu;
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const CUevent raw_event = raw.event();
    const Stream stream = gpu.stream();
    const Queue cq = gpu.queue(1 << 16);
    const int count = row.size(1000, 100);
    row.pairs(
        [&] {
            const double begin = now_ns();
            for (int i = 0; i < count; ++i) CHECK_CU(raw.cu.cuEventRecord(raw_event, raw_stream));
            const double end = now_ns();
            raw.finish(raw_stream);
            return (end - begin) / count;
        },
        [&] {
            wake_scanner(stream, cq);
            const double begin = now_ns();
            for (int i = 0; i < count; ++i) CHECK_GPO(gpo_stream_notify(stream, cq, 1));
            const double end = now_ns();
            take(cq, static_cast<uint64_t>(count));
            return (end - begin) / count;
        });
}

void gpu_cost(Row& row) {
    Gpu gpu;
    const Stream stream = gpu.stream();
    const Queue cq = gpu.queue(1 << 14);
    const Event begin = gpu.event(GPO_EVENT_TIMING), end = gpu.event(GPO_EVENT_TIMING);
    const Kernel kernel = gpu.kernel("spin");
    const gpo_launch one = shape(1, 1);
    const long long cycles = gpu.cycles(10'000);
    const int count = row.size(500, 50);
    const auto block = [&](bool notify) {
        wake_scanner(stream, cq);
        CHECK_GPO(gpo_event_record(begin, stream));
        for (int i = 0; i < count; ++i) {
            launch(stream, kernel, one, cycles);
            if (notify) CHECK_GPO(gpo_stream_notify(stream, cq, 1));
        }
        CHECK_GPO(gpo_event_record(end, stream));
        finish(stream);
        if (notify) take(cq, static_cast<uint64_t>(count));
        int64_t time = 0;
        CHECK_GPO(gpo_event_get_elapsed(begin, end, &time));
        return static_cast<double>(time) / count;
    };
    row.pairs([&] { return block(false); }, [&] { return block(true); });
}

/// Launches with a mark, one at a time, with `pause` in between.
void latency(Row& row, uint32_t mode, int count, void (*pause)()) {
    Gpu gpu(mode);
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const CUevent raw_event = raw.event();
    const Stream stream = gpu.stream();
    const Queue cq = gpu.queue(64);
    EmptyKernel kernel(gpu, raw);
    latency_pairs(row, count, pause,
                  [&] {
                      kernel.launch_raw(raw_stream);
                      CHECK_CU(raw.cu.cuEventRecord(raw_event, raw_stream));
                      ask_until_done(raw, raw_event);
                      return now_ns();
                  },
                  [&] {
                      kernel.launch(stream);
                      CHECK_GPO(gpo_stream_notify(stream, cq, 1));
                      CHECK_GPO(gpo_cq_wait(cq, -1));
                      const double known = now_ns();
                      take(cq, 1);
                      return known;
                  });
}

void delivered(Row& row, uint32_t mode) {
    constexpr int threads = 8;
    Gpu gpu(mode);
    Raw raw(gpu);
    std::vector<CUstream> raw_streams;
    std::vector<CUevent> raw_events;
    for (int i = 0; i < threads; ++i) {
        raw_streams.push_back(raw.stream());
        raw_events.push_back(raw.event());
    }
    const std::vector<Stream> streams = gpu.streams(threads);
    const Queue cq = gpu.queue(1 << 16);
    const int count = row.size(25'000, 500);
    const double million = threads * count / 1e6;
    Crew crew(threads + 1, [&] { raw.make_current(); });
    row.pairs(
        [&] {
            const double time = crew.run([&](int me) {
                if (me == threads) return;
                for (int i = 0; i < count; ++i) CHECK_CU(raw.cu.cuEventRecord(raw_events[me], raw_streams[me]));
            });
            for (const CUstream stream : raw_streams) raw.finish(stream);
            return million / (time / 1e9);
        },
        [&] {
            wake_scanner(streams[0], cq);
            const double time = crew.run([&](int me) {
                if (me == threads) return take(cq, static_cast<uint64_t>(threads) * count);
                for (int i = 0; i < count;) {
                    const gpo_status status = gpo_stream_notify(streams[me], cq, static_cast<uint64_t>(me));
                    if (status == GPO_WOULD_BLOCK) {
                        std::this_thread::yield();
                        continue;
                    }
                    check_call("gpo_stream_notify", status);
                    ++i;
                }
            });
            return million / (time / 1e9);
        });
}

/// From the moment when a kernel may end to the return of gpo_cq_wait, including the kernel's end.
void completion_to_wait(Row& row, uint32_t mode) {
    Gpu gpu(mode);
    const Stream stream = gpu.stream();
    const Queue cq = gpu.queue(64);
    Gate gate(gpu);
    std::atomic<double> opened{0};
    std::atomic<int> round{0};
    std::atomic<bool> stop{false};
    // Another thread opens the gate while this thread is in gpo_cq_wait.
    std::thread opener([&] {
        for (int seen = 0; !stop;) {
            const int now = round.load(std::memory_order_acquire);
            if (now == seen) {
                std::this_thread::yield();
                continue;
            }
            seen = now;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            opened.store(now_ns(), std::memory_order_relaxed);
            gate.let_go();
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    });
    const int count = row.size(20, 5);
    Latencies times;
    const auto once = [&] {
        gate.close(stream);
        CHECK_GPO(gpo_stream_notify(stream, cq, 1));
        round.fetch_add(1, std::memory_order_release);
        CHECK_GPO(gpo_cq_wait(cq, -1));
        const double time = now_ns() - opened.load(std::memory_order_relaxed);
        take(cq, 1);
        return time;
    };
    std::exception_ptr problem;
    try {
        row.alone([&] { return times.block(count, once); });
    } catch (...) {
        problem = std::current_exception();
    }
    stop = true;
    opener.join();
    gate.let_go();
    if (problem) std::rethrow_exception(problem);
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("completion", argc, argv);
    bench.row({.name = "notify",
               .what = "notify behind work, host cost",
               .base = "cuEventRecord",
               .target = difference_at_most(100)},
              [](Row& row) { host_cost(row, GPO_COMPLETION_BALANCED); });
    bench.row({.name = "notify_after_idling",
               .what = "notify 3 ms after the one before: the scanner is parked, host cost",
               .base = "cuEventRecord"},
              host_cost_after_idling);
    bench.row({.name = "notify_again",
               .what = "notifies with nothing put on between them, host cost",
               .base = "cuEventRecord"},
              host_cost_again);
    bench.row({.name = "notify_latency_mode", .what = "the same in latency mode", .base = "cuEventRecord"},
              [](Row& row) { host_cost(row, GPO_COMPLETION_LATENCY); });
    bench.row({.name = "notify_gpu_time", .what = "10 us kernels with a notify each, GPU time per kernel",
               .base = "the same without", .target = ratio_at_most(1.02)},
              gpu_cost);
    bench.row({.name = "wait_latency_mode", .what = "launch + notify until gpo_cq_wait returns, latency mode",
               .base = "launch + event asked all the time", .target = ratio_at_most(1.15)},
              [](Row& row) { latency(row, GPO_COMPLETION_LATENCY, row.size(100, 10), pause_5_us); });
    bench.row({.name = "wait_after_idling", .what = "the same 3 ms after the one before: the scanner is parked",
               .base = "launch + event asked all the time"},
              [](Row& row) { latency(row, GPO_COMPLETION_LATENCY, row.size(7, 3), pause_3_ms); });
    bench.row({.name = "wait_balanced", .what = "launch + notify until gpo_cq_wait returns, balanced mode",
               .base = "launch + event asked all the time"},
              [](Row& row) { latency(row, GPO_COMPLETION_BALANCED, row.size(100, 10), pause_5_us); });
    bench.row({.name = "notify_throughput", .what = "notifies alone, 8 threads and streams, one queue, delivered",
               .unit = "M/s", .base = "cuEventRecord by 8 threads, nobody asks", .target = value_at_least(3)},
              [](Row& row) { delivered(row, GPO_COMPLETION_BALANCED); });
    bench.row({.name = "soft_wait", .what = "kernel may end until gpo_cq_wait returns, balanced mode",
               .target = value_at_most(30'000), .target_on = on_soft, .devices = on_soft},
              [](Row& row) { completion_to_wait(row, GPO_COMPLETION_BALANCED); });
    bench.row({.name = "soft_wait_latency_mode", .what = "the same in latency mode", .target = value_at_most(30'000),
               .target_on = on_soft, .devices = on_soft},
              [](Row& row) { completion_to_wait(row, GPO_COMPLETION_LATENCY); });
    return bench.finish();
}
