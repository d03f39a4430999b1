// Reads a GPU's load, power, temperature and clocks through NVML, which is loaded at first use. Once initialized, NVML
// stays loaded. If it can't be used, these functions return the reason as text.
#pragma once

#include <string>

#include "gpuorch/metrics.h"

namespace gpo::metrics {

class Nvml {
public:
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    /// Loads libnvidia-ml.so.1 on the first call, and again after a failure. NULL, with the reason in `why`, if NVML
    /// can't be used.
    static const Nvml* open(std::string* why);
    /// Loads NVML from a path; only tests call this directly. The caller deletes the result.
    static Nvml* open_at(const char* path, std::string* why);

    /// Fills in what NVML knows of the device at this PCI address ("0000:1b:00.0"), and leaves the rest unchanged.
    /// False with the reason in `why` if NVML doesn't know the device. Any thread.
    bool read(const char* pci_address, gpo_device_metrics& out, std::string* why) const;

private:
    Nvml() = default;
    struct Functions;
    Functions* functions_ = nullptr;
};

}  // namespace gpo::metrics
