// Sizes whose product or sum doesn't fit into 64 bits.
#include <doctest/doctest.h>

#include "base/checked.h"

using gpo::past_addresses;
using gpo::span_of_rows;

TEST_CASE("rows reach from the first byte of the first to the last of the last, whatever lies between") {
    uint64_t span = 1;
    CHECK(span_of_rows(100, 30, 1, &span));
    CHECK(span == 30);
    CHECK(span_of_rows(100, 30, 4, &span));
    CHECK(span == 330);
    CHECK(span_of_rows(30, 30, 4, &span));
    CHECK(span == 120);
}

TEST_CASE("no rows, and rows of no bytes, reach nowhere, whatever the pitch") {
    uint64_t span = 1;
    CHECK(span_of_rows(UINT64_MAX, 30, 0, &span));
    CHECK(span == 0);
    span = 1;
    CHECK(span_of_rows(UINT64_MAX, 0, UINT64_MAX, &span));
    CHECK(span == 0);
}

TEST_CASE("rows that reach further than 64 bits can say are noticed at the last byte") {
    uint64_t span = 0;
    CHECK(span_of_rows(UINT64_MAX - 30, 30, 2, &span));
    CHECK(span == UINT64_MAX);
    CHECK_FALSE(span_of_rows(UINT64_MAX - 30, 31, 2, &span));
    CHECK_FALSE(span_of_rows(uint64_t{1} << 32, 1, (uint64_t{1} << 32) + 1, &span));
    CHECK(span_of_rows(uint64_t{1} << 32, 1, uint64_t{1} << 32, &span));
}

TEST_CASE("bytes may end where addresses do, and not behind that") {
    CHECK_FALSE(past_addresses(UINT64_MAX - 5, 5));
    CHECK(past_addresses(UINT64_MAX - 5, 6));
    CHECK_FALSE(past_addresses(UINT64_MAX, 0));
}
