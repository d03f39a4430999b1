// A runtime shuts down at any step of a scenario that runs in it, under explored schedules.
// GPUORCH_TEST_SCENARIO=name and GPUORCH_TEST_SEED=n replay one case.
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "driver/faults.h"
#include "faults/allocations.h"
#include "faults/attempt.h"
#include "host/host.h"
#include "host/schedule.h"

using namespace gpo::test;
namespace faults = gpo::driver::faults;

namespace {

/// The calls that failed because the runtime was shutting down or had been shut down.
using Refused = std::set<std::string>;

/// "gpo_cq_wait" of "gpo_cq_wait(queue, kPatience)"; the text itself if it is no call.
std::string function_in(const std::string& text) { return text.substr(0, text.find('(')); }

void shut_down_meanwhile(const Scenario& scenario, uint64_t seed, Refused& refused) {
    INFO(std::string(scenario.name) << ", GPUORCH_TEST_SEED=" << seed);
    gpo::host::Schedule schedule(seed);
    gpo_runtime_t runtime = nullptr;
    REQUIRE_OK(gpo_runtime_create(nullptr, &runtime));
    gpo_status ended = GPO_INTERNAL;
    std::atomic<bool> begun{false}, over{false};
    gpo::host::Thread ender;
    Trouble trouble{.name = "the runtime shuts down"};
    trouble.begin = [&] {
        ender = gpo::host::Thread("ender", [&] {
            // Begin the shutdown early or late: scenarios have between tens and thousands of crossings.
            for (uint64_t i = 0; i < (seed * 131 % 2003 >> seed % 6); ++i) gpo::host::crossing();
            begun = true;
            ended = gpo_runtime_shutdown(runtime, kPatience);
            over = true;
        });
    };
    trouble.end = [&] { ender.join(); };
    trouble.shuts_down = [&] { return begun.load(); };
    {
        Attempt a(trouble);
        // `after` runs before the new answer is judged: only now it is known whether the previous step failed.
        std::string last;
        int failures = 0;
        uint64_t steps = 0;
        const uint64_t stays_at = seed % 3 == 0 ? 1 + seed / 3 % 24 : 0;
        const auto settle = [&] {
            if (a.failures() > failures) refused.insert(last);
            failures = a.failures();
        };
        trouble.after = [&](const char* text) {
            settle();
            last = function_in(text);
            gpo::host::crossing();   // between two calls as well as within one
            // In a part of the runs, one step waits until the shutdown has ended, or nearly so: the shutdown may itself
            // wait for the scenario.
            if (++steps == stays_at)
                for (int i = 0; i < 2000 && !over; ++i) gpo::host::crossing();
        };
        a.use(runtime);
        trouble.begin();
        scenario.run(a);
        settle();
        a.finish();
    }
    CHECK_OK(ended);
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_runtime_shutdown(runtime, 0));
    CHECK(gpo::host::detail::running_threads() == 0);
    CHECK_FALSE(schedule.deadlocked());
}

/// Module functions, all of which a shutdown has to meet in the scenarios that start a compiler.
const char* const kOfModules[] = {"gpo_module_compile", "gpo_module_get_image", "gpo_module_load",
                                  "gpo_module_get_symbol", "gpo_module_get_kernel"};

}  // namespace

TEST_CASE("a runtime can be shut down at any step of what uses it: every call gives a status, and no thread is left") {
    const char* only = std::getenv("GPUORCH_TEST_SCENARIO");
    const char* one = std::getenv("GPUORCH_TEST_SEED");
    uint64_t count = 100;
    if (const char* text = std::getenv("GPUORCH_TEST_SEEDS")) count = std::strtoull(text, nullptr, 10) / 10;
    Refused refused;
    for (const auto& scenario : scenarios()) {
        if (only && std::string_view(scenario.name) != only) continue;
        if (one) shut_down_meanwhile(scenario, std::strtoull(one, nullptr, 10), refused);
        // While a compiler runs nothing else does, and it takes a quarter of a second each time.
        const uint64_t seeds = scenario.compiles ? std::max<uint64_t>(count / 25, 1) : count;
        for (uint64_t seed = 1; !one && seed <= seeds; ++seed) shut_down_meanwhile(scenario, seed, refused);
    }
    if (only || one || count < 100) return;
    for (const char* function : kOfModules) {
        CAPTURE(std::string(function));
        CHECK(refused.count(function) == 1);
    }
}

TEST_CASE(
    "a runtime can be shut down while the compiler runs: the call ends with a status, and nothing of it is left") {
    const int turns = full() ? 40 : 4;
    for (int turn = 0; turn < turns; ++turn) {
        CAPTURE(turn);
        gpo_runtime_t runtime = nullptr;
        gpo_device_t device = nullptr;
        REQUIRE_OK(gpo_runtime_create(nullptr, &runtime));
        REQUIRE_OK(gpo_device_open(runtime, nullptr, &device));
        gpo_status compiled = GPO_INTERNAL;
        gpo_module_t module = nullptr;
        std::thread compiler([&] {
            auto options = sized<gpo_compile_options>();
            options.flags = GPO_COMPILE_NO_CACHE;
            options.source = "extern \"C\" __global__ void nothing() {}";
            compiled = gpo_module_compile(device, &options, &module);
        });
        // Some turns shut down before the compiler starts, others when it may already have ended.
        std::this_thread::sleep_for(std::chrono::milliseconds(turn % 4 * 60));
        const gpo_status ended = gpo_runtime_shutdown(runtime, kPatience);
        compiler.join();
        CHECK_OK(ended);
        INFO(std::string(gpo_status_name(compiled)));
        CHECK((compiled == GPO_SUCCESS || compiled == GPO_SHUT_DOWN || compiled == GPO_INVALID_HANDLE ||
               compiled == GPO_STALE_HANDLE));
        CHECK((module != nullptr) == (compiled == GPO_SUCCESS));
        gpo_kernel_t kernel = nullptr;
        if (module) CHECK_STATUS(GPO_INVALID_HANDLE, gpo_module_get_kernel(module, "nothing", &kernel));
        CHECK_STATUS(GPO_INVALID_HANDLE, gpo_runtime_shutdown(runtime, 0));
        CHECK(gpo::host::detail::running_threads() == 0);
        CHECK((waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD));   // no compiler is left
    }
}

// Memory is freed behind the marks that streams leave when they are destroyed.
TEST_CASE("a shutdown waits for what runs on a stream that was destroyed without memory for a mark" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Stream stream = gpu.stream();
    gate.put_on(stream);
    allocations::arm(1, true);
    stream.reset();
    const gpo_status status = gpo_runtime_shutdown(gpu.runtime, 20'000'000);
    CHECK(allocations::disarm() > 0);
    CHECK_STATUS(GPO_TIMEOUT, status);
}

TEST_CASE("a shutdown waits for what runs on a stream of which the driver said nothing when it was destroyed" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Stream stream = gpu.stream();
    gate.put_on(stream);
    faults::arm(
        {.function = gpo::driver::Function::cuStreamQuery, .kth = 1, .result = CUDA_ERROR_UNKNOWN, .for_ever = true});
    stream.reset();
    CHECK(faults::failed() > 0);
    faults::disarm();
    CHECK_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(gpu.runtime, 20'000'000));
}
