// The rings that pass freed memory to another thread: each item arrives exactly once, and full rings refuse items.
#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

#include "memory/inbox.h"
#include "support/explore.h"

using gpo::Inbox;
using gpo::Lanes;

namespace {

std::vector<uint32_t> take(Inbox& inbox) {
    std::vector<uint32_t> out;
    inbox.take_all([&](uint32_t item) { out.push_back(item); });
    return out;
}

std::vector<uint32_t> take(Lanes& lanes, unsigned to) {
    std::vector<uint32_t> out;
    lanes.take_all(to, [&](uint32_t item) { out.push_back(item); });
    return out;
}

constexpr uint32_t kLargest = (1u << Inbox::kItemBits) - 1;

}  // namespace

TEST_CASE("what was put into an inbox comes out once, in order, lap after lap") {
    Inbox inbox;
    CHECK(take(inbox).empty());
    // More rounds through the ring than a slot's counter can count.
    for (uint32_t turn = 0; turn < 300 * Inbox::kSlots / 3; ++turn) {
        REQUIRE(inbox.put(turn));
        REQUIRE(inbox.put(0));
        REQUIRE(inbox.put(kLargest));
        REQUIRE(take(inbox) == std::vector<uint32_t>{turn, 0, kLargest});
        REQUIRE(take(inbox).empty());
    }
}

TEST_CASE("an inbox that is full says so, and has room again once it was emptied") {
    Inbox inbox;
    for (uint32_t i = 0; i < Inbox::kSlots; ++i) REQUIRE(inbox.put(i));
    CHECK_FALSE(inbox.put(99));
    CHECK(take(inbox).size() == Inbox::kSlots);
    CHECK(inbox.put(99));
    CHECK(take(inbox) == std::vector<uint32_t>{99});
}

TEST_CASE("under every schedule what two threads put in is taken once, and a full inbox keeps what it has") {
    gpo::test::explore(300, [] {
        Inbox inbox;
        for (uint32_t i = 0; i < Inbox::kSlots - 2; ++i) REQUIRE(inbox.put(1000));
        std::vector<int> refused(2), taken(2 * 4);
        size_t fillers = 0;
        const auto empty = [&] {
            inbox.take_all([&](uint32_t item) {
                if (item == 1000)
                    ++fillers;
                else
                    ++taken[item];
            });
        };
        {
            std::vector<gpo::host::Thread> threads;
            for (uint32_t t = 0; t < 2; ++t)
                threads.emplace_back("puts", [&, t] {
                    for (uint32_t i = 0; i < 4; ++i)
                        if (!inbox.put(4 * t + i)) {
                            ++refused[t];
                            --taken[4 * t + i];
                        }
                });
            gpo::host::crossing();
            empty();
        }
        empty();
        REQUIRE(fillers == Inbox::kSlots - 2);
        int sum = 0;
        for (const int count : taken) {
            REQUIRE((count == 1 || count == -1));
            sum += count;
        }
        REQUIRE(sum == 8 - 2 * (refused[0] + refused[1]));
    });
}

TEST_CASE("four threads put a hundred thousand numbers in while one takes them") {
    constexpr uint32_t kThreads = 4, kEach = 25'000;
    auto inbox = std::make_unique<Inbox>();
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            for (uint32_t i = 0; i < kEach; ++i)
                while (!inbox->put(t * kEach + i)) std::this_thread::yield();
        });
    std::vector<int> seen(kThreads * kEach);
    std::vector<uint32_t> last(kThreads);
    for (uint32_t count = 0; count < kThreads * kEach;)
        inbox->take_all([&](uint32_t item) {
            ++seen[item];
            ++count;
            uint32_t& before = last[item / kEach];
            CHECK((before == 0 || item > before));  // in each thread's order
            before = item;
        });
    for (auto& thread : threads) thread.join();
    for (const int times : seen) REQUIRE(times == 1);
}

TEST_CASE("what was put into a lane comes out at its end only, once, in order, lap after lap") {
    Lanes lanes(3);
    for (uint32_t turn = 0; turn < 300 * Lanes::kSlots / 2; ++turn) {
        REQUIRE(lanes.put(0, 2, turn));
        REQUIRE(lanes.put(1, 2, kLargest));
        REQUIRE(lanes.put(0, 2, 0));
        REQUIRE(take(lanes, 0).empty());
        REQUIRE(take(lanes, 1).empty());
        REQUIRE(take(lanes, 2) == std::vector<uint32_t>{turn, 0, kLargest});
        REQUIRE(take(lanes, 2).empty());
    }
}

TEST_CASE("a lane that is full says so while others have room, and has room again once it was emptied") {
    Lanes lanes(Lanes::kMostEnds);
    constexpr unsigned kLast = Lanes::kMostEnds - 1;
    for (uint32_t turn = 0; turn < 3; ++turn) {
        for (uint32_t i = 0; i < Lanes::kSlots; ++i) REQUIRE(lanes.put(kLast, 7, i));
        CHECK_FALSE(lanes.put(kLast, 7, 99));
        CHECK(lanes.put(7, kLast, 98));
        CHECK(take(lanes, 7).size() == Lanes::kSlots);
        CHECK(take(lanes, kLast) == std::vector<uint32_t>{98});
    }
}

TEST_CASE("two threads put a hundred thousand numbers into lanes while one takes them, in order") {
    constexpr uint32_t kEach = 50'000;
    Lanes lanes(3);
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 2; ++t)
        threads.emplace_back([&, t] {
            for (uint32_t i = 0; i < kEach; ++i)
                while (!lanes.put(t, 2, t << 20 | i)) std::this_thread::yield();
        });
    uint32_t next[2] = {};
    for (uint32_t count = 0; count < 2 * kEach;)
        lanes.take_all(2, [&](uint32_t item) {
            CHECK((item & 0xFFFFF) == next[item >> 20]);
            ++next[item >> 20];
            ++count;
        });
    for (auto& thread : threads) thread.join();
    CHECK(take(lanes, 2).empty());
}
