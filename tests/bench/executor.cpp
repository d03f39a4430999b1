// How soon a callback or an event loop learns that work is done, what callbacks cost the GPU, and what waiting costs
// the host: against the driver's own ways (an event asked all the time, a host function, a number that the stream
// writes, a blocking wait).
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "bench/crew.h"
#include "bench/gate.h"
#include "bench/gpu.h"
#include "bench/latency.h"
#include "bench/pairs.h"
#include "bench/raw.h"
#include "support/threads.h"

using namespace gpo::bench;

namespace {

/// The time at which a callback ran, for a thread that waits for the callback.
struct Moment {
    std::atomic<double> at{0};
    static void completed(void* user, const gpo_completion*, const gpo_error*) { static_cast<Moment*>(user)->came(); }
    static void CUDA_CB host_function(void* user) { static_cast<Moment*>(user)->came(); }
    void came() { at.store(now_ns(), std::memory_order_release); }
    double wait() {
        double moment;
        while ((moment = at.load(std::memory_order_acquire)) == 0) std::this_thread::yield();
        at.store(0, std::memory_order_relaxed);
        return moment;
    }
};

/// Threads that do nothing but launch, through the driver.
class Launchers {
public:
    Launchers(Gpu& gpu, Raw& raw, int count) {
        for (int i = 0; i < count; ++i)
            threads_.emplace_back([this, &raw, kernel = EmptyKernel(gpu, raw), stream = raw.stream()]() mutable {
                raw.make_current();
                while (!stop_) {
                    for (int k = 0; k < 64; ++k) kernel.launch_raw(stream);
                    raw.cu.cuStreamSynchronize(stream);
                }
            });
    }
    ~Launchers() {
        stop_ = true;
        for (auto& thread : threads_) thread.join();
    }

private:
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

enum class Told { default_callback, spinning_callback, sleeping_callback, epoll };
/// A number in pinned memory, which streams write and the host watches.
class Number {
public:
    explicit Number(Raw& raw) : raw_(raw), at_(static_cast<cuuint32_t*>(raw.pinned(sizeof(cuuint32_t)))) { *at_ = 0; }
    /// Puts a write of the next number on the stream.
    void written_by(CUstream stream) {
        CHECK_CU(raw_.cu.cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(at_), ++last_,
                                              CU_STREAM_WRITE_VALUE_DEFAULT));
    }
    bool there() const { return __atomic_load_n(at_, __ATOMIC_ACQUIRE) == last_; }

private:
    Raw& raw_;
    cuuint32_t* at_;
    cuuint32_t last_ = 0;
};

enum class RawWay { asks_event, host_function, written_number, blocking_wait };

/// From before a launch to when the host knows that it is done, one at a time.
void latency(Row& row, RawWay raw_way, Told told, int launchers = 0) {
    Gpu gpu(told == Told::default_callback ? GPO_COMPLETION_BALANCED : GPO_COMPLETION_LATENCY);
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const unsigned blocking = raw_way == RawWay::blocking_wait ? unsigned{CU_EVENT_BLOCKING_SYNC} : 0u;
    const CUevent raw_event = raw.event(CU_EVENT_DISABLE_TIMING | blocking);
    const Stream stream = gpu.stream();
    const Queue cq = gpu.queue(64);
    const uint32_t sleeps = told == Told::sleeping_callback ? GPO_EXECUTOR_SLEEP : GPO_EXECUTOR_SPIN;
    const Executor executor = gpu.executor(told == Told::default_callback ? 0 : sleeps);
    EmptyKernel kernel(gpu, raw);
    Moment moment;
    Number number(raw);
    int32_t descriptor = -1;
    CHECK_GPO(gpo_cq_get_fd(cq, &descriptor));
    const int set = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
    const Launchers disturbance(gpu, raw, launchers);
    latency_pairs(row, row.size(100, 5), pause_5_us,
                  [&] {
                      kernel.launch_raw(raw_stream);
                      if (raw_way == RawWay::host_function) {
                          CHECK_CU(raw.cu.cuLaunchHostFunc(raw_stream, Moment::host_function, &moment));
                          return moment.wait();
                      }
                      if (raw_way == RawWay::written_number) {
                          number.written_by(raw_stream);
                          while (!number.there()) {
                          }
                          return now_ns();
                      }
                      CHECK_CU(raw.cu.cuEventRecord(raw_event, raw_stream));
                      if (raw_way == RawWay::blocking_wait)
                          CHECK_CU(raw.cu.cuEventSynchronize(raw_event));
                      else
                          ask_until_done(raw, raw_event);
                      return now_ns();
                  },
                  [&] {
                      kernel.launch(stream);
                      if (told != Told::epoll) {
                          CHECK_GPO(gpo_stream_then(stream, executor, Moment::completed, &moment));
                          return moment.wait();
                      }
                      CHECK_GPO(gpo_stream_notify(stream, cq, 1));
                      while (epoll_wait(set, &event, 1, -1) != 1) {
                      }
                      const double known = now_ns();
                      take(cq, 1);
                      return known;
                  });
    close(set);
    close(descriptor);
}

/// What follows each kernel.
enum class Follows { callback, host_function, written_number };

/// GPU time per kernel, for kernels of 10 us on several streams at once, with a thread for each stream. The time runs
/// from before the first kernel to after the last. The kernels begin when all are submitted, to exclude the host's
/// time: eight streams end a kernel every 1.25 us, and a launch takes as long. (With host functions the kernels don't
/// wait for all submissions: the driver queues only a few host functions.)
void gpu_cost(Row& row, int streams, Follows each) {
    const bool host_functions = each == Follows::host_function;
    Gpu gpu;
    const std::vector<Stream> ours = gpu.streams(streams);
    const Stream around = gpu.stream();
    const Executor executor = gpu.executor(GPO_EXECUTOR_SLEEP);
    const Event begin = gpu.event(GPO_EVENT_TIMING), end = gpu.event(GPO_EVENT_TIMING);
    const Kernel kernel = gpu.kernel("spin");
    const gpo_launch one = shape(1, 1);
    const long long cycles = gpu.cycles(10'000);
    const int ahead = streams == 1 ? 300 : 100;  // a channel of the driver's takes 1,000 commands
    const int count = row.size(each == Follows::written_number ? ahead / 2 : ahead, 20);
    Raw raw(gpu);
    std::vector<CUstream> natives;
    for (const Stream& stream : ours) {
        void* native = nullptr;
        if (each != Follows::callback) CHECK_GPO(gpo_stream_get_native(stream, &native));
        natives.push_back(static_cast<CUstream>(native));
    }
    std::vector<Number> numbers;
    for (int i = 0; i < streams; ++i) numbers.emplace_back(raw);
    std::atomic<int> came{0};
    Gate gate(gpu);
    Crew crew(streams, [&] { raw.make_current(); });
    const auto block = [&](bool told) {
        came = 0;
        if (!host_functions) gate.close(around);
        CHECK_GPO(gpo_event_record(begin, around));
        for (const Stream& stream : ours) CHECK_GPO(gpo_stream_wait_event(stream, begin));
        crew.run([&](int me) {
            for (int i = 0; i < count; ++i) {
                launch(ours[me], kernel, one, cycles);
                if (!told) continue;
                if (each == Follows::written_number)
                    numbers[me].written_by(natives[me]);
                else if (host_functions)
                    CHECK_CU(raw.cu.cuLaunchHostFunc(
                        natives[me], [](void* user) { ++*static_cast<std::atomic<int>*>(user); }, &came));
                else
                    CHECK_GPO(gpo_stream_then(ours[me], executor,
                                              [](void* user, const gpo_completion*, const gpo_error*) {
                                                  ++*static_cast<std::atomic<int>*>(user);
                                              },
                                              &came));
            }
        });
        for (const Stream& stream : ours) CHECK_GPO(gpo_stream_wait_stream(around, stream));
        CHECK_GPO(gpo_event_record(end, around));
        gate.let_go();
        finish(around);
        while (told && each != Follows::written_number && came < count * streams) std::this_thread::yield();
        for (const Number& number : numbers)
            while (!number.there()) {
            }
        int64_t time = 0;
        CHECK_GPO(gpo_event_get_elapsed(begin, end, &time));
        return static_cast<double>(time) / (count * streams);
    };
    row.pairs([&] { return block(false); }, [&] { return block(true); });
}

/// What the process has spent: seconds of CPU, and how often its threads have gone to sleep.
struct Spent {
    double cpu = 0;
    uint64_t sleeps = 0, ours = 0;
    static Spent now() {
        Spent spent;
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        const auto seconds = [](const timeval& time) {
            return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
        };
        spent.cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        spent.sleeps = static_cast<uint64_t>(usage.ru_nvcsw);
        spent.ours = gpo::test::sleeps_of_library_threads();
        return spent;
    }
};

/// Per cent of a core while the caller sleeps for a while, with a kernel running or nothing at all. The software GPU's
/// own threads are part of the process.
void cpu_share(Row& row, bool busy) {
    Gpu gpu;
    const Stream stream = gpu.stream();
    const Executor executor = gpu.executor(GPO_EXECUTOR_SLEEP);
    const Kernel kernel = gpu.kernel("spin");
    const double seconds = row.size(1.0, 0.05);
    const long long cycles = gpu.cycles(seconds * 1e9);
    Moment moment;
    double sleeps = 0, ours = 0;
    // Everything has run once, and gone to sleep again.
    CHECK_GPO(gpo_stream_then(stream, executor, Moment::completed, &moment));
    moment.wait();
    usleep(20'000);
    row.alone([&] {
        const Spent before = Spent::now();
        const double begin = now_ns();
        if (busy) {
            launch(stream, kernel, shape(1, 1), cycles);
            CHECK_GPO(gpo_stream_then(stream, executor, Moment::completed, &moment));
        }
        usleep(static_cast<useconds_t>(seconds * 1e6));
        const Spent after = Spent::now();
        const double time = now_ns() - begin;
        if (busy) moment.wait();
        sleeps = static_cast<double>(after.sleeps - before.sleeps);
        ours = static_cast<double>(after.ours - before.ours);
        return std::max((after.cpu - before.cpu) / (time / 1e9) * 100, 1e-6);
    });
    char text[128];
    std::snprintf(text, sizeof text,
                  "per cent of a core; %.0f sleeps in the last %.2f s, of which one is the caller's and %.0f the "
                  "library's threads'",
                  sleeps, seconds, ours);
    row.note(text);
}

/// How much later the library finds the end of a kernel of this age than a caller who polls the driver. Both times
/// count from the moment at which the host lets the kernel end.
void lateness(Row& row, double age) {
    Gpu gpu;
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const CUevent raw_event = raw.event();
    const CUfunction raw_kernel = raw.function(gpu, "gate");
    const Stream stream = gpu.stream();
    const Queue cq = gpu.queue(16);
    Gate gate(gpu);
    const int count = row.size(age < 1e6 ? 50 : age < 1e8 ? 5 : 1, 1);
    Latencies raw_times, our_times;
    const auto let_go = [&] {
        wait_busily(age);
        const double opened = now_ns();
        gate.let_go();
        return opened;
    };
    const auto raw_once = [&] {
        void* arguments[] = {&gate.open};
        __atomic_store_n(gate.open, 0u, __ATOMIC_SEQ_CST);
        CHECK_CU(raw.cu.cuLaunchKernel(raw_kernel, 1, 1, 1, 1, 1, 1, 0, raw_stream, arguments, nullptr));
        CHECK_CU(raw.cu.cuEventRecord(raw_event, raw_stream));
        const double opened = let_go();
        ask_until_done(raw, raw_event);
        return now_ns() - opened;
    };
    const auto our_once = [&] {
        gate.close(stream);
        CHECK_GPO(gpo_stream_notify(stream, cq, 1));
        const double opened = let_go();
        CHECK_GPO(gpo_cq_wait(cq, -1));
        gpo_completion entry;
        uint64_t taken = 0;
        CHECK_GPO(gpo_cq_drain(cq, &entry, sizeof entry, 1, &taken));
        return std::max(static_cast<double>(entry.completed_ns) - opened, 1.0);
    };
    row.pairs([&] { return raw_times.block(count, raw_once); }, [&] { return our_times.block(count, our_once); });
    finish(stream);
    char text[64];
    std::snprintf(text, sizeof text, "p99 %.1f us of %zu", our_times.p99_us(), our_times.size());
    row.note(text);
}

/// Processor time of the library's threads meanwhile, and of others that aren't the caller's.
class OthersTime {
public:
    OthersTime() : begin_(now_ns()), spent_(spent()) {}
    /// Per cent of a core.
    double share() const { return (spent() - spent_) / (now_ns() - begin_) * 100; }

private:
    static double spent() {
        const auto seconds = [](clockid_t clock) {
            timespec time{};
            clock_gettime(clock, &time);
            return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
        };
        return seconds(CLOCK_PROCESS_CPUTIME_ID) - seconds(CLOCK_THREAD_CPUTIME_ID);
    }
    double begin_, spent_;
};

/// The delay of a callback in the default mode, for repeated work of `age`, while no thread waits inside the library.
/// The delay begins when the host lets a kernel end. The raw arm polls the driver.
void late_callback(Row& row, double age) {
    Gpu gpu(GPO_COMPLETION_BALANCED);
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const CUevent raw_event = raw.event();
    const CUfunction raw_kernel = raw.function(gpu, "gate");
    const Stream stream = gpu.stream();
    const Executor executor = gpu.executor(0);
    Gate gate(gpu);
    Moment moment;
    const int count = row.size(age < 1e6 ? 50 : 10, 1);
    Latencies raw_times, our_times;
    double share = 0;
    const auto let_go = [&] {
        wait_busily(age);
        const double opened = now_ns();
        gate.let_go();
        return opened;
    };
    row.pairs(
        [&] {
            return raw_times.block(count, [&] {
                void* arguments[] = {&gate.open};
                __atomic_store_n(gate.open, 0u, __ATOMIC_SEQ_CST);
                CHECK_CU(raw.cu.cuLaunchKernel(raw_kernel, 1, 1, 1, 1, 1, 1, 0, raw_stream, arguments, nullptr));
                CHECK_CU(raw.cu.cuEventRecord(raw_event, raw_stream));
                const double opened = let_go();
                ask_until_done(raw, raw_event);
                return now_ns() - opened;
            });
        },
        [&] {
            const OthersTime others;
            const double block = our_times.block(count, [&] {
                gate.close(stream);
                CHECK_GPO(gpo_stream_then(stream, executor, Moment::completed, &moment));
                const double opened = let_go();
                return std::max(moment.wait() - opened, 1.0);
            });
            share = others.share();
            return block;
        });
    finish(stream);
    char text[96];
    std::snprintf(text, sizeof text, "p99 %.1f us of %zu; other threads took %.1f %% of a core in the last block",
                  our_times.p99_us(), our_times.size(), share);
    row.note(text);
}

/// From a launch of work that takes `time` to the end of a wait for its stream, in the default mode.
void blocking_wait(Row& row, double time) {
    Gpu gpu(GPO_COMPLETION_BALANCED);
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const CUfunction raw_kernel = raw.function(gpu, "spin");
    const Stream stream = gpu.stream();
    const Kernel kernel = gpu.kernel("spin");
    long long cycles = gpu.cycles(time);
    const int count = row.size(time < 1e6 ? 50 : 5, 1);
    Latencies raw_times, our_times;
    row.pairs(
        [&] {
            return raw_times.block(count, [&] {
                void* arguments[] = {&cycles};
                const double begin = now_ns();
                CHECK_CU(raw.cu.cuLaunchKernel(raw_kernel, 1, 1, 1, 1, 1, 1, 0, raw_stream, arguments, nullptr));
                CHECK_CU(raw.cu.cuStreamSynchronize(raw_stream));
                return now_ns() - begin;
            });
        },
        [&] {
            return our_times.block(count, [&] {
                const double begin = now_ns();
                launch(stream, kernel, shape(1, 1), cycles);
                CHECK_GPO(gpo_stream_wait(stream, -1));
                return now_ns() - begin;
            });
        });
    char text[64];
    std::snprintf(text, sizeof text, "p99 %.1f us of %zu", our_times.p99_us(), our_times.size());
    row.note(text);
}

/// From when a kernel may end to its callback.
void completion_to_callback(Row& row, uint32_t mode) {
    Gpu gpu(mode);
    const Stream stream = gpu.stream();
    const Executor executor = gpu.executor(0);
    Gate gate(gpu);
    Moment moment;
    Latencies times;
    const int count = row.size(20, 5);
    row.alone([&] {
        return times.block(count, [&] {
            gate.close(stream);
            CHECK_GPO(gpo_stream_then(stream, executor, Moment::completed, &moment));
            usleep(200);
            const double opened = now_ns();
            gate.let_go();
            return moment.wait() - opened;
        });
    });
}

// --- rows ---

void latency_rows(Bench& bench) {
    bench.row({.name = "callback_spinning", .what = "launch until the callback on an executor that spins",
               .base = "launch + event asked all the time", .target = ratio_at_most(1.2)},
              [](Row& row) { latency(row, RawWay::asks_event, Told::spinning_callback); });
    bench.row({.name = "callback_host_function",
               .what = "the same",
               .base = "launch until the cuLaunchHostFunc function runs",
               .target = ratio_at_most(0.5)},
              [](Row& row) { latency(row, RawWay::host_function, Told::spinning_callback); });
    bench.row({.name = "callback_host_function_loaded", .what = "the same while three other threads launch",
               .base = "cuLaunchHostFunc while three other threads launch", .target = ratio_at_most(1.0 / 15)},
              [](Row& row) { latency(row, RawWay::host_function, Told::spinning_callback, 3); });
    bench.row({.name = "callback_default", .what = "launch until the callback, no option set: balanced mode",
               .base = "launch until the cuLaunchHostFunc function runs"},
              [](Row& row) { latency(row, RawWay::host_function, Told::default_callback); });
    bench.row({.name = "callback_default_loaded", .what = "the same while three other threads launch",
               .base = "cuLaunchHostFunc while three other threads launch"},
              [](Row& row) { latency(row, RawWay::host_function, Told::default_callback, 3); });
    bench.row({.name = "callback_written_number", .what = "launch until the callback on an executor that spins",
               .base = "launch + cuStreamWriteValue32, the host watches the number"},
              [](Row& row) { latency(row, RawWay::written_number, Told::spinning_callback); });
    bench.row({.name = "callback_sleeping", .what = "launch until the callback on an executor that sleeps",
               .base = "launch + blocking cuEventSynchronize", .target = ratio_at_most(1.25)},
              [](Row& row) { latency(row, RawWay::blocking_wait, Told::sleeping_callback); });
    bench.row({.name = "epoll",
               .what = "launch until epoll_wait returns",
               .base = "launch + blocking cuEventSynchronize",
               .target = ratio_at_most(1.25)},
              [](Row& row) { latency(row, RawWay::blocking_wait, Told::epoll); });
}

void gpu_time_rows(Bench& bench) {
    bench.row({.name = "callbacks_gpu_time",
               .what = "10 us kernels with a callback each, GPU time per kernel, 1 stream and thread",
               .base = "the same without",
               .target = ratio_at_most(1.02)},
              [](Row& row) { gpu_cost(row, 1, Follows::callback); });
    bench.row({.name = "callbacks_gpu_time_8",
               .what = "the same on 8 streams, by 8 threads",
               .base = "the same without",
               .target = ratio_at_most(1.02)},
              [](Row& row) { gpu_cost(row, 8, Follows::callback); });
    bench.row({.name = "host_functions_gpu_time", .what = "10 us kernels with a cuLaunchHostFunc each, 1 stream",
               .base = "the same without", .devices = on_cuda},
              [](Row& row) { gpu_cost(row, 1, Follows::host_function); });
    bench.row({.name = "host_functions_gpu_time_8",
               .what = "the same on 8 streams",
               .base = "the same without",
               .devices = on_cuda},
              [](Row& row) { gpu_cost(row, 8, Follows::host_function); });
    bench.row({.name = "written_numbers_gpu_time", .what = "10 us kernels with a cuStreamWriteValue32 each, 1 stream",
               .base = "the same without", .devices = on_cuda},
              [](Row& row) { gpu_cost(row, 1, Follows::written_number); });
    bench.row({.name = "written_numbers_gpu_time_8",
               .what = "the same on 8 streams",
               .base = "the same without",
               .devices = on_cuda},
              [](Row& row) { gpu_cost(row, 8, Follows::written_number); });
}

void cpu_rows(Bench& bench) {
    bench.row({.name = "cpu_waiting",
               .what = "CPU of the process while a kernel of 1 s runs, balanced mode",
               .unit = "%",
               .target = value_at_most(2)},
              [](Row& row) { cpu_share(row, true); });
    bench.row({.name = "cpu_idle",
               .what = "CPU of the process while nothing is pending",
               .unit = "%",
               .target = value_at_most(0.1)},
              [](Row& row) { cpu_share(row, false); });
}

struct Age {
    const char *name, *what;
    double ns;
};

void lateness_rows(Bench& bench) {
    static constexpr Age kAges[] = {{"late_20us", "how late the end of a kernel of 20 us is found, balanced mode", 2e4},
                                    {"late_200us", "of 200 us", 2e5},
                                    {"late_2ms", "of 2 ms", 2e6},
                                    {"late_20ms", "of 20 ms", 2e7},
                                    {"late_1s", "of 1 s", 1e9}};
    for (const Age& age : kAges)
        bench.row({.name = age.name, .what = age.what, .base = "event asked all the time",
                   .target = difference_at_most(age.ns < 1e8 ? 15'000 : age.ns / 10)},
                  [&age](Row& row) { lateness(row, age.ns); });
    static constexpr Age kCallbacks[] = {
        {"late_callback_50us", "how late a callback comes behind a kernel of 50 us that repeats, balanced mode", 5e4},
        {"late_callback_255us", "of 255 us", 2.55e5},
        {"late_callback_2ms", "of 2 ms", 2e6},
        {"late_callback_20ms", "of 20 ms", 2e7}};
    for (const Age& age : kCallbacks)
        bench.row({.name = age.name, .what = age.what, .base = "event asked all the time",
                   .target = difference_at_most(15'000)},
                  [&age](Row& row) { late_callback(row, age.ns); });
}

void blocking_wait_rows(Bench& bench) {
    static constexpr Age kWaits[] = {
        {"stream_wait_50us", "launch of a kernel of 50 us until gpo_stream_wait returns, balanced mode", 5e4},
        {"stream_wait_255us", "of 255 us", 2.55e5},
        {"stream_wait_2ms", "of 2 ms", 2e6},
        {"stream_wait_20ms", "of 20 ms", 2e7}};
    for (const Age& age : kWaits)
        bench.row({.name = age.name, .what = age.what, .base = "cuStreamSynchronize",
                   .target = difference_at_most(age.ns <= 1e6 ? 3'000 : age.ns / 50)},
                  [&age](Row& row) { blocking_wait(row, age.ns); });
}

void soft_rows(Bench& bench) {
    bench.row({.name = "soft_callback_latency_mode", .what = "kernel may end until its callback, latency mode",
               .target = value_at_most(30'000), .target_on = on_soft, .devices = on_soft},
              [](Row& row) { completion_to_callback(row, GPO_COMPLETION_LATENCY); });
    bench.row({.name = "soft_callback", .what = "the same in balanced mode", .target_on = on_soft, .devices = on_soft},
              [](Row& row) { completion_to_callback(row, GPO_COMPLETION_BALANCED); });
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("executor", argc, argv);
    latency_rows(bench);
    gpu_time_rows(bench);
    cpu_rows(bench);
    lateness_rows(bench);
    blocking_wait_rows(bench);
    soft_rows(bench);
    return bench.finish();
}
