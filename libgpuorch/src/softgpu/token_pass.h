// Turns preprocessed CUDA C++ into C++ that the machine's compiler takes, behind the device header (cuda_device/).
//
// What it does, and what must hold: cuda_device/README.md. The text keeps its lines, so that the compiler's messages
// show the user's files and line numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpo::softgpu {

struct PassOptions {
    bool clang = false;                           // which compiler's spelling of attributes
    std::vector<std::string> name_expressions;
};

/// Throws SourceError (token_lexer.h) for what is outside the subset.
std::string rewrite_kernels(std::string_view preprocessed, const PassOptions& options);

}  // namespace gpo::softgpu
