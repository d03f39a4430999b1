// Commands of graph nodes that are made explicitly, from the parameters that cuGraphAddNode takes. All of it with the
// machine's lock held; what is refused has changed nothing.
#pragma once

#include "softgpu/api/call.h"

namespace gpo::softgpu {

/// A kernel of `context`.
void make_kernel_node(Machine& machine, Context& context, const CUDA_KERNEL_NODE_PARAMS_v3& parameters, Work& work);
/// Of a kernel's node: the attribute of its launches.
void set_kernel_attribute(Machine& machine, Context& context, Work& work, CUlaunchAttributeID id,
                          const CUlaunchAttributeValue& value);
void make_copy_node(Machine& machine, const CUDA_MEMCPY3D& description, Work& work);
void make_fill_node(Machine& machine, const CUDA_MEMSET_NODE_PARAMS_v2& parameters, Work& work);

}  // namespace gpo::softgpu
