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
    /// Compiler, version, include folders with the state of what is in them, and our own headers; "none" where there is
    /// no NVRTC.
    std::string identity() override;
    /// The driver's version: an NVRTC of the same major version is looked for first.
    void prefer(int version) noexcept { version_ = version; }

private:
    int version_ = 13000;
};

namespace nvrtc {

/// Names and places that are tried, in order. GPUORCH_NVRTC, where it is set, is the only one.
std::vector<std::string> candidates(int driver_version);

/// Headers that every source may include without a folder: standard headers that NVRTC doesn't have
/// (nvrtc_headers.cpp), and those of gpuorch/device. Include name, text.
const std::vector<std::pair<const char*, const char*>>& own_headers();

}  // namespace nvrtc

}  // namespace gpo::driver
