// Finds includes that no compiler should try to read: devices, pipes, files of hundreds of megabytes.
//
// This only gives a better message than the compiler's end at its memory limit or its deadline, which hold for every
// include. It checks what a request spells plainly: whole names, and names in the folders of its options.
#pragma once

#include <string>

#include "driver/driver.h"
#include "softgpu/compiler/options.h"

namespace gpo::softgpu {

/// "kernel.cu(3): error: …" for the first such include in the request's source and headers or among its options; "" if
/// there is none.
std::string unreadable_include(const driver::CompileRequest& request, const CompilerOptions& options);

}  // namespace gpo::softgpu
