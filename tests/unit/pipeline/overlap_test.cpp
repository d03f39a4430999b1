// How much of the copying was hidden, from intervals.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "pipeline/overlap.h"

using gpo::pipeline::EngineTimes;

TEST_CASE("copies that nothing runs beside are not hidden") {
    EngineTimes times;
    times.add(EngineTimes::kIn, 0, 10);
    times.add(EngineTimes::kKernel, 10, 30);
    times.add(EngineTimes::kOut, 30, 35);
    times.finish();
    CHECK(times.busy(EngineTimes::kIn) == 10);
    CHECK(times.busy(EngineTimes::kKernel) == 20);
    CHECK(times.busy(EngineTimes::kOut) == 5);
    CHECK(times.hidden() == 0);
}

TEST_CASE("a copy is hidden while a kernel or the other direction is busy, and only then") {
    EngineTimes times;
    times.add(EngineTimes::kIn, 0, 10);      // 4..10 beside the kernel
    times.add(EngineTimes::kKernel, 4, 12);
    times.add(EngineTimes::kOut, 11, 20);    // 11..12 beside the kernel, 15..18 beside the copy in
    times.add(EngineTimes::kIn, 15, 18);     // all of it beside the copy out
    times.finish();
    CHECK(times.hidden() == 6 + 1 + 3 + 3);
}

TEST_CASE("intervals of one engine that overlap are counted once") {
    EngineTimes times;
    times.add(EngineTimes::kIn, 0, 10);
    times.add(EngineTimes::kIn, 5, 15);
    times.add(EngineTimes::kIn, 3, 4);
    times.finish();
    CHECK(times.busy(EngineTimes::kIn) == 15);
}

TEST_CASE("times that are summed up on the way come to the same as times summed up at the end") {
    // Far more intervals than are kept; the engines run ahead of one another by many intervals.
    std::mt19937_64 random(7);
    constexpr int64_t kEnd = 400'000;
    std::vector<uint8_t> busy[3];
    EngineTimes times;
    std::vector<std::pair<int64_t, int64_t>> intervals[3];
    for (size_t engine = 0; engine < 3; ++engine) {
        busy[engine].assign(kEnd, 0);
        for (int64_t at = 0;;) {
            const int64_t begin = at + static_cast<int64_t>(random() % 20);
            const int64_t end = begin + 1 + static_cast<int64_t>(random() % 20);
            if (end > kEnd) break;
            intervals[engine].emplace_back(begin, end);
            std::fill(busy[engine].begin() + begin, busy[engine].begin() + end, 1);
            at = end;
        }
    }
    size_t next[3] = {};
    for (bool more = true; more;) {
        more = false;
        for (size_t engine = 0; engine < 3; ++engine)
            for (size_t i = 0, burst = 1 + random() % 300; i < burst && next[engine] < intervals[engine].size(); ++i) {
                const auto [begin, end] = intervals[engine][next[engine]++];
                times.add(static_cast<EngineTimes::Engine>(engine), begin, end);
                more = true;
            }
    }
    times.finish();
    uint64_t sums[3] = {}, hidden = 0;
    for (int64_t at = 0; at < kEnd; ++at) {
        const bool in = busy[0][at], kernel = busy[1][at], out = busy[2][at];
        sums[0] += in, sums[1] += kernel, sums[2] += out;
        hidden += (in && (kernel || out)) + (out && (kernel || in));
    }
    CHECK(times.busy(EngineTimes::kIn) == sums[0]);
    CHECK(times.busy(EngineTimes::kKernel) == sums[1]);
    CHECK(times.busy(EngineTimes::kOut) == sums[2]);
    CHECK(times.hidden() == hidden);
}
