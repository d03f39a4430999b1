// How busy the engines were, and how much of the copying was hidden, computed from the times at which each piece of
// work began and ended.
//
// A copy is *hidden* while the other copy engine or a kernel is busy too. Intervals of one engine must come in order;
// intervals of different engines may come in any order. Memory is bounded: intervals that can't change the result any
// more are summed up and discarded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpo::pipeline {

class EngineTimes {
public:
    enum Engine : size_t { kIn, kKernel, kOut, kEngines };

    /// Times in nanoseconds since any fixed time. A begin before the end of the engine's last interval is cut off.
    /// Throws std::bad_alloc.
    void add(Engine engine, int64_t begin, int64_t end);

    /// Sums up all intervals. No interval may be added afterwards.
    void finish() noexcept;

    // After finish(), in nanoseconds.
    uint64_t busy(Engine engine) const noexcept { return busy_[engine]; }
    uint64_t hidden() const noexcept { return hidden_; }

private:
    struct Interval { int64_t begin, end; };

    void settle(int64_t limit) noexcept;

    std::array<std::vector<Interval>, kEngines> pending_;
    std::array<int64_t, kEngines> last_{INT64_MIN, INT64_MIN, INT64_MIN};  // end of the newest interval
    std::array<uint64_t, kEngines> busy_{};
    uint64_t hidden_ = 0;
};

}  // namespace gpo::pipeline
