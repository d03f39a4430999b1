// Repeats among calls are told from calls of other places: otherwise the tests of faults would leave out what they
// should try.
#include "faults/places.h"

#include <doctest/doctest.h>

#include <set>

#include "support/coverage.h"

using namespace gpo::test;

namespace {

uint64_t calls = 0;

[[gnu::noinline]] void call(uint32_t what = 7) {
    places::note(what, ++calls);
    asm volatile("");   // no tail call
}

[[gnu::noinline]] void loop(int times) {
    for (int i = 0; i < times; ++i) call();
}

[[gnu::noinline]] void opens() {
    const places::Common common;
    call();
    call();
}

/// Stands for an exported function, as the linker wraps it.
[[gnu::noinline]] void exported() {
    const Inside inside(__builtin_return_address(0));
    call();
    call();
}

[[gnu::noinline]] void one_scenario() {
    opens();
    call();
    exported();
    asm volatile("");
}

[[gnu::noinline]] void another_scenario() {
    opens();
    call();
    exported();
    asm volatile("");
}

std::vector<uint64_t> places_of(void (*scenario)()) {
    places::begin();
    calls = 0;
    scenario();
    return places::end(calls);
}

}  // namespace

TEST_CASE("of a loop's calls the first two and the last are tried, and every call of another place or kind") {
    const auto places = places_of([] {
        loop(5);    // 1 to 5: 3 and 4 are repeats
        call();
        loop(1);    // another place than the loop before
        call(8);
        call();
    });
    REQUIRE(places.size() == 9);
    CHECK(places::without_repeats(places, {}) == std::vector<uint64_t>{1, 2, 5, 6, 7, 8, 9});
}

TEST_CASE("calls that open a runtime are tried in one scenario, what exported functions do in two, others in all") {
    const auto one = places_of(one_scenario), another = places_of(another_scenario);
    REQUIRE(one.size() == 5);
    REQUIRE(another.size() == 5);
    for (const int shared : {0, 1, 3, 4}) CHECK(one[shared] == another[shared]);
    CHECK(one[2] != another[2]);
    CHECK(std::set(one.begin(), one.end()).size() == 5);
    places::Tried tried;
    CHECK(places::without_repeats(another, tried) == std::vector<uint64_t>{1, 2, 3, 4, 5});
    tried.add(one);
    CHECK(places::without_repeats(another, tried) == std::vector<uint64_t>{3, 4, 5});
    tried.add({another[2], another[3], another[3]});
    CHECK(places::without_repeats(another, tried) == std::vector<uint64_t>{3, 5});
}

TEST_CASE("a call that was not noted is no repeat") {
    CHECK(places::without_repeats({0, 0, 0, 0}, {}) == std::vector<uint64_t>{1, 2, 3, 4});
}
