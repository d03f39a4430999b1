// Splits preprocessed C++ into tokens, each with its place in the user's files, and pairs the brackets.
//
// The text is the output of `c++ -E`: no comments, no line splices, no directives except line markers (# 12 "file.cu"
// 3) and pragmas. A line marker gives the file and line of the text behind it, and says whether that text is from a
// system header.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpo::softgpu {

enum class TokenKind : uint8_t { identifier, number, text, punctuation, end };

struct Token {
    TokenKind kind = TokenKind::end;
    bool system = false;            // from a system header: never rewritten
    std::string_view text;          // in the source
    uint32_t offset = 0;            // of its first byte
    uint32_t line = 0;
    uint32_t file = 0;              // index into Tokens::files
    uint32_t match = 0;             // for ( [ { and their partners: the partner's index; else its own

    bool is(std::string_view what) const { return text == what && kind != TokenKind::text; }
    uint32_t end() const { return offset + static_cast<uint32_t>(text.size()); }
};

/// Whether a list of words has this one.
template <class Words>
bool among(const Words& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Ends with a token of kind `end`. Indices before the first token and behind the last give the `end` token too.
class TokenList {
public:
    TokenList() : list_(1) {}
    explicit TokenList(std::vector<Token> list) noexcept : list_(std::move(list)) {}
    const Token& operator[](size_t at) const noexcept { return at < list_.size() ? list_[at] : list_.back(); }
    size_t size() const noexcept { return list_.size(); }
    auto begin() const noexcept { return list_.begin(); }
    auto end() const noexcept { return list_.end(); }

private:
    std::vector<Token> list_;
};

/// A header, and what has included it.
struct Included {
    std::string name;               // where the preprocessor has found it
    uint32_t file = 0, line = 0;    // of the #include; line 0: not known
    uint32_t parent = UINT32_MAX;   // the header that the #include is in; UINT32_MAX: the source
};

struct Tokens {
    TokenList all;
    std::vector<std::string> files;
    std::vector<Included> included;

    /// Throws SourceError, with the token's place.
    [[noreturn]] void refuse(uint32_t token, const std::string& sentence) const;
};

/// Statements without braces, and namespaces and classes, within each other. Deeper ones are refused.
inline constexpr unsigned kMostNesting = 256;

/// Something in the user's source that the software GPU refuses; what() is "file(line): error: …".
class SourceError : public std::runtime_error {
public:
    SourceError(const std::string& file, uint32_t line, const std::string& sentence)
        : std::runtime_error(file + "(" + std::to_string(line) + "): error: " + sentence) {}
};

/// Throws SourceError where a bracket has no partner or a literal doesn't end. `source` must outlive the tokens.
Tokens tokenize(std::string_view source);

}  // namespace gpo::softgpu
