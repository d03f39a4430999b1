#include "softgpu/compiler/lexer.h"

#include <array>
#include <cctype>
#include <charconv>

namespace gpo::softgpu {

namespace {

bool starts_identifier(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}
bool continues_identifier(char c) { return starts_identifier(c) || std::isdigit(static_cast<unsigned char>(c)); }

// Longest first. '>' stays single, since it may close a template; "<<<" is CUDA's launch.
constexpr std::array<std::string_view, 26> kPunctuation = {
    "<<<", "...", "<<=", "->*", "<=>", "::", "->", "++", "--", "==", "!=", "<=", "&&", "||", "+=",
    "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "<<", ".*", "##", ">="};

class Lexer {
public:
    explicit Lexer(std::string_view source) : source_(source) { tokens_.files.emplace_back("source"); }

    Tokens run() {
        bool line_begins = true;
        while (at_ < source_.size()) {
            const char c = source_[at_];
            if (c == '\n') {
                ++line_;
                ++at_;
                line_begins = true;
            } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
                ++at_;
            } else if (c == '#' && line_begins) {
                directive();
            } else {
                line_begins = false;
                token();
            }
        }
        if (!open_.empty()) {
            const Token& left = list_[open_.back()];
            fail(left.line, left.file, "'" + std::string(left.text) + "' is never closed");
        }
        Token end;
        end.offset = static_cast<uint32_t>(source_.size());
        end.line = line_;
        end.file = file_;
        end.match = static_cast<uint32_t>(list_.size());
        list_.push_back(end);
        tokens_.all = TokenList(std::move(list_));
        return std::move(tokens_);
    }

private:
    [[noreturn]] void fail(uint32_t line, uint32_t file, const std::string& sentence) const {
        throw SourceError(tokens_.files[file], line, sentence);
    }

    /// A line marker or a pragma: `# 12 "file.cu" 1 3`.
    void directive() {
        const size_t end = std::min(source_.find('\n', at_), source_.size());
        std::string_view text = source_.substr(at_ + 1, end - at_ - 1);
        at_ = end;
        while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
        if (text.starts_with("line ")) text.remove_prefix(5);
        uint32_t line = 0;
        const auto number = std::from_chars(text.data(), text.data() + text.size(), line);
        if (number.ec != std::errc()) return;   // a pragma
        line_ = line - 1;                       // of the line that follows the newline
        text.remove_prefix(static_cast<size_t>(number.ptr - text.data()));
        const size_t quote = text.find('"'), last = text.rfind('"');
        if (quote == std::string_view::npos || last <= quote) return;
        std::string name;
        for (size_t i = quote + 1; i < last; ++i) {
            if (text[i] == '\\' && i + 1 < last) ++i;
            name += text[i];
        }
        const std::string_view flags = text.substr(last);
        system_ = flags.find('3') != std::string_view::npos;
        if (flags.find('1') != std::string_view::npos) {
            const uint32_t parent = entered_.empty() ? UINT32_MAX : entered_.back();
            entered_.push_back(static_cast<uint32_t>(tokens_.included.size()));
            tokens_.included.push_back({name, 0, 0, parent});
        }
        find_file(name);
        if (flags.find('2') != std::string_view::npos && !entered_.empty()) {   // the line behind the #include
            tokens_.included[entered_.back()].file = file_;
            tokens_.included[entered_.back()].line = line - 1;
            entered_.pop_back();
        }
    }

    void find_file(std::string& name) {
        if (name == tokens_.files[file_]) return;
        for (file_ = 0; file_ < tokens_.files.size(); ++file_)
            if (tokens_.files[file_] == name) return;
        tokens_.files.push_back(std::move(name));
    }

    void token() {
        const size_t begin = at_;
        const uint32_t line = line_;
        const TokenKind kind = scan();
        Token token;
        token.kind = kind;
        token.system = system_;
        token.text = source_.substr(begin, at_ - begin);
        token.offset = static_cast<uint32_t>(begin);
        token.line = line;
        token.file = file_;
        pair(token);
        list_.push_back(token);
    }

    TokenKind scan() {
        const char c = source_[at_];
        if (starts_identifier(c)) {
            size_t end = at_;
            while (end < source_.size() && continues_identifier(source_[end])) ++end;
            const std::string_view word = source_.substr(at_, end - at_);
            const char next = end < source_.size() ? source_[end] : '\0';
            const bool prefix = word == "u" || word == "U" || word == "u8" || word == "L";
            if (next == '"' && (word == "R" || (word.ends_with("R") && word.size() <= 3 && word != "R"))) {
                at_ = end;
                raw_string();
                return TokenKind::text;
            }
            at_ = end;
            if (prefix && (next == '"' || next == '\'')) {
                quoted(next);
                return TokenKind::text;
            }
            return TokenKind::identifier;
        }
        if (std::isdigit(static_cast<unsigned char>(c)) ||
            (c == '.' && at_ + 1 < source_.size() && std::isdigit(static_cast<unsigned char>(source_[at_ + 1])))) {
            number();
            return TokenKind::number;
        }
        if (c == '"' || c == '\'') {
            quoted(c);
            return TokenKind::text;
        }
        for (const std::string_view punctuation : kPunctuation)
            if (source_.substr(at_).starts_with(punctuation)) {
                at_ += punctuation.size();
                return TokenKind::punctuation;
            }
        ++at_;
        return TokenKind::punctuation;
    }

    void number() {
        for (++at_; at_ < source_.size(); ++at_) {
            const char c = source_[at_], before = source_[at_ - 1];
            const bool sign =
                (c == '+' || c == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
            const bool separator = c == '\'' && at_ + 1 < source_.size() && continues_identifier(source_[at_ + 1]);
            // C++'s own rule: even 0xe+1 is a single preprocessing number.
            if (!continues_identifier(c) && c != '.' && !sign && !separator) return;
        }
    }

    void quoted(char quote) {
        const uint32_t line = line_;
        for (++at_; at_ < source_.size(); ++at_) {
            if (source_[at_] == '\\') {
                ++at_;
            } else if (source_[at_] == quote) {
                ++at_;
                return;
            } else if (source_[at_] == '\n') {
                break;
            }
        }
        fail(line, file_, "a literal doesn't end");
    }

    void raw_string() {
        const uint32_t line = line_;
        const size_t open = source_.find('(', at_);
        if (open != std::string_view::npos && open - at_ <= 17) {
            const std::string closing = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
            const size_t end = source_.find(closing, open);
            if (end != std::string_view::npos) {
                for (size_t i = at_; i < end; ++i) line_ += source_[i] == '\n';
                at_ = end + closing.size();
                return;
            }
        }
        fail(line, file_, "a raw string doesn't end");
    }

    void pair(Token& token) {
        const auto index = static_cast<uint32_t>(list_.size());
        token.match = index;
        if (token.kind != TokenKind::punctuation || token.text.size() != 1) return;
        const char c = token.text[0];
        if (c == '(' || c == '[' || c == '{') {
            open_.push_back(index);
        } else if (c == ')' || c == ']' || c == '}') {
            const char left = c == ')' ? '(' : c == ']' ? '[' : '{';
            if (open_.empty() || list_[open_.back()].text[0] != left)
                fail(token.line, token.file, std::string("'") + c + "' closes nothing");
            token.match = open_.back();
            list_[open_.back()].match = index;
            open_.pop_back();
        }
    }

    std::string_view source_;
    size_t at_ = 0;
    uint32_t line_ = 1, file_ = 0;
    std::vector<uint32_t> entered_;      // the headers that we are in, by their numbers in Tokens::included
    bool system_ = false;
    std::vector<uint32_t> open_;
    std::vector<Token> list_;
    Tokens tokens_;
};

}  // namespace

void Tokens::refuse(uint32_t token, const std::string& sentence) const {
    throw SourceError(files[all[token].file], all[token].line, sentence);
}

Tokens tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace gpo::softgpu
