// The kernels of driver/combine.cu for the software GPU.
#pragma once

#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

void combine(gpo_soft_block* block);

/// `Element`: of base/combine.h. Defined for the elements of GPO_EACH_SMALL_ALL_REDUCE.
template <class Element>
void all_reduce_small(gpo_soft_block* block);

}  // namespace gpo::softgpu
