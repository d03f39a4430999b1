// Host allocations that fail on request: operator new, and malloc where no sanitizer replaces it, of the whole program.
// They fail either on the thread that called arm(), inside calls of the library, or on threads that the library has
// started. The program is linked with --wrap=pthread_create, in order to identify those threads.
#pragma once

#include <cstdint>
#include <string>

namespace gpo::test::allocations {

/// From now on, on this thread: the k-th allocation (from 1) inside the library fails, once, or with all after it.
void arm(uint64_t kth, bool for_ever) noexcept;

/// From now on, on this thread, no allocation fails, and each is noted (places.h). disarm() ends it.
void watch() noexcept;

/// Ends the failures; returns the number of allocations since arm().
uint64_t disarm() noexcept;

/// How many have failed since arm().
uint64_t failed() noexcept;

// The same for all threads of the library together: the k-th allocation fails, and all allocations in the next
// `spell_ns` nanoseconds of real time. This time is limited, because the library retries some steps until memory is
// available. Which allocation is the k-th differs from run to run.
void arm_threads(uint64_t kth, uint64_t spell_ns) noexcept;
uint64_t disarm_threads() noexcept;
uint64_t failed_on_threads() noexcept;

/// The thread and the stack of the first allocation that failed there since arm_threads(); "" if none has.
std::string where_on_threads();

}  // namespace gpo::test::allocations
