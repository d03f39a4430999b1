// Splits preprocessed C++ into tokens, each with its place in the user's files, and pairs the brackets.
//
// The text has been through `c++ -E`: no comments, no splices, no directives but line markers (# 12 "file.cu" 3) and
// pragmas. Line markers tell the file and line of what follows, and what comes from a system header.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
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
    uint32_t match = 0;             // for ( [ { and their partners: the partner's index

    bool is(std::string_view what) const { return text == what && kind != TokenKind::text; }
    uint32_t end() const { return offset + static_cast<uint32_t>(text.size()); }
};

struct Tokens {
    std::vector<Token> all;         // ends with one of kind `end`
    std::vector<std::string> files;
};

/// Something in the user's source that the software GPU refuses; what() is "file(line): error: …".
class SourceError : public std::runtime_error {
public:
    SourceError(const std::string& file, uint32_t line, const std::string& sentence)
        : std::runtime_error(file + "(" + std::to_string(line) + "): error: " + sentence) {}
};

/// Throws SourceError where a bracket has no partner or a literal doesn't end. `source` must outlive the tokens.
Tokens tokenize(std::string_view source);

}  // namespace gpo::softgpu
