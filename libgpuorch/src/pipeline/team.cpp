// Pieces are taken from a common counter. A helper that comes when the counter has run out goes back to sleep.
#include "pipeline/team.h"

#include <algorithm>
#include <exception>

namespace gpo::pipeline {

unsigned team_helpers() noexcept {
    // Source and sink have a team each; a team's caller works too.
    const unsigned each = host::processors() / 2;
    return std::min(each > 0 ? each - 1 : 0, 3u);
}

Team::~Team() { stop(); }

void Team::start() noexcept {
    started_ = true;
    try {
        threads_.reserve(helpers_);
        for (unsigned i = 0; i < helpers_; ++i) threads_.emplace_back(name_.c_str(), [this] { help(); });
    } catch (const std::exception&) {
        return;  // fewer do the work
    }
}

void Team::stop() noexcept {
    {
        host::Lock lock(lock_);
        stopping_ = true;
        called_.notify_all();
    }
    threads_.clear();
}

void Team::work(const Part& part) noexcept {
    for (;;) {
        const uint64_t offset = next_.fetch_add(kPart, std::memory_order_relaxed);
        if (offset >= bytes_) return;
        part(offset, std::min(kPart, bytes_ - offset));
    }
}

void Team::run(uint64_t bytes, const Part& part) noexcept {
    if (helpers_ == 0 || bytes < 2 * kPart) {
        if (bytes != 0) part(0, bytes);
        return;
    }
    if (!started_) start();
    {
        host::Lock lock(lock_);
        bytes_ = bytes;
        next_.store(0, std::memory_order_relaxed);
        job_ = &part;
        called_.notify_all();
    }
    work(part);
    host::Lock lock(lock_);
    job_ = nullptr;
    left_.wait(lock, host::kForever, [this] { return inside_ == 0; });
}

void Team::help() noexcept {
    host::Lock lock(lock_);
    for (;;) {
        called_.wait(lock, host::kForever, [this] {
            return stopping_ || (job_ != nullptr && next_.load(std::memory_order_relaxed) < bytes_);
        });
        if (stopping_) return;
        const Part& part = *job_;
        ++inside_;
        lock.unlock();
        work(part);
        lock.lock();
        if (--inside_ == 0) left_.notify_one();
    }
}

}  // namespace gpo::pipeline
