#include "softgpu/compiler/cccl.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace gpo::softgpu {

namespace {

namespace fs = std::filesystem;

bool has_cccl(const std::string& folder) {
    std::error_code error;
    return fs::is_regular_file(folder + "/cuda/std/version", error) &&
           fs::is_regular_file(folder + "/cuda/__cccl_config", error);
}

bool asks(std::string_view text) {
    return text.find("<cuda/") != std::string_view::npos || text.find("\"cuda/") != std::string_view::npos;
}

std::string usual_folder() {
    std::vector<std::string> folders;
    if (const char* deps = secure_getenv("GPUORCH_DEPS"))
        folders.push_back(std::string(deps) + "/nvidia/cu13/include/cccl");
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* home = secure_getenv(name)) folders.push_back(std::string(home) + "/include/cccl");
    folders.insert(folders.end(), {"/usr/local/cuda/include/cccl", "/opt/cuda/include/cccl"});
    for (const std::string& folder : folders)
        if (folder.starts_with("/") && has_cccl(folder)) return folder;
    return {};
}

std::string wrapper(const std::string& name) {
    std::string hide, show;
    for (const char* macro : {"__CUDACC__", "__CUDACC_RTC__", "__NVCC__", "__CUDA_ARCH__", "__CUDACC_VER_MAJOR__",
                              "__CUDACC_VER_MINOR__"}) {
        hide += "#pragma push_macro(\"" + std::string(macro) + "\")\n#undef " + macro + "\n";
        show += "#pragma pop_macro(\"" + std::string(macro) + "\")\n";
    }
    for (const char* function : {"sched_yield", "nanosleep"}) {
        hide += "#pragma push_macro(\"" + std::string(function) + "\")\n#undef " + function + "\n#define " + function +
                " __gpo_" + function + "\n";
        show += "#pragma pop_macro(\"" + std::string(function) + "\")\n";
    }
    return "#pragma once\n#pragma GCC system_header\n#include \"gpo_cccl.h\"\n" + hide + "#include_next <" + name +
           ">\n" + show;
}

}  // namespace

Cccl find_cccl(const driver::CompileRequest& request, const CompilerOptions& options) {
    Cccl cccl;
    for (const std::string& word : options.preprocess)
        if (cccl.folder.empty() && word.starts_with("-I") && has_cccl(word.substr(2))) cccl.folder = word.substr(2);
    if (cccl.folder.empty()) {
        bool asked = asks(request.source);
        for (const auto& [name, text] : request.headers) asked = asked || asks(text);
        if (asked) cccl.folder = usual_folder();
        cccl.found = !cccl.folder.empty();
    }
    if (cccl.folder.empty()) return cccl;
    for (const std::string folder : {"cuda/", "cuda/std/", "nv/"}) {
        std::error_code error;
        for (fs::directory_iterator at(cccl.folder + "/" + folder, error), end; !error && at != end;
             at.increment(error)) {
            const std::string name = at->path().filename().string();
            if (!name.starts_with("_") && at->is_regular_file(error))
                cccl.wrappers.emplace_back(folder + name, wrapper(folder + name));
        }
    }
    return cccl;
}

}  // namespace gpo::softgpu
