// Streams that learn: a sequence of operations that comes again and again is launched as one graph.
//
// First the learner looks for a sequence (stream/repetition.h). When there is one, it keeps the operations of the next
// time that the sequence comes, and makes a graph of them (stream/replay.h). From then on it *withholds* each operation
// that the sequence has next: the operation is accepted, and stays on the host. With the last one the graph is
// launched; that is a *replay*. All else that concerns the stream issues first what is withheld, one operation after
// the other: a sequence that is *broken*. A thread of the context does the same with what has been withheld for long.
//
// What is guessed wrong costs time and nothing else. A learner that breaks sequences time after time forgets what it
// has learned, and each time rests for longer.
//
// Nothing is learned while the stream is traced or its failures are attributed (then each operation is to be seen by
// itself), or while the stream may be captured.
#pragma once

#include "core/errands.h"
#include "stream/repetition.h"
#include "stream/replay.h"

namespace gpo {

/// Of one stream. All but what says otherwise is under the stream's submit lock.
class Learner {
public:
    /// What is withheld is issued after one to two of these.
    static constexpr uint64_t kPatience = 50'000;  // ns

    explicit Learner(Stream& stream) noexcept : stream_(stream) {}

    // --- any thread, without the lock ---
    /// True: the operation was accepted, and is withheld or has been launched. False: it isn't part of a sequence, and
    /// is to be put on the stream as on any other; what is withheld may have to be issued before it.
    bool withhold(const Operation& operation) noexcept;
    /// The program looks at the stream: no sequence goes on behind that.
    void separate() noexcept { separated_.store(true, std::memory_order_relaxed); }
    /// How many operations were launched in replays, and how long the sequence is that is replayed now; 0: none.
    uint64_t replayed() const noexcept { return replayed_.load(std::memory_order_relaxed); }
    uint32_t learned() const noexcept { return learned_.load(std::memory_order_relaxed); }

private:
    static constexpr unsigned kMostBroken = 8;                   // in a row, and it is forgotten
    static constexpr unsigned kMostTries = 4;                    // to see a sequence once more, to learn it
    static constexpr uint64_t kLongSearch = 1024;                // operations without a sequence, or without a replay
    static constexpr unsigned kManyLaunches = 32;                // of one sequence: the next rest will be a short one
    static constexpr uint64_t kLeastRest = 64, kMostRests = 10;  // operations; doublings of that

    /// What is given up goes here, and is destroyed without the lock: a kernel's module may need a submit lock.
    using Gone = std::unique_ptr<Replay>;

    bool resting() const noexcept;
    bool may_learn() noexcept;
    bool notices_breaks() noexcept;
    bool take_separated() noexcept;
    // Looking for a sequence, seeing it once more, replaying it.
    void search(const Operation& operation, const LearnableWork& work, bool separated, Gone& gone);
    void begin_rehearsal();
    void rehearse(const Operation& operation, const LearnableWork& work, bool separated, Gone& gone);
    void finish_rehearsal(Gone& gone) noexcept;
    bool replay(const Operation& operation, const LearnableWork& work, bool separated, Gone& gone) noexcept;
    bool may_begin(bool separated) const noexcept { return !begins_at_separator_ || separated || launched_; }
    void accept(const Operation& operation, const LearnableWork& work) noexcept;
    void launch() noexcept;
    void note_broken() noexcept;
    void issue_withheld() noexcept;
    void forget(Gone& gone) noexcept;
    void rest() noexcept;

    /// Issues what has been withheld for too long. Posted while operations are withheld now and then.
    class Watch final : public Errand {
    public:
        explicit Watch(Learner& learner) noexcept : learner_(learner) {}
        void run() noexcept override;
        void begin() noexcept;

    private:
        static constexpr unsigned kMostIdle = 20;  // looks at a stream that withholds nothing
        void look() noexcept;
        bool ends() noexcept;
        void post() noexcept;

        Learner& learner_;  // a reference to the stream is held while it is posted
        std::atomic<bool> posted_{false};
        uint64_t seen_ = 0;  // begun_ at the last look
        unsigned idle_ = 0;
    } watch_{*this};

    Stream& stream_;
    Repetition repetition_;
    std::vector<uint64_t> wanted_;    // fingerprints of the sequence that is rehearsed; empty: none is
    std::unique_ptr<Replay> replay_;  // being rehearsed, or learned
    bool learned_whole_ = false;      // it is learned
    bool begins_at_separator_ = false;
    bool launched_ = false;  // nothing came behind the last replay
    bool refused_ = false;   // the driver doesn't take the graph
    size_t next_ = 0;        // how many operations are withheld, unless somebody has issued them
    unsigned broken_ = 0, launches_ = 0, tries_ = 0, rests_ = 0;
    uint64_t since_ = 0;                    // operations since the search began or something was replayed
    std::atomic<bool> separated_{false};    // any thread
    std::atomic<uint64_t> rests_until_{0};  // number of an operation
    std::atomic<uint64_t> begun_{0};        // sequences of which the first operation was withheld
    std::atomic<uint64_t> replayed_{0};
    std::atomic<uint32_t> learned_{0};
};

}  // namespace gpo
