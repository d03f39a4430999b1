// Tests that fail in every possible way. The runner runs them one by one and must notice each failure: a proof that a
// green run means something.
#include <doctest/doctest.h>

#include <unistd.h>

#include <csignal>

#include "support/report.h"

TEST_CASE("passes") { CHECK(true); }
TEST_CASE("fails") { CHECK(false); }
TEST_CASE("throws") { throw 1; }
TEST_CASE("is skipped") { gpo::test::skip("it was told to"); }

TEST_CASE("has no assertion") {}

TEST_CASE("crashes") {
    std::signal(SIGABRT, SIG_DFL);
    kill(getpid(), SIGABRT);
}

TEST_CASE("leaves early") { _exit(0); }

TEST_CASE("hangs") {
    for (;;) pause();
}
