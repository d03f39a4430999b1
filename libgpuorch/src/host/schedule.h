// The deterministic scheduler: the second implementation of the host seam.
//
// While a Schedule is in force every thread of the library, and the thread that made it, is an *actor*: exactly one
// runs at a time, and at each step of host.h a generator seeded with `seed` picks which one runs next. Waits, sleeps
// and deadlines use the virtual clock. A run with the same seed, the same program and the same library takes the same
// steps; `trace_hash()` at the end proves it. When no actor can run and no deadline is pending, the run is deadlocked:
// the scheduler says so on stderr with every actor's name and what it waits for, and makes all waits return. A lock
// that is waited for is then given away twice: the run has failed, and is only to come to its end. If it doesn't, abort().
//
// The clock also moves when all that can run only poll (host::step in a loop), at first by 1 us, twice that each time.
// Under a quarter of the seeds an actor now and then *stalls*, for 1 us to 8 ms, as a thread that the system gives no processor:
// what the others do until nothing is left to be done without it, and the deadlines of that time, come before its next step.
//
// A thread that blocks other than through host.h keeps its turn and stops everybody: don't std::thread::join in a
// Schedule, use host::Thread. Threads started in a Schedule are joined before its end; one that still lives then
// returns early from its wait and goes on in real time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "host/host.h"

namespace gpo::host {

namespace detail {
struct Actor;
}

class Schedule {
public:
    /// Takes over the host seam for the whole process. Throws std::logic_error if a Schedule is in force already or
    /// threads of the library are running. The calling thread becomes the first actor.
    explicit Schedule(uint64_t seed);
    /// By any of its actors: the others, the maker's among them, go on in real time.
    ~Schedule();
    Schedule(const Schedule&) = delete;
    Schedule& operator=(const Schedule&) = delete;

    /// Hash over all choices so far: equal for equal runs.
    uint64_t trace_hash() const noexcept;
    uint64_t steps() const noexcept;
    bool deadlocked() const noexcept;

    static bool active() noexcept;
    /// Whether the calling thread is the one that made it.
    bool made_here() const noexcept;

    struct Run;

private:
    std::unique_ptr<Run> run_;
};

/// Makes the calling foreign thread an actor while a Schedule is in force, for the life of this object; otherwise
/// nothing. A user's own second thread is one only while it is inside a call of ours.
class ActorScope {
public:
    explicit ActorScope(const char* name) {
        if (detail::scheduled()) [[unlikely]] enter(name);
    }
    ~ActorScope() {
        if (actor_) [[unlikely]] leave();
    }
    ActorScope(const ActorScope&) = delete;
    ActorScope& operator=(const ActorScope&) = delete;

private:
    void enter(const char* name);
    void leave() noexcept;
    detail::Actor* actor_ = nullptr;
};

// What the rest of this folder calls when detail::scheduled() is true. A thread that is no actor gets the machine's own
// behaviour from each.
namespace detail {

uint64_t scheduled_now() noexcept;
bool scheduled_wait(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline,
                    const char* purpose = "a wait word") noexcept;
void scheduled_wake(const std::atomic<uint32_t>& word, bool all) noexcept;
void scheduled_poll(unsigned spins) noexcept;

/// Waits until `ended` is not zero.
void scheduled_join(const std::atomic<uint32_t>& ended) noexcept;

/// True once the run was found deadlocked: locks are then given to whoever asks, so that the run can come to its end.
bool given_up() noexcept;

/// The thread that is about to be started: created by its starter (NULL when that is no actor itself), begun and ended
/// on the thread, discarded by the starter when there is no thread after all. The end sets `ended` and wakes
/// its joiners.
Actor* actor_create(const char* name);
void actor_begin(Actor* actor) noexcept;
void actor_end(Actor* actor, std::atomic<uint32_t>& ended) noexcept;
void actor_discard(Actor* actor) noexcept;

/// Threads of the library that have been started and have not ended.
uint32_t running_threads() noexcept;

}  // namespace detail

}  // namespace gpo::host
