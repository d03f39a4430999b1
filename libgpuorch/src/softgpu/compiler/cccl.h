// CCCL's own headers (<cuda/std/…>, <cuda/atomic>, <cuda/barrier>) for sources of the software GPU.
//
// Their device code is PTX; their host code does the same on the software GPU. A wrapper of each public header hides
// the macros that identify CUDA's compilers while the header is read, and makes waiting threads let others run
// (gpo_cccl.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "driver/driver.h"
#include "softgpu/compiler/options.h"

namespace gpo::softgpu {

struct Cccl {
    std::string folder;                                           // "" for none
    bool found = false;                                           // by us, and not among the options' folders
    std::vector<std::pair<std::string, std::string>> wrappers;    // names as in an #include, and texts
};

/// CCCL's folder among the folders of the options. Else, if the source includes CCCL's headers, the folder in
/// $GPUORCH_DEPS, $CUDA_HOME, $CUDA_PATH or the toolkit's usual places.
Cccl find_cccl(const driver::CompileRequest& request, const CompilerOptions& options);

}  // namespace gpo::softgpu
