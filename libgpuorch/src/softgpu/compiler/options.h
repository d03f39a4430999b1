// NVRTC's options in the spelling of the machine's compiler.
#pragma once

#include <string>
#include <vector>

namespace gpo::softgpu {

struct CompilerOptions {
    std::string macros;                    // -D and -U as lines of source, in their order
    std::vector<std::string> macro_names;
    std::vector<std::string> preprocess;   // -I, -include
    std::vector<std::string> compile;      // options that change the code
    std::string standard = "-std=c++17";
    std::string refused;                   // NVRTC's message for the first option unknown to NVRTC
};

CompilerOptions translate_options(const std::vector<std::string>& options);

}  // namespace gpo::softgpu
