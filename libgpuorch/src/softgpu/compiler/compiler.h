// The software GPU's compiler: CUDA C++ source to a shared object, by the machine's own C++ compiler.
//
// The source is preprocessed behind the embedded device header (cuda_device/), rewritten by the token pass
// (token_pass.h) and compiled. Nothing is read at run time but the compiler itself: GPUORCH_CXX, else c++, g++ or
// clang++ in PATH.
//
// What the cache of compiled kernels may rely on: begin() preprocesses the source, and inputs() is the preprocessed text. Every
// file that a source reads is in that text, however it was found and spelled, and so is every answer of __has_include. A
// header that changes, appears earlier on a search path, or goes away changes the text. The compile that follows sees the
// preprocessed text and the library's own headers alone, and no CPATH. Not in the key: the content of the compiler's own
// programs (its path, its first line of --version and the variables that lead it to its parts are), and of the C library
// that images are linked with.
#pragma once

#include <memory>

#include "driver/driver.h"

namespace gpo::softgpu {

std::unique_ptr<driver::Compiler> make_soft_compiler();

}  // namespace gpo::softgpu
