// The library's arm, and the machine's description.
#include "bench/gpu.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

namespace gpo::bench {

const char* const kernel_source = R"(
extern "C" __global__ void empty(unsigned *, unsigned, unsigned long long) {}

extern "C" __global__ void spin(long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

extern "C" __global__ void gate(const volatile unsigned *open) {
    while (*open == 0) {
    }
}

extern "C" __global__ void scale(float4 *y, const float4 *x, unsigned long long n) {
    const unsigned long long count = n / sizeof(float4), step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float4 v = x[i];
        v.x *= 2;
        v.y *= 2;
        v.z *= 2;
        v.w *= 2;
        y[i] = v;
    }
}

extern "C" __global__ void barriers(unsigned n) {
    for (unsigned i = 0; i < n; ++i) __syncthreads();
}

extern "C" __global__ void mix(unsigned *out, unsigned count, unsigned rounds) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        unsigned x = i;
        for (unsigned round = 0; round < rounds; ++round) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
        }
        out[i] = x;
    }
}
)";

void fail_call(const char* call, gpo_status status) {
    auto error = sized<gpo_error>();
    std::string text = std::string(call) + " gave " + gpo_status_name(status);
    if (gpo_last_error(&error) == GPO_SUCCESS && error.status == status) text += std::string(": ") + error.message;
    throw std::runtime_error(text);
}

Gpu::Gpu(uint32_t completion_mode) {
    auto options = sized<gpo_runtime_options>();
    options.completion_mode = completion_mode;
    options.label = "bench";
    CHECK_GPO(gpo_runtime_create(&options, &runtime));
    try {
        CHECK_GPO(gpo_device_open(runtime, nullptr, &device));
        properties.struct_size = sizeof properties;
        CHECK_GPO(gpo_device_get_properties(device, &properties));
    } catch (...) {
        gpo_runtime_shutdown(runtime, -1);
        throw;
    }
}

Gpu::~Gpu() {
    module_ = Module();
    gpo_device_close(device);
    if (gpo_runtime_shutdown(runtime, 30'000'000'000) != GPO_SUCCESS)
        std::fprintf(stderr, "bench: the runtime could not be shut down within 30 s\n");
}

Stream Gpu::stream() const {
    Stream stream;
    CHECK_GPO(gpo_stream_create(device, nullptr, stream.out()));
    return stream;
}

std::vector<Stream> Gpu::streams(int count) const {
    std::vector<Stream> streams;
    for (int i = 0; i < count; ++i) streams.push_back(stream());
    return streams;
}

Event Gpu::event(uint32_t flags) const {
    auto options = sized<gpo_event_options>();
    options.flags = flags;
    Event event;
    CHECK_GPO(gpo_event_create(device, &options, event.out()));
    return event;
}

Queue Gpu::queue(uint32_t capacity) const {
    auto options = sized<gpo_cq_options>();
    options.capacity = capacity;
    Queue queue;
    CHECK_GPO(gpo_cq_create(runtime, &options, queue.out()));
    return queue;
}

Executor Gpu::executor(uint32_t flags) const {
    auto options = sized<gpo_executor_options>();
    options.flags = flags;
    options.threads = 1;
    options.capacity = 1 << 20;
    Executor executor;
    CHECK_GPO(gpo_executor_create(runtime, &options, executor.out()));
    return executor;
}

Arena Gpu::arena(uint64_t initial_bytes) const {
    auto options = sized<gpo_arena_options>();
    options.initial_bytes = initial_bytes;
    Arena arena;
    CHECK_GPO(gpo_arena_create(device, &options, arena.out()));
    return arena;
}

void Gpu::compile() {
    if (module_) return;
    auto options = sized<gpo_compile_options>();
    options.source = source_ ? source_ : kernel_source;
    options.file_name = "bench.cu";
    CHECK_GPO(gpo_module_compile(device, &options, module_.out()));
}

Kernel Gpu::kernel(const char* name) {
    compile();
    Kernel kernel;
    CHECK_GPO(gpo_module_get_kernel(module_, name, kernel.out()));
    return kernel;
}

std::string Gpu::image() {
    compile();
    size_t needed = 0;
    CHECK_GPO(gpo_module_get_image(module_, nullptr, 0, &needed));
    std::string image(needed, '\0');
    CHECK_GPO(gpo_module_get_image(module_, image.data(), image.size(), &needed));
    return image;
}

void take(gpo_cq_t cq, uint64_t count) {
    static thread_local gpo_completion entries[1024];
    while (count > 0) {
        CHECK_GPO(gpo_cq_wait(cq, -1));
        uint64_t got = 0;
        CHECK_GPO(gpo_cq_drain(cq, entries, sizeof entries[0], std::min<uint64_t>(count, 1024), &got));
        for (uint64_t i = 0; i < got; ++i) check_call("a completion", entries[i].status);
        count -= got;
    }
}

namespace {

struct Runtime {
    gpo_runtime_t handle = nullptr;
    Runtime() { CHECK_GPO(gpo_runtime_create(nullptr, &handle)); }
    ~Runtime() { gpo_runtime_shutdown(handle, -1); }
};

std::string first_line(const char* path, const char* beginning = "") {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (line.rfind(beginning, 0) == 0) return line;
    return "";
}

std::string version_text(unsigned version, unsigned major, unsigned minor) {
    return std::to_string(version / major) + "." + std::to_string(version % major / minor);
}

}  // namespace

bool driver_is_software() {
    Runtime runtime;
    auto info = sized<gpo_driver_info>();
    CHECK_GPO(gpo_runtime_get_driver(runtime.handle, &info));
    return info.software != 0;
}

std::vector<std::pair<std::string, std::string>> describe_machine(const std::string& command) {
    std::vector<std::pair<std::string, std::string>> lines;
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
    lines.emplace_back("date", date);
    lines.emplace_back("command", command);
    try {
        Runtime runtime;
        auto info = sized<gpo_driver_info>();
        CHECK_GPO(gpo_runtime_get_driver(runtime.handle, &info));
        auto device = sized<gpo_device_properties>();
        CHECK_GPO(gpo_runtime_describe_device(runtime.handle, 0, &device));
        lines.emplace_back("device", std::string(device.name) + " (sm_" +
                                         std::to_string(device.compute_capability_major) +
                                         std::to_string(device.compute_capability_minor) + ", " +
                                         std::to_string(device.multiprocessors) + " SMs)");
        lines.emplace_back("CUDA",
                           std::string(info.name) + ", " + version_text(static_cast<unsigned>(info.version), 1000, 10));
    } catch (const std::exception& problem) {
        lines.emplace_back("device", problem.what());
    }
    lines.emplace_back("driver", first_line("/proc/driver/nvidia/version"));
    std::string processor = first_line("/proc/cpuinfo", "model name");
    const size_t colon = processor.find(": ");
    if (colon != std::string::npos) processor.erase(0, colon + 2);
    lines.emplace_back("processor",
                       processor + ", " + std::to_string(std::thread::hardware_concurrency()) + " logical");
    utsname system{};
    uname(&system);
    lines.emplace_back("system", std::string(system.sysname) + " " + system.release);
    lines.emplace_back("library", version_text(gpo_version(), 10000, 100) + "." + std::to_string(gpo_version() % 100));
    return lines;
}

}  // namespace gpo::bench
