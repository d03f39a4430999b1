// Translates the C++ compiler's messages about rewritten text into messages about the user's source: columns of the
// user's text, kernels by their names, and one sentence for each feature that the software GPU doesn't have.
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

/// If only missing headers of NVIDIA's include the file at `path`: the length of their folder's path with the '/'
/// behind it. Else 0.
size_t folder_of_missing(std::string_view path);

/// The preprocessor's output; a sentence of missing_header() replaces "No such file".
std::string readable_preprocessor_log(std::string_view log);

struct MessageSource {
    const std::string& preprocessed;
    const Rewritten& rewritten;
    const std::vector<std::string>& name_expressions;
    /// The text of a user's file, by its name in line markers. "" if unknown: messages then have no columns.
    std::function<std::string_view(const std::string& file)> text_of;
};

/// The compiler's messages about `rewritten`. A message keeps its file and line. Its column becomes the column of the
/// same token in the user's line, or is left out if the line doesn't have the token (a macro's text). Messages about
/// text added by the token pass are left out if there are others.
std::string readable_compiler_log(std::string_view log, const MessageSource& source);

/// A readable log's errors about variables with initialisers that aren't constant, in CUDA's words; "" for none.
std::string initializer_errors(std::string_view log);

}  // namespace gpo::softgpu
