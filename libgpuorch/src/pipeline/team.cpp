// Threads take pieces from a block's counter. A helper that finds no piece left in any block goes back to sleep.
#include "pipeline/team.h"

#include <algorithm>
#include <exception>

namespace gpo::pipeline {

unsigned team_helpers() noexcept {
    // Source and sink have a team each; a team's caller works too. On a host with an H200 six threads read files in the
    // page cache at 32 GB/s, and a pipeline keeps up with them. Eight read at 38 GB/s, and the pipeline gains little.
    const unsigned each = host::processors() / 2;
    return std::min(each > 0 ? each - 1 : 0, 5u);
}

Team::~Team() { stop(); }

// Waits until all helpers run. At its first use of a thread-local variable of a library opened by dlopen, a thread maps
// memory, and this mapping waits for a thread that populates pages. Helpers that started while pinned memory was being
// populated stood still until the end.
void Team::start() noexcept {
    started_ = true;
    try {
        threads_.reserve(helpers_);
        for (unsigned i = 0; i < helpers_; ++i) threads_.emplace_back(name_.c_str(), [this] { help(); });
    } catch (const std::exception&) {
        // Fewer threads do the work.
    }
    host::Lock lock(lock_);
    left_.wait(lock, host::kForever, [&] { return arrived_ == threads_.size(); });
}

void Team::stop() noexcept {
    {
        host::Lock lock(lock_);
        stopping_ = true;
        called_.notify_all();
    }
    threads_.clear();
}

bool Team::move_piece(Job& job) noexcept {
    const uint64_t offset = job.next_.fetch_add(job.piece_, std::memory_order_relaxed);
    if (offset >= job.bytes_) return false;
    job.move(offset, std::min(job.piece_, job.bytes_ - offset));
    return true;
}

Team::Job* Team::job_with_pieces() const noexcept {
    Job* job = first_;
    while (job && !job->has_pieces()) job = job->behind_;
    return job;
}

void Team::begin(Job& job, uint64_t bytes, uint64_t piece) noexcept {
    job.bytes_ = bytes;
    job.piece_ = piece;
    job.next_.store(0, std::memory_order_relaxed);
    job.behind_ = nullptr;
    // A block of few pieces is not worth waking a thread: its caller moves it.
    const bool shared = helpers_ != 0 && bytes >= 4 * piece;
    if (shared && !started_) start();
    host::Lock lock(lock_);
    Job** last = &first_;
    while (*last) last = &(*last)->behind_;
    *last = &job;
    if (shared) called_.notify_all();
}

void Team::finish(Job& job) noexcept {
    while (move_piece(job)) {}
    // While helpers move the last pieces, help with a job behind.
    for (;;) {
        Job* other;
        {
            host::Lock lock(lock_);
            if (job.inside_ == 0 || !(other = job_with_pieces())) break;
        }
        move_piece(*other);
    }
    wait_and_forget(job);
}

void Team::abandon(Job& job) noexcept {
    job.next_.store(job.bytes_, std::memory_order_relaxed);
    wait_and_forget(job);
}

void Team::wait_and_forget(Job& job) noexcept {
    host::Lock lock(lock_);
    left_.wait(lock, host::kForever, [&] { return job.inside_ == 0; });
    for (Job** at = &first_; *at; at = &(*at)->behind_) {
        if (*at != &job) continue;
        *at = job.behind_;
        return;
    }
}

void Team::help() noexcept {
    host::Lock lock(lock_);
    ++arrived_;
    left_.notify_all();
    for (;;) {
        Job* job = nullptr;
        called_.wait(lock, host::kForever, [&] { return stopping_ || (job = job_with_pieces()); });
        if (stopping_) return;
        ++job->inside_;
        lock.unlock();
        while (move_piece(*job)) {}
        lock.lock();
        if (--job->inside_ == 0) left_.notify_all();   // callers of several jobs wait there
    }
}

}  // namespace gpo::pipeline
