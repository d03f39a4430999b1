// This program again, as a child process that runs one test case.
#pragma once

#include <sys/types.h>

#include <string>

namespace gpo::test::matrix {

/// Starts it with one more variable in its environment. `socket`, unless it is -1, is the child's descriptor 3.
pid_t start_child(const std::string& test_case, const std::string& variable, int socket = -1);
/// Waits for its end. Its exit code; or minus the signal that ended it.
int wait_for_child(pid_t child);

}  // namespace gpo::test::matrix
