// Every environment variable that the library reads, in one place. In set-uid programs all of them are ignored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpo::environment {

#define GPO_ENVIRONMENT(X)                                                                                          \
    X(GPUORCH_DEVICE, "any, soft, cuda, cuda:N or soft:N: which driver and device a runtime uses")                  \
    X(GPUORCH_QUIET_FALLBACK, "1: stderr doesn't say that the software GPU stands in for a GPU that isn't there")   \
    X(GPUORCH_LOG, "error, warning, info or debug: log to stderr where the runtime has no log function")            \
    X(GPUORCH_TRACE, "trace each runtime of each process: a .json, .json.gz or .svg file, or a folder for all")     \
    X(GPUORCH_ATTRIBUTE, "1: each operation marks its begin and end, so that failures name fewer suspects")         \
    X(GPUORCH_CACHE, "folder for compiled kernels; empty: none")                                                    \
    X(GPUORCH_CXX, "C++ compiler for kernels of the software GPU")                                                  \
    X(GPUORCH_NVRTC, "path of libnvrtc")                                                                            \
    X(GPUORCH_NCCL, "path of libnccl, which groups of CUDA devices use for large collectives")                      \
    X(GPUORCH_MPI, "path of libmpi, which groups of several processes are joined by")                                 \
    X(GPUORCH_MPI_DEVICE, "1: MPI takes addresses of device memory; 0: it doesn't; else it is asked")                 \
    X(GPUORCH_NVSHMEM, "path of libnvshmem_host, for symmetric memory of several processes")                          \
    X(GPUORCH_CUDADEVRT, "path of libcudadevrt.a, which kernels that launch kernels are linked with")               \
    X(GPUORCH_CUDA_VERSION, "1000 * major + 10 * minor: hide driver functions later than that")                     \
    X(GPUORCH_SOFT_DEVICES, "number of software GPUs, 1 to 64")                                                     \
    X(GPUORCH_SOFT_MEMORY, "bytes of memory of each software GPU")                                                  \
    X(GPUORCH_SOFT_GUARD, "1: kernels of the software GPU can touch only what is allocated; 0: no fault is caught") \
    X(GPUORCH_SOFT_FIBERS, "1: compile kernels for the software GPU so that all threads of a block run in turn")    \
    X(GPUORCH_SOFT_RATES, "speeds of the software GPU's engines: h2d=55e9,d2h=55e9,d2d=2e12,launch=3000")

/// True if the program is set-uid (or the like): its environment is then ignored.
bool ignored() noexcept;

/// The value; NULL if the variable is not set, or the program is set-uid. `name`: from the list above.
const char* get(const char* name) noexcept;

/// True for "1", "on", "yes", "true".
bool flag(const char* name) noexcept;

/// True if the value looks like a switch: a number, or a word like "yes". GPUORCH_TRACE=1 doesn't trace to a file "1".
bool is_a_switch(const char* value) noexcept;

/// A sentence for each variable with an invalid value. Variables for files, devices and speeds aren't checked here: the
/// code that uses them refuses bad values. Throws std::bad_alloc.
std::vector<std::string> mistakes();

}  // namespace gpo::environment
