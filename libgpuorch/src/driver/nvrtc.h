// NVRTC, the compiler of kernel source for CUDA devices: a library of the CUDA toolkit, opened when the first kernel is
// compiled and never closed. Images are cubins for the device at hand, or PTX if NVRTC is older than the device.
#pragma once

#include <string>
#include <vector>

#include "driver/driver.h"

namespace gpo::driver {

class NvrtcCompiler final : public Compiler {
public:
    std::unique_ptr<Compilation> begin(const CompileRequest& request) override;
    /// The compiler, its version, the include folders and their state, and the library's own headers; "none" without
    /// NVRTC.
    std::string identity() override;
    /// Sets the driver's version. Libraries of NVRTC with the same major version are tried first.
    void prefer(int version) noexcept { version_ = version; }

private:
    int version_ = 13000;
};

namespace nvrtc {

/// Names and paths to try, in order; only GPUORCH_NVRTC if set.
std::vector<std::string> candidates(int driver_version);

/// Headers that every source may include without a folder: standard headers that NVRTC doesn't have
/// (nvrtc_headers.cpp), and those of gpuorch/device. Include name, text.
const std::vector<std::pair<const char*, const char*>>& own_headers();

}  // namespace nvrtc

}  // namespace gpo::driver
