#include "base/xml.h"

namespace gpo {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool in_xml(std::string_view character) noexcept {
    if (character.size() == 1) return static_cast<unsigned char>(character[0]) >= 0x20 && character[0] != 0x7f;
    return character != "\xef\xbf\xbe" && character != "\xef\xbf\xbf";
}

std::string_view xml_character(std::string_view character) noexcept {
    if (!in_xml(character)) return kReplacement;
    switch (character[0]) {
        case '&': return "&amp;";
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '"': return "&quot;";
        default: return character;
    }
}

}  // namespace

size_t utf8_bytes(std::string_view text, size_t at) noexcept {
    const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
    const auto follows = [&](size_t count) {
        for (size_t i = 1; i <= count; ++i)
            if ((byte(i) & 0xc0) != 0x80) return false;
        return true;
    };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first < 0xf0) {
        if (!follows(2) || (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0)) return 0;
        return 3;
    }
    if (first >= 0xf0 && first < 0xf5) {
        if (!follows(3) || (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90)) return 0;
        return 4;
    }
    return 0;
}

std::string xml_text(std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t bytes = utf8_bytes(text, at);
        out += bytes ? xml_character(text.substr(at, bytes)) : kReplacement;
        at += bytes ? bytes : 1;
    }
    return out;
}

}  // namespace gpo
