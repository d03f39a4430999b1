#include "driver/nvrtc_reads.h"

#include <algorithm>
#include <string_view>

#include "driver/nvrtc.h"

namespace gpo::driver::nvrtc {

namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

/// The text with continued lines joined: removes each backslash (or its trigraph) before a line end, with any blanks
/// between the two.
std::string join_lines(std::string_view text) {
    std::string joined;
    joined.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const size_t mark = text[at] == '\\' ? 1 : text.substr(at).starts_with("?\?/") ? 3 : 0;
        if (mark) {
            const size_t end = text.find_first_not_of(kBlanks, at + mark);
            if (end != std::string_view::npos && text[end] == '\n') {
                at = end + 1;
                continue;
            }
        }
        joined += text[at++];
    }
    return joined;
}

bool has_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

class Reads {
public:
    explicit Reads(const CompileRequest& request) : request_(request) {
        for (const std::string& option : request.options) {
            folders_ |= has_one_of(option, {"-I", "--include-path"});
            by_option_ |=
                has_one_of(option, {"-include", "-imacros", "_include", "pch", "options-file", "-optf", "@"}) &&
                !option.starts_with("--include-path");
        }
    }

    bool any() const {
        return by_option_ || text_reads(request_.source) ||
               std::any_of(request_.headers.begin(), request_.headers.end(),
                           [this](const auto& header) { return text_reads(header.second); });
    }

private:
    bool text_reads(std::string_view text) const {
        const std::string joined = join_lines(text);
        std::string_view left = joined;
        while (!left.empty()) {
            const std::string_view line = left.substr(0, left.find('\n'));
            left.remove_prefix(std::min(left.size(), line.size() + 1));
            if (line_reads(line)) return true;
        }
        return false;
    }

    bool line_reads(std::string_view line) const {
        if (!has_one_of(line, {"include", "import"}) || !has_one_of(line, {"#", "%:", "?\?="})) return false;
        const auto skip = [&] { line.remove_prefix(std::min(line.size(), line.find_first_not_of(kBlanks))); };
        const auto take = [&](std::string_view word) {
            skip();
            if (!line.starts_with(word)) return false;
            line.remove_prefix(word.size());
            return true;
        };
        if (!take("#") || !take("include")) return true;
        skip();
        if (line.empty() || (line[0] != '<' && line[0] != '"')) return true;
        const bool quoted = line[0] == '"';
        const size_t end = line.find(quoted ? '"' : '>', 1);
        if (end == std::string_view::npos) return true;
        const std::string_view name = line.substr(1, end - 1), rest = line.substr(end + 1);
        if (has_one_of(rest, {"include", "import"})) return true;
        if (is_given(name)) return false;
        return quoted || folders_ || name.starts_with("/") || has_one_of(name, {".."});
    }

    bool is_given(std::string_view name) const {
        return std::any_of(request_.headers.begin(), request_.headers.end(),
                           [&](const auto& header) { return header.first == name; }) ||
               std::any_of(own_headers().begin(), own_headers().end(),
                           [&](const auto& header) { return header.first == name; });
    }

    const CompileRequest& request_;
    bool folders_ = false, by_option_ = false;
};

}  // namespace

bool may_read_files(const CompileRequest& request) { return Reads(request).any(); }

}  // namespace gpo::driver::nvrtc
