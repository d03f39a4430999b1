#include "host/owned_mutex.h"

namespace gpo::host {

namespace {

constexpr unsigned kSpins = 64;  // as a rule the owner leaves soon

}  // namespace

// True: the owner has left. False: the deadline passed first.
bool OwnedMutex::wait_for_owner(uint64_t deadline) noexcept {
    for (unsigned spins = 0; inside_.load(std::memory_order_acquire); ++spins) {
        if (spins < kSpins)
            step(spins);
        else if (!wait(inside_, 1, deadline))
            return inside_.load(std::memory_order_acquire) == 0;
    }
    return true;
}

// A visitor that gives up takes its announcement back. The owner is inside without the mutex, and only a visitor that
// announces itself looks for the owner.
bool OwnedMutex::lock_until(uint64_t deadline) noexcept {
    if (!mutex_.lock_until(deadline)) return false;
    const uint32_t patience = patience_;
    if (!count_visit()) return true;
    heavy_fence();
    if (wait_for_owner(deadline)) return true;
    patience_ = patience;  // only visits make the owner more patient
    visited_.store(0, std::memory_order_release);
    mutex_.unlock();
    return false;
}

}  // namespace gpo::host
