#include "completion/pace.h"

#include <algorithm>

namespace gpo::pace {

namespace {

constexpr uint64_t kStaysAwake = 1'000'000;  // ns with nothing pending, before it parks
constexpr unsigned kYieldEvery = 64;         // spins
constexpr uint64_t kWorthWaking = 30'000;    // ns: the thread is not woken from a sleep that is no longer

Decision spin(State state) noexcept {
    const bool yields = ++state.spins % kYieldEvery == 0;
    return {.move = Move::spin, .state = state, .yields = yields};
}

Decision listen(State state) noexcept {
    const bool announced = state.listening == Listening::announced;
    state.listening = announced ? Listening::woken : Listening::announced;
    return {.move = announced ? Move::listen : Move::announce, .state = state};
}

// Timers are late by some microseconds (4 on a virtual machine with an H200), which short rests would be longer by.
Decision sleep(State state, const Turn& turn) noexcept {
    const uint64_t age = turn.now > turn.oldest ? turn.now - turn.oldest : 0;
    const uint64_t rest = std::clamp(age / 16, kLeastSleep, kMostSleep);
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
    return sleep(state, turn);
}

// A moving average. One very late sleep says little of the next.
State after_sleep(State state, uint64_t late) noexcept {
    state.lateness = (7 * state.lateness + std::min(late, kLeastSleep)) / 8;
    return state;
}

State after_parking(State state, uint64_t now) noexcept {
    state.idle_since = now;
    return state;
}

}  // namespace gpo::pace
