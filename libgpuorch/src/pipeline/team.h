// A team of threads that moves blocks of bytes: copies between the caller's memory and pinned buffers, reads of one
// file at several places. One thread alone doesn't reach the memory's speed.
//
// A block is cut into pieces. Blocks are moved in the order in which they were begun. A helper that finds no piece left
// in one block goes on with the next, so no helper waits for the last piece of a block while there is another block.
#pragma once

#include <string>
#include <vector>

#include "host/host.h"

namespace gpo::pipeline {

class Team {
public:
    /// A block of bytes, moved piece by piece. It stays where it is from begin to finish or abandon.
    class Job {
    public:
        Job() = default;
        Job(const Job&) = delete;
        Job& operator=(const Job&) = delete;

    protected:
        ~Job() = default;

    private:
        friend class Team;
        /// Pieces cover the block; several threads at once.
        virtual void move(uint64_t offset, uint64_t bytes) noexcept = 0;
        bool has_pieces() const noexcept { return next_.load(std::memory_order_relaxed) < bytes_; }

        uint64_t bytes_ = 0, piece_ = 0;
        std::atomic<uint64_t> next_{0};  // offset of the next piece
        unsigned inside_ = 0;            // helpers at it, under the team's lock
        Job* behind_ = nullptr;          // likewise
    };

    /// `helpers` threads beside the caller's; started when they are first needed. Where the system has no thread left
    /// the work is done with fewer.
    Team(std::string name, unsigned helpers) : name_(std::move(name)), helpers_(helpers) {}
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // One caller at a time.

    /// Of a piece: worth waking a thread for.
    static constexpr uint64_t kPiece = uint64_t{256} << 10;
    /// The helpers begin with the job when they are done with those before it.
    void begin(Job& job, uint64_t bytes, uint64_t piece = kPiece) noexcept;
    /// Works too, and returns when all of the job is done. Jobs are finished in the order in which they were begun.
    void finish(Job& job) noexcept;
    /// Pieces that nobody has begun are left alone; returns when nobody is at the job any more.
    void abandon(Job& job) noexcept;

    /// begin and finish, with `move(offset, bytes)` called for the pieces. It may not throw.
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

    /// Ends the threads. They are parked: it takes no time.
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

/// How many helpers each of a pipeline's two teams gets on this machine.
unsigned team_helpers() noexcept;

}  // namespace gpo::pipeline
