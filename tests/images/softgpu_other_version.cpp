// Kernels of softgpu_kernels.cpp for another version of the software GPU's ABI, like an image kept from an older
// library.
#include "softgpu/kernel_abi.h"

#undef GPO_SOFT_KERNEL_ABI
#define GPO_SOFT_KERNEL_ABI 1

#include "softgpu_kernels.cpp"
