// CCCL's own headers (<cuda/std/…>, <cuda/atomic>, <cuda/barrier>) for sources of the software GPU.
//
// Their device code is PTX; their host code does the same on the software GPU. So each public header is wrapped: the
// macros by which it recognises CUDA's compilers are hidden while it is read, and a thread that waits lets other
// threads run (gpo_cccl.h).
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

/// The folder among those of the options; else, for a source that includes such headers, that of $GPUORCH_DEPS, of
/// $CUDA_HOME, of $CUDA_PATH or of the toolkit's usual places.
Cccl find_cccl(const driver::CompileRequest& request, const CompilerOptions& options);

}  // namespace gpo::softgpu
