// Runs a scenario under many schedules. A failing one names its seed: GPUORCH_TEST_SEED=n runs that one alone, and
// GPUORCH_TEST_SEEDS=n runs as many instead of the number that the test asks for.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "host/schedule.h"

namespace gpo::test {

/// From which seed on, and how many.
struct Seeds {
    uint64_t first, count;
};

/// The environment's seeds, otherwise the given ones. ThreadSanitizer runs a tenth, because the threads of a schedule
/// run one at a time and hand over the turn: no races can be found among them.
inline Seeds seeds(Seeds otherwise) {
#ifdef __SANITIZE_THREAD__
    otherwise.count = (otherwise.count + 9) / 10;
#endif
    if (const char* text = std::getenv("GPUORCH_TEST_SEED")) return {std::strtoull(text, nullptr, 10), 1};
    if (const char* text = std::getenv("GPUORCH_TEST_SEEDS")) otherwise.count = std::strtoull(text, nullptr, 10);
    return otherwise;
}

/// Calls `body(seed)` for each of `count` seeds from 1 on: for bodies whose runtime makes the schedule (schedule_seed).
template <class Body>
void each_seed(uint64_t count, Body body) {
    const Seeds wanted = seeds({1, count});
    for (uint64_t seed = wanted.first; seed < wanted.first + wanted.count; ++seed) {
        INFO("GPUORCH_TEST_SEED=", seed);
        body(seed);
    }
}

/// `body()` or `body(seed)` runs inside a Schedule, once for each seed from 0 to count - 1; all threads that it starts
/// must have ended when it returns. The first seed runs twice, to prove that the scenario replays.
template <class Body>
void explore(uint64_t count, Body body) {
    const Seeds wanted = seeds({0, count});
    uint64_t first_hash = 0;
    for (uint64_t turn = 0; turn <= wanted.count; ++turn) {
        const uint64_t seed = turn == 0 ? wanted.first : wanted.first + turn - 1;
        INFO("GPUORCH_TEST_SEED=", seed);
        host::Schedule schedule(seed);
        if constexpr (std::is_invocable_v<Body, uint64_t>)
            body(seed);
        else
            body();
        REQUIRE_FALSE(schedule.deadlocked());
        if (turn == 0) first_hash = schedule.trace_hash();
        if (turn == 1) REQUIRE(schedule.trace_hash() == first_hash);
    }
}

}  // namespace gpo::test
