// The checker of recorded histories (support/linearizable.h): accepted and rejected histories.
#include "support/linearizable.h"

#include <doctest/doctest.h>

using gpo::test::is_linearizable;
using gpo::test::QueueCall;

namespace {

QueueCall push(uint32_t value, uint64_t begin, uint64_t end) { return {QueueCall::push, value, begin, end}; }
QueueCall pop(uint32_t value, uint64_t begin, uint64_t end) { return {QueueCall::pop, value, begin, end}; }
QueueCall full(uint64_t begin, uint64_t end) { return {QueueCall::full, 0, begin, end}; }
QueueCall empty(uint64_t begin, uint64_t end) { return {QueueCall::empty, 0, begin, end}; }

}  // namespace

TEST_CASE("calls one after the other are linearizable if a queue returns the same") {
    CHECK(is_linearizable({}, 1));
    CHECK(is_linearizable({empty(1, 2), push(7, 3, 4), push(8, 5, 6), full(7, 8), pop(7, 9, 10), pop(8, 11, 12)}, 2));
    CHECK_FALSE(is_linearizable({push(7, 1, 2), push(8, 3, 4), pop(8, 5, 6)}, 2));  // not the oldest
    CHECK_FALSE(is_linearizable({push(7, 1, 2), empty(3, 4)}, 2));
    CHECK_FALSE(is_linearizable({push(7, 1, 2), full(3, 4)}, 2));
    CHECK_FALSE(is_linearizable({push(7, 1, 2), push(8, 3, 4)}, 1));                // beyond its capacity
    CHECK_FALSE(is_linearizable({push(7, 1, 2), pop(7, 3, 4), pop(7, 5, 6)}, 2));   // twice
    CHECK_FALSE(is_linearizable({pop(7, 1, 2), push(7, 3, 4)}, 2));                 // before it was there
    CHECK_FALSE(is_linearizable({pop(9, 1, 2)}, 2));                                // out of nowhere
}

TEST_CASE("calls at the same time may have happened in any order, but all in one") {
    // Two pushes at once: either may be the first, and both pops have to agree.
    CHECK(is_linearizable({push(1, 1, 9), push(2, 2, 8), pop(2, 10, 11), pop(1, 12, 13)}, 4));
    CHECK(is_linearizable({push(1, 1, 9), push(2, 2, 8), pop(1, 10, 11), pop(2, 12, 13)}, 4));
    // A pop that ends before the push does.
    CHECK(is_linearizable({push(1, 1, 9), pop(1, 2, 3)}, 4));
    // The push of 3 came behind both others: it can't be popped before them.
    CHECK_FALSE(is_linearizable({push(1, 1, 4), push(2, 2, 3), push(3, 5, 6), pop(3, 7, 9), pop(1, 10, 12)}, 4));
    CHECK(is_linearizable({push(1, 1, 4), push(2, 2, 3), push(3, 5, 6), pop(3, 7, 14), pop(1, 8, 12), pop(2, 8, 12)},
                          4));
    // While one of three tasks has been popped, the queue isn't empty, whichever was pushed first.
    CHECK_FALSE(is_linearizable(
        {push(1, 1, 9), push(2, 1, 9), push(3, 1, 9), pop(1, 10, 11), pop(2, 12, 13), pop(3, 14, 15), empty(10, 12)},
        4));
    // A ring of one place, in which the second push waits for the pop.
    CHECK(is_linearizable({push(1, 1, 2), push(2, 3, 8), pop(1, 4, 5), pop(2, 9, 10)}, 1));
    CHECK_FALSE(is_linearizable({push(1, 1, 2), push(2, 3, 4), pop(1, 5, 6)}, 1));
}
