// A libnvidia-ml.so.1 for the test of NVML's loader: one device, at 0000:1b:00.0, with made-up figures. FAKE_NVML_INIT
// is the result of nvmlInit_v2. The library lacks nvmlDeviceGetTemperature, like an old version.
#include <cstdlib>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

struct Utilization { unsigned gpu, memory; };
struct MemoryInfo { unsigned long long total, free, used; };
struct FieldValue {
    unsigned field, scope;
    long long timestamp, latency;
    int type, result;
    unsigned long long value;
};

EXPORTED int nvmlInit_v2() {
    const char* value = std::getenv("FAKE_NVML_INIT");
    return value ? std::atoi(value) : 0;
}
EXPORTED const char* nvmlErrorString(int) { return "made up for a test"; }
EXPORTED int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
    static char only;
    *device = &only;
    return std::strcmp(address, "0000:1b:00.0") == 0 ? 0 : 6;
}
EXPORTED int nvmlDeviceGetUtilizationRates(void*, Utilization* out) {
    *out = {37, 12};
    return 0;
}
EXPORTED int nvmlDeviceGetMemoryInfo(void*, MemoryInfo* out) {
    *out = {1000, 600, 400};
    return 0;
}
EXPORTED int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
    *milliwatts = 123'456;
    return 0;
}
EXPORTED int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long*) { return 3; }  // not supported
EXPORTED int nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* mhz) {
    *mhz = type == 1 ? 1980 : 2619;
    return 0;
}
EXPORTED int nvmlDeviceGetFieldValues(void*, int count, FieldValue* fields) {
    for (int i = 0; i < count; ++i) {
        fields[i].result = fields[i].field == 197 ? 0 : 3;
        fields[i].type = 3;
        fields[i].value = 77'000'000'000;
    }
    return 0;
}
