// A runtime shuts down while a call creates an object: either the call fails, or the shutdown ends the object.
#include <doctest/doctest.h>

#include <vector>

#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

constexpr int64_t kPatience = 10'000'000'000;

gpo_runtime_t make_runtime(gpo_log_fn log = nullptr, void* user = nullptr) {
    gpo_runtime_options options{};
    options.struct_size = sizeof options;
    options.device = "soft";
    options.log = log;
    options.log_user = user;
    gpo_runtime_t runtime = nullptr;
    REQUIRE(gpo_runtime_create(&options, &runtime) == GPO_SUCCESS);
    return runtime;
}

/// Opens a deterministic runtime, which only works while no other runtime is left.
void check_that_none_is_left() {
    CHECK(gpo_runtime_shutdown(gpo::test::make_soft_runtime(1), kPatience) == GPO_SUCCESS);
}

/// Runs `call` during a shutdown. Allowed results: GPO_SUCCESS, GPO_SHUT_DOWN, or the status of a stale handle.
template <class Call>
void meet(uint64_t seeds, Call call) {
    gpo::test::explore(seeds, [&](uint64_t seed) {
        const gpo_runtime_t runtime = make_runtime();
        gpo_status status = GPO_INTERNAL;
        call.prepare(runtime);
        gpo::host::Thread calls("calls", [&] { status = call(runtime); });
        for (uint64_t i = 0; i < seed % 16; ++i) gpo::host::crossing();
        CHECK(gpo_runtime_shutdown(runtime, kPatience) == GPO_SUCCESS);
        calls.join();
        CAPTURE(status);
        CHECK((status == GPO_SUCCESS || status == GPO_SHUT_DOWN || status == GPO_STALE_HANDLE ||
               status == GPO_INVALID_HANDLE));
        CHECK(gpo::host::detail::running_threads() == 0);
    });
    check_that_none_is_left();
}

/// A template with the last reference to a module. The module is unloaded behind the work of all streams, one of which
/// has work.
gpo_template_t make_template_with_module(gpo_runtime_t runtime, uint64_t* memory) {
    gpo_device_t device = nullptr;
    gpo_module_t module = nullptr;
    gpo_kernel_t kernel = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_template_t built = nullptr;
    const uint32_t value = 1;
    const uint64_t count = 1;
    REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
    REQUIRE(gpo_module_load_builtin(device, &module) == GPO_SUCCESS);
    REQUIRE(gpo_module_get_kernel(module, "gpo_fill_u32", &kernel) == GPO_SUCCESS);
    REQUIRE(gpo_memory_allocate(device, 64, nullptr, memory) == GPO_SUCCESS);
    REQUIRE(gpo_template_create(device, nullptr, &built) == GPO_SUCCESS);
    gpo_launch launch{};
    launch.struct_size = sizeof launch;
    launch.grid[0] = 1;
    launch.block[0] = 32;
    const void* arguments[] = {memory, &value, &count};
    REQUIRE(gpo_template_add_kernel(built, nullptr, 0, kernel, &launch, arguments, nullptr, 3, nullptr) == GPO_SUCCESS);
    REQUIRE(gpo_kernel_destroy(kernel) == GPO_SUCCESS);
    REQUIRE(gpo_module_destroy(module) == GPO_SUCCESS);
    REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
    REQUIRE(gpo_fill(stream, *memory, 0, 4, 1) == GPO_SUCCESS);
    return built;
}

}  // namespace

TEST_CASE("an executor that is being made when its runtime shuts down is not made, and its threads end") {
    struct {
        void prepare(gpo_runtime_t) {}
        gpo_status operator()(gpo_runtime_t runtime) {
            gpo_executor_t executor = nullptr;
            return gpo_executor_create(runtime, nullptr, &executor);
        }
    } make_executor;
    meet(1000, make_executor);
}

TEST_CASE("the log function makes no executor when the runtime has shut down as far as that") {
    struct Log {
        gpo_runtime_t runtime = nullptr;
        std::vector<gpo_status> statuses;
        static void take(void* user, int32_t, const char*) {
            Log& log = *static_cast<Log*>(user);
            gpo_executor_t executor = nullptr;
            log.statuses.push_back(gpo_executor_create(log.runtime, nullptr, &executor));
        }
    };
    gpo::test::explore(100, [] {
        Log log;
        log.runtime = make_runtime(Log::take, &log);
        gpo_device_t device = nullptr;
        uint64_t never_freed = 0;
        REQUIRE(gpo_device_open(log.runtime, nullptr, &device) == GPO_SUCCESS);
        REQUIRE(gpo_memory_allocate(device, 64, nullptr, &never_freed) == GPO_SUCCESS);
        REQUIRE(gpo_device_close(device) == GPO_SUCCESS);
        CHECK(gpo_runtime_shutdown(log.runtime, kPatience) == GPO_SUCCESS);
        CHECK(log.statuses == std::vector<gpo_status>{GPO_SHUT_DOWN});
        CHECK(gpo::host::detail::running_threads() == 0);
    });
    check_that_none_is_left();
}

TEST_CASE("a runtime that shuts down while its log lines are given to an executor goes, and the executor with it") {
    struct {
        gpo_executor_t executor = nullptr;
        void prepare(gpo_runtime_t runtime) {
            gpo_executor_options options{};
            options.struct_size = sizeof options;
            options.flags = GPO_EXECUTOR_CALLER;
            REQUIRE(gpo_executor_create(runtime, &options, &executor) == GPO_SUCCESS);
        }
        gpo_status operator()(gpo_runtime_t runtime) { return gpo_runtime_set_log_executor(runtime, executor); }
    } give_log;
    meet(1000, give_log);
}

TEST_CASE("a trace that is begun while its runtime shuts down is ended by that") {
    struct {
        void prepare(gpo_runtime_t) {}
        gpo_status operator()(gpo_runtime_t runtime) { return gpo_trace_start(runtime, nullptr); }
    } start_trace;
    meet(1000, start_trace);
}

TEST_CASE("memory that was freed behind a stream that fails is given back by the shutdown, and the device with it") {
    gpo::test::explore(3000, [](uint64_t seed) {
        const gpo_runtime_t runtime = make_runtime();
        gpo_device_t device = nullptr;
        gpo_arena_t arena = nullptr;
        gpo_stream_t stream = nullptr;
        gpo_timeline_t timeline = nullptr;
        void* piece = nullptr;
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        REQUIRE(gpo_arena_create(device, nullptr, &arena) == GPO_SUCCESS);
        REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
        REQUIRE(gpo_timeline_create(runtime, nullptr, &timeline) == GPO_SUCCESS);
        REQUIRE(gpo_arena_allocate(arena, 256, 0, &piece) == GPO_SUCCESS);
        REQUIRE(gpo_stream_wait_timeline(stream, timeline, 1) == GPO_SUCCESS);
        REQUIRE(gpo_arena_free_after(arena, piece, stream) == GPO_SUCCESS);
        // The stream fails and notifies the scanner. An errand then puts a mark on each stream, in order to find out
        // when no stream uses the piece any more.
        REQUIRE(gpo_timeline_destroy(timeline) == GPO_SUCCESS);
        for (uint64_t i = 0; i < seed % 16; ++i) gpo::host::crossing();
        CHECK(gpo_runtime_shutdown(runtime, kPatience) == GPO_SUCCESS);
        CHECK(gpo::host::detail::running_threads() == 0);
    });
    check_that_none_is_left();
}

TEST_CASE("a template that only a failing call still holds when its runtime shuts down is destroyed before the end") {
    struct {
        gpo_template_t built = nullptr;
        uint64_t memory = 0;
        void prepare(gpo_runtime_t runtime) { built = make_template_with_module(runtime, &memory); }
        gpo_status operator()(gpo_runtime_t) {
            gpo_status status = GPO_INVALID_ARGUMENT;
            while (status == GPO_INVALID_ARGUMENT) {
                gpo::host::step();
                status = gpo_template_add_fill(built, nullptr, 0, memory, 0, 3, 1, nullptr);   // 3: no size of elements
            }
            return status;
        }
    } fail_until_the_end;
    meet(5000, fail_until_the_end);
}

TEST_CASE("a template that is destroyed while its runtime shuts down is destroyed before the end") {
    struct {
        gpo_template_t built = nullptr;
        uint64_t memory = 0;
        void prepare(gpo_runtime_t runtime) { built = make_template_with_module(runtime, &memory); }
        gpo_status operator()(gpo_runtime_t) { return gpo_template_destroy(built); }
    } destroy_template;
    meet(5000, destroy_template);
}
