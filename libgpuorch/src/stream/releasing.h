// Counts the threads that release held streams. Calls that promise released streams wait for the other threads.
#pragma once

#include "core/runtime.h"

namespace gpo {

/// A scope in which the calling thread may release streams, or has taken over a stream to release. Begins before other
/// threads can see the release. A stream made ready by this thread's call may be issued by another thread, and only
/// that thread knows which streams follow. Hence a call that promises released streams on return waits for the other
/// threads.
class Releasing {
public:
    explicit Releasing(Runtime& runtime) noexcept;
    ~Releasing();
    Releasing(const Releasing&) = delete;
    Releasing& operator=(const Releasing&) = delete;
    /// Waits for all threads that release streams now. Called at the end of a call. Doesn't wait if the calling thread
    /// releases streams itself, or is in a host node.
    static void wait_for_others(Runtime& runtime) noexcept;
    static bool here() noexcept;

private:
    const Deferred::Entry entry_;
};

}  // namespace gpo
