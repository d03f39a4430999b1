// A runtime shuts down while the scenarios are under way in it, under explored schedules: at any step of any of them.
// GPUORCH_TEST_SCENARIO=name and GPUORCH_TEST_SEED=n run one again.
#include <cstdlib>
#include <string_view>

#include "faults/attempt.h"
#include "host/host.h"
#include "host/schedule.h"

using namespace gpo::test;

namespace {

void shut_down_meanwhile(const Scenario& scenario, uint64_t seed) {
    INFO(std::string(scenario.name) << ", GPUORCH_TEST_SEED=" << seed);
    gpo::host::Schedule schedule(seed);
    gpo_runtime_t runtime = nullptr;
    REQUIRE_OK(gpo_runtime_create(nullptr, &runtime));
    gpo_status ended = GPO_INTERNAL;
    gpo::host::Thread ender;
    Trouble trouble{.name = "the runtime shuts down"};
    trouble.begin = [&] {
        ender = gpo::host::Thread("ender", [&] {
            // Soon, or when much has been done.
            for (uint64_t i = 0; i < seed * 131 % 2003; ++i) gpo::host::crossing();
            ended = gpo_runtime_shutdown(runtime, kPatience);
        });
    };
    trouble.end = [&] { ender.join(); };
    {
        Attempt a(trouble);
        a.use(runtime);
        trouble.begin();
        scenario.run(a);
        a.finish();
    }
    CHECK_OK(ended);
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_runtime_shutdown(runtime, 0));
    CHECK(gpo::host::detail::running_threads() == 0);
    CHECK_FALSE(schedule.deadlocked());
}

}  // namespace

TEST_CASE("a runtime can be shut down at any step of what uses it: every call gives a status, and no thread is left") {
    const char* only = std::getenv("GPUORCH_TEST_SCENARIO");
    const char* one = std::getenv("GPUORCH_TEST_SEED");
    uint64_t count = 100;
    if (const char* text = std::getenv("GPUORCH_TEST_SEEDS")) count = std::strtoull(text, nullptr, 10) / 10;
    for (const auto& scenario : scenarios()) {
        const std::string_view name = scenario.name;
        if (only ? name != only : scenario.real_time) continue;
        if (one) shut_down_meanwhile(scenario, std::strtoull(one, nullptr, 10));
        for (uint64_t seed = 1; !one && seed <= count; ++seed) shut_down_meanwhile(scenario, seed);
    }
}
