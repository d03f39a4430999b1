#include "driver/device_runtime.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"
#include "driver/toolkit_files.h"

namespace gpo::driver {

namespace {

constexpr char kArchive[] = "libcudadevrt.a";
constexpr const char* kLibraryFolders[] = {"/lib64", "/targets/x86_64-linux/lib", "/lib"};  // of a toolkit

void add_toolkit(const std::string& toolkit, std::vector<std::string>& places) {
    for (const char* folder : kLibraryFolders) places.push_back(toolkit + folder);
}

/// Folders that may have the archive, the likeliest first.
std::vector<std::string> archive_places(const std::string& library_folder, int major, const std::string& local) {
    std::vector<std::string> places;
    if (!library_folder.empty()) {
        // A toolkit and a wheel of CUDA 13 have both libraries in one folder; wheels of CUDA 12 nvidia/cuda_nvrtc/lib/
        // and nvidia/cuda_runtime/lib/.
        places = {library_folder, library_folder + "/../../cuda_runtime/lib"};
        add_toolkit(library_folder + "/..", places);
        for (const std::string& package : packages_beside(library_folder)) places.push_back(package + "/lib");
    }
    add_toolkit(local + "/cuda", places);
    for (const std::string& toolkit : paths_in(local))
        if (std::string_view(toolkit).substr(local.size() + 1).starts_with(text("cuda-", major)))
            add_toolkit(toolkit, places);
    return places;
}

bool is_file(const std::string& path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

DeviceRuntime find_device_runtime(const std::string& library_folder, int major, const std::string& local) {
    DeviceRuntime found;
    if (const char* path = environment::get("GPUORCH_CUDADEVRT"); path && *path) {
        found.tried.emplace_back(path);
        if (is_file(path)) found.path = path;
        return found;
    }
    for (const std::string& place : archive_places(library_folder, major, local)) {
        found.tried.push_back(place);
        if (!has_file(place, kArchive)) continue;
        found.path = real_path(text(place, "/", kArchive));
        if (!found.path.empty()) break;
    }
    return found;
}

std::string missing_device_runtime(const DeviceRuntime& looked_for) {
    std::string sentence =
        text(kArchive, ", the library of the CUDA toolkit that kernels which launch kernels are linked with, was not ",
             "found. The Python package nvidia-cuda-runtime has it too, and GPUORCH_CUDADEVRT can name the file. ",
             "Looked for ");
    for (size_t i = 0; i < looked_for.tried.size(); ++i) sentence += text(i ? ", " : "", looked_for.tried[i]);
    return sentence;
}

std::string state_of_file(const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) return {};
    return text(path, " ", uint64_t(status.st_mtim.tv_sec), ".", uint64_t(status.st_mtim.tv_nsec), ".",
                uint64_t(status.st_size));
}

}  // namespace gpo::driver
