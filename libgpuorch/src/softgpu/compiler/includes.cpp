#include "softgpu/compiler/includes.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace gpo::softgpu {

namespace {

constexpr off_t kLargestInclude = 256 << 20;   // bytes
constexpr std::string_view kBlanks = " \t\r";

/// Why the file can't be included; "" if it can, or doesn't exist.
std::string fault_of(const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) return {};
    if (!S_ISREG(status.st_mode)) return path + " is not a regular file and can't be included";
    if (status.st_size > kLargestInclude) return path + " has more than 256 MiB and can't be included";
    return {};
}

/// The name in a line that is a plain include; "" in any other.
std::string_view included_by(std::string_view line) {
    const auto skip = [&] { line.remove_prefix(std::min(line.size(), line.find_first_not_of(kBlanks))); };
    skip();
    if (!line.starts_with("#")) return {};
    line.remove_prefix(1);
    skip();
    if (!line.starts_with("include")) return {};
    line.remove_prefix(7);
    skip();
    if (line.empty() || (line[0] != '<' && line[0] != '"')) return {};
    const size_t end = line.find(line[0] == '<' ? '>' : '"', 1);
    return end == std::string_view::npos ? std::string_view() : line.substr(1, end - 1);
}

class Search {
public:
    explicit Search(const CompilerOptions& options) {
        for (const std::string& word : options.preprocess)
            if (word.starts_with("-I")) folders_.push_back(word.substr(2) + "/");
    }

    std::string fault(std::string_view name) const {
        if (name.starts_with("/")) return fault_of(std::string(name));
        for (const std::string& folder : folders_)
            if (std::string fault = fault_of(folder + std::string(name)); !fault.empty()) return fault;
        return {};
    }

    std::string fault_in(const std::string& file, std::string_view text) const {
        for (unsigned line = 1; !text.empty(); ++line) {
            const std::string_view one = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(text.size(), one.size() + 1));
            const std::string_view name = included_by(one);
            if (name.empty()) continue;
            if (const std::string fault = this->fault(name); !fault.empty())
                return file + "(" + std::to_string(line) + "): error: " + fault + "\n";
        }
        return {};
    }

private:
    std::vector<std::string> folders_;
};

}  // namespace

std::string unreadable_include(const driver::CompileRequest& request, const CompilerOptions& options) {
    const Search search(options);
    for (size_t i = 0; i + 1 < options.preprocess.size(); ++i) {
        if (options.preprocess[i] != "-include") continue;
        if (const std::string fault = search.fault(options.preprocess[i + 1]); !fault.empty())
            return "<command-line>: error: " + fault + "\n";
    }
    std::string fault = search.fault_in(request.file_name, request.source);
    for (const auto& [name, text] : request.headers)
        if (fault.empty()) fault = search.fault_in(name, text);
    return fault;
}

}  // namespace gpo::softgpu
