// gpuorch-info: shows the library's view of this machine, and its decisions: drivers and why a driver isn't used,
// devices, access between devices, limits, versions, compilers, and the environment variables that the library reads.
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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

/// A number, or why there is none.
struct Limit {
    const char *name, *key;
    bool in_bytes;
    uint64_t value = 0;
    std::string why;
};

std::vector<Limit> limits_of(gpo_device_t device) {
    struct Asked {
        const char *name, *key;
        uint32_t limit;
        bool in_bytes;
    };
    std::vector<Limit> out;
    for (const Asked& asked : {Asked{"limit: stack of a thread", "stack_bytes", GPO_LIMIT_STACK_BYTES, true},
                               Asked{"limit: printf buffer", "printf_bytes", GPO_LIMIT_PRINTF_BYTES, true},
                               Asked{"limit: heap of kernels", "heap_bytes", GPO_LIMIT_HEAP_BYTES, true}}) {
        Limit& limit = out.emplace_back(Limit{asked.name, asked.key, asked.in_bytes, 0, ""});
        if (gpo_device_get_limit(device, asked.limit, &limit.value) != GPO_SUCCESS) limit.why = last_error();
    }
    return out;
}

void show(const Limit& limit) {
    if (!limit.why.empty()) line(limit.name, limit.why);
    else line(limit.name, limit.in_bytes ? bytes(static_cast<double>(limit.value)) : format("%" PRIu64, limit.value));
}

void show(const gpo_device_metrics& now) {
    if (now.memory_used >= 0) line("now: memory in use", bytes(static_cast<double>(now.memory_used)));
    if (now.utilization >= 0) line("now: kernels ran", format("%" PRId64 " %% of the time", now.utilization));
    if (now.power >= 0) line("now: power", format("%.1f W", static_cast<double>(now.power) / 1e3));
    if (now.temperature >= 0) line("now: temperature", format("%" PRId64 " C", now.temperature));
    if (now.sm_clock >= 0) line("now: clock", format("%.0f MHz", static_cast<double>(now.sm_clock) / 1e6));
    if (now.reason[0]) line("NVML", now.reason);
}

// A kernel that reports the compiler of this device's kernels.
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

struct Compiler {
    std::string text, why;   // "GCC 12.2"; or why there is none
};

Compiler compiler_of(gpo_device_t device) {
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
    if (!ran) return {"", why};
    constexpr const char* names[] = {"NVRTC", "Clang", "GCC"};
    return {format("%s %d.%d", names[version[2]], version[0], version[1]), ""};
}

struct DeviceFound {
    std::string why;   // why the device can't be opened
    gpo_device_properties properties{};
    std::vector<Limit> limits;
    std::string no_metrics;   // why there are none
    gpo_device_metrics now{};
    Compiler compiler;
};

struct DriverFound {
    std::string name, why;   // why it isn't usable
    int32_t version = 0;
    std::vector<DeviceFound> devices;
    std::vector<std::vector<gpo_peer_properties>> peers;   // from, to; struct_size 0: not known
    bool usable() const { return why.empty(); }
    /// Whether the driver and all its devices are usable.
    bool whole() const {
        for (const DeviceFound& device : devices)
            if (!device.why.empty()) return false;
        return usable();
    }
};

DeviceFound device_of(gpo_runtime_t runtime, uint32_t number) {
    DeviceFound out;
    auto options = sized<gpo_device_options>();
    options.ordinal = number;
    out.properties = sized<gpo_device_properties>();
    gpo_device_t device = nullptr;
    if (gpo_runtime_describe_device(runtime, number, &out.properties) != GPO_SUCCESS ||
        gpo_device_open(runtime, &options, &device) != GPO_SUCCESS) {
        out.why = last_error();
        return out;
    }
    out.limits = limits_of(device);
    out.now = sized<gpo_device_metrics>();
    if (gpo_device_get_metrics(device, &out.now) != GPO_SUCCESS) out.no_metrics = last_error();
    out.compiler = compiler_of(device);
    gpo_device_close(device);
    return out;
}

DriverFound driver_of(const char* name) {
    DriverFound out;
    out.name = name;
    auto options = sized<gpo_runtime_options>();
    options.device = name;
    gpo_runtime_t runtime = nullptr;
    auto info = sized<gpo_driver_info>();
    uint32_t count = 0;
    if (gpo_runtime_create(&options, &runtime) != GPO_SUCCESS ||
        gpo_runtime_get_driver(runtime, &info) != GPO_SUCCESS ||
        gpo_runtime_get_device_count(runtime, &count) != GPO_SUCCESS)
        out.why = last_error();
    out.version = info.version;
    for (uint32_t number = 0; number < count; ++number) out.devices.push_back(device_of(runtime, number));
    for (uint32_t from = 0; from < count && count > 1; ++from) {
        auto& row = out.peers.emplace_back(count);
        for (uint32_t to = 0; to < count; ++to) {
            auto peer = sized<gpo_peer_properties>();
            if (from != to && gpo_runtime_describe_peer(runtime, from, to, &peer) == GPO_SUCCESS) row[to] = peer;
        }
    }
    if (runtime) gpo_runtime_shutdown(runtime, -1);
    return out;
}

/// The driver of a runtime without options.
struct Choice {
    std::string driver, why;   // why it has no device, or why not CUDA
};

Choice choice() {
    gpo_runtime_t runtime = nullptr;
    auto info = sized<gpo_driver_info>();
    auto options = sized<gpo_runtime_options>();
    options.flags = GPO_RUNTIME_QUIET_FALLBACK;   // the output reports the fallback
    const bool chosen = gpo_runtime_create(&options, &runtime) == GPO_SUCCESS &&
                        gpo_runtime_get_driver(runtime, &info) == GPO_SUCCESS;
    const Choice out = chosen ? Choice{info.name, info.reason} : Choice{"", last_error()};
    if (runtime) gpo_runtime_shutdown(runtime, -1);
    return out;
}

struct Variable {
    const char *name, *what;
};
constexpr Variable kVariables[] = {
#define X(name, what) {#name, what},
    GPO_ENVIRONMENT(X)
#undef X
};

struct Found {
    uint32_t version = gpo_version();
    Choice choice;
    std::vector<DriverFound> drivers;
};

// --- for people

void show_topology(const std::vector<std::vector<gpo_peer_properties>>& peers) {
    if (peers.empty()) return;
    std::printf("  topology: how a device reaches memory of another (rank: lower is faster)\n          ");
    for (size_t to = 0; to < peers.size(); ++to) std::printf("%18zu", to);
    std::printf("\n");
    for (size_t from = 0; from < peers.size(); ++from) {
        std::printf("    %4zu  ", from);
        for (const gpo_peer_properties& peer : peers[from]) {
            const std::string cell = !peer.struct_size ? "-"
                                     : !peer.accessible
                                         ? "staged"
                                         : format("%s, rank %d", peer.native_atomics ? "atomics" : "yes",
                                                  peer.performance_rank);
            std::printf("%18s", cell.c_str());
        }
        std::printf("\n");
    }
}

void show(const DriverFound& driver) {
    std::printf("\ndriver %s\n", driver.name.c_str());
    if (!driver.usable()) {
        std::printf("  not usable: %s\n", driver.why.c_str());
        return;
    }
    const size_t count = driver.devices.size();
    std::printf("  usable, of CUDA %d.%d, %zu device%s\n", driver.version / 1000, driver.version % 1000 / 10, count,
                count == 1 ? "" : "s");
    for (size_t number = 0; number < count; ++number) {
        const DeviceFound& device = driver.devices[number];
        if (!device.why.empty()) {
            std::printf("  device %zu can't be opened: %s\n", number, device.why.c_str());
            continue;
        }
        std::printf("  device %zu: %s\n", number, device.properties.name);
        properties_of(device.properties);
        for (const Limit& limit : device.limits) show(limit);
        if (device.no_metrics.empty()) show(device.now);
        else line("now", device.no_metrics);
        line("compiler of kernels",
             device.compiler.why.empty() ? device.compiler.text : "none can be used: " + device.compiler.why);
    }
    show_topology(driver.peers);
}

void show(const Found& found) {
    std::printf("libgpuorch %u.%u.%u", found.version / 10000, found.version / 100 % 100, found.version % 100);
    if (found.version != GPO_VERSION)
        std::printf(" (this program was built with %u.%u.%u)", GPO_VERSION_MAJOR, GPO_VERSION_MINOR, GPO_VERSION_PATCH);
    std::printf("\n");
    if (found.choice.driver.empty()) {
        std::printf("a runtime with no options has no device: %s\n", found.choice.why.c_str());
    } else {
        std::printf("a runtime with no options uses: %s\n", found.choice.driver.c_str());
        if (!found.choice.why.empty()) std::printf("  because CUDA can't be used: %s\n", found.choice.why.c_str());
    }
    for (const DriverFound& driver : found.drivers) show(driver);
    std::printf("\nenvironment variables that the library reads\n");
    for (const auto& [name, what] : kVariables) {
        const char* value = secure_getenv(name);
        std::printf("  %s %s\n      %s\n", name, value ? format("= \"%s\"", value).c_str() : "is not set", what);
    }
}

// --- for programs

std::string quoted(std::string_view words) {
    std::string out = "\"";
    for (const char c : words) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < 0x20) out += format("\\u%04x", c);
        else out += c;
    }
    return out + "\"";
}
std::string quoted_or_null(std::string_view words) { return words.empty() ? "null" : quoted(words); }

/// A JSON object or array, written as members are added.
class Json {
public:
    explicit Json(char opening) : text_(1, opening) {}
    Json& add(const char* name, const std::string& value) {
        return add(quoted(name) + ": " + value);
    }
    template <class Number>
        requires std::is_arithmetic_v<Number>
    Json& add(const char* name, Number value) {
        if constexpr (std::is_same_v<Number, bool>) return add(name, std::string(value ? "true" : "false"));
        else return add(name, std::to_string(value));
    }
    Json& add(const std::string& member) {
        text_ += text_.size() > 1 ? ", " + member : member;
        return *this;
    }
    std::string close() const { return text_ + (text_[0] == '{' ? '}' : ']'); }

private:
    std::string text_;
};

std::string json_of(const uint32_t (&values)[3]) { return format("[%u, %u, %u]", values[0], values[1], values[2]); }

/// -1 stands for what isn't known.
std::string known(int64_t value) { return value < 0 ? "null" : std::to_string(value); }

std::string json_of(const DeviceFound& device) {
    const gpo_device_properties& p = device.properties;
    Json out('{');
    if (!device.why.empty()) return out.add("error", quoted(device.why)).close();
    out.add("name", quoted(p.name)).add("native_ordinal", p.native_ordinal);
    out.add("pci_address", quoted_or_null(p.pci_address)).add("numa_node", known(p.numa_node));
    out.add("compute_capability", format("[%d, %d]", p.compute_capability_major, p.compute_capability_minor));
    out.add("multiprocessors", p.multiprocessors).add("clock_khz", p.clock_khz).add("copy_engines", p.copy_engines);
    out.add("memory_bytes", p.memory_bytes).add("l2_bytes", p.l2_bytes);
    out.add("shared_bytes_per_block", p.shared_bytes_per_block);
    out.add("shared_bytes_per_block_max", p.shared_bytes_per_block_max);
    out.add("max_threads_per_block", p.max_threads_per_block);
    out.add("max_block", json_of(p.max_block)).add("max_grid", json_of(p.max_grid));
    out.add("cooperative_launch", p.cooperative_launch != 0).add("cluster_launch", p.cluster_launch != 0);
    out.add("memory_pools", p.memory_pools != 0).add("batched_copies", p.batched_copies != 0);
    Json limits('{');
    for (const Limit& limit : device.limits)
        limits.add(limit.key, limit.why.empty() ? std::to_string(limit.value) : "null");
    out.add("limits", limits.close());
    Json now('{');
    const gpo_device_metrics& m = device.now;
    const bool any = device.no_metrics.empty();
    for (const auto& [name, value] : {std::pair{"memory_used_bytes", m.memory_used},
                                      {"utilization_percent", m.utilization},
                                      {"power_mw", m.power},
                                      {"temperature_c", m.temperature},
                                      {"sm_clock_hz", m.sm_clock}})
        now.add(name, any ? known(value) : "null");
    now.add("reason", quoted_or_null(any ? m.reason : device.no_metrics));
    out.add("now", now.close());
    out.add("compiler", quoted_or_null(device.compiler.text));
    return out.add("compiler_error", quoted_or_null(device.compiler.why)).close();
}

std::string json_of(const DriverFound& driver) {
    Json out('{'), devices('['), peers('[');
    out.add("name", quoted(driver.name)).add("usable", driver.usable()).add("reason", quoted_or_null(driver.why));
    out.add("cuda_version", driver.usable() ? quoted(format("%d.%d", driver.version / 1000, driver.version % 1000 / 10))
                                            : "null");
    for (const DeviceFound& device : driver.devices) devices.add(json_of(device));
    for (const auto& row : driver.peers) {
        Json cells('[');
        for (const gpo_peer_properties& peer : row) {
            if (!peer.struct_size) {
                cells.add("null");
                continue;
            }
            Json cell('{');
            cell.add("accessible", peer.accessible != 0).add("native_atomics", peer.native_atomics != 0);
            cells.add(cell.add("performance_rank", peer.performance_rank).close());
        }
        peers.add(cells.close());
    }
    return out.add("devices", devices.close()).add("topology", peers.close()).close();
}

void show_as_json(const Found& found) {
    Json out('{'), drivers('['), variables('{');
    out.add("version",
            quoted(format("%u.%u.%u", found.version / 10000, found.version / 100 % 100, found.version % 100)));
    out.add("uses", quoted_or_null(found.choice.driver)).add("reason", quoted_or_null(found.choice.why));
    for (const DriverFound& driver : found.drivers) drivers.add(json_of(driver));
    for (const auto& [name, what] : kVariables) {
        const char* value = secure_getenv(name);
        variables.add(name, value ? quoted(value) : "null");
    }
    std::printf("%s\n", out.add("drivers", drivers.close()).add("environment", variables.close()).close().c_str());
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view option = count > 1 ? arguments[1] : "";
    const bool json = option == "--json";
    if (count > 2 || (count == 2 && !json)) {
        const bool version = count == 2 && option == "--version", help = count == 2 && option == "--help";
        if (version) std::printf("%u.%u.%u\n", gpo_version() / 10000, gpo_version() / 100 % 100, gpo_version() % 100);
        else
            std::fputs(
                "usage: gpuorch-info [--json | --version | --help]\n"
                "Prints the drivers, devices, limits and settings that libgpuorch finds; with --json as one object, "
                "in\n"
                "which null stands for what isn't known. The exit code is 1 if the software GPU can't be used, though\n"
                "the library was built with it.\n",
                help ? stdout : stderr);
        return version || help ? 0 : 2;
    }
    Found found;
    found.choice = choice();
    for (const char* name : {"cuda", "soft"}) found.drivers.push_back(driver_of(name));
    if (json) show_as_json(found);
    else show(found);
    return found.drivers.back().whole() == kSoftIsBuilt && std::fflush(stdout) == 0 ? 0 : 1;
}
