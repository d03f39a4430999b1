// The software GPU's compiler: turns CUDA C++ source into a shared object with the machine's own C++ compiler.
//
// The source is preprocessed behind the embedded device header (cuda_device/), rewritten by the token pass
// (token_pass.h) and compiled. At run time only the compiler is read from the machine: the one that GPUORCH_CXX names,
// else c++, g++ or clang++ in PATH.
//
// What the cache of compiled kernels may rely on. begin() preprocesses the source, and inputs() is the preprocessed
// text. Every file that the source reads is in that text, however it was found and spelled, and so is every answer of
// __has_include. So a header that changes, appears earlier on a search path, or disappears changes the text. The
// compilation that follows sees only the preprocessed text and the library's own headers, and no CPATH. Not in the key:
// the contents of the compiler's own programs (their path, the first line of --version and the variables that lead to
// its parts are in the key), and the contents of the C library that images are linked with.
#pragma once

#include <memory>

#include "driver/driver.h"

namespace gpo::softgpu {

std::unique_ptr<driver::Compiler> make_soft_compiler();

}  // namespace gpo::softgpu
