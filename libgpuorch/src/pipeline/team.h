// A few threads that move one block of bytes together: copies between a caller's memory and pinned buffers, reads of
// one file at several places. One thread alone doesn't reach the memory's speed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/host.h"

namespace gpo::pipeline {

class Team {
public:
    using Part = std::function<void(uint64_t offset, uint64_t bytes)>;

    /// `helpers` threads beside the caller's; started when they are first needed. Where the system has no thread left
    /// the work is done with fewer.
    Team(std::string name, unsigned helpers) : name_(std::move(name)), helpers_(helpers) {}
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    /// Calls `part` for pieces that cover [0, bytes), on several threads at once, and returns when all are done. `part`
    /// may not throw. One caller at a time.
    void run(uint64_t bytes, const Part& part) noexcept;

    /// Ends the threads. They are parked: it takes no time.
    void stop() noexcept;

private:
    void help() noexcept;
    void work(const Part& part) noexcept;
    void start() noexcept;

    static constexpr uint64_t kPart = uint64_t{512} << 10;  // worth waking a thread for

    const std::string name_;
    const unsigned helpers_;
    host::Mutex lock_;
    host::Condition called_{host::Sleep::light}, left_;
    const Part* job_ = nullptr;           // under lock_
    unsigned inside_ = 0;                 // helpers at the job, under lock_
    bool stopping_ = false;               // under lock_
    uint64_t bytes_ = 0;                  // of the job
    std::atomic<uint64_t> next_{0};       // offset of the next piece
    bool started_ = false;
    std::vector<host::Thread> threads_;
};

/// How many helpers each of a pipeline's two teams gets on this machine.
unsigned team_helpers() noexcept;

}  // namespace gpo::pipeline
