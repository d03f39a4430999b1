// Figures of a batcher, for each key and for each flow. Under the batcher's lock.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <list>
#include <unordered_map>

#include "gpuorch/batcher.h"
#include "serving/histogram.h"

namespace gpo {

/// Events per second over the last seconds.
class Rate {
public:
    void add(uint64_t count, uint64_t now) noexcept {
        Second& of = seconds_[now / kSecond % kSeconds];
        if (of.number != now / kSecond) of = {now / kSecond, 0};
        of.count += count;
    }
    /// `begin`: when counting began.
    double at(uint64_t now, uint64_t begin) const noexcept {
        const uint64_t first = now / kSecond >= kSeconds - 1 ? now / kSecond - (kSeconds - 1) : 0;
        uint64_t sum = 0;
        for (const Second& of : seconds_)
            if (of.number >= first && of.number <= now / kSecond) sum += of.count;
        const uint64_t since = std::max(begin, first * kSecond);
        return now > since ? static_cast<double>(sum) * 1e9 / static_cast<double>(now - since) : 0;
    }

private:
    static constexpr uint64_t kSecond = 1'000'000'000, kSeconds = 5;
    struct Second {
        uint64_t number = 0, count = 0;
    };
    std::array<Second, kSeconds> seconds_;
};

/// Figures of a key.
struct KeyFigures {
    gpo_batcher_info counts{};
    Rate requests, batches;

    void add_queue_time(uint64_t ns) noexcept {
        counts.queue_ns += ns;
        ++counts.queue_times[histogram_place(ns / 1000, GPO_BATCHER_TIMES)];
    }
    void add_batch(uint64_t requests, uint64_t elements, uint64_t padding, uint64_t ns, uint64_t now) noexcept {
        ++counts.batches;
        counts.batch_elements += elements;
        counts.padded_elements += padding;
        ++counts.sizes[histogram_place(requests, GPO_BATCHER_SIZES)];
        counts.batch_ns += ns;
        ++counts.batch_times[histogram_place(ns / 1000, GPO_BATCHER_TIMES)];
        batches.add(1, now);
    }
    void add_success(uint64_t ns, bool late) noexcept {
        ++counts.succeeded;
        counts.late += late;
        counts.request_ns += ns;
        ++counts.request_times[histogram_place(ns / 1000, GPO_BATCHER_TIMES)];
    }
};

/// Figures of a flow.
struct FlowFigures {
    uint64_t number = 0;
    uint64_t unended = 0;  // requests that refer to these figures
    gpo_batcher_flow_info counts{};
    std::list<FlowFigures*>::iterator place;  // by the time at which they were seen

    void add_wait(uint64_t ns) noexcept {
        counts.wait_ns += ns;
        counts.longest_wait_ns = std::max(counts.longest_wait_ns, ns);
    }
};

class FlowBook {
public:
    static constexpr size_t kMost = 4096;

    /// The figures of a flow that is seen now. They stay while `unended` isn't 0. Throws std::bad_alloc.
    FlowFigures& see(uint64_t flow) {
        if (newest_ && newest_->number == flow) return *newest_;
        if (const auto known = flows_.find(flow); known != flows_.end()) {
            newest_ = &known->second;
            seen_.splice(seen_.begin(), seen_, newest_->place);
            return *newest_;
        }
        forget_some();
        FlowFigures& made = flows_[flow];
        made.number = flow;
        try {
            made.place = seen_.insert(seen_.begin(), &made);
        } catch (...) {
            flows_.erase(flow);
            throw;
        }
        return *(newest_ = &made);
    }
    const FlowFigures* find(uint64_t flow) const noexcept {
        const auto known = flows_.find(flow);
        return known == flows_.end() ? nullptr : &known->second;
    }

private:
    // Looks at few, so that many flows in use cost each call little.
    void forget_some() noexcept {
        for (unsigned looked = 0; flows_.size() >= kMost && looked < 8; ++looked) {
            const auto one = std::prev(seen_.end());
            FlowFigures& figures = **one;
            if (figures.unended) {
                seen_.splice(seen_.begin(), seen_, one);
                continue;
            }
            if (newest_ == &figures) newest_ = nullptr;
            const uint64_t number = figures.number;
            seen_.erase(one);
            flows_.erase(number);
        }
    }

    std::unordered_map<uint64_t, FlowFigures> flows_;
    std::list<FlowFigures*> seen_;  // the newest first
    FlowFigures* newest_ = nullptr;
};

}  // namespace gpo
