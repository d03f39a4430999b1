// The range map answers like a sorted map, while other threads read.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <thread>

#include "memory/ranges.h"

using gpo::Range;
using gpo::RangeMap;

namespace {

int g_owner, g_other;

Range make(uint64_t start, uint64_t end, uint64_t tag = 0) { return {start, end, tag, &g_owner}; }

}  // namespace

TEST_CASE("an address is found in the range that it lies in, and nowhere else") {
    RangeMap map;
    CHECK_FALSE(map.find(0));
    REQUIRE(map.insert(make(100, 200, 7)));
    CHECK_FALSE(map.find(99));
    CHECK(map.find(100).tag == 7);
    CHECK(map.find(199).start == 100);
    CHECK_FALSE(map.find(200));
}

TEST_CASE("ranges that overlap one that is there are refused, neighbours are not") {
    RangeMap map;
    REQUIRE(map.insert(make(100, 200)));
    CHECK_FALSE(map.insert(make(100, 200)));
    CHECK_FALSE(map.insert(make(150, 160)));
    CHECK_FALSE(map.insert(make(50, 101)));
    CHECK_FALSE(map.insert(make(199, 300)));
    CHECK_FALSE(map.insert(make(50, 300)));
    CHECK(map.insert(make(50, 100)));
    CHECK(map.insert(make(200, 201)));
    CHECK(map.size() == 3);
    CHECK(map.overlapping(0, 51));
    CHECK_FALSE(map.overlapping(0, 50));
    CHECK(map.overlapping(200, 1000));
    CHECK_FALSE(map.overlapping(201, 1000));
}

TEST_CASE("a range is erased by its start and owner only") {
    RangeMap map;
    REQUIRE(map.insert(make(100, 200)));
    CHECK_FALSE(map.erase(101, &g_owner));
    CHECK_FALSE(map.erase(100, &g_other));
    CHECK(map.erase(100, &g_owner));
    CHECK_FALSE(map.erase(100, &g_owner));
    CHECK_FALSE(map.find(100));
}

TEST_CASE("a tag is changed by one caller, and the ranges of an owner are listed") {
    RangeMap map;
    for (uint64_t i = 0; i < 300; ++i)
        REQUIRE(map.insert({i * 10, i * 10 + 10, 1, i % 3 ? static_cast<void*>(&g_owner) : &g_other}));
    CHECK(map.of(&g_other).size() == 100);
    CHECK_FALSE(map.retag(10, &g_other, 1, 2));
    CHECK_FALSE(map.retag(11, &g_owner, 1, 2));
    CHECK(map.retag(10, &g_owner, 1, 2));
    CHECK_FALSE(map.retag(10, &g_owner, 1, 2));
    CHECK(map.find(15).tag == 2);
}

TEST_CASE("random changes leave the map as a sorted map has it") {
    for (uint32_t seed = 1; seed <= 8; ++seed) {
        std::mt19937 random(seed);
        RangeMap map;
        std::map<uint64_t, uint64_t> model;
        const uint64_t space = seed % 2 ? 20'000 : 2'000'000;
        for (int step = 0; step < 6000; ++step) {
            const uint64_t start = random() % space, end = start + 1 + random() % 40;
            if (random() % 3 != 0) {
                const auto behind = model.lower_bound(end);
                const bool overlaps = behind != model.begin() && std::prev(behind)->second > start;
                REQUIRE(static_cast<bool>(map.overlapping(start, end)) == overlaps);
                REQUIRE(map.insert(make(start, end, end)) == !overlaps);
                if (!overlaps) model[start] = end;
            } else if (!model.empty()) {
                auto found = model.lower_bound(start);
                if (found == model.end()) found = model.begin();
                REQUIRE(map.erase(found->first, &g_owner));
                model.erase(found);
            }
            const uint64_t probe = random() % space;
            const auto above = model.upper_bound(probe);
            const bool inside = above != model.begin() && std::prev(above)->second > probe;
            REQUIRE(static_cast<bool>(map.find(probe)) == inside);
            if (inside) REQUIRE(map.find(probe).tag == std::prev(above)->second);
        }
        CHECK(map.size() == model.size());
        for (const auto& [start, end] : model) REQUIRE(map.find(end - 1).start == start);
    }
}

TEST_CASE("readers see every range that stays, while others come and go") {
    RangeMap map;
    for (uint64_t i = 0; i < 200; ++i) REQUIRE(map.insert(make(i * 100, i * 100 + 10, i)));
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (unsigned t = 0; t < 2; ++t)
        readers.emplace_back([&, t] {
            for (uint64_t i = t; !stop; i = (i + 1) % 200) {
                if (map.find(i * 100 + 5).tag != i) ++wrong;
                if (const Range moving = map.find(i * 100 + 55); moving && moving.end != moving.start + 10) ++wrong;
            }
        });
    std::mt19937 random(3);
    for (int step = 0; step < 20'000; ++step) {
        const uint64_t start = random() % 200 * 100 + 50;
        if (!map.erase(start, &g_owner)) map.insert(make(start, start + 10, 0));
    }
    stop = true;
    for (auto& reader : readers) reader.join();
    CHECK(wrong == 0);
}
