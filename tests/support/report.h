// What a test says beside pass and fail, and where it finds its files.
#pragma once

#include <string>

namespace gpo::test {

/// Ends nothing, fails nothing: says that the running test (or the part `what` of it) can't be done here, and why. It
/// is counted as skipped and its reason is printed, so `return` after it.
void skip(const std::string& reason, const std::string& what = "");

/// The path of a file that belongs to the tests: test_file("kernels/blur.cu") lies in tests/kernels.
std::string test_file(const std::string& name);

}  // namespace gpo::test
