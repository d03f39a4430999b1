#include "host/owned_mutex.h"

#include <algorithm>

namespace gpo::host {

namespace {

constexpr unsigned kSpins = 64;  // the owner doesn't stay for long as a rule

}  // namespace

void OwnedMutex::wait_for_owner() noexcept {
    visited_.store(1, std::memory_order_relaxed);
    heavy_fence();
    for (unsigned spins = 0; inside_.load(std::memory_order_acquire); ++spins) {
        if (spins < kSpins)
            step(spins);
        else
            wait(inside_, 1);
    }
    patience_ = std::min(2 * patience_, kMostPatience);
}

}  // namespace gpo::host
