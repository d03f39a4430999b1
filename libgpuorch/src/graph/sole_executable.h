// Some graphs of the driver can have only one executable at a time: graphs with conditional or memory nodes.
#pragma once

#include <cuda.h>

#include <atomic>

#include "host/host.h"

namespace gpo {

/// Says who has the only executable of the driver's graph. Any thread.
class SoleExecutable {
public:
    /// True for the first caller, and again after give_back().
    bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }
    void give_back() noexcept { claimed_.store(false, std::memory_order_release); }
    /// Leaves the claimed executable to be destroyed. The caller that takes it gets the claim too.
    void leave(CUgraphExec executable) noexcept { left_.store(executable, std::memory_order_release); }
    CUgraphExec take_left() noexcept { return left_.exchange(nullptr, std::memory_order_acq_rel); }
    /// Held while the executable is destroyed, until it is given back.
    host::Mutex& ending() noexcept { return ending_; }

private:
    std::atomic<CUgraphExec> left_{nullptr};
    std::atomic<bool> claimed_{false};
    host::Mutex ending_;
};

}  // namespace gpo
