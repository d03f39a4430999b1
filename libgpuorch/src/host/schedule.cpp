// The deterministic scheduler. Actors are real threads. Only the actor that has the *turn* runs; each of the others
// sleeps on a wait word of its own. At a step the running actor itself draws which actor is next and gives it the turn:
// there is no scheduler thread.
//
// Time. The virtual clock stands still while an actor can run. An actor that only polls (host::step) could run without
// end or progress: after kPatience polls since anything last happened, an actor counts as idle. When all actors that
// can run are idle, the clock moves by one microsecond, then by two, four and so on, until something happens again. No
// step goes past the next deadline.
//
// Threads. Everything in Run is used by the actor that has the turn, and by outsiders (threads that are no actors but
// may wake actors and become actors). Hence `lock` guards it.
#include "host/schedule.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "host/host.h"
#include "host/linux.h"

namespace gpo::host {

namespace detail {

struct Actor {
    char name[32]{};
    uint32_t number = 0;                           // in order of creation; goes into the hash
    bool ready = true;                             // false while it waits
    bool in_time = true;                           // what its wait returns: false after the deadline
    bool released = false;                         // the schedule has ended: the thread is no actor any more
    bool of_maker = false;  // of the thread that made the schedule; other threads delete their own actor
    unsigned polls = 0;                            // since anything last happened
    const std::atomic<uint32_t>* word = nullptr;   // waited for
    uint64_t deadline = kForever;                  // of the wait
    uint64_t stalled_until = 0;                    // a ready actor doesn't run before this time
    const char* purpose = "";                      // what it waits for, for the report of a deadlock
    std::atomic<uint32_t> turn{0};                 // 1: it may run
};

}  // namespace detail

namespace {

using detail::Actor;

constexpr uint64_t kClockStart = 1'000'000'000;   // not 0, because code may use 0 for "never"
constexpr unsigned kPatience = 16;
constexpr uint64_t kFirstQuantum = 1'000;         // ns
constexpr uint64_t kShortestStall = 1'000, kStallLengths = 14;   // ns; each doubles the previous
constexpr uint64_t kLastQuantum = uint64_t{1} << 40;   // ns
constexpr uint64_t kClockEnd = uint64_t{1} << 62;      // polling alone doesn't move the clock past it
constexpr uint64_t kIdleTurns = 1'000;            // between two looks at the real clock
constexpr uint64_t kLivelock = 20'000'000'000;    // ns of real time in which actors did nothing but poll
constexpr uint64_t kMostRescues = 100'000;        // how often waits are released after a deadlock, before abort()

constinit pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
constinit Schedule::Run* run = nullptr;           // under `lock`
thread_local Actor* self = nullptr;               // the calling thread's actor, if it is one

constinit std::atomic<uint32_t> knocking{0};      // outsiders that want `lock`

class Locked {
public:
    Locked() noexcept {
        if (self == nullptr) knocking.fetch_add(1, std::memory_order_relaxed);
        pthread_mutex_lock(&lock);
        if (self == nullptr) knocking.fetch_sub(1, std::memory_order_relaxed);
    }
    ~Locked() { unlock(); }
    void unlock() noexcept {
        if (held_) pthread_mutex_unlock(&lock);
        held_ = false;
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

private:
    bool held_ = true;
};

/// splitmix64's finaliser: a bijection that spreads every bit.
constexpr uint64_t mix(uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

}  // namespace

struct Schedule::Run {
    explicit Run(uint64_t the_seed)
        : seed(the_seed), random_state(the_seed), stay(draw(4) * 2), early(draw(4) == 0), stalls(mix(~seed) % 4 == 0) {}

    uint64_t seed;
    uint64_t random_state;
    uint64_t hash = 0;
    uint64_t steps = 0;
    uint64_t clock = kClockStart;
    uint64_t quantum = kFirstQuantum;
    uint64_t idle_rounds = 0;
    uint64_t idle_since = 0;           // real time
    uint64_t rescues = 0;
    uint32_t next_number = 0;
    bool deadlocked = false;
    // The seed chooses these settings too: some races need many switches, others a single one at the right place.
    uint64_t stay;                     // in eighths: how often the running actor keeps the turn
    bool early;                        // some waits return early without cause
    bool stalls;                       // now and then an actor stalls
    const pid_t maker = gettid();      // the thread that made the schedule
    cpu_set_t processors_before;       // the processors it was allowed before
    bool pinned = false;
    std::vector<Actor*> actors;        // not ended, by number; each belongs to its thread

    uint64_t draw(uint64_t below) noexcept { return mix(random_state += 0x9e3779b97f4a7c15) % below; }

    /// Restricts all actors to one core: only one runs at a time, and passing the turn within a core is three times
    /// faster. Threads that are started later inherit the affinity.
    void stay_on_one_processor() noexcept {
        const int here = sched_getcpu();
        if (here < 0 || here >= CPU_SETSIZE) return;
        if (sched_getaffinity(0, sizeof processors_before, &processors_before) != 0) return;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(here, &one);
        pinned = sched_setaffinity(0, sizeof one, &one) == 0;
    }

    Actor* add(const char* name) {
        auto actor = std::make_unique<Actor>();
        std::strncpy(actor->name, name, sizeof actor->name - 1);
        actor->number = next_number++;
        actors.push_back(actor.get());
        something_happened();
        return actor.release();
    }

    void remove(Actor* actor) noexcept {
        actors.erase(std::find(actors.begin(), actors.end(), actor));
        something_happened();
    }

    void something_happened() noexcept {
        for (Actor* actor : actors) actor->polls = 0;
        quantum = kFirstQuantum;
        idle_rounds = 0;
        idle_since = 0;
    }

    void make_ready(Actor* actor, bool in_time) noexcept {
        actor->ready = true;
        actor->in_time = in_time;
        actor->word = nullptr;
        may_stall(actor, 8);
        something_happened();
    }

    void wake(const std::atomic<uint32_t>& word, bool all) noexcept {
        uint64_t waiting = 0;
        for (Actor* actor : actors) waiting += !actor->ready && actor->word == &word;
        if (waiting == 0) return;
        uint64_t chosen = all ? 0 : draw(waiting);
        for (Actor* actor : actors) {
            if (actor->ready || actor->word != &word) continue;
            if (all || chosen-- == 0) make_ready(actor, true);
        }
    }

    uint64_t next_deadline() const noexcept {
        uint64_t next = kForever;
        for (const Actor* actor : actors)
            if (!may_run(actor)) next = std::min(next, actor->ready ? actor->stalled_until : actor->deadline);
        return next;
    }

    void move_clock(uint64_t to) noexcept {
        clock = to;
        for (Actor* actor : actors)
            if (!actor->ready && actor->deadline <= clock) make_ready(actor, false);
    }

    void report(const char* what) const noexcept {
        std::fprintf(stderr, "gpuorch: %s in the schedule of seed %" PRIu64 " after %" PRIu64 " steps\n", what, seed,
                     steps);
        for (const Actor* actor : actors) {
            if (actor->ready) {
                std::fprintf(stderr, "  actor %" PRIu32 " `%s` polls\n", actor->number, actor->name);
            } else {
                std::fprintf(stderr, "  actor %" PRIu32 " `%s` waits for %s %p\n", actor->number, actor->name,
                             actor->purpose, static_cast<const void*>(actor->word));
            }
        }
    }

    void give_up(const char* what) noexcept {
        if (!deadlocked) report(what);
        deadlocked = true;
        if (++rescues > kMostRescues) {
            report("no end after a deadlock");
            std::abort();
        }
        for (Actor* actor : actors)
            if (!actor->ready) make_ready(actor, false);
    }

    void look_for_livelock() noexcept {
        const uint64_t real = machine::now();
        if (idle_since == 0) idle_since = real;
        if (real - idle_since <= kLivelock) return;
        give_up("livelock");
        idle_since = real;
    }

    void may_stall(Actor* actor, uint64_t one_in) noexcept {
        if (stalls && draw(one_in) == 0) actor->stalled_until = clock + (kShortestStall << draw(kStallLengths));
    }

    bool may_run(const Actor* actor) const noexcept { return actor->ready && actor->stalled_until <= clock; }

    /// Chooses the next actor. Moves the clock if no actor can run otherwise.
    Actor* choose(Actor* running) noexcept {
        if (running != nullptr && running->ready) may_stall(running, 32);
        for (;;) {
            uint64_t ready = 0, idle = 0;
            for (const Actor* actor : actors) {
                ready += may_run(actor);
                idle += may_run(actor) && actor->polls >= kPatience;
            }
            const uint64_t deadline = ready == idle ? next_deadline() : kForever;
            if (ready == 0) {
                if (deadline == kForever) {
                    give_up("deadlock");
                } else {
                    move_clock(deadline);
                }
                continue;
            }
            if (ready == idle) {
                if (idle_rounds++ % kIdleTurns == 0 && deadline == kForever) look_for_livelock();
                for (Actor* actor : actors) actor->polls = 0;
                const uint64_t step = std::min(quantum, std::min(deadline, std::max(clock, kClockEnd)) - clock);
                quantum = std::min(quantum * 2, kLastQuantum);
                move_clock(clock + step);
                continue;
            }
            Actor* next = nullptr;
            if (running != nullptr && may_run(running) && draw(8) < stay) {
                next = running;
            } else {
                uint64_t chosen = draw(ready);
                for (Actor* actor : actors) {
                    if (!may_run(actor) || chosen-- != 0) continue;
                    next = actor;
                    break;
                }
            }
            ++steps;
            hash = mix(hash + next->number + 1) ^ clock;
            return next;
        }
    }
};

namespace {

void give_turn(Actor* actor) noexcept {
    // After the store, the actor may run, end and be deleted at any time: machine::wake uses only the word's address.
    std::atomic<uint32_t>& turn = actor->turn;
    turn.store(1, std::memory_order_release);
    machine::wake(turn, 1);
}

/// Returns the result of the actor's wait. If the schedule has ended, the actor may be deleted on return.
bool await_turn(Actor* actor) noexcept {
    while (actor->turn.load(std::memory_order_acquire) == 0) machine::wait(actor->turn, 0, kForever);
    actor->turn.store(0, std::memory_order_relaxed);
    const bool in_time = actor->in_time;
    self = actor->released ? nullptr : actor;
    if (actor->released && actor->of_maker) delete actor;
    return in_time;
}

/// Gives the turn to the actor drawn. Returns when this actor has the turn again, with the result of its wait.
bool switch_actor(Locked& locked, Actor* actor) noexcept {
    Actor* const next = run->choose(actor);
    locked.unlock();
    if (next == actor) {
        // A polling actor locks again at once: without this pause an outsider might never get the lock.
        while (knocking.load(std::memory_order_relaxed) != 0) sched_yield();
        return actor->in_time;
    }
    give_turn(next);
    return await_turn(actor);
}

/// Removes the calling actor and passes the turn on. False if the schedule is over.
bool leave(Actor* actor) noexcept {
    if (self != actor) return false;
    self = nullptr;
    Locked locked;
    run->remove(actor);
    Actor* const next = run->choose(nullptr);
    locked.unlock();
    give_turn(next);
    return true;
}

}  // namespace

namespace detail {

uint64_t scheduled_now() noexcept { return self != nullptr ? run->clock : machine::now(); }

void scheduled_step() noexcept {
    if (self == nullptr) return;
    Locked locked;
    switch_actor(locked, self);
}

void scheduled_poll(unsigned spins) noexcept {
    if (self == nullptr) return machine::relax(spins);
    Locked locked;
    ++self->polls;
    switch_actor(locked, self);
}

bool scheduled_wait(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t deadline,
                    const char* purpose) noexcept {
    if (self == nullptr) return machine::wait(word, expected, deadline);
    scheduled_step();  // between the caller's last look at the word and the wait
    Actor* const actor = self;
    if (actor == nullptr) return true;
    Locked locked;
    if (word.load(std::memory_order_acquire) != expected) return true;
    if (deadline <= run->clock) return false;
    if (run->early && run->draw(32) == 0) return true;
    actor->ready = false;
    actor->in_time = true;
    actor->word = &word;
    actor->deadline = deadline;
    actor->purpose = purpose;
    return switch_actor(locked, actor);
}

void scheduled_wake(const std::atomic<uint32_t>& word, bool all) noexcept {
    machine::wake(word, all ? INT32_MAX : 1);  // outsiders
    Locked locked;
    if (run == nullptr) return;
    run->wake(word, all);
    if (self != nullptr) switch_actor(locked, self);
}

void scheduled_join(const std::atomic<uint32_t>& ended) noexcept {
    while (self != nullptr && ended.load(std::memory_order_acquire) == 0)
        scheduled_wait(ended, 0, kForever, "the end of a thread");
}

bool given_up() noexcept { return scheduled() && self != nullptr && run->deadlocked; }

Actor* actor_create(const char* name) {
    if (self == nullptr) return nullptr;
    Locked locked;
    return run->add(name);
}

void actor_begin(Actor* actor) noexcept { await_turn(actor); }

void actor_end(Actor* actor, std::atomic<uint32_t>& ended) noexcept {
    ended.store(1, std::memory_order_release);
    if (self == actor) {
        Locked locked;
        run->wake(ended, true);
    }
    leave(actor);
    delete actor;
}

void actor_discard(Actor* actor) noexcept {
    Locked locked;
    run->remove(actor);
    delete actor;
}

}  // namespace detail

Schedule::Schedule(uint64_t seed) : run_(std::make_unique<Run>(seed)) {
    if (detail::running_threads() != 0) throw std::logic_error("threads of the library are running");
    Locked locked;
    if (run != nullptr) throw std::logic_error("a schedule is in force already");
    run_->stay_on_one_processor();
    self = run_->add("main");
    self->of_maker = true;
    run = run_.get();
    detail::process_flags.unusual.fetch_or(detail::kScheduled, std::memory_order_relaxed);
}

Schedule::~Schedule() {
    Locked locked;
    detail::process_flags.unusual.fetch_and(~uint32_t{detail::kScheduled}, std::memory_order_relaxed);
    run = nullptr;
    for (Actor* actor : run_->actors) {
        if (actor == self) continue;
        actor->released = true;
        actor->in_time = true;
        give_turn(actor);
    }
    if (self != nullptr && self->of_maker) delete self;
    self = nullptr;
    if (run_->pinned) sched_setaffinity(run_->maker, sizeof run_->processors_before, &run_->processors_before);
}

uint64_t Schedule::trace_hash() const noexcept { return run_->hash; }
uint64_t Schedule::steps() const noexcept { return run_->steps; }
bool Schedule::deadlocked() const noexcept { return run_->deadlocked; }
bool Schedule::made_here() const noexcept { return self != nullptr && self->of_maker; }
bool Schedule::active() noexcept { return detail::scheduled(); }

void ActorScope::enter(const char* name) {
    if (self != nullptr) return;
    {
        Locked locked;
        if (run == nullptr) return;
        actor_ = run->add(name);
    }
    await_turn(actor_);
}

void ActorScope::leave() noexcept {
    host::leave(actor_);
    delete actor_;
}

}  // namespace gpo::host
