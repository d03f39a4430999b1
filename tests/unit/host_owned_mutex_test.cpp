// A mutex that its owner enters without a locked instruction: nobody is inside beside another, and nobody waits for ever,
// under many schedules and on real threads.
#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "host/host.h"
#include "host/owned_mutex.h"
#include "support/explore.h"

using namespace gpo::host;

namespace {

/// Says when two are inside at once.
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

/// So often alone that it no longer takes the mutex beneath.
void settle_in(Room& room) {
    for (int i = 0; i < 200; ++i) {
        room.mutex.lock_as_owner();
        room.mutex.unlock_as_owner();
    }
    REQUIRE(room.mutex.try_lock_as_owner());
    room.mutex.unlock_as_owner();
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
    settle_in(room);
    for (int visit = 0; visit < 3; ++visit) {
        {
            std::lock_guard lock(room.mutex);
        }
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

TEST_CASE("an owner that stays inside for long is waited for") {
    Room room;
    settle_in(room);
    std::atomic<bool> inside{false};
    std::thread visitor;
    {
        const OwnedLock lock(room.mutex, true);
        visitor = std::thread([&] {
            std::lock_guard visit(room.mutex);
            inside = true;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        CHECK_FALSE(inside);
    }
    visitor.join();
    CHECK(inside);
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
