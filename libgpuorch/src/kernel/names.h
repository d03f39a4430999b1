// Names of kernels: the symbols in an image, and the names by which users ask for kernels.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpo::kernel {

/// A symbol taken apart: "_ZN2ns4blurIfEEvPf" is "ns::blur<float>", a template. What isn't mangled is its own name.
struct DemangledName {
    std::string qualified;      // without return type and parameters
    std::string plain;          // the last component, without template arguments: "blur"
    bool is_template = false;
};
DemangledName demangle(const std::string& symbol);

/// The symbol that `name` stands for among `symbols`: a name expression of `lowered`, a symbol itself, or the plain or
/// qualified name of the only kernel that is called so and is no template, or a template with its arguments. "" with a
/// sentence in `why` that lists what there is.
std::string find_symbol(std::string_view name, std::span<const std::string> symbols,
                        std::span<const std::pair<std::string, std::string>> lowered, std::string* why);

}  // namespace gpo::kernel
