#include "driver/nvrtc_includes.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/text.h"
#include "driver/toolkit_files.h"

namespace gpo::driver::nvrtc {

namespace {

constexpr char kToolkitHeader[] = "cuda_fp16.h", kCoreHeader[] = "nv/target",
               kCoreLibrary[] = "cuda/std/type_traits";

/// Folders that may have the headers, the likeliest first.
std::vector<std::string> places(const std::string& library_folder, int major, const std::string& local) {
    std::vector<std::string> out;
    if (!library_folder.empty()) {
        // A toolkit has lib64/ and include/, or targets/…/lib/ and include/; a wheel of CUDA 13 nvidia/cu13/lib/ and
        // include/; wheels of CUDA 12 nvidia/cuda_nvrtc/lib/, nvidia/cuda_runtime/include/ and
        // nvidia/cuda_cccl/include/.
        out = {library_folder + "/../include", library_folder + "/../../cuda_runtime/include"};
        for (const std::string& package : packages_beside(library_folder)) out.push_back(package + "/include");
    }
    std::vector<std::string> others;
    for (const std::string& toolkit : paths_in(local)) {
        const std::string_view name = std::string_view(toolkit).substr(local.size() + 1);
        if (name.starts_with(text("cuda-", major))) out.push_back(toolkit + "/include");
        else if (name.starts_with("cuda-")) others.push_back(toolkit + "/include");
    }
    out.push_back(local + "/cuda/include");
    out.push_back(local + "/cuda/targets/x86_64-linux/include");
    out.insert(out.end(), others.begin(), others.end());
    return out;
}

}  // namespace

Includes find_includes(const std::string& library_folder, int major, const std::string& local) {
    Includes found;
    bool core = false;
    const auto add_core = [&](const std::string& folder, const char* header) {
        for (const std::string& place : {folder + "/cccl", folder}) {
            if (core || !has_file(place, header)) continue;
            core = true;
            if (std::find(found.folders.begin(), found.folders.end(), place) == found.folders.end())
                found.folders.push_back(place);
        }
    };
    const auto candidates = places(library_folder, major, local);
    for (const std::string& place : candidates) {
        found.tried.push_back(place);
        if (!found.folders.empty() || !has_file(place, kToolkitHeader)) continue;
        found.folders.push_back(place);
        add_core(place, kCoreLibrary);   // prefer the core libraries beside the toolkit's headers
        add_core(place, kCoreHeader);
    }
    // A toolkit has nv/target beside its headers too, without the libraries that lie in cccl/.
    for (const char* header : {kCoreLibrary, kCoreHeader})
        for (const std::string& place : candidates) add_core(place, header);
    return found;
}

std::string missing_header(const std::string& log, const Includes& includes) {
    constexpr std::string_view kSays = "open source file \"";
    const size_t at = log.find(kSays);
    if (at == std::string::npos) return {};
    const std::string_view rest = std::string_view(log).substr(at + kSays.size()),
                           name = rest.substr(0, rest.find('"'));
    const auto starts = [&](std::initializer_list<std::string_view> words) {
        return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return name.starts_with(word); });
    };
    const bool core = starts({"nv/", "cuda/", "cub/", "thrust/"});
    if (!core &&
        !starts({"cuda_", "cooperative_groups", "cuComplex.h", "mma.h", "math_constants.h", "vector_", "crt/"}))
        return {};
    std::string sentence = text(
        "error: ", name, " is a header of ", core ? "CUDA's C++ core libraries (CCCL)" : "the CUDA toolkit",
        ", which NVRTC doesn't have itself and which was not found. The toolkit has it, and so has the Python package ",
        core ? "nvidia-cuda-cccl" : "nvidia-cuda-runtime", "; an option -I names any other folder. Looked in ");
    for (size_t i = 0; i < includes.tried.size(); ++i) sentence += text(i ? ", " : "", includes.tried[i]);
    return sentence;
}

}  // namespace gpo::driver::nvrtc
