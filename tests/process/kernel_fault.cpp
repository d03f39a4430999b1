// A kernel traps, fails an assertion or uses an invalid address. Its failure names the kernel, and everything pending
// on the driver's devices (two, if it has as many) completes once with GPO_DEVICE_LOST. Handles can still be destroyed,
// and the process chooses how to end.
// RUN: trap
// RUN: assert
// RUN: GPUORCH_ATTRIBUTE=1 trap
// RUN: GPUORCH_ATTRIBUTE=1 assert
// RUN: wild
// RUN: GPUORCH_ATTRIBUTE=1 wild
// RUN: misaligned
// RUN: child
// RUN: GPUORCH_ATTRIBUTE=1 child
#include <map>
#include <optional>

#include "process/process.h"

using namespace gpo::test;

namespace {

constexpr const char* kSource = R"(
#include <assert.h>
extern "C" __global__ void trap(unsigned value) { if (value == 1) __trap(); }
extern "C" __global__ void assertion(unsigned value) { assert(value != 1); }
extern "C" __global__ void wild(unsigned value) { if (value == 1) *(volatile unsigned *)64 = value; }
extern "C" __global__ void misaligned(unsigned value) {
    __shared__ unsigned words[2];
    if (value == 1) *(volatile unsigned *)((char *)words + 1) = value;
}
extern "C" __global__ void harmless(unsigned *target, unsigned value) { *target = value; }
extern "C" __global__ void gate(const volatile unsigned *open) { while (*open == 0) { } }
extern "C" __global__ void begin_and_stay(volatile unsigned *begun, const volatile unsigned *open) {
    *begun = 1;
    while (*open == 0) { }
}
)";

constexpr const char* kChildSource = R"(
__global__ void grandchild(unsigned value) { if (value == 1) __trap(); }
__global__ void between(unsigned value) { grandchild<<<1, 1, 0, cudaStreamTailLaunch>>>(value); }
extern "C" __global__ void child(unsigned value) { between<<<2, 1>>>(value); }
)";

gpo_module_t compile_on(gpo_device_t device, bool children = false) {
    auto options = sized<gpo_compile_options>();
    const std::string source = std::string(kSource) + (children ? kChildSource : "");
    options.source = source.c_str();
    options.flags = children ? GPO_COMPILE_DYNAMIC_PARALLELISM : 0;
    options.label = "faulty";
    gpo_module_t module = nullptr;
    const gpo_status status = gpo_module_compile(device, &options, &module);
    if (children && status == GPO_NO_COMPILER) end_skipped("kernel_fault child", "libcudadevrt.a was not found");
    EXPECT_OK(status);
    return module;
}

/// Work on another device of the driver while the fault happens on the first device: a running kernel, work and marks
/// behind the kernel, and work and marks that are held on the host.
struct Elsewhere {
    gpo_device_t device = nullptr;
    gpo_stream_t runs = nullptr, held = nullptr;
    uint32_t* words = nullptr;   // begun, open, written behind the kernel, written if what is held runs

    Elsewhere(const Opened& a, gpo_timeline_t timeline) {
        auto options = sized<gpo_device_options>();
        options.ordinal = 1;
        EXPECT_OK(gpo_device_open(a.runtime, &options, &device));
        EXPECT_OK(gpo_stream_create(device, nullptr, &runs));
        EXPECT_OK(gpo_stream_create(device, nullptr, &held));
        words = pinned(device, 64);
        const gpo_module_t module = compile_on(device);
        gpo_kernel_t stay = nullptr, harmless = nullptr;
        EXPECT_OK(gpo_module_get_kernel(module, "begin_and_stay", &stay));
        EXPECT_OK(gpo_module_get_kernel(module, "harmless", &harmless));
        const uint32_t one = 1;
        uint32_t *const begun = words, *const open = words + 16, *const behind = words + 32, *const never = words + 48;
        EXPECT_OK(launch(runs, stay, begun, open));
        EXPECT_OK(gpo_stream_notify(runs, a.queue, 40));
        EXPECT_OK(launch(runs, harmless, behind, one));
        EXPECT_OK(gpo_stream_notify(runs, a.queue, 41));
        EXPECT_OK(gpo_stream_wait_timeline(held, timeline, 1));
        EXPECT_OK(launch(held, harmless, never, one));
        EXPECT_OK(gpo_stream_notify(held, a.queue, 42));
        EXPECT_OK(gpo_stream_notify(held, a.queue, 43));
        while (__atomic_load_n(begun, __ATOMIC_SEQ_CST) == 0) usleep(100);
        EXPECT_STATUS(GPO_NOT_READY, gpo_stream_query(runs));
        EXPECT_STATUS(GPO_NOT_READY, gpo_stream_query(held));
    }

    /// Expects both streams to report the loss. Later work must be refused, and a later mark must complete.
    void expect_lost(const Opened& a) {
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(runs, kPatience));
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(held, kPatience));
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_device_wait(device, kPatience));
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_fill(runs, reinterpret_cast<uint64_t>(words), 1, 4, 1));
        EXPECT_OK(gpo_stream_notify(runs, a.queue, 44));
    }

    /// Signals the timeline after the loss: held work must not run. Closes the device.
    void signal_late_and_close(const Opened& a, gpo_timeline_t timeline) {
        EXPECT_OK(gpo_timeline_signal(timeline, 1));
        __atomic_store_n(&words[16], 1u, __ATOMIC_SEQ_CST);
        auto statistics = sized<gpo_cq_statistics>();
        EXPECT_OK(gpo_cq_get_statistics(a.queue, &statistics));
        EXPECT(statistics.accepted == statistics.drained);
        EXPECT(__atomic_load_n(&words[32], __ATOMIC_SEQ_CST) == 0);
        EXPECT(__atomic_load_n(&words[48], __ATOMIC_SEQ_CST) == 0);
        EXPECT_OK(gpo_stream_destroy(runs));
        EXPECT_OK(gpo_device_close(device));
    }
};

void expect_message(const std::string& kind, const gpo_driver_info& driver, gpo_stream_t culprit,
                    gpo_stream_t innocent) {
    auto error = sized<gpo_error>();
    EXPECT_OK(gpo_object_get_error(culprit, &error));
    EXPECT(error.status == GPO_DEVICE_LOST);
    EXPECT(error.native_code != 0);
    const std::string message = error.message;
    std::printf("%s\n", message.c_str());
    EXPECT(message.find("the deadly one") != std::string::npos);
    EXPECT(message.find("culprit") != std::string::npos);
    if (driver.software) EXPECT(message.find("innocent") == std::string::npos);
    if (driver.software && kind == "child") EXPECT(message.find("grandchild") != std::string::npos);
    // With attribution, each stream has one suspect, the kernel that ran; earlier and later operations are none.
    if (const char* attribute = std::getenv("GPUORCH_ATTRIBUTE"); attribute && *attribute == '1') {
        EXPECT(message.find("notify") == std::string::npos);
        const size_t listed = message.find("suspects on ");
        EXPECT(driver.software == (listed == std::string::npos));
        if (listed != std::string::npos) EXPECT(message.find(", ", listed) == std::string::npos);
        auto other = sized<gpo_error>();
        EXPECT_OK(gpo_object_get_error(innocent, &other));
        const std::string elsewhere_said = other.message;
        std::printf("%s\n", elsewhere_said.c_str());
        EXPECT(elsewhere_said.find("harmless") == std::string::npos);
    }
}

/// Takes all entries: each that was accepted comes exactly once.
void expect_entries_once(const Opened& a, bool elsewhere) {
    std::map<uint64_t, int> seen;
    gpo_completion entry{};
    uint64_t count = 0;
    auto statistics = sized<gpo_cq_statistics>();
    do {
        EXPECT_OK(gpo_cq_get_statistics(a.queue, &statistics));
        if (statistics.drained == statistics.accepted) break;
        EXPECT_OK(gpo_cq_wait(a.queue, kPatience));
        EXPECT_OK(gpo_cq_drain(a.queue, &entry, sizeof entry, 1, &count));
        if (count == 0) continue;
        EXPECT(entry.status == GPO_DEVICE_LOST);
        EXPECT(++seen[entry.user_data] == 1);
    } while (true);
    for (uint64_t i = 10; i < 14; ++i) EXPECT(seen[i] == 1);
    EXPECT(seen[20] == 1);
    for (uint64_t i = 30; i < 34; ++i) EXPECT(seen[i] == 1);
    for (uint64_t i = 40; elsewhere && i < 45; ++i) EXPECT(seen[i] == 1);
    EXPECT(seen.size() == (elsewhere ? 14 : 9));
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    setenv("GPUORCH_SOFT_DEVICES", "2", 1);
    Opened a;
    const gpo_module_t module = compile_on(a.device, kind == "child");
    gpo_kernel_t faulty = nullptr, harmless = nullptr, gate = nullptr;
    EXPECT_OK(gpo_module_get_kernel(module, kind == "assert" ? "assertion" : kind.c_str(), &faulty));
    EXPECT_OK(gpo_module_get_kernel(module, "harmless", &harmless));
    EXPECT_OK(gpo_module_get_kernel(module, "gate", &gate));
    auto driver = sized<gpo_driver_info>();
    EXPECT_OK(gpo_runtime_get_driver(a.runtime, &driver));
    if (kind == "misaligned" && driver.software)
        end_skipped("kernel_fault misaligned", "the host's processor does such an access");

    gpo_stream_t culprit = nullptr, innocent = nullptr;
    auto stream_options = sized<gpo_stream_options>();
    stream_options.label = "culprit";
    EXPECT_OK(gpo_stream_create(a.device, &stream_options, &culprit));
    stream_options.label = "innocent";
    EXPECT_OK(gpo_stream_create(a.device, &stream_options, &innocent));
    uint32_t* words = pinned(a.device, 64);
    const uint32_t fine = 0, fatal = 1;
    EXPECT_OK(launch(culprit, faulty, fine));
    EXPECT_OK(launch(innocent, harmless, words, fatal));
    EXPECT_OK(gpo_device_wait(a.device, kPatience));
    EXPECT(words[0] == 1);

    // Pending on another stream, and held on the host, when it happens.
    gpo_timeline_t timeline = nullptr;
    EXPECT_OK(gpo_timeline_create(a.runtime, nullptr, &timeline));
    EXPECT_OK(launch(innocent, gate, words + 32));
    for (uint64_t i = 10; i < 14; ++i) EXPECT_OK(gpo_stream_notify(innocent, a.queue, i));
    EXPECT_OK(gpo_stream_wait_timeline(a.stream, timeline, 1));
    EXPECT_OK(gpo_stream_notify(a.stream, a.queue, 20));
    std::optional<Elsewhere> elsewhere;
    if (driver.device_count > 1) elsewhere.emplace(a, timeline);
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    shape.label = "the deadly one";
    const void* arguments[] = {&fatal};
    EXPECT_OK(gpo_stream_launch_kernel(culprit, faulty, &shape, arguments, nullptr, 1));
    for (uint64_t i = 30; i < 34; ++i) EXPECT_OK(gpo_stream_notify(culprit, a.queue, i));
    EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(culprit, kPatience));
    __atomic_store_n(&words[32], 1u, __ATOMIC_SEQ_CST);
    EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(innocent, kPatience));
    EXPECT_STATUS(GPO_DEVICE_LOST, gpo_device_wait(a.device, kPatience));
    EXPECT_STATUS(GPO_DEVICE_LOST, launch(innocent, harmless, words, fine));
    // The driver's other device is lost too, with its running and its held work.
    if (elsewhere) elsewhere->expect_lost(a);

    expect_message(kind, driver, culprit, innocent);
    expect_entries_once(a, elsewhere.has_value());
    if (elsewhere) elsewhere->signal_late_and_close(a, timeline);

    // Destroys are safe, and so is the end.
    EXPECT_OK(gpo_stream_destroy(culprit));
    EXPECT_OK(gpo_stream_destroy(innocent));
    EXPECT_OK(gpo_kernel_destroy(faulty));
    EXPECT_OK(gpo_module_destroy(module));
    EXPECT_OK(gpo_device_close(a.device));
    a.shut_down();
    return 0;
}
