// The deterministic scheduler: it replays and explores, virtual time costs nothing, and hangs are found.
#include <doctest/doctest.h>
#include <sched.h>

#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "host/host.h"
#include "host/schedule.h"
#include "support/explore.h"

using namespace gpo::host;

namespace {

struct Outcome {
    uint64_t hash = 0;
    uint64_t steps = 0;
    bool deadlocked = false;
    int value = 0;
};

/// Two actors add to a counter under a lock each time, but read and write it in two critical sections.
Outcome lost_update(uint64_t seed) {
    Outcome outcome;
    Schedule schedule(seed);
    Mutex mutex;
    int counter = 0;
    {
        auto add = [&] {
            int seen;
            {
                const Lock lock(mutex);
                seen = counter;
            }
            const Lock lock(mutex);
            counter = seen + 1;
        };
        Thread one("one", add), two("two", add);
    }
    outcome = {schedule.trace_hash(), schedule.steps(), schedule.deadlocked(), counter};
    return outcome;
}

/// Four actors pass a ball around through one mutex and one condition.
int play_ball(int rounds) {
    Mutex mutex;
    Condition moved;
    int ball = 0;
    const int last = rounds * 4;
    {
        std::vector<Thread> players;
        for (int player = 0; player < 4; ++player) {
            players.emplace_back("player", [&, player] {
                for (;;) {
                    Lock lock(mutex);
                    while (ball < last && ball % 4 != player) moved.wait(lock);
                    if (ball >= last) return;
                    ++ball;
                    moved.notify_all();
                }
            });
        }
    }
    CHECK(ball == last);
    return ball;
}

Outcome ball_game(uint64_t seed) {
    Schedule schedule(seed);
    const int ball = play_ball(3);
    return {schedule.trace_hash(), schedule.steps(), schedule.deadlocked(), ball};
}

}  // namespace

TEST_CASE("a seed replays its run, and different seeds run differently") {
    std::set<uint64_t> hashes;
    for (uint64_t seed = 0; seed < 50; ++seed) {
        const Outcome first = ball_game(seed), second = ball_game(seed);
        CHECK(first.value == 12);
        CHECK(first.hash == second.hash);
        CHECK(first.steps == second.steps);
        CHECK_FALSE(first.deadlocked);
        hashes.insert(first.hash);
    }
    CHECK(hashes.size() == 50);
}

TEST_CASE("a mutex and a condition hold under every schedule that is tried") {
    gpo::test::explore(300, [] { play_ball(3); });
}

TEST_CASE("a lost update is found within a thousand seeds, and so is the run without it") {
    bool lost = false, kept = false;
    for (uint64_t seed = 0; seed < 1000 && !(lost && kept); ++seed) {
        const int value = lost_update(seed).value;
        lost = lost || value == 1;
        kept = kept || value == 2;
    }
    CHECK(lost);
    CHECK(kept);
}

TEST_CASE("waits in a schedule take virtual time only") {
    Schedule schedule(7);
    const uint64_t start = now();
    const std::chrono::steady_clock::time_point real_start = std::chrono::steady_clock::now();
    constexpr uint64_t kDay = uint64_t{24} * 3600 * 1'000'000'000;

    SUBCASE("a sleep lasts to the nanosecond") {
        sleep_until(start + kDay);
        CHECK(now() == start + kDay);
    }
    SUBCASE("a timed wait that nobody ends is over at its deadline") {
        Mutex mutex;
        Condition never;
        Lock lock(mutex);
        CHECK_FALSE(never.wait(lock, start + kDay, [] { return false; }));
        CHECK(now() == start + kDay);
    }
    SUBCASE("sleepers wake in the order of their deadlines") {
        std::vector<int> order;
        {
            std::vector<Thread> sleepers;
            for (const int hours : {3, 1, 2})
                sleepers.emplace_back("sleeper", [&order, hours, start] {
                    sleep_until(start + kDay / 24 * static_cast<uint64_t>(hours));
                    order.push_back(hours);
                });
        }
        CHECK(order == std::vector<int>{1, 2, 3});
        CHECK(now() == start + kDay / 8);
    }
    SUBCASE("a poller lets time pass, but not past another's deadline by much") {
        std::atomic<bool> done{false};
        Thread sleeper("sleeper", [&] {
            sleep_until(start + 5'000);
            done.store(true);
        });
        for (unsigned spins = 0; !done.load(); ++spins) step(spins);
        CHECK(now() >= start + 5'000);
        CHECK(now() < start + 1'000'000);
    }
    SUBCASE("a poller that watches the clock itself comes to its end") {
        for (unsigned spins = 0; now() < start + 1'000'000; ++spins) step(spins);
        CHECK(now() < start + 4'000'000);
    }
    // Less than a day has passed. The test makes no finer claim about real time.
    CHECK(std::chrono::steady_clock::now() - real_start < std::chrono::hours(1));
    CHECK_FALSE(schedule.deadlocked());
}

TEST_CASE(
    "in some schedules a thread stands still while the others' deadlines pass, and they say the same the next time") {
    uint64_t late = 0, in_time = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        bool begun_before[2] = {};
        for (bool& before : begun_before) {
            Schedule schedule(seed);
            std::atomic<bool> begun{false};
            Thread beginner("beginner", [&] {
                for (int i = 0; i < 4; ++i) crossing();
                begun.store(true);
            });
            sleep_until(now() + 100'000);
            before = begun.load();
            CHECK_FALSE(schedule.deadlocked());
        }
        CHECK(begun_before[0] == begun_before[1]);
        ++(begun_before[0] ? in_time : late);
    }
    CHECK(late > 0);
    CHECK(in_time > late);
}

TEST_CASE("locks taken in opposite orders deadlock for some seeds, and the run still ends") {
    int deadlocks = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
        Schedule schedule(seed);
        Mutex left, right;
        {
            Thread one("left first", [&] {
                const Lock first(left);
                const Lock second(right);
            });
            Thread two("right first", [&] {
                const Lock first(right);
                const Lock second(left);
            });
        }
        deadlocks += schedule.deadlocked();
        if (deadlocks == 3) break;
    }
    CHECK(deadlocks == 3);
}

TEST_CASE("a wait for a wake that never comes is a deadlock, and returns") {
    Schedule schedule(1);
    std::atomic<uint32_t> word{0};
    Thread waiter("waiter", [&] {
        while (!schedule.deadlocked()) wait(word, 0);
    });
    waiter.join();
    CHECK(schedule.deadlocked());
}

TEST_CASE("wake_one wakes one waiter, and any of them") {
    std::set<int> woken_first;
    for (uint64_t seed = 0; seed < 200; ++seed) {
        Schedule schedule(seed);
        Mutex mutex;
        Condition changed;
        int tokens = 0;
        std::vector<int> order;
        {
            std::vector<Thread> waiters;
            for (int i = 0; i < 3; ++i)
                waiters.emplace_back("waiter", [&, i] {
                    Lock lock(mutex);
                    changed.wait(lock, kForever, [&] { return tokens > 0; });
                    --tokens;
                    order.push_back(i);
                });
            for (int i = 0; i < 3; ++i) {
                const Lock lock(mutex);
                ++tokens;
                changed.notify_one();
            }
        }
        REQUIRE(order.size() == 3);
        CHECK_FALSE(schedule.deadlocked());
        woken_first.insert(order.front());
    }
    CHECK(woken_first.size() == 3);
}

TEST_CASE("the number of processors is the same in every schedule") {
    Schedule schedule(1);
    CHECK(processors() == 2);
}

TEST_CASE("a schedule is refused while another is in force or threads of the library run") {
    {
        Schedule schedule(1);
        CHECK_THROWS_AS(Schedule(2), std::logic_error);
    }
    CHECK_FALSE(Schedule::active());
    std::atomic<uint32_t> stop{0};
    {
        Thread thread("runs", [&] {
            while (stop.load() == 0) wait(stop, 0);
        });
        CHECK_THROWS_AS(Schedule(2), std::logic_error);
        stop = 1;
        wake_all(stop);
    }
    CHECK_NOTHROW(Schedule(2));
}

TEST_CASE("a foreign thread is an actor inside its scope, and may wake actors from outside") {
    std::atomic<uint32_t> word{0};
    std::atomic<bool> slept{false};
    Schedule schedule(3);
    std::thread foreign([&] {
        {
            const ActorScope scope("foreign");
            const ActorScope nested("no second actor");
            const uint64_t a_month = uint64_t{30} * 24 * 3600 * 1'000'000'000, start = now();
            sleep_until(start + a_month);  // or the test never ends
            slept = now() >= start + a_month;
        }
        word = 1;
        wake_all(word);
    });
    // The main actor polls: if it waited before the foreign thread becomes an actor, the run would be deadlocked.
    while (word.load() == 0) step();
    CHECK(slept);
    foreign.join();
}

TEST_CASE("a schedule may be ended by another of its actors: the thread that made it goes on, on all its processors") {
    cpu_set_t before, after;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    for (uint64_t seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        auto schedule = std::make_unique<Schedule>(seed);
        std::atomic<uint32_t> ended{0};
        Thread ender("ender", [&] {
            crossing();
            schedule.reset();
            ended.store(1);
            wake_all(ended);
        });
        while (ended.load() == 0) wait(ended, 0);
        CHECK_FALSE(Schedule::active());
        ender.join();
        CHECK(Schedule(seed).made_here());
    }
    REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
    CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("threads that outlive their schedule go on in real time") {
    std::atomic<uint32_t> stop{0};
    std::unique_ptr<Thread> thread;
    {
        Schedule schedule(5);
        thread = std::make_unique<Thread>("outlives", [&] {
            while (stop.load() == 0) wait(stop, 0);
        });
        step();
    }
    stop = 1;
    wake_all(stop);
    thread->join();
    CHECK_NOTHROW(Schedule(5));
}
