// The software GPU's compiler: CUDA C++ source to a shared object, by the machine's own C++ compiler.
//
// The source is preprocessed behind the embedded device header (cuda_device/), rewritten by the token pass
// (token_pass.h) and compiled. Nothing is read at run time but the compiler itself: GPUORCH_CXX, else c++, g++ or
// clang++ in PATH.
#pragma once

#include <memory>

#include "driver/driver.h"

namespace gpo::softgpu {

std::unique_ptr<driver::Compiler> make_soft_compiler();

}  // namespace gpo::softgpu
