// The run queue of an executor's threads: an Asio io_context, to which strands are posted when they become ready.
//
// Asio only stores ready strands and calls them. No thread sleeps inside Asio: threads sleep through host/host.h
// (executor.cpp). A strand is posted at most once at a time, and contains the memory for Asio's record of the posting.
// Posting therefore allocates nothing and can't fail.
#pragma once

#include <memory>

#include "executor/task.h"

namespace gpo {

class RunQueue {
public:
    /// Throws std::bad_alloc.
    RunQueue();
    /// Releases strands that are still posted, without running them.
    ~RunQueue();

    /// Posts a strand that is not posted: a polling thread will run it.
    void post(Ref<Strand> strand) noexcept;
    /// Runs (Executor::run) the strand that was posted first. False if there was none.
    bool poll_one() noexcept;
    /// Prefetches the memory that post() and poll_one() use. Another core's cache usually has these lines: the prefetch
    /// requests them all at once, instead of one after the other.
    void fetch_ahead() const noexcept {
        for (size_t at = 0; at < scheduler_bytes_; at += 64) __builtin_prefetch(scheduler_ + at, 1);
    }

private:
    struct Context;
    const std::unique_ptr<Context> context_;
    const char* const scheduler_;  // Asio's state of the context
    const size_t scheduler_bytes_;
};

}  // namespace gpo
