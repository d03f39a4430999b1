#include "host/owned_mutex.h"

namespace gpo::host {

namespace {

constexpr unsigned kSpins = 64;  // as a rule the owner leaves soon

}  // namespace

void OwnedMutex::wait_for_owner() noexcept {
    for (unsigned spins = 0; inside_.load(std::memory_order_acquire); ++spins) {
        if (spins < kSpins)
            step(spins);
        else
            wait(inside_, 1);
    }
}

}  // namespace gpo::host
