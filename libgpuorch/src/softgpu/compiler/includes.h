// Finds includes that no compiler should try to read: devices, pipes, files of hundreds of megabytes.
//
// The check only gives a better message: the compiler's memory limit and deadline hold for every include anyway. Only
// plainly spelled includes are checked: whole names, and names in the folders of the request's options.
#pragma once

#include <string>

#include "driver/driver.h"
#include "softgpu/compiler/options.h"

namespace gpo::softgpu {

/// "kernel.cu(3): error: …" for the first such include in the request's source and headers or among its options; "" if
/// there is none.
std::string unreadable_include(const driver::CompileRequest& request, const CompilerOptions& options);

}  // namespace gpo::softgpu
