#include "softgpu/compiler/messages.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace gpo::softgpu {

namespace {

/// Names, or folders with a '/' at their end, and what is in them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kMissing = {{
    {"mma.h", "tensor cores"},
    {"cuda_fp8.h", "numbers of 8 bits"},
    {"cuda_fp6.h", "numbers of 6 bits"},
    {"cuda_fp4.h", "numbers of 4 bits"},
    {"texture_types.h", "textures"},
    {"texture_fetch_functions.h", "textures"},
    {"texture_indirect_functions.h", "textures"},
    {"surface_types.h", "surfaces"},
    {"surface_functions.h", "surfaces"},
    {"surface_indirect_functions.h", "surfaces"},
    {"cuda_awbarrier.h", "barriers of PTX"},
    {"cuda_awbarrier_primitives.h", "barriers of PTX"},
    {"curand_kernel.h", "cuRAND"},
    {"curand.h", "cuRAND"},
    {"cuda/", "of CCCL, whose folder no -I names"},
    {"cub/", "CCCL's CUB"},
    {"thrust/", "CCCL's Thrust"},
    {"nv/", "of CCCL, whose folder no -I names"},
}};

constexpr std::string_view kName = "name expression ";   // the file of one, and its number

bool names_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

template <class Each>
void each_line(std::string_view text, Each each) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        each(line);
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
}

/// The lines of a text with line markers.
class Lines {
public:
    struct Line { uint32_t offset, size; };

    explicit Lines(std::string_view text) : text_(text) {
        std::string file;
        uint32_t number = 1;
        each_line(text, [&](std::string_view line) {
            const auto offset = static_cast<uint32_t>(line.data() - text.data());
            if (line.starts_with("# ") && line.size() > 2 && std::isdigit(static_cast<unsigned char>(line[2]))) {
                std::from_chars(line.data() + 2, line.data() + line.size(), number);
                const size_t open = line.find('"'), close = line.rfind('"');
                if (open == std::string_view::npos || close <= open) return;
                file.clear();
                for (size_t i = open + 1; i < close; ++i) {
                    if (line[i] == '\\' && i + 1 < close) ++i;
                    file += line[i];
                }
                return;
            }
            lines_[file][number++].push_back({offset, static_cast<uint32_t>(line.size())});
        });
    }

    /// The pieces of a file's line, in their order.
    const std::vector<Line>& at(const std::string& file, uint32_t line) const {
        static const std::vector<Line> none;
        const auto lines = lines_.find(file);
        if (lines == lines_.end()) return none;
        const auto found = lines->second.find(line);
        return found == lines->second.end() ? none : found->second;
    }
    /// The file that a message begins with; "" for none of this text's.
    std::string file_of(std::string_view message) const {
        std::string longest;
        for (const auto& entry : lines_)
            if (entry.first.size() > longest.size() && message.starts_with(entry.first) &&
                message.substr(entry.first.size()).starts_with(":"))
                longest = entry.first;
        return longest;
    }
    std::string_view text(const Line& line) const { return text_.substr(line.offset, line.size); }

private:
    std::string_view text_;
    std::map<std::string, std::map<uint32_t, std::vector<Line>>> lines_;
};

/// A line without its comments, of the same length. Comments begun on an earlier line aren't recognised.
std::string without_comments(std::string_view line) {
    std::string out(line);
    char quote = 0;
    for (size_t i = 0; i < out.size(); ++i) {
        if (quote) {
            if (out[i] == '\\') ++i;
            else if (out[i] == quote) quote = 0;
        } else if (out[i] == '"' || (out[i] == '\'' && (i == 0 || !names_part(out[i - 1])))) {
            quote = out[i];
        } else if (out[i] == '/' && i + 1 < out.size() && (out[i + 1] == '/' || out[i + 1] == '*')) {
            const size_t end = out[i + 1] == '/' ? std::string::npos : out.find("*/", i + 2);
            const size_t stop = end == std::string::npos ? out.size() : end + 2;
            std::fill(out.begin() + static_cast<long>(i), out.begin() + static_cast<long>(stop), ' ');
            i = stop - 1;
        }
    }
    return out;
}

/// Where a token is in a line, each time that it is.
std::vector<size_t> places_of(std::string_view token, std::string_view line) {
    std::vector<size_t> places;
    for (size_t at = line.find(token); at != std::string_view::npos; at = line.find(token, at + 1)) {
        const bool word = names_part(token.front());
        if (word && at > 0 && names_part(line[at - 1])) continue;
        if (word && at + token.size() < line.size() && names_part(line[at + token.size()])) continue;
        places.push_back(at);
    }
    return places;
}

struct Message {
    std::string file;                  // "" where it begins with none of the user's
    uint32_t line = 0, column = 0;     // 0: none
    std::string_view rest;             // behind the place: " error: …"
};

/// The compiler's messages about one problem: a headline, its contexts, notes.
struct Group {
    std::vector<std::string_view> contexts;
    std::string_view head;             // none at the log's beginning
    std::vector<std::string_view> more;
};

class Reader {
public:
    explicit Reader(const MessageSource& source)
        : source_(source), before_(source.preprocessed), after_(source.rewritten.text) {}

    std::string run(std::string_view log) {
        const std::vector<Group> groups = group(log);
        std::vector<bool> dropped(groups.size());
        size_t kept = 0;
        for (size_t i = 0; i < groups.size(); ++i) {
            dropped[i] = is_added(groups[i]);
            kept += !dropped[i] && !groups[i].head.empty();
        }
        if (kept == 0) dropped.assign(groups.size(), false);
        std::set<std::string> names;   // name expressions with an error; their later errors follow from the first
        for (size_t i = 0; i < groups.size(); ++i)
            if (const Message message = parse(groups[i].head);
                message.file.starts_with(kName) && message.rest.starts_with(" error: "))
                dropped[i] = dropped[i] || !names.insert(message.file).second;
        unknown_parameters(groups, dropped);
        for (size_t i = 0; i < groups.size(); ++i)
            if (!dropped[i]) write(groups[i]);
        return std::move(out_);
    }

private:
    static bool is_head(std::string_view line) {
        return line.find(": error: ") != std::string_view::npos || line.find(": warning: ") != std::string_view::npos ||
               line.find(": fatal error: ") != std::string_view::npos;
    }
    static bool is_context(std::string_view line) {
        return line.starts_with("In file included from") || line.starts_with("                 from ") ||
               line.find(": In ") != std::string_view::npos || line.ends_with(": At global scope:") ||
               line.find(":   required ") != std::string_view::npos ||
               line.find(":   recursively required ") != std::string_view::npos ||
               line.find(":   in ") != std::string_view::npos;
    }
    static bool of_device(std::string_view line) {
        return line.starts_with("./device/") || line.starts_with("device/");
    }

    static std::vector<Group> group(std::string_view log) {
        std::vector<Group> groups(1);
        std::vector<std::string_view> contexts;
        each_line(log, [&](std::string_view line) {
            if (is_head(line)) {
                groups.emplace_back().head = line;
                groups.back().contexts = std::exchange(contexts, {});
            } else if (is_context(line)) {
                contexts.push_back(line);
            } else if (of_device(line) && line.find(": note: ") != std::string_view::npos) {
                contexts.clear();   // says what the headers of the device are made of
            } else {
                groups.back().more.insert(groups.back().more.end(), contexts.begin(), contexts.end());
                groups.back().more.push_back(line);
                contexts.clear();
            }
        });
        return groups;
    }

    Message parse(std::string_view line) const {
        Message message;
        message.file = after_.file_of(line);
        message.rest = line;
        if (message.file.empty()) return message;
        line.remove_prefix(message.file.size());
        for (uint32_t* number : {&message.line, &message.column}) {
            const auto read = std::from_chars(line.data() + 1, line.data() + line.size(), *number);
            if (read.ec != std::errc() || read.ptr == line.data() + line.size() || *read.ptr != ':') break;
            line.remove_prefix(static_cast<size_t>(read.ptr - line.data()));
        }
        message.rest = line.substr(1);
        return message;
    }

    /// Where a place of the rewritten text was before.
    struct Origin {
        bool added = false;                // by the token pass
        std::optional<uint32_t> offset;    // in the preprocessed text
    };
    Origin origin(const Message& message) const {
        Origin out;
        if (message.column == 0) return out;
        uint32_t left = message.column - 1;
        const Lines::Line* piece = nullptr;
        for (const Lines::Line& one : after_.at(message.file, message.line)) {
            if (one.size < left || one.size == 0) continue;
            if (piece) return out;   // ambiguous
            piece = &one;
        }
        if (!piece) return out;
        const std::string_view text = after_.text(*piece).substr(0, left);
        if (std::any_of(text.begin(), text.end(),
                        [](char c) { return c == '\t' || static_cast<unsigned char>(c) >= 0x80; }))
            return out;
        const uint32_t at = piece->offset + left;
        const auto& kept = source_.rewritten.kept;
        auto next = std::upper_bound(kept.begin(), kept.end(), at,
                                     [](uint32_t offset, const Rewritten::Kept& one) { return offset < one.at; });
        if (next == kept.begin()) {
            out.added = true;
            return out;
        }
        const Rewritten::Kept& one = *--next;
        if (at < one.at + one.size) out.offset = one.replaced ? one.from : one.from + (at - one.at);
        else if (at == one.at + one.size && left == piece->size) out.offset = one.from + one.size;   // behind the line
        else out.added = true;
        return out;
    }

    bool is_added(const Group& group) const {
        const Message message = parse(group.head);
        return !message.file.empty() && origin(message).added;
    }

    const Rewritten::Kernel* kernel_at(uint32_t offset) const {
        for (const Rewritten::Kernel& kernel : source_.rewritten.kernels)
            if (offset >= kernel.begin && offset < kernel.end) return &kernel;
        return nullptr;
    }

    /// GCC takes a function whose parameter has an unknown type for a variable, and then says six things more.
    void unknown_parameters(const std::vector<Group>& groups, std::vector<bool>& dropped) {
        for (size_t i = 0; i < groups.size(); ++i) {
            if (groups[i].head.find("variable or field '") == std::string_view::npos ||
                !groups[i].head.ends_with("' declared void"))
                continue;
            const auto of_head = [&](const Group& group) {
                const Origin from = origin(parse(group.head));
                return from.offset ? kernel_at(*from.offset) : nullptr;
            };
            const Rewritten::Kernel* kernel = of_head(groups[i]);
            if (!kernel) continue;
            bool said = false;
            for (size_t other = i; other < groups.size(); ++other) {
                if (of_head(groups[other]) != kernel) continue;
                const Message message = parse(groups[other].head);
                const size_t open = message.rest.find('\''), close = message.rest.find("' was not declared");
                if (!said && other != i && close != std::string_view::npos) {
                    said = true;
                    types_[groups[other].head] = "'" + std::string(message.rest.substr(open + 1, close - open - 1)) +
                                                 "', the type of a parameter of kernel '" + kernel->name +
                                                 "', is not known";
                } else {
                    dropped[other] = true;
                }
            }
            if (!said) dropped[i] = false;
        }
    }

    /// Converts an offset in the preprocessed text to a column in the user's line. 0 if the column is unknown, because
    /// the token at the offset doesn't occur equally often in both lines.
    uint32_t column(const Message& message, uint32_t offset) const {
        std::string_view text = source_.preprocessed;
        bool behind = false;
        if (offset >= text.size() ||
            std::isspace(static_cast<unsigned char>(text[offset]))) {  // what is missing behind something
            if (offset == 0 || std::isspace(static_cast<unsigned char>(text[offset - 1]))) return 0;
            --offset;
            behind = true;
        }
        size_t begin = offset, end = offset + 1;
        if (names_part(text[offset])) {
            while (begin > 0 && names_part(text[begin - 1])) --begin;
            while (end < text.size() && names_part(text[end])) ++end;
        }
        const std::string_view token = text.substr(begin, end - begin);
        const std::string written(line_of(message));
        const std::vector<size_t> to = places_of(token, written);
        std::vector<size_t> from;
        for (const Lines::Line& piece : before_.at(message.file, message.line))
            for (const size_t at : places_of(token, before_.text(piece))) from.push_back(piece.offset + at);
        const auto here = std::find(from.begin(), from.end(), begin);
        if (here == from.end() || from.size() != to.size()) return 0;
        return static_cast<uint32_t>(to[static_cast<size_t>(here - from.begin())] +
                                     (behind ? token.size() : offset - begin) + 1);
    }

    std::string line_of(const Message& message) const {
        std::string_view text = source_.text_of(message.file);
        for (uint32_t line = 1; line < message.line && !text.empty(); ++line)
            text.remove_prefix(std::min(text.size(), text.substr(0, text.find('\n')).size() + 1));
        return without_comments(text.substr(0, text.find('\n')));
    }

    void write(const Group& group) {
        const Message message = parse(group.head);
        const Origin from = origin(message);
        const Rewritten::Kernel* kernel = from.offset ? kernel_at(*from.offset) : nullptr;
        const bool own = kernel && std::none_of(kernel->nested.begin(), kernel->nested.end(), [&](const auto& nested) {
            return *from.offset >= nested.first && *from.offset < nested.second;
        });
        for (const std::string_view context : group.contexts) {
            if (constexpr std::string_view kLambda = "In lambda function:"; own && context.ends_with(kLambda))
                write_line(std::string(context.substr(0, context.size() - kLambda.size())) + "In kernel '" +
                           kernel->name + "':");
            else if (!context.ends_with("At global scope:"))   // said behind a function, which may be one of ours
                write_line(moved(context));
        }
        if (const auto type = types_.find(group.head); type != types_.end())
            write_line(message.file + ":" + place(message) + " error: " + type->second);
        else if (!group.head.empty())
            write_line(moved(group.head));
        for (const std::string_view line : group.more) write_line(moved(line));
    }

    /// "3:14:", or "3:".
    std::string place(const Message& message) const {
        const Origin from = origin(message);
        const uint32_t at = from.offset ? column(message, *from.offset) : 0;
        return std::to_string(message.line) + ":" + (at ? std::to_string(at) + ":" : "");
    }

    /// A line of the log with its place as the user knows it.
    std::string moved(std::string_view line) const {
        const Message message = parse(line);
        std::string out;
        if (message.line == 0) {
            out = line;
        } else if (message.file.starts_with(kName)) {
            size_t number = 0;
            std::from_chars(message.file.data() + kName.size(), message.file.data() + message.file.size(), number);
            const auto& names = source_.name_expressions;
            out = "name expression '" + (number < names.size() ? names[number] : message.file.substr(kName.size())) +
                  "':";
            const bool several = message.rest.find("overloaded function") != std::string_view::npos;
            out += several ? " error: it names several functions; a template wants its arguments"
                           : std::string(message.rest);
        } else {
            out = message.file + ":" + place(message) + std::string(message.rest);
        }
        for (const std::string_view added : {"::<lambda(__gpo_view)>", "::<lambda(const __gpo_view)>"})
            for (size_t at; (at = out.find(added)) != std::string::npos;) out.erase(at, added.size());
        return out;
    }

    void write_line(std::string line) {
        line += '\n';
        if (line == last_) return;   // said of two things that the pass has made of one
        out_ += line;
        last_ = std::move(line);
    }

    const MessageSource& source_;
    const Lines before_, after_;
    std::map<std::string_view, std::string> types_;   // replacement texts by headline
    std::string out_, last_;
};

}  // namespace

std::string missing_header(std::string_view name) {
    for (const auto& [missing, what] : kMissing)
        if (name == missing || (missing.ends_with("/") && name.starts_with(missing)))
            return "<" + std::string(name) + "> (" + std::string(what) + ") is not on the software GPU";
    return {};
}

size_t folder_of_missing(std::string_view path) {
    constexpr std::array<std::string_view, 6> kSigns = {"crt/mma.h",    "cuda_fp8.hpp",   "cuda_fp6.hpp",
                                                        "cuda_fp4.hpp", "cub/config.cuh", "thrust/detail/config.h"};
    for (const std::string_view sign : kSigns)
        if (path.size() > sign.size() && path.ends_with(sign) && path[path.size() - sign.size() - 1] == '/')
            return path.size() - sign.size();
    return 0;
}

std::string readable_preprocessor_log(std::string_view log) {
    std::string out;
    bool missing = false;
    each_line(log, [&](std::string_view line) {
        constexpr std::string_view kFatal = ": fatal error: ";
        const size_t fatal = line.find(kFatal);
        if (fatal != std::string_view::npos) {
            std::string_view name = line.substr(fatal + kFatal.size());
            if (name.ends_with(": No such file or directory")) name = name.substr(0, name.rfind(": "));       // GCC
            else if (name.ends_with("' file not found")) name = name.substr(1, name.find('\'', 1) - 1);      // Clang
            const std::string sentence = missing_header(name);
            missing = !sentence.empty();
            if (missing) {
                out += std::string(line.substr(0, fatal)) + ": error: " + sentence + "\n";
                return;
            }
        }
        if (missing && (line == "compilation terminated." || line.starts_with(" ") || line == "1 error generated."))
            return;
        out += std::string(line) + "\n";
    });
    return out;
}

std::string readable_compiler_log(std::string_view log, const MessageSource& source) { return Reader(source).run(log); }

std::string initializer_errors(std::string_view log) {
    std::string out;
    each_line(log, [&](std::string_view line) {
        const size_t error = line.find(" error: ");
        if (error == line.npos || line.find("does not have a constant initializer", error) == line.npos) return;
        const size_t open = line.find("variable '", error), close = line.find('\'', open + 10);   // Clang names none
        out += line.substr(0, error);
        out += " error: dynamic initialization is not supported for a __device__ or __constant__ variable";
        if (open != line.npos && close != line.npos)
            out.append(" (").append(line.substr(open + 10, close - open - 10)).append(")");
        out += '\n';
    });
    return out;
}

}  // namespace gpo::softgpu
