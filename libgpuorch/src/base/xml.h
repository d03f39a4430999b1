// Text that is safe in a file whose reader insists on UTF-8, whatever labels have in them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpo {

/// Bytes of the UTF-8 character that begins at `at`; 0 if none does.
size_t utf8_bytes(std::string_view text, size_t at) noexcept;

/// For XML, between tags and in attributes. What isn't UTF-8, and characters that XML can't have, become U+FFFD; so do
/// all control characters.
std::string xml_text(std::string_view text);

}  // namespace gpo
