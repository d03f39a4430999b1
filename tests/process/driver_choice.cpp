// No libcuda, a broken libcuda, an old version, and a driver without devices, each with and without device nodes. With
// "cuda", opening fails with GPO_NO_DEVICE and the reason. With "any" it fails too, except on machines without an
// NVIDIA GPU: there the software GPU is used instead, and one line on stderr reports this.
// LINK: objects
// RUN: none
// RUN: broken
// RUN: told
#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "driver/driver.h"
#include "process/process.h"

using namespace gpo::test;

namespace {

// Macros select the behaviour of the fake.
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
#ifndef VERSION_FAILS
#define VERSION_FAILS 0
#endif
int cuDriverGetVersion(int *version) { *version = VERSION; return VERSION_FAILS; }
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

// Runs in a process with or without a libcuda in its library path. Opens two runtimes, and prints the result for the
// first. `choice` and `flags` become the runtimes' options; "default" leaves the choice of the device unset.
int use(const std::string& choice, const char* nodes, const char* flags) {
    gpo::driver::set_device_folder(nodes);
    std::vector<std::string> warnings;
    auto options = sized<gpo_runtime_options>();
    if (choice != "default") options.device = choice.c_str();
    if (std::string(flags).find("quiet") != std::string::npos) options.flags = GPO_RUNTIME_QUIET_FALLBACK;
    if (std::string(flags).find("log") != std::string::npos) {
        options.log_user = &warnings;
        options.log = [](void* user, int32_t level, const char* line) {
            if (level == GPO_LOG_WARNING) static_cast<std::vector<std::string>*>(user)->push_back(line);
        };
    }
    for (int i = 0; i < 2; ++i) {
        gpo_runtime_t runtime = nullptr;
        gpo_device_t device = nullptr;
        EXPECT_OK(gpo_runtime_create(&options, &runtime));
        auto info = sized<gpo_driver_info>();
        const gpo_status status = gpo_runtime_get_driver(runtime, &info);
        const std::string said = status == GPO_SUCCESS ? info.reason : last_message();
        EXPECT(status == GPO_SUCCESS || status == GPO_NO_DEVICE);
        EXPECT(status != GPO_SUCCESS || info.software == 1);
        if (i == 0) std::printf("%s: %s\n", status == GPO_SUCCESS ? "stands in" : "refused", said.c_str());
        EXPECT_STATUS(status, gpo_device_open(runtime, nullptr, &device));
        EXPECT((device != nullptr) == (status == GPO_SUCCESS));
        if (device) EXPECT_OK(gpo_device_close(device));
        else EXPECT(last_message() == said);
        EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
    }
    for (const std::string& line : warnings) std::printf("warning: %s\n", line.c_str());
    return 0;
}

/// Output of a process that uses the library.
struct Said {
    std::string out;                  // see use()
    std::vector<std::string> errors;  // lines on stderr
};

/// Runs this program in a library path, with folders of its own in place of /dev.
class Machine {
public:
    Machine() {
        EXPECT(readlink("/proc/self/exe", self_, sizeof self_ - 1) > 0);
        EXPECT(mkdir((folder_ / "lib").c_str(), 0700) == 0);
        for (const char* name : {"no nodes", "a GPU", "control alone", "another"})
            EXPECT(mkdir((folder_ / name).c_str(), 0700) == 0);
        for (const char* node : {"no nodes/null", "a GPU/null", "a GPU/nvidia-uvm", "a GPU/nvidia0", "a GPU/nvidiactl",
                                 "control alone/nvidiactl", "another/nvidia-uvm", "another/nvidia7"})
            std::ofstream(folder_ / node).flush();
    }

    std::string library() const { return folder_ / "lib/libcuda.so.1"; }

    /// Builds the fake libcuda with these macros, in the library path.
    void build(const std::string& macros, const std::string& needed = "") const {
        std::ofstream(folder_ / "fake.c") << kFake;
        const std::string command = "cc -shared -fPIC " + macros + " -o '" + library() + "' '" + (folder_ / "fake.c") +
                                    "' -Wl,--no-as-needed " + needed;
        if (std::system(command.c_str()) != 0) end_skipped("driver_choice", "there is no C compiler here");
    }

    /// Builds the same library with a dependency that is missing.
    void build_needing() const {
        const std::string other = folder_ / "libneeded.so";
        if (std::system(("echo 'int needed;' | cc -shared -fPIC -x c -o '" + other + "' -").c_str()) != 0)
            end_skipped("driver_choice", "there is no C compiler here");
        build("", "-L'" + folder_.path + "' -lneeded");
        EXPECT(unlink(other.c_str()) == 0);
    }

    Said run(const std::string& choice, const std::string& nodes, const std::string& flags = "-",
             const std::string& settings = "") const {
        const std::string errors = folder_ / "errors";
        const std::string command = "env -u GPUORCH_DEVICE -u GPUORCH_LOG -u CUDA_VISIBLE_DEVICES LD_LIBRARY_PATH='" +
                                    (folder_ / "lib") + "' " + settings + " '" + self_ + "' use " + choice + " '" +
                                    (folder_ / nodes) + "' " + flags + " 2>'" + errors + "'";
        std::FILE* pipe = popen(command.c_str(), "r");
        EXPECT(pipe != nullptr);
        char text[4096] = {};
        const size_t bytes = std::fread(text, 1, sizeof text - 1, pipe);
        const int status = pclose(pipe);
        Said said{std::string(text, bytes), {}};
        std::istringstream lines(read_whole(errors));
        for (std::string line; std::getline(lines, line);) said.errors.push_back(line);
        if (status != 0 || bytes == 0)
            end_failed(__FILE__, __LINE__,
                       command + ": ended with " + std::to_string(status) + " and said: " + said.out +
                           (said.errors.empty() ? "" : said.errors[0]));
        return said;
    }

    /// Checks that the output begins with `kind` and contains `word`. If the software GPU is used instead of CUDA,
    /// stderr must have exactly one line, which contains `word`. Otherwise stderr must be empty.
    static void expect(const Said& said, const std::string& what, const std::string& kind, const std::string& word) {
        const bool stands_in = kind == "stands in";
        const bool right = said.out.starts_with(kind + ": ") && said.out.find(word) != std::string::npos &&
                           said.errors.size() == (stands_in ? 1 : 0) &&
                           (!stands_in || (said.errors[0].find("the software GPU stands in") != std::string::npos &&
                                           said.errors[0].find(word) != std::string::npos));
        if (right) return;
        for (const std::string& line : said.errors) std::fprintf(stderr, "on stderr: %s\n", line.c_str());
        end_failed(__FILE__, __LINE__,
                   what + ": expected \"" + kind + "\" with \"" + word + "\", and it said: " + said.out);
    }

    /// Checks the reason, which has `word`, for this library: `without_nodes` is the outcome without device nodes. With
    /// device nodes nothing stands in.
    void expect_reason(const std::string& what, const std::string& word, const char* without_nodes) const {
        expect(run("cuda", "no nodes"), what + " with cuda", "refused", word);
        expect(run("cuda", "a GPU"), what + " with cuda and nodes", "refused", word);
        expect(run("default", "no nodes"), what, without_nodes, word);
        const Said said = run("default", "a GPU");
        expect(said, what + " with nodes", "refused", word);
        expect(said, what + " with nodes", "refused", "a GPU/nvidia0 is there");
        expect(said, what + " with nodes", "refused", "GPUORCH_DEVICE=soft");
    }

private:
    Folder folder_;
    char self_[4096] = {};
};

/// The loader also searches its own folders, and the test can't hide a library there.
bool the_machine_has_one() {
    return in_child([] { return dlopen("libcuda.so.1", RTLD_LAZY) || dlopen("libcuda.so", RTLD_LAZY) ? 1 : 0; }) != 0;
}

void none(const Machine& machine) {
    if (the_machine_has_one()) end_skipped("driver_choice none", "this machine has a libcuda");
    machine.expect_reason("no library", "libcuda.so.1: cannot open shared object file", "stands in");
    Machine::expect(machine.run("any", "no nodes"), "any", "stands in", "libcuda.so.1");
    Machine::expect(machine.run("default", "no folder"), "no /dev", "stands in", "libcuda.so.1");
    Machine::expect(machine.run("any", "control alone"), "nvidiactl", "refused", "control alone/nvidiactl is there");
    Machine::expect(machine.run("any", "another"), "another node", "refused", "another/nvidia-uvm is there");
}

void broken(const Machine& machine) {
    std::ofstream(machine.library()) << "no library at all\n";
    machine.expect_reason("a text file", "could not be loaded", "refused");
    std::ofstream(machine.library(), std::ios::trunc).flush();
    machine.expect_reason("an empty file", "could not be loaded", "refused");
    machine.build_needing();
    machine.expect_reason("a library that lacks another", "libneeded.so: cannot open shared object file", "refused");
    machine.build("-DNO_VERSION -DNO_GET");
    machine.expect_reason("a library without functions", "cuDriverGetVersion", "refused");
    machine.build("-DNO_GET");
    machine.expect_reason("a library without cuGetProcAddress", "cuGetProcAddress", "refused");
    machine.build("-DVERSION_FAILS=34");
    machine.expect_reason("the toolkit's stub", "the toolkit's stub", "refused");
    machine.build("-DVERSION=11080");
    machine.expect_reason("a driver of CUDA 11.8", "too old", "refused");
    machine.build("-DMISSING='\"cuLaunchKernel\"'");
    machine.expect_reason("a driver without cuLaunchKernel", "cuLaunchKernel", "refused");
    machine.build("-DINIT_FAILS=999");
    machine.expect_reason("a driver that can't start", "cuInit", "refused");
    machine.build("-DINIT_FAILS=100");
    machine.expect_reason("a driver that sees no device", "no device", "stands in");
    Machine::expect(machine.run("any", "a GPU", "-", "CUDA_VISIBLE_DEVICES=-1"), "all devices hidden", "refused",
                    "CUDA_VISIBLE_DEVICES is `-1`");
    machine.build("");
    machine.expect_reason("a driver with a count of 0", "no device", "stands in");
}

// Checks that stderr has the line once per process, and not at all if an option or variable suppresses it or asks for
// the software GPU.
void told(const Machine& machine) {
    machine.build("-DINIT_FAILS=100");
    const auto count = [](const Said& said, const std::string& part) {
        return std::count_if(said.errors.begin(), said.errors.end(),
                             [&](const std::string& line) { return line.find(part) != std::string::npos; });
    };
    EXPECT(machine.run("default", "no nodes").errors.size() == 1);
    EXPECT(machine.run("default", "no nodes", "quiet").errors.empty());
    EXPECT(machine.run("default", "no nodes", "-", "GPUORCH_QUIET_FALLBACK=1").errors.empty());
    EXPECT(machine.run("default", "no nodes", "-", "GPUORCH_QUIET_FALLBACK=0").errors.size() == 1);
    EXPECT(machine.run("default", "a GPU", "-", "GPUORCH_DEVICE=soft").errors.empty());
    EXPECT(machine.run("soft", "a GPU").errors.empty());
    EXPECT(machine.run("soft", "a GPU").out.starts_with("stands in: "));
    // The program's own log function gets the line once. A log on stderr, at level info or above, has it per runtime.
    const Said logged = machine.run("default", "no nodes", "log");
    EXPECT(logged.errors.size() == 1);
    const size_t warned = logged.out.find("warning: there is no NVIDIA GPU here");
    EXPECT(warned != std::string::npos && logged.out.find("warning: ", warned + 1) == std::string::npos);
    EXPECT(machine.run("default", "no nodes", "log+quiet").out.find("warning: ") == std::string::npos);
    EXPECT(count(machine.run("default", "no nodes", "-", "GPUORCH_LOG=warning"), "stands in") == 1);
    EXPECT(count(machine.run("default", "no nodes", "-", "GPUORCH_LOG=error"), "stands in") == 1);
    EXPECT(count(machine.run("default", "no nodes", "-", "GPUORCH_LOG=info"), "stands in") == 2);
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc >= 2);
    const std::string kind = argv[1];
    if (kind == "use" && argc == 5) return use(argv[2], argv[3], argv[4]);
    const Machine machine;
    if (kind == "none") none(machine);
    if (kind == "broken") broken(machine);
    if (kind == "told") told(machine);
    return 0;
}
