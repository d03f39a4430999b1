// Cycles of held streams: each stream waits for work held on the next, and the last for work held on the first. Only
// the owner of a handle can end a cycle: by cancelling a stream, or by signalling or failing a timeline. If no such
// handle is left, the cycle is *unbreakable*, and its streams fail.
#pragma once

#include <string>

#include "core/runtime.h"

namespace gpo {

/// Fails the streams of every unbreakable cycle, with an error that names the cycle. Under no lock, on a thread that
/// may take submit locks. False if memory was short, streams kept changing, or a submit lock wasn't free: the caller
/// has to call again.
bool fail_unbreakable_cycles(Runtime& runtime) noexcept;

/// A description of one cycle, breakable or not: "stream `a` waits for timeline `t` to reach 5, whose signal is held on
/// the same stream, behind the wait". "" if there is no cycle, or no memory for the text. Streams whose submit locks
/// aren't free by the deadline count as going on.
std::string describe_cycle(Runtime& runtime, uint64_t deadline) noexcept;

}  // namespace gpo
