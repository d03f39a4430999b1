// A libcuda.so.1 for tests of the loader: it has every requested function, and each does nothing. The environment
// selects its faults: FAKE_CUDA_VERSION, FAKE_CUDA_INIT (the result of cuInit), FAKE_CUDA_DEVICES, FAKE_CUDA_MISSING (a
// function to leave out).
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

int number(const char* name, int otherwise) {
    const char* value = std::getenv(name);
    return value ? std::atoi(value) : otherwise;
}

int nothing() { return 0; }
int init(unsigned) { return number("FAKE_CUDA_INIT", 0); }
int device_count(int* count) {
    *count = number("FAKE_CUDA_DEVICES", 1);
    return 0;
}
int error_name(int, const char** text) {
    *text = "CUDA_ERROR_FAKE";
    return 0;
}
int error_string(int, const char** text) {
    *text = "made up for a test";
    return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int cuDriverGetVersion(int* version) {
    *version = number("FAKE_CUDA_VERSION", 13000);
    return 0;
}

extern "C" __attribute__((visibility("default"))) int cuGetProcAddress_v2(const char* name, void** function,
                                                                          int version, uint64_t, int* status) {
    const char* missing = std::getenv("FAKE_CUDA_MISSING");
    *function = nullptr;
    if (version > number("FAKE_CUDA_VERSION", 13000)) return 1;  // as the driver: later than itself is an invalid value
    if (missing && std::strcmp(missing, name) == 0) {
        if (status) *status = 1;   // not found
        return 0;
    }
    void* found = reinterpret_cast<void*>(&nothing);
    if (std::strcmp(name, "cuInit") == 0) found = reinterpret_cast<void*>(&init);
    if (std::strcmp(name, "cuDeviceGetCount") == 0) found = reinterpret_cast<void*>(&device_count);
    if (std::strcmp(name, "cuGetErrorName") == 0) found = reinterpret_cast<void*>(&error_name);
    if (std::strcmp(name, "cuGetErrorString") == 0) found = reinterpret_cast<void*>(&error_string);
    *function = found;
    if (status) *status = 0;
    return 0;
}
