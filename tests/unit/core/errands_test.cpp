// Errands that change their time.
#include "core/errands.h"

#include <doctest/doctest.h>

#include "support/explore.h"

TEST_CASE("an errand that is posted already is advanced to an earlier time, and runs once") {
    gpo::test::explore(50, [] {
        gpo::Errands errands;
        errands.start();
        struct Counted final : gpo::Errand {
            void run() noexcept override {
                ++runs;
                at = gpo::host::now();
            }
            int runs = 0;
            uint64_t at = 0;
        } errand;
        const uint64_t begin = gpo::host::now();
        CHECK(errands.advance(errand, begin + 1'000'000'000));
        CHECK_FALSE(errands.advance(errand, begin + 1'000'000));
        CHECK_FALSE(errands.advance(errand, begin + 2'000'000'000));  // later: no change
        gpo::host::sleep_until(begin + 10'000'000);
        CHECK(errand.runs == 1);
        CHECK(errand.at >= begin + 1'000'000);
        CHECK(errand.at < begin + 10'000'000);
        CHECK(errands.advance(errand, begin + 1'000'000'000));
        CHECK_FALSE(errands.advance(errand, 0));
        errands.finish();
        CHECK(errand.runs == 2);
    });
}
