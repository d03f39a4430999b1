// Makes text with arbitrary labels safe for files whose readers insist on UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpo {

/// Bytes of the UTF-8 character that begins at `at`; 0 if none does.
size_t utf8_bytes(std::string_view text, size_t at) noexcept;

/// Escapes text for XML, between tags and in attributes. Bytes that aren't UTF-8, characters that XML can't have, and
/// all control characters become U+FFFD.
std::string xml_text(std::string_view text);

}  // namespace gpo
