// The loader of libcuda, against libraries made for the test. A process's library path is fixed at its start, so each
// case runs this program again with LD_LIBRARY_PATH set to the wanted library.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/functions.h"
#include "host/host.h"
#include "support/files.h"
#include "support/report.h"

using gpo::driver::Function;
using gpo::test::Folder;

namespace {

// Opens the CUDA driver and prints the result on stdout. The other test cases start a process that runs only this one.
TEST_CASE("probe: open the CUDA driver" * doctest::skip()) {
    std::string why;
    const auto driver = gpo::driver::open_cuda(&why);
    if (!driver) {
        std::printf("{none: %s}\n", why.c_str());
        return;
    }
    std::string missing;
    for (size_t i = 0; i < gpo::driver::kFunctions; ++i) {
        const auto function = static_cast<Function>(i);
        if (!has(driver->table, function)) missing += std::string(" ") + function_name(function);
    }
    const bool again = gpo::driver::open_cuda(&why) == driver;
    std::printf("{%s %d, without%s, %s}\n", driver->name, driver->version, missing.c_str(), again ? "one" : "two");
}

TEST_CASE("probe: open the CUDA driver after a failure" * doctest::skip()) {
    std::string why;
    const auto first = gpo::driver::open_cuda(&why);
    setenv("FAKE_CUDA_DEVICES", "1", 1);
    const auto second = gpo::driver::open_cuda(&why);
    std::printf("{%s, %s}\n", first ? "opened" : "refused", second ? "opened" : "refused");
}

TEST_CASE("probe: look for a libcuda" * doctest::skip()) {
    std::printf("{%s}\n", dlopen("libcuda.so.1", RTLD_LAZY) || dlopen("libcuda.so", RTLD_LAZY) ? "there" : "none");
}

TEST_CASE("probe: open the CUDA driver in a forked child" * doctest::skip()) {
    gpo::host::forked();   // counts as a use of the library before the fork
    const pid_t child = fork();
    if (child == 0) {
        std::string why;
        const auto driver = gpo::driver::open_cuda(&why);
        std::printf("{%s}\n", driver ? "opened" : why.c_str());
        std::fflush(stdout);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
}

/// The probe's output between its braces.
std::string probe(const std::string& library_folder, std::vector<std::string> settings,
                  const std::string& which = "probe: open the CUDA driver") {
    settings.push_back("LD_LIBRARY_PATH=" + library_folder);
    for (char** entry = environ; *entry; ++entry) {
        const std::string setting = *entry;
        if (!setting.starts_with("LD_LIBRARY_PATH=") && !setting.starts_with("GPUORCH_")) settings.push_back(setting);
    }
    std::vector<char*> environment;
    for (std::string& setting : settings) environment.push_back(setting.data());
    environment.push_back(nullptr);
    std::string filter = "--test-case=" + which, no_skip = "--no-skip", name = "probe";
    char* arguments[] = {name.data(), filter.data(), no_skip.data(), nullptr};

    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    pid_t child = 0;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    REQUIRE(posix_spawn(&child, self.c_str(), &actions, nullptr, arguments, environment.data()) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string output;
    char buffer[4096];
    for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
        output.append(buffer, static_cast<size_t>(count));
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    INFO(output);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
    const size_t open = output.find('{'), close = output.find('}');
    REQUIRE(close != std::string::npos);
    return output.substr(open + 1, close - open - 1);
}

const std::string kFake = GPUORCH_FAKE_CUDA;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a driver that has everything is opened once for the process") {
    CHECK(probe(kFake, {}) == "cuda 13000, without, one");
}

TEST_CASE("functions later than the driver are absent, and the driver is used all the same") {
    const std::string seen = probe(kFake, {"FAKE_CUDA_VERSION=12020"});
    CHECK(contains(seen, "cuda 12020"));
    CHECK(contains(seen, "cuMemcpyBatchAsync"));
    CHECK(contains(seen, "cuFuncGetName"));
    CHECK(contains(seen, "cuFuncGetParamInfo"));
    CHECK_FALSE(contains(seen, "cuLaunchKernel"));
    CHECK_FALSE(contains(probe(kFake, {"FAKE_CUDA_VERSION=12030"}), "cuFuncGetName"));
}

TEST_CASE("GPUORCH_CUDA_VERSION hides later functions and no required one") {
    const std::string seen = probe(kFake, {"GPUORCH_CUDA_VERSION=12020"});
    CHECK(contains(seen, "cuda 13000"));
    CHECK(contains(seen, "cuFuncLoad"));
    CHECK(probe(kFake, {"GPUORCH_CUDA_VERSION=12020"}) == probe(kFake, {"GPUORCH_CUDA_VERSION=11000"}));
}

TEST_CASE("why a CUDA driver can't be used is a sentence that names the culprit") {
    CHECK(contains(probe(kFake, {"FAKE_CUDA_VERSION=12010"}), "too old: it is of CUDA 12.1, and 12.2"));
    CHECK(contains(probe(kFake, {"FAKE_CUDA_MISSING=cuEventQuery"}), "(13.0) has no function cuEventQuery"));
    CHECK(contains(probe(kFake, {"FAKE_CUDA_INIT=999"}), "cuInit failed: CUDA_ERROR_FAKE (999: made up for a test)"));
    CHECK(contains(probe(kFake, {"FAKE_CUDA_INIT=100"}), "sees no device"));
    CHECK(contains(probe(kFake, {"FAKE_CUDA_DEVICES=0"}), "sees no device"));
}

TEST_CASE("without a library the reason is that there is none, in the loader's own words") {
    Folder folder;
    if (probe(folder.path, {}, "probe: look for a libcuda") != "none")
        return gpo::test::skip("this machine has a libcuda");
    const std::string seen = probe(folder.path, {});
    CHECK(contains(seen,
                   "none: the CUDA driver library could not be loaded: libcuda.so.1: cannot open shared object file"));
}

TEST_CASE("a library that isn't one is refused with the loader's own words") {
    Folder folder;
    std::ofstream(folder.path + "/libcuda.so.1") << "this is no library, but a text of some length, to be read as one.";
    const std::string seen = probe(folder.path, {});
    CHECK(contains(seen, "could not be loaded"));
    CHECK(contains(seen, "invalid ELF header"));
}

TEST_CASE("a library without the entry points is called broken") {
    Folder folder;
    Dl_info any;   // some small library that exists on every machine
    REQUIRE(dladdr(reinterpret_cast<void*>(&_Unwind_Backtrace), &any) != 0);
    std::filesystem::copy_file(any.dli_fname, folder.path + "/libcuda.so.1");
    CHECK(contains(probe(folder.path, {}), "no function cuDriverGetVersion"));
}

TEST_CASE("a refusal is not remembered: the next opening may succeed") {
    CHECK(probe(kFake, {"FAKE_CUDA_DEVICES=0"}, "probe: open the CUDA driver after a failure") == "refused, opened");
}

TEST_CASE("in a forked child the CUDA driver is refused") {
    CHECK(contains(probe(kFake, {}, "probe: open the CUDA driver in a forked child"), "forked"));
}
