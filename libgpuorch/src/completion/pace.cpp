#include "completion/pace.h"

#include <algorithm>

namespace gpo::pace {

namespace {

constexpr uint64_t kStaysAwake = 1'000'000;  // ns without a pending mark, before the scanner parks
constexpr unsigned kYieldEvery = 64;         // spins
constexpr uint64_t kWorthWaking = 30'000;    // ns: marks wake the thread only from longer sleeps
constexpr uint64_t kSpinsBlocked = 1'000'000;  // ns of blocking with looks for the completion all the time
constexpr uint64_t kMostMargin = 500'000;      // ns
constexpr uint64_t kMostSpin = 1'000'000;      // ns

Decision spin(State state) noexcept {
    const bool yields = ++state.spins % kYieldEvery == 0;
    return {.move = Move::spin, .state = state, .yields = yields};
}

Decision listen(State state) noexcept {
    const bool announced = state.listening == Listening::announced;
    state.listening = announced ? Listening::woken : Listening::announced;
    return {.move = announced ? Move::listen : Move::announce, .state = state};
}

// Timers are late by some microseconds (4 on a virtual machine with an H200). The rest is shortened by this lateness.
Decision sleep(State state, const Turn& turn) noexcept {
    const uint64_t age = turn.now > turn.oldest ? turn.now - turn.oldest : 0;
    uint64_t rest = std::clamp(age / 16, kLeastSleep, kMostSleep);
    if (turn.before_end != kNever) {
        const uint64_t before_end = std::min(turn.before_end, kMostSleep);
        rest = turn.oldest == kNever ? before_end : std::min(rest, before_end);
    }
    if (turn.pending && turn.blocked != kNever) rest = std::min(rest, rest_of_blocked(turn.blocked, true));
    return {.move = Move::sleep,
            .state = state,
            .rest = rest - std::min(state.lateness, rest / 2),
            .worth_waking = rest > kWorthWaking};
}

}  // namespace

Decision decide(bool latency, State state, const Turn& turn) noexcept {
    if (turn.pending || turn.progress) state.idle_since = turn.now;
    if (turn.progress) state.spins = 0;
    const bool parks = turn.now - state.idle_since >= kStaysAwake;
    if (latency && !parks) return spin(state);
    if (turn.pending && !turn.progress && turn.may_listen && state.listening != Listening::woken) return listen(state);
    state.listening = Listening::no;
    if (parks) return {.move = Move::park, .state = state, .worth_waking = true};
    if (turn.pending && !turn.may_listen && (turn.before_end == 0 || turn.blocked < kSpinsBlocked)) return spin(state);
    return sleep(state, turn);
}

Expected History::expected() const noexcept {
    uint64_t shortest = kNever, longest = 0, pending = kNever;
    for (const Took& took : took_) {
        if (took.completed - took.pending > took.completed / 8 + 2 * kLeastSleep) return {};
        shortest = std::min(shortest, took.completed);
        longest = std::max(longest, took.completed);
        pending = std::min(pending, took.pending);
    }
    // If fewer than four durations are known, `shortest` is 0, and no end is expected.
    if (shortest < 2 * kLeastSleep || longest - shortest > shortest / 8 + kLeastSleep) return {};
    const uint64_t margin = std::min(shortest / 64, kMostMargin);
    return {.from = pending - std::min(pending, margin),
            .spin = std::min(shortest / 20, kMostSpin),
            .until = longest + margin};
}

// A long rest has one look an eighth before its end: the duration of slightly shorter work is then known to an eighth.
uint64_t rest_before_end(const Expected& expected, uint64_t age) noexcept {
    if (expected.from == kNever) return kNever;
    if (age < expected.from) {
        const uint64_t last = expected.from / 8;
        return age + last < expected.from && last > 3 * kLeastSleep ? expected.from - last - age : expected.from - age;
    }
    if (age - expected.from < expected.spin) return 0;
    return age < expected.until ? kLeastSleep : kNever;
}

uint64_t rest_of_blocked(uint64_t blocked, bool may_spin) noexcept {
    if (blocked < kSpinsBlocked) return may_spin ? 0 : std::clamp(blocked / 16, kLeastSleep, kMostSleep);
    return std::clamp(blocked / 50, kLeastSleep, kMostSleep);
}

// A moving average, with each sample capped: a single very late sleep says little about the next.
State after_sleep(State state, uint64_t late) noexcept {
    state.lateness = (7 * state.lateness + std::min(late, kLeastSleep)) / 8;
    return state;
}

State after_parking(State state, uint64_t now) noexcept {
    state.idle_since = now;
    return state;
}

}  // namespace gpo::pace
