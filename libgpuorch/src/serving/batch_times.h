// How long batches of a key take, by their size: measured means and deviations, from which waits are predicted.
//
// Sizes fall into classes by their number of bits. The estimate of a class moves as TCP's estimate of round trips does
// (V. Jacobson, 1988), but sooner down than up: an outlier, such as a first batch for which code is loaded, is
// forgotten with the next batch. A smaller batch takes no longer than a larger one: the estimate for a class is the
// least of its own and those of larger classes; if none of them was measured, that of the next smaller one.
//
// Written under the batcher's lock, read by any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

namespace gpo {

class BatchTimes {
public:
    static constexpr unsigned kClasses = 34;
    static unsigned class_of(uint64_t size) noexcept {
        return std::min<unsigned>(static_cast<unsigned>(std::bit_width(size > 0 ? size - 1 : 0)), kClasses - 1);
    }

    struct Time {
        uint64_t mean = 0, most = 0;  // ns; `most`: hardly any batch takes longer; 0: not known
        uint64_t measured = 0;        // host::now() of the newest measurement
    };

    void add(uint64_t size, uint64_t ns, uint64_t now) noexcept {
        Class& of = classes_[class_of(size)];
        const uint64_t mean = of.mean.load(std::memory_order_relaxed),
                       spread = of.spread.load(std::memory_order_relaxed);
        of.measured.store(now, std::memory_order_relaxed);
        if (mean == 0 || ns < mean / 2) {
            of.mean.store(std::max<uint64_t>(ns, 1), std::memory_order_relaxed);
            of.spread.store(ns / 4, std::memory_order_relaxed);
            return;
        }
        const uint64_t off = ns > mean ? ns - mean : mean - ns;
        const uint64_t moved = ns > mean ? mean + std::min(off, 4 * spread + mean / 8) / 8 : mean - off / 4;
        of.mean.store(std::max<uint64_t>(moved, 1), std::memory_order_relaxed);
        of.spread.store(off > spread ? spread + std::min(off - spread, mean) / 8 : spread - (spread - off) / 8,
                        std::memory_order_relaxed);
    }

    Time of(uint64_t size) const noexcept {
        const unsigned first = class_of(size);
        Time least;
        for (unsigned i = first; i < kClasses; ++i)
            if (const Time time = at(i); time.mean && (!least.mean || time.most < least.most)) least = time;
        if (least.mean) return least;
        for (unsigned i = first; i-- > 0;)
            if (const Time time = at(i); time.mean) return time;
        return {};
    }

private:
    struct Class {
        std::atomic<uint64_t> mean{0}, spread{0}, measured{0};
    };
    Time at(unsigned i) const noexcept {
        const Class& of = classes_[i];
        const uint64_t mean = of.mean.load(std::memory_order_relaxed);
        return {mean, mean + 3 * of.spread.load(std::memory_order_relaxed),
                of.measured.load(std::memory_order_relaxed)};
    }

    Class classes_[kClasses];
};

}  // namespace gpo
