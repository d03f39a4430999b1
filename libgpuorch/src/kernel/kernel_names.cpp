#include "kernel/kernel_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/text.h"

namespace gpo::kernel {

namespace {

std::string without_spaces(std::string_view text) {
    std::string out;
    for (const char c : text)
        if (c != ' ' && c != '\t') out.push_back(c);
    return out;
}

/// Position of the opening bracket for the bracket at `close`; npos if there is none.
size_t opening(std::string_view text, size_t close) {
    int depth = 0;
    for (size_t i = close + 1; i-- > 0;) {
        if (text[i] == ')' || text[i] == '>' || text[i] == '}') ++depth;
        if ((text[i] == '(' || text[i] == '<' || text[i] == '{') && --depth == 0) return i;
    }
    return std::string_view::npos;
}

constexpr size_t kListed = 20;

}  // namespace

DemangledName demangle(const std::string& symbol) {
    DemangledName out;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        ::abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    if (!symbol.starts_with("_Z") || status != 0 || !text) {
        out.qualified = out.plain = symbol;
        return out;
    }
    std::string_view name = text.get();
    // "[clone .part]" and the like don't occur in kernels; the parameter list is the last bracket.
    if (!name.empty() && name.back() == ')') {
        const size_t open = opening(name, name.size() - 1);
        if (open != std::string_view::npos) name = name.substr(0, open);
    }
    // Templates carry their return type in front: cut at the last space outside of brackets.
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<' || name[i] == '(' || name[i] == '{') ++depth;
        if (name[i] == '>' || name[i] == ')' || name[i] == '}') --depth;
        if (name[i] == ' ' && depth == 0) begin = i + 1;
    }
    name = name.substr(begin);
    out.qualified = name;
    if (!name.empty() && name.back() == '>') {
        out.is_template = true;
        const size_t open = opening(name, name.size() - 1);
        if (open != std::string_view::npos) name = name.substr(0, open);
    }
    depth = 0;
    begin = 0;
    for (size_t i = 0; i + 1 < name.size(); ++i) {
        if (name[i] == '<' || name[i] == '(' || name[i] == '{') ++depth;
        if (name[i] == '>' || name[i] == ')' || name[i] == '}') --depth;
        if (depth == 0 && name[i] == ':' && name[i + 1] == ':') begin = i + 2;
    }
    out.plain = name.substr(begin);
    return out;
}

constexpr std::string_view kTemplates = "; kernels of a template are there if a name expression asked for them";

std::string find_symbol(std::string_view name, std::span<const std::string> symbols,
                        std::span<const std::pair<std::string, std::string>> lowered, std::string* why) {
    const std::string wanted = without_spaces(name);
    for (const auto& [expression, symbol] : lowered)
        if (expression == name) return symbol;
    for (const auto& [expression, symbol] : lowered)
        if (without_spaces(expression) == wanted) return symbol;
    if (std::find(symbols.begin(), symbols.end(), name) != symbols.end()) return std::string(name);

    std::vector<const std::string*> matches;
    std::vector<std::string> shown;
    for (const std::string& symbol : symbols) {
        const DemangledName is = demangle(symbol);
        const bool called_so = is.is_template ? without_spaces(is.qualified) == wanted
                                              : is.plain == name || is.qualified == name;
        if (called_so) matches.push_back(&symbol);
        shown.push_back(is.qualified == symbol ? symbol : text(is.qualified, " (", symbol, ")"));
    }
    if (matches.size() == 1) return *matches.front();
    if (matches.size() > 1) {
        *why = text("`", name, "` is overloaded, ask for one of its symbols:");
        for (const std::string* symbol : matches) *why += " " + *symbol;
        return {};
    }
    for (const auto& entry : lowered)
        if (std::find(symbols.begin(), symbols.end(), entry.second) == symbols.end()) shown.push_back(entry.first);
    *why = text("the module has no kernel `", name, "`; ");
    if (shown.empty()) {
        *why += text("it has none, or none that the driver tells of", kTemplates);
        return {};
    }
    std::sort(shown.begin(), shown.end());
    *why += "it has ";
    for (size_t i = 0; i < shown.size() && i < kListed; ++i) *why += (i ? ", " : "") + shown[i];
    if (shown.size() > kListed) *why += text(" and ", shown.size() - kListed, " more");
    *why += kTemplates;
    return {};
}

}  // namespace gpo::kernel
