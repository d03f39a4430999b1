// gpuorch-info: what the library sees on this machine, and what it decides: drivers and why one isn't used, devices,
// how they reach each other, limits, versions, compilers, and the environment variables that it reads.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/environment.h"
#include "gpuorch/gpuorch.h"

namespace {

constexpr bool kSoftIsBuilt = GPUORCH_SOFT;

template <class T>
T sized() {
    T value{};
    value.struct_size = sizeof value;
    return value;
}

std::string last_error() {
    auto error = sized<gpo_error>();
    gpo_last_error(&error);
    return error.message;
}

void line(const char* name, const std::string& value) { std::printf("    %-26s %s\n", name, value.c_str()); }

template <class... Values>
std::string format(const char* pattern, Values... values) {
    char out[512];
    std::snprintf(out, sizeof out, pattern, values...);
    return out;
}

std::string bytes(double value) {
    const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
    return format(value == static_cast<double>(static_cast<int64_t>(value)) ? "%.0f %s" : "%.1f %s", value,
                  units[unit]);
}

std::string three(const uint32_t (&values)[3]) { return format("%u x %u x %u", values[0], values[1], values[2]); }

const char* yes(uint32_t value) { return value ? "yes" : "no"; }

void properties_of(const gpo_device_properties& p) {
    line("number at the driver", format("%d", p.native_ordinal));
    if (p.pci_address[0]) line("PCI address", p.pci_address);
    if (!p.software) line("NUMA node", p.numa_node < 0 ? "not known" : format("%d", p.numa_node));
    line("compute capability", format("%d.%d", p.compute_capability_major, p.compute_capability_minor));
    line("multiprocessors", format("%d, %.0f MHz", p.multiprocessors, p.clock_khz / 1e3));
    line("copy engines", format("%d", p.copy_engines));
    line("memory", bytes(static_cast<double>(p.memory_bytes)));
    line("L2 cache", bytes(p.l2_bytes));
    line("shared memory of a block",
         format("%s, with asking %s", bytes(static_cast<double>(p.shared_bytes_per_block)).c_str(),
                bytes(static_cast<double>(p.shared_bytes_per_block_max)).c_str()));
    line("largest block", three(p.max_block) + format(", %d threads", p.max_threads_per_block));
    line("largest grid", three(p.max_grid));
    line("cooperative, clusters", format("%s, %s", yes(p.cooperative_launch), yes(p.cluster_launch)));
    line("pools, batched copies", format("%s, %s", yes(p.memory_pools), yes(p.batched_copies)));
}

void limits_of(gpo_device_t device) {
    struct Limit {
        const char* name;
        uint32_t limit;
        bool in_bytes;
    };
    for (const Limit& limit : {Limit{"limit: stack of a thread", GPO_LIMIT_STACK_BYTES, true},
                               Limit{"limit: printf buffer", GPO_LIMIT_PRINTF_BYTES, true},
                               Limit{"limit: heap of kernels", GPO_LIMIT_HEAP_BYTES, true}}) {
        uint64_t value = 0;
        if (gpo_device_get_limit(device, limit.limit, &value) == GPO_SUCCESS)
            line(limit.name, limit.in_bytes ? bytes(static_cast<double>(value)) : format("%" PRIu64, value));
        else line(limit.name, last_error());
    }
}

void figures_of(gpo_device_t device) {
    auto now = sized<gpo_device_metrics>();
    if (gpo_device_get_metrics(device, &now) != GPO_SUCCESS) return line("now", last_error());
    if (now.memory_used >= 0) line("now: memory in use", bytes(static_cast<double>(now.memory_used)));
    if (now.utilization >= 0) line("now: kernels ran", format("%" PRId64 " %% of the time", now.utilization));
    if (now.power >= 0) line("now: power", format("%.1f W", static_cast<double>(now.power) / 1e3));
    if (now.temperature >= 0) line("now: temperature", format("%" PRId64 " C", now.temperature));
    if (now.sm_clock >= 0) line("now: clock", format("%.0f MHz", static_cast<double>(now.sm_clock) / 1e6));
    if (now.reason[0]) line("NVML", now.reason);
}

// Which compiler this device's kernels are made by, as a kernel says that it made; or why none can be made.
constexpr const char* kWhoCompiles = R"(
extern "C" __global__ void who_compiles(int *version) {
#if !defined(__GPUORCH_SOFT__)
    version[0] = __CUDACC_VER_MAJOR__, version[1] = __CUDACC_VER_MINOR__;
#elif defined(__clang_major__)
    version[0] = __clang_major__, version[1] = __clang_minor__, version[2] = 1;
#else
    version[0] = __GNUC__, version[1] = __GNUC_MINOR__, version[2] = 2;
#endif
}
)";

std::string compiler_of(gpo_device_t device) {
    auto source = sized<gpo_compile_options>();
    source.source = kWhoCompiles;
    source.flags = GPO_COMPILE_NO_CACHE;
    auto launch = sized<gpo_launch>();
    launch.grid[0] = launch.block[0] = 1;
    gpo_module_t module = nullptr;
    gpo_kernel_t kernel = nullptr;
    gpo_stream_t stream = nullptr;
    uint64_t address = 0;
    int version[3] = {};
    const void* arguments[] = {&address};
    const bool ran = gpo_module_compile(device, &source, &module) == GPO_SUCCESS &&
                     gpo_module_get_kernel(module, "who_compiles", &kernel) == GPO_SUCCESS &&
                     gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS &&
                     gpo_memory_allocate(device, sizeof version, nullptr, &address) == GPO_SUCCESS &&
                     gpo_fill(stream, address, 0, 1, sizeof version) == GPO_SUCCESS &&
                     gpo_stream_launch_kernel(stream, kernel, &launch, arguments, nullptr, 1) == GPO_SUCCESS &&
                     gpo_copy_to_host(stream, version, address, sizeof version) == GPO_SUCCESS &&
                     gpo_stream_wait(stream, -1) == GPO_SUCCESS;
    const std::string why = ran ? "" : last_error();
    if (address) gpo_memory_free(device, address);
    gpo_stream_destroy(stream);
    gpo_kernel_destroy(kernel);
    gpo_module_destroy(module);
    if (!ran) return "none can be used: " + why;
    constexpr const char* names[] = {"NVRTC", "Clang", "GCC"};
    return format("%s %d.%d", names[version[2]], version[0], version[1]);
}

void topology_of(gpo_runtime_t runtime, uint32_t count) {
    if (count < 2) return;
    std::printf("  topology: how a device reaches memory of another (rank: lower is faster)\n          ");
    for (uint32_t to = 0; to < count; ++to) std::printf("%18u", to);
    std::printf("\n");
    for (uint32_t from = 0; from < count; ++from) {
        std::printf("    %4u  ", from);
        for (uint32_t to = 0; to < count; ++to) {
            auto peer = sized<gpo_peer_properties>();
            std::string cell = "-";
            if (from != to && gpo_runtime_describe_peer(runtime, from, to, &peer) == GPO_SUCCESS)
                cell = peer.accessible
                           ? format("%s, rank %d", peer.native_atomics ? "atomics" : "yes", peer.performance_rank)
                           : "staged";
            std::printf("%18s", cell.c_str());
        }
        std::printf("\n");
    }
}

// True if the driver can be used.
bool driver(const char* name) {
    std::printf("\ndriver %s\n", name);
    auto options = sized<gpo_runtime_options>();
    options.device = name;
    gpo_runtime_t runtime = nullptr;
    auto info = sized<gpo_driver_info>();
    uint32_t count = 0;
    bool usable = gpo_runtime_create(&options, &runtime) == GPO_SUCCESS &&
                  gpo_runtime_get_driver(runtime, &info) == GPO_SUCCESS &&
                  gpo_runtime_get_device_count(runtime, &count) == GPO_SUCCESS;
    if (!usable) {
        std::printf("  not usable: %s\n", last_error().c_str());
    } else {
        std::printf("  usable, of CUDA %d.%d, %u device%s\n", info.version / 1000, info.version % 1000 / 10, count,
                    count == 1 ? "" : "s");
        for (uint32_t i = 0; i < count; ++i) {
            auto device_options = sized<gpo_device_options>();
            device_options.ordinal = i;
            auto properties = sized<gpo_device_properties>();
            gpo_device_t device = nullptr;
            if (gpo_runtime_describe_device(runtime, i, &properties) != GPO_SUCCESS ||
                gpo_device_open(runtime, &device_options, &device) != GPO_SUCCESS) {
                std::printf("  device %u can't be opened: %s\n", i, last_error().c_str());
                usable = false;
                continue;
            }
            std::printf("  device %u: %s\n", i, properties.name);
            properties_of(properties);
            limits_of(device);
            figures_of(device);
            line("compiler of kernels", compiler_of(device));
            gpo_device_close(device);
        }
        topology_of(runtime, count);
    }
    if (runtime) gpo_runtime_shutdown(runtime, -1);
    return usable;
}

void choice() {
    gpo_runtime_t runtime = nullptr;
    auto info = sized<gpo_driver_info>();
    auto options = sized<gpo_runtime_options>();
    options.flags = GPO_RUNTIME_QUIET_FALLBACK;   // the next line says so
    const bool chosen = gpo_runtime_create(&options, &runtime) == GPO_SUCCESS &&
                        gpo_runtime_get_driver(runtime, &info) == GPO_SUCCESS;
    if (chosen) std::printf("a runtime with no options uses: %s\n", info.name);
    else std::printf("a runtime with no options has no device: %s\n", last_error().c_str());
    if (chosen && info.reason[0]) std::printf("  because CUDA can't be used: %s\n", info.reason);
    if (runtime) gpo_runtime_shutdown(runtime, -1);
}

void environment() {
    std::printf("\nenvironment variables that the library reads\n");
    struct Variable {
        const char *name, *what;
    };
    constexpr Variable variables[] = {
#define X(name, what) {#name, what},
        GPO_ENVIRONMENT(X)
#undef X
    };
    for (const auto& [name, what] : variables) {
        const char* value = secure_getenv(name);
        std::printf("  %s %s\n      %s\n", name, value ? format("= \"%s\"", value).c_str() : "is not set", what);
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count > 1) {
        const bool version = std::strcmp(arguments[1], "--version") == 0;
        if (version) std::printf("%u.%u.%u\n", gpo_version() / 10000, gpo_version() / 100 % 100, gpo_version() % 100);
        const bool help = std::strcmp(arguments[1], "--help") == 0;
        if (!version)
            std::fputs(
                "usage: gpuorch-info [--version]\n"
                "Prints the drivers, devices, limits and settings that libgpuorch finds. The exit code is 1 if\n"
                "the software GPU can't be used, though the library was built with it.\n",
                help ? stdout : stderr);
        return version || help ? 0 : 2;
    }
    const uint32_t version = gpo_version();
    std::printf("libgpuorch %u.%u.%u", version / 10000, version / 100 % 100, version % 100);
    if (version != GPO_VERSION)
        std::printf(" (this program was built with %u.%u.%u)", GPO_VERSION_MAJOR, GPO_VERSION_MINOR, GPO_VERSION_PATCH);
    std::printf("\n");
    choice();
    driver("cuda");
    const bool soft = driver("soft");
    environment();
    return soft == kSoftIsBuilt && std::fflush(stdout) == 0 ? 0 : 1;
}
