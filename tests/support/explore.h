// Runs a scenario under many schedules. A failing one names its seed: GPUORCH_TEST_SEED=n runs that one alone, and
// GPUORCH_TEST_SEEDS=n runs as many instead of the number that the test asks for.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>

#include "host/schedule.h"

namespace gpo::test {

/// `body()` runs inside a Schedule, once for each seed from 0 to count - 1; all threads that it starts must have ended
/// when it returns. The first seed runs twice, to prove that the scenario replays.
template <class Body>
void explore(uint64_t count, Body body) {
    uint64_t first = 0;
    if (const char* text = std::getenv("GPUORCH_TEST_SEEDS")) count = std::strtoull(text, nullptr, 10);
    if (const char* text = std::getenv("GPUORCH_TEST_SEED")) {
        first = std::strtoull(text, nullptr, 10);
        count = 1;
    }
    uint64_t first_hash = 0;
    for (uint64_t turn = 0; turn <= count; ++turn) {
        const uint64_t seed = turn == 0 ? first : first + turn - 1;
        INFO("GPUORCH_TEST_SEED=", seed);
        host::Schedule schedule(seed);
        body();
        REQUIRE_FALSE(schedule.deadlocked());
        if (turn == 0) first_hash = schedule.trace_hash();
        if (turn == 1) REQUIRE(schedule.trace_hash() == first_hash);
    }
}

}  // namespace gpo::test
