#include "core/errands.h"

#include <algorithm>

namespace gpo {

void Errands::start() {
    host::Lock lock(lock_);
    if (running_) return;
    thread_ = host::Thread("gpo-errands", [this] { run(); });
    running_ = true;
}

void Errands::post(Errand& errand, uint64_t due) noexcept {
    {
        host::Lock lock(lock_);
        if (running_) {
            errand.due_ = due;
            if (due) {
                errand.next_ = std::exchange(later_, &errand);
            } else {
                errand.next_ = nullptr;
                (first_ ? last_->next_ : first_) = &errand;
                last_ = &errand;
            }
            changed_.notify_one();
            return;
        }
    }
    errand.run();
}

// Under lock_.
Errand* Errands::take(uint64_t now) noexcept {
    if (Errand* errand = first_) {
        first_ = errand->next_;
        return errand;
    }
    for (Errand** at = &later_; *at; at = &(*at)->next_)
        if ((*at)->due_ <= now || finishing_) return std::exchange(*at, (*at)->next_);
    return nullptr;
}

void Errands::run() noexcept {
    host::Lock lock(lock_);
    for (;;) {
        if (Errand* errand = take(later_ ? host::now() : 0)) {
            lock.unlock();
            errand->run();
            lock.lock();
            continue;
        }
        if (finishing_) return;
        uint64_t next = host::kForever;
        for (const Errand* errand = later_; errand; errand = errand->next_) next = std::min(next, errand->due_);
        changed_.wait(lock, next);
    }
}

void Errands::finish() noexcept {
    {
        host::Lock lock(lock_);
        if (!running_) return;
        finishing_ = true;
        changed_.notify_one();
    }
    thread_.join();
    // What came while the thread ended.
    host::Lock lock(lock_);
    while (Errand* errand = take(0)) {
        lock.unlock();
        errand->run();
        lock.lock();
    }
    finishing_ = running_ = false;
}

}  // namespace gpo
