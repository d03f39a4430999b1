// The time from an action of the host until the host knows the effect, one action at a time.
#pragma once

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"

namespace gpo::bench {

inline void wait_busily(double ns) {
    const double begin = now_ns();
    while (now_ns() - begin < ns) {
    }
}

/// A kernel that does nothing, with three arguments, for both arms.
class EmptyKernel {
public:
    EmptyKernel(Gpu& gpu, Raw& raw)
        : raw_(raw), raw_kernel_(raw.function(gpu, "empty")), kernel_(gpu.kernel("empty")) {}
    void launch_raw(CUstream stream) {
        void* arguments[] = {&pointer_, &value_, &n_};
        CHECK_CU(raw_.cu.cuLaunchKernel(raw_kernel_, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
    }
    void launch(gpo_stream_t stream) { bench::launch(stream, kernel_, one_, pointer_, value_, n_); }

private:
    const Raw& raw_;
    CUfunction raw_kernel_;
    Kernel kernel_;
    gpo_launch one_ = shape(1, 1);
    unsigned* pointer_ = nullptr;
    unsigned value_ = 7;
    unsigned long long n_ = 0;
};

/// Queries the driver until the event has completed.
inline void ask_until_done(const Raw& raw, CUevent event) {
    CUresult answer;
    while ((answer = raw.cu.cuEventQuery(event)) == CUDA_ERROR_NOT_READY) {
    }
    CHECK_CU(answer);
}

/// Times of one arm: a block's figure is the median of its own.
class Latencies {
public:
    /// `once` returns how long it took.
    template <class Once>
    double block(int count, Once&& once) {
        std::vector<double> times;
        for (int i = 0; i < count; ++i) times.push_back(once());
        all_.insert(all_.end(), times.begin(), times.end());
        return median(times);
    }
    double p99_us() const { return quantile(all_, 0.99) / 1e3; }
    size_t size() const noexcept { return all_.size(); }

private:
    std::vector<double> all_;
};

/// Pairs of blocks of `count` calls, each call after `pause`; `base` and `ours` return the time when the host knew.
template <class Base, class Ours>
void latency_pairs(Row& row, int count, void (*pause)(), Base&& base, Ours&& ours) {
    Latencies raw_times, our_times;
    const auto block = [&](Latencies& times, auto& once) {
        return times.block(count, [&] {
            pause();
            const double begin = now_ns();
            return once() - begin;
        });
    };
    row.pairs([&] { return block(raw_times, base); }, [&] { return block(our_times, ours); });
    char text[64];
    std::snprintf(text, sizeof text, "p99 %.1f against %.1f us", our_times.p99_us(), raw_times.p99_us());
    row.note(text);
}

inline void pause_5_us() { wait_busily(5'000); }
/// Long enough for waiting threads to sleep, and for the scanner, which parks after a millisecond.
inline void pause_3_ms() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

}  // namespace gpo::bench
