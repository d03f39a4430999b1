#include "core/errands.h"

namespace gpo {

void Errands::enqueue(std::function<void()> errand) {
    host::Lock lock(lock_);
    if (!running_) {
        thread_ = host::Thread("gpo-errands", [this] { run(); });
        running_ = true;
    }
    due_.push_back(std::move(errand));
    changed_.notify_one();
}

void Errands::run() noexcept {
    host::Lock lock(lock_);
    for (;;) {
        while (due_.empty()) {
            if (finishing_) return;
            changed_.wait(lock);
        }
        auto errand = std::move(due_.front());
        due_.pop_front();
        lock.unlock();
        errand();
        errand = nullptr;
        lock.lock();
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
    host::Lock lock(lock_);
    finishing_ = running_ = false;
}

}  // namespace gpo
