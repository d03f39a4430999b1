// What an executor's threads run: an Asio io_context, to which strands are posted when they become ready.
//
// Asio stores what is ready and calls it. No thread sleeps inside Asio, since every sleep goes through the host seam
// (executor.cpp). A strand is posted at most once at a time, and Asio's record of the posting is a part of the strand:
// so posting needs no memory and can't fail.
#pragma once

#include <memory>

#include "executor/task.h"

namespace gpo {

class RunQueue {
public:
    /// Throws std::bad_alloc.
    RunQueue();
    /// What was posted and not polled is let go, not run.
    ~RunQueue();

    /// The strand, which is not posted, will be run by whoever polls.
    void post(Ref<Strand> strand) noexcept;
    /// Runs (Executor::run) the strand that was posted first. False if there was none.
    bool poll_one() noexcept;
    /// Somebody is about to do one of these: their lines of memory are another core's, and come one by one if they
    /// aren't asked for together.
    void fetch_ahead() const noexcept {
        for (size_t at = 0; at < scheduler_bytes_; at += 64) __builtin_prefetch(scheduler_ + at, 1);
    }

private:
    struct Context;
    const std::unique_ptr<Context> context_;
    const char* const scheduler_;  // what Asio has of the context
    const size_t scheduler_bytes_;
};

}  // namespace gpo
