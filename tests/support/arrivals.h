// Counts what comes on other threads, for tests that wait for it: no sleeping, no asking again and again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace gpo::test {

class Arrivals {
public:
    Arrivals& operator++() {
        // Under the lock, because the waiter of the last arrival may destroy this object.
        const std::lock_guard lock(lock_);
        ++count_;
        changed_.notify_all();
        return *this;
    }
    operator int() const {
        const std::lock_guard lock(lock_);
        return count_;
    }
    /// Waits until there are so many, half a minute at most. False if there are fewer, or more.
    bool reach(int count) const {
        std::unique_lock lock(lock_);
        changed_.wait_for(lock, std::chrono::seconds(30), [&] { return count_ >= count; });
        return count_ == count;
    }

private:
    mutable std::mutex lock_;
    mutable std::condition_variable changed_;
    int count_ = 0;
};

}  // namespace gpo::test
