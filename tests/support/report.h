// Reports of a test besides pass and fail, and the paths of its files.
#pragma once

#include <string>

namespace gpo::test {

/// Reports that the running test (or its part `what`) can't run here, and why. The runner counts a skip and prints the
/// reason. The test goes on: `return` after the call.
void skip(const std::string& reason, const std::string& what = "");

/// The path of a file that belongs to the tests: test_file("kernels/blur.cu") lies in tests/kernels.
std::string test_file(const std::string& name);

}  // namespace gpo::test
