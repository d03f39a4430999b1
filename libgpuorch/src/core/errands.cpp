#include "core/errands.h"

#include <algorithm>

#include "core/deferred.h"

namespace gpo {

namespace {

// End of the list of a thread that runs errands itself because the errands' thread has ended. An errand posted by a
// running errand waits until that returns: retries for lack of memory could otherwise use up the stack.
thread_local Errand** t_posted_here = nullptr;

}  // namespace

void Errands::start(const char* name) {
    host::Lock lock(lock_);
    if (running_) return;
    thread_ = host::Thread(name, [this] { run(); });
    running_ = true;
}

// Under lock_. False if there is no thread.
bool Errands::add(Errand& errand, uint64_t due) noexcept {
    if (!running_) return false;
    errand.due_ = due;
    errand.posted_ = true;
    if (due) {
        errand.next_ = std::exchange(later_, &errand);
    } else {
        errand.next_ = nullptr;
        (first_ ? last_->next_ : first_) = &errand;
        last_ = &errand;
    }
    changed_.notify_one();
    return true;
}

void Errands::post(Errand& errand, uint64_t due) noexcept {
    {
        host::Lock lock(lock_);
        if (add(errand, due)) return;
    }
    run_here(errand, due);
}

bool Errands::advance(Errand& errand, uint64_t due) noexcept {
    {
        host::Lock lock(lock_);
        if (errand.posted_) {
            if (errand.due_ <= due) return false;
            Errand** at = &later_;
            while (*at != &errand) at = &(*at)->next_;
            *at = errand.next_;
            add(errand, due);
            return false;
        }
        if (add(errand, due)) return true;
    }
    run_here(errand, due);
    return true;
}

void Errands::run_here(Errand& errand, uint64_t due) noexcept {
    errand.due_ = due;
    errand.next_ = nullptr;
    if (t_posted_here) {
        *std::exchange(t_posted_here, &errand.next_) = &errand;
        return;
    }
    const ServesDeferred serves;
    for (Errand* next = &errand; next;) {
        if (next->due_) host::sleep_until(next->due_);
        Errand* posted = next->next_;
        Errand** end = &posted;
        while (*end) end = &(*end)->next_;
        t_posted_here = end;
        next->run();
        next = posted;
    }
    t_posted_here = nullptr;
}

// Under lock_.
Errand* Errands::take(uint64_t now) noexcept {
    Errand** at = &first_;
    if (!first_)
        for (at = &later_; *at && (*at)->due_ > now && !finishing_;) at = &(*at)->next_;
    Errand* errand = *at;
    if (errand) {
        *at = errand->next_;
        errand->posted_ = false;
    }
    return errand;
}

void Errands::run() noexcept {
    const ServesDeferred serves;
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
    // Errands posted while the thread ended.
    host::Lock lock(lock_);
    while (Errand* errand = take(0)) {
        lock.unlock();
        errand->run();
        lock.lock();
    }
    finishing_ = running_ = false;
}

}  // namespace gpo
