// Starts this program again as a child process with one test case.
#pragma once

#include <sys/types.h>

#include <string>

namespace gpo::test::matrix {

/// Starts the child with one more variable in its environment. `socket`: its descriptor 3; -1: none.
pid_t start_child(const std::string& test_case, const std::string& variable, int socket = -1);
/// Waits for the child's end. Returns the exit code, or minus the signal that ended the child.
int wait_for_child(pid_t child);

}  // namespace gpo::test::matrix
