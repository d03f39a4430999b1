// The software GPU's compiler: turns CUDA C++ source into a shared object with the machine's own C++ compiler.
//
// The source is preprocessed behind the embedded device header (cuda_device/), rewritten by the token pass
// (token_pass.h) and compiled. At run time only the compiler is read from the machine: GPUORCH_CXX, else c++, g++ or
// clang++ in PATH.
//
// The key of the cache of compiled kernels. begin() preprocesses the source, and inputs() is the preprocessed text. The
// text has every file that the source reads, however found and spelled, and every answer of __has_include. A header
// that changes, appears earlier on a search path, or disappears therefore changes the text. The compilation that
// follows sees only the preprocessed text and the library's own headers, and no CPATH. The key also has the compiler's
// path, the first line of --version and the variables that lead to its parts. Not in the key: the contents of the
// compiler's own programs, and of the C library that images are linked with.
#pragma once

#include <memory>

#include "driver/driver.h"

namespace gpo::softgpu {

std::unique_ptr<driver::Compiler> make_soft_compiler();

}  // namespace gpo::softgpu
