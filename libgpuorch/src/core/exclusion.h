// Two kinds of work that exclude each other. Any number of threads may do the same kind at once.
#pragma once

#include <cstdint>

#include "host/host.h"

namespace gpo {

/// One kind of work is called *short*, because it is frequent or brief. The other is called *long*.
class Exclusion {
public:
    /// Begins short work. Waits while any thread does long work; after the deadline it begins all the same.
    void begin_short(uint64_t deadline) noexcept {
        host::Lock lock(lock_);
        ended_.wait(lock, deadline, [this] { return long_ == 0; });
        ++short_;
    }
    void end_short() noexcept { end(short_); }
    /// Begins long work. Waits while any thread does short work.
    void begin_long() noexcept {
        host::Lock lock(lock_);
        ended_.wait(lock, host::kForever, [this] { return short_ == 0; });
        ++long_;
    }
    void end_long() noexcept { end(long_); }

private:
    void end(uint32_t& count) noexcept {
        host::Lock lock(lock_);
        if (--count == 0) ended_.notify_all();
    }
    host::Mutex lock_;   // a leaf
    host::Condition ended_;
    uint32_t short_ = 0, long_ = 0;   // threads inside
};

}  // namespace gpo
