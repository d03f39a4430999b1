// Records by threads during a trace are in the trace, whenever the threads begin and end.
#include <doctest/doctest.h>

#include <vector>

#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/soft.h"

TEST_CASE("the calls of threads that come and go are in the trace, under every schedule") {
    constexpr int kThreads = 12;
    const auto [first, count] = gpo::test::seeds({1, 300});
    for (uint64_t seed = first; seed < first + count; ++seed) {
        INFO("GPUORCH_TEST_SEED=", seed);
        const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed);
        gpo_timeline_t timeline = nullptr;
        REQUIRE(gpo_timeline_create(runtime, nullptr, &timeline) == GPO_SUCCESS);
        gpo_trace_info info{};
        info.struct_size = sizeof info;
        REQUIRE(gpo_trace_start(runtime, nullptr) == GPO_SUCCESS);
        // Several threads at a time; all end before the next ones begin.
        for (int i = 0; i < kThreads / 4; ++i) {
            std::vector<gpo::host::Thread> threads;
            for (int k = 0; k < 4; ++k)
                threads.emplace_back("caller", [&] {
                    gpo::host::step(0);
                    uint64_t value = 0;
                    gpo_timeline_get_value(timeline, &value);
                });
            threads.clear();
        }
        REQUIRE(gpo_trace_stop(runtime) == GPO_SUCCESS);
        REQUIRE(gpo_trace_get_info(runtime, &info) == GPO_SUCCESS);
        CHECK(info.calls + info.dropped == kThreads);
        CHECK(info.dropped == 0);
        CHECK(gpo_timeline_destroy(timeline) == GPO_SUCCESS);
        CHECK(gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS);
    }
}
