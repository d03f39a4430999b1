// The deterministic scheduler: the second implementation of the host seam.
//
// While a Schedule exists, every thread of the library, and the thread that made the Schedule, is an *actor*. Exactly
// one actor runs at a time. At each step (host.h) a generator seeded with `seed` picks the next one. Waits, sleeps and
// deadlines use the virtual clock. A run with the same seed, the same program and the same library takes the same
// steps; `trace_hash()` at the end proves it.
//
// Deadlock. When no actor can run and no deadline is pending, the run is deadlocked. The scheduler prints every actor's
// name and wait to stderr, and makes all waits return, so that the program can end. A mutex may then have two owners at
// once: the run has failed anyway. If the program still doesn't end, the scheduler calls abort().
//
// Polling. The clock also moves when all actors that can run only poll (host::step in a loop): at first by 1 us, then
// by twice as much each time.
//
// Stalls. With a quarter of the seeds an actor now and then *stalls* for 1 us to 8 ms, like a thread that the system
// gives no processor. The other actors run, and deadlines in that time pass, before the stalled actor's next step.
//
// Rules. An actor must block only through host.h: otherwise no other actor can run. Hence use host::Thread in a
// Schedule, not std::thread::join. Threads that were started in a Schedule must be joined before it ends. Otherwise
// their waits return early, and they continue in real time.
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
    /// Any actor may destroy the Schedule. All other actors continue in real time.
    ~Schedule();
    Schedule(const Schedule&) = delete;
    Schedule& operator=(const Schedule&) = delete;

    /// Hash over all choices so far: equal for equal runs.
    uint64_t trace_hash() const noexcept;
    uint64_t steps() const noexcept;
    bool deadlocked() const noexcept;

    static bool active() noexcept;
    /// Whether the calling thread made the schedule.
    bool made_here() const noexcept;

    struct Run;

private:
    std::unique_ptr<Run> run_;
};

/// Makes a thread that the library didn't start an actor, until this object is destroyed. Without a Schedule it does
/// nothing. Other threads of the user are thus actors only while they are inside calls into the library.
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

// What the functions of host.h call when detail::scheduled() is true. For threads that aren't actors, these functions
// behave like the machine's own.
namespace detail {

uint64_t scheduled_now() noexcept;
bool scheduled_wait(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline,
                    const char* purpose = "a wait word") noexcept;
void scheduled_wake(const std::atomic<uint32_t>& word, bool all) noexcept;
void scheduled_poll(unsigned spins) noexcept;

/// Waits until `ended` is not zero.
void scheduled_join(const std::atomic<uint32_t>& ended) noexcept;

/// True once the run was found deadlocked: a waiter for a mutex then enters without it, so that the run can end.
bool given_up() noexcept;

/// The actor of a new thread. actor_create returns NULL if the calling thread isn't an actor. The new thread calls
/// actor_begin and actor_end, which sets `ended` and wakes the joiners. If no thread could be started, the creator
/// calls actor_discard.
Actor* actor_create(const char* name);
void actor_begin(Actor* actor) noexcept;
void actor_end(Actor* actor, std::atomic<uint32_t>& ended) noexcept;
void actor_discard(Actor* actor) noexcept;

/// Threads of the library that have been started and have not ended.
uint32_t running_threads() noexcept;

}  // namespace detail

}  // namespace gpo::host
