#include "stream/repetition.h"

#include <algorithm>

namespace gpo {

bool Repetition::note(uint64_t fingerprint, bool separated) noexcept {
    tokens_[noted_ % kKept] = fingerprint << 1 | separated;
    ++noted_;
    if (period_ && noted_ > period_ && token(noted_ - 1) == token(noted_ - 1 - period_))
        ++matched_;
    else
        find_period();
    return period_ && matched_ >= (kTimes - 1) * period_ && find_sequence();
}

// Number of the newest tokens that equal the tokens `distance` before. The count ends when it is large enough.
size_t Repetition::matches(size_t distance) const noexcept {
    const size_t most = std::min(noted_ - distance, (kTimes - 1) * kLongest);
    size_t count = 0;
    while (count < most && token(noted_ - 1 - count) == token(noted_ - 1 - count - distance)) ++count;
    return count;
}

// Chooses the period that matches the most of the newest tokens; if several do, the shortest.
void Repetition::find_period() noexcept {
    period_ = matched_ = 0;
    for (size_t distance = 1; distance <= kLongest && distance < noted_; ++distance) {
        const size_t count = matches(distance);
        if (count <= matched_) continue;
        matched_ = count;
        period_ = distance;
    }
}

// Looks for the sequence in the newest period.
bool Repetition::find_sequence() noexcept {
    const size_t begin = noted_ - period_;
    size_t first_separator = 0, before = 0, longest = 0;
    bool any = false;
    for (size_t at = begin; at < noted_; ++at) {
        if (!follows_separator(at)) continue;
        if (!any) {
            first_separator = at;
        } else if (at - before > longest) {
            longest = at - before;
            first_ = before;
        }
        any = true;
        before = at;
    }
    begins_at_separator_ = any;
    if (!any) {
        if (matched_ + period_ < kUnseparated) return false;
        first_ = begin;
        length_ = period_ * std::max<size_t>(1, kWorthwhile / period_);
        return true;
    }
    // From the last separator of this period to the first of the next.
    if (const size_t last = first_separator + period_ - before; last > longest) {
        longest = last;
        first_ = before;
    }
    length_ = longest;
    return length_ >= kShortest;
}

}  // namespace gpo
