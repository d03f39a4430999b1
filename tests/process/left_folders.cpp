// A process that dies in a compilation leaves a folder among the temporary files, which the next compilation removes.
// Nothing else is removed: no folder of a running process, and none that may be another user's.
// LINK: objects
// RUN: died
// RUN: in_use
// RUN: others
// RUN: race
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "process/process.h"
#include "softgpu/compiler/process.h"

using gpo::softgpu::PrivateFolder;
using namespace gpo::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void answer(unsigned *target, unsigned value) { *target = value; }
)";

gpo_status compile_uncached() {
    auto options = sized<gpo_runtime_options>();
    options.device = "soft";
    options.cache = "";
    Opened a(options);
    auto source = sized<gpo_compile_options>();
    source.source = kSource;
    gpo_module_t module = nullptr;
    const gpo_status status = gpo_module_compile(a.device, &source, &module);
    a.shut_down();
    return status;
}

/// A folder with files, of a process that was killed.
void leave_one() {
    const int code = in_child([] {
        const PrivateFolder folder;
        EXPECT(folder.write("a/b/file", "left") == 0 && folder.write("file", "left") == 0);
        kill(getpid(), SIGKILL);
        return 0;
    });
    EXPECT(code == -SIGKILL);
}

/// Another process makes one, as each compilation does.
void make_one() {
    const int code = in_child([] {
        const PrivateFolder folder;
        EXPECT(folder.write("file", "of the next") == 0);
        return 0;
    });
    EXPECT(code == 0);
}

void died(const std::string& temporary) {
    const std::string killer = temporary + "-killer";
    std::ofstream(killer) << "#!/bin/sh\nkill -9 $PPID\n";
    EXPECT(chmod(killer.c_str(), 0700) == 0);
    const int code = in_child([&] {
        setenv("GPUORCH_CXX", killer.c_str(), 1);
        compile_uncached();
        return 0;
    });
    EXPECT(unlink(killer.c_str()) == 0);
    EXPECT(code == -SIGKILL);
    EXPECT(entries(temporary.c_str()) == 3);   // "." and "..", and the left folder
    EXPECT(in_child([] { return static_cast<int>(compile_uncached()); }) == GPO_SUCCESS);
    EXPECT(entries(temporary.c_str()) == 2);
    leave_one();
    EXPECT(entries(temporary.c_str()) == 3);
    make_one();
    EXPECT(entries(temporary.c_str()) == 2);
}

// A process that lives keeps its folder, however many others look.
void in_use(const std::string& temporary) {
    int ready[2], go[2];
    EXPECT(pipe(ready) == 0 && pipe(go) == 0);
    const pid_t user = fork();
    EXPECT(user >= 0);
    if (user == 0) {
        const PrivateFolder folder;
        char byte = 0;
        EXPECT(folder.write("file", "in use") == 0);
        EXPECT(::write(ready[1], "r", 1) == 1 && ::read(go[0], &byte, 1) == 1);
        std::string text;
        EXPECT(folder.read("file", 100, text) == 0 && text == "in use");
        kill(getpid(), SIGKILL);
    }
    char byte = 0;
    EXPECT(::read(ready[0], &byte, 1) == 1);
    make_one();
    make_one();
    EXPECT(entries(temporary.c_str()) == 3);
    EXPECT(::write(go[1], "g", 1) == 1);
    int status = 0;
    EXPECT(waitpid(user, &status, 0) == user);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT(entries(temporary.c_str()) == 3);
    make_one();
    EXPECT(entries(temporary.c_str()) == 2);
}

void others(const std::string& temporary) {
    const fs::path here = temporary;
    std::ofstream(here / "gpuorch-compiler-afile0") << "a file";
    for (const char* name :
         {"elsewhere", "gpuorch-compiler-", "gpuorch-compiler-longname", "gpuorch-compiler-shared",
          "gpuorch-compiler-nobody"}) {
        EXPECT(mkdir((here / name).c_str(), 0700) == 0);
        std::ofstream(here / name / "file") << "is somebody's";
    }
    EXPECT(symlink((here / "elsewhere").c_str(), (here / "gpuorch-compiler-linked").c_str()) == 0);
    EXPECT(chmod((here / "gpuorch-compiler-shared").c_str(), 0770) == 0);
    const bool root = geteuid() == 0;
    if (root) EXPECT(chown((here / "gpuorch-compiler-nobody").c_str(), 65534, 65534) == 0);
    else fs::remove_all(here / "gpuorch-compiler-nobody");
    const int before = entries(temporary.c_str());
    leave_one();
    EXPECT(entries(temporary.c_str()) == before + 1);
    make_one();
    EXPECT(entries(temporary.c_str()) == before);
    for (const char* name : {"elsewhere/file", "gpuorch-compiler-/file", "gpuorch-compiler-longname/file",
                             "gpuorch-compiler-shared/file", "gpuorch-compiler-linked/file", "gpuorch-compiler-afile0"})
        EXPECT(fs::exists(here / name));
    if (root) EXPECT(fs::exists(here / "gpuorch-compiler-nobody/file"));

    // Where others can give a folder of this user's another name, it may be any.
    EXPECT(chmod(temporary.c_str(), 0777) == 0);
    leave_one();
    make_one();
    EXPECT(entries(temporary.c_str()) == before + 1);
    EXPECT(chmod(temporary.c_str(), 01777) == 0);
    make_one();
    EXPECT(entries(temporary.c_str()) == before);
}

// Another process may find a folder before it is locked, and remove it as abandoned: then the library makes another.
void race(const std::string& temporary) {
    std::atomic<bool> over{false};
    std::atomic<long> removed{0};
    std::thread remover([&] {
        while (!over) {
            std::error_code gone;
            for (const auto& entry : fs::directory_iterator(temporary, gone)) {
                const int folder = open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (folder < 0) continue;
                if (flock(folder, LOCK_EX | LOCK_NB) == 0) {
                    // Time for makers that don't check the lock to go on.
                    std::this_thread::sleep_for(std::chrono::microseconds(100));
                    removed += fs::remove_all(entry.path(), gone) > 0 ? 1 : 0;
                }
                close(folder);
            }
        }
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    int made = 0;
    for (; made < 2000 || (removed == 0 && std::chrono::steady_clock::now() < end); ++made) {
        const PrivateFolder folder;
        EXPECT(!folder.path.empty());
        EXPECT(folder.write("file", "ours") == 0);
        std::string text;
        EXPECT(folder.read("file", 100, text) == 0 && text == "ours");
        EXPECT(access((folder.path + "/file").c_str(), F_OK) == 0);
    }
    over = true;
    remover.join();
    std::printf("%d folders were made, %ld taken away before they were locked\n", made, removed.load());
    EXPECT(entries(temporary.c_str()) == 2);
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    const Folder folder;
    const std::string temporary = folder / "tmp";
    EXPECT(mkdir(temporary.c_str(), 0700) == 0);
    setenv("TMPDIR", temporary.c_str(), 1);
    if (kind == "died") died(temporary);
    if (kind == "in_use") in_use(temporary);
    if (kind == "others") others(temporary);
    if (kind == "race") race(temporary);
    return 0;
}
