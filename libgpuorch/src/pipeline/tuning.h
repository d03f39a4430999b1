// Finds the chunk size of a pipeline (GPO_AUTO) while data flow through it.
//
// The model. The slowest engine takes o + b * c for a chunk of c bytes: o is the cost of every chunk, b that of every
// byte. A run over n bytes has n / c chunks, so it takes n / c * o + n * b. In addition it takes b * c, because no
// engine can begin a chunk before the previous engine has finished the chunk: the last engine ends one chunk later than
// the first. (If the chunks grew and shrank again, the largest would count.) The sum is least at c = sqrt(n * o / b).
//
// The trials. Two sizes are tried on the run's own data, some chunks of each. The time from the end of one chunk to the
// end of the next gives o and b. Both sizes run at nearly full speed, so the trials cost little. If the model's choice
// turns out slower than a size that was tried, the faster of the two tried sizes is used. Other users of the machine
// can only make chunks slower: if large chunks disappoint, they are tried twice, and the better time counts.
//
// Not thread-safe: the pipeline calls it under its lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpo::pipeline {

class Tuning {
public:
    static constexpr uint64_t kLeast = uint64_t{64} << 10, kMost = uint64_t{64} << 20;
    static constexpr uint64_t kSmallTrial = uint64_t{1} << 20, kLargeTrial = uint64_t{4} << 20;
    /// Chunks of each trial. The small trial has more: its ends are seen some 10 us late, with jitter.
    static constexpr uint64_t kSmallChunks = 24, kLargeChunks = 10, kCheckChunks = 6;
    /// Inputs of fewer bytes are too small for trials; the limit is double where chunks may be large.
    static constexpr uint64_t kWorthwhile = uint64_t{64} << 20;

    /// Begins a run. `total` in bytes, 0: not known. Chunks will be multiples of `granule`, at most `limit`, which is
    /// at least a granule.
    void begin(uint64_t total, uint64_t granule, uint64_t limit) noexcept;

    /// Limits the size, since memory is lacking for larger chunks.
    void restrict(uint64_t limit) noexcept;

    /// Bytes of the next chunk.
    uint64_t next() noexcept;
    /// Called for each finished chunk in the order of next(). `end` in nanoseconds since any fixed time.
    void done(int64_t end) noexcept;

    /// The largest size that next() returns until a trial ends: buffers of this size need not grow before.
    uint64_t foreseen() const noexcept;
    bool measuring() const noexcept { return phase_ != Phase::settled; }
    /// True if the last begun run made trials.
    bool measured() const noexcept { return measured_; }

private:
    enum class Phase { settled, trying, checking };

    /// Chunks of one size. Their period is the mean time between successive ends. If the mean is far from the median of
    /// the batch's three parts, the median counts: an end seen very late makes one part longer and the next shorter.
    struct Batch {
        uint64_t size = 0, from = 0, to = 0;  // indices of the chunks that count
        std::array<int64_t, 4> ends{};        // of the first chunk, of two between, and of the last
        double first_period = 0;              // not 0: the batch is taken a second time
        uint64_t border(size_t part) const noexcept { return from + (to - from) * part / 3; }
        void note(uint64_t index, int64_t end) noexcept;
        double period() const noexcept;       // nanoseconds per chunk; the better of two times if repeated
        bool repeated() const noexcept { return first_period != 0; }
        void repeat() noexcept;               // with the next chunks, which have the same size
        double per_byte() const noexcept { return period() / static_cast<double>(size); }
    };

    uint64_t fit(double bytes) const noexcept;
    uint64_t best(uint64_t bytes) const noexcept;
    void conclude() noexcept;
    void begin_check() noexcept;
    void check() noexcept;

    // Remembered from run to run.
    bool known_ = false, checked_ = false;
    double overhead_ns_ = 0, ns_per_byte_ = 0;
    uint64_t fastest_tried_ = 0;  // not 0: the model was wrong, use this

    // State of the run.
    Phase phase_ = Phase::settled;
    uint64_t total_ = 0, granule_ = 1, limit_ = kMost, size_ = kLargeTrial;
    uint64_t given_ = 0, seen_ = 0;  // chunks
    bool measured_ = false;
    Batch small_, large_, check_;
};

}  // namespace gpo::pipeline
