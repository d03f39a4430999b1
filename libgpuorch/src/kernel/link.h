// Links a compiled image with CUDA's device runtime, which kernels that launch kernels call. The driver has the linker.
#pragma once

#include "device/context.h"

namespace gpo::kernel {

/// Replaces result.image by the linked image and clears result.device_runtime. The linker's text goes to result.log.
/// Throws Failure: GPO_NOT_SUPPORTED, GPO_NO_COMPILER, GPO_COMPILE_FAILED, or the driver's result. Blocks for as long
/// as the linker takes.
void link(Context& context, driver::CompileResult& result);

}  // namespace gpo::kernel
