// A call of the table is refused by throwing this; nothing has been changed then. The call returns the result
// (api/call.h).
#pragma once

#include <cuda.h>

namespace gpo::softgpu {

struct Refused {
    CUresult result;
};

[[noreturn]] inline void refuse(CUresult result) { throw Refused{result}; }

inline void require(bool holds, CUresult result = CUDA_ERROR_INVALID_VALUE) {
    if (!holds) refuse(result);
}

}  // namespace gpo::softgpu
