// The same kernels, made as for another version of the software GPU's ABI: what an image kept from an older library is.
#include "softgpu/kernel_abi.h"

#undef GPO_SOFT_KERNEL_ABI
#define GPO_SOFT_KERNEL_ABI 1

#include "softgpu_kernels.cpp"
