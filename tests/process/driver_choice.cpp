// No libcuda, a broken one, an old one, and one that sees no device: with "any" the software GPU is used and says why,
// with "cuda" the same reason comes as GPO_NO_DEVICE.
// RUN: none
// RUN: broken
#include <dlfcn.h>

#include "process/process.h"

using namespace gpo::test;

namespace {

// What the fake does is chosen by the macro CASE.
constexpr const char* kFake = R"(
typedef int (*fn)(void);
static int nothing(void) { return 801; }
static int init(unsigned flags) { (void)flags;
#ifdef INIT_FAILS
    return INIT_FAILS;
#else
    return 0;
#endif
}
static int device_count(int *count) { *count = 0; return 0; }
static int name(int code, const char **text) { (void)code; *text = "CUDA_ERROR_OF_THE_FAKE"; return 0; }
#ifndef NO_VERSION
#ifndef VERSION
#define VERSION 13000
#endif
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
#endif
static int same(const char *a, const char *b) { while (*a && *a == *b) ++a, ++b; return *a == *b; }
#ifndef NO_GET
int cuGetProcAddress_v2(const char *symbol, void **address, int version, unsigned long long flags, void *status)
{
    (void)version; (void)flags; (void)status;
    *address = (void *)nothing;
    if (same(symbol, "cuInit")) *address = (void *)init;
    if (same(symbol, "cuDeviceGetCount")) *address = (void *)device_count;
    if (same(symbol, "cuGetErrorName") || same(symbol, "cuGetErrorString")) *address = (void *)name;
#ifdef MISSING
    if (same(symbol, MISSING)) { *address = 0; return 500; }
#endif
    return 0;
}
#endif
)";

// In a process with the fake in its library path.
int use(const char* choice) {
    auto options = sized<gpo_runtime_options>();
    options.device = choice;
    gpo_runtime_t runtime = nullptr;
    EXPECT_OK(gpo_runtime_create(&options, &runtime));
    auto info = sized<gpo_driver_info>();
    if (std::string(choice) == "cuda") {
        EXPECT_STATUS(GPO_NO_DEVICE, gpo_runtime_get_driver(runtime, &info));
        std::printf("%s\n", last_message().c_str());
        gpo_device_t device = nullptr;
        EXPECT_STATUS(GPO_NO_DEVICE, gpo_device_open(runtime, nullptr, &device));
        EXPECT(device == nullptr);
    } else {
        EXPECT_OK(gpo_runtime_get_driver(runtime, &info));
        EXPECT(info.software == 1);
        EXPECT(std::strlen(info.reason) > 10);
        std::printf("%s\n", info.reason);
        gpo_device_t device = nullptr;
        EXPECT_OK(gpo_device_open(runtime, nullptr, &device));
    }
    EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
    return 0;
}

/// Runs this program with a library path; its output has to contain `word`.
void expect_reason(const char* self, const std::string& folder, const char* what, const std::string& word) {
    for (const char* choice : {"any", "cuda"}) {
        const std::string command = "LD_LIBRARY_PATH='" + folder + "' '" + self + "' use " + choice;
        std::FILE* pipe = popen(command.c_str(), "r");
        EXPECT(pipe != nullptr);
        char text[1024] = {};
        const size_t bytes = std::fread(text, 1, sizeof text - 1, pipe);
        const int status = pclose(pipe);
        if (status != 0 || bytes == 0 || std::string(text).find(word) == std::string::npos)
            end_failed(__FILE__, __LINE__,
                       std::string(what) + " with " + choice + ": ended with " + std::to_string(status) +
                           " and said: " + text);
    }
}

/// The loader looks in its own folders too, and a library there can't be hidden from it.
bool the_machine_has_one() {
    return in_child([] { return dlopen("libcuda.so.1", RTLD_LAZY) || dlopen("libcuda.so", RTLD_LAZY) ? 1 : 0; }) != 0;
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc >= 2);
    const std::string kind = argv[1];
    if (kind == "use" && argc == 3) return use(argv[2]);
    char self[4096] = {};
    EXPECT(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    Folder folder;
    if (kind == "none") {
        if (the_machine_has_one()) end_skipped("driver_choice none", "this machine has a libcuda");
        expect_reason(self, folder.path, "no library", "libcuda.so.1: cannot open shared object file");
        return 0;
    }
    EXPECT(kind == "broken");
    std::ofstream(folder / "fake.c") << kFake;
    const std::string library = folder / "libcuda.so.1";
    const auto build = [&](const std::string& flags) {
        const std::string command = "cc -shared -fPIC " + flags + " -o '" + library + "' '" + (folder / "fake.c") + "'";
        if (std::system(command.c_str()) != 0) end_skipped("driver_choice", "there is no C compiler here");
    };
    std::ofstream(library) << "no library at all\n";
    expect_reason(self, folder.path, "a text file", "could not be loaded");
    std::ofstream(library, std::ios::trunc).flush();
    expect_reason(self, folder.path, "an empty file", "could not be loaded");
    build("-DNO_VERSION -DNO_GET");
    expect_reason(self, folder.path, "a library without functions", "cuDriverGetVersion");
    build("-DNO_GET");
    expect_reason(self, folder.path, "a library without cuGetProcAddress", "cuGetProcAddress");
    build("-DVERSION=11080");
    expect_reason(self, folder.path, "a driver of CUDA 11.8", "too old");
    build("-DMISSING='\"cuLaunchKernel\"'");
    expect_reason(self, folder.path, "a driver without cuLaunchKernel", "cuLaunchKernel");
    build("-DINIT_FAILS=100");
    expect_reason(self, folder.path, "a driver that sees no device", "no device");
    build("-DINIT_FAILS=999");
    expect_reason(self, folder.path, "a driver that can't start", "cuInit");
    build("");
    expect_reason(self, folder.path, "a driver with a count of 0", "no device");
    return 0;
}
