// The raw arm: the driver's functions, called as by a program without a library.
//
// On a CUDA device the functions come from libcuda by dlopen and cuGetProcAddress, and work on the primary context,
// like the library. On the software GPU the functions come from a second copy (soft_raw/), which shares nothing with
// the library's copy: the arm then shows the cost of the layers above the driver.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/table.h"

namespace gpo::bench {

class Gpu;

[[noreturn]] void fail_raw(const char* call, CUresult result);
inline void check_raw(const char* call, CUresult result) {
    if (result != CUDA_SUCCESS) [[unlikely]] fail_raw(call, result);
}
#define CHECK_CU(...) ::gpo::bench::check_raw(#__VA_ARGS__, (__VA_ARGS__))

class Raw {
public:
    /// Uses the device of `gpu`; makes the context current for the calling thread. Throws.
    explicit Raw(const Gpu& gpu);
    ~Raw();
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;

    const driver::Table& cu;
    /// To be called by each further thread that calls the driver.
    void make_current() const { CHECK_CU(cu.cuCtxSetCurrent(context_)); }

    /// All objects below live as long as this object.
    CUstream stream();
    CUevent event(unsigned flags = CU_EVENT_DISABLE_TIMING);
    CUfunction function(Gpu& gpu, const char* name);
    CUdeviceptr memory(uint64_t bytes);
    void* pinned(uint64_t bytes);

    void finish(CUstream stream) const { CHECK_CU(cu.cuStreamSynchronize(stream)); }

private:
    CUcontext context_ = nullptr;
    CUdevice device_ = 0;
    CUmodule module_ = nullptr;
    std::vector<CUstream> streams_;
    std::vector<CUevent> events_;
    std::vector<CUdeviceptr> memory_;
    std::vector<void*> pinned_;
};

}  // namespace gpo::bench
