#include <set>
// The environment can't do harm: a set-uid program ignores it, nonsense in it is a status or is ignored with a word in the
// log, and what is written in its folders is nobody else's to write.
// RUN: nonsense
// RUN: setuid
// RUN: files
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "process/process.h"

using namespace gpo::test;

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void answer(unsigned *target, unsigned value) { *target = value; }
)";

void nonsense() {
    const char* names[] = {"GPUORCH_DEVICE", "GPUORCH_LOG", "GPUORCH_ATTRIBUTE", "GPUORCH_CACHE", "GPUORCH_CUDA_VERSION",
                           "GPUORCH_SOFT_DEVICES", "GPUORCH_SOFT_MEMORY", "GPUORCH_SOFT_GUARD", "GPUORCH_SOFT_RATES"};
    const std::string values[] = {"", "nonsense", "-1", "99999999999999999999", "0", "h2d=,d2h=x,=,,", "%s%n%s",
                                  std::string(100'000, 'A'), "../../../../etc", "h2d=-5e300,launch=nan"};
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
                EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
                return 0;
            });
            if (code != 0)
                end_failed(__FILE__, __LINE__, std::string(name) + "=" + value.substr(0, 60) + ": ended with " + std::to_string(code));
        }
    }
}

// In the set-uid copy: GPUORCH_DEVICE is nonsense, and nobody sees it.
int inside_setuid() {
    gpo_runtime_t runtime = nullptr;
    EXPECT_OK(gpo_runtime_create(nullptr, &runtime));
    EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
    return 21;
}

void set_uid() {
    if (geteuid() != 0) end_skipped("hostile_environment setuid", "only root can make a set-uid program of another user");
    char self[4096] = {};
    EXPECT(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    Folder folder;
    EXPECT(chmod(folder.path().c_str(), 0755) == 0);
    const std::string copy = folder / "setuid";
    EXPECT(std::system(("cp '" + std::string(self) + "' '" + copy + "'").c_str()) == 0);
    EXPECT(chown(copy.c_str(), 65534, 65534) == 0);
    EXPECT(chmod(copy.c_str(), 04755) == 0);
    setenv("GPUORCH_DEVICE", "nonsense", 1);
    const int code = in_child([&]() -> int {
        if (setgid(65533) != 0 || setuid(65533) != 0) return 78;
        execl(copy.c_str(), "setuid", "inside", nullptr);
        return 79;
    });
    if (code == 79 || code == 127)
        end_skipped("hostile_environment setuid", "another user can't reach the program or the library here");
    if (code == 22) end_skipped("hostile_environment setuid", "this file system knows no set-uid programs");
    EXPECT(code == 21);
}

// What of ours lies in the shared folder; other tests' folders don't count, nor what a killed process left long ago.
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
    for (const std::string& name : ours_in_tmp()) EXPECT(before.contains(name));
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    if (kind == "inside") return getuid() == geteuid() ? 22 : inside_setuid();
    if (kind == "nonsense") nonsense();
    if (kind == "setuid") set_uid();
    if (kind == "files") files();
    return 0;
}
