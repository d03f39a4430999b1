// A libcuda.so.1 for machines without one: a second copy of the software GPU, which libgpuorch takes for CUDA. This
// driver can't run code for a GPU's processor; for libgpuorch's built-in kernels it uses its own versions.
#include <cstring>
#include <memory>

#include "driver/driver.h"

namespace {

gpo::driver::Driver& driver() {
    // Never closed, like libcuda.
    static const auto& kept = *new std::shared_ptr<gpo::driver::Driver>(gpo::driver::open_soft(nullptr));
    return *kept;
}

CUresult load_module(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
    const bool text = std::strncmp(static_cast<const char*>(image), "//", 2) == 0;  // PTX, as the built-in kernels come
    return driver().table.cuModuleLoadDataEx(module, text ? driver().builtin_image.data() : image, count, options,
                                             values);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) CUresult cuDriverGetVersion(int* version) {
    *version = driver().version;
    return CUDA_SUCCESS;
}

__attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(const char* symbol, void** address, int, cuuint64_t,
                                                                   CUdriverProcAddressQueryResult* found) {
    *address = nullptr;
#define X(name, from, need) \
    if (std::strcmp(symbol, #name) == 0) *address = reinterpret_cast<void*>(driver().table.name);
    GPO_DRIVER_FUNCTIONS(X, X)
#undef X
    if (std::strcmp(symbol, "cuModuleLoadDataEx") == 0) *address = reinterpret_cast<void*>(load_module);
    if (found) *found = *address ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
