// Threads that release held streams, so that a call which promises that streams are released can wait for the others.
#pragma once

#include "core/runtime.h"

namespace gpo {

/// The calling thread may release streams, or has taken a stream over from another thread to do so: from before others
/// can see that, until it is done. A stream that one thread's call makes ready may be issued by another thread, which
/// was there first, and only that thread knows which streams come next. So whoever promises that streams are released
/// when a call returns waits for the others.
class Releasing {
public:
    explicit Releasing(Runtime& runtime) noexcept;
    ~Releasing();
    Releasing(const Releasing&) = delete;
    Releasing& operator=(const Releasing&) = delete;
    /// Waits for all who release streams by now. At the end of a call: one that is made while the thread releases
    /// streams itself, or in a host node, doesn't wait.
    static void wait_for_others(Runtime& runtime) noexcept;
    static bool here() noexcept;

private:
    const Deferred::Entry entry_;
};

}  // namespace gpo
