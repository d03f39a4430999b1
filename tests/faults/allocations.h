// Host memory that runs out on request: operator new, and malloc where no sanitizer has it, of the whole program, fail for
// the thread that has asked for it, and only inside calls of the library.
#pragma once

#include <cstdint>

namespace gpo::test::allocations {

/// From now on, on this thread: the k-th allocation (from 1) inside the library fails, once, or with all after it.
void arm(uint64_t kth, bool for_ever) noexcept;

/// No more; returns how many allocations there were since arm().
uint64_t disarm() noexcept;

/// How many have failed since arm().
uint64_t failed() noexcept;

}  // namespace gpo::test::allocations
