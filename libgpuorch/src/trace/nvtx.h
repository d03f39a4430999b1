// Ranges and names for Nsight and other tools that attach through NVTX: the library's calls, in a domain of their own.
// Without a tool, the functions do nothing. In set-uid programs NVTX is not used, since it reads the environment.
#pragma once

#include <cuda.h>

namespace gpo::trace::nvtx {

/// Looks for a tool, once for the process: when the first runtime is created.
void attach() noexcept;

/// Opens a range on the calling thread; `name` is static.
void push(const char* name) noexcept;
void pop() noexcept;

void name_thread(const char* name) noexcept;
void name_stream(CUstream stream, const char* name) noexcept;

}  // namespace gpo::trace::nvtx
