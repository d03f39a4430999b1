// Where libcudadevrt.a is: code of CUDA's for the device, which kernels that launch kernels are linked with.
#pragma once

#include <string>
#include <vector>

namespace gpo::driver {

struct DeviceRuntime {
    std::string path;                // "": not found
    std::vector<std::string> tried;  // folders; the file that GPUORCH_CUDADEVRT names, if it does
};

/// Looks beside the library of NVRTC, whose folder and major version are given, and then in the toolkits below `local`.
/// GPUORCH_CUDADEVRT, where it is set, is the only place.
DeviceRuntime find_device_runtime(const std::string& library_folder, int major, const std::string& local);

/// Why it wasn't found, as a sentence.
std::string missing_device_runtime(const DeviceRuntime& looked_for);

/// Tells two states of the file apart, as before and after an upgrade in place.
std::string state_of_file(const std::string& path);

}  // namespace gpo::driver
