// Learning streams: a sequence of operations that repeats is launched as a single graph.
//
// First the learner looks for a sequence that repeats (stream/repetition.h). When the sequence comes once more, the
// learner *rehearses* it: the learner copies the operations and makes a graph of them (stream/replay.h). From then on
// the learner *withholds* each operation that comes next in the sequence: the operation is accepted, and stays on the
// host. After the last operation of the sequence, the graph is launched: a *replay*. Anything else on the stream
// *breaks* the sequence: the withheld operations are first issued one by one. A thread of the context also issues
// operations that have been withheld for long.
//
// A wrong guess costs time and nothing else. A learner that breaks many sequences in a row forgets its sequence and
// rests, each time for longer.
//
// The learner learns nothing while the stream is traced, while failures are attributed, or while the stream may be
// captured. Traces and attribution need each operation by itself.
#pragma once

#include "core/errands.h"
#include "stream/repetition.h"
#include "stream/replay.h"

namespace gpo {

/// The learner of a single stream. Used under the stream's submit lock unless a comment says otherwise.
class Learner {
public:
    /// A withheld operation is issued after one to two such periods.
    static constexpr uint64_t kPatience = 50'000;  // ns

    explicit Learner(Stream& stream) noexcept : stream_(stream) {}

    // --- any thread, without the lock ---
    /// True: the operation was accepted, and is withheld or has been launched. False: the operation isn't part of a
    /// sequence, and must be put on the stream in the usual way. Withheld operations may have to be issued first.
    bool withhold(const Operation& operation) noexcept;
    /// Notes that the program looks at the stream: a sequence ends here.
    void separate() noexcept { separated_.store(true, std::memory_order_relaxed); }
    /// Number of operations launched in replays, and length of the learned sequence; 0: none.
    uint64_t replayed() const noexcept { return replayed_.load(std::memory_order_relaxed); }
    uint32_t learned() const noexcept { return learned_.load(std::memory_order_relaxed); }

private:
    static constexpr unsigned kMostBroken = 8;                   // broken in a row: the sequence is forgotten
    static constexpr unsigned kMostTries = 4;                    // rehearsals of a sequence
    static constexpr uint64_t kLongSearch = 1024;                // operations without a sequence, or without a replay
    static constexpr unsigned kManyLaunches = 32;                // of a sequence: the next rest will be short
    static constexpr uint64_t kLeastRest = 64, kMostRests = 10;  // operations; doublings of kLeastRest

    /// Replays that were given up, to be destroyed without the lock: a kernel's module may need a submit lock.
    using Discarded = std::unique_ptr<Replay>;

    bool resting() const noexcept;
    bool may_learn() noexcept;
    bool notices_breaks() noexcept;
    bool take_separated() noexcept;
    // The steps: search for a sequence, rehearse it, replay it.
    void search(const Operation& operation, const LearnableWork& work, bool separated, Discarded& discarded);
    void begin_rehearsal();
    void rehearse(const Operation& operation, const LearnableWork& work, bool separated, Discarded& discarded);
    void finish_rehearsal(Discarded& discarded) noexcept;
    bool replay(const Operation& operation, const LearnableWork& work, bool separated, Discarded& discarded) noexcept;
    bool may_begin(bool separated) const noexcept { return !begins_at_separator_ || separated || launched_; }
    void accept(const Operation& operation, const LearnableWork& work) noexcept;
    void launch() noexcept;
    void note_broken() noexcept;
    void issue_withheld() noexcept;
    void forget(Discarded& discarded) noexcept;
    void rest() noexcept;

    /// Issues operations that have been withheld for too long. Posted while the stream withholds operations now and
    /// then.
    class Watch final : public Errand {
    public:
        explicit Watch(Learner& learner) noexcept : learner_(learner) {}
        void run() noexcept override;
        void begin() noexcept;

    private:
        static constexpr unsigned kMostIdle = 20;  // looks in a row without a new sequence
        void look() noexcept;
        bool ends() noexcept;
        void post() noexcept;

        Learner& learner_;  // a reference to the stream is held while the watch is posted
        std::atomic<bool> posted_{false};
        uint64_t seen_ = 0;  // begun_ at the last look
        unsigned idle_ = 0;
    } watch_{*this};

    Stream& stream_;
    Repetition repetition_;
    std::vector<uint64_t> wanted_;    // fingerprints of the sequence to rehearse; empty: none
    std::unique_ptr<Replay> replay_;  // being rehearsed, or learned
    bool learned_whole_ = false;      // replay_ is learned
    bool begins_at_separator_ = false;
    bool launched_ = false;  // nothing came behind the last replay
    bool refused_ = false;   // the driver doesn't take the graph
    size_t next_ = 0;        // number of withheld operations, unless another thread has issued them
    unsigned broken_ = 0, launches_ = 0, tries_ = 0, rests_ = 0;
    uint64_t since_ = 0;                    // operations since the search began, or since the last replay
    std::atomic<bool> separated_{false};    // any thread
    std::atomic<uint64_t> rests_until_{0};  // number of an operation
    std::atomic<uint64_t> begun_{0};        // sequences whose first operation was withheld
    std::atomic<uint64_t> replayed_{0};
    std::atomic<uint32_t> learned_{0};
};

}  // namespace gpo
