// The deterministic scheduler: the second implementation of the host seam.
//
// While a Schedule is in force every thread of the library, and the thread that made it, is an *actor*: exactly one
// runs at a time, and at each step of host.h a generator seeded with `seed` picks which one runs next. Waits, sleeps and
// deadlines use the virtual clock. A run with the same seed, the same program and the same library takes the same
// steps; `trace_hash()` at the end proves it. When no actor can run and no deadline is pending, the run is deadlocked:
// the scheduler says so on stderr with every actor's name and what it waits for, and makes all waits return.
#pragma once

#include <cstdint>

namespace gpo::host {

class Schedule {
public:
    /// Takes over the host seam for the whole process. Throws std::logic_error if a Schedule is in force already or
    /// threads of the library are running. The calling thread becomes the first actor.
    explicit Schedule(uint64_t seed);
    ~Schedule();
    Schedule(const Schedule&) = delete;
    Schedule& operator=(const Schedule&) = delete;

    /// Hash over all choices so far: equal for equal runs.
    uint64_t trace_hash() const noexcept;
    uint64_t steps() const noexcept;
    bool deadlocked() const noexcept;

    static bool active() noexcept;
};

/// Makes the calling foreign thread an actor while a Schedule is in force, for the life of this object; otherwise
/// nothing. A user's own second thread is one only while it is inside a call of ours.
class ActorScope {
public:
    explicit ActorScope(const char* name);
    ~ActorScope();
    ActorScope(const ActorScope&) = delete;
    ActorScope& operator=(const ActorScope&) = delete;

private:
    bool entered_ = false;
};

}  // namespace gpo::host
