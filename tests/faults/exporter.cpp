#include "faults/exporter.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "device/exported.h"
#include "support/gpu.h"

namespace gpo::test {

namespace {

constexpr char kVariable[] = "GPUORCH_TEST_EXPORTER";   // of the other process
constexpr int kIn = 100, kOut = 101;

Exporter start() {
    int to[2], from[2];   // the other process ends when `to` closes, with this process at the latest
    REQUIRE(pipe2(to, O_CLOEXEC) == 0);
    REQUIRE(pipe2(from, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to[0], kIn);
    posix_spawn_file_actions_adddup2(&files, from[1], kOut);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    std::vector<char*> variables;
    std::string own = std::string(kVariable) + "=1";
    for (char** each = environ; *each; ++each) variables.push_back(*each);
    variables.push_back(own.data());
    variables.push_back(nullptr);
    // A shell starts the exporter and ends, so that the exporter is no child of this process: tests check for children.
    std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    char shell[] = "/bin/sh", command[] = "-c", script[] = "\"$0\" \"$1\" &";
    char only[] = "--test-case=another process exports memory and an event";
    char* words[] = {shell, command, script, program.data(), only, nullptr};
    pid_t process = 0;
    REQUIRE(posix_spawn(&process, shell, &files, nullptr, words, variables.data()) == 0);
    REQUIRE(waitpid(process, nullptr, 0) == process);
    posix_spawn_file_actions_destroy(&files);
    close(to[0]);
    close(from[1]);
    Exporter made{};
    auto* bytes = reinterpret_cast<char*>(&made);
    for (size_t done = 0; done < sizeof made;) {
        const ssize_t got = ::read(from[0], bytes + done, sizeof made - done);
        REQUIRE(got > 0);
        done += static_cast<size_t>(got);
    }
    close(from[0]);
    return made;
}

void be_exporter() {
    Gpu gpu;
    Exporter made{};
    uint64_t address = 0;
    REQUIRE_OK(gpo_memory_allocate(gpu.device, Exporter::kBytes, nullptr, &address));
    REQUIRE_OK(gpo_memory_export(gpu.device, address, made.memory, sizeof made.memory, nullptr));
    auto options = sized<gpo_event_options>();
    options.flags = GPO_EVENT_INTERPROCESS;
    Event event;
    REQUIRE_OK(gpo_event_create(gpu.device, &options, event.out()));
    REQUIRE_OK(gpo_event_export(event, made.event, sizeof made.event, nullptr));
    REQUIRE(write(kOut, &made, sizeof made) == static_cast<ssize_t>(sizeof made));
    char none = 0;
    CHECK(::read(kIn, &none, 1) == 0);
    REQUIRE_OK(gpo_memory_free(gpu.device, address));
}

}  // namespace

const Exporter& exporter() {
    static const Exporter made = start();
    return made;
}

}  // namespace gpo::test

TEST_CASE("another process exports memory and an event") {
    if (std::getenv(gpo::test::kVariable)) return gpo::test::be_exporter();
    CHECK(gpo::test::exporter().memory[0] != 0);
    CHECK(gpo::test::exporter().event[0] != 0);
}

TEST_CASE("what another driver, or another machine's device, has exported is refused by its name") {
    using namespace gpo::test;
    Gpu gpu;
    gpo::Exported exported;
    std::memcpy(&exported, exporter().memory, sizeof exported);
    const auto import = [&](const gpo::Exported& from) {
        gpo::Exported sealed = from;
        gpo::seal(sealed);
        uint64_t address = 0, size = 0;
        const gpo_status status = gpo_memory_import(gpu.device, &sealed, sizeof sealed, nullptr, &address, &size);
        if (status == GPO_SUCCESS) CHECK(gpo_memory_free(gpu.device, address) == GPO_SUCCESS);
        return status;
    };
    const auto says = [](const std::string& part) {
        auto error = sized<gpo_error>();
        gpo_last_error(&error);
        CHECK(std::string(error.message).find(part) != std::string::npos);
    };
    CHECK(import(exported) == GPO_SUCCESS);
    gpo::Exported changed = exported;
    std::strcpy(changed.driver, std::string(exported.driver) == "soft" ? "cuda" : "soft");
    CHECK(import(changed) == GPO_INVALID_ARGUMENT);
    says("of the driver `" + std::string(changed.driver) + "`, and the device is of `" + exported.driver + "`");
    changed = exported;
    changed.device[3] ^= 0x55;
    CHECK(import(changed) == GPO_NOT_SUPPORTED);
    says("a device that this process doesn't see");
    changed = exported;
    ++changed.process.start;   // its number was given again
    CHECK(import(changed) == GPO_PEER_LOST);
    says("process " + std::to_string(exported.process.number));
}
