// Two trials, the model, and a check of its choice.
#include "pipeline/tuning.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gpo::pipeline {

namespace {
constexpr uint64_t kFilling = 3;                            // chunks until the pipeline is full
constexpr double kUnknownTotal = 1024.0 * 1024.0 * 1024.0;  // assumed for sources of unknown size
constexpr double kOutlier = 0.1;                            // of a batch's period: larger differences are no noise
constexpr double kTolerance = 1.03;                         // noise of a batch
}  // namespace

void Tuning::Batch::note(uint64_t index, int64_t end) noexcept {
    for (size_t part = 0; part < ends.size(); ++part)
        if (index == border(part)) ends[part] = end;
}

double Tuning::Batch::period() const noexcept {
    std::array<double, 3> periods{};
    for (size_t part = 0; part < periods.size(); ++part)
        periods[part] = static_cast<double>(ends[part + 1] - ends[part]) /
                        static_cast<double>(std::max(border(part + 1) - border(part), uint64_t{1}));
    std::sort(periods.begin(), periods.end());
    const double count = static_cast<double>(to - from), mean = static_cast<double>(ends[3] - ends[0]) / count;
    const double taken = std::max(1.0 / count, std::abs(mean - periods[1]) > kOutlier * periods[1] ? periods[1] : mean);
    return repeated() ? std::min(first_period, taken) : taken;
}

void Tuning::Batch::repeat() noexcept {
    first_period = period();
    const uint64_t count = to - from;
    from = to;
    to += count;
    ends[0] = ends[3];
}

uint64_t Tuning::fit(double bytes) const noexcept {
    const double bounded = std::clamp(bytes, static_cast<double>(kLeast), static_cast<double>(kMost));
    // The nearest power of two, by its logarithm.
    auto size = std::bit_floor(static_cast<uint64_t>(bounded * 1.41421356));
    size = std::min(std::clamp(size, kLeast, kMost), limit_);
    return std::max(size / granule_, uint64_t{1}) * granule_;
}

uint64_t Tuning::best(uint64_t bytes) const noexcept {
    const double n = bytes != 0 ? static_cast<double>(bytes) : kUnknownTotal;
    // A chunk's cost isn't known well enough to gain a hundredth of the run by smaller chunks. With 64 chunks, filling
    // the pipeline takes a sixty-fourth of the run; 128 chunks halve this time, and double the cost of chunks. At least
    // four chunks, so that work overlaps.
    const double least = std::min(n / 64, static_cast<double>(2 * large_.size));
    return fit(std::min(std::max(std::sqrt(n * overhead_ns_ / ns_per_byte_), least), n / 4));
}

void Tuning::begin(uint64_t total, uint64_t granule, uint64_t limit) noexcept {
    total_ = total;
    granule_ = granule;
    limit_ = limit;
    given_ = seen_ = 0;
    measured_ = false;
    phase_ = Phase::settled;
    if (known_) {
        size_ = fastest_tried_ != 0 ? fit(static_cast<double>(fastest_tried_)) : best(total);
        if (!checked_) begin_check();  // the run before was too short for the check
        return;
    }
    // Where chunks may be large, both trial sizes double: host work for each chunk must not limit the small trial.
    const uint64_t scale = limit > kLargeTrial ? 2 : 1;
    if (total != 0 && total < scale * kWorthwhile) {
        size_ = fit(std::clamp(static_cast<double>(total) / 8, 262144.0, static_cast<double>(kLargeTrial)));
        return;
    }
    small_ = {fit(static_cast<double>(scale * kSmallTrial)), kFilling, kSmallChunks - 1};
    large_ = {fit(static_cast<double>(scale * kLargeTrial)), kSmallChunks, kSmallChunks + kLargeChunks - 1};
    size_ = large_.size;
    if (small_.size == large_.size) return;  // the granule or the limit leaves no choice
    phase_ = Phase::trying;
    measured_ = true;
}

void Tuning::restrict(uint64_t limit) noexcept {
    limit_ = limit;
    phase_ = Phase::settled;
    if (given_ == 0) measured_ = false;
    size_ = fit(static_cast<double>(limit));
}

uint64_t Tuning::next() noexcept {
    const uint64_t index = given_++;
    return phase_ == Phase::trying && index < kSmallChunks ? small_.size : size_;
}

uint64_t Tuning::foreseen() const noexcept { return size_; }

void Tuning::done(int64_t end) noexcept {
    const uint64_t index = seen_++;
    if (phase_ == Phase::trying) {
        small_.note(index, end);
        large_.note(index, end);
        if (index == large_.to) conclude();
    } else if (phase_ == Phase::checking) {
        check_.note(index, end);
        if (index == check_.to) check();
    }
}

void Tuning::conclude() noexcept {
    const double more = static_cast<double>(large_.size - small_.size);
    ns_per_byte_ = std::max((large_.period() - small_.period()) / more, large_.per_byte() / 10);
    // If larger chunks are no faster (they don't fit into a cache), small chunks are kept.
    overhead_ns_ = std::max(small_.period() - ns_per_byte_ * static_cast<double>(small_.size), 0.0);
    known_ = true;
    const bool disappoints = small_.per_byte() * kTolerance < large_.per_byte();
    fastest_tried_ = disappoints ? small_.size : 0;
    if (disappoints && !large_.repeated()) {
        checked_ = true;  // holds if the run ends before the repeat does
        large_.repeat();
        return;
    }
    size_ = disappoints ? small_.size : best(total_);
    checked_ = size_ == small_.size || size_ == large_.size;
    if (checked_)
        phase_ = Phase::settled;
    else
        begin_check();
}

void Tuning::begin_check() noexcept {
    check_ = {size_, given_ + 1, given_ + 1 + kCheckChunks};
    phase_ = Phase::checking;
}

void Tuning::check() noexcept {
    const Batch& fastest = small_.per_byte() < large_.per_byte() ? small_ : large_;
    const bool disappoints = check_.per_byte() > fastest.per_byte() * kTolerance;
    if (disappoints && !check_.repeated()) {
        check_.repeat();
        return;
    }
    phase_ = Phase::settled;
    checked_ = true;
    if (disappoints) fastest_tried_ = size_ = fastest.size;
}

}  // namespace gpo::pipeline
