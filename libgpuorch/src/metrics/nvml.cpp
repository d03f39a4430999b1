#include "metrics/nvml.h"

#include <memory>
#include <mutex>

#include "base/text.h"
#include "driver/library.h"
#include "host/host.h"

namespace gpo::metrics {

namespace {

// The build doesn't need the CUDA toolkit, which contains nvml.h. These prototypes have not changed since NVML 11.
using Result = int;
using Handle = struct NvmlDevice*;
struct Utilization {
    unsigned gpu, memory;
};
struct MemoryInfo {
    unsigned long long total, free, used;
};
struct FieldValue {
    unsigned field, scope;
    long long timestamp, latency_us;
    int type;  // 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long, 4 long long
    Result result;
    union {
        double real;
        unsigned small;
        unsigned long long large;
    } value;
};
static_assert(sizeof(FieldValue) == 40);
constexpr unsigned kPcieSentBytes = 197, kPcieReceivedBytes = 198;
constexpr unsigned kClockSm = 1, kClockMemory = 2;

}  // namespace

#define GPO_NVML_FUNCTIONS(X)                                                             \
    X(nvmlInit_v2, required, Result())                                                    \
    X(nvmlErrorString, required, const char*(Result))                                     \
    X(nvmlDeviceGetHandleByPciBusId_v2, required, Result(const char*, Handle*))           \
    X(nvmlDeviceGetUtilizationRates, optional, Result(Handle, Utilization*))              \
    X(nvmlDeviceGetMemoryInfo, optional, Result(Handle, MemoryInfo*))                     \
    X(nvmlDeviceGetPowerUsage, optional, Result(Handle, unsigned*))                       \
    X(nvmlDeviceGetTotalEnergyConsumption, optional, Result(Handle, unsigned long long*)) \
    X(nvmlDeviceGetTemperature, optional, Result(Handle, unsigned, unsigned*))            \
    X(nvmlDeviceGetClockInfo, optional, Result(Handle, unsigned, unsigned*))              \
    X(nvmlDeviceGetFieldValues, optional, Result(Handle, int, FieldValue*))

struct Nvml::Functions {
#define X(name, need, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
    GPO_NVML_FUNCTIONS(X)
#undef X
};

Nvml::~Nvml() {
    delete functions_;
}

Nvml* Nvml::open_at(const char* path, std::string* why) {
    std::string tried;
    driver::Library library = driver::Library::open({path}, &tried);
    auto functions = std::make_unique<Functions>();
    const auto refuse = [&](std::string reason) {
        *why = std::move(reason);
        return nullptr;
    };
    if (!library) return refuse(tried);
    const auto required = [&](const char* name, auto& function) { return library.required(name, function, &tried); };
    const auto optional = [&](const char* name, auto& function) { return library.optional(name, function), true; };
#define X(name, need, ...) \
    if (!need(#name, functions->name)) return refuse(tried);
    GPO_NVML_FUNCTIONS(X)
#undef X
    if (const Result result = functions->nvmlInit_v2(); result != 0)
        return refuse(text("nvmlInit failed: ", functions->nvmlErrorString(result), " (", result, ")"));
    library.stay();   // other code may have the library open
    std::unique_ptr<Nvml> made(new Nvml);
    made->functions_ = functions.release();
    return made.release();
}

const Nvml* Nvml::open(std::string* why) {
    static host::Mutex lock;
    static const Nvml* opened = nullptr;
    std::lock_guard guard(lock);
    if (!opened) opened = open_at("libnvidia-ml.so.1", why);
    return opened;
}

bool Nvml::read(const char* pci_address, gpo_device_metrics& out, std::string* why) const {
    const Functions& nvml = *functions_;
    Handle device = nullptr;
    if (const Result result = nvml.nvmlDeviceGetHandleByPciBusId_v2(pci_address, &device); result != 0) {
        *why = text("NVML doesn't know device ", pci_address, ": ", nvml.nvmlErrorString(result), " (", result, ")");
        return false;
    }
    Utilization utilization{};
    if (nvml.nvmlDeviceGetUtilizationRates && nvml.nvmlDeviceGetUtilizationRates(device, &utilization) == 0) {
        out.utilization = utilization.gpu;
        out.memory_utilization = utilization.memory;
    }
    MemoryInfo memory{};
    if (nvml.nvmlDeviceGetMemoryInfo && nvml.nvmlDeviceGetMemoryInfo(device, &memory) == 0) {
        out.memory_total = static_cast<int64_t>(memory.total);
        out.memory_used = static_cast<int64_t>(memory.used);
    }
    unsigned value = 0;
    if (nvml.nvmlDeviceGetPowerUsage && nvml.nvmlDeviceGetPowerUsage(device, &value) == 0) out.power = value;
    unsigned long long energy = 0;
    if (nvml.nvmlDeviceGetTotalEnergyConsumption && nvml.nvmlDeviceGetTotalEnergyConsumption(device, &energy) == 0)
        out.energy = static_cast<int64_t>(energy);
    if (nvml.nvmlDeviceGetTemperature && nvml.nvmlDeviceGetTemperature(device, 0, &value) == 0) out.temperature = value;
    if (nvml.nvmlDeviceGetClockInfo) {
        if (nvml.nvmlDeviceGetClockInfo(device, kClockSm, &value) == 0) out.sm_clock = int64_t{value} * 1'000'000;
        if (nvml.nvmlDeviceGetClockInfo(device, kClockMemory, &value) == 0)
            out.memory_clock = int64_t{value} * 1'000'000;
    }
    // Byte counters, which newer drivers have, are read at once: nvmlDeviceGetPcieThroughput measures for 20 ms.
    FieldValue fields[2]{};
    fields[0].field = kPcieSentBytes;
    fields[1].field = kPcieReceivedBytes;
    if (nvml.nvmlDeviceGetFieldValues && nvml.nvmlDeviceGetFieldValues(device, 2, fields) == 0) {
        const auto counted = [](const FieldValue& field) {
            return field.result != 0 ? -1
                   : field.type == 1 ? int64_t{field.value.small}
                                     : static_cast<int64_t>(field.value.large);
        };
        out.pcie_sent = counted(fields[0]);
        out.pcie_received = counted(fields[1]);
    }
    return true;
}

}  // namespace gpo::metrics
