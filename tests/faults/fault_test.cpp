// Each allocation and each driver call fails in turn, first alone, then together with all later ones. Devices are lost
// at every step.
// GPUORCH_TEST_SCENARIO=name and GPUORCH_TEST_FAULT=k replay a failure: one scenario, its k-th call. (On the library's
// own threads the k-th allocation may differ in the replay; the failure names the thread and the place.)
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.h"
#include "driver/faults.h"
#include "faults/allocations.h"
#include "faults/attempt.h"
#include "faults/places.h"
#include "support/coverage.h"
#include "support/report.h"
#include "support/threads.h"

using namespace gpo::test;
namespace faults = gpo::driver::faults;

namespace {

// Every driver that is opened in this program can be made to fail.
[[maybe_unused]] const bool wrapped = [] {
    setenv("GPUORCH_SOFT_DEVICES", "2", 0);
    setenv("GPUORCH_DEVICE", "soft", 1);
    gpo::driver::set_interposer(
        [](std::shared_ptr<gpo::driver::Driver> driver) { return faults::wrap(std::move(driver)); });
    return true;
}();

const Trouble kNone{.name = "nothing goes wrong", .must_succeed = true};

using Places = std::vector<uint64_t>;   // of the calls of a scenario (places.h)

Places allocations_of(const Scenario& scenario) {
    Places found;
    Trouble count{.name = "counting allocations", .must_succeed = true};
    count.begin = [] { allocations::watch(); };
    count.end = [&found] { found = places::end(allocations::disarm()); };
    attempt(scenario, count);
    return found;
}

// They differ from run to run: all count.
Places allocations_on_threads_of(const Scenario& scenario) {
    Places found;
    Trouble count{.name = "counting allocations on the library's threads", .must_succeed = true};
    count.begin = [] { allocations::arm_threads(UINT64_MAX, 0); };
    count.end = [&found] { found.resize(allocations::disarm_threads()); };
    attempt(scenario, count);
    return found;
}

Places driver_calls_of(const Scenario& scenario) {
    Places found;
    Trouble count{.name = "counting driver calls", .must_succeed = true};
    count.begin = [] {
        places::begin();
        faults::arm(
            {.function = {}, .kth = UINT64_MAX, .watch = [](gpo::driver::Function function, uint64_t number) noexcept {
                 places::note(static_cast<uint32_t>(function), number);
             }});
    };
    count.end = [&found] {
        found = places::end(faults::seen());
        faults::disarm();
    };
    attempt(scenario, count);
    return found;
}

Trouble allocation_trouble(uint64_t kth, bool for_ever) {
    Trouble trouble{.name = "allocation " + std::to_string(kth) + (for_ever ? " and all after it" : "") + " fails"};
    trouble.begin = [=] { allocations::arm(kth, for_ever); };
    trouble.end = [] { allocations::disarm(); };
    trouble.happened = [] { return allocations::failed() > 0; };
    trouble.once = !for_ever;
    trouble.no_memory = true;
    return trouble;
}

constexpr uint64_t kSpell = 30'000'000;   // ns

Trouble thread_trouble(uint64_t kth, uint64_t spell_ns) {
    Trouble trouble{.name = "allocation " + std::to_string(kth) + " on the library's threads" +
                            (spell_ns ? " and all after it for a while fail" : " fails")};
    trouble.begin = [=] { allocations::arm_threads(kth, spell_ns); };
    trouble.end = [] { allocations::disarm_threads(); };
    trouble.where = allocations::where_on_threads;
    trouble.no_memory = true;
    return trouble;
}

Trouble driver_trouble(uint64_t kth, CUresult result, bool for_ever) {
    Trouble trouble{.name = "driver call " + std::to_string(kth) + (for_ever ? " and all after it give " : " gives ") +
                            std::to_string(result)};
    trouble.begin = [=] { faults::arm({.function = {}, .kth = kth, .result = result, .for_ever = for_ever}); };
    trouble.end = [] { faults::disarm(); };
    trouble.happened = [] { return faults::failed() > 0; };
    trouble.no_memory = result == CUDA_ERROR_OUT_OF_MEMORY;
    return trouble;
}

constexpr CUresult kResults[] = {
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_UNKNOWN,
    CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_SYSTEM_NOT_READY,
};
constexpr CUresult kLosses[] = {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_ASSERT,
                                CUDA_ERROR_CONTEXT_IS_DESTROYED};

constexpr uint64_t kSample = 24;

/// All codes if `all`, otherwise the next in turn.
std::vector<CUresult> codes(std::span<const CUresult> which, size_t& turn, bool all = full()) {
    if (all) return {which.begin(), which.end()};
    return {which[turn++ % which.size()]};
}

/// Makes the k-th driver call report that the device is lost: only this call, then also all later calls. After the
/// second walk another code is reported, but the recorded error must stay the same.
void lose_device(const Scenario& scenario, uint64_t kth, CUresult first) {
    Trouble once = driver_trouble(kth, first, false);
    once.name += " (lost)";
    attempt(scenario, once);
    const CUresult second = first == kLosses[0] ? kLosses[1] : kLosses[0];
    Trouble lasting = driver_trouble(kth, first, true);
    lasting.name += " (lost)";
    Attempt* attempted = nullptr;
    lasting.end = [&] {
        auto before = sized<gpo_error>(), after = sized<gpo_error>();
        const bool known = attempted->device && gpo_object_get_error(attempted->device, &before) == GPO_SUCCESS &&
                           before.status == GPO_DEVICE_LOST;
        faults::arm({.function = {}, .kth = 1, .result = second, .for_ever = true});
        if (known) {
            CHECK(gpo_device_wait(attempted->device, 0) == GPO_DEVICE_LOST);
            CHECK(gpo_object_get_error(attempted->device, &after) == GPO_SUCCESS);
            CHECK(after.native_code == before.native_code);
            CHECK(std::string(after.message) == before.message);
        }
        faults::disarm();
    };
    attempt(scenario, lasting, &attempted);
}

void each_scenario(const std::function<void(const Scenario&)>& test) {
    const char* only = std::getenv("GPUORCH_TEST_SCENARIO");
    for (const auto& scenario : scenarios())
        if (!only || std::string_view(only) == scenario.name) test(scenario);
}

}  // namespace

TEST_CASE("the scenarios succeed when nothing goes wrong, and together call every exported function") {
    each_scenario([](const Scenario& scenario) { attempt(scenario, kNone); });
    if (std::getenv("GPUORCH_TEST_SCENARIO")) return;
    for (const auto& function : coverage()) {
        CAPTURE(std::string(function.name));
        CHECK(function.successes.load() > 0);
    }
}

TEST_CASE("an allocation that fails once: a status, nothing lost, and the same call succeeds when it is made again") {
    Choice choice(kSample);
    each_scenario([&](const Scenario& scenario) {
        const Places places = allocations_of(scenario);
        REQUIRE(!places.empty());
        for (uint64_t kth : choice.of(scenario, places)) attempt(scenario, allocation_trouble(kth, false));
    });
}

TEST_CASE("no memory from some allocation on: statuses, nothing lost, and all is well when there is memory again") {
    Choice choice(kSample);
    each_scenario([&](const Scenario& scenario) {
        for (uint64_t kth : choice.of(scenario, allocations_of(scenario)))
            attempt(scenario, allocation_trouble(kth, true));
    });
}

TEST_CASE("no memory on the library's own threads, once or for a while: nothing ends, hangs or is lost") {
    // Which allocation is the k-th, and how many there are, differs from run to run: some attempts may see no failure.
    uint64_t attempts = 0, happened = 0;
    Choice choice(kSample);
    each_scenario([&](const Scenario& scenario) {
        const Places places = allocations_on_threads_of(scenario);
        if (places.empty()) return;
        for (uint64_t kth : choice.of(scenario, places))
            for (uint64_t spell_ns : {uint64_t{0}, kSpell}) {
                attempt(scenario, thread_trouble(kth, spell_ns));
                ++attempts;
                happened += allocations::failed_on_threads() > 0;
            }
    });
    if (!std::getenv("GPUORCH_TEST_SCENARIO")) CHECK(happened > 10);
}

/// Starts a trace while allocation k fails, for increasing k, until the start succeeds. Calls `look` after failures.
template <class Look>
void trace_at_last(gpo_runtime_t runtime, const std::string& path, const Look& look) {
    auto options = sized<gpo_trace_options>();
    options.path = path.c_str();
    gpo_status status = GPO_INTERNAL;
    for (uint64_t kth = 1; status != GPO_SUCCESS && kth < 1000; ++kth) {
        CAPTURE(path);
        CAPTURE(kth);
        allocations::arm(kth, false);
        status = gpo_trace_start(runtime, &options);
        allocations::disarm();
        // The limit: there is no thread.
        CHECK((status == GPO_SUCCESS || status == GPO_OUT_OF_MEMORY || status == GPO_LIMIT_EXCEEDED));
        if (status != GPO_SUCCESS) look();
    }
    CHECK_OK(gpo_trace_stop(runtime));
}

TEST_CASE("a trace that can't begin removes no pipe and no device") {
    gpo_runtime_t runtime = nullptr;
    REQUIRE_OK(gpo_runtime_create(nullptr, &runtime));
    const std::string path = "/tmp/gpuorch-test-device-" + std::to_string(getpid());
    REQUIRE(symlink("/dev/null", path.c_str()) == 0);
    trace_at_last(runtime, path, [&] { REQUIRE(access(path.c_str(), F_OK) == 0); });
    CHECK_OK(gpo_runtime_shutdown(runtime, kPatience));
    unlink(path.c_str());
}

TEST_CASE("a trace that can't begin leaves the file as it was, or none") {
    gpo_runtime_t runtime = nullptr;
    REQUIRE_OK(gpo_runtime_create(nullptr, &runtime));
    const std::filesystem::path folder = "/tmp/gpuorch-test-begun-" + std::to_string(getpid());
    std::filesystem::create_directory(folder);
    for (const std::string ending : {".json", ".json.gz"}) {
        const std::filesystem::path made = folder / ("folder/made" + ending), there = folder / ("there" + ending);
        trace_at_last(runtime, made, [&] { CHECK(std::filesystem::is_empty(folder)); });
        const std::string before(100'000, 'x');
        std::ofstream(there) << before;
        trace_at_last(runtime, there, [&] {
            std::string now;
            std::getline(std::ifstream(there), now);
            CHECK((now == before));
        });
        for (const auto& path : {made, there}) CHECK(std::filesystem::file_size(path) < before.size());
        std::filesystem::remove_all(made.parent_path());
        std::filesystem::remove(there);
    }
    CHECK_OK(gpo_runtime_shutdown(runtime, kPatience));
    std::filesystem::remove_all(folder);
}

TEST_CASE("a driver call that fails once, with each plausible code") {
    Choice choice(2 * kSample);
    each_scenario([&](const Scenario& scenario) {
        const Places places = driver_calls_of(scenario);
        REQUIRE(!places.empty());
        size_t turn = 0;
        for (uint64_t kth : choice.of(scenario, places))
            for (CUresult result : codes(kResults, turn)) attempt(scenario, driver_trouble(kth, result, false));
    });
}

TEST_CASE("a driver whose calls fail for ever from some call on, with each plausible code") {
    Choice choice(kSample);
    each_scenario([&](const Scenario& scenario) {
        size_t turn = std::size(kResults) / 2;   // other codes than where they fail once
        for (uint64_t kth : choice.of(scenario, driver_calls_of(scenario)))
            for (CUresult result : codes(kResults, turn)) attempt(scenario, driver_trouble(kth, result, true));
    });
}

TEST_CASE("a device that is lost at some step: everything pending completes once, and the first status is kept") {
#if defined(__SANITIZE_THREAD__)
    // A lost device keeps its addresses, and ThreadSanitizer keeps memory for every address ever used: more than 24 GB
    // for all cases.
    const bool all = false;
    const uint64_t sample = (full() ? 4 : 1) * kSample;
#else
    const bool all = full();
    const uint64_t sample = kSample;
#endif
    Choice choice(sample, all);
    each_scenario([&](const Scenario& scenario) {
        size_t turn = 0;
        for (uint64_t kth : choice.of(scenario, driver_calls_of(scenario)))
            for (CUresult first : codes(kLosses, turn, all)) lose_device(scenario, kth, first);
    });
}

TEST_CASE("pinned memory that the driver won't let go of costs addresses, but no memory") {
#if defined(__SANITIZE_THREAD__)
    skip("ThreadSanitizer keeps memory of its own for every address that was ever used");
    return;
#endif
    const auto resident = [] {
        uint64_t whole = 0, pages = 0;
        std::ifstream("/proc/self/statm") >> whole >> pages;
        return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    };
    Trouble trouble{.name = "no memory is ever unregistered"};
    uint64_t refused = 0;
    trouble.begin = [] {
        faults::arm({.function = gpo::driver::Function::cuMemHostUnregister,
                     .kth = 1,
                     .result = CUDA_ERROR_UNKNOWN,
                     .for_ever = true});
    };
    trouble.end = [&refused] {
        refused += faults::failed();
        faults::disarm();
    };
    const auto& all = scenarios();
    const auto tuned = std::find_if(all.begin(), all.end(), [](const Scenario& scenario) {
        return std::string_view(scenario.name) == "tuned pipeline";
    });
    REQUIRE(tuned != all.end());
    attempt(*tuned, trouble);
    REQUIRE(refused > 0);
    const uint64_t before = resident();
    for (int turn = 0; turn < 10; ++turn) attempt(*tuned, trouble);
#if defined(__SANITIZE_ADDRESS__)
    const uint64_t freed = 48 << 20;   // memory that was freed and that AddressSanitizer keeps
#else
    const uint64_t freed = 0;
#endif
    CHECK(resident() < before + freed + (16 << 20));   // ten times as much was pinned
}

TEST_CASE(
    "an arena or pool that is destroyed with a piece still out goes with its runtime, whichever allocation fails "
    "meanwhile") {
    for (const bool pool : {false, true}) {
        CAPTURE(pool);
        for (uint64_t kth = 1, failed = 1; failed != 0; ++kth) {
            CAPTURE(kth);
            const uint64_t before = threads_of_process();
            gpo_runtime_t runtime = nullptr;
            gpo_device_t device = nullptr;
            gpo_stream_t stream = nullptr;
            gpo_arena_t arena = nullptr;
            gpo_pool_t of_device = nullptr;
            void* memory = nullptr;
            uint64_t address = 0;
            REQUIRE_OK(gpo_runtime_create(nullptr, &runtime));
            REQUIRE_OK(gpo_device_open(runtime, nullptr, &device));
            if (pool) {
                REQUIRE_OK(gpo_pool_create(device, nullptr, &of_device));
                REQUIRE_OK(gpo_stream_create(device, nullptr, &stream));
                REQUIRE_OK(gpo_pool_allocate(of_device, stream, 64, &address));
                REQUIRE_OK(gpo_stream_wait(stream, kPatience));
            } else {
                REQUIRE_OK(gpo_arena_create(device, nullptr, &arena));
                REQUIRE_OK(gpo_arena_allocate(arena, 64, 0, &memory));
            }
            CHECK(threads_of_process() > before);
            allocations::arm(kth, false);
            const gpo_status destroyed = pool ? gpo_pool_destroy(of_device) : gpo_arena_destroy(arena);
            failed = allocations::failed();
            allocations::disarm();
            CHECK_OK(destroyed);
            CHECK_OK(gpo_runtime_shutdown(runtime, kPatience));
            // The piece holds its arena or pool, which holds the context, which holds its device's threads.
            for (int looks = 0; threads_of_process() != before && looks < 3000; ++looks) usleep(1000);
            REQUIRE(threads_of_process() == before);
        }
    }
}

TEST_CASE("a notify on an event of a device that is lost is accepted and told of the loss, as one on a stream is") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Event event = gpu.event();
    Queue queue = gpu.queue(3);
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    REQUIRE_OK(gpo_event_record(event, stream));
    REQUIRE_OK(gpo_event_wait(event, kPatience));
    faults::arm({.function = gpo::driver::Function::cuStreamQuery,
                 .kth = 1,
                 .result = CUDA_ERROR_ILLEGAL_ADDRESS,
                 .for_ever = true});
    CHECK_STATUS(GPO_DEVICE_LOST, gpo_stream_query(stream));
    faults::disarm();
    std::vector<gpo_status> told;
    const gpo_completion_fn tell = [](void* user, const gpo_completion* completion, const gpo_error* error) {
        CHECK(error != nullptr);
        static_cast<std::vector<gpo_status>*>(user)->push_back(completion->status);
    };
    CHECK_OK(gpo_stream_notify(stream, queue, 1));
    CHECK_OK(gpo_event_notify(event, queue, 2));
    CHECK_OK(gpo_stream_then(stream, executor, tell, &told));
    CHECK_OK(gpo_event_then(event, executor, tell, &told));
    for (const auto& entry : take(queue, 2)) {
        CAPTURE(entry.user_data);
        CHECK(entry.status == GPO_DEVICE_LOST);
        CHECK(entry.origin == (entry.user_data == 1 ? GPO_ORIGIN_STREAM : GPO_ORIGIN_EVENT));
        auto error = sized<gpo_error>();
        CHECK_OK(gpo_cq_get_error(queue, entry.error_id, &error));
        CHECK(error.status == GPO_DEVICE_LOST);
    }
    CHECK_OK(gpo_executor_run_for(executor, kPatience, nullptr));
    CHECK(told == std::vector<gpo_status>{GPO_DEVICE_LOST, GPO_DEVICE_LOST});
}

TEST_CASE("a query that gives an error in place of not ready ends the wait with it") {
    using gpo::driver::Function;
    for (Function function : {Function::cuEventQuery, Function::cuStreamQuery}) {
        for (CUresult result : {CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_UNKNOWN, CUDA_ERROR_ILLEGAL_ADDRESS}) {
            CAPTURE(result);
            Gpu gpu;
            Stream stream = gpu.stream("watched");
            Event event = gpu.event();
            Queue queue = gpu.queue();
            faults::arm({.function = function, .kth = 1, .result = result, .for_ever = true});
            gpo_event_record(event, stream);
            const gpo_status notified = gpo_stream_notify(stream, queue, 1);
            const gpo_status waited = gpo_stream_wait(stream, kPatience);
            CHECK(waited != GPO_TIMEOUT);
            CHECK(gpo_event_wait(event, kPatience) != GPO_TIMEOUT);
            if (notified == GPO_SUCCESS) {
                const auto entry = take(queue, 1)[0];
                if (function == Function::cuEventQuery) CHECK(entry.status >= 50);
            }
            faults::disarm();
        }
    }
}

TEST_CASE("a timeline fails with the work before its signal that the GPU was given, for everybody who waits for it" *
          gated) {
    Gpu gpu;
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Timeline timeline = gpu.timeline();
    Stream stream = gpu.stream("signals"), held = gpu.stream();
    gate.put_on(stream);
    REQUIRE_OK(gpo_stream_signal_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_timeline_notify(timeline, 1, queue, 1));
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 2));   // a signal that hasn't been submitted
    REQUIRE_OK(gpo_stream_notify(held, queue, 2));
    faults::arm(
        {.function = gpo::driver::Function::cuEventQuery, .kth = 1, .result = CUDA_ERROR_UNKNOWN, .for_ever = true});
    const gpo_status waited = gpo_timeline_wait(timeline, 1, kPatience);
    faults::disarm();
    gate.open();
    CHECK(waited == GPO_DRIVER_ERROR);
    CHECK(std::string(last_error().message).find("signals") != std::string::npos);
    uint64_t value = 0;
    CHECK_STATUS(GPO_DRIVER_ERROR, gpo_timeline_get_value(timeline, &value));
    CHECK_STATUS(GPO_FAILED, gpo_timeline_signal(timeline, 2));
    int seen = 0;
    for (const auto& entry : take(queue, 2)) {
        CHECK(entry.status == GPO_DRIVER_ERROR);
        seen += static_cast<int>(entry.user_data);
    }
    CHECK(seen == 3);
}

TEST_CASE("what is held behind work that a query tells to have failed fails with it, and never runs" * gated) {
    for (const bool released : {true, false}) {
        CAPTURE(released);
        Gpu gpu;
        Gate gate(gpu);
        Writer writer(gpu);
        Timeline timeline = gpu.timeline();
        Queue queue = gpu.queue();
        Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
        Stream stream = gpu.stream();
        gate.put_on(stream);
        REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        REQUIRE_OK(writer.write(stream, word.data(), 1));
        REQUIRE_OK(gpo_stream_notify(stream, queue, 2));
        faults::arm({.function = gpo::driver::Function::cuEventQuery, .kth = 1, .result = CUDA_ERROR_INVALID_HANDLE});
        const gpo_completion first = take(queue, 1)[0];
        faults::disarm();
        CHECK(first.user_data == 1);
        CHECK(first.status >= 50);
        if (released) CHECK_OK(gpo_timeline_signal(timeline, 1));
        gate.open();
        const gpo_completion second = take(queue, 1)[0];
        CHECK(second.user_data == 2);
        CHECK(second.status == first.status);
        CHECK_STATUS(first.status, gpo_stream_wait(stream, kPatience));
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
        CHECK(read(word[0]) == 0);
    }
}

TEST_CASE(
    "whoever waits for what is held behind work that fails is told, though nobody asked for a notify of that work" *
    gated) {
    enum class Waiting { stream, notify, event, device, timeline };
    for (const bool was_held : {false, true}) {   // the work too, before
        for (const Waiting waiting :
             {Waiting::stream, Waiting::notify, Waiting::event, Waiting::device, Waiting::timeline}) {
            CAPTURE(was_held);
            CAPTURE(static_cast<int>(waiting));
            Gpu gpu;
            Gate gate(gpu);
            Timeline first = gpu.timeline(), never = gpu.timeline(), behind = gpu.timeline();
            Queue queue = gpu.queue();
            Event event = gpu.event();
            Stream stream = gpu.stream();
            if (was_held) REQUIRE_OK(gpo_stream_wait_timeline(stream, first, 1));
            gate.put_on(stream);
            REQUIRE_OK(gpo_stream_wait_timeline(stream, never, 1));
            REQUIRE_OK(gpo_event_record(event, stream));
            REQUIRE_OK(gpo_stream_signal_timeline(stream, behind, 1));
            if (waiting == Waiting::notify) REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
            faults::arm(
                {.function = gpo::driver::Function::cuEventQuery, .kth = 1, .result = CUDA_ERROR_ILLEGAL_ADDRESS});
            REQUIRE_OK(gpo_timeline_signal(first, 1));
            gpo_status told = GPO_SUCCESS;
            switch (waiting) {
            case Waiting::stream: told = gpo_stream_wait(stream, kPatience); break;
            case Waiting::notify: told = take(queue, 1)[0].status; break;
            case Waiting::event: told = gpo_event_wait(event, kPatience); break;
            case Waiting::device: told = gpo_device_wait(gpu.device, kPatience); break;
            case Waiting::timeline: told = gpo_timeline_wait(behind, 1, kPatience); break;
            }
            faults::disarm();
            CHECK(told != GPO_TIMEOUT);
            if (waiting != Waiting::device) CHECK(told >= 50);
            gate.open();
        }
    }
}
