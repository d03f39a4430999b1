// Finds libcudadevrt.a, CUDA's device code that kernels which launch kernels are linked with.
#pragma once

#include <string>
#include <vector>

namespace gpo::driver {

struct DeviceRuntime {
    std::string path;                // "": not found
    std::vector<std::string> tried;  // folders; or only the file that GPUORCH_CUDADEVRT names
};

/// Looks beside the library of NVRTC, whose folder and major version are given, and then in the toolkits below `local`.
/// If GPUORCH_CUDADEVRT is set, looks only there.
DeviceRuntime find_device_runtime(const std::string& library_folder, int major, const std::string& local);

/// A sentence that explains why the file wasn't found.
std::string missing_device_runtime(const DeviceRuntime& looked_for);

/// A text that changes with the file, for example by an upgrade in place; "" without the file.
std::string state_of_file(const std::string& path);

}  // namespace gpo::driver
