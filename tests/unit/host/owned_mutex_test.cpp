// A mutex that its owner enters without a locked instruction: two threads are never inside together, and no thread
// waits without end, under many schedules and on real threads.
#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "host/host.h"
#include "host/owned_mutex.h"
#include "support/explore.h"
#include "support/report.h"

using namespace gpo::host;

namespace {

/// A room that the mutex guards. Sets `shared` when two threads are inside at once.
struct Room {
    OwnedMutex mutex;
    int inside = 0, visits = 0;
    bool shared = false;
    void stay() {
        shared |= inside++ != 0;
        crossing();
        ++visits;
        crossing();
        --inside;
    }
};

/// Enters repeatedly, without other threads, until the owner enters without locking the underlying mutex. False on
/// systems where the owner always locks it.
bool settle_in(Room& room) {
    gpo::host::look_at_fences();
    for (int i = 0; i < 200; ++i) {
        room.mutex.lock_as_owner();
        room.mutex.unlock_as_owner();
    }
    if (!gpo::host::light_fences()) return false;
    REQUIRE(room.mutex.try_lock_as_owner());
    room.mutex.unlock_as_owner();
    return true;
}

/// A visitor comes while the owner is inside, and is let in when the owner leaves.
void visit_while_owned(Room& room) {
    constexpr int kLong = 300;  // steps: several times as many as a visitor spins before it sleeps
    bool inside = false;
    {
        Thread visitor("visitor", [&] {
            std::lock_guard lock(room.mutex);
            inside = true;
        });
        for (int i = 0; i < kLong; ++i) crossing();
        REQUIRE_FALSE(inside);
        room.mutex.unlock_as_owner();
    }
    REQUIRE(inside);
}

}  // namespace

TEST_CASE("an owner and two visitors are never inside a mutex together, and all get in") {
    gpo::test::explore(400, [] {
        Room room;
        settle_in(room);
        {
            Thread first("first", [&] {
                for (int i = 0; i < 2; ++i) {
                    std::lock_guard lock(room.mutex);
                    room.stay();
                }
            });
            Thread second("second", [&] {
                std::lock_guard lock(room.mutex);
                room.stay();
            });
            for (int i = 0; i < 5; ++i) {
                const OwnedLock lock(room.mutex, true);
                room.stay();
            }
        }
        REQUIRE(room.visits == 8);
        REQUIRE_FALSE(room.shared);
    });
}

TEST_CASE("an owner comes to do without the mutex beneath again after a visit") {
    Room room;
    if (!settle_in(room)) return gpo::test::skip("there is no membarrier here");
    for (int visit = 0; visit < 3; ++visit) {
        { std::lock_guard lock(room.mutex); }
        CHECK_FALSE(room.mutex.try_lock_as_owner());
        int turns = 0;
        for (; !room.mutex.try_lock_as_owner(); ++turns) {
            room.mutex.lock_as_owner();
            room.mutex.unlock_as_owner();
        }
        room.mutex.unlock_as_owner();
        CHECK(turns == 128 << visit);
    }
}

TEST_CASE("visitors that give up leave the owner as patient as it was") {
    Room room;
    if (!settle_in(room)) return gpo::test::skip("there is no membarrier here");
    for (int i = 0; i < 5; ++i) {
        room.mutex.lock_as_owner();
        CHECK_FALSE(room.mutex.lock_until(now()));
        room.mutex.unlock_as_owner();
        REQUIRE(room.mutex.try_lock_as_owner());
        room.mutex.unlock_as_owner();
    }
    room.mutex.lock();
    room.mutex.unlock();
    int turns = 0;
    for (; !room.mutex.try_lock_as_owner(); ++turns) {
        room.mutex.lock_as_owner();
        room.mutex.unlock_as_owner();
    }
    room.mutex.unlock_as_owner();
    CHECK(turns == 128);
}

TEST_CASE("an owner that stays inside for long is waited for") {
    gpo::test::explore(100, [] {
        Room room;
        settle_in(room);
        room.mutex.lock_as_owner();
        visit_while_owned(room);
    });
}

TEST_CASE("a count under a mutex with an owner is exact, on real threads") {
    constexpr int kOwners = 200'000, kVisits = 2'000;
    OwnedMutex mutex;
    int count = 0;
    std::vector<std::thread> visitors;
    for (int t = 0; t < 2; ++t)
        visitors.emplace_back([&] {
            for (int i = 0; i < kVisits; ++i) {
                std::lock_guard lock(mutex);
                ++count;
            }
        });
    for (int i = 0; i < kOwners; ++i) {
        const OwnedLock lock(mutex, true);
        ++count;
    }
    for (auto& visitor : visitors) visitor.join();
    CHECK(count == kOwners + 2 * kVisits);
}

TEST_CASE("a visitor whose time is over leaves the mutex to its owner, and the next visitor waits for the owner") {
    gpo::test::explore(100, [] {
        Room room;
        settle_in(room);
        bool in_time = true;
        room.mutex.lock_as_owner();
        {
            Thread visitor("visitor", [&] {
                in_time = room.mutex.lock_until(now());
                if (in_time) room.mutex.unlock();
            });
        }
        REQUIRE_FALSE(in_time);
        visit_while_owned(room);
    });
}

TEST_CASE("an owner and visitors with deadlines are never inside a mutex together, and a free mutex lets all in") {
    gpo::test::explore(400, [] {
        Room room;
        settle_in(room);
        int came = 0;
        {
            const auto visit = [&](uint64_t patience) {
                for (int i = 0; i < 3; ++i) {
                    if (!room.mutex.lock_until(now() + patience)) continue;
                    room.stay();
                    ++came;
                    room.mutex.unlock();
                }
            };
            Thread first("first", [&] { visit(0); });
            Thread second("second", [&] { visit(1'000'000); });
            for (int i = 0; i < 5; ++i) {
                const OwnedLockUntil lock(room.mutex, true, now());
                if (!lock.held()) continue;
                room.stay();
                ++came;
            }
        }
        REQUIRE(room.visits == came);
        REQUIRE_FALSE(room.shared);
        REQUIRE(room.mutex.lock_until(0));
        room.mutex.unlock();
        REQUIRE(room.mutex.lock_as_owner_until(0));
        room.mutex.unlock_as_owner();
    });
}
