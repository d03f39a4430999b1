// How the scanner spends the time from one turn to the next. Decisions only, made from values: this file knows no
// clock, no thread and no driver. The scanner (completion/scanner.h) does what is decided here.
//
// Words:
// - In a *turn* the scanner looks once at each of its streams. It asks the driver for their marks and completes those
//   that the GPU has passed. The marks that it leaves are *pending*. A turn that completes a mark makes *progress*.
// - To *spin* is to begin the next turn at once. Latency mode does so until it parks.
// - To *sleep* is to begin the next turn after a rest. Balanced mode does so. The rest is a sixteenth of the time that
//   the oldest pending mark has waited, at least 10 us, at most 1 ms.
// - To *expect* an end is to take it that the work before a stream's oldest mark lasts as long as the work before the
//   last four marks, where these agree. Balanced mode sleeps until shortly before that end, at most 1 ms at a time.
//   Then it spins, for a twentieth of the time at most, and then takes the shortest rests until shortly after the end.
//   If the end doesn't come, it sleeps as if there were no expectation. It expects nothing where the driver notifies, or
//   where kernels run on the host's cores.
// - A thread is *blocked* while it is inside a call that waits. In the first millisecond of that somebody looks for its
//   completion all the time: the thread itself, or the scanner, which spins then; later, after a fiftieth of the time
//   that it has been blocked.
// - To *listen* is to sleep until the driver notifies (driver::Listener), or a stream gets its first mark. It takes two
//   turns. After a turn that finds pending marks and makes no progress, the scanner *announces* that it listens, and
//   asks for all marks once more. If that turn makes no progress either, the scanner sleeps until it is woken. It may
//   be woken in vain, by work that no mark belongs to: then it rests before it announces again.
// - To *park* is to sleep until a mark is made. The scanner parks when no mark has been pending for 1 ms.
#pragma once

#include <array>
#include <cstdint>

namespace gpo::pace {

constexpr uint64_t kLeastSleep = 10'000, kMostSleep = 1'000'000;   // ns
constexpr uint64_t kNever = UINT64_MAX;

/// How long the work before a mark took, as far as looks tell: ns from its acceptance (work that was held: the time for
/// which it was held too), or from the completion of the mark before it, if that came later.
struct Took {
    uint64_t pending = 0;     // at the last look that found the mark pending; 0: there was none
    uint64_t completed = 0;   // at the first look that found the mark completed
};

/// The age of a mark around which its end is expected.
struct Expected {
    uint64_t from = kNever;   // the scanner looks all the time from here; kNever: nothing is expected
    uint64_t spin = 0;        // for so long
    uint64_t until = 0;       // and with the shortest rests until here
};

/// What the work before the last marks of a stream took.
class History {
public:
    void add(const Took& took) noexcept { took_[count_++ % took_.size()] = took; }
    /// Nothing, unless there are four, each known to an eighth, and they differ by no more than an eighth. (The last
    /// four: work that was slept through is not known, so the scanner then looks as if there were no history.)
    Expected expected() const noexcept;

private:
    std::array<Took, 4> took_{};
    uint64_t count_ = 0;
};

/// How long the scanner rests before it looks at a mark of this age. 0: not at all; kNever: the expectation says nothing.
uint64_t rest_before_end(const Expected& expected, uint64_t age) noexcept;

/// How long a thread rests before it looks again that has been blocked for this time. 0: not at all, which is for
/// threads that may spin.
uint64_t rest_of_blocked(uint64_t blocked, bool may_spin) noexcept;

/// How far the scanner has got with listening.
enum class Listening : uint8_t {
    no,
    announced,   // in this turn: if there is no progress in it, the scanner sleeps until the driver notifies
    woken,       // in the turn before
};

/// What one turn leaves to the next. The times are those of host::now().
struct State {
    uint64_t idle_since;                   // latest time at which marks were pending or completed, or parking ended
    uint64_t lateness = 0;                 // average time by which sleeps have ended late
    unsigned spins = 0;                    // since the latest progress
    Listening listening = Listening::no;

    /// The turn asks for marks too that were made just now, which a turn leaves alone otherwise.
    bool asks_all() const noexcept { return listening != Listening::no; }
    bool operator==(const State&) const = default;
};

/// What a turn has seen.
struct Turn {
    uint64_t now;         // when it began to look at the streams
    bool pending;
    bool progress;
    bool may_listen;      // the driver notifies of all pending marks, of which none is deferred
    uint64_t oldest;      // since when the oldest pending mark has waited of those with no end expected; kNever: none
    uint64_t before_end = kNever;   // the shortest rest before the expected ends of the others
    uint64_t blocked = kNever;      // for how long a thread has been blocked, of several the newest; kNever: none is
};

enum class Move : uint8_t { spin, announce, listen, sleep, park };

struct Decision {
    Move move;
    State state;                // for the next turn
    uint64_t rest = 0;          // sleep: ns from the end of this turn until the next
    bool worth_waking = false;  // sleep and park: a new mark wakes the thread. A short sleep ends soon enough by itself
    bool yields = false;        // spin: the thread offers its core to others
};

Decision decide(bool latency, State state, const Turn& turn) noexcept;

/// A sleep of which nobody woke the thread ended `late` ns after its time.
State after_sleep(State state, uint64_t late) noexcept;
/// The thread has parked until `now`, or has found just before parking that it must not.
State after_parking(State state, uint64_t now) noexcept;

}  // namespace gpo::pace
