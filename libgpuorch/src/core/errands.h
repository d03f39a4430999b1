// A thread for what must not run where it becomes due: driver calls that serialise, and submit locks, which the scanner
// may not take. Started with the first errand, joined at shutdown.
#pragma once

#include <deque>
#include <functional>

#include "host/host.h"

namespace gpo {

class Errands {
public:
    ~Errands() { finish(); }
    /// Runs `errand` on the errands' thread, in order. Errands don't throw. Without memory or a thread it runs here.
    template <class Errand>
    void post(Errand errand) noexcept {
        try {
            enqueue(errand);
        } catch (...) {
            errand();
        }
    }
    /// Runs what is left and ends the thread.
    void finish() noexcept;

private:
    void enqueue(std::function<void()> errand);  // throws, and has then kept nothing
    void run() noexcept;
    host::Mutex lock_;
    host::Condition changed_;
    std::deque<std::function<void()>> due_;  // under lock_
    bool finishing_ = false, running_ = false;
    host::Thread thread_;
};

}  // namespace gpo
