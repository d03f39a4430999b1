// A sweep in order of time over the ends of all engines' intervals.
#include "pipeline/overlap.h"

#include <algorithm>

namespace gpo::pipeline {

namespace {
constexpr size_t kSettleAt = 4096;  // intervals of an engine at which the past is summed up
}

void EngineTimes::add(Engine engine, int64_t begin, int64_t end) {
    begin = std::max(begin, last_[engine]);
    if (end <= begin) return;
    pending_[engine].push_back({begin, end});
    last_[engine] = end;
    if (pending_[engine].size() < kSettleAt) return;
    // Later intervals can't begin before the earliest of the engines' last ends.
    int64_t limit = INT64_MAX;
    for (const int64_t last : last_)
        if (last != INT64_MIN) limit = std::min(limit, last);
    settle(limit);
}

void EngineTimes::finish() noexcept { settle(INT64_MAX); }

void EngineTimes::settle(int64_t limit) noexcept {
    std::array<size_t, kEngines> next{};  // first interval of each engine that ends after `now`
    for (int64_t now = INT64_MIN;;) {
        std::array<bool, kEngines> active{};
        int64_t boundary = limit;
        bool any = false;
        for (size_t engine = 0; engine < kEngines; ++engine) {
            const auto& intervals = pending_[engine];
            while (next[engine] < intervals.size() && intervals[next[engine]].end <= now) ++next[engine];
            if (next[engine] == intervals.size()) continue;
            const Interval& interval = intervals[next[engine]];
            any = true;
            active[engine] = interval.begin <= now;
            boundary = std::min(boundary, active[engine] ? interval.end : interval.begin);
        }
        if (!any || now >= limit) break;
        if (now != INT64_MIN) {
            const auto time = static_cast<uint64_t>(boundary - now);
            for (size_t engine = 0; engine < kEngines; ++engine)
                if (active[engine]) busy_[engine] += time;
            if (active[kIn] && (active[kKernel] || active[kOut])) hidden_ += time;
            if (active[kOut] && (active[kKernel] || active[kIn])) hidden_ += time;
        }
        now = boundary;
    }
    for (size_t engine = 0; engine < kEngines; ++engine) {
        auto& intervals = pending_[engine];
        intervals.erase(intervals.begin(), intervals.begin() + static_cast<std::ptrdiff_t>(next[engine]));
        if (!intervals.empty()) intervals.front().begin = std::max(intervals.front().begin, limit);
    }
}

}  // namespace gpo::pipeline
