// Streams that hold each other up: each is held for something that is to come of work held on the next, and the last
// for work held on the first. Nothing but a handle's owner can end that: who cancels one of the streams, or signals or
// fails one of the timelines. Where all those handles are gone the cycle is *unbreakable*, and its streams are failed.
#pragma once

#include <string>

#include "core/runtime.h"

namespace gpo {

/// Fails the streams of every unbreakable cycle, with an error that names it. Under no lock, on a thread that may take
/// submit locks. False if there was no memory to find out, or streams changed all the time: to be called again.
bool fail_unbreakable_cycles(Runtime& runtime) noexcept;

/// "stream `a` waits for timeline `t` to reach 5, whose signal is held on the same stream, behind the wait", of one
/// cycle that there is, breakable or not; "" if there is none, or no memory to say so.
std::string describe_cycle(Runtime& runtime) noexcept;

}  // namespace gpo
