#include "child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <vector>

#include "support/gpu.h"

extern char** environ;

namespace gpo::test::matrix {

pid_t start_child(const std::string& test_case, const std::string& variable, int socket) {
    // The runner reads only the parent's report: remove the variable for the child.
    std::vector<std::string> kept = {variable};
    for (char** one = environ; *one; ++one)
        if (std::string(*one).rfind("GPUORCH_TEST_REPORT=", 0) != 0) kept.emplace_back(*one);
    std::vector<char*> environment;
    for (std::string& one : kept) environment.push_back(one.data());
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe", filter = "--test-case=" + test_case;
    char* arguments[] = {program.data(), filter.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (socket >= 0) {
        posix_spawn_file_actions_adddup2(&actions, socket, 3);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    }
    pid_t child = -1;
    const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environment.data());
    posix_spawn_file_actions_destroy(&actions);
    REQUIRE(failed == 0);
    return child;
}

int wait_for_child(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace gpo::test::matrix
