// Processes of the software GPU's compiler: they end in time, regardless of their output, and have limits.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "host/host.h"
#include "softgpu/compiler/compiler.h"
#include "softgpu/compiler/process.h"

using namespace gpo::softgpu;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

ProcessResult shell(const std::string& script, uint64_t limit = 60 * kSecond) {
    const PrivateFolder folder;
    REQUIRE(!folder.path.empty());
    return run_process(
        {.arguments = {"/bin/sh", "-c", script}, .folder = folder.path, .deadline = gpo::host::now() + limit});
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// True if no such process exists, or only as a zombie.
bool is_gone(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    if (!std::getline(file, text)) return true;
    const size_t name_end = text.rfind(')');
    return name_end == std::string::npos || text.compare(name_end + 2, 1, "Z") == 0;
}

gpo::driver::CompileResult compile(const std::string& source, std::vector<std::string> options = {}) {
    gpo::driver::CompileRequest request;
    request.source = source;
    request.file_name = "kernel.cu";
    request.options = std::move(options);
    return make_soft_compiler()->compile(request);
}

}  // namespace

TEST_CASE("a process's output, its code and the signal that ended it are told") {
    const ProcessResult plain = shell("echo out; echo err >&2; exit 3");
    CHECK(plain.started);
    CHECK(plain.status_known);
    CHECK(plain.status == 3);
    CHECK(plain.output == "out\nerr\n");
    CHECK(shell("kill -9 $$").status == -SIGKILL);
    CHECK(shell("head -c 1000000 /dev/zero").output.size() == 1'000'000);
    const ProcessResult none =
        run_process({.arguments = {"/nowhere/c++"}, .folder = "/", .deadline = gpo::host::now() + kSecond});
    CHECK_FALSE(none.started);
    CHECK(none.error == ENOENT);
    const ProcessResult no_folder =
        run_process({.arguments = {"/bin/sh"}, .folder = "/nowhere", .deadline = gpo::host::now() + kSecond});
    CHECK_FALSE(no_folder.started);
    CHECK(no_folder.error == ENOENT);
}

TEST_CASE("a process that has closed its output is ended at the deadline") {
    const ProcessResult result = shell("exec >&- 2>&-; exec sleep 1000", kSecond / 5);
    CHECK(result.timed_out);
    CHECK(result.failed());
    CHECK(result.status == -SIGKILL);
}

TEST_CASE("a process that writes for ever is ended at the deadline") {
    const ProcessResult result = shell("exec yes", kSecond / 5);
    CHECK(result.timed_out);
    CHECK(result.output.size() >= 1000);
}

TEST_CASE("a process that leaves another with its output has ended, and the other is ended with it") {
    const ProcessResult result = shell("sleep 1000 & echo $!");
    CHECK_FALSE(result.timed_out);
    CHECK(result.status == 0);
    const pid_t left = static_cast<pid_t>(std::strtol(result.output.c_str(), nullptr, 10));
    REQUIRE(left > 1);
    while (!is_gone(left)) usleep(1000);
}

TEST_CASE("a process has limits of memory, time, files and cores, and starts with no signal blocked or ignored") {
    const PrivateFolder folder;
    signal(SIGPIPE, SIG_IGN);
    const ProcessResult result = run_process(
        {.arguments = {"/bin/sh", "-c",
                       "ulimit -v; ulimit -t; ulimit -f; ulimit -c; grep -E 'SigBlk|SigIgn' /proc/self/status"},
         .folder = folder.path,
         .deadline = gpo::host::now() + 20 * kSecond,
         .memory = uint64_t{3} << 30});
    signal(SIGPIPE, SIG_DFL);
    long memory = 0, seconds = 0, blocks = 0, core = -1;
    unsigned long blocked = 1, ignored = 1;
    REQUIRE(std::sscanf(result.output.c_str(), "%ld %ld %ld %ld SigBlk: %lx SigIgn: %lx", &memory, &seconds, &blocks,
                        &core, &blocked, &ignored) == 6);
    CHECK(memory == 3 << 20);   // KiB
    CHECK(seconds >= 20);
    CHECK(seconds <= 21);
    CHECK(static_cast<uint64_t>(blocks) * 512 == kLargestOutput);
    CHECK(core == 0);
    CHECK(blocked == 0);
    CHECK(ignored == 0);
}

TEST_CASE(
    "what is preloaded reaches the compiler without sanitizers' runtimes, which its limit of memory has no room for") {
    // The files don't exist: the loader only warns about the library that is left.
    setenv("LD_PRELOAD", "/mine/libasan.so.8:/mine/other.so /mine/libclang_rt.tsan-x86_64.so /mine/libasan/last.so", 1);
    const ProcessResult result = shell("echo; echo \"[$LD_PRELOAD]\"");
    unsetenv("LD_PRELOAD");
    CHECK(contains(result.output, "[/mine/other.so:/mine/libasan/last.so]"));
}

TEST_CASE("variables with include folders reach only what asks for them") {
    setenv("CPATH", "/mine", 1);
    setenv("DEPENDENCIES_OUTPUT", "/mine/list", 1);
    const PrivateFolder folder;
    ProcessRequest request{.arguments = {"/bin/sh", "-c", "echo \"$CPATH|$DEPENDENCIES_OUTPUT|$LC_ALL\""},
                           .folder = folder.path,
                           .deadline = gpo::host::now() + 60 * kSecond};
    CHECK(run_process(request).output == "/mine||C\n");
    request.include_paths = false;
    CHECK(run_process(request).output == "||C\n");
    unsetenv("CPATH");
    unsetenv("DEPENDENCIES_OUTPUT");
}

TEST_CASE("a device, a pipe and a huge file are refused at the line that includes them") {
    PrivateFolder folder;
    REQUIRE(mkfifo((folder.path + "/pipe.h").c_str(), 0600) == 0);
    REQUIRE(folder.write("huge.h", "") == 0);
    REQUIRE(truncate((folder.path + "/huge.h").c_str(), off_t{1} << 40) == 0);
    const std::string kernel = "__global__ void k() {}\n";
    CHECK(compile("\n#include \"/dev/zero\"\n" + kernel).log ==
          "kernel.cu(2): error: /dev/zero is not a regular file and can't be included\n");
    CHECK(contains(compile("# include <pipe.h>\n" + kernel, {"-I" + folder.path}).log,
                   "kernel.cu(1): error: " + folder.path + "/pipe.h is not a regular file"));
    CHECK(contains(compile("#include <huge.h>\n" + kernel, {"-I" + folder.path}).log, "huge.h has more than 256 MiB"));
    CHECK(contains(compile(kernel, {"-include", "/dev/zero"}).log,
                   "<command-line>: error: /dev/zero is not a regular file"));
}

TEST_CASE("a source whose headers need more memory than there is for them is refused") {
    const auto result = compile("#define ZERO \"/dev/zero\"\n#include ZERO\n__global__ void k() {}\n");
    INFO(result.log);
    CHECK_FALSE(result.ok);
    CHECK(contains(result.log, "kernel.cu: error: the compiler needed more than the 1 GiB of memory that it may take"));
}

TEST_CASE("GPUORCH_CXX may be relative to the current folder, and so may a folder in PATH") {
    const auto program = fs::relative("/usr/bin/c++", fs::current_path());
    REQUIRE(program.is_relative());
    setenv("GPUORCH_CXX", program.c_str(), 1);
    const auto named = compile("__global__ void k() {}\n");
    INFO(named.log);
    CHECK(named.ok);
    unsetenv("GPUORCH_CXX");
    const std::string path = getenv("PATH");
    setenv("PATH", (program.parent_path().string() + ":/usr/bin").c_str(), 1);
    const auto found = compile("__global__ void k() {}\n");
    setenv("PATH", path.c_str(), 1);
    INFO(found.log);
    CHECK(found.ok);
}
