// The real clock and the real wait words: thin calls of Linux, with no look at the deterministic scheduler. Only the
// host folder includes this file.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpo::host::machine {

/// CLOCK_MONOTONIC in nanoseconds.
uint64_t now() noexcept;

/// futex wait and wake, private to the process. False when the deadline (of CLOCK_MONOTONIC) has passed.
bool wait(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline) noexcept;
void wake(const std::atomic<uint32_t>& word, int count) noexcept;

/// One turn of a loop that polls: the first turns relax the core, later ones yield it.
void relax(unsigned spins) noexcept;

}  // namespace gpo::host::machine
