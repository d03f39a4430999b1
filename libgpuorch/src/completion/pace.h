// How the scanner spends the time from one turn to the next. This file only makes decisions from values: it knows no
// clock, no thread and no driver. The scanner (completion/scanner.h) carries the decisions out.
//
// Words:
// - In a *turn* the scanner looks once at each of its streams: it asks the driver for the stream's marks, and completes
//   the marks that the GPU has passed. Other marks are *pending*. A turn that completes a mark makes *progress*.
// - *Spin*: begin the next turn at once. Latency mode spins until it parks.
// - *Sleep*: begin the next turn after a rest. Balanced mode sleeps. The rest is a sixteenth of the oldest pending
//   mark's age: at least 10 us, at most 1 ms.
// - *Expect* an end: if the work before a stream's last four marks took equally long, assume the same of the work
//   before its oldest mark. Balanced mode sleeps until shortly before the expected end, at most 1 ms at a time. Then it
//   spins, for a twentieth of the time at most, and then takes the shortest rests until shortly after the end. If the
//   end doesn't come, balanced mode sleeps as without an expectation. If the driver notifies, or kernels run on the
//   host's cores, no end is expected.
// - A thread is *blocked* while it is inside a call that waits. In the first millisecond, the thread itself or the
//   scanner, which then spins, looks for its completion all the time. Later, the rest between two looks is a fiftieth
//   of the time that the thread has been blocked.
// - *Listen*: sleep until the driver notifies (driver::Listener), or a stream gets its first mark. Listening takes two
//   turns. After a turn with pending marks and without progress, the scanner *announces* that it listens, and asks for
//   all marks once more. If this second turn makes no progress either, the scanner sleeps until it is woken. Work
//   without a mark may wake the scanner in vain: the scanner then rests before it announces again.
// - *Park*: sleep until a mark is made. The scanner parks when no mark has been pending for 1 ms.
#pragma once

#include <array>
#include <cstdint>

namespace gpo::pace {

constexpr uint64_t kLeastSleep = 10'000, kMostSleep = 1'000'000;   // ns
constexpr uint64_t kNever = UINT64_MAX;

/// Bounds of how long the work before a mark took. Both are ns from the later of two times: the acceptance of the mark
/// (so the time for which work was held counts), and the completion of the mark before.
struct Took {
    uint64_t pending = 0;     // at the last look that found the mark pending; 0: no look did
    uint64_t completed = 0;   // at the first look that found the mark completed
};

/// The age of a mark around which its end is expected.
struct Expected {
    uint64_t from = kNever;   // the scanner looks all the time from here; kNever: nothing is expected
    uint64_t spin = 0;        // ns that the scanner looks all the time
    uint64_t until = 0;       // after the spin, the scanner takes the shortest rests until here
};

/// Durations of the work before the last marks of a stream.
class History {
public:
    void add(const Took& took) noexcept { took_[count_++ % took_.size()] = took; }
    /// The expected end, if the last four durations are each known to an eighth and differ by at most an eighth; else
    /// nothing. (If a work's end was slept through, its duration isn't known: the scanner then acts as without a
    /// history.)
    Expected expected() const noexcept;

private:
    std::array<Took, 4> took_{};
    uint64_t count_ = 0;
};

/// Rest, in ns, before the scanner looks at a mark of this age. 0: none; kNever: no end is expected now.
uint64_t rest_before_end(const Expected& expected, uint64_t age) noexcept;

/// Rest, in ns, before the next look of a thread that has been `blocked` ns. 0: none, only if the thread may spin.
uint64_t rest_of_blocked(uint64_t blocked, bool may_spin) noexcept;

/// How far the scanner has got with listening.
enum class Listening : uint8_t {
    no,
    announced,   // if this turn makes no progress, the scanner sleeps until the driver notifies
    woken,       // the scanner has listened before this turn, and was woken: no announcement after this turn
};

/// State that one turn passes to the next. Times are from host::now().
struct State {
    uint64_t idle_since;                   // latest time at which marks were pending or completed, or parking ended
    uint64_t lateness = 0;                 // ns by which sleeps have ended late, on average
    unsigned spins = 0;                    // since the latest progress
    Listening listening = Listening::no;

    /// True if the turn asks for the newest marks too; other turns leave marks alone that were made just now.
    bool asks_all() const noexcept { return listening != Listening::no; }
    bool operator==(const State&) const = default;
};

/// Findings of a turn.
struct Turn {
    uint64_t now = 0;     // when it began to look at the streams
    bool pending = false;
    bool progress = false;
    bool may_listen = false;   // the driver notifies of all pending marks; false if a pending mark may be deferred
    uint64_t oldest = kNever;  // time from which the oldest pending mark without an expected end waits; kNever: none
    uint64_t before_end = kNever;   // the shortest rest before the expected ends of the other marks
    uint64_t blocked = kNever;      // ns that the newest blocked thread has been blocked; kNever: no thread is
};

enum class Move : uint8_t { spin, announce, listen, sleep, park };

struct Decision {
    Move move;
    State state;                // for the next turn
    uint64_t rest = 0;          // sleep: ns from the end of this turn until the next
    bool worth_waking = false;  // sleep and park: a new mark wakes the thread. False for short sleeps
    bool yields = false;        // spin: the thread offers its core to others
};

Decision decide(bool latency, State state, const Turn& turn) noexcept;

/// For a sleep that the timer ended, `late` ns after its time.
State after_sleep(State state, uint64_t late) noexcept;
/// For a thread that has parked until `now`, or that found a mark or stream just before parking.
State after_parking(State state, uint64_t now) noexcept;

}  // namespace gpo::pace
