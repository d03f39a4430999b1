// Names of kernels: the symbols in an image, and the names by which users ask for kernels.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpo::kernel {

/// A symbol taken apart: "_ZN2ns4blurIfEEvPf" is "ns::blur<float>", a template. An unmangled symbol is its own name.
struct DemangledName {
    std::string qualified;      // without return type and parameters
    std::string plain;          // the last component, without template arguments: "blur"
    bool is_template = false;
};
DemangledName demangle(const std::string& symbol);

/// The symbol among `symbols` that `name` stands for. `name`: a name expression of `lowered`, a symbol, a template with
/// its arguments, or the plain or qualified name of exactly one kernel that is no template. "": none; `why` then gets a
/// sentence that lists the kernels.
std::string find_symbol(std::string_view name, std::span<const std::string> symbols,
                        std::span<const std::pair<std::string, std::string>> lowered, std::string* why);

}  // namespace gpo::kernel
