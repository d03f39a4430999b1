// The real clock and the real wait words, as thin calls of Linux without the deterministic scheduler; and what a fork
// changes. Only files in host/ include this header.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpo::host::machine {

/// CLOCK_MONOTONIC in nanoseconds.
uint64_t now() noexcept;

/// futex wait and wake, private to the process. False when the deadline (of CLOCK_MONOTONIC) has passed.
bool wait(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline) noexcept;
void wake(const std::atomic<uint32_t>& word, int count) noexcept;
/// Waits as wait() does, for a thread that has to wake fast (Sleep::light).
bool wait_lightly(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline) noexcept;

/// Ends a turn of a polling loop: the first turns relax the core, later ones yield it.
void relax(unsigned spins) noexcept;

}  // namespace gpo::host::machine

namespace gpo::host::detail {

/// Number of forks between the first process that used the library and this process.
uint32_t forks() noexcept;

/// In a forked child: sets running_threads() to 0.
void forget_running_threads() noexcept;

}  // namespace gpo::host::detail
