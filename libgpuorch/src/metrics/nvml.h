// NVML: what the machine's driver reports about a GPU's health. The library is opened by the first question and never
// closed. If it can't be used, there is a reason instead.
#pragma once

#include <string>

#include "gpuorch/metrics.h"

namespace gpo::metrics {

class Nvml {
public:
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    /// libnvidia-ml.so.1 of the machine. Tries again after a failure. NULL with the reason in `why`.
    static const Nvml* open(std::string* why);
    /// For tests: opens the library at a path. The caller deletes the object.
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
