// The environment can't do harm. A set-uid program ignores it. A nonsense value gives a status, or is ignored with a
// line in the log. Only the user can write the files in its folders.
// RUN: mistakes
// RUN: nonsense
// RUN: nonsense_nvrtc
// RUN: setuid
// RUN: files
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "process/process.h"
#include "support/files.h"

using namespace gpo::test;

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void answer(unsigned *target, unsigned value) { *target = value; }
)";

gpo_status compile_uncached(gpo_device_t device) {
    auto options = sized<gpo_compile_options>();
    options.source = kSource;
    options.flags = GPO_COMPILE_NO_CACHE;
    gpo_module_t module = nullptr;
    return gpo_module_compile(device, &options, &module);
}

/// Lines on stderr of a process with this variable, which makes two runtimes with a kernel on each.
std::vector<std::string> told(const char* name, const std::string& value) {
    Folder here;
    const std::string said = here / "said";
    const int code = in_child([&] {
        EXPECT(chdir(here.path.c_str()) == 0);
        setenv("GPUORCH_DEVICE", "soft", 1);
        unsetenv("GPUORCH_LOG");
        setenv(name, value.c_str(), 1);
        const int file = open(said.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        EXPECT(file >= 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
        for (int i = 0; i < 2; ++i) {
            gpo_runtime_t runtime = nullptr;
            gpo_device_t device = nullptr;
            EXPECT_OK(gpo_runtime_create(nullptr, &runtime));
            EXPECT_OK(gpo_device_open(runtime, nullptr, &device));
            auto options = sized<gpo_compile_options>();
            options.source = kSource;
            gpo_module_t module = nullptr;
            EXPECT_OK(gpo_module_compile(device, &options, &module));
            EXPECT_OK(gpo_module_destroy(module));
            EXPECT_OK(gpo_device_close(device));
            EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
        }
        return 0;
    });
    EXPECT(code == 0);
    EXPECT(here.names() == std::set<std::string>{"said"});
    std::vector<std::string> lines;
    std::istringstream text(read_whole(said));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
}

// An invalid value of a variable is reported once, with its interpretation.
void mistakes() {
    const auto one = [](const char* name, const std::string& value, const std::string& part) {
        const std::vector<std::string> lines = told(name, value);
        for (const std::string& line : lines) std::fprintf(stderr, "%s=%s: %s\n", name, value.c_str(), line.c_str());
        EXPECT(lines.size() == 1);
        EXPECT(lines[0].find(part) != std::string::npos);
    };
    one("GPUORCH_LOG", "foo", "GPUORCH_LOG is `foo`, and none of error, warning, info and debug");
    one("GPUORCH_TRACE", "1", "GPUORCH_TRACE is `1`, which is taken for no name: nothing is traced");
    one("GPUORCH_TRACE", "yes", "nothing is traced");
    one("GPUORCH_SOFT_GUARD", "7", "GPUORCH_SOFT_GUARD is `7`, and none of 1, on, yes, true, 0, off, no and false");
    one("GPUORCH_ATTRIBUTE", "yeah", "GPUORCH_ATTRIBUTE is `yeah`");
    one("GPUORCH_MPI_DEVICE", "2", "GPUORCH_MPI_DEVICE is `2`");
    one("GPUORCH_QUIET_FALLBACK", "quiet", "GPUORCH_QUIET_FALLBACK is `quiet`");
    one("GPUORCH_CUDA_VERSION", "13.0", "GPUORCH_CUDA_VERSION is `13.0`");
    for (const char* right : {"error", "warning"}) EXPECT(told("GPUORCH_LOG", right).empty());
    for (const char* right : {"1", "0", "no", ""}) EXPECT(told("GPUORCH_ATTRIBUTE", right).empty());
    EXPECT(told("GPUORCH_CUDA_VERSION", "12040").empty());
    one("GPUORCH_CACHE", "/dev/null/cache", "GPUORCH_CACHE: compiled kernels are not cached: /dev/null/cache");
    EXPECT(told("GPUORCH_CACHE", "").empty());
    // At level debug, successes are logged too.
    std::string all;
    for (const std::string& line : told("GPUORCH_LOG", "debug")) all += line + "\n";
    EXPECT(all.find("gpuorch debug: driver: soft") != std::string::npos);
    EXPECT(all.find("gpuorch debug: module") != std::string::npos);
}

void nonsense() {
    const char* names[] = {"GPUORCH_DEVICE", "GPUORCH_LOG", "GPUORCH_TRACE", "GPUORCH_ATTRIBUTE", "GPUORCH_CACHE",
                           "GPUORCH_CXX", "GPUORCH_CUDA_VERSION", "GPUORCH_SOFT_DEVICES", "GPUORCH_SOFT_MEMORY",
                           "GPUORCH_SOFT_GUARD", "GPUORCH_SOFT_FIBERS", "GPUORCH_SOFT_RATES",
                           "GPUORCH_QUIET_FALLBACK"};
    const std::string values[] = {"", "nonsense", "-1", "99999999999999999999", "0", "h2d=,d2h=x,=,,", "%s%n%s",
                                  std::string(100'000, 'A'), "../../../../etc", "h2d=-5e300,launch=nan"};
    Folder here;   // where a name without a folder leads
    EXPECT(chdir(here.path.c_str()) == 0);
    for (const char* name : names) {
        for (const std::string& value : values) {
            const int code = in_child([&] {
                setenv("GPUORCH_DEVICE", "soft", 1);
                setenv(name, value.c_str(), 1);
                gpo_runtime_t runtime = nullptr;
                gpo_device_t device = nullptr;
                gpo_status status = gpo_runtime_create(nullptr, &runtime);
                if (status) {
                    EXPECT(status == GPO_INVALID_ARGUMENT);
                    EXPECT(last_message().size() > 5);
                    return 0;
                }
                status = gpo_device_open(runtime, nullptr, &device);
                EXPECT(status == GPO_SUCCESS || status == GPO_NO_DEVICE || status == GPO_INVALID_ARGUMENT ||
                       status == GPO_OUT_OF_MEMORY);
                if (status == GPO_SUCCESS && std::string(name) == "GPUORCH_CXX") {
                    status = compile_uncached(device);
                    EXPECT(value.empty() ? status == GPO_SUCCESS : status == GPO_NO_COMPILER);
                    EXPECT(value.empty() || last_message().find("GPUORCH_CXX") != std::string::npos);
                }
                if (device) EXPECT_OK(gpo_device_close(device));
                EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
                return 0;
            });
            if (code != 0)
                end_failed(__FILE__, __LINE__,
                           std::string(name) + "=" + value.substr(0, 60) + ": ended with " + std::to_string(code));
        }
    }
}

// NVRTC is asked for by the CUDA driver alone: here by a software GPU that stands where libcuda does.
void nonsense_nvrtc() {
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
        EXPECT(dlopen(GPUORCH_SOFT_LIBCUDA, RTLD_NOW | RTLD_LOCAL) != nullptr);
    auto options = sized<gpo_runtime_options>();
    options.device = "cuda";
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    EXPECT_OK(gpo_runtime_create(&options, &runtime));
    EXPECT_OK(gpo_device_open(runtime, nullptr, &device));
    // A text file, a folder, a library of another kind, and what there is nothing of.
    for (const std::string path : {"/etc/passwd", "/", "libc.so.6", "%s%n%s", "/nowhere/libnvrtc.so.13"}) {
        setenv("GPUORCH_NVRTC", path.c_str(), 1);
        EXPECT_STATUS(GPO_NO_COMPILER, compile_uncached(device));
        EXPECT(last_message().find("NVRTC") != std::string::npos);
        EXPECT(last_message().find(path) != std::string::npos);
    }
    EXPECT_OK(gpo_device_close(device));
    EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
}

// Environment of the set-uid copy. Each variable would have a visible effect: nonsense if that is refused, otherwise a
// value that changes something.
constexpr uint32_t kDevices = 13;
constexpr uint64_t kBytes = 123 << 20;
std::vector<std::pair<std::string, std::string>> settings(const std::string& folder) {
    return {{"GPUORCH_DEVICE", "nonsense"},
            {"GPUORCH_LOG", "debug"},
            {"GPUORCH_TRACE", folder},
            {"GPUORCH_CACHE", folder},
            {"XDG_CACHE_HOME", folder},
            {"HOME", folder},
            {"TMPDIR", folder},
            {"PATH", folder},
            {"GPUORCH_CXX", "/nowhere/compiler"},
            {"GPUORCH_CUDA_VERSION", "nonsense"},
            {"GPUORCH_SOFT_DEVICES", std::to_string(kDevices)},
            {"GPUORCH_SOFT_MEMORY", std::to_string(kBytes)},
            {"GPUORCH_SOFT_RATES", "nonsense"}};
}

// Runs in the set-uid copy, which has to ignore its environment.
int inside_setuid(const std::string& folder) {
    gpo_runtime_t runtime = nullptr;
    EXPECT_OK(gpo_runtime_create(nullptr, &runtime));   // although the environment has nonsense
    EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
    auto options = sized<gpo_runtime_options>();
    options.device = "soft";
    gpo_device_t device = nullptr;
    uint32_t count = 0;
    EXPECT_OK(gpo_runtime_create(&options, &runtime));
    EXPECT_OK(gpo_runtime_get_device_count(runtime, &count));
    EXPECT(count != kDevices);
    EXPECT_OK(gpo_device_open(runtime, nullptr, &device));
    auto properties = sized<gpo_device_properties>();
    EXPECT_OK(gpo_device_get_properties(device, &properties));
    EXPECT(properties.memory_bytes != kBytes);
    // Compiled by a compiler at its usual place, with tools at theirs, and kept nowhere.
    auto source = sized<gpo_compile_options>();
    source.source = kSource;
    gpo_module_t module = nullptr;
    EXPECT_OK(gpo_module_compile(device, &source, &module));
    EXPECT_OK(gpo_module_destroy(module));
    EXPECT_OK(gpo_device_close(device));
    EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
    EXPECT(entries(folder.c_str()) == 2);   // "." and ".."
    return 21;
}

void set_uid() {
    if (geteuid() != 0)
        end_skipped("hostile_environment setuid", "only root can make a set-uid program of another user");
    char self[4096] = {};
    EXPECT(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    Folder folder("/tmp");
    EXPECT(chmod(folder.path.c_str(), 0755) == 0);
    const std::string copy = folder / "setuid";
    EXPECT(std::system(("cp '" + std::string(self) + "' '" + copy + "'").c_str()) == 0);
    EXPECT(chown(copy.c_str(), 65534, 65534) == 0);
    EXPECT(chmod(copy.c_str(), 04755) == 0);
    const std::string open = folder / "open", log = folder / "log";
    EXPECT(mkdir(open.c_str(), 0) == 0);
    EXPECT(chmod(open.c_str(), 0777) == 0);
    const int code = in_child([&]() -> int {
        for (const auto& [name, value] : settings(open)) setenv(name.c_str(), value.c_str(), 1);
        const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        if (file < 0 || dup2(file, STDERR_FILENO) < 0 || setgid(65533) != 0 || setuid(65533) != 0) return 78;
        execl(copy.c_str(), "setuid", "inside", open.c_str(), nullptr);
        return 79;
    });
    const std::string text = gpo::test::read_whole(log);
    if (code == 79 || code == 127)
        end_skipped("hostile_environment setuid", "another user can't reach the program or the library here");
    if (code == 22) end_skipped("hostile_environment setuid", "this file system knows no set-uid programs");
    if (code != 21)
        end_failed(__FILE__, __LINE__, "the set-uid program ended with " + std::to_string(code) + ": " + text);
    EXPECT(text.empty());   // nothing was logged
}

// The library's files in the shared folder, without those of other tests. The caller subtracts the files that killed
// processes left earlier.
std::set<std::string> ours_in_tmp() {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/tmp")) {
        const std::string name = entry.path().filename();
        if (name.starts_with("gpuorch") && !name.starts_with("gpuorch-test-")) names.insert(name);
    }
    return names;
}

void files() {
    umask(0);  // the worst
    const int removals = inotify_init1(IN_CLOEXEC);
    EXPECT(inotify_add_watch(removals, "/tmp", IN_DELETE | IN_MOVED_FROM) >= 0);
    const std::set<std::string> before = ours_in_tmp();
    Folder folder;
    const std::string cache = folder / "cache", temporary = folder / "tmp";
    EXPECT(mkdir(temporary.c_str(), 0777) == 0);
    setenv("TMPDIR", temporary.c_str(), 1);
    auto options = sized<gpo_runtime_options>();
    options.cache = cache.c_str();
    Opened a(options);
    gpo_kernel_t kernel = compile(a.device, kSource, "answer");
    uint32_t* word = pinned(a.device, 1);
    const uint32_t value = 3;
    EXPECT_OK(launch(a.stream, kernel, word, value));
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    int found = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cache)) {
        struct stat status{};
        EXPECT(lstat(entry.path().c_str(), &status) == 0);
        EXPECT((status.st_mode & 022) == 0);
        EXPECT(status.st_uid == geteuid());
        found += entry.is_regular_file();
    }
    struct stat status{};
    EXPECT(stat(cache.c_str(), &status) == 0);
    EXPECT((status.st_mode & 077) == 0);
    EXPECT(found > 0);
    a.shut_down();
    EXPECT(entries(temporary.c_str()) == 2);  // "." and "..": nothing is left there
    // Files that other programs put there meanwhile disappear with them; the rest would be ours.
    const auto news = [&] {
        const std::set<std::string> now = ours_in_tmp();
        return std::count_if(now.begin(), now.end(), [&](const std::string& name) { return !before.contains(name); });
    };
    pollfd gone{removals, POLLIN, 0};
    char told[4096];
    while (news() != 0 && poll(&gone, 1, 60'000) == 1) EXPECT(read(removals, told, sizeof told) > 0);
    EXPECT(news() == 0);
    close(removals);
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc >= 2);
    const std::string kind = argv[1];
    if (kind == "inside") return getuid() == geteuid() ? 22 : inside_setuid(argv[2]);
    if (kind == "mistakes") mistakes();
    if (kind == "nonsense") nonsense();
    if (kind == "nonsense_nvrtc") nonsense_nvrtc();
    if (kind == "setuid") set_uid();
    if (kind == "files") files();
    return 0;
}
