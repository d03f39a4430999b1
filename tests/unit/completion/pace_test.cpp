// What the scanner does between two turns: tests each rule of completion/pace.h without a clock, thread or driver.
#include <doctest/doctest.h>

#include <vector>

#include "completion/pace.h"
#include "host/host.h"

using namespace gpo::pace;

namespace {

constexpr uint64_t kUs = 1'000, kMs = 1'000'000;
constexpr uint64_t kNow = 100 * kMs;   // the time of each single turn
constexpr bool kBalanced = false, kLatency = true;

/// A turn at `now` that left marks pending, the oldest for `age`.
Turn pending(uint64_t age, uint64_t now = kNow) { return {now, true, false, false, now - age}; }
/// Like pending(), but the driver notifies of all marks.
Turn notified(uint64_t age, uint64_t now = kNow) { return {now, true, false, true, now - age}; }
/// Makes the turn one with completed marks.
Turn progress(Turn turn) {
    turn.progress = true;
    return turn;
}
/// A turn that completed all marks; the next function makes a turn that found none.
Turn completed(uint64_t now = kNow) { return {now, false, true, true, gpo::host::kForever}; }
Turn nothing(uint64_t now = kNow) { return {now, false, false, true, gpo::host::kForever}; }

State idle_for(uint64_t time) { return {.idle_since = kNow - time}; }
State after(Listening listening) { return {.idle_since = kNow - 20 * kUs, .listening = listening}; }
State late_by(uint64_t lateness) { return {.idle_since = kNow - 20 * kUs, .lateness = lateness}; }

/// The decision, and the listening state for the next turn.
struct Decided {
    Move move;
    uint64_t rest = 0;
    bool worth_waking = false;
    Listening listening = Listening::no;
};
constexpr Decided kSpins{Move::spin}, kParks{Move::park, 0, true};
constexpr Decided kAnnounces{Move::announce, 0, false, Listening::announced};
constexpr Decided kListens{Move::listen, 0, false, Listening::woken};
/// New marks wake the scanner from sleeps(), not from naps().
constexpr Decided sleeps(uint64_t rest) { return {Move::sleep, rest, true}; }
constexpr Decided naps(uint64_t rest) { return {Move::sleep, rest, false}; }

struct Situation {
    const char* what;
    bool latency;
    State before;
    Turn turn;
    Decided expected;
};

const std::vector<Situation> kSituations{
    // Latency mode never sleeps while marks are pending, however old they are, nor in the millisecond after them.
    {"latency, a young mark", kLatency, idle_for(20 * kUs), pending(1 * kUs), kSpins},
    {"latency, an old mark", kLatency, idle_for(20 * kUs), pending(50 * kMs), kSpins},
    {"latency, a mark after a long idle time", kLatency, idle_for(5 * kMs), pending(1 * kUs), kSpins},
    {"latency, a mark that the driver notifies of", kLatency, idle_for(20 * kUs), notified(1 * kMs), kSpins},
    {"latency, all marks completed after a long turn", kLatency, idle_for(5 * kMs), completed(), kSpins},
    {"latency, nothing pending for less than 1 ms", kLatency, idle_for(kMs - 1), nothing(), kSpins},
    {"latency, nothing pending for 1 ms", kLatency, idle_for(kMs), nothing(), kParks},

    // In balanced mode the rest is a sixteenth of the oldest mark's age, within its bounds.
    {"a young mark", kBalanced, idle_for(20 * kUs), pending(5 * kUs), naps(10 * kUs)},
    {"a mark made during the turn", kBalanced, idle_for(0), {kNow, true, false, false, kNow + 5}, naps(10 * kUs)},
    {"a mark whose sixteenth is the least rest", kBalanced, idle_for(0), pending(160 * kUs), naps(10 * kUs)},
    {"an older mark", kBalanced, idle_for(0), pending(320 * kUs), naps(20 * kUs)},
    {"a mark whose sixteenth is the longest rest", kBalanced, idle_for(0), pending(16 * kMs), sleeps(1 * kMs)},
    {"an old mark", kBalanced, idle_for(0), pending(90 * kMs), sleeps(1 * kMs)},
    {"old marks of which some completed", kBalanced, idle_for(0), progress(pending(320 * kUs)), naps(20 * kUs)},

    // A new mark wakes the thread from a rest of more than 30 us.
    {"the longest rest not worth waking from", kBalanced, idle_for(0), pending(480 * kUs), naps(30 * kUs)},
    {"a rest worth waking from", kBalanced, idle_for(0), pending(480 * kUs + 16), sleeps(30 * kUs + 1)},

    // With nothing pending the scanner takes the shortest rests for 1 ms, then parks.
    {"all marks completed", kBalanced, idle_for(20 * kUs), completed(), naps(10 * kUs)},
    {"all marks completed after a long sleep", kBalanced, idle_for(5 * kMs), completed(), naps(10 * kUs)},
    {"nothing pending for less than 1 ms", kBalanced, idle_for(kMs - 1), nothing(), naps(10 * kUs)},
    {"nothing pending for 1 ms", kBalanced, idle_for(kMs), nothing(), kParks},
    {"a mark after a long idle time", kBalanced, idle_for(5 * kMs), pending(5 * kUs), naps(10 * kUs)},

    // Where the driver notifies, the scanner queries all marks again, then listens. After a vain wake it rests first.
    {"a young mark, notified", kBalanced, idle_for(0), notified(5 * kUs), kAnnounces},
    {"an old mark, notified", kBalanced, idle_for(0), notified(50 * kMs), kAnnounces},
    {"some marks completed, notified", kBalanced, idle_for(0), progress(notified(320 * kUs)), naps(20 * kUs)},
    {"announced, no progress", kBalanced, after(Listening::announced), notified(5 * kUs), kListens},
    {"announced, some marks completed", kBalanced, after(Listening::announced), progress(notified(320 * kUs)),
     naps(20 * kUs)},
    {"announced, all marks completed", kBalanced, after(Listening::announced), completed(), naps(10 * kUs)},
    // Marks made during a capture have no event yet, so the driver can't notify.
    {"announced, a mark is deferred", kBalanced, after(Listening::announced), pending(320 * kUs), naps(20 * kUs)},
    {"woken in vain", kBalanced, after(Listening::woken), notified(320 * kUs), naps(20 * kUs)},
    {"woken, some marks completed", kBalanced, after(Listening::woken), progress(notified(320 * kUs)), naps(20 * kUs)},
    {"woken, all marks completed", kBalanced, after(Listening::woken), completed(), naps(10 * kUs)},

    // The lateness of sleeps is subtracted from the rest, up to half of the rest.
    {"timers a little late", kBalanced, late_by(4 * kUs), pending(5 * kUs), naps(6 * kUs)},
    {"timers late by more than half of the rest", kBalanced, late_by(9 * kUs), pending(5 * kUs), naps(5 * kUs)},
    {"late timers, a long rest", kBalanced, late_by(9 * kUs), pending(90 * kMs), sleeps(991 * kUs)},
    {"late timers, a rest worth waking from", kBalanced, late_by(4 * kUs), pending(512 * kUs), sleeps(28 * kUs)},
};

}  // namespace

TEST_CASE("what a turn has seen decides how the scanner spends the time to the next turn") {
    for (const Situation& situation : kSituations) {
        INFO(situation.what);
        const auto& [what, latency, before, turn, expected] = situation;
        const Decision decision = decide(latency, before, turn);
        CHECK(decision.move == expected.move);
        CHECK(decision.rest == expected.rest);
        CHECK(decision.worth_waking == expected.worth_waking);
        CHECK_FALSE(decision.yields);
        CHECK(decision.state.listening == expected.listening);
        CHECK(decision.state.asks_all() == (expected.listening != Listening::no));
        CHECK(decision.state.lateness == before.lateness);
        CHECK(decision.state.idle_since == (turn.pending || turn.progress ? kNow : before.idle_since));
    }
}

TEST_CASE("in latency mode the thread offers its core to others every 64 turns, counted from the latest progress") {
    State state{.idle_since = kNow};
    const auto yields_at = [&](unsigned turns) {
        std::vector<unsigned> yields;
        for (unsigned i = 1; i <= turns; ++i) {
            const Decision decision = decide(kLatency, state, pending(1 * kUs));
            REQUIRE(decision.move == Move::spin);
            if (decision.yields) yields.push_back(i);
            state = decision.state;
        }
        return yields;
    };
    CHECK(yields_at(130) == std::vector<unsigned>{64, 128});
    state = decide(kLatency, state, progress(pending(1 * kUs))).state;   // the first turn of the next 64
    CHECK(yields_at(130) == std::vector<unsigned>{63, 127});
}

TEST_CASE("a scanner that was woken in vain asks for all marks, rests, and only then listens again") {
    State state{.idle_since = kNow};
    bool asked_all = false;
    const auto next = [&] {
        asked_all = state.asks_all();
        const Decision decision = decide(kBalanced, state, notified(5 * kUs));
        state = decision.state;
        return decision.move;
    };
    for (int round = 0; round < 3; ++round) {
        CHECK(next() == Move::announce);
        CHECK_FALSE(asked_all);
        CHECK(next() == Move::listen);
        CHECK(asked_all);
        CHECK(next() == Move::sleep);   // the notification has completed no mark
        CHECK(asked_all);
    }
}

TEST_CASE("after parking the scanner stays awake for a millisecond, whether or not it slept") {
    const Decision parks = decide(kBalanced, idle_for(kMs), nothing());
    REQUIRE(parks.move == Move::park);
    const uint64_t woken = kNow + 7 * kMs;
    const State state = after_parking(parks.state, woken);
    CHECK(state == State{.idle_since = woken});
    CHECK(decide(kBalanced, state, nothing(woken + kMs - 1)).move == Move::sleep);
    CHECK(decide(kBalanced, state, nothing(woken + kMs)).move == Move::park);
}

TEST_CASE("lateness follows how late sleeps end, an eighth of the way each time, and 10 us at most") {
    State state{.idle_since = kNow, .spins = 3};
    state = after_sleep(state, 8 * kUs);
    CHECK(state == State{.idle_since = kNow, .lateness = 1 * kUs, .spins = 3});
    CHECK(after_sleep(state, 0).lateness == 875);
    for (int i = 0; i < 100; ++i) state = after_sleep(state, 4 * kUs);
    CHECK(state.lateness > 3'900);
    CHECK(state.lateness <= 4 * kUs);
    for (int i = 0; i < 100; ++i) state = after_sleep(state, 50 * kMs);
    CHECK(state.lateness > 9'900);
    CHECK(state.lateness <= 10 * kUs);
}

namespace {

/// Work of this length, still pending at a look `apart` before its end.
Took took(uint64_t completed, uint64_t apart = 2 * kUs) {
    return {.pending = completed - apart, .completed = completed};
}
Expected expected_after(std::vector<Took> all) {
    History history;
    for (const Took& each : all) history.add(each);
    return history.expected();
}

struct Past {
    const char* what;
    std::vector<Took> all;
    uint64_t from, spin = 0, until = 0;   // kNever: no end is expected
};

const std::vector<Past> kPasts{
    {"no history", {}, kNever},
    {"three are too few", {took(2 * kMs), took(2 * kMs), took(2 * kMs)}, kNever},
    {"steady", {took(2 * kMs), took(2 * kMs), took(2 * kMs), took(2 * kMs)}, 1'966'750, 100 * kUs, 2'031'250},
    {"it varies by 5 per cent: from the shortest until the longest",
     {took(2 * kMs), took(2'100 * kUs), took(2'050 * kUs), took(2 * kMs)},
     1'966'750,
     100 * kUs,
     2'131'250},
    {"seen after a sixteenth each, as without an expectation",
     {took(2'100 * kUs, 120 * kUs), took(2'050 * kUs, 120 * kUs), took(2 * kMs, 120 * kUs), took(2 * kMs, 120 * kUs)},
     1'848'750,
     100 * kUs,
     2'131'250},
    {"one that was longer", {took(2 * kMs), took(5 * kMs), took(2 * kMs), took(2 * kMs)}, kNever},
    {"one that was shorter", {took(2 * kMs), took(100 * kUs), took(2 * kMs), took(2 * kMs)}, kNever},
    {"two by turns", {took(2 * kMs), took(100 * kUs), took(2 * kMs), took(100 * kUs)}, kNever},
    {"the other length has left the last four",
     {took(5 * kMs), took(2 * kMs), took(2 * kMs), took(2 * kMs), took(2 * kMs)},
     1'966'750,
     100 * kUs,
     2'031'250},
    {"one was slept through, and may have been much shorter",
     {took(2 * kMs), took(2 * kMs), took(2 * kMs), took(1'960 * kUs, 1'960 * kUs)},
     kNever},
    {"too short to sleep", {took(15 * kUs), took(15 * kUs), took(15 * kUs), took(15 * kUs)}, kNever},
    {"short, seen after rests of 10 us",
     {took(55 * kUs, 12 * kUs), took(52 * kUs, 12 * kUs), took(60 * kUs, 12 * kUs), took(58 * kUs, 12 * kUs)},
     39'188,
     2'600,
     60'812},
    {"a long time: the margin is half a millisecond and the spin a millisecond at most",
     {took(1000 * kMs), took(1000 * kMs), took(1000 * kMs), took(1000 * kMs)},
     999'498'000,
     1 * kMs,
     1'000'500'000},
};

}  // namespace

TEST_CASE("an end is expected where the work before the last four marks of a stream took about as long") {
    for (const Past& past : kPasts) {
        INFO(past.what);
        const Expected expected = expected_after(past.all);
        CHECK(expected.from == past.from);
        if (past.from == kNever) continue;
        CHECK(expected.spin == past.spin);
        CHECK(expected.until == past.until);
    }
}

TEST_CASE("before an expected end the scanner rests once or twice, spins around it, and gives it up later") {
    const Expected at{.from = 1'600 * kUs, .spin = 100 * kUs, .until = 1'800 * kUs};
    CHECK(rest_before_end(at, 0) == 1'400 * kUs);
    CHECK(rest_before_end(at, 1'000 * kUs) == 400 * kUs);
    CHECK(rest_before_end(at, 1'400 * kUs) == 200 * kUs);
    CHECK(rest_before_end(at, 1'600 * kUs) == 0);
    CHECK(rest_before_end(at, 1'699 * kUs) == 0);
    CHECK(rest_before_end(at, 1'700 * kUs) == 10 * kUs);
    CHECK(rest_before_end(at, 1'800 * kUs) == kNever);
    CHECK(rest_before_end({.from = 48 * kUs, .spin = 2 * kUs, .until = 52 * kUs}, 0) == 48 * kUs);
    CHECK(rest_before_end({}, 5 * kUs) == kNever);
}

TEST_CASE("of several streams the scanner comes for the one whose turn is first") {
    const auto next = [](uint64_t oldest_age, uint64_t before_end) {
        Turn turn = pending(0);
        turn.oldest = oldest_age == kNever ? kNever : kNow - oldest_age;
        turn.before_end = before_end;
        return decide(kBalanced, idle_for(0), turn);
    };
    CHECK(next(kNever, 200 * kUs).rest == 200 * kUs);
    CHECK(next(kNever, 200 * kUs).worth_waking);
    CHECK(next(kNever, 20 * kMs).rest == 1 * kMs);       // no longer than without an expectation
    CHECK(next(320 * kUs, 200 * kUs).rest == 20 * kUs);  // a mark on a stream without an expectation
    CHECK(next(8 * kMs, 200 * kUs).rest == 200 * kUs);
    CHECK(next(8 * kMs, 0).move == Move::spin);
}

TEST_CASE("while a thread is blocked the scanner spins for a millisecond, then rests for a fiftieth of that time") {
    const auto next = [](uint64_t blocked, Turn turn) {
        turn.blocked = blocked;
        return decide(kBalanced, idle_for(20 * kUs), turn);
    };
    CHECK(next(0, pending(50 * kMs)).move == Move::spin);
    CHECK(next(kMs - 1, pending(50 * kMs)).move == Move::spin);
    CHECK(next(kMs, pending(50 * kMs)).rest == 20 * kUs);
    CHECK(next(kMs, pending(80 * kUs)).rest == 10 * kUs);
    CHECK(next(10 * kMs, pending(50 * kMs)).rest == 200 * kUs);
    CHECK(next(1000 * kMs, pending(50 * kMs)).rest == 1 * kMs);
    CHECK(next(0, nothing()).move == Move::sleep);                     // nothing will come
    CHECK(next(0, notified(50 * kMs)).move == Move::announce);   // the driver notifies
    // The blocked thread queries the driver itself.
    CHECK(rest_of_blocked(0, true) == 0);
    CHECK(rest_of_blocked(kMs - 1, true) == 0);
    CHECK(rest_of_blocked(0, false) == 10 * kUs);   // another thread queries the driver
    CHECK(rest_of_blocked(kMs, true) == 20 * kUs);
    CHECK(rest_of_blocked(10 * kMs, false) == 200 * kUs);
}
