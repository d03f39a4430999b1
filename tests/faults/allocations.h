// Host memory that runs out on request: operator new, and malloc where no sanitizer has it, of the whole program. They
// fail for the thread that has asked for it, and only inside calls of the library; or for the threads that the library
// has started (the program is linked with --wrap=pthread_create, which tells them from the tests').
#pragma once

#include <cstdint>
#include <string>

namespace gpo::test::allocations {

/// From now on, on this thread: the k-th allocation (from 1) inside the library fails, once, or with all after it.
void arm(uint64_t kth, bool for_ever) noexcept;

/// No more; returns how many allocations there were since arm().
uint64_t disarm() noexcept;

/// How many have failed since arm().
uint64_t failed() noexcept;

// The same of all threads that the library has started, together: the k-th allocation, and all of the next `spell_ns`
// real nanoseconds. What the library tries again until there is memory would never end if there never were. Which
// allocation is the k-th differs from run to run.
void arm_threads(uint64_t kth, uint64_t spell_ns) noexcept;
uint64_t disarm_threads() noexcept;
uint64_t failed_on_threads() noexcept;

/// The thread and the stack of the first that has failed on one of them since arm_threads(); "" if none has.
std::string where_on_threads();

}  // namespace gpo::test::allocations
