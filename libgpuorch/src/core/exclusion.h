// Two kinds of work that exclude each other: any number of threads do one kind at a time.
#pragma once

#include <cstdint>

#include "host/host.h"

namespace gpo {

/// The frequent or brief kind of work is *short* here, the other kind is *long*.
class Exclusion {
public:
    /// Waits while any thread does the long kind, but not beyond the deadline.
    void begin_short(uint64_t deadline) noexcept {
        host::Lock lock(lock_);
        ended_.wait(lock, deadline, [this] { return long_ == 0; });
        ++short_;
    }
    void end_short() noexcept { end(short_); }
    /// Waits while any thread does the short kind.
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
