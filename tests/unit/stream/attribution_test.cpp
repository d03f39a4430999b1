// Which operation a failure's message names: with a driver that reports the failed operation, and with a driver that
// doesn't.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "driver/driver.h"
#include "driver/faults.h"
#include "driver/call_recorder.h"
#include "gpuorch/gpuorch.h"
#include "support/soft.h"

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void fine(unsigned *target) { *target = 1; }
extern "C" __global__ void gate(const volatile unsigned *open) { while (*open == 0) { } }
extern "C" __global__ void deadly(unsigned *target) { __trap(); }
)";

struct Silent final : gpo::driver::Driver {
    explicit Silent(std::shared_ptr<gpo::driver::Driver> inner) : inner(std::move(inner)) {
        table = this->inner->table;
        version = this->inner->version;
        name = this->inner->name;
        software = this->inner->software;
        builtin_image = this->inner->builtin_image;
    }
    gpo::driver::Compiler& compiler() override { return inner->compiler(); }
    std::shared_ptr<gpo::driver::Driver> inner;
};

struct Messages {
    std::string culprit, innocent, joined;
};

// Records work of both streams into a capture, and drops the capture.
void capture_two_streams(gpo_device_t device, gpo_stream_t stream, gpo_stream_t joining) {
    const auto driver = gpo::driver::open_soft(nullptr);
    void *context = nullptr, *native = nullptr;
    CUcontext popped = nullptr;
    CUgraph graph = nullptr;
    gpo_event_t fork = nullptr, join = nullptr;
    REQUIRE(gpo_device_get_native(device, &context, nullptr) == GPO_SUCCESS);
    REQUIRE(gpo_stream_get_native(stream, &native) == GPO_SUCCESS);
    REQUIRE(gpo_event_create(device, nullptr, &fork) == GPO_SUCCESS);
    REQUIRE(gpo_event_create(device, nullptr, &join) == GPO_SUCCESS);
    REQUIRE(driver->table.cuCtxPushCurrent(static_cast<CUcontext>(context)) == CUDA_SUCCESS);
    REQUIRE(driver->table.cuStreamBeginCapture(static_cast<CUstream>(native), CU_STREAM_CAPTURE_MODE_RELAXED) ==
            CUDA_SUCCESS);
    REQUIRE(gpo_event_record(fork, stream) == GPO_SUCCESS);
    REQUIRE(gpo_stream_wait_event(joining, fork) == GPO_SUCCESS);
    REQUIRE(gpo_event_record(join, joining) == GPO_SUCCESS);
    REQUIRE(gpo_stream_wait_event(stream, join) == GPO_SUCCESS);
    REQUIRE(driver->table.cuStreamEndCapture(static_cast<CUstream>(native), &graph) == CUDA_SUCCESS);
    REQUIRE(driver->table.cuGraphDestroy(graph) == CUDA_SUCCESS);
    REQUIRE(driver->table.cuCtxPopCurrent(&popped) == CUDA_SUCCESS);
    REQUIRE(gpo_stream_wait(joining, 30'000'000'000) == GPO_SUCCESS);
}

Messages fail_on_two_streams() {
    gpo::driver::set_interposer(
        [](std::shared_ptr<gpo::driver::Driver> driver) -> std::shared_ptr<gpo::driver::Driver> {
            return std::make_shared<Silent>(std::move(driver));
        });
    gpo_device_t device = nullptr;
    gpo_arena_t arena = nullptr;
    gpo_module_t module = nullptr;
    gpo_kernel_t fine = nullptr, gate = nullptr, deadly = nullptr;
    gpo_stream_t culprit = nullptr, innocent = nullptr, captured = nullptr, joined = nullptr;
    const gpo_runtime_t runtime = gpo::test::make_soft_runtime();
    REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
    gpo_stream_options stream_options{};
    stream_options.struct_size = sizeof stream_options;
    stream_options.label = "culprit";
    REQUIRE(gpo_stream_create(device, &stream_options, &culprit) == GPO_SUCCESS);
    stream_options.label = "innocent";
    REQUIRE(gpo_stream_create(device, &stream_options, &innocent) == GPO_SUCCESS);
    REQUIRE(gpo_stream_create(device, nullptr, &captured) == GPO_SUCCESS);
    REQUIRE(gpo_stream_create(device, nullptr, &joined) == GPO_SUCCESS);
    capture_two_streams(device, captured, joined);
    REQUIRE(gpo_arena_create(device, nullptr, &arena) == GPO_SUCCESS);
    void* memory = nullptr;
    REQUIRE(gpo_arena_allocate(arena, 256, 0, &memory) == GPO_SUCCESS);
    auto* words = static_cast<unsigned*>(memory);
    words[0] = words[16] = 0;
    gpo_compile_options compile{};
    compile.struct_size = sizeof compile;
    compile.source = kSource;
    REQUIRE(gpo_module_compile(device, &compile, &module) == GPO_SUCCESS);
    REQUIRE(gpo_module_get_kernel(module, "fine", &fine) == GPO_SUCCESS);
    REQUIRE(gpo_module_get_kernel(module, "gate", &gate) == GPO_SUCCESS);
    REQUIRE(gpo_module_get_kernel(module, "deadly", &deadly) == GPO_SUCCESS);
    const auto put = [](gpo_stream_t stream, gpo_kernel_t kernel, unsigned* word, const char* label) {
        gpo_launch shape{};
        shape.struct_size = sizeof shape;
        for (int i = 0; i < 3; ++i) shape.grid[i] = shape.block[i] = 1;
        shape.label = label;
        const void* arguments[] = {&word};
        REQUIRE(gpo_stream_launch_kernel(stream, kernel, &shape, arguments, nullptr, 1) == GPO_SUCCESS);
    };
    for (int i = 0; i < 3; ++i) put(culprit, fine, &words[32], "done");
    REQUIRE(gpo_stream_wait(culprit, 30'000'000'000) == GPO_SUCCESS);
    // Gates block both streams, so that all work is pending when the failing kernel begins.
    put(innocent, gate, &words[16], "waiting");
    put(innocent, fine, &words[33], "next");
    put(culprit, gate, &words[0], "gate");
    put(culprit, deadly, &words[34], "the deadly one");
    put(culprit, fine, &words[35], "after");
    __atomic_store_n(&words[0], 1u, __ATOMIC_SEQ_CST);
    CHECK(gpo_stream_wait(culprit, 30'000'000'000) == GPO_DEVICE_LOST);
    CHECK(gpo_stream_wait(innocent, 30'000'000'000) == GPO_DEVICE_LOST);
    Messages messages;
    gpo_error error{};
    error.struct_size = sizeof error;
    CHECK(gpo_object_get_error(culprit, &error) == GPO_SUCCESS);
    messages.culprit = error.message;
    CHECK(gpo_object_get_error(innocent, &error) == GPO_SUCCESS);
    messages.innocent = error.message;
    CHECK(gpo_stream_wait(joined, 30'000'000'000) == GPO_DEVICE_LOST);
    CHECK(gpo_object_get_error(joined, &error) == GPO_SUCCESS);
    messages.joined = error.message;
    __atomic_store_n(&words[16], 1u, __ATOMIC_SEQ_CST);
    CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000) == GPO_SUCCESS);
    gpo::driver::set_interposer({});
    return messages;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("where the driver can't tell what failed, the suspects are what was not seen done") {
    const Messages said = fail_on_two_streams();
    INFO(said.culprit);
    INFO(said.innocent);
    CHECK(has(said.culprit, "suspects on stream `culprit`"));
    CHECK(has(said.culprit, "the deadly one"));
    CHECK(has(said.culprit, "after"));
    CHECK_FALSE(has(said.culprit, "done"));
    CHECK(has(said.innocent, "waiting"));
    CHECK(has(said.innocent, "next"));
    CHECK_FALSE(has(said.innocent, "the deadly one"));
}

TEST_CASE("with GPUORCH_ATTRIBUTE a stream has at most one suspect, the operation that ran") {
    setenv("GPUORCH_ATTRIBUTE", "1", 1);
    const Messages said = fail_on_two_streams();
    unsetenv("GPUORCH_ATTRIBUTE");
    INFO(said.culprit);
    INFO(said.innocent);
    CHECK(has(said.culprit, "suspects on stream `culprit`"));
    CHECK(has(said.culprit, "the deadly one"));
    CHECK_FALSE(has(said.culprit, "after"));
    CHECK_FALSE(has(said.culprit, "gate"));
    CHECK_FALSE(has(said.culprit, "done"));
    CHECK(has(said.innocent, "waiting"));
    CHECK_FALSE(has(said.innocent, "next"));
    CHECK_FALSE(has(said.joined, "suspects"));
}

TEST_CASE("the software GPU names the kernel that failed among those that had been held, and those that still are") {
    gpo_device_t device = nullptr;
    gpo_module_t module = nullptr;
    gpo_kernel_t fine = nullptr, deadly = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_timeline_t timeline = nullptr;
    gpo_cq_t queue = nullptr;
    uint64_t memory = 0;
    const gpo_runtime_t runtime = gpo::test::make_soft_runtime();
    REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
    REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
    REQUIRE(gpo_timeline_create(runtime, nullptr, &timeline) == GPO_SUCCESS);
    REQUIRE(gpo_cq_create(runtime, nullptr, &queue) == GPO_SUCCESS);
    REQUIRE(gpo_memory_allocate(device, 64, nullptr, &memory) == GPO_SUCCESS);
    gpo_compile_options compile{};
    compile.struct_size = sizeof compile;
    compile.source = kSource;
    REQUIRE(gpo_module_compile(device, &compile, &module) == GPO_SUCCESS);
    REQUIRE(gpo_module_get_kernel(module, "fine", &fine) == GPO_SUCCESS);
    REQUIRE(gpo_module_get_kernel(module, "deadly", &deadly) == GPO_SUCCESS);
    const auto put = [&](gpo_kernel_t kernel, const char* label) {
        gpo_launch shape{};
        shape.struct_size = sizeof shape;
        for (int i = 0; i < 3; ++i) shape.grid[i] = shape.block[i] = 1;
        shape.label = label;
        const void* arguments[] = {&memory};
        REQUIRE(gpo_stream_launch_kernel(stream, kernel, &shape, arguments, nullptr, 1) == GPO_SUCCESS);
    };
    REQUIRE(gpo_stream_wait_timeline(stream, timeline, 1) == GPO_SUCCESS);
    put(fine, "before");
    put(deadly, "the deadly one");
    put(fine, "after");
    REQUIRE(gpo_stream_notify(stream, queue, 1) == GPO_SUCCESS);
    REQUIRE(gpo_stream_wait_timeline(stream, timeline, 2) == GPO_SUCCESS);
    put(fine, "held");
    REQUIRE(gpo_timeline_signal(timeline, 1) == GPO_SUCCESS);
    REQUIRE(gpo_cq_wait(queue, 30'000'000'000) == GPO_SUCCESS);
    CHECK(gpo_stream_wait(stream, 30'000'000'000) == GPO_DEVICE_LOST);
    gpo_error error{};
    error.struct_size = sizeof error;
    CHECK(gpo_object_get_error(stream, &error) == GPO_SUCCESS);
    INFO(error.message);
    CHECK(error.operation == 3);
    CHECK(has(error.message, "it was kernel `the deadly one`"));
    CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000) == GPO_SUCCESS);
    CHECK(gpo_cq_destroy(queue) == GPO_SUCCESS);
}

TEST_CASE(
    "memory for GPUORCH_ATTRIBUTE that the driver gives no address for is kept for the next stream, and given back") {
    namespace faults = gpo::driver::faults;
    namespace recorder = gpo::driver::recorder;
    using gpo::driver::Function;
    setenv("GPUORCH_ATTRIBUTE", "1", 1);
    gpo::driver::set_interposer([](auto driver) { return faults::wrap(recorder::wrap(std::move(driver))); });
    recorder::clear();
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    const gpo_runtime_t runtime = gpo::test::make_soft_runtime();
    REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
    faults::arm({.function = Function::cuMemHostGetDevicePointer,
                 .kth = 1,
                 .result = CUDA_ERROR_OUT_OF_MEMORY,
                 .for_ever = true});
    for (int turn = 0; turn < 3; ++turn) CHECK(gpo_stream_create(device, nullptr, &stream) == GPO_OUT_OF_MEMORY);
    faults::disarm();
    CHECK(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
    CHECK(gpo_stream_destroy(stream) == GPO_SUCCESS);
    CHECK(gpo_device_close(device) == GPO_SUCCESS);
    CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000) == GPO_SUCCESS);
    CHECK(recorder::count(Function::cuMemHostRegister) == 1);
    CHECK(recorder::count(Function::cuMemHostUnregister) == 1);
    CHECK(recorder::count(Function::cuStreamCreateWithPriority) == 4);
    CHECK(recorder::count(Function::cuStreamDestroy) == 4);
    gpo::driver::set_interposer({});
    unsetenv("GPUORCH_ATTRIBUTE");
}
