// Whether recorded calls on a queue could have happened one after the other (Wing and Gong, 1993).
//
// Each call has an interval on a clock common to all threads. A history is *linearizable* if each call has a moment in
// its interval so that a bounded first-in first-out queue, called at these moments, returns the same results. The
// search tries all orders that the intervals allow, so histories have to be short: a few dozen calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace gpo::test {

struct QueueCall {
    enum Kind : uint8_t { push, pop, full, empty };  // full: a push that found no room; empty: a pop that found no task
    Kind kind;
    uint32_t value;  // of push and pop
    uint64_t begin, end;
};

class LinearizableQueue {
public:
    /// At most 64 calls.
    LinearizableQueue(std::vector<QueueCall> calls, size_t capacity) : calls_(std::move(calls)), capacity_(capacity) {}
    bool check() { return search(0, {}); }

private:
    using Content = std::vector<uint32_t>;  // the oldest first

    /// `made`: the calls that have their moment, as bits.
    bool search(uint64_t made, const Content& content) {
        if (!seen_.emplace(made, content).second) return false;
        uint64_t first_end = UINT64_MAX;  // calls that begin after this end come later
        for (size_t i = 0; i < calls_.size(); ++i)
            if (!(made >> i & 1)) first_end = std::min(first_end, calls_[i].end);
        if (first_end == UINT64_MAX) return true;
        for (size_t i = 0; i < calls_.size(); ++i) {
            if (made >> i & 1 || calls_[i].begin > first_end) continue;
            Content after = content;
            if (step(calls_[i], after) && search(made | uint64_t{1} << i, after)) return true;
        }
        return false;
    }
    bool step(const QueueCall& call, Content& content) const {
        const bool full = content.size() == capacity_;
        switch (call.kind) {
            case QueueCall::full: return full;
            case QueueCall::empty: return content.empty();
            case QueueCall::push:
                if (full) return false;
                content.push_back(call.value);
                return true;
            case QueueCall::pop:
                if (content.empty() || content.front() != call.value) return false;
                content.erase(content.begin());
                return true;
        }
        return false;
    }

    const std::vector<QueueCall> calls_;
    const size_t capacity_;
    std::set<std::pair<uint64_t, Content>> seen_;  // from where no order was found
};

inline bool is_linearizable(std::vector<QueueCall> calls, size_t capacity) {
    return LinearizableQueue(std::move(calls), capacity).check();
}

}  // namespace gpo::test
