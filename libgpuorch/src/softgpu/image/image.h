// Kernel images of the software GPU: shared objects that the compiler has made and sealed (seal.h), and the built-in
// one.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

/// A loaded kernel image: each load has variables of its own.
class Image {
public:
    virtual ~Image() = default;
    /// CUDA_SUCCESS, CUDA_ERROR_INVALID_IMAGE (not an image of the software GPU, cut short, altered, other ABI
    /// version), or CUDA_ERROR_OUT_OF_MEMORY; `log` gets a sentence. `size` 0: as the ELF headers tell, whose tables
    /// and all that they name the caller has found within its bytes, with room for a seal (kSealBytes) behind them.
    static CUresult load(const void* data, size_t size, std::string* log, std::unique_ptr<Image>* out);
    virtual std::span<const gpo_soft_kernel> kernels() const = 0;
    virtual std::span<const gpo_soft_variable> variables() const = 0;
    virtual std::span<const gpo_soft_name> names() const = 0;
};

}  // namespace gpo::softgpu
