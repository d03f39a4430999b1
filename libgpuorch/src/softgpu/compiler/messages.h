// Translates the C++ compiler's messages about rewritten text into messages about the user's source: columns of the
// source as it was written, kernels by their names, and one sentence for each feature that the software GPU doesn't
// have.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "softgpu/compiler/token_pass.h"

namespace gpo::softgpu {

/// Why the software GPU doesn't have a header of CUDA's, by its name in an #include: "<mma.h> (tensor cores) is not on
/// the software GPU"; "" for any other name.
std::string missing_header(std::string_view name);

/// Is the file at `path` one that such headers of NVIDIA's include, and nobody else has? The length of their folder's
/// path, the
/// '/' behind it included; 0: it isn't.
size_t folder_of_missing(std::string_view path);

/// What the preprocessor said, with a sentence in place of "No such file" where missing_header() has one.
std::string readable_preprocessor_log(std::string_view log);

struct MessageSource {
    const std::string& preprocessed;
    const Rewritten& rewritten;
    const std::vector<std::string>& name_expressions;
    /// The text of a file of the user's that line markers name; "" where it isn't known, and columns then aren't told.
    std::function<std::string_view(const std::string& file)> text_of;
};

/// What the compiler said of `rewritten`. A message keeps its file and line; its column is that of the same token in
/// the user's line, or left out where there is none (a macro's text). Messages about what the token pass has added are
/// left out if there are others.
std::string readable_compiler_log(std::string_view log, const MessageSource& source);

/// Of a readable log: what it says of variables whose initialisers aren't constant, in CUDA's words. "" if nothing.
std::string initializer_errors(std::string_view log);

}  // namespace gpo::softgpu
