// A team of threads that moves blocks of bytes: copies between the caller's memory and pinned buffers, reads of one
// file at several places. A single thread doesn't reach the memory's speed.
//
// A block is cut into pieces. Blocks are moved in the order in which they were begun. A helper that finds no piece left
// in a block goes on with the next block: no helper waits for a block's last piece while another block has pieces.
#pragma once

#include <string>
#include <vector>

#include "host/host.h"

namespace gpo::pipeline {

class Team {
public:
    /// A block of bytes, moved piece by piece. Must stay at its address from begin to finish or abandon.
    class Job {
    public:
        Job() = default;
        Job(const Job&) = delete;
        Job& operator=(const Job&) = delete;

    protected:
        ~Job() = default;

    private:
        friend class Team;
        /// Moves a piece. Pieces cover the block; several threads call at once.
        virtual void move(uint64_t offset, uint64_t bytes) noexcept = 0;
        bool has_pieces() const noexcept { return next_.load(std::memory_order_relaxed) < bytes_; }

        uint64_t bytes_ = 0, piece_ = 0;
        std::atomic<uint64_t> next_{0};  // offset of the next piece
        unsigned inside_ = 0;            // helpers at the job, under the team's lock
        Job* behind_ = nullptr;          // next job, under the team's lock
    };

    /// `helpers`: number of threads beside the caller's, started when first needed. If the system has no thread left,
    /// fewer threads do the work.
    Team(std::string name, unsigned helpers) : name_(std::move(name)), helpers_(helpers) {}
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // By a single caller at a time.

    /// Bytes of a piece: enough to be worth waking a thread.
    static constexpr uint64_t kPiece = uint64_t{256} << 10;
    /// The helpers begin with the job when they are done with the jobs before.
    void begin(Job& job, uint64_t bytes, uint64_t piece = kPiece) noexcept;
    /// Helps with the job, and returns when all of it is done. Jobs must be finished in the order of their begin.
    void finish(Job& job) noexcept;
    /// Drops the pieces not begun yet; returns when no helper is at the job any more.
    void abandon(Job& job) noexcept;

    /// begin and finish of a job that calls `move(offset, bytes)` for the pieces. `move` must not throw.
    template <class Move>
    void run(uint64_t bytes, Move&& move, uint64_t piece = kPiece) noexcept {
        struct Once final : Job {
            explicit Once(Move& move) noexcept : call(move) {}
            void move(uint64_t offset, uint64_t bytes) noexcept override { call(offset, bytes); }
            Move& call;
        } job(move);
        begin(job, bytes, piece);
        finish(job);
    }

    /// Ends the threads. Returns quickly, since they are parked.
    void stop() noexcept;

private:
    void help() noexcept;
    void start() noexcept;
    static bool move_piece(Job& job) noexcept;
    Job* job_with_pieces() const noexcept;  // under lock_
    void wait_and_forget(Job& job) noexcept;

    const std::string name_;
    const unsigned helpers_;
    host::Mutex lock_;
    host::Condition called_{host::Sleep::light}, left_{host::Sleep::light};
    Job* first_ = nullptr;                // begun, not finished; under lock_
    unsigned arrived_ = 0;                // helpers that run; under lock_
    bool stopping_ = false;               // under lock_
    bool started_ = false;
    std::vector<host::Thread> threads_;
};

/// Number of helpers of each of a pipeline's two teams on this machine.
unsigned team_helpers() noexcept;

}  // namespace gpo::pipeline
