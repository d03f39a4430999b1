// The kernel gpo_combine of driver/combine.cu for the software GPU.
#pragma once

#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

void combine(gpo_soft_block* block);

}  // namespace gpo::softgpu
