// Finds the sequence of operations that repeats in a stream's work.
//
// Words. An operation's *fingerprint* stands for all properties that must be the same each time. A *separator* is
// anything else that happens on the stream: a mark, an operation without a fingerprint, a call that waits for the
// stream. A *period* is the number of operations after which fingerprints and separators repeat.
//
// No sequence has a separator inside. If separators repeat too, the sequence is the longest run of operations between
// two separators, and begins behind a separator. If no separator has occurred for a while, the sequence is one period,
// or several periods if they are short, and may begin at any operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpo {

class Repetition {
public:
    static constexpr size_t kShortest = 2, kLongest = 64;  // operations of a sequence
    static constexpr size_t kTimes = 3;                    // a period has to come this often
    static constexpr size_t kUnseparated = 64;  // after so many operations without a separator, none is expected
    static constexpr size_t kWorthwhile = 16;   // shorter periods without separators are taken several times

    /// Notes the next operation; `separated`: a separator came before the operation. The lower 63 bits of the
    /// fingerprint count. True if a sequence has been found.
    bool note(uint64_t fingerprint, bool separated) noexcept;
    /// Forgets all.
    void clear() noexcept { noted_ = period_ = matched_ = length_ = 0; }

    // --- the sequence that was found ---
    size_t length() const noexcept { return length_; }
    /// Fingerprints of the sequence's operations.
    uint64_t fingerprint(size_t index) const noexcept {
        const size_t at = first_ + index % period_;
        return token(at < noted_ ? at : at - period_) >> 1;
    }
    bool begins_at_separator() const noexcept { return begins_at_separator_; }

private:
    static constexpr size_t kKept = 256;  // a power of 2
    static_assert(kKept >= kTimes * kLongest + kLongest);

    // Fingerprint << 1 | separated; `position` counts operations noted.
    uint64_t token(size_t position) const noexcept { return tokens_[position % kKept]; }
    bool follows_separator(size_t position) const noexcept { return token(position) & 1; }
    size_t matches(size_t distance) const noexcept;
    void find_period() noexcept;
    bool find_sequence() noexcept;

    std::array<uint64_t, kKept> tokens_{};
    size_t noted_ = 0;
    size_t period_ = 0;   // 0: none
    size_t matched_ = 0;  // number of the newest tokens that equal the tokens a period before
    size_t first_ = 0, length_ = 0;
    bool begins_at_separator_ = false;
};

}  // namespace gpo
